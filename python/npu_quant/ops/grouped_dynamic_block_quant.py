"""npu_grouped_dynamic_block_quant: blocks of a matrix, which begin anew in each group."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..dtypes import DTypeName
from . import dynamic_block_quant


class GroupedDynamicBlockQuantResult(NamedTuple):
    """What npu_grouped_dynamic_block_quant returns, of x with m rows and n columns in g groups."""

    y: NDArray[Any]
    """Codes, of x's shape."""
    scale: NDArray[np.float32]
    """Of shape (..., m // row_block_size + g, ceil(n / col_block_size)): those of group j from row
    group_list[j - 1] // row_block_size + j on; 0 where there is no block."""


def reference(
    x: NDArray[Any],
    group_list: NDArray[np.int32],
    *,
    min_scale: float = 0.0,
    round_mode: str = "rint",
    dst_type: DTypeName = 291,
    row_block_size: int = 1,
    col_block_size: int = 128,
    group_list_type: int = 0,
    dst_type_max: float = 0.0,
) -> GroupedDynamicBlockQuantResult:
    """Compute npu_grouped_dynamic_block_quant in plain NumPy: the formula, without checks."""
    m, n = x.shape[-2:]
    rows, columns = m // row_block_size + len(group_list), -(-n // col_block_size)
    scale = np.zeros((*x.shape[:-2], rows, columns), np.float32)
    y, start = [], 0
    for j, end in enumerate(group_list.tolist()):
        codes, scales = dynamic_block_quant.reference(
            x[..., start:end, :],
            min_scale=min_scale,
            dst_type=dst_type,
            row_block_size=row_block_size,
            col_block_size=col_block_size,
            dst_type_max=dst_type_max,
            round_mode=round_mode,
        )
        first = start // row_block_size + j
        scale[..., first : first + scales.shape[-2], :] = scales
        y.append(codes)
        start = end
    return GroupedDynamicBlockQuantResult(np.concatenate(y, axis=-2), scale)
