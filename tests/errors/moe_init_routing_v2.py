"""Every message of npu_moe_init_routing_v2, the order of its checks, and what it accepts."""

# ruff: noqa: E501 (tables of messages)

from __future__ import annotations

from functools import partial
from typing import Any

import ml_dtypes
import numpy as np

from errors.common import (
    BOOL,
    FLOATS,
    FORMAT,
    INT,
    Takes,
    of_arrays,
    of_kinds,
    of_results,
)
from npu_quant import DTypeError, ParamError, npu_moe_init_routing_v2

OP = "npu_moe_init_routing_v2"
X = np.ones((3, 8), np.float16)
IDX = np.zeros((3, 2), np.int32)
S = np.ones(1, np.float32)
Y = np.zeros((6, 8), np.int8)
ROW_IDX = np.zeros(6, np.int32)
TOKENS = np.zeros(4, np.int64)
SCALE = np.zeros(6, np.float32)
UNWRITTEN = (Y, ROW_IDX, TOKENS, SCALE)
GIVEN: dict[str, Any] = {"x": X, "expert_idx": IDX, "expert_num": 4}
rows = partial(npu_moe_init_routing_v2, **GIVEN)
call = partial(rows, scale=S, offset=S, quant_mode=0)
dynamic = partial(rows, quant_mode=1)
drops = partial(dynamic, drop_pad_mode=1, expert_capacity=2)

ONE = Takes("float32.", "expected 1.", "np.float32", optional=True)
TAKES = {
    "x": Takes(FLOATS, "expected 2."),
    "expert_idx": Takes("int32.", "expected 2.", "np.int32"),
    "scale": ONE,
    "offset": ONE,
}
ANY = "expected float16, bfloat16, float32, int8, uint8, float8_e4m3fn or float8_e5m2."
OF_ROWS = "It holds a scale for each row of x."
RANGE = "expected 0 <= start < end <= 4 (expert_num)."
ENTRIES = "expected 0, or 2: the first expert and the expert after the last."
BYTES = X.astype(ml_dtypes.float8_e5m2)
FACTORS = "a factor for each column, for all experts or for each in the range."


def scale(*shape: int, dtype: Any = np.float32) -> dict[str, np.ndarray]:
    return {"scale": np.ones(shape, dtype)}


# Name, call, exception, code, message (from its beginning, after the operator's name).
ERRORS = [
    *of_arrays(call, TAKES),
    *of_results(call, {"expanded_x": Y, "expanded_row_idx": ROW_IDX, "expert_tokens_count_or_cumsum": TOKENS, "expanded_scale": SCALE}),
    *of_kinds(
        call,
        optional=("x_dtype",),
        active_num=INT,
        expert_capacity=INT,
        expert_num=INT,
        drop_pad_mode=INT,
        expert_tokens_num_type=INT,
        expert_tokens_num_flag=BOOL,
        quant_mode=INT,
        row_idx_type=INT,
        x_dtype=FORMAT,
    ),
    ("range, int", lambda: call(active_expert_range=3), TypeError, None, "active_expert_range is an int, expected a list of ints."),
    ("range, None", lambda: call(active_expert_range=None), TypeError, None, "active_expert_range is None, expected a list of ints."),
    ("range, floats", lambda: call(active_expert_range=[0, 1.5]), TypeError, None, "active_expert_range is a float, expected an int."),
    ("x int32", lambda: rows(x=X.astype(np.int32)), DTypeError, 161002, f"x has dtype int32, {ANY}"),
    ("x int8, quantized", lambda: dynamic(x=X.astype(np.int8)), DTypeError, 161002, f"x has dtype int8, expected {FLOATS}"),
    ("expert_idx int64", lambda: call(expert_idx=IDX.astype(np.int64)), DTypeError, 161002, "expert_idx has dtype int64, expected int32. Convert it, e.g. with expert_idx.astype(np.int32)."),
    ("expert_idx rows", lambda: call(expert_idx=IDX[:2]), ParamError, 161002, "expert_idx has shape (2, 2), expected (3, K): a row for each row of x."),
    ("expert_idx, many", lambda: rows(x=X[:1], expert_idx=np.broadcast_to(IDX[:1, :1], (1, 2**31))), ParamError, 161002, "expert_idx has shape (1, 2147483648), expected at most 2147483647 elements."),
    ("x, many", lambda: rows(x=np.broadcast_to(X[:1, :1], (3, 2**50))), ParamError, 161002, "x has shape (3, 1125899906842624), expected at most 4503599627370496 elements in the result."),
    ("scale uint8 of floats", lambda: rows(**scale(3, 1, 2, dtype=np.uint8)), DTypeError, 161002, "scale has dtype uint8, expected float32."),
    ("scale rank 2", lambda: rows(**scale(3, 1)), ParamError, 161002, f"scale has 2 dimensions, expected 1. {OF_ROWS}"),
    ("scale rank 0", lambda: rows(x=BYTES, **scale()), ParamError, 161002, f"scale has 0 dimensions, expected 1 to 3. {OF_ROWS}"),
    ("scale rows", lambda: rows(**scale(2)), ParamError, 161002, "scale has shape (2,), expected (3,): a scale for each row."),
    ("scale float32 of bytes", lambda: rows(x=BYTES, **scale(3, 1, 2)), ParamError, 161002, "scale has shape (3, 1, 2), expected (3,): a scale for each row."),
    ("scale uint8 rank 1", lambda: rows(x=BYTES, **scale(3, dtype=np.uint8)), ParamError, 161002, "scale has shape (3,), expected (3, c, 2): bytes for each row."),
    ("scale uint8 rows", lambda: rows(x=BYTES, **scale(2, 1, 2, dtype=np.uint8)), ParamError, 161002, "scale has shape (2, 1, 2), expected (3, c, 2): bytes for each row."),
    ("scale uint8 halves", lambda: rows(x=BYTES, **scale(3, 2, 1, dtype=np.uint8)), ParamError, 161002, "scale has shape (3, 2, 1), expected (3, c, 2): bytes for each row."),
    ("scale static", lambda: call(**scale(2)), ParamError, 161002, "scale has shape (2,), expected (1,)."),
    ("offset static", lambda: call(offset=S[:0]), ParamError, 161002, "offset has shape (0,), expected (1,)."),
    ("no scale", lambda: call(scale=None), ParamError, 161002, "scale is None, expected one element with quant_mode 0."),
    ("no offset", lambda: call(offset=None), ParamError, 161002, "offset is None, expected one element with quant_mode 0."),
    ("offset, none", lambda: rows(offset=S), ParamError, 161002, "quant_mode is -1, expected 0 with offset."),
    ("offset, dynamic", lambda: dynamic(offset=S), ParamError, 161002, "quant_mode is 1, expected 0 with offset."),
    ("factors rank 1", lambda: dynamic(**scale(8)), ParamError, 161002, "scale has 1 dimension, expected 2."),
    ("factors rows", lambda: dynamic(**scale(3, 8)), ParamError, 161002, f"scale has shape (3, 8), expected (1, 8) or (4, 8): {FACTORS}"),
    ("factors columns", lambda: dynamic(**scale(1, 1)), ParamError, 161002, f"scale has shape (1, 1), expected (1, 8) or (4, 8): {FACTORS}"),
    ("factors of a range", lambda: dynamic(**scale(4, 8), active_expert_range=[1, 3]), ParamError, 161002, f"scale has shape (4, 8), expected (1, 8) or (2, 8): {FACTORS}"),
    ("expert_num", lambda: call(expert_num=0), ParamError, 161002, "expert_num is 0, expected 1 to 10240."),
    ("expert_num default", lambda: call(expert_num=-1), ParamError, 161002, "expert_num is -1, expected 1 to 10240."),
    ("expert_num, many", lambda: call(expert_num=10241), ParamError, 161002, "expert_num is 10241, expected 1 to 10240."),
    ("drop_pad_mode", lambda: call(drop_pad_mode=2), ParamError, 161002, "drop_pad_mode is 2, expected 0 (a slot for each row) or 1 (expert_capacity slots for each expert)."),
    ("expert_capacity", lambda: drops(expert_capacity=0), ParamError, 161002, "expert_capacity is 0, expected 1 to 536870911 with drop_pad_mode 1 and 4 experts."),
    ("expert_capacity, many", lambda: drops(expert_capacity=2**29), ParamError, 161002, "expert_capacity is 536870912, expected 1 to 536870911 with drop_pad_mode 1 and 4 experts."),
    ("expert_tokens_num_type", lambda: call(expert_tokens_num_type=3), ParamError, 161002, "expert_tokens_num_type is 3, expected 0 (running sums), 1 (counts) or 2 (experts and their counts)."),
    ("quant_mode", lambda: call(quant_mode=2), ParamError, 161002, "quant_mode is 2, available: -1 (none), 0 (by a scale), 1 (each row by its amax), 13 (the same in int4)."),
    ("range, one", lambda: call(active_expert_range=[1]), ParamError, 161002, f"active_expert_range has 1 entry, {ENTRIES}"),
    ("range, three", lambda: call(active_expert_range=(0, 1, 2)), ParamError, 161002, f"active_expert_range has 3 entries, {ENTRIES}"),
    ("range, negative", lambda: call(active_expert_range=[-1, 2]), ParamError, 161002, f"active_expert_range is [-1, 2], {RANGE}"),
    ("range, empty", lambda: call(active_expert_range=[2, 2]), ParamError, 161002, f"active_expert_range is [2, 2], {RANGE}"),
    ("range, beyond", lambda: call(active_expert_range=[0, 5]), ParamError, 161002, f"active_expert_range is [0, 5], {RANGE}"),
    ("range, dropped", lambda: drops(active_expert_range=[0, 3]), ParamError, 161002, "active_expert_range is [0, 3], expected [0, 4] or none with drop_pad_mode 1."),
    ("row_idx_type", lambda: call(row_idx_type=2), ParamError, 161002, "row_idx_type is 2, expected 0 (the slot of each row) or 1 (the row of each slot)."),
    ("x_dtype", lambda: rows(x_dtype="int8"), ParamError, 161002, "x_dtype is int8, expected None, or int4 with quant_mode 13."),
    ("x_dtype, dynamic", lambda: dynamic(x_dtype="int4"), ParamError, 161002, "x_dtype is int4, expected None, or int4 with quant_mode 13."),
    ("int4 dropped", lambda: drops(quant_mode=13), ParamError, 161002, "drop_pad_mode is 1, expected 0 with quant_mode 13."),
    ("int4 columns", lambda: dynamic(quant_mode=13, x=X[:, :3]), ParamError, 161002, "x has shape (3, 3), expected a last axis of a multiple of 2 for int4."),
]  # fmt: skip
# In the order in which faults are reported: one argument each, wrong on its own.
FAULTS = [
    ({"drop_pad_mode": 2}, ParamError, "drop_pad_mode is 2"),
    ({"expert_num": 0}, ParamError, "expert_num is 0"),
    ({"expert_tokens_num_type": 3}, ParamError, "expert_tokens_num_type is 3"),
    ({"x_dtype": "int8"}, ParamError, "x_dtype is int8"),
    ({"active_expert_range": [1]}, ParamError, "active_expert_range has 1 entry"),
    ({"row_idx_type": 2}, ParamError, "row_idx_type is 2"),
    ({"expert_idx": IDX[:2]}, ParamError, "expert_idx has shape"),
    ({"scale": S[:0]}, ParamError, "scale has shape"),
    ({"offset": S[:0]}, ParamError, "offset has shape"),
    ({"out": (Y, ROW_IDX, TOKENS, SCALE[:1])}, ParamError, "out[expanded_scale] has shape"),
]

ACCEPTED = [
    {"active_num": -(2**60), "expert_capacity": 0},
    {"active_num": 2**60},
    {"active_expert_range": (0, 4)},
    {"active_expert_range": [np.int64(3), 4]},
    {"quant_mode": 13, "scale": None, "offset": None, "x_dtype": 285},
    {"expert_num": 10240},
    {"numerics": "reference"},
]
