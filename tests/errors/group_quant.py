"""Every message of npu_group_quant, the order of its checks, and the kinds it accepts."""

# ruff: noqa: E501 (tables of messages)

from __future__ import annotations

from functools import partial
from typing import Any

import ml_dtypes
import numpy as np

from errors.common import FLOATS, FORMAT, Takes, of_arrays, of_kinds, of_results
from npu_quant import DTypeError, ParamError, npu_group_quant

OP = "npu_group_quant"
X = np.ones((3, 8), np.float16)
S = np.ones((2, 8), np.float32)
ENDS = np.array([1, 3], np.int64)
Z = np.ones(1, np.float32)
Y = np.zeros((3, 8), np.int8)
UNWRITTEN = (Y,)
GIVEN: dict[str, Any] = {"x": X, "scale": S, "group_index": ENDS, "offset": Z}
# Good arguments, and out, so that nothing may be written.
call = partial(npu_group_quant, **GIVEN, out=Y)


def ends(*at: int) -> dict[str, np.ndarray]:
    return {"group_index": np.array(at, np.int64)}


TAKES = {
    "x": Takes(FLOATS, "expected 2. Merge leading axes with x.reshape(-1, n)."),
    "scale": Takes(FLOATS, "expected 2. It holds a row for each group."),
    "group_index": Takes("int32 or int64.", "expected 1. It holds the end of each group.", "np.int64"),
    "offset": Takes("the dtype of scale (float32).", "expected 0 or 1. It holds one element.", optional=True),
}  # fmt: skip
FROM_0 = "each entry is the row after its group, counted from the first row of x."
OF_SCALE = "a row for each entry of group_index, a column for each column of x."

# Name, call, exception, code, message (from its beginning, after the operator's name).
ERRORS = [
    *of_arrays(call, TAKES),
    *of_results(call, {"": Y}),
    *of_kinds(call, optional=("dst_dtype",), dst_dtype=FORMAT),
    ("x rank 1", lambda: call(x=X[0]), ParamError, 161002, "x has 1 dimension, expected 2. Give it two axes, e.g. with x.reshape(1, -1)."),
    ("x rank 3", lambda: call(x=X[None]), ParamError, 161002, "x has 3 dimensions, expected 2. Merge leading axes with x.reshape(-1, n)."),
    ("scale rank 1", lambda: call(scale=S[0]), ParamError, 161002, "scale has 1 dimension, expected 2. It holds a row for each group."),
    ("group_index int16", lambda: call(group_index=ENDS.astype(np.int16)), DTypeError, 161002, "group_index has dtype int16, expected int32 or int64. Convert it, e.g. with group_index.astype(np.int64)."),
    ("group_index rank 2", lambda: call(group_index=ENDS[None]), ParamError, 161002, "group_index has 2 dimensions, expected 1. It holds the end of each group."),
    ("group_index empty", lambda: call(group_index=ENDS[:0]), ParamError, 161002, "group_index has shape (0,), expected 1 or more entries."),
    ("group_index negative", lambda: call(**ends(-1, 3)), ParamError, 161002, f"group_index[0] is -1, expected at least 0: {FROM_0}"),
    ("group_index decreasing", lambda: call(**ends(3, 1)), ParamError, 161002, f"group_index[1] is 1, expected at least 3: {FROM_0}"),
    ("group_index short", lambda: call(**ends(0, 1)), ParamError, 161002, "group_index[1] is 1, expected 3, the number of rows of x."),
    ("group_index long", lambda: call(**ends(1, 2**62)), ParamError, 161002, f"group_index[1] is {2**62}, expected 3, the number of rows of x."),
    ("scale, groups", lambda: call(scale=S[:1]), ParamError, 161002, f"scale has shape (1, 8), expected (2, 8): {OF_SCALE}"),
    ("scale, columns", lambda: call(scale=S[:, :1]), ParamError, 161002, f"scale has shape (2, 1), expected (2, 8): {OF_SCALE}"),
    ("offset int32", lambda: call(offset=Z.astype(np.int32)), DTypeError, 161002, "offset has dtype int32, expected the dtype of scale (float32)."),
    ("offset unlike scale", lambda: call(scale=S.astype(ml_dtypes.bfloat16)), DTypeError, 161002, "offset has dtype float32, expected the dtype of scale (bfloat16)."),
    ("offset rank 2", lambda: call(offset=Z[None]), ParamError, 161002, "offset has 2 dimensions, expected 0 or 1. It holds one element."),
    ("offset, several", lambda: call(offset=np.ones(2, np.float32)), ParamError, 161002, "offset has shape (2,), expected one element."),
    ("offset, none", lambda: call(offset=Z[:0]), ParamError, 161002, "offset has shape (0,), expected one element."),
    ("dst_dtype", lambda: call(dst_dtype="float8_e5m2"), ParamError, 161002, "dst_dtype is float8_e5m2, available: int8, int4. Pass torch_npu's code (258, 285), a dtype or a dtype's name."),
    ("dst_dtype uint8", lambda: call(dst_dtype=np.uint8), ParamError, 161002, "dst_dtype is uint8, available: int8, int4."),
    ("dst_dtype of ACL", lambda: call(dst_dtype=29), ParamError, 161002, "dst_dtype is 29, available: int8, int4. Numbers below 256 are torch's codes; torch_npu's code of int4 is 285."),
    ("int4, last axis", lambda: call(x=X[:, :4], scale=S[:, :4], dst_dtype="int4"), ParamError, 161002, "x has shape (3, 4), expected a last axis of a multiple of 8: an element of int32 holds 8 codes of int4."),
    ("int4, out", lambda: call(dst_dtype="int4"), DTypeError, 161002, "out has dtype int8, expected int32."),
]  # fmt: skip
# In the order in which faults are reported: one argument each, wrong on its own.
FAULTS = [
    ({"dst_dtype": "int16"}, ParamError, "dst_dtype is int16"),
    ({"group_index": ENDS[:0]}, ParamError, "group_index has shape (0,)"),
    ({"scale": S[:1]}, ParamError, "scale has shape (1, 8)"),
    ({"offset": Z[:0]}, ParamError, "offset has shape (0,)"),
    ({"group_index": ENDS - 1}, ParamError, "group_index[1] is 2"),
    ({"out": Y.T}, ParamError, "out has shape"),
]

ACCEPTED = [
    ends(0, 3),
    ends(3, 3),
    {"group_index": ENDS.astype(np.int32)},
    {"offset": None, "scale": S.astype(ml_dtypes.bfloat16)},
    {"offset": np.ones((), np.float32)},
    {"dst_dtype": 258},
    {"dst_dtype": "torch.qint8"},
    {"dst_dtype": "torch.quint4x2"},
    {"numerics": "reference"},
]
