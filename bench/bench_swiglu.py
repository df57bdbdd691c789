"""npu_swiglu: one half of each row, gated by the swish of the other."""

from __future__ import annotations

from typing import Any

from npu_quant import npu_swiglu
from npu_quant.ops.swiglu import reference

from .operators import Operator

SIZES = "1x16,8x4096,128x4096,4096x4096"


def unit(torch: Any, v: Any, is_first: bool = True) -> Any:
    """In float32, of the halves of rows."""
    first, second = v.float().chunk(2, -1)
    a, b = (first, second) if is_first else (second, first)
    return torch.nn.functional.silu(a) * b


def _values(torch: Any, x: Any, y: Any) -> None:
    y.copy_(unit(torch, x))


OPERATORS = (
    Operator(
        name="npu_swiglu",
        call=npu_swiglu,
        reference=reference,
        outputs=lambda size, dtype: (((size.rows, size.n // 2), dtype),),
        eager=_values,
        compiled=_values,
        sizes=SIZES,
        together=2,
        tolerance=0.25,  # a step of bfloat16
    ),
)
