"""npu_dual_level_quant_matmul: a product of float4 by a weight of 4096 columns."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from npu_quant import npu_dual_level_quant_matmul
from npu_quant.formats import decode
from npu_quant.ops.dual_level_quant_matmul import reference

from . import arrays
from .operators import Operator, Size

COLUMNS = 4096
OPERANDS = ("x2", "x1_level0_scale", "x2_level0_scale", "x1_level1_scale", "x2_level1_scale")


def _call(x1: NDArray[Any], *given: Any, out: Any = None) -> NDArray[Any]:
    """The bench passes all but out by position."""
    return npu_dual_level_quant_matmul(x1, *given[:5], out=out)


def _arguments(size: Size, dtype: str, place: str) -> tuple[Any, ...]:
    """Return codes and scales, and what the weights stand for, which torch multiplies."""
    levels, pairs = -(-size.n // 256), -(-size.n // 32)
    x2 = arrays.normal(Size(COLUMNS, size.n), "uint8", place, 1)
    lower = [np.full((rows, pairs, 2), 127, np.uint8) for rows in (size.rows, COLUMNS)]
    upper = (np.ones((size.rows, levels), np.float32), np.ones((levels, COLUMNS), np.float32))
    return x2, *upper, *lower, decode(x2, "float4_e2m1").T


def _eager(torch: Any, x1: Any, *given: Any) -> None:
    """A float32 product of as many numbers."""
    weights, y = given[-2], given[-1]
    y.copy_(torch.mm(x1.float().repeat(1, 2), weights))


OPERATORS = (
    Operator(
        name="npu_dual_level_quant_matmul",
        call=_call,
        reference=lambda x1, *given: reference(x1, *given[:5]),
        outputs=lambda size, dtype: (((size.rows, COLUMNS), "bfloat16"),),
        arguments=_arguments,
        eager=_eager,
        compiled=_eager,
        dtypes=("uint8",),
        sizes="1x2048,16x2048",
        tolerance=1,
        most_overhead=3.6,
        multiplies=True,
    ),
)
