"""npu_dynamic_block_mx_quant: a power of two per tile of 32 x 32."""

from __future__ import annotations

from functools import partial
from typing import Any

from npu_quant import npu_dynamic_block_mx_quant
from npu_quant.ops.dynamic_block_mx_quant import reference

from .operators import Operator, Size, Spec

_TO = "float8_e4m3fn"


def _formula(torch: Any, x: Any, y: Any, scale1: Any, scale2: Any) -> None:
    """The exponent's bits are the byte, and the power of two."""
    m, n = x.shape
    tiles = x.float().reshape(m // 32, 32, n // 32, 32)
    b = ((tiles.abs().amax((1, 3)).view(torch.int32) >> 23) - 8).clamp(min=0)
    power = ((254 - b) << 23).view(torch.float32)
    y.copy_(
        (tiles * power[:, None, :, None]).clamp(-448, 448).to(torch.float8_e4m3fn).reshape(m, n)
    )
    scale1.copy_(b.repeat_interleave(32, 0).reshape(scale1.shape))
    scale2.copy_(b.repeat_interleave(32, 1).reshape(-1, 2, n).mT)


def _outputs(size: Size, dtype: str) -> tuple[Spec, ...]:
    m, n = size
    rows, columns = (m, -(-n // 64), 2), (-(-m // 64), n, 2)
    return ((m, n), _TO), (rows, "uint8"), (columns, "uint8")


OPERATORS = (
    Operator(
        name=f"npu_dynamic_block_mx_quant to {_TO}",
        call=partial(npu_dynamic_block_mx_quant, dst_type=_TO),
        reference=partial(reference, dst_type=_TO),
        outputs=_outputs,
        eager=_formula,
        compiled=_formula,
        sizes="128x4096,4096x4096,32768x7168",
        dtypes=("float16", "bfloat16"),
        tolerance=0,
        of_copy_in_memory={"float16": 0.3, "bfloat16": 0.3},
    ),
)
