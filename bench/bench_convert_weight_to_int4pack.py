"""npu_convert_weight_to_int4pack: an element for each code into an eighth of them."""

from __future__ import annotations

from typing import Any

from npu_quant import npu_convert_weight_to_int4pack
from npu_quant.ops.convert_weight_to_int4pack import reference

from .operators import Operator


def _eager(torch: Any, weight: Any, y: Any) -> Any:
    """Sum up eights, of which no two share a bit."""
    nibbles = (weight & 15).reshape(*weight.shape[:-1], -1, 8)
    return (nibbles << torch.arange(0, 32, 4, dtype=torch.int32)).sum(-1, dtype=torch.int32)


def _compiled(torch: Any, weight: Any, y: Any) -> None:
    y.copy_(_eager(torch, weight, y))


OPERATORS = (
    Operator(
        name="npu_convert_weight_to_int4pack",
        call=npu_convert_weight_to_int4pack,
        reference=reference,
        outputs=lambda size, dtype: (((size.rows, size.n // 8), dtype),),
        eager=_eager,
        compiled=_compiled,
        dtypes=("int32",),
        together=8,
        tolerance=0,
        of_copy_in_memory={"int32": 0.80},
    ),
)
