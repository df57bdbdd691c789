"""npu_swiglu_quant: a gated linear unit, and codes of it by a multiplier of each row."""

from __future__ import annotations

from typing import Any

from npu_quant import npu_swiglu_quant
from npu_quant.ops.swiglu_quant import reference

from .bench_swiglu import SIZES, unit
from .operators import Operator

_HOW: dict[str, Any] = {"activate_left": True, "quant_mode": 1}


def codes(o: Any, y: Any) -> None:
    """As the fastest form for torch.compile has it: through int32."""
    y.copy_(o.round().clamp(-128, 127).int().char())


def _quantized(torch: Any, x: Any, y: Any, scale: Any) -> None:
    o = unit(torch, x)
    s = 127 / o.abs().amax(-1, keepdim=True)
    scale.copy_(s.squeeze(-1))
    codes(o * s, y)


OPERATORS = (
    Operator(
        name="npu_swiglu_quant",
        call=lambda x, **out: npu_swiglu_quant(x, **_HOW, **out),
        reference=lambda x: reference(x, **_HOW),
        outputs=lambda size, dtype: (
            ((size.rows, size.n // 2), "int8"),
            ((size.rows,), "float32"),
        ),
        eager=_quantized,
        compiled=_quantized,
        sizes=SIZES,
        together=2,
        most_overhead=4.8,
    ),
)
