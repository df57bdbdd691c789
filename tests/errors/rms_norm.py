"""Every message of the operators that quantize an RMS norm of x, and the order of their checks."""

# ruff: noqa: E501 (tables of messages)

from __future__ import annotations

from functools import partial
from typing import Any

import ml_dtypes
import numpy as np

from errors.common import BOOL, FLOATS, FORMAT, NUMBER, Takes, of_function, of_kinds
from npu_quant import (
    DTypeError,
    ParamError,
    npu_rms_norm_dynamic_quant,
    npu_rms_norm_quant,
    npu_rms_norm_quant_v2,
)

X = np.ones((2, 4), np.float16)
G = np.ones(4, np.float16)
S = np.ones(4, np.float32)
Z = np.ones(4, np.int32)
Y = np.zeros((2, 4), np.int8)
RSTD = np.zeros((2, 1), np.float32)
SCALE = np.zeros(2, np.float32)
UNWRITTEN = (Y, RSTD, SCALE)
P, V, D = "npu_rms_norm_quant: ", "npu_rms_norm_quant_v2: ", "npu_rms_norm_dynamic_quant: "
plain = partial(npu_rms_norm_quant, x=X, gamma=G, beta=G, scale=S, offset=Z)
second = partial(npu_rms_norm_quant_v2, x=X, gamma=G, scale=S, offset=Z, beta=G)
dynamic = partial(npu_rms_norm_dynamic_quant, x=X, gamma=G, smooth_scale=G, beta=G)
AVAILABLE = "available: int8, int4, hifloat8, float8_e5m2, float8_e4m3fn."
OF_X = {
    "x": Takes(FLOATS, "expected 1 to 8."),
    "gamma": Takes("the dtype of x (float16).", "expected 1 or 2."),
}
ZEROS = "int32, int8, float32 or the dtype of x (float16)."
OF_SCALES = {
    "scale": Takes("float32 or the dtype of x (float16).", "expected 1.", "np.float32"),
    "offset": Takes(ZEROS, "expected 1.", "np.int32"),
}
BETA = Takes("the dtype of x (float16).", "expected 1 or 2.")
OPTIONAL = Takes("the dtype of x (float16).", "expected 1 or 2.", optional=True)
OFFSET = Takes(ZEROS, "expected 1.", "np.int32", optional=True)


def of_shapes(call: partial[Any], prefix: str, *weights: str, x: str = "x") -> list[Any]:
    """Return what is said of weights that are not (4,) or (1, 4)."""
    return [
        (f"{prefix}{name} shape {shape}", partial(call, **{name: np.ones(shape, np.float16)}), ParamError, 161002, f"{prefix}{name} has shape {shape}, expected (4,) or (1, 4): the length of the last axis of {x}.")
        for name in weights
        for shape in ((3,), (1,), (4, 1), (2, 4), (1, 3))
    ]  # fmt: skip


# Name, call, exception, code, message (from its beginning).
ERRORS = [
    *of_function(plain, OF_X | {"beta": BETA} | OF_SCALES, {"": Y}),
    *of_function(second, OF_X | {"scale": OF_SCALES["scale"], "offset": OFFSET, "beta": OPTIONAL}, {"y": Y, "rstd": RSTD}),
    *of_function(dynamic, OF_X | {"smooth_scale": OPTIONAL, "beta": OPTIONAL}, {"y": Y, "scale": SCALE}),
    *of_shapes(plain, P, "gamma", "beta"),
    *of_shapes(second, V, "gamma", "beta"),
    *of_shapes(dynamic, D, "gamma", "beta", "smooth_scale"),
    *of_kinds(plain, P, optional=("dst_dtype",), epsilon=NUMBER, dst_dtype=FORMAT),
    *of_kinds(second, V, optional=("dst_dtype",), epsilon=NUMBER, div_mode=BOOL, dst_dtype=FORMAT),
    *of_kinds(dynamic, D, epsilon=NUMBER),
    ("x rank 0", lambda: plain(x=np.ones((), np.float16)), ParamError, 161002, P + "x has 0 dimensions, expected 1 to 8."),
    ("gamma rank 0", lambda: dynamic(gamma=np.ones((), np.float16)), ParamError, 161002, D + "gamma has 0 dimensions, expected 1 or 2."),
    ("gamma float32", lambda: plain(gamma=S), DTypeError, 161002, P + "gamma has dtype float32, expected the dtype of x (float16). Convert it with gamma.astype(x.dtype)."),
    ("scale other 16 bits", lambda: plain(scale=S.astype(ml_dtypes.bfloat16)), DTypeError, 161002, P + "scale has dtype bfloat16, expected float32 or the dtype of x (float16)."),
    ("offset int64", lambda: second(offset=Z.astype(np.int64)), DTypeError, 161002, V + f"offset has dtype int64, expected {ZEROS} Convert it, e.g. with offset.astype(np.int32)."),
    ("scale rank 2", lambda: plain(scale=S[None]), ParamError, 161002, P + "scale has 2 dimensions, expected 1. It holds one element, or one per element of a row."),
    *[(f"{name} shape", lambda name=name: plain(**{name: S[:3]}), ParamError, 161002, P + f"{name} has shape (3,), expected (1,) or (4,): one element, or the length of the last axis of x.") for name in ("scale", "offset")],
    ("scale empty", lambda: second(scale=S[:0]), ParamError, 161002, V + "scale has shape (0,), expected (1,) or (4,)"),
    ("dst_dtype", lambda: plain(dst_dtype=np.int16), ParamError, 161002, P + f"dst_dtype is int16, {AVAILABLE}"),
    ("dst_dtype code", lambda: second(dst_dtype=2), ParamError, 161002, V + f"dst_dtype is int16, {AVAILABLE} Numbers below 256 are torch's codes; torch_npu's code of int8 is 258."),
    ("int4, last axis", lambda: plain(dst_dtype="int4"), ParamError, 161002, P + "x has shape (2, 4), expected a last axis of a multiple of 8: an element of int32 holds 8 codes of int4."),
    ("out of int4", lambda: plain(x=np.ones((2, 8), np.float16), gamma=np.ones(8, np.float16), beta=np.ones(8, np.float16), scale=S[:1], offset=Z[:1], dst_dtype="int4", out=Y), DTypeError, 161002, P + "out has dtype int8, expected int32."),
    ("out rstd shape", lambda: second(out=(Y, SCALE)), ParamError, 161002, V + "out[rstd] has shape (2,), expected (2, 1)."),
    ("out scale shape", lambda: dynamic(out=(Y, RSTD)), ParamError, 161002, D + "out[scale] has shape (2, 1), expected (2,)."),
]  # fmt: skip

# In the order in which faults are reported: one argument each, wrong on its own.
FAULTS = {
    "npu_rms_norm_quant": (
        plain,
        [
            ({"x": None}, DTypeError, "x is None"),
            ({"offset": None}, DTypeError, "offset is None"),
            ({"gamma": [1.0]}, DTypeError, "gamma is a list"),
            ({"x": X.astype(float)}, DTypeError, "x has dtype"),
            ({"beta": S}, DTypeError, "beta has dtype"),
            ({"offset": Z.astype(np.int64)}, DTypeError, "offset has dtype"),
            ({"gamma": np.ones((), np.float16)}, ParamError, "gamma has 0 dimensions"),
            ({"scale": S[None]}, ParamError, "scale has 2 dimensions"),
            ({"dst_dtype": np.int16}, ParamError, "dst_dtype is int16"),
            ({"gamma": G[:3]}, ParamError, "gamma has shape"),
            ({"scale": S[:3]}, ParamError, "scale has shape"),
            ({"offset": Z[:3]}, ParamError, "offset has shape"),
            ({"out": Y[0]}, ParamError, "out has shape"),
        ],
    ),
    "npu_rms_norm_dynamic_quant": (
        dynamic,
        [
            ({"gamma": None}, DTypeError, "gamma is None"),
            ({"smooth_scale": [1.0]}, DTypeError, "smooth_scale is a list"),
            ({"smooth_scale": S}, DTypeError, "smooth_scale has dtype"),
            ({"beta": S}, DTypeError, "beta has dtype"),
            ({"x": np.ones((), np.float16)}, ParamError, "x has 0 dimensions"),
            (
                {"smooth_scale": np.ones((), np.float16)},
                ParamError,
                "smooth_scale has 0 dimensions",
            ),
            ({"beta": G[:3]}, ParamError, "beta has shape"),
            ({"smooth_scale": G[:3]}, ParamError, "smooth_scale has shape"),
            ({"out": ()}, ParamError, "out has 0 entries"),
        ],
    ),
}
