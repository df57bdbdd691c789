"""npu_weight_quant_batchmatmul: rows times a square weight of codes; its peers multiply floats."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from npu_quant import npu_weight_quant_batchmatmul
from npu_quant.ops.weight_quant_batchmatmul import reference

from . import arrays
from .operators import Operator, Size

SIZES = "1x4096,16x4096,128x4096"


def _call(
    x: NDArray[Any], weight: NDArray[Any], scale: NDArray[Any], ready: Any, out: Any = None
) -> NDArray[Any]:
    """The bench passes all but out by position; peers have their weight ready."""
    return npu_weight_quant_batchmatmul(x, weight, scale, out=out)


def _reference(
    x: NDArray[Any], weight: NDArray[Any], scale: NDArray[Any], ready: Any
) -> NDArray[Any]:
    return reference(x, weight, scale)


def _float32(torch: Any, x: Any, weight: Any, scale: Any, ready: Any, y: Any) -> None:
    y.copy_(x.float() @ ready)


def _converted(torch: Any, x: Any, weight: Any, scale: Any, ready: Any, y: Any) -> None:
    torch.mm(x, weight.to(x.dtype) * scale, out=y)


def _arguments(size: Size, dtype: str, place: str) -> tuple[Any, ...]:
    weight = arrays.normal((size.n, size.n), "int8", place, 3)
    scale = (arrays.scales(size.n, place) / 99).astype(arrays.dtype_named(dtype))
    return weight, scale, weight.astype(np.float32) * scale.astype(np.float32)


OPERATORS = (
    Operator(
        name="npu_weight_quant_batchmatmul",
        call=_call,
        reference=_reference,
        outputs=lambda size, dtype: ((size, dtype),),
        arguments=_arguments,
        eager=_float32,
        compiled=_converted,
        multiplies=True,
        dtypes=("bfloat16",),
        sizes=SIZES,
        tolerance=1,
    ),
)
