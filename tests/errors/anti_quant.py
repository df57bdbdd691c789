"""Every message of npu_anti_quant, the order of its checks, and the kinds it accepts."""

# ruff: noqa: E501 (tables of messages)

from __future__ import annotations

from functools import partial
from typing import Any

import ml_dtypes
import numpy as np
from witnesses import Array

from errors.common import FORMAT, Takes, of_arrays, of_kinds, of_results
from npu_quant import DTypeError, ParamError, npu_anti_quant

OP = "npu_anti_quant"
X = np.ones((3, 5), np.int8)
S = np.ones(5, np.float32)
S16 = np.ones(5, ml_dtypes.bfloat16)
Y = np.zeros((3, 5), np.float16)
Y16 = np.zeros((3, 5), ml_dtypes.bfloat16)
UNWRITTEN = (Y, Y16)
GIVEN: dict[str, Any] = {"x": X, "scale": S, "offset": S}
AVAILABLE = (
    "available: float16, bfloat16. Pass torch_npu's code (257, 283), a dtype or a dtype's name."
)
KIND = "expected an int code, a dtype or a dtype's name."
OF_X = ": one element, or the length of axis -1 or -2 of x."
# Good arguments, and out, so that nothing may be written.
call = partial(npu_anti_quant, **GIVEN, out=Y)


def scaled(scale: Array, **others: Any) -> Any:
    """Call with no offset, and no out, unless they are given."""
    return call(**{"scale": scale, "offset": None, "out": None, **others})


def on(shape: tuple[int, ...], scale: tuple[int, ...]) -> Any:
    """Call with x and scale of these shapes."""
    return scaled(np.ones(scale, np.float32), x=np.ones(shape, np.int8))


TAKES = {
    "x": Takes(
        "int8, int32, uint8, float8_e5m2 or float8_e4m3fn.",
        "expected 1 to 8. Merge axes with x.reshape.",
        "np.int8",
    ),
    "scale": Takes("float32 or bfloat16.", "expected 1 or 2: x has 2 dimensions.", "np.float32"),
    "offset": Takes(
        "the dtype of scale (float32).",
        "expected the shape of scale, (5,).",
        "np.float32",
        optional=True,
        is_shaped=True,
    ),
}

# Name, call, exception, code, message (from its beginning, after the operator's name).
ERRORS = [
    *of_arrays(call, TAKES),
    *of_results(call, {"": Y}),
    ("x int4", lambda: call(x=X.view(ml_dtypes.int4)), DTypeError, 161002, "x has dtype int4, expected int8, int32, uint8, float8_e5m2 or float8_e4m3fn."),
    *[(f"scale for {kind.__name__}", lambda kind=kind: scaled(S16, x=X.view(kind)), DTypeError, 161002, "scale has dtype bfloat16, expected float32.") for kind in (np.uint8, ml_dtypes.float8_e5m2, ml_dtypes.float8_e4m3fn)],
    *[(f"src_dtype {wrong} for {kind.__name__}", lambda kind=kind, wrong=wrong: scaled(S[:1], x=X.astype(kind), src_dtype=wrong), ParamError, 161002, f"src_dtype is {wrong}, expected None or {held}: x of {kind.__name__} holds {held}.") for kind, wrong, held in ((np.int32, "int32", "int4"), (np.uint8, "uint8", "hifloat8"))],
    ("src_dtype of float8", lambda: scaled(S[:1], x=X.view(ml_dtypes.float8_e5m2), src_dtype=290), ParamError, 161002, "src_dtype is hifloat8, expected None or the dtype of x (float8_e5m2)."),
    ("scale for int4", lambda: scaled(S, x=X.astype(np.int32)), ParamError, 161002, "scale has shape (5,), expected one of (1,), (40,), (3,): one element, or the length of axis -1 or -2 of the codes in x."),
    ("scale for int4 of one axis", lambda: scaled(S, x=X[0].astype(np.int32)), ParamError, 161002, "scale has shape (5,), expected one of (1,), (40,): one element, or the length of the codes in x."),
    ("out for int4", lambda: scaled(S[:1], x=X.astype(np.int32), out=Y), ParamError, 161002, "out has shape (3, 5), expected (3, 40)."),
    *[(f"x {np.dtype(kind)}", lambda kind=kind: call(x=X.astype(kind)), DTypeError, 161002, f"x has dtype {np.dtype(kind)}, expected int8, int32, uint8, float8_e5m2 or float8_e4m3fn.") for kind in (np.float16, ml_dtypes.bfloat16, np.float32, np.int16, np.int64, bool, ml_dtypes.float8_e8m0fnu)],
    ("x swapped int32", lambda: call(x=X.astype(">i4")), DTypeError, 161002, "x has dtype >i4, expected int8, int32, uint8"),
    *[(f"scale {np.dtype(kind)}", lambda kind=kind: call(scale=S.astype(kind)), DTypeError, 161002, f"scale has dtype {np.dtype(kind)}, expected float32 or bfloat16. Convert it, e.g. with scale.astype(np.float32).") for kind in (np.float16, np.float64, np.int32, np.int64)],
    ("scale of other bytes", lambda: call(scale=S.astype(">f4")), DTypeError, 161002, "scale has dtype >f4, expected float32 or bfloat16. Its bytes are swapped: pass scale.astype(scale.dtype.newbyteorder('='))."),
    ("offset of another dtype", lambda: call(offset=S16), DTypeError, 161002, "offset has dtype bfloat16, expected the dtype of scale (float32). Convert it with offset.astype(scale.dtype)."),
    ("offset float32 for bfloat16", lambda: call(scale=S16), DTypeError, 161002, "offset has dtype float32, expected the dtype of scale (bfloat16)."),
    ("offset int32", lambda: call(offset=S.astype(np.int32)), DTypeError, 161002, "offset has dtype int32, expected the dtype of scale (float32)."),
    ("x of no dimensions", lambda: call(x=np.ones((), np.int8)), ParamError, 161002, "x has 0 dimensions, expected 1 to 8. Give it an axis with x.reshape(1)."),
    ("scale of no dimensions", lambda: scaled(np.ones((), np.float32)), ParamError, 161002, "scale has 0 dimensions, expected 1 or 2: x has 2 dimensions. Give it an axis with scale.reshape(1)."),
    ("scale rank", lambda: scaled(S[None, None]), ParamError, 161002, "scale has 3 dimensions, expected 1 or 2: x has 2 dimensions."),
    ("scale rank, one dimension", lambda: scaled(S[None], x=X[0]), ParamError, 161002, "scale has 2 dimensions, expected 1: x has 1 dimension."),
    ("scale rank, three dimensions", lambda: scaled(S[None], x=X[None]), ParamError, 161002, "scale has 2 dimensions, expected 1 or 3: x has 3 dimensions."),
    ("dst_dtype", lambda: call(dst_dtype=np.float32), ParamError, 161002, f"dst_dtype is float32, {AVAILABLE}"),
    ("dst_dtype code", lambda: call(dst_dtype=1), ParamError, 161002, "dst_dtype is int8, available: float16, bfloat16. Numbers below 256 are torch's codes; torch_npu's code of float16 is 257."),
    ("dst_dtype of ACL", lambda: call(dst_dtype=27), ParamError, 161002, "dst_dtype is 27, available: float16, bfloat16. Numbers below 256 are torch's codes; torch_npu's code of bfloat16 is 283."),
    ("dst_dtype unknown", lambda: call(dst_dtype="float17"), ParamError, 161002, "dst_dtype is 'float17', available: float16, bfloat16. Did you mean float16?"),
    *of_kinds(call, optional=("dst_dtype", "src_dtype"), dst_dtype=FORMAT, src_dtype=FORMAT),
    ("src_dtype", lambda: call(src_dtype="quint4x2"), ParamError, 161002, "src_dtype is int4, expected None or the dtype of x (int8)."),
    ("src_dtype int32", lambda: call(src_dtype=3), ParamError, 161002, "src_dtype is int32, expected None or the dtype of x (int8)."),
    ("src_dtype of ACL", lambda: call(src_dtype=2), ParamError, 161002, "src_dtype is int16, expected None or the dtype of x (int8)."),
    ("src_dtype unknown", lambda: call(src_dtype=-1), ParamError, 161002, "src_dtype is -1, expected None or the dtype of x (int8)."),
    ("scale shape", lambda: on((3, 5), (2,)), ParamError, 161002, f"scale has shape (2,), expected one of (1,), (5,), (3,){OF_X}"),
    ("scale shape of a column", lambda: on((3, 1), (2,)), ParamError, 161002, f"scale has shape (2,), expected one of (1,), (3,){OF_X}"),
    ("scale shape of a square", lambda: on((4, 4), (3,)), ParamError, 161002, f"scale has shape (3,), expected one of (1,), (4,){OF_X}"),
    ("scale empty", lambda: on((3, 5), (0,)), ParamError, 161002, f"scale has shape (0,), expected one of (1,), (5,), (3,){OF_X}"),
    ("scale of a third axis", lambda: on((2, 3, 5), (2,)), ParamError, 161002, f"scale has shape (2,), expected one of (1,), (5,), (3,){OF_X}"),
    ("scale ranked, a third axis", lambda: on((2, 3, 5), (2, 1, 1)), ParamError, 161002, f"scale has shape (2, 1, 1), expected one of (1, 1, 1), (1, 1, 5), (1, 3, 1){OF_X}"),
    ("scale ranked, both axes", lambda: on((3, 5), (3, 5)), ParamError, 161002, f"scale has shape (3, 5), expected one of (1, 1), (1, 5), (3, 1){OF_X}"),
    ("scale ranked, wrong way round", lambda: on((3, 5), (5, 1)), ParamError, 161002, f"scale has shape (5, 1), expected one of (1, 1), (1, 5), (3, 1){OF_X}"),
    ("scale of one dimension", lambda: on((5,), (3,)), ParamError, 161002, "scale has shape (3,), expected one of (1,), (5,): one element, or the length of x."),
    ("scale for no elements", lambda: on((3, 0), (2,)), ParamError, 161002, f"scale has shape (2,), expected one of (1,), (3,){OF_X}"),
    ("scale empty for no elements", lambda: on((3, 0), (0,)), ParamError, 161002, f"scale has shape (0,), expected one of (1,), (3,){OF_X}"),
    ("scale empty like x", lambda: on((0,), (0,)), ParamError, 161002, "scale has shape (0,), expected one of (1,): one element, or the length of x."),
    ("scale ranked, empty", lambda: on((3, 0), (1, 0)), ParamError, 161002, f"scale has shape (1, 0), expected one of (1, 1), (3, 1){OF_X}"),
    ("scale for rank 8", lambda: on((9,) * 8, (10**9,) + (1,) * 6 + (0,)), ParamError, 161002, "scale has shape (1000000000, 1, 1, 1, 1, 1, 1, 0), expected one of (1, 1, 1, 1, 1, 1, 1, 1), (1, 1, 1, 1, 1, 1, 1, 9), (1, 1, 1, 1, 1, 1, 9, 1)"),
    ("offset shape", lambda: call(offset=S[:1]), ParamError, 161002, "offset has shape (1,), expected the shape of scale, (5,)."),
    ("offset longer", lambda: call(scale=S[:1]), ParamError, 161002, "offset has shape (5,), expected the shape of scale, (1,)."),
    ("offset ranked", lambda: call(offset=S[None]), ParamError, 161002, "offset has shape (1, 5), expected the shape of scale, (5,)."),
    ("offset ranked, one element", lambda: call(scale=S[:1], offset=S[None, :1]), ParamError, 161002, "offset has shape (1, 1), expected the shape of scale, (1,)."),
    ("offset for no elements", lambda: scaled(S[:1], x=X[:, :0], offset=S[:2]), ParamError, 161002, "offset has shape (2,), expected the shape of scale, (1,)."),
    ("out dtype", lambda: call(dst_dtype="bfloat16"), DTypeError, 161002, "out has dtype float16, expected bfloat16."),
    ("out bfloat16 for float16", lambda: call(out=Y16), DTypeError, 161002, "out has dtype bfloat16, expected float16."),
    ("out bits", lambda: call(out=Y.view(np.uint16)), DTypeError, 161002, "out has dtype uint16, expected float16."),
    ("out shape", lambda: call(out=Y.T), ParamError, 161002, "out has shape (5, 3), expected (3, 5)."),
]  # fmt: skip
# In the order in which faults are reported: one argument each, wrong on its own.
FAULTS = [
    ({"dst_dtype": "int8"}, ParamError, "dst_dtype is int8"),
    ({"src_dtype": "int4"}, ParamError, "src_dtype is int4"),
    ({"scale": S[:2]}, ParamError, "scale has shape"),
    ({"offset": S[:2]}, ParamError, "offset has shape"),
    ({"out": Y.T}, ParamError, "out has shape"),
]

ACCEPTED = [
    {"offset": None},
    {"scale": S16, "offset": S16},
    {"scale": S[:3], "offset": S[:3]},
    {"scale": S[None], "offset": S[None]},
    {"dst_dtype": np.int32(15), "src_dtype": np.int64(1)},
    {"x": X.view(np.recarray)},
    {"numerics": "reference"},
    {"x": X.view(np.uint8), "src_dtype": "torch_npu.hifloat8"},
    {"x": X.view(ml_dtypes.float8_e5m2), "src_dtype": 23},
    {"x": X.astype(np.int32), "scale": S[:1], "offset": None, "src_dtype": 285},
]
