"""npu_dynamic_dual_level_mx_quant: groups of 512 by a float32, blocks of 32 by a power of two."""

from __future__ import annotations

from typing import Any

from npu_quant import npu_dynamic_dual_level_mx_quant
from npu_quant.ops.dynamic_dual_level_mx_quant import reference

from .bench_dynamic_mx_quant import formula
from .operators import Operator, Size, Spec


def _two_levels(torch: Any, x: Any, y: Any, level0: Any, level1: Any) -> None:
    groups = x.float().reshape(len(x), -1, 512)
    scale = groups.abs().amax(-1, keepdim=True) / 6
    level0.copy_(scale.squeeze(-1))
    formula(torch, (groups / scale).to(x.dtype).reshape(x.shape), y, level1, "float4_e2m1", -1)


def _outputs(size: Size, dtype: str) -> tuple[Spec, ...]:
    groups, pairs = -(-size.n // 512), -(-size.n // 64)
    codes = (size.rows, size.n // 2), "uint8"
    return codes, ((size.rows, groups), "float32"), ((size.rows, pairs, 2), "uint8")


OPERATORS = (
    Operator(
        name="npu_dynamic_dual_level_mx_quant",
        call=npu_dynamic_dual_level_mx_quant,
        reference=reference,
        outputs=_outputs,
        eager=_two_levels,
        compiled=_two_levels,
        sizes="128x4096,4096x4096,32768x7168",
        together=2,
        dtypes=("float16", "bfloat16"),
        # torch.compile does not round t, and so some bytes of blocks are others: codes may be half.
        tolerance=0x77,
    ),
)
