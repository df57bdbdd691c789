"""What npu_grouped_dynamic_block_quant refuses, and in which order."""

# ruff: noqa: E501 (tables of messages)

from __future__ import annotations

from functools import partial

import numpy as np

from errors.common import FORMAT, INT, NUMBER, STR, Takes, of_arrays, of_kinds, of_results
from npu_quant import DTypeError, ParamError, npu_grouped_dynamic_block_quant

OP = "npu_grouped_dynamic_block_quant"
X = np.ones((2, 4), np.float16)
ENDS = np.array([1, 2], np.int32)
Y = np.zeros((2, 4), np.uint8)
S = np.zeros((4, 1), np.float32)
UNWRITTEN = (Y, S)
GIVEN = {"x": X, "group_list": ENDS}
call = partial(npu_grouped_dynamic_block_quant, **GIVEN)
hifloat8 = partial(call, dst_type="hifloat8", round_mode="round")


def ends(*at: int) -> dict[str, np.ndarray]:
    return {"group_list": np.array(at, np.int32)}


TAKES = {
    "x": Takes(
        "float16, bfloat16 or float32.",
        "expected 2 or 3. Merge leading axes with x.reshape(-1, m, n).",
    ),
    "group_list": Takes("int32.", "expected 1. It holds the end of each group.", "np.int32"),
}

# Name, call, exception, code, message (from its beginning, after the operator's name).
ERRORS = [
    *of_arrays(call, TAKES),
    *of_results(hifloat8, {"y": Y, "scale": S}),
    ("x rank 1", lambda: call(x=X[0]), ParamError, 161002, "x has 1 dimension, expected 2 or 3. Give it two axes, e.g. with x.reshape(1, -1)."),
    ("x rank 4", lambda: call(x=X[None, None]), ParamError, 161002, "x has 4 dimensions, expected 2 or 3. Merge leading axes with x.reshape(-1, m, n)."),
    ("group_list int64", lambda: call(group_list=ENDS.astype(np.int64)), DTypeError, 161002, "group_list has dtype int64, expected int32. Convert it, e.g. with group_list.astype(np.int32)."),
    ("group_list rank 0", lambda: call(group_list=ENDS[0, ...]), ParamError, 161002, "group_list has 0 dimensions, expected 1. It holds the end of each group."),
    ("group_list empty", lambda: call(group_list=ENDS[:0]), ParamError, 161002, "group_list has shape (0,), expected 1 or more entries."),
    ("group_list negative", lambda: call(**ends(-1, 2)), ParamError, 161002, "group_list[0] is -1, expected at least 0: each entry is the row after its group, counted from the first row of x."),
    ("group_list decreasing", lambda: call(**ends(2, 1)), ParamError, 161002, "group_list[1] is 1, expected at least 2"),
    ("group_list short", lambda: call(**ends(0, 1)), ParamError, 161002, "group_list[1] is 1, expected 2, the number of rows of x."),
    ("group_list of all batches", lambda: call(x=X[None].repeat(2, 0), **ends(2, 4)), ParamError, 161002, "group_list[1] is 4, expected 2, the number of rows of x."),
    ("min_scale negative", lambda: call(min_scale=-1), ParamError, 161002, "min_scale is -1, expected a number >= 0 that is finite in float32 (0 means no bound)."),
    ("min_scale nan", lambda: call(min_scale=np.nan), ParamError, 161002, "min_scale is nan, expected"),
    *of_kinds(call, optional=("dst_type",), min_scale=NUMBER, round_mode=STR, dst_type=FORMAT, row_block_size=INT, col_block_size=INT, group_list_type=INT, dst_type_max=NUMBER),
    ("round_mode", lambda: call(round_mode="hybrid"), ParamError, 161002, "round_mode is 'hybrid', available: 'rint' or 'round'."),
    ("round_mode of float8", lambda: call(round_mode="round"), ParamError, 161002, "round_mode is 'round', available: 'rint'."),
    ("round_mode of hifloat8", lambda: call(dst_type=290), ParamError, 161002, "round_mode is 'rint', available for hifloat8: 'round' (ties away from zero)."),
    *[(f"dst_type {to}", lambda to=to: call(dst_type=to), ParamError, 161002, f"dst_type is {to}, available: hifloat8, float8_e5m2, float8_e4m3fn. Pass torch_npu's code (290, 291, 292), a dtype or a dtype's name.") for to in ("int8", "int4", "float4_e2m1")],
    *[(f"row_block_size {n}", lambda n=n: call(row_block_size=n), ParamError, 161002, f"row_block_size is {n}, available: 1, 128, 256, 512.") for n in (0, 2, 64, -128)],
    *[(f"col_block_size {n}", lambda n=n: call(col_block_size=n), ParamError, 161002, f"col_block_size is {n}, available: 64, 128, 192, 256.") for n in (0, 32, 512, -128)],
    *[(f"group_list_type {n}", lambda n=n: call(group_list_type=n), ParamError, 161002, f"group_list_type is {n}, available: 0 (group_list holds the end of each group).") for n in (1, 2, -1)],
    ("dst_type_max", lambda: call(dst_type_max=15), ParamError, 161002, "dst_type_max is 15, available: 0.0 (other values need hifloat8)."),
    *[(f"dst_type_max {top}", lambda top=top: hifloat8(dst_type_max=top), ParamError, 161002, f"dst_type_max is {top:g}, expected 0 or a number from 1e-06 to 32768.") for top in (-1, 1e-7, 32769, np.nan, np.inf)],
    ("out of another format", lambda: call(out=(Y, S)), DTypeError, 161002, "out[y] has dtype uint8, expected float8_e5m2."),
]  # fmt: skip

# In the order in which faults are reported: one argument each, wrong on its own.
FAULTS = [
    ({"min_scale": -1}, ParamError, "min_scale is -1"),
    ({"round_mode": "x"}, ParamError, "round_mode is 'x'"),
    ({"dst_type": np.int16}, ParamError, "dst_type is int16"),
    ({"row_block_size": 3}, ParamError, "row_block_size is 3"),
    ({"col_block_size": 3}, ParamError, "col_block_size is 3"),
    ({"group_list_type": 1}, ParamError, "group_list_type is 1"),
    ({"dst_type_max": 1}, ParamError, "dst_type_max is 1"),
    ({"group_list": ENDS[:0]}, ParamError, "group_list has shape (0,)"),
    ({"group_list": ENDS - 1}, ParamError, "group_list[1] is 1"),
    ({"out": ()}, ParamError, "out has 0 entries"),
]

ACCEPTED = [
    ends(0, 0, 2, 2),
    {"min_scale": np.float32(2), "row_block_size": np.int64(128), "group_list_type": np.int32(0)},
    {"dst_type": 24, "col_block_size": 192},
    {"dst_type": "ACL_HIFLOAT8", "round_mode": "round", "dst_type_max": 99.5},
    {"dst_type": "torch_npu.float8_e4m3fn", "dst_type_max": 0},
    {"x": X.view(np.recarray)},
    {"numerics": "reference"},
]
