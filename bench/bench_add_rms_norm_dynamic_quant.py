"""npu_add_rms_norm_dynamic_quant: a sum, normed, and each row quantized by a scale of its own."""

from __future__ import annotations

from typing import Any

from npu_quant import npu_add_rms_norm_dynamic_quant
from npu_quant.ops.add_rms_norm_dynamic_quant import reference

from .bench_rms_norm import dynamic, gamma, operator


def _sum(torch: Any, x1: Any, x2: Any, gamma: Any, y: Any, x_out: Any, scale: Any) -> None:
    """Without a second branch."""
    s = x1.float() + x2.float()
    x_out.copy_(s)
    dynamic(torch, s, gamma, y, scale)


OPERATORS = (
    operator(
        name="npu_add_rms_norm_dynamic_quant",
        call=npu_add_rms_norm_dynamic_quant,
        reference=reference,
        streams=(2, 2),
        arguments=gamma,
        outputs=lambda size, dtype: (
            (size, "int8"),
            None,
            (size, dtype),
            ((size.rows,), "float32"),
            None,
        ),
        eager=_sum,
        compiled=_sum,
    ),
)
