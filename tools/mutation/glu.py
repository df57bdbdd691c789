"""Faults of the kernel of gated linear units. Each is built into one instruction set."""

from __future__ import annotations

from .kernels import A2, A5, SIMD, B, K
from .mutant import Fault

GLU = f"{K}/glu/glu.cpp"
SOURCE = f"{K}/glu/source.h"
ROWS = "csrc/ops/split/glu_rows.cpp"

FAULTS = [
    Fault(
        "swiglu: the exponential takes ln 2 for its first 42 bits",
        f"{SIMD}/exp.h",
        "kLn2Low = 0x1.ef35793c76730p-45",
        "kLn2Low = 0",
        "swiglu",
        A2,
        "glu/glu",
    ),
    Fault(
        "swiglu: NaN is no NaN behind the exponential",
        f"{SIMD}/exp.h",
        "return x == x ? y : x;",
        "return y;",
        "swiglu",
        B,
        "glu/glu",
    ),
    Fault(
        "swiglu: multiplied by the reciprocal, not divided",
        SOURCE,
        "return gate / (1 + exp(-(alpha * gate))) * factor;",
        "return gate * (1 / (1 + exp(-(alpha * gate)))) * factor;",
        "swiglu",
        A5,
        "glu/glu",
    ),
    Fault(
        "swiglu: a clamped NaN becomes the limit",
        SOURCE,
        "gate = gate > most ? most : gate;",
        "gate = gate <= most ? gate : most;",
        "dequant_swiglu_quant",
        A2,
        "glu/glu",
    ),
    Fault(
        "swiglu: what pads a short row counts for its scale",
        SOURCE,
        "for (int64_t i = n; i < kTile; ++i) v[i] = 0;",
        "",
        "dequant_swiglu_quant",
        B,
        "glu/glu",
    ),
    Fault(
        "dequant_swiglu_quant: the scale of a row is that of its last piece",
        GLU,
        "for (int64_t i = 0; has_amax && i < args_.n; i += width) fill(i);",
        "for (int64_t i = 0; has_amax && i < args_.n; i += width) amax = {}, fill(i);",
        "dequant_swiglu_quant",
        A2,
        "glu/glu",
    ),
    Fault(
        "dequant_swiglu_quant: rows behind the last group are quantized",
        ROWS,
        "args.becomes = call_.behind;",
        "",
        "dequant_swiglu_quant",
    ),
    Fault(
        "dequant_swiglu_quant: all groups have the weight scales of the first",
        ROWS,
        "return {values_.data() + group * group_ + half * half_, 0, sizeof(float)};",
        "return {values_.data() + half * half_, 0, sizeof(float)};",
        "dequant_swiglu_quant",
    ),
    Fault(
        "dequant_swiglu_quant: weight scales of even elements are those of the first half",
        ROWS,
        "interleaved && halves == 2",
        "false && interleaved && halves == 2",
        "dequant_swiglu_quant",
    ),
    Fault(
        "dequant_swiglu_quant: float4 codes are rounded to nearest whatever round_mode says",
        f"{K}/rows/affine_codes.h",
        "reinterpret_cast<uint8_t*>(y), q, stores, affine.rounding",
        "reinterpret_cast<uint8_t*>(y), q, stores, Rounding::to_even",
        "dequant_swiglu_quant",
        A5,
        "glu/glu",
    ),
    Fault(
        "dequant_swiglu_quant: float4 codes rounded up are rounded down",
        f"{SIMD}/small_floats.h",
        "if (rounding == Rounding::ceil) is_up = ~is_negative;",
        "if (rounding == Rounding::ceil) is_up = is_negative;",
        "dequant_swiglu_quant",
        A2,
        "glu/glu",
    ),
    Fault(
        "swiglu_quant: values are divided by the scale",
        "csrc/ops/swiglu_quant.cpp",
        "rule.code = CodeForm::product;",
        "rule.code = CodeForm::quotient;",
        "swiglu_quant",
    ),
    Fault(
        "swiglu_quant: the scale is what values are divided by",
        "csrc/ops/swiglu_quant.cpp",
        "rule.scale = ScaleForm::multiplier;",
        "rule.scale = ScaleForm::quotient;",
        "swiglu_quant",
    ),
]
