"""Every message of npu_moe_finalize_routing, the order of its checks, and what it accepts."""

# ruff: noqa: E501 (tables of messages)

from __future__ import annotations

from functools import partial
from typing import Any

import ml_dtypes
import numpy as np

from errors.common import FLOATS, INT, Takes, of_arrays, of_kinds, of_results
from npu_quant import DTypeError, ParamError, npu_moe_finalize_routing

OP = "npu_moe_finalize_routing"
ROWS = np.ones((6, 4), np.float16)
SLOTS = np.ones((2, 3, 4), np.float16)
SKIP = np.ones((3, 4), np.float16)
BIAS = np.ones((5, 4), np.float16)
SCALES = np.ones((3, 2), np.float32)
SOURCE = np.array([0, 1, 2, 3, 4, 5], np.int32)
EXPERTS = np.array([[0, 1], [2, 3], [4, 0]], np.int32)
Y = np.zeros((3, 4), np.float16)
UNWRITTEN = (Y,)
GIVEN: dict[str, Any] = {
    "expanded_permuted_rows": ROWS,
    "skip1": SKIP,
    "skip2": SKIP,
    "bias": BIAS,
    "scales": SCALES,
    "expanded_src_to_dst_row": SOURCE,
    "export_for_source_row": EXPERTS,
}
# Good arguments, and out, so that nothing may be written.
call = partial(npu_moe_finalize_routing, **GIVEN, out=Y)
LIKE = "the dtype of expanded_permuted_rows (float16)."
TAKES = {
    "expanded_permuted_rows": Takes(FLOATS, "expected 2 or 3."),
    "skip1": Takes(LIKE, "expected 2.", optional=True),
    "skip2": Takes(LIKE, "expected 2.", optional=True),
    "bias": Takes(LIKE, "expected 2. It holds a row for each expert.", optional=True),
    "scales": Takes(FLOATS, "expected 2. It holds a row for each token.", optional=True),
    "expanded_src_to_dst_row": Takes("int32.", "expected 1.", "np.int32"),
    "export_for_source_row": Takes("int32.", "expected 2.", "np.int32", optional=True),
}


def source(*entries: int) -> dict[str, Any]:
    return {"expanded_src_to_dst_row": np.array(entries, np.int32)}


slots = partial(call, expanded_permuted_rows=SLOTS, drop_pad_mode=1)
unscaled = partial(call, scales=None, k=2)

# Name, call, exception, code, message (from its beginning, after the operator's name).
ERRORS = [
    *of_arrays(call, TAKES),
    *of_results(call, {"": Y}),
    *of_kinds(call, optional=("drop_pad_mode", "k"), drop_pad_mode=INT, k=INT),
    ("skip1 of another dtype", lambda: call(skip1=SKIP.astype(ml_dtypes.bfloat16)), DTypeError, 161002, f"skip1 has dtype bfloat16, expected {LIKE}"),
    ("source int64", lambda: call(expanded_src_to_dst_row=SOURCE.astype(np.int64)), DTypeError, 161002, "expanded_src_to_dst_row has dtype int64, expected int32."),
    ("drop_pad_mode", lambda: call(drop_pad_mode=4), ParamError, 161002, "drop_pad_mode is 4, expected 0, 1 (slots of experts), 2 (a token's rows one after the other) or 3 (both)."),
    ("k", lambda: unscaled(k=0), ParamError, 161002, "k is 0, expected 1 or more without scales."),
    ("k of others", lambda: unscaled(k=4), ParamError, 161002, "skip1 has shape (3, 4), expected (1, 4)."),
    ("k, a part", lambda: unscaled(k=4, skip1=None, skip2=None, export_for_source_row=EXPERTS[:1]), ParamError, 161002, "expanded_src_to_dst_row has shape (6,), expected a multiple of k (4)."),
    ("no experts", lambda: call(export_for_source_row=None), ParamError, 161002, "export_for_source_row is None, expected an array with bias: it holds the expert of each row."),
    ("rows of slots", lambda: slots(expanded_permuted_rows=ROWS), ParamError, 161002, "expanded_permuted_rows has shape (6, 4), expected 3 axes, (experts, slots, H), with drop_pad_mode 1."),
    ("slots for rows", lambda: slots(drop_pad_mode=2), ParamError, 161002, "expanded_permuted_rows has shape (2, 3, 4), expected 2 axes with drop_pad_mode 2."),
    ("skip1", lambda: call(skip1=SKIP[:2]), ParamError, 161002, "skip1 has shape (2, 4), expected (3, 4)."),
    ("skip2", lambda: call(skip2=SKIP[:, :2]), ParamError, 161002, "skip2 has shape (3, 2), expected (3, 4)."),
    ("bias", lambda: call(bias=BIAS[:, :2]), ParamError, 161002, "bias has shape (5, 2), expected (5, 4)."),
    ("scales", lambda: call(scales=np.ones((3, 1), np.float32)), ParamError, 161002, "scales has shape (3, 1), expected 6 elements: one for each entry of expanded_src_to_dst_row."),
    ("experts", lambda: call(export_for_source_row=EXPERTS[:, :1]), ParamError, 161002, "export_for_source_row has shape (3, 1), expected (3, 2)."),
    ("rows, many", lambda: call(expanded_permuted_rows=np.broadcast_to(ROWS[:1, :1], (1, 2**52)), skip1=None, skip2=None, bias=None), ParamError, 161002, "expanded_permuted_rows has shape (1, 4503599627370496), expected at most 4503599627370496 elements in the result."),
    ("no row", lambda: call(**source(0, 1, 2, 3, 4, 6)), ParamError, 161002, "expanded_src_to_dst_row[5] is 6, expected 0 to 5: a row of expanded_permuted_rows."),
    ("negative", lambda: call(**source(0, -1, 2, 3, 4, 5)), ParamError, 161002, "expanded_src_to_dst_row[1] is -1, expected 0 to 5: a row of expanded_permuted_rows."),
    ("no slot", lambda: slots(**source(-2, 1, 2, 3, 4, 5)), ParamError, 161002, "expanded_src_to_dst_row[0] is -2, expected -1 to 5: a row of expanded_permuted_rows, or -1 for none."),
    ("no expert", lambda: call(export_for_source_row=EXPERTS + 1), ParamError, 161002, "export_for_source_row[2, 0] is 5, expected 0 to 4: a row of bias."),
    ("a negative expert", lambda: call(export_for_source_row=EXPERTS - 1), ParamError, 161002, "export_for_source_row[0, 0] is -1, expected 0 to 4: a row of bias."),
]  # fmt: skip
# In the order in which faults are reported: one argument each, wrong on its own.
FAULTS = [
    ({"drop_pad_mode": 4}, ParamError, "drop_pad_mode is 4"),
    ({"skip1": SKIP[:2]}, ParamError, "skip1 has shape"),
    ({"skip2": SKIP[:2]}, ParamError, "skip2 has shape"),
    ({"bias": BIAS[:, :2]}, ParamError, "bias has shape"),
    ({"export_for_source_row": EXPERTS[:2]}, ParamError, "export_for_source_row has shape"),
    ({"expanded_src_to_dst_row": SOURCE + 1}, ParamError, "expanded_src_to_dst_row[5] is 6"),
    ({"out": Y[:1]}, ParamError, "out has shape"),
]

ACCEPTED = [
    {"k": 0, "drop_pad_mode": None},
    {"scales": None, "k": 2},
    {"bias": None, "export_for_source_row": None},
    {"bias": None, "export_for_source_row": EXPERTS - 9},
    {"expanded_permuted_rows": SLOTS, "drop_pad_mode": 3},
    {"expanded_permuted_rows": ROWS[:1], "expanded_src_to_dst_row": SOURCE * 0},
    {"numerics": "reference"},
]
