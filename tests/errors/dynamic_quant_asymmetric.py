"""What npu_dynamic_quant_asymmetric refuses beside what npu_dynamic_quant does: the contract is one."""

# ruff: noqa: E501 (tables of messages)

from __future__ import annotations

from functools import partial

import numpy as np

from errors.common import FORMAT, faults_of, of_arrays, of_kinds, of_results
from errors.dynamic_quant import ENDS, GROUPS, TAKES, X
from npu_quant import ParamError, npu_dynamic_quant_asymmetric

OP = "npu_dynamic_quant_asymmetric"
Y = np.zeros((2, 4), np.int8)
S = np.zeros(2, np.float32)
O = np.zeros(2, np.float32)  # noqa: E741
UNWRITTEN = (Y, S, O)
GIVEN = {"input": X}
call = partial(npu_dynamic_quant_asymmetric, **GIVEN)
grouped = partial(call, smooth_scales=X, group_index=ENDS)

# Name, call, exception, code, message (from its beginning, after the operator's name).
ERRORS = [
    *of_arrays(partial(call, smooth_scales=X[0]), TAKES),
    *of_results(partial(call, smooth_scales=X[0]), {"y": Y, "scale": S, "offset": O}),
    *((f"of groups: {name}", *row) for name, *row in of_arrays(grouped, {"group_index": GROUPS})),
    ("dst_type", lambda: call(dst_type="int9"), ParamError, 161002, "dst_type is 'int9', available"),
    *of_kinds(call, optional=("dst_type",), dst_type=FORMAT),
    ("quant_mode", lambda: call(quant_mode="x"), ParamError, 161002, "quant_mode is 'x', expected 'pertoken', 'pertensor' or 'perchannel'."),
    ("dst_type_max", lambda: call(dst_type_max=15.0), ParamError, 161002, "dst_type_max is 15, available: 0.0 (other values need hifloat8)."),
    ("dst_type_max low", lambda: call(dst_type=290, dst_type_max=9e-7), ParamError, 161002, "dst_type_max is 9e-07, expected 0 or a number from 1e-06 to 32768."),
    ("int4", lambda: call(dst_type="int4"), ParamError, 161002, "input has shape (2, 4), expected a last axis of a multiple of 8"),
    ("group_index", lambda: grouped(group_index=ENDS - 1, out=(Y, S, O)), ParamError, 161002, "group_index[1] is 1, expected 2"),
    ("out, perchannel", lambda: call(quant_mode="perchannel", out=(None, None, O)), ParamError, 161002, "out[offset] has shape (2,), expected (4,)."),
]  # fmt: skip

# In the order in which faults are reported: one argument each, wrong on its own.
ARRAYS = TAKES | {"group_index": GROUPS}
OTHERS = [
    ({"quant_mode": "x"}, ParamError, "quant_mode is 'x'"),
    ({"smooth_scales": X[:, :3]}, ParamError, "smooth_scales has shape"),
    ({"group_index": ENDS - 1}, ParamError, "group_index[1] is 1"),
    ({"out": (Y, S, S)}, ParamError, "out[offset] shares memory"),
]
FAULTS = {OP: (grouped, [*faults_of(grouped, ARRAYS), *OTHERS])}

ACCEPTED = [
    {"dst_type": np.int8, "dst_type_max": 0},
    {"smooth_scales": X[0], "quant_mode": "pertensor"},
    {"smooth_scales": X[:, 0], "quant_mode": "perchannel"},
    {"smooth_scales": X, "group_index": ENDS},
    {"out": (None, None, None)},
    {"out": (None, None, O.copy())},
]
