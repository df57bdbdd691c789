"""npu_dequant_swiglu_quant: sums dequantized, a gated linear unit, and a scale for each row."""

from __future__ import annotations

from typing import Any

from npu_quant import npu_dequant_swiglu_quant
from npu_quant.ops.dequant_swiglu_quant import reference

from . import arrays
from .bench_swiglu import SIZES, unit
from .bench_swiglu_quant import codes
from .operators import Operator, Size


def _named(weight_scale: Any, activation_scale: Any) -> dict[str, Any]:
    given = {"weight_scale": weight_scale, "activation_scale": activation_scale}
    return given | {"activate_left": True, "quant_mode": 1}


def _scales(size: Size, dtype: str, place: str) -> tuple[Any, ...]:
    """Of the channels and of the rows."""
    return arrays.scales(size.n, place), arrays.scales(size.rows, place, 1.0)


def _quantized(torch: Any, x: Any, channels: Any, rows: Any, y: Any, scale: Any) -> None:
    o = unit(torch, x.float() * channels * rows[:, None])
    s = o.abs().amax(-1, keepdim=True) / 127
    scale.copy_(s.squeeze(-1))
    codes(o / s, y)


OPERATORS = (
    Operator(
        name="npu_dequant_swiglu_quant",
        call=lambda x, *scales, **out: npu_dequant_swiglu_quant(x, **_named(*scales), **out),
        reference=lambda x, *scales: reference(x, **_named(*scales)),
        arguments=_scales,
        outputs=lambda size, dtype: (
            ((size.rows, size.n // 2), "int8"),
            ((size.rows,), "float32"),
        ),
        eager=_quantized,
        compiled=_quantized,
        dtypes=("int32",),
        sizes=SIZES,
        together=2,
        most_overhead=8.0,
    ),
)
