"""Every message of npu_dequant_swiglu_quant, the order of its checks, and the kinds it accepts."""

# ruff: noqa: E501 (tables of messages)

from __future__ import annotations

from functools import partial

import numpy as np

from errors.common import (
    BOOL,
    FORMAT,
    INT,
    NUMBER,
    Takes,
    faults_of,
    of_arrays,
    of_kinds,
    of_results,
)
from npu_quant import DTypeError, ParamError, npu_dequant_swiglu_quant

OP = "npu_dequant_swiglu_quant"
X = np.ones((3, 8), np.int32)
W = np.ones((2, 8), np.float32)
A = np.ones(3, np.float32)
Q = np.ones((2, 4), np.float32)
COUNTS = np.array([1, 1])
Y = np.zeros((3, 4), np.int8)
S = np.zeros(3, np.float32)
UNWRITTEN = (Y, S)
GIVEN = {"x": X, "weight_scale": W[0]}
call = partial(npu_dequant_swiglu_quant, **GIVEN)
whole = partial(
    call,
    weight_scale=W,
    activation_scale=A,
    bias=W,
    quant_scale=Q,
    quant_offset=Q,
    group_index=COUNTS,
)
floats = partial(npu_dequant_swiglu_quant, x=X.astype(np.float16))

NUMBERS = Takes("float32.", "expected 1 or 2.", "np.float32", optional=True)
TAKES = {
    "x": Takes("int32, float16 or bfloat16.", "expected 2 to 8.", "np.int32"),
    "weight_scale": NUMBERS,
    "activation_scale": Takes("float32.", "expected 0 to 8.", "np.float32", optional=True),
    "bias": Takes("int32, float32, float16 or bfloat16.", "expected 1 or 2.", "np.int32", optional=True),
    "quant_scale": NUMBERS,
    "quant_offset": NUMBERS,
    "group_index": Takes("int64.", "expected 1. It holds the number of rows of each group.", "np.int64", optional=True),
}  # fmt: skip
AVAILABLE = "available: int8, hifloat8, float8_e5m2, float8_e4m3fn, float4_e2m1, float4_e1m2."
OF_INT32 = ("weight_scale", W[0]), ("activation_scale", A), ("bias", W[0])


def counts(*entries: int) -> dict[str, np.ndarray]:
    return {"group_index": np.array(entries, np.int64)}


# Name, call, exception, code, message (from its beginning, after the operator's name).
ERRORS = [
    *of_arrays(whole, TAKES),
    *of_results(partial(call, quant_scale=Q[0]), {"y": Y, "scale": S}),
    *of_kinds(
        call,
        optional=("dst_type", "round_mode", "activate_dim"),
        activate_left=BOOL,
        quant_mode=INT,
        dst_type=FORMAT,
        round_mode=INT,
        activate_dim=INT,
        swiglu_mode=INT,
        clamp_limit=NUMBER,
        glu_alpha=NUMBER,
        glu_bias=NUMBER,
    ),
    ("float32", lambda: floats(x=X.astype(np.float32)), DTypeError, 161002, "x has dtype float32, expected int32, float16 or bfloat16."),
    ("int32 alone", lambda: npu_dequant_swiglu_quant(X), DTypeError, 161002, "weight_scale is None, expected float32: x is int32."),
    ("rank 1", lambda: call(x=X[0]), ParamError, 161002, "x has 1 dimension, expected 2 to 8. Give it two axes, e.g. with x.reshape(1, -1)."),
    ("group_index int32", lambda: whole(group_index=COUNTS.astype(np.int32)), DTypeError, 161002, "group_index has dtype int32, expected int64. Convert it, e.g. with group_index.astype(np.int64)."),
    *[(f"quant_mode {n}", lambda n=n: call(quant_mode=n), ParamError, 161002, f"quant_mode is {n}, expected 0 (by quant_scale) or 1 (each row by its amax).") for n in (-1, 2, 2**62)],
    *[(f"dst_type {to}", lambda to=to: call(dst_type=to), ParamError, 161002, f"dst_type is {to}, {AVAILABLE}") for to in ("uint8", "int4", "float32")],
    *[(f"round_mode {n}", lambda n=n: call(round_mode=n), ParamError, 161002, f"round_mode is {n}, expected 0 (rint), 1 (round), 2 (floor), 3 (ceil) or 4 (trunc).") for n in (-1, 5)],
    *[(f"round_mode of {to}", lambda to=to: call(round_mode=1, dst_type=to), ParamError, 161002, f"round_mode is 1, available for {to}: 0.") for to in ("int8", "float8_e5m2", "float8_e4m3fn")],
    *[(f"round_mode of hifloat8, {n}", lambda n=n: call(dst_type=290, round_mode=n), ParamError, 161002, f"round_mode is {n or 0}, available for hifloat8: 1.") for n in (None, 0, 4)],
    *[(f"activate_dim {n}", lambda n=n: call(activate_dim=n), ParamError, 161002, f"activate_dim is {n}, available: -1 or 1 (the last axis).") for n in (0, -2, 2)],
    *[(f"swiglu_mode {n}", lambda n=n: call(swiglu_mode=n), ParamError, 161002, f"swiglu_mode is {n}, expected 0 (halves), 1 (even and odd elements, clamped) or 2 (halves, clamped).") for n in (-1, 3)],
    *[(f"clamp_limit {v}", lambda v=v: call(clamp_limit=v), ParamError, 161002, f"clamp_limit is {v}, expected a number above 0 that is finite in float32.") for v in (0, -1.5, np.nan, np.inf, 1e-60, 1e60)],
    *[(f"{name} {v}", lambda name=name, v=v: call(**{name: v}), ParamError, 161002, f"{name} is {v}, expected a number that is finite in float32.") for name in ("glu_alpha", "glu_bias") for v in (np.nan, np.inf, -np.inf, 1e60)],
    *[(f"{name} of floats", lambda name=name, p=p: floats(**{name: p}), ParamError, 161002, f"{name} is given, expected None: x is float16, not int32.") for name, p in OF_INT32],
    ("quant_offset of scales", lambda: call(quant_offset=Q[0], quant_mode=1), ParamError, 161002, "quant_offset is given, expected None with quant_mode 1."),
    ("odd", lambda: floats(x=X[:, :7].astype(np.float16)), ParamError, 161002, "x has shape (3, 7), expected a last axis of a multiple of 2 for int8."),
    *[(f"{to} of 6", lambda to=to: floats(x=X[:, :6].astype(np.float16), dst_type=to), ParamError, 161002, f"x has shape (3, 6), expected a last axis of a multiple of 4 for {to}.") for to in ("float4_e2m1", "float4_e1m2")],
    ("group_index empty", lambda: whole(**counts()), ParamError, 161002, "group_index has shape (0,), expected 1 or more entries."),
    ("counts negative", lambda: whole(**counts(-1, 2)), ParamError, 161002, "group_index[0] is -1, expected 0 to 3: each entry is the number of rows of its group, and x has 3."),
    ("counts beyond", lambda: whole(**counts(2, 2)), ParamError, 161002, "group_index[1] is 2, expected 0 to 1: each entry is the number of rows of its group, and x has 3."),
    ("counts overflow", lambda: whole(**counts(2, 2**63 - 1)), ParamError, 161002, f"group_index[1] is {2**63 - 1}, expected 0 to 1"),
    *[(f"{name} {p.shape}", lambda name=name, p=p: whole(**{name: p}), ParamError, 161002, f"{name} has shape {p.shape}, expected (2, 8)") for name in ("weight_scale", "bias") for p in (W[0], W[:1], W[:, :4], W[:, 0])],
    *[(f"{name} alone {p.shape}", lambda name=name, p=p: call(**{name: p}), ParamError, 161002, f"{name} has shape {p.shape}, expected (1, 8) or (8,)") for name in ("weight_scale", "bias") for p in (W, W[0, :4], W[0, :1])],
    ("activation_scale", lambda: whole(activation_scale=W[0]), ParamError, 161002, "activation_scale has shape (8,), expected 3 elements, one for each row of x."),
    *[(f"{name} {p.shape}", lambda name=name, p=p: whole(**{name: p}), ParamError, 161002, f"{name} has shape {p.shape}, expected (2, 4) or (2,)") for name in ("quant_scale", "quant_offset") for p in (Q[0], Q[:1], W)],
    *[(f"{name} alone {p.shape}", lambda name=name, p=p: call(**{name: p}), ParamError, 161002, f"{name} has shape {p.shape}, expected (1, 4), (4,) or (1,)") for name in ("quant_scale", "quant_offset") for p in (Q, Q[0, :3])],
    ("out of float4", lambda: call(dst_type=296, out=(Y, S)), DTypeError, 161002, "out[y] has dtype int8, expected uint8."),
    ("out scale shape", lambda: call(out=(Y, S[:, None])), ParamError, 161002, "out[scale] has shape (3, 1), expected (3,)."),
]  # fmt: skip

# In the order in which faults are reported: one argument each, wrong on its own.
OTHERS = [
    ({"quant_mode": "x"}, TypeError, "quant_mode is a str"),
    ({"quant_mode": 2}, ParamError, "quant_mode is 2"),
    ({"dst_type": "int4"}, ParamError, "dst_type is int4"),
    ({"round_mode": 5}, ParamError, "round_mode is 5"),
    ({"activate_dim": 0}, ParamError, "activate_dim is 0"),
    ({"swiglu_mode": 3}, ParamError, "swiglu_mode is 3"),
    ({"clamp_limit": 0}, ParamError, "clamp_limit is 0"),
    ({"glu_alpha": np.nan}, ParamError, "glu_alpha is nan"),
    ({"glu_bias": np.nan}, ParamError, "glu_bias is nan"),
    ({"x": X[:, :7]}, ParamError, "x has shape (3, 7)"),
    ({"weight_scale": W[:, :3]}, ParamError, "weight_scale has shape (2, 3)"),
    ({"activation_scale": A[:2]}, ParamError, "activation_scale has shape (2,)"),
    ({"bias": W[:, :3]}, ParamError, "bias has shape (2, 3)"),
    ({"quant_scale": Q[:, :3]}, ParamError, "quant_scale has shape (2, 3)"),
    ({"quant_offset": Q[:, :3]}, ParamError, "quant_offset has shape (2, 3)"),
    ({"group_index": COUNTS + 9}, ParamError, "group_index[0] is 10"),
    ({"out": ()}, ParamError, "out has 0 entries"),
]
FAULTS = {OP: (whole, [*faults_of(whole, TAKES), *OTHERS])}

ACCEPTED = [
    {"x": X, "weight_scale": W[:1], "bias": W[:1].astype(np.int32), "activation_scale": A[:, None]},
    {"weight_scale": W, "group_index": COUNTS, "quant_scale": Q, "quant_offset": Q[:, 0]},
    {"x": X.astype(np.float16), "weight_scale": None},
    {"quant_scale": Q[0, :1], "quant_mode": True},
    {"dst_type": "torch_npu.float4_e2m1fn_x2", "round_mode": np.int32(4), "activate_dim": -1},
    {"activate_dim": 1, "dst_type": 290, "round_mode": 1},
    {"swiglu_mode": 2, "clamp_limit": 3, "glu_alpha": np.float32(2), "glu_bias": 0},
    {"numerics": "reference", "out": (None, None)},
]
