"""Every message of npu_add_rms_norm_dynamic_quant, and the order of its checks."""

# ruff: noqa: E501 (tables of messages)

from __future__ import annotations

from functools import partial

import numpy as np

from errors.common import FLOATS, FORMAT, NUMBER, Takes, of_arrays, of_kinds, of_results
from errors.rms_norm import of_shapes
from npu_quant import DTypeError, ParamError, npu_add_rms_norm_dynamic_quant

OP = "npu_add_rms_norm_dynamic_quant"
X = np.ones((2, 4), np.float16)
G = np.ones(4, np.float16)
Y = np.zeros((2, 4), np.int8)
SCALE = np.zeros(2, np.float32)
OUTS = {
    "y1": Y,
    "y2": Y.copy(),
    "x_out": np.zeros((2, 4), np.float16),
    "scale1": SCALE,
    "scale2": SCALE.copy(),
}
UNWRITTEN = tuple(OUTS.values())
GIVEN = {"x1": X, "x2": X, "gamma": G, "smooth_scale1": G, "smooth_scale2": G, "beta": G}
call = partial(npu_add_rms_norm_dynamic_quant, **GIVEN)
OPTIONAL = Takes("the dtype of x1 (float16).", "expected 1 or 2.", optional=True)
TAKES = {
    "x1": Takes(FLOATS, "expected 2 to 8."),
    "x2": Takes("the dtype of x1 (float16).", "expected the shape of x1, (2, 4).", is_shaped=True),
    "gamma": Takes("the dtype of x1 (float16).", "expected 1 or 2."),
    **dict.fromkeys(("smooth_scale1", "smooth_scale2", "beta"), OPTIONAL),
}
ACCEPTED = [
    {"output_mask": [True, True]},
    {"output_mask": (np.True_, np.False_), "smooth_scale2": None},
    {"smooth_scale1": None, "smooth_scale2": None},
    {"gamma": G[None], "beta": None},
]
AVAILABLE = "available: int8, int4, hifloat8, float8_e5m2, float8_e4m3fn."
WRONG_MASK = "output_mask is [False, False], expected True for y1 or y2."
NOT_COMPUTED = "is given, expected None: {} is not computed."

# Name, call, exception, code, message (from its beginning, after the operator's name).
ERRORS = [
    *of_arrays(call, TAKES),
    *of_results(call, OUTS),
    *of_shapes(call, "", "gamma", "smooth_scale1", "smooth_scale2", "beta", x="x1"),
    *of_kinds(call, optional=("y_dtype",), epsilon=NUMBER, y_dtype=FORMAT),
    ("x1 rank 1", lambda: call(x1=G), ParamError, 161002, "x1 has 1 dimension, expected 2 to 8."),
    ("x2 dtype", lambda: call(x2=X.astype(np.float32)), DTypeError, 161002, "x2 has dtype float32, expected the dtype of x1 (float16). Convert it with x2.astype(x1.dtype)."),
    ("x2 shape", lambda: call(x2=X[:1]), ParamError, 161002, "x2 has shape (1, 4), expected the shape of x1, (2, 4)."),
    ("smooth_scale2 dtype", lambda: call(smooth_scale2=SCALE), DTypeError, 161002, "smooth_scale2 has dtype float32, expected the dtype of x1 (float16)."),
    *[(f"output_mask {value!r}", lambda value=value: call(output_mask=value), TypeError, None, f"output_mask is {kind}, expected a list of two bools.") for value, kind in ((True, "a bool"), ("ab", "a str"), (X, "a numpy.ndarray"))],
    ("output_mask of ints", lambda: call(output_mask=[True, 1]), TypeError, None, "output_mask is an int, expected a bool."),
    *[(f"output_mask of {n}", lambda n=n: call(output_mask=[True] * n), ParamError, 161002, f"output_mask has length {n}, expected 2: one bool for y1, one for y2.") for n in (0, 1, 3)],
    ("output_mask of none", lambda: call(output_mask=[False, False]), ParamError, 161002, WRONG_MASK),
    *[(f"{name} is off", lambda mask=mask: call(output_mask=mask), ParamError, 161002, f"{name} {NOT_COMPUTED.format(y)}") for name, y, mask in (("smooth_scale1", "y1", [False, True]), ("smooth_scale2", "y2", [True, False]))],
    ("smooth_scale2 alone", lambda: call(smooth_scale1=None), ParamError, 161002, f"smooth_scale2 {NOT_COMPUTED.format('y2')} To compute y2, pass smooth_scale1 too, or output_mask."),
    ("y_dtype", lambda: call(y_dtype=np.int16), ParamError, 161002, f"y_dtype is int16, {AVAILABLE}"),
    ("int4, last axis", lambda: call(y_dtype="int4"), ParamError, 161002, "x1 has shape (2, 4), expected a last axis of a multiple of 8: an element of int32 holds 8 codes of int4."),
    ("out of what is not computed", lambda: call(smooth_scale2=None, out=(Y, Y.copy(), None, None, None)), ParamError, 161002, "out[y2] has shape (2, 4), expected ()."),
]  # fmt: skip

# In the order in which faults are reported, behind those of arrays: one argument each.
FAULTS = [
    ({"output_mask": [True]}, ParamError, "output_mask has length"),
    ({"output_mask": [False, False]}, ParamError, "output_mask is [False, False]"),
    ({"output_mask": [False, True]}, ParamError, "smooth_scale1 is given"),
    ({"y_dtype": np.int16}, ParamError, "y_dtype is int16"),
    ({"x2": X[:1]}, ParamError, "x2 has shape"),
    ({"gamma": G[:3]}, ParamError, "gamma has shape"),
    ({"beta": G[:3]}, ParamError, "beta has shape"),
    ({"smooth_scale1": G[:3]}, ParamError, "smooth_scale1 has shape"),
    ({"out": ()}, ParamError, "out has 0 entries"),
]
