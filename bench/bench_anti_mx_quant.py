"""npu_anti_mx_quant: codes of blocks of 32 along a row, back to bfloat16."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from npu_quant import npu_anti_mx_quant
from npu_quant.ops.anti_mx_quant import reference

from . import arrays
from .operators import Operator, Size


def _mxscale(size: Size, dtype: str, place: str) -> tuple[NDArray[np.uint8]]:
    """Bytes next to that of 1, the same in each row."""
    mxscale = arrays.empty((size.rows, -(-size.n // 64), 2), "uint8", place)
    mxscale[...] = 120 + np.arange(mxscale[0].size).reshape(mxscale[0].shape) % 16
    return (mxscale,)


def _formula(torch: Any, x: Any, mxscale: Any, y: Any) -> None:
    """The byte is the exponent's bits, 0 aside."""
    scale = (mxscale.reshape(len(x), -1).int() << 23).view(torch.float32)
    v = x.float().reshape(len(x), -1, 32) * scale[..., None]
    y.copy_(v.reshape(x.shape))


def _anti(call: Any, x: Any, mxscale: Any, **options: Any) -> Any:
    """The bench passes arrays of float8 as such."""
    return call(x, mxscale, src_type="float8_e4m3fn", **options)


OPERATORS = (
    Operator(
        name="npu_anti_mx_quant",
        call=partial(_anti, npu_anti_mx_quant),
        reference=partial(_anti, reference),
        arguments=_mxscale,
        outputs=lambda size, dtype: ((size, "bfloat16"),),
        eager=_formula,
        compiled=_formula,
        dtypes=("float8_e4m3fn",),
        sizes="128x4096,4096x4096,32768x7168",
        tolerance=0,
        of_copy_in_memory={"float8_e4m3fn": 0.5},
        most_overhead=2.9,
    ),
)
