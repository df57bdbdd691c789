"""npu_grouped_matmul_swiglu_quant: rows of four experts, each with a weight of 4096 columns."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from npu_quant import npu_grouped_matmul_swiglu_quant
from npu_quant.ops.grouped_matmul_swiglu_quant import reference

from . import arrays
from .bench_swiglu import unit
from .bench_swiglu_quant import codes
from .operators import Operator, Size

EXPERTS, COLUMNS = 4, 4096
SIZES = "16x1024,128x1024,1024x1024"


def _call(x: NDArray[Any], *given: Any, out: Any = None) -> Any:
    """The bench passes all but out by position; nobody wants the offset."""
    return npu_grouped_matmul_swiglu_quant(x, *given, out=None if out is None else (*out[:2], None))


def _arguments(size: Size, dtype: str, place: str) -> tuple[Any, ...]:
    """Experts have as many rows each; the last one those that are left, too."""
    weight = arrays.normal((EXPERTS, size.n, COLUMNS), "int8", place, 1)
    ends = np.arange(1, EXPERTS + 1) * size.rows // EXPERTS
    of_columns = arrays.scales(EXPERTS * COLUMNS, place).reshape(EXPERTS, COLUMNS)
    return weight, ends, of_columns, arrays.scales(size.rows, place, 1e-3)


def _quantized(torch: Any, x: Any, weight: Any, ends: Any, w: Any, r: Any, y: Any, s: Any) -> None:
    """What torch has for the sums of an expert, and then its own arithmetic."""
    first = 0
    for e, last in enumerate(ends.tolist()):
        sums = torch._int_mm(x[first:last], weight[e])
        o = unit(torch, sums * r[first:last, None] * w[e])
        scale = o.abs().amax(-1, keepdim=True) / 127
        s[first:last] = scale.squeeze(-1)
        codes(o / scale, y[first:last])
        first = last


OPERATORS = (
    Operator(
        name="npu_grouped_matmul_swiglu_quant",
        call=_call,
        reference=lambda x, *given: reference(x, *given)[:2],
        arguments=_arguments,
        outputs=lambda size, dtype: (
            ((size.rows, COLUMNS // 2), "int8"),
            ((size.rows,), "float32"),
        ),
        eager=_quantized,
        compiled=_quantized,
        dtypes=("int8",),
        sizes=SIZES,
        most_overhead=6.0,
        multiplies=True,
    ),
)
