"""Every message of npu_dynamic_quant, the order of its checks, and the kinds it accepts."""

# ruff: noqa: E501 (tables of messages)

from __future__ import annotations

from functools import partial

import ml_dtypes
import numpy as np

from errors.common import FORMAT, NUMBER, STR, Takes, faults_of, of_arrays, of_kinds, of_results
from npu_quant import DTypeError, ParamError, npu_dynamic_quant

OP = "npu_dynamic_quant"
X = np.ones((2, 4), np.float16)
Y = np.zeros((2, 4), np.int8)
S = np.zeros(2, np.float32)
UNWRITTEN = (Y, S)
GIVEN = {"input": X}
ENDS = np.array([1, 2], np.int32)
call = partial(npu_dynamic_quant, **GIVEN)
grouped = partial(call, smooth_scales=X, group_index=ENDS)

TAKES = {
    "input": Takes(
        "float16, bfloat16 or float32.",
        "expected 2 to 8. Merge axes with input.reshape.",
    ),
    "smooth_scales": Takes(
        "the dtype of input (float16).",
        "expected 1. It holds one factor per element of a token.",
        optional=True,
    ),
}

GROUPS = Takes("int32.", "expected 1. It holds the end of each group.", "np.int32", optional=True)

# Name, call, exception, code, message (from its beginning, after the operator's name).
ERRORS = [
    *of_arrays(partial(call, smooth_scales=X[0]), TAKES),
    *of_results(partial(call, smooth_scales=X[0]), {"y": Y, "scale": S}),
    *((f"of groups: {name}", *row) for name, *row in of_arrays(grouped, {"group_index": GROUPS})),
    ("int", lambda: npu_dynamic_quant(Y), DTypeError, 161002, "input has dtype int8, expected"),
    ("bool", lambda: npu_dynamic_quant(np.ones((2, 4), bool)), DTypeError, 161002, "input has dtype bool, expected"),
    ("complex", lambda: npu_dynamic_quant(np.ones((2, 4), complex)), DTypeError, 161002, "input has dtype complex128, expected float16, bfloat16 or float32. Convert it, e.g. with input.astype(np.float32)."),
    ("void", lambda: npu_dynamic_quant(np.zeros((2, 4), "V2")), DTypeError, 161002, "input has dtype |V2, expected float16, bfloat16 or float32. If it holds the bits of bfloat16, pass input.view(ml_dtypes.bfloat16)."),
    ("fp8", lambda: npu_dynamic_quant(np.ones((2, 4), ml_dtypes.float8_e5m2)), DTypeError, 161002, "input has dtype float8_e5m2, expected"),
    ("structured", lambda: npu_dynamic_quant(np.zeros((2, 4), [(f"field{i}", "f4") for i in range(99)])), DTypeError, 161002, "input has dtype [('field0', '<f4')"),
    *[(f"like others' names, {name}", lambda name=name: npu_dynamic_quant(X, dst_type=name), ParamError, 161002, f"dst_type is '{name}', available: int8, int4, hifloat8, float8_e5m2, float8_e4m3fn. Pass ") for name in ("bfloat", "float8", "float4")],
    ("smooth dtype", lambda: npu_dynamic_quant(X, smooth_scales=np.ones(4, np.float32)), DTypeError, 161002, "smooth_scales has dtype float32, expected the dtype of input (float16). Convert it with smooth_scales.astype(input.dtype)."),
    ("rank 1", lambda: npu_dynamic_quant(X[0]), ParamError, 161002, "input has 1 dimension, expected 2 to 8. Give it two axes, e.g. with input.reshape(1, -1)."),
    ("rank 0", lambda: npu_dynamic_quant(np.array(1, np.float16)), ParamError, 161002, "input has 0 dimensions, expected 2 to 8."),
    ("rank 30", lambda: npu_dynamic_quant(np.ones((1,) * 30, np.float16)), ParamError, 161002, "input has 30 dimensions, expected 2 to 8."),
    ("smooth rank", lambda: npu_dynamic_quant(X, smooth_scales=X), ParamError, 161002, "smooth_scales has 2 dimensions, expected 1. It holds one factor per element of a token."),
    ("smooth length", lambda: npu_dynamic_quant(X, smooth_scales=X[0, :3].copy()), ParamError, 161002, "smooth_scales has shape (3,), expected (4,): the length of the last axis of input."),
    ("group_index alone", lambda: call(group_index=ENDS), ParamError, 161002, "smooth_scales is None, expected an array with group_index."),
    ("group_index of channels", lambda: grouped(quant_mode="perchannel"), ParamError, 161002, "group_index is given, expected None with quant_mode 'perchannel'."),
    ("group_index empty", lambda: grouped(group_index=ENDS[:0]), ParamError, 161002, "group_index has shape (0,), expected 1 to 1024 entries."),
    ("group_index long", lambda: grouped(group_index=np.zeros(1025, np.int32)), ParamError, 161002, "group_index has shape (1025,), expected 1 to 1024 entries."),
    ("group_index int64", lambda: grouped(group_index=ENDS.astype(np.int64)), DTypeError, 161002, "group_index has dtype int64, expected int32. Convert it, e.g. with group_index.astype(np.int32)."),
    ("group_index negative", lambda: grouped(group_index=np.array([-1, 2], np.int32)), ParamError, 161002, "group_index[0] is -1, expected at least 0: each entry is the row after its group, counted from the first row of input."),
    ("group_index decreasing", lambda: grouped(group_index=np.array([2, 1], np.int32)), ParamError, 161002, "group_index[1] is 1, expected at least 2"),
    ("group_index short", lambda: grouped(group_index=np.array([0, 1], np.int32)), ParamError, 161002, "group_index[1] is 1, expected 2, the number of rows of input."),
    ("group_index counts", lambda: grouped(group_index=np.array([1, 3], np.int32)), ParamError, 161002, "group_index[1] is 3, expected 2, the number of rows of input."),
    ("group_index, smooth rank", lambda: grouped(smooth_scales=X[0]), ParamError, 161002, "smooth_scales has 1 dimension, expected 2. With group_index it holds a row for each group."),
    ("group_index, smooth rows", lambda: grouped(smooth_scales=X[:1]), ParamError, 161002, "smooth_scales has shape (1, 4), expected (2, 4): a row for each entry of group_index."),
    ("group_index, smooth columns", lambda: grouped(smooth_scales=X[:, :3]), ParamError, 161002, "smooth_scales has shape (2, 3), expected (2, 4): a row for each entry of group_index."),
    ("smooth length, pertensor", lambda: call(quant_mode="pertensor", smooth_scales=X[0, :2]), ParamError, 161002, "smooth_scales has shape (2,), expected (4,): the length of the last axis of input."),
    ("smooth length, perchannel", lambda: call(quant_mode="perchannel", smooth_scales=X[0]), ParamError, 161002, "smooth_scales has shape (4,), expected (2,): the length of axis -2 of input."),
    ("out, pertensor", lambda: call(quant_mode="pertensor", out=(Y, S)), ParamError, 161002, "out[scale] has shape (2,), expected (1,)."),
    ("out, perchannel", lambda: call(quant_mode="perchannel", out=(Y, S)), ParamError, 161002, "out[scale] has shape (2,), expected (4,)."),
    ("dst_type int16", lambda: npu_dynamic_quant(X, dst_type=np.int16), ParamError, 161002, "dst_type is int16, available: int8, int4, hifloat8, float8_e5m2, float8_e4m3fn. Pass torch_npu's code (258, 285, 290, 291, 292), a dtype or a dtype's name."),
    ("dst_type 2", lambda: npu_dynamic_quant(X, dst_type=2), ParamError, 161002, "dst_type is int16, available"),
    ("dst_type unknown", lambda: npu_dynamic_quant(X, dst_type="int9"), ParamError, 161002, "dst_type is 'int9', available"),
    ("dst_type unknown code", lambda: npu_dynamic_quant(X, dst_type=-7), ParamError, 161002, "dst_type is -7, available"),
    *of_kinds(call, optional=("dst_type",), dst_type=FORMAT, quant_mode=STR, dst_type_max=NUMBER),
    ("quant_mode", lambda: npu_dynamic_quant(X, quant_mode="perrow"), ParamError, 161002, "quant_mode is 'perrow', expected 'pertoken', 'pertensor' or 'perchannel'."),
    ("quant_mode long", lambda: npu_dynamic_quant(X, quant_mode="m" * 999), ParamError, 161002, "quant_mode is 'mmmm"),
    ("dst_type_max", lambda: npu_dynamic_quant(X, dst_type_max=15.0), ParamError, 161002, "dst_type_max is 15, available: 0.0 (other values need hifloat8)."),
    ("dst_type_max above", lambda: npu_dynamic_quant(X, dst_type=290, dst_type_max=32769), ParamError, 161002, "dst_type_max is 32769, expected 0 or a number from 1e-06 to 32768."),
    ("dst_type_max below", lambda: npu_dynamic_quant(X, dst_type=290, dst_type_max=9.99999e-7), ParamError, 161002, "dst_type_max is 9.99999e-07, expected"),
    ("int4 of 4 columns", lambda: npu_dynamic_quant(X, dst_type="int4"), ParamError, 161002, "input has shape (2, 4), expected a last axis of a multiple of 8"),
    ("dst_type_max nan", lambda: npu_dynamic_quant(X, dst_type_max=np.nan), ParamError, 161002, "dst_type_max is nan, available"),
    ("out dtype", lambda: npu_dynamic_quant(X, out=(Y.view(np.uint8), S)), DTypeError, 161002, "out[y] has dtype uint8, expected int8."),
    ("out scale dtype", lambda: npu_dynamic_quant(X, out=(Y, S.astype(np.float64))), DTypeError, 161002, "out[scale] has dtype float64, expected float32."),
    ("out shape", lambda: npu_dynamic_quant(X, out=(Y, S[:, None])), ParamError, 161002, "out[scale] has shape (2, 1), expected (2,)."),
]  # fmt: skip

# In the order in which faults are reported: one argument each, wrong on its own.
ARRAYS = TAKES | {"group_index": GROUPS}
OTHERS = [
    ({"quant_mode": 3}, TypeError, "quant_mode is an int"),
    ({"quant_mode": "x"}, ParamError, "quant_mode is 'x'"),
    ({"smooth_scales": X[:, :3]}, ParamError, "smooth_scales has shape"),
    ({"group_index": ENDS - 1}, ParamError, "group_index[1] is 1"),
    ({"out": ()}, ParamError, "out has 0 entries"),
]
FAULTS = {OP: (grouped, [*faults_of(grouped, ARRAYS), *OTHERS])}

ACCEPTED = [
    {"dst_type": np.int64(1)},
    {"dst_type": "torch.int8", "dst_type_max": 0},
    {"smooth_scales": X[0]},
    {"input": X.view(np.recarray)},
    {"numerics": "reference"},
    {"out": (None, None)},
    {"quant_mode": "pertensor"},
    {"quant_mode": "perchannel", "smooth_scales": X[:, 0]},
    {"smooth_scales": X, "group_index": ENDS},
]
