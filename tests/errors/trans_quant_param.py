"""Every message of npu_trans_quant_param, the order of its checks, and the kinds it accepts."""

# ruff: noqa: E501 (tables of messages)

from __future__ import annotations

from functools import partial

import numpy as np

from errors.common import INT, Takes, of_arrays, of_kinds, of_results
from npu_quant import DTypeError, ParamError, npu_trans_quant_param

OP = "npu_trans_quant_param"
SCALE, OFFSET = np.ones(4, np.float32), np.zeros(4, np.float32)
Y = np.zeros(4, np.int64)
UNWRITTEN = (Y,)
GIVEN = {"scale": SCALE, "offset": OFFSET, "round_mode": 1}
# Good arguments, and out, so that nothing may be written.
call = partial(npu_trans_quant_param, **GIVEN, out=Y)
TAKES = {
    "scale": Takes("float32.", "expected 1 or 2.", "np.float32"),
    "offset": Takes("float32.", "expected 1 or 2.", "np.float32", optional=True),
}

# Name, call, exception, code, message (from its beginning, after the operator's name).
ERRORS = [
    *of_arrays(call, TAKES),
    *of_results(call, {"": Y}),
    *of_kinds(call, optional=("round_mode",), round_mode=INT),
    ("scale float16", lambda: call(scale=SCALE.astype(np.float16)), DTypeError, 161002, "scale has dtype float16, expected float32. Convert it, e.g. with scale.astype(np.float32)."),
    ("offset int32", lambda: call(offset=OFFSET.astype(np.int32)), DTypeError, 161002, "offset has dtype int32, expected float32. Convert it, e.g. with offset.astype(np.float32)."),
    ("scale, no axis", lambda: call(scale=SCALE[:1].reshape(())), ParamError, 161002, "scale has 0 dimensions, expected 1 or 2. It holds one element, or one per channel."),
    ("offset, three axes", lambda: call(offset=OFFSET.reshape(1, 1, 4)), ParamError, 161002, "offset has 3 dimensions, expected 1 or 2. It holds one element, or one per channel."),
    *[(f"round_mode {mode}", lambda mode=mode: call(round_mode=mode), ParamError, 161002, f"round_mode is {mode}, expected 0 or 1.") for mode in (2, -1, 2**62)],
    ("offset, too many", lambda: call(offset=np.ones(5, np.float32)), ParamError, 161002, "offset has shape (5,), expected one element, or 4 elements, as many as scale has."),
    ("offset, too few", lambda: call(scale=np.ones((2, 4), np.float32), offset=OFFSET), ParamError, 161002, "offset has shape (4,), expected one element, or 8 elements, as many as scale has."),
    ("offset of two axes beside one scale", lambda: call(scale=SCALE[:1], offset=OFFSET[None]), ParamError, 161002, "offset has shape (1, 4), expected one element."),
    ("one scale of two axes", lambda: call(scale=SCALE[None, :1]), ParamError, 161002, "offset has shape (4,), expected one element."),
    ("out of one scale", lambda: call(scale=SCALE[:1], offset=np.ones(5, np.float32)), ParamError, 161002, "out has shape (4,), expected (5,)."),
    ("out uint64", lambda: call(out=Y.view(np.uint64)), DTypeError, 161002, "out has dtype uint64, expected int64."),
]  # fmt: skip
# In the order in which faults are reported: one argument each, wrong on its own.
FAULTS = [
    ({"round_mode": 2}, ParamError, "round_mode is 2"),
    ({"offset": OFFSET[:3]}, ParamError, "offset has shape (3,)"),
    ({"out": Y[:3]}, ParamError, "out has shape"),
]

ACCEPTED = [
    {"offset": None},
    {"offset": OFFSET[:1]},
    {"offset": OFFSET[None, :1]},
    {"offset": OFFSET[None]},
    {"scale": SCALE[None]},
    {"scale": SCALE.reshape(2, 2), "offset": OFFSET[:, None]},
    {"scale": SCALE[:1]},
    {"round_mode": np.int64(0)},
    {"round_mode": None},
    {"numerics": "reference"},
]
