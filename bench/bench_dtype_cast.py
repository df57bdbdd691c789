"""npu_dtype_cast: float32 to codes, and back."""

from __future__ import annotations

from typing import Any

from numpy.typing import NDArray

from npu_quant import npu_dtype_cast
from npu_quant.ops.dtype_cast import reference

from .operators import Operator


def _call(x: NDArray[Any], to: str, out: Any = None) -> NDArray[Any]:
    """The bench passes all but out by position."""
    return npu_dtype_cast(x, to, out=out)


def _operator(to: str, dtype: str) -> Operator:
    def eager(torch: Any, x: Any, y: Any) -> None:
        y.copy_(x)

    return Operator(
        name=f"npu_dtype_cast to {to}",
        call=_call,
        reference=reference,
        arguments=lambda size, dtype, place: (to,),
        outputs=lambda size, dtype_of_x: ((size, dtype),),
        eager=eager,
        compiled=eager,
        dtypes=("float32",),
        tolerance=0,
        of_copy_in_memory={"float32": 0.5},
        most_overhead=2.9,
    )


OPERATORS = (_operator("float8_e4m3fn", "float8_e4m3fn"), _operator("float8_e5m2", "float8_e5m2"))
