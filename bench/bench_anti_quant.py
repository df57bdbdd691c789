"""npu_anti_quant: int8 codes back to float16 or bfloat16."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from npu_quant import npu_anti_quant
from npu_quant.ops.anti_quant import reference

from . import arrays
from .operators import Linear, Operator, Size

_SCALE = 123 / 4096  # a number of float16 and bfloat16: ONNX Runtime's scale has y's type
_OFFSET = 3


def _call(
    x: NDArray[Any], scale: NDArray[Any], offset: NDArray[Any], to: str, out: Any = None
) -> NDArray[Any]:
    """The bench passes all but out by position."""
    return npu_anti_quant(x, scale, offset=offset, dst_dtype=to, out=out)


def _reference(x: NDArray[Any], scale: NDArray[Any], offset: NDArray[Any], to: str) -> NDArray[Any]:
    return reference(x, scale, offset=offset, dst_dtype=to)


def _eager(torch: Any, x: Any, scale: Any, offset: Any, y: Any) -> None:
    y.copy_((x.float() + offset).mul_(scale))


def _compiled(torch: Any, x: Any, scale: Any, offset: Any, y: Any) -> None:
    y.copy_((x.float() + offset) * scale)


def _of_tensor(size: Size, dtype: str, place: str) -> tuple[Any, ...]:
    return np.array([_SCALE], np.float32), np.array([_OFFSET], np.float32)


def _of_channels(size: Size, dtype: str, place: str) -> tuple[Any, ...]:
    """A scale and an offset per column."""
    offset = arrays.empty((size.n,), "float32", place)
    offset[:] = arrays.zero_points(size.n, place)
    return arrays.scales(size.n, place), offset


def _operator(name: str, parameters: Any, to: str, **options: Any) -> Operator:
    return Operator(
        name=f"npu_anti_quant {name}",
        call=_call,
        reference=_reference,
        arguments=lambda size, dtype, place: (*parameters(size, dtype, place), to),
        outputs=lambda size, dtype: ((size, to),),
        eager=_eager,
        compiled=_compiled,
        dtypes=("int8",),
        tolerance=0,
        of_copy_in_memory={"int8": 0.90},
        most_overhead=2.9,
        **options,
    )


_LINEAR = Linear("DequantizeLinear", _SCALE, -_OFFSET)

OPERATORS = (
    _operator("per tensor", _of_tensor, "float16", linear=_LINEAR),
    _operator("to bfloat16", _of_tensor, "bfloat16", linear=_LINEAR),
    _operator("per channel", _of_channels, "float16"),
)
