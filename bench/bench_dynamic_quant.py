"""npu_dynamic_quant: one scale per row."""

from __future__ import annotations

from typing import Any

from npu_quant import npu_dynamic_quant
from npu_quant.ops.dynamic_quant import reference

from .operators import Operator


def _eager(torch: Any, x: Any, y: Any, scale: Any) -> None:
    v = x.float()
    s = v.abs().amax(-1) / 127
    scale.copy_(s)
    y.copy_((v / s[:, None]).round_().clamp_(-128, 127))


def _compiled(torch: Any, x: Any, y: Any, scale: Any) -> None:
    """The fastest form found: multiplies, goes through int32, writes to given outputs."""
    v = x.float()
    amax = v.abs().amax(-1)
    scale.copy_(amax / 127)
    y.copy_((v * (127 / amax)[:, None]).round().to(torch.int32).to(torch.int8))


OPERATORS = (
    Operator(
        name="npu_dynamic_quant",
        call=npu_dynamic_quant,
        reference=reference,
        outputs=lambda size, dtype: ((size, "int8"), ((size.rows,), "float32")),
        eager=_eager,
        compiled=_compiled,
        of_copy_in_memory={"float16": 0.90, "bfloat16": 0.90},
        of_copy_in_cache={"float16": 0.40, "bfloat16": 0.40, "float32": 0.40},
    ),
)
