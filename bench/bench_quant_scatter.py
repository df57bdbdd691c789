"""npu_quant_scatter_: a row of each batch of a cache, by scales per channel."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from npu_quant import npu_quant_scatter_
from npu_quant.ops.quant_scatter import reference

from . import arrays
from .operators import Operator, Size


def _call(
    x: NDArray[Any],
    scale: NDArray[Any],
    zero: NDArray[Any],
    indices: NDArray[Any],
    out: NDArray[Any],
) -> NDArray[Any]:
    """Write into a cache that has one place for each batch."""
    npu_quant_scatter_(out[:, None], indices, x[:, None], scale, zero)
    return out


def _reference(
    x: NDArray[Any], scale: NDArray[Any], zero: NDArray[Any], indices: NDArray[Any]
) -> NDArray[Any]:
    cache = np.zeros((len(x), 1, x.shape[1]), np.int8)
    return reference(cache, indices, x[:, None], scale, zero)[:, 0]


def _arguments(size: Size, dtype: str, place: str) -> tuple[Any, ...]:
    places = np.zeros(size.rows, np.int32)
    return arrays.scales(size.n, place), arrays.zero_points(size.n, place), places


def _eager(torch: Any, x: Any, scale: Any, zero: Any, indices: Any, y: Any) -> None:
    batches = torch.arange(len(x))
    codes = torch.quantize_per_channel(x.float(), scale, zero, 1, torch.qint8).int_repr()
    y[:, None].index_put_((batches, indices.long()), codes)


def _compiled(torch: Any, x: Any, scale: Any, zero: Any, indices: Any, y: Any) -> None:
    q = (x.float() / scale + zero).round()
    codes = q.clamp(-128, 127).to(torch.int32).to(torch.int8)
    y[:, None].index_put_((torch.arange(len(x)), indices.long()), codes)


OPERATORS = (
    Operator(
        name="npu_quant_scatter_",
        call=_call,
        reference=_reference,
        outputs=lambda size, dtype: ((size, "int8"),),
        arguments=_arguments,
        eager=_eager,
        compiled=_compiled,
        dtypes=("float16", "bfloat16"),
        of_copy_in_memory={"float16": 0.60, "bfloat16": 0.60},
        most_overhead=6.0,
        in_place=True,
    ),
)
