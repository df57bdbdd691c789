"""npu_quant_matmul: products of int8 by a weight of 4096 columns."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from npu_quant import npu_quant_matmul
from npu_quant.ops.quant_matmul import reference

from . import arrays
from .operators import Operator, Size

COLUMNS = 4096
SIZES = "1x4096,16x4096,128x4096,512x4096"


def _call(
    x: NDArray[Any], weight: NDArray[Any], scale: Any, rows: Any, to: str, out: Any = None
) -> NDArray[Any]:
    """The bench passes all but out by position."""
    more = {} if rows is None else {"pertoken_scale": rows}
    return npu_quant_matmul(x, weight, scale, output_dtype=to, out=out, **more)


def _reference(x: NDArray[Any], weight: NDArray[Any], scale: Any, rows: Any, to: str) -> Any:
    return reference(x, weight, scale, pertoken_scale=rows, output_dtype=to)


def _eager(torch: Any, x: Any, weight: Any, scale: Any, rows: Any, y: Any) -> None:
    """What torch has for the sums, and then its own arithmetic."""
    y.copy_(torch._int_mm(x, weight) * scale * rows[:, None])


def _operator(words: str, *, turned: bool = False) -> Operator:
    def arguments(size: Size, dtype: str, place: str) -> tuple[Any, ...]:
        weight = arrays.normal(Size(size.n, COLUMNS), "int8", place, 1)
        if turned:
            weight = np.ascontiguousarray(weight.T).T
        scales = (arrays.scales(n, place) * np.float32(1e-4) for n in (COLUMNS, size.rows))
        return (weight, *scales, "bfloat16")

    return Operator(
        name=f"npu_quant_matmul{words}",
        call=_call,
        reference=_reference,
        outputs=lambda size, dtype: (((size.rows, COLUMNS), "bfloat16"),),
        arguments=arguments,
        eager=_eager,
        compiled=_eager,
        dtypes=("int8",),
        sizes=SIZES,
        tolerance=1,
        most_overhead=3.6,
        multiplies=True,
    )


OPERATORS = (_operator(""), _operator(" of a transposed weight", turned=True))
