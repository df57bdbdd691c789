"""Every message of npu_quant_matmul, the order of its checks, and the kinds it accepts."""

# ruff: noqa: E501 (tables of messages)

from __future__ import annotations

from functools import partial
from typing import Any

import ml_dtypes
import numpy as np

from errors.common import FORMAT, Takes, faults_of, of_arrays, of_kinds, of_results
from npu_quant import DTypeError, ParamError, npu_quant_matmul

OP = "npu_quant_matmul"
A, B = np.ones((2, 16), np.int8), np.ones((16, 8), np.int8)
S, P, D = np.ones(8, np.float32), np.ones(2, np.float32), np.ones(8, np.float32)
Y = np.zeros((2, 8), np.int8)
UNWRITTEN = (Y,)
GIVEN: dict[str, Any] = {"x1": A, "x2": B, "scale": S}
call = partial(npu_quant_matmul, **GIVEN)
whole = partial(call, offset=D, bias=S)
floats = partial(call, pertoken_scale=P, bias=S, output_dtype="float16")
A4, B4 = np.ones((2, 2), np.int32), np.ones((16, 1), np.int32)
G, H = np.ones((2, 8), np.float32), np.ones((2, 8), np.float16)
int4 = partial(npu_quant_matmul, x1=A4, x2=B4, scale=S)
groups = partial(
    npu_quant_matmul, x1=A4, x2=B4, scale=G, offset=H, pertoken_scale=P[:, None], output_dtype="float16", group_sizes=[0, 0, 8]
)  # fmt: skip
shifted = partial(
    npu_quant_matmul, x1=A, x2=B4, scale=G.astype(np.int64), offset=D, pertoken_scale=P[:, None], output_dtype="float16", group_sizes=[1, 1, 8]
)  # fmt: skip
F8 = A.astype(ml_dtypes.float8_e4m3fn)
small = partial(call, x1=F8, x2=F8.T, scale=P, output_dtype="float16")
E8 = np.full((2, 1, 2), 127, np.uint8)
mx = partial(small, scale=E8.swapaxes(0, 1), pertoken_scale=E8)
BYTES = F8.view(np.uint8)
bytes_ = partial(small, x1=BYTES, x2=BYTES.T, x1_dtype=290, x2_dtype="hifloat8")

# As npu_dynamic_quant gives it of three axes.
T = np.ones((3, 2), np.float32)
batches = partial(floats, x1=np.stack([A] * 3))
MERGE = "For a scale per token pass x1.reshape(-1, x1.shape[-1]) with pertoken_scale.reshape(-1), and reshape the result."
COLUMNS = "expected 1. It holds one element, or one per column: flatten it with reshape(-1)."
ROWS = "It holds one element for each row of x1.reshape(-1, x1.shape[-1])."
GROUPS = "expected 2. It holds a row for each group."
BIAS = "It holds one element per column."
X2 = "expected (8,) or (1,): an element for each column of the product with x2 of shape (16, 8), or one for all."
TAKES = {
    "x1": Takes("int8, int32, float8_e5m2, float8_e4m3fn or uint8.", "expected 2 to 8. Merge axes with x1.reshape.", "np.int8"),
    "x2": Takes("int32 or the dtype of x1 (int8).", "expected 2 to 8. Merge axes with x2.reshape.", "np.int8"),
    "scale": Takes("float32, bfloat16 or int64.", COLUMNS, "np.float32"),
    "offset": Takes("float32.", COLUMNS, "np.float32", optional=True),
    "bias": Takes("int32, float32, float16 or bfloat16.", f"expected 1 to 3. {BIAS}", "np.float32", optional=True),
}  # fmt: skip
PERTOKEN = {
    "pertoken_scale": Takes("float32.", f"expected 1 or 2. {ROWS}", "np.float32", optional=True)
}
OF_INTEGERS = "available: int8, float16, bfloat16, int32 for x1 of int8 and scale of float32."
OF_GROUPS = "available: float16, bfloat16 for x1 of int32 and scale of float32 in groups along k."
OF_FLOATS = "available: float16, bfloat16, float32 for x1 of float8_e4m3fn and scale of "
IN_GROUPS = "where scale has groups along k."
NEEDED = "expected an array: scale has groups along k."


def row(name: str, made: Any, error: type, text: str) -> Any:
    return name, made, error, 161002, text


# Name, call, exception, code, message (from its beginning, after the operator's name).
ERRORS = [
    *of_arrays(whole, TAKES),
    *[r for r in of_arrays(floats, PERTOKEN) if r[0].startswith("pertoken")],
    *of_results(whole, {"": Y}),
    *of_kinds(
        call,
        optional=(
            "output_dtype", "x1_dtype", "x2_dtype", "scale_dtype"
        ),
        output_dtype=FORMAT,
        x1_dtype=FORMAT,
        x2_dtype=FORMAT,
        scale_dtype=FORMAT,
    ),
    ("group_sizes kind", lambda: int4(group_sizes=8), TypeError, None, "group_sizes is an int, expected a list of ints."),
    ("group_sizes of floats", lambda: call(group_sizes=[0, 0, 8.5]), TypeError, None, "group_sizes is a float, expected an int."),
    row("x1 float16", lambda: call(x1=A.astype(np.float16)), DTypeError, "x1 has dtype float16, expected int8, int32, float8_e5m2, float8_e4m3fn or uint8."),
    row("x2 of int4", lambda: int4(x2=B), DTypeError, "x2 has dtype int8, expected the dtype of x1 (int32)."),
    row("x2 of another float8", lambda: small(x2=BYTES.T.view("float8_e5m2")), DTypeError, "x2 has dtype float8_e5m2, expected the dtype of x1 (float8_e4m3fn)."),
    row("scale float16", lambda: call(scale=S.astype(np.float16)), DTypeError, "scale has dtype float16, expected float32, bfloat16 or int64. Convert it, e.g. with scale.astype(np.float32)."),
    row("scale of small floats", lambda: small(scale=P.astype(ml_dtypes.bfloat16)), DTypeError, "scale has dtype bfloat16, expected float32, int64, uint8 or float8_e8m0fnu."),
    row("scale of groups", lambda: groups(scale=G.astype(np.int64)), DTypeError, "scale has dtype int64, expected float32."),
    row("scale of int8 by int4", lambda: shifted(scale=G), DTypeError, "scale has dtype float32, expected int64."),
    row("offset of groups", lambda: groups(offset=G), DTypeError, "offset has dtype float32, expected float16. Convert it, e.g. with offset.astype(np.float16)."),
    row("pertoken_scale of MX", lambda: mx(pertoken_scale=P), DTypeError, "pertoken_scale has dtype float32, expected uint8 or float8_e8m0fnu."),
    row("bias of small floats", lambda: small(bias=P.astype(np.int32)), DTypeError, "bias has dtype int32, expected float32."),
    row("offset missing", lambda: shifted(offset=None), DTypeError, f"offset is None, {NEEDED}"),
    *[row(f"pertoken_scale missing, {name}", partial(made, pertoken_scale=None), DTypeError, f"pertoken_scale is None, {NEEDED}") for name, made in (("groups", groups), ("int8 by int4", shifted), ("MX", mx))],
    row("x1 rank 1", lambda: call(x1=A[0]), ParamError, "x1 has 1 dimension, expected 2 to 8. Give it two axes, e.g. with x1.reshape(1, -1)."),
    row("scale rank 2", lambda: call(scale=G), ParamError, f"scale has 2 dimensions, {COLUMNS}"),
    row("scale of groups, rank 1", lambda: groups(scale=S), ParamError, f"scale has 1 dimension, {GROUPS}"),
    *[row(f"output_dtype {to}", partial(call, output_dtype=to), ParamError, f"output_dtype is {to}, {OF_INTEGERS}") for to in ("float32", "uint8", "int4")],
    *[row(f"output_dtype {to} of groups", partial(groups, output_dtype=to), ParamError, f"output_dtype is {to}, {OF_GROUPS}") for to in (None, "int8", "float32", "int32")],
    *[row(f"output_dtype {to} of floats", partial(made, output_dtype=to), ParamError, f"output_dtype is {to}, {OF_FLOATS}") for to in (None, "int8", "int32", "float8_e4m3fn") for made in (small, mx)],
    *[row(f"x1_dtype {to}", partial(call, x1_dtype=to), ParamError, f"x1_dtype is {to}, expected None or the dtype of x1 (int8).") for to in ("int4", "int32")],
    row("x1_dtype of int32", lambda: int4(x1_dtype="int8"), ParamError, "x1_dtype is int8, expected None, int4 or the dtype of x1 (int32)."),
    row("x2_dtype", lambda: call(x2_dtype="int4"), ParamError, "x2_dtype is int4, expected None or the dtype of x2 (int8)."),
    *[row(f"x1_dtype {to} of bytes", partial(bytes_, x1_dtype=to), ParamError, f"x1_dtype is {to}, expected hifloat8: x1 of uint8 holds hifloat8 if scale is float32.") for to in (None, "uint8", "float4_e2m1")],
    row("x2_dtype of MX", lambda: mx(x1=BYTES, x2=BYTES.T, x1_dtype=296, x2_dtype=290), ParamError, "x2_dtype is hifloat8, expected float4_e2m1: x2 of uint8 holds float4_e2m1 if scale is uint8."),
    row("pertoken_scale_dtype", lambda: floats(pertoken_scale_dtype=293), ParamError, "pertoken_scale_dtype is float8_e8m0fnu, expected None or the dtype of pertoken_scale (float32)."),
    row("pertoken_scale_dtype of none", lambda: call(pertoken_scale_dtype=6), ParamError, "pertoken_scale_dtype is float32, expected None: pertoken_scale is None."),
    row("scale_dtype of MX", lambda: mx(scale_dtype=6), ParamError, "scale_dtype is float32, expected None, float8_e8m0fnu or the dtype of scale (uint8)."),
    row("group_sizes missing", lambda: shifted(group_sizes=None), ParamError, "group_sizes is None, expected [0, 0, g] where g divides 16: scale has groups of g along k."),
    row("group_sizes of int8", lambda: call(group_sizes=[0, 0, 8]), ParamError, "group_sizes is given, expected None for x1 of int8 and scale of float32."),
    row("group_sizes of two", lambda: groups(group_sizes=(0, 8)), ParamError, "group_sizes has length 2, expected 3."),
    *[row(f"group_sizes {g}", partial(made, group_sizes=g), ParamError, f"group_sizes is {g}, expected [0, 0, g] where g divides k (16).") for g in ([0, 0, 0], [0, 0, 5], [0, 0, -8], [0, 0, 32], [2, 0, 8], [0, -1, 8], [0, 0, 2**62]) for made in (groups, shifted)],
    row("group_sizes of MX", lambda: mx(group_sizes=[1, 1, 16]), ParamError, "group_sizes is [1, 1, 16], expected [1, 1, 32]."),
    *[row(f"offset of {to}", partial(whole, output_dtype=to), ParamError, f"offset is given, expected None for results of {to}.") for to in ("float16", "bfloat16")],
    row("offset of small floats", lambda: small(offset=P), ParamError, "offset is given, expected None for results of float16."),
    *[row(f"pertoken_scale, {to}", partial(call, pertoken_scale=P, output_dtype=to), ParamError, f"output_dtype is {to}, expected float16 or bfloat16 with pertoken_scale.") for to in (None, "int8", "int32")],
    row("a float bias of int32", lambda: call(bias=S, output_dtype=3), ParamError, "bias is given, expected None or int32 for results of int32."),
    *[row(f"bias of {name}", partial(made, bias=S), ParamError, f"bias is given, expected None {IN_GROUPS}") for name, made in (("groups", groups), ("int8 by int4", shifted))],
    row("y_scale", lambda: call(y_scale=S), ParamError, "y_scale is given, expected None: y_scale is not available."),
    row("x2 rows", lambda: call(x2=B[:15]), ParamError, "x2 has shape (15, 8), expected length 16 along axis -2: x1 of shape (2, 16) has 16 columns."),
    row("x2 rows of int4", lambda: int4(x2=B4[:3]), ParamError, "x2 has shape (3, 1), expected length 16 (or 2 if it is packed) along axis -2: x1 of shape (2, 2) has 16 columns."),
    row("x2 axes", lambda: call(x1=np.ones((2, 2, 16), np.int8), x2=np.ones((3, 16, 8), np.int8)), ParamError, "x2 has shape (3, 16, 8), expected axes before the last two that broadcast with x1 of shape (2, 2, 16): equal lengths, or length 1."),
    row("huge", lambda: call(x1=np.zeros((2**27, 0), np.int8), x2=np.zeros((0, 2**27), np.int8), scale=S[:1]), ParamError, f"x2 has shape (0, {2**27}), expected at most {2**52} elements in the product with x1 of shape ({2**27}, 0)."),
    *[row(f"{name} of 2", partial(whole, **{name: P}), ParamError, f"{name} has shape (2,), {X2}") for name in ("scale", "offset")],
    *[row(f"{name} of groups", partial(groups, **{name: v[:1]}), ParamError, f"{name} has shape (1, 8), expected (2, 8): a row for each group along k of x2 of shape (16, 1).") for name, v in (("scale", G), ("offset", H))],
    row("offset of one", lambda: shifted(offset=D[:1]), ParamError, "offset has shape (1,), expected (8,): an element for each column of the product with x2 of shape (16, 1)."),
    row("pertoken_scale of columns", lambda: floats(pertoken_scale=S), ParamError, "pertoken_scale has shape (8,), expected (2,): an element for each row of x1 of shape (2, 16)."),
    row("pertoken_scale across", lambda: floats(pertoken_scale=P[None]), ParamError, "pertoken_scale has shape (1, 2), expected (2, 1): an element for each row of x1 of shape (2, 16)."),
    *[row(f"pertoken_scale of {p.shape} for 3 axes", partial(batches, pertoken_scale=p), ParamError, f"pertoken_scale has shape {p.shape}, expected {one}: an element for each row of all matrices of x1 of shape (3, 2, 16). {MERGE}") for p, one in ((T, "(2, 1)"), (T.reshape(-1), "(2,)"), (T.reshape(-1, 1), "(2, 1)"))],
    row("pertoken_scale of three axes", lambda: batches(pertoken_scale=T[..., None]), ParamError, f"pertoken_scale has 3 dimensions, expected 1 or 2. {ROWS}"),
    row("pertoken_scale of three axes, both", lambda: batches(x2=np.stack([B] * 3), pertoken_scale=T[..., None]), ParamError, "pertoken_scale has 3 dimensions, expected 1 or 2. It holds one element per row, for all matrices of x1."),
    row("scale of MX", lambda: mx(scale=E8), ParamError, "scale has shape (2, 1, 2), expected (1, 2, 2): a byte for each block of 32 along k, in pairs, for x2 of shape (16, 2)."),
    row("pertoken_scale of MX", lambda: mx(pertoken_scale=E8[:1]), ParamError, "pertoken_scale has shape (1, 1, 2), expected (2, 1, 2): a byte for each block of 32 along k, in pairs, for x1 of shape (2, 16)."),
    row("bias of rows", lambda: call(bias=P), ParamError, "bias has shape (2,), expected (8,): an element for each column of the product with x2 of shape (16, 8)."),
    row("bias of batches", lambda: call(x1=A[None], bias=np.ones((2, 1, 8), np.int32)), ParamError, "bias has shape (2, 1, 8), expected (8,) or (1, 1, 8): an element for each column of the product with x2 of shape (16, 8)."),
    row("out of another dtype", lambda: call(output_dtype="float16", out=Y), DTypeError, "out has dtype int8, expected float16."),
]  # fmt: skip

# In the order in which faults are reported: one argument each, wrong on its own.
OTHERS = [
    ({"output_dtype": 1.5}, TypeError, "output_dtype is a float"),
    ({"output_dtype": "float32"}, ParamError, "output_dtype is float32"),
    ({"x1_dtype": "int4"}, ParamError, "x1_dtype is int4"),
    ({"x2_dtype": "int4"}, ParamError, "x2_dtype is int4"),
    ({"pertoken_scale_dtype": "int4"}, ParamError, "pertoken_scale_dtype is int4"),
    ({"scale_dtype": "int4"}, ParamError, "scale_dtype is int4"),
    ({"group_sizes": [1]}, ParamError, "group_sizes is given"),
    ({"pertoken_scale": P}, ParamError, "output_dtype is None"),
    ({"y_scale": P}, ParamError, "y_scale is given"),
    ({"x2": B[:3]}, ParamError, "x2 has shape (3, 8)"),
    ({"scale": S[:3]}, ParamError, "scale has shape (3,)"),
    ({"offset": S[:3]}, ParamError, "offset has shape (3,)"),
    ({"bias": S[:3]}, ParamError, "bias has shape (3,)"),
    ({"out": Y.T}, ParamError, "out has shape"),
]
FAULTS = {OP: (whole, [*faults_of(whole, TAKES), *OTHERS])}

ACCEPTED = [
    {"scale": S[:1], "output_dtype": 3},
    {"scale": S.astype(ml_dtypes.bfloat16), "bias": S.astype(np.int32), "x1_dtype": 1},
    {"scale": S.astype(np.int64), "scale_dtype": 4, "output_dtype": np.float16},
    {"pertoken_scale": P[:, None], "output_dtype": 283, "bias": S.astype(np.float16)},
    {**int4.keywords, "x1_dtype": "int4", "x2_dtype": 3},
    {**int4.keywords, "x2": np.ones((2, 8), np.int32)},
    groups.keywords,
    {**groups.keywords, "offset": None, "pertoken_scale": P},
    shifted.keywords,
    small.keywords,
    {**bytes_.keywords, "pertoken_scale": P, "bias": P, "pertoken_scale_dtype": "float32"},
    mx.keywords | {"output_dtype": "float32", "scale_dtype": 293, "group_sizes": (1, 1, 32)},
    {**mx.keywords, "scale": E8.swapaxes(0, 1).view("float8_e8m0fnu"), "scale_dtype": 293},
    {"x1": A[None], "x2": np.ones((5, 16, 8), np.int8), "bias": np.ones((5, 1, 8), np.int32)},
    {"numerics": "reference"},
]
