"""Every message of npu_dynamic_dual_level_mx_quant, the order of its checks, and what it accepts."""

# ruff: noqa: E501 (tables of messages)

from __future__ import annotations

from functools import partial

import numpy as np

from errors.common import STR, Takes, of_arrays, of_kinds, of_results
from npu_quant import DTypeError, ParamError, npu_dynamic_dual_level_mx_quant

OP = "npu_dynamic_dual_level_mx_quant"
X = np.ones((2, 4), np.float16)
Y = np.zeros((2, 2), np.uint8)
S = np.zeros((2, 1), np.float32)
B = np.zeros((2, 1, 2), np.uint8)
UNWRITTEN = (Y, S, B)
GIVEN = {"input": X}
call = partial(npu_dynamic_dual_level_mx_quant, **GIVEN)

TAKES = {"input": Takes("float16 or bfloat16.", "expected 1 to 7. Merge axes with input.reshape.")}

# Name, call, exception, code, message (from its beginning, after the operator's name).
ERRORS = [
    *of_arrays(call, TAKES),
    *of_results(call, {"y": Y, "level0_scale": S, "level1_scale": B}),
    *of_kinds(call, round_mode=STR),
    ("float32", lambda: call(input=X.astype(np.float32)), DTypeError, 161002, "input has dtype float32, expected float16 or bfloat16."),
    ("rank 0", lambda: call(input=X[0, 0, ...]), ParamError, 161002, "input has 0 dimensions, expected 1 to 7. Give it an axis with input.reshape(1)."),
    ("rank 8", lambda: call(input=X.reshape(1, 1, 1, 1, 1, 1, 2, 4)), ParamError, 161002, "input has 8 dimensions, expected 1 to 7."),
    ("smooth_scale of another dtype", lambda: call(smooth_scale=S[0]), DTypeError, 161002, "smooth_scale has dtype float32, expected the dtype of input (float16). Convert it with smooth_scale.astype(input.dtype)."),
    ("smooth_scale rank 2", lambda: call(smooth_scale=X), ParamError, 161002, "smooth_scale has 2 dimensions, expected 1."),
    ("smooth_scale", lambda: call(smooth_scale=X[0]), ParamError, 161002, "smooth_scale is given, expected None: smooth_scale is not available."),
    *[(f"round_mode {mode}", lambda mode=mode: call(round_mode=mode), ParamError, 161002, f"round_mode is '{mode}', available: 'rint', 'round' or 'floor'.") for mode in ("ceil", "trunc", "")],
    ("odd last axis", lambda: call(input=X[:, :3]), ParamError, 161002, "input has shape (2, 3), expected a last axis of a multiple of 2: an element of uint8 holds 2 codes of float4_e2m1."),
]  # fmt: skip

# In the order in which faults are reported: one argument each, wrong on its own.
FAULTS = [
    ({"smooth_scale": X[0]}, ParamError, "smooth_scale is given"),
    ({"round_mode": "x"}, ParamError, "round_mode is 'x'"),
    ({"input": X[:, :3]}, ParamError, "input has shape (2, 3)"),
    ({"out": ()}, ParamError, "out has 0 entries"),
]

ACCEPTED = [
    {"smooth_scale": None, "round_mode": "floor"},
    {"input": X[0]},
    {"input": X.view(np.recarray), "numerics": "reference"},
    {"out": (None, None, None)},
]
