"""npu_trans_quant_param: scales, and an offset for all, in words of 64 bits."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from npu_quant import npu_trans_quant_param
from npu_quant.ops.trans_quant_param import reference

from .operators import Operator

_OFFSET, _ROUND_MODE = np.array([-3.5], np.float32), 1


def _words(torch: Any, scale: Any, offset: Any) -> Any:
    """Do the same by integers of 64 bits, into which the sign of an int32 goes on."""
    u = scale.view(torch.int32).to(torch.int64)
    exponent = u >> 23 & 0xFF
    nearest = torch.where(exponent == 255, u, u + 0xFFF + (u >> 13 & 1))
    u = torch.where(exponent == 0, u & 0x80000000, nearest)
    whole = offset.nan_to_num(0.0).round().clamp(-256, 255).to(torch.int64)
    return u & 0xFFFFE000 | 1 << 46 | (whole & 0x1FF) << 37


def _eager(torch: Any, scale: Any, offset: Any, y: Any) -> Any:
    return _words(torch, scale, offset)


def _compiled(torch: Any, scale: Any, offset: Any, y: Any) -> None:
    y.copy_(_words(torch, scale, offset))


def _call(
    scale: NDArray[Any], offset: NDArray[Any], round_mode: int, out: Any = None
) -> NDArray[np.int64]:
    """The bench passes all but out by position."""
    return npu_trans_quant_param(scale, offset, round_mode, out=out)


OPERATORS = (
    Operator(
        name="npu_trans_quant_param",
        call=_call,
        reference=reference,
        outputs=lambda size, dtype: ((size, "int64"),),
        arguments=lambda size, dtype, place: (_OFFSET, _ROUND_MODE),
        eager=_eager,
        compiled=_compiled,
        dtypes=("float32",),
        tolerance=0,
        of_copy_in_memory={"float32": 0.50},
        most_overhead=2.9,
    ),
)
