"""Every message of npu_quant_scatter and npu_quant_scatter_, and the order of their checks."""

# ruff: noqa: E501 (tables of messages)

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from errors.arrays import frozen, on_itself, overlapping
from errors.common import FORMAT, INT, STR, Takes, of_arrays, of_function, of_kinds
from npu_quant import DTypeError, ParamError, npu_quant_scatter, npu_quant_scatter_

CACHE = np.zeros((3, 4, 2), np.int8)
AT = np.array([0, 2], np.int32)
PAIRS = np.array([[2, 1], [0, 0]])
NEW = np.ones((2, 2, 2), np.float16)
S = np.ones(2, np.float32)
Z = np.ones(2, np.int32)
Y = np.zeros((3, 4, 2), np.int8)
UNWRITTEN = (CACHE, Y)
P, Q = "npu_quant_scatter: ", "npu_quant_scatter_: "
GIVEN: dict[str, Any] = {"self": CACHE, "indices": AT, "updates": NEW, "quant_scales": S}
GIVEN["quant_zero_points"] = Z
# Good arguments, and out, so that nothing may be written.
copied = partial(npu_quant_scatter, **GIVEN, out=Y)
in_place = partial(npu_quant_scatter_, **GIVEN)
bytes_ = partial(npu_quant_scatter, **GIVEN | {"self": CACHE.view(np.uint8)})
AXES = "Its first axis holds batches, its last axis channels."
ONE = "It holds one element per channel."
TAKES = {
    "self": Takes("int8, float8_e4m3fn, float8_e5m2 or uint8.", f"expected 3 to 8. {AXES}", "np.int8"),
    "indices": Takes("int32 or int64.", "expected 1 or 2.", "np.int64"),
    "updates": Takes("float16 or bfloat16.", f"expected 3 to 8. {AXES}"),
    "quant_scales": Takes("float32 or bfloat16.", f"expected 1 to 8. {ONE}", "np.float32"),
    "quant_zero_points": Takes("int32 or bfloat16.", f"expected 1 to 8. {ONE}", "np.int32", optional=True),
}  # fmt: skip
AVAILABLE = "available: int8, hifloat8, float8_e5m2, float8_e4m3fn."


def on_inputs() -> list[Any]:
    """Return what is said of a self that lies in the memory of another array."""
    rows = []
    for name in list(GIVEN)[1:]:
        other, self = overlapping(GIVEN[name], CACHE)
        text = f"{Q}self shares memory with {name}. Pass a fresh array."
        rows.append((f"{Q}self on {name}", partial(in_place, **{name: other, "self": self}), ParamError, 161002, text))  # fmt: skip
    return rows


# Name, call, exception, code, message (from its beginning).
ERRORS = [
    *of_function(copied, TAKES, {"": Y}),
    *[(Q + name, call, error, code, Q + text) for name, call, error, code, text in of_arrays(in_place, TAKES)],
    *of_kinds(copied, P, optional=("dst_type", "round_mode"), axis=INT, quant_axis=INT, reduce=STR, dst_type=FORMAT, round_mode=STR),
    *of_kinds(in_place, Q, optional=("dst_type", "round_mode"), axis=INT, reduce=STR),
    *on_inputs(),
    ("read-only", lambda: in_place(self=frozen(CACHE)), ParamError, 161002, Q + "self is read-only. Pass a writable array."),
    ("on itself", lambda: in_place(self=on_itself(CACHE)), ParamError, 161002, Q + "self overlaps itself: some of its elements share memory. Pass a copy."),
    ("self, two axes", lambda: copied(self=CACHE[0]), ParamError, 161002, P + f"self has 2 dimensions, expected 3 to 8. {AXES}"),
    ("updates float32", lambda: in_place(updates=NEW.astype(np.float32)), DTypeError, 161002, Q + "updates has dtype float32, expected float16 or bfloat16. Convert it, e.g. with updates.astype(np.float16)."),
    ("indices, three axes", lambda: copied(indices=AT[None, None]), ParamError, 161002, P + "indices has 3 dimensions, expected 1 or 2."),
    ("quant_scales, no axis", lambda: copied(quant_scales=S[0, ...]), ParamError, 161002, P + f"quant_scales has 0 dimensions, expected 1 to 8. {ONE}"),
    *[(f"axis {axis}", lambda axis=axis: copied(axis=axis), ParamError, 161002, P + f"axis is {axis}, expected neither the first nor the last axis of self.") for axis in (0, 2, -1, -3)],
    ("axis beyond", lambda: copied(axis=3), ParamError, 161002, P + "axis is 3, expected -3 to 2: self has 3 dimensions."),
    *[(f"quant_axis {axis}", lambda axis=axis: in_place(quant_axis=axis), ParamError, 161002, Q + f"quant_axis is {axis}, available: -1 or 2 (the last axis of self).") for axis in (0, 1, -2, 3)],
    ("reduce", lambda: copied(reduce="add"), ParamError, 161002, P + "reduce is 'add', available: 'update'."),
    ("dst_type", lambda: copied(dst_type=285), ParamError, 161002, P + f"dst_type is int4, {AVAILABLE} Pass torch_npu's code (258, 290, 291, 292), a dtype or a dtype's name."),
    ("dst_type of another array", lambda: copied(dst_type=291), ParamError, 161002, P + "dst_type is float8_e5m2, expected int8: self of int8 holds int8."),
    ("no dst_type", bytes_, ParamError, 161002, P + "dst_type is None, expected hifloat8: self of uint8 holds hifloat8."),
    ("round_mode word", lambda: in_place(round_mode="hybrid"), ParamError, 161002, Q + "round_mode is 'hybrid', available: 'rint' or 'round'."),
    ("round_mode of int8", lambda: in_place(round_mode="round"), ParamError, 161002, Q + "round_mode is 'round', available: 'rint'."),
    ("round_mode of hifloat8", lambda: bytes_(dst_type=290), ParamError, 161002, P + "round_mode is 'rint', available for hifloat8: 'round' (ties away from zero)."),
    *[(f"updates {new.shape}", lambda new=new: copied(updates=new), ParamError, 161002, P + f"updates has shape {new.shape}, expected the shape of self, (3, 4, 2), or less along axes 0 and -2.") for new in (NEW[..., :1], NEW.repeat(3, 1), NEW.repeat(2, 0), NEW[:, None])],
    *[(f"indices {at.shape}", lambda at=at: copied(indices=at), ParamError, 161002, P + f"indices has shape {at.shape}, expected (2,) or (2, 2): an entry for each index of the first axis of updates.") for at in (AT[:1], AT[:, None], PAIRS.repeat(2, 0), PAIRS.repeat(2, 1))],
    ("quant_scales shape", lambda: copied(quant_scales=S[:1]), ParamError, 161002, P + "quant_scales has shape (1,), expected 2 elements: the length of the last axis of updates."),
    ("quant_zero_points shape", lambda: copied(quant_zero_points=Z[None].repeat(2, 0)), ParamError, 161002, P + "quant_zero_points has shape (2, 2), expected 2 elements: the length of the last axis of updates."),
    *[(f"index {p}", lambda p=p: in_place(indices=np.array([0, p])), ParamError, 161002, Q + f"indices[1] is {p}, expected 0 to 2: where updates fit along axis -2 of self.") for p in (-1, 3, 2**62, -(2**63))],
    ("pair's batch", lambda: in_place(indices=PAIRS - [-1, 0]), ParamError, 161002, Q + "indices[0, 0] is 3, expected 0 to 2: where updates fit along axis 0 of self."),
    ("pair's place", lambda: copied(indices=PAIRS - [0, 1]), ParamError, 161002, P + "indices[1, 1] is -1, expected 0 to 2: where updates fit along axis -2 of self."),
]  # fmt: skip

# In the order in which faults are reported: one argument each, wrong on its own.
_FAULTS: list[Any] = [
    ({"self": None}, DTypeError, "self is None"),
    ({"quant_scales": None}, DTypeError, "quant_scales is None"),
    ({"self": [1]}, DTypeError, "self is a list"),
    ({"quant_zero_points": [1]}, DTypeError, "quant_zero_points is a list"),
    ({"self": CACHE.astype(np.int16)}, DTypeError, "self has dtype"),
    ({"indices": AT.astype(np.int16)}, DTypeError, "indices has dtype"),
    ({"quant_zero_points": S}, DTypeError, "quant_zero_points has dtype"),
    ({"self": CACHE[0]}, ParamError, "self has 2 dimensions"),
    ({"updates": NEW[0]}, ParamError, "updates has 2 dimensions"),
    ({"axis": 0}, ParamError, "axis is 0"),
    ({"quant_axis": 0}, ParamError, "quant_axis is 0"),
    ({"reduce": "x"}, ParamError, "reduce is 'x'"),
    ({"dst_type": "int4"}, ParamError, "dst_type is int4"),
    ({"round_mode": "x"}, ParamError, "round_mode is 'x'"),
    ({"updates": NEW[..., :1]}, ParamError, "updates has shape"),
    ({"indices": AT[:1]}, ParamError, "indices has shape"),
    ({"quant_scales": S[:1]}, ParamError, "quant_scales has shape"),
    ({"quant_zero_points": Z[:1]}, ParamError, "quant_zero_points has shape"),
    ({"indices": AT + 1}, ParamError, "indices[1] is 3"),
]
FAULTS = {
    "npu_quant_scatter": (copied, [*_FAULTS, ({"out": Y[0]}, ParamError, "out has shape")]),
    "npu_quant_scatter_": (
        in_place,
        [*_FAULTS, ({"self": frozen(CACHE)}, ParamError, "self is read-only")],
    ),
}
