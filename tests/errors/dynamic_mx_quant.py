"""Every message of npu_dynamic_mx_quant, the order of its checks, and the kinds it accepts."""

# ruff: noqa: E501 (tables of messages)

from __future__ import annotations

from functools import partial

import ml_dtypes
import numpy as np

from errors.common import FORMAT, INT, NUMBER, STR, Takes, of_arrays, of_kinds, of_results
from npu_quant import DTypeError, ParamError, npu_dynamic_mx_quant

OP = "npu_dynamic_mx_quant"
X = np.ones((2, 4), np.float16)
Y = np.zeros((2, 2), np.uint8)
S = np.zeros((2, 1, 2), np.uint8)
UNWRITTEN = (Y, S)
GIVEN = {"input": X}
call = partial(npu_dynamic_mx_quant, **GIVEN)
float8 = partial(npu_dynamic_mx_quant, dst_type="float8_e4m3fn")

TAKES = {
    "input": Takes(
        "float16, bfloat16 or float32.", "expected 1 to 7. Merge axes with input.reshape."
    )
}
FORMATS = "float8_e5m2, float8_e4m3fn, float4_e2m1, float4_e1m2"

# Name, call, exception, code, message (from its beginning, after the operator's name).
ERRORS = [
    *of_arrays(call, TAKES),
    *of_results(call, {"y": Y, "mxscale": S}),
    ("rank 0", lambda: npu_dynamic_mx_quant(X[0, 0, ...]), ParamError, 161002, "input has 0 dimensions, expected 1 to 7. Give it an axis with input.reshape(1)."),
    ("rank 8", lambda: npu_dynamic_mx_quant(X.reshape(1, 1, 1, 1, 1, 1, 2, 4)), ParamError, 161002, "input has 8 dimensions, expected 1 to 7."),
    ("axis", lambda: npu_dynamic_mx_quant(X, axis=2), ParamError, 161002, "axis is 2, expected -2 to 1: input has 2 dimensions."),
    ("axis below", lambda: npu_dynamic_mx_quant(X, axis=-3), ParamError, 161002, "axis is -3, expected -2 to 1"),
    ("axis huge", lambda: npu_dynamic_mx_quant(X, axis=10**30), ParamError, 161002, "axis is "),
    *of_kinds(call, optional=("dst_type", "scale_alg", "dst_type_max"), axis=INT, round_mode=STR, dst_type=FORMAT, block_size=INT, scale_alg=INT, dst_type_max=NUMBER, max_low_bound=NUMBER),
    ("round_mode", lambda: npu_dynamic_mx_quant(X, round_mode="ceil"), ParamError, 161002, "round_mode is 'ceil', available: 'rint', 'round' or 'floor'."),
    *[(f"round_mode {mode} of float8", lambda mode=mode: float8(X, round_mode=mode), ParamError, 161002, f"round_mode is '{mode}', available for float8_e4m3fn: 'rint'.") for mode in ("round", "floor")],
    *[(f"dst_type {name}", lambda name=name: npu_dynamic_mx_quant(X, dst_type=name), ParamError, 161002, f"dst_type is '{name}', available: {FORMATS}. Did you mean {meant}?") for name, meant in (("float8_e4m3", "float8_e4m3fn"), ("torch.float8_e5m3", "float8_e5m2"), ("Float4_E2M1", "float4_e2m1"), ("float4_e1m2fn", "float4_e1m2"), ("ACL_FLOAT8_E5M", "float8_e5m2"))],
    *[(f"dst_type {name}", lambda name=name: npu_dynamic_mx_quant(X, dst_type=name), ParamError, 161002, f"dst_type is '{name}', available: {FORMATS}. Pass torch_npu's code (291, 292, 296, 297), a dtype or a dtype's name.") for name in ("mxfp", "", "float8", "float4")],
    ("dst_type", lambda: npu_dynamic_mx_quant(X, dst_type=np.int8), ParamError, 161002, f"dst_type is int8, available: {FORMATS}. Pass torch_npu's code (291, 292, 296, 297), a dtype or a dtype's name."),
    ("dst_type hifloat8", lambda: npu_dynamic_mx_quant(X, dst_type=290), ParamError, 161002, f"dst_type is hifloat8, available: {FORMATS}."),
    ("dst_type of a scale", lambda: npu_dynamic_mx_quant(X, dst_type=ml_dtypes.float8_e8m0fnu), ParamError, 161002, f"dst_type is float8_e8m0fnu, available: {FORMATS}."),
    ("dst_type of ACL", lambda: npu_dynamic_mx_quant(X, dst_type=40), ParamError, 161002, f"dst_type is 40, available: {FORMATS}. Numbers below 256 are torch's codes; torch_npu's code of float4_e2m1 is 296."),
    *[(f"block_size {n}", lambda n=n: npu_dynamic_mx_quant(X, block_size=n), ParamError, 161002, f"block_size is {n}, expected a multiple of 32 from 32 to 1024.") for n in (0, -32, 16, 48, 1056)],
    ("block_size with 2", lambda: npu_dynamic_mx_quant(X, block_size=64, scale_alg=2), ParamError, 161002, "block_size is 64, available with scale_alg 2: 32."),
    *[(f"scale_alg {alg} of float8", lambda alg=alg: float8(X, scale_alg=alg), ParamError, 161002, f"scale_alg is {alg}, available for float8_e4m3fn: 0, 1.") for alg in (2, 3, -1)],
    ("scale_alg of e2m1", lambda: npu_dynamic_mx_quant(X, scale_alg=1), ParamError, 161002, "scale_alg is 1, available for float4_e2m1: 0, 2."),
    *[(f"scale_alg {alg} of e1m2", lambda alg=alg: npu_dynamic_mx_quant(X, dst_type=297, scale_alg=alg), ParamError, 161002, f"scale_alg is {alg}, available for float4_e1m2: 0.") for alg in (1, 2)],
    *[(f"dst_type_max {top}", lambda top=top: npu_dynamic_mx_quant(X, scale_alg=2, dst_type_max=top), ParamError, 161002, f"dst_type_max is {top:g}, expected 0 or a number from 6 to 12.") for top in (5.9, 12.1, -6, np.nan, np.inf)],
    ("dst_type_max next to 12", lambda: npu_dynamic_mx_quant(X, scale_alg=2, dst_type_max=np.nextafter(12, 13)), ParamError, 161002, "dst_type_max is 12, expected 0 or"),
    ("dst_type_max ignored", lambda: npu_dynamic_mx_quant(X, dst_type_max=6), ParamError, 161002, "dst_type_max is 6, available: 0.0 (other values need scale_alg 2)."),
    ("dst_type_max of float8", lambda: float8(X, scale_alg=1, dst_type_max=6), ParamError, 161002, "dst_type_max is 6, available: 0.0"),
    *[(f"max_low_bound {bound}", lambda bound=bound: float8(X, scale_alg=1, max_low_bound=bound), ParamError, 161002, f"max_low_bound is {bound:g}, expected a number >= 0 that is finite in float32 (0 means no bound).") for bound in (-1, -1e-60, np.nan, np.inf, 1e39)],
    ("max_low_bound ignored", lambda: float8(X, max_low_bound=1), ParamError, 161002, "max_low_bound is 1, available: 0.0 (other values need scale_alg 1)."),
    ("odd last axis", lambda: npu_dynamic_mx_quant(X[:, :3]), ParamError, 161002, "input has shape (2, 3), expected a last axis of a multiple of 2: an element of uint8 holds 2 codes of float4_e2m1."),
    ("odd last axis of others", lambda: npu_dynamic_mx_quant(X[:, :3], axis=0), ParamError, 161002, "input has shape (2, 3), expected a last axis of a multiple of 2"),
    ("numerics", lambda: npu_dynamic_mx_quant(X, numerics=""), ParamError, 161002, "numerics is '', available: reference."),
    ("out of float8", lambda: float8(X, out=(Y, S)), DTypeError, 161002, "out[y] has dtype uint8, expected float8_e4m3fn."),
]  # fmt: skip

# In the order in which faults are reported: one argument each, wrong on its own.
FAULTS = [
    ({"axis": 7}, ParamError, "axis is 7"),
    ({"round_mode": "x"}, ParamError, "round_mode is 'x'"),
    ({"dst_type": np.int16}, ParamError, "dst_type is int16"),
    ({"block_size": 3}, ParamError, "block_size is 3"),
    ({"scale_alg": 3}, ParamError, "scale_alg is 3"),
    ({"dst_type_max": 1}, ParamError, "dst_type_max is 1"),
    ({"max_low_bound": -1}, ParamError, "max_low_bound is -1"),
    ({"input": X[:, :3]}, ParamError, "input has shape (2, 3)"),
    ({"out": ()}, ParamError, "out has 0 entries"),
]

ACCEPTED = [
    {"axis": np.int64(-2), "block_size": np.int64(64)},
    {"scale_alg": None, "dst_type_max": None},
    {"scale_alg": 2, "dst_type_max": np.float32(8.5)},
    {"dst_type": "torch.float4_e2m1fn_x2", "round_mode": "floor"},
    {"dst_type": ml_dtypes.float4_e2m1fn, "round_mode": "round"},
    {"dst_type": 45},
    {"dst_type": "ACL_FLOAT4_E1M2"},
    {"dst_type": 24, "scale_alg": 1, "max_low_bound": 2},
    {"dst_type": "torch_npu.float8_e5m2", "block_size": 1024},
    {"input": X.view(np.recarray)},
    {"numerics": "reference"},
]
