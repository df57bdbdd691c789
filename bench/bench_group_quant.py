"""npu_group_quant: codes by the scales of groups of rows."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from npu_quant import npu_group_quant
from npu_quant.ops.group_quant import reference

from . import arrays, groups
from .operators import Operator, Size

_OFFSET = np.array([3], np.float32)


def _call(
    x: NDArray[Any], scale: NDArray[Any], ends: NDArray[Any], offset: NDArray[Any], out: Any = None
) -> NDArray[Any]:
    """The bench passes all but out by position."""
    return npu_group_quant(x, scale, ends, offset=offset, out=out)


def _reference(
    x: NDArray[Any], scale: NDArray[Any], ends: NDArray[Any], offset: NDArray[Any]
) -> NDArray[Any]:
    return reference(x, scale, ends, offset=offset)


def _arguments(size: Size, dtype: str, place: str) -> tuple[Any, ...]:
    """A scale for each column of each group."""
    (ends,) = groups.ends(size, dtype, place)
    scale = arrays.scales(len(ends) * size.n, place, 30).reshape(len(ends), size.n)
    return scale, ends, _OFFSET


def _by_groups(torch: Any, x: Any, scale: Any, ends: Any, offset: Any, y: Any) -> None:
    group = torch.searchsorted(ends, torch.arange(len(x), dtype=ends.dtype), right=True)
    q = (x.float() * scale[group] + offset).round()
    y.copy_(q.clamp(-128, 127).to(torch.int8))


OPERATORS = (
    Operator(
        name="npu_group_quant",
        call=_call,
        reference=_reference,
        outputs=lambda size, dtype: ((size, "int8"),),
        arguments=_arguments,
        eager=_by_groups,
        compiled=_by_groups,
        of_copy_in_memory={"float16": 0.75, "bfloat16": 0.75, "float32": 0.75},
        most_overhead=3.6,
    ),
)
