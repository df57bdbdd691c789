"""npu_group_quant: codes of 8 or 4 bits, with given scales for each group of rows."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from .. import _codes, _core
from ..arrays import Array
from ..dtypes import DTypeName


def npu_group_quant(
    x: Array,
    scale: Array,
    group_index: Array,
    *,
    offset: Array | None = None,
    dst_dtype: DTypeName | None = None,
    out: Array | None = None,
    numerics: str | None = None,
) -> NDArray[Any]:
    """Quantize groups of rows with given scales, one row of scales for each group.

    It quantizes the rows of several experts that one array holds, one group after another::

        y = code(x * scale[e] + offset)          for the rows of group e; code: nearest, saturated

    Product and sum are one IEEE float32 operation each (docs/numerics.md 18); 16-bit inputs are
    widened exactly. Without an offset nothing is added. Each group of rows gives the result of
    ``npu_quantize(rows, scale[e], offset, dst_dtype, div_mode=False)``.

    ==============  ==================================================  ================
    dst_dtype       the result                                          codes end at
    ==============  ==================================================  ================
    int8, None      int8                                                -128, 127
    int4            int32, 8 codes in an element: the first is its low  -8, 7
                    nibble
    ==============  ==================================================  ================

    Args:
        x: float16, bfloat16 (``ml_dtypes.bfloat16``) or float32, of shape (S, H): S rows of H
            elements. It may have any strides and be unaligned or read-only; so may the arrays
            below.
        scale: float16, bfloat16 or float32, whatever x's dtype, of shape (E, H): one row for each
            of E groups. It multiplies x. Any sign.
        group_index: int32 or int64, of shape (E,), E at least 1: where each group ends (the index
            of the row after its last row). Ends never decrease; the last end is S. A group that
            ends where it begins has no rows, and its scales are not used.
        offset: one element of scale's dtype, of shape (1,) or (); None for no offset.
        dst_dtype: the format of the codes, int8 or int4, given as torch_npu's number (258, 285),
            torch's number (1, 12 for qint8, 16 for quint4x2), a dtype or a name. None means int8.
        out: an array to write the result into: of exactly its shape and dtype, with any strides and
            no memory shared with the inputs.
        numerics: the arithmetic profile; None is the current one (:func:`npu_quant.numerics`).

    Returns:
        The codes, of x's shape; for int4 of shape (S, H / 8), and H must be a multiple of 8.

    Rounding comes after the offset is added, and is to nearest, ties to even. Edge cases:

    ==========================================  ===================================================
    what                                        y
    ==========================================  ===================================================
    NaN in x, scale or offset                   0
    0 * inf                                     0, whatever the offset
    infinite products, offset finite            the greatest code, the least
    inf - inf                                   0
    beyond the range of dst_dtype               the greatest code, the least
    a tie, such as -1.5 with offset 0.5         rounded after the sum: -1 gives -1
    a product that float32 rounds               rounded before the offset is added
    x * scale below 2**-126                     subnormal numbers are kept
    a group without rows                        no codes
    no rows or no columns                       empty; the rules for the other arrays hold
    ==========================================  ===================================================

    Raises:
        DTypeError: an array is missing (code 161001), is not an ndarray, or has another dtype.
        ParamError: rank, shape, ``out`` or ``dst_dtype`` is not allowed, or an end in group_index
            is below the one before it, or the last one is not S.
        TypeError: an attribute is of the wrong kind, such as ``dst_dtype=1.5``.

    Example:
        >>> import numpy as np, npu_quant
        >>> x = np.array([[1, -2, 2.5, 1000], [1, -2, 2.5, 1000]], dtype=np.float32)
        >>> scale = np.array([[1, 1, 1, 1], [0.5, 0.5, 0.5, 0.5]], dtype=np.float32)
        >>> ends, offset = np.array([1, 2]), np.array([0.5], dtype=np.float32)
        >>> npu_quant.npu_group_quant(x, scale, ends, offset=offset)
        array([[  2,  -2,   3, 127],
               [  1,   0,   2, 127]], dtype=int8)
        >>> x = np.arange(-4, 4, dtype=np.float16)[None]
        >>> y = npu_quant.npu_group_quant(x, np.full((1, 8), 2, "f4"), ends[:1], dst_dtype="int4")
        >>> hex(y[0, 0])
        '0x6420eca8'

    Source: torch_npu.npu_group_quant (Ascend/op-plugin), which calls aclnnGroupQuant
    (hicann/ops-nn ``quant/group_quant``).
    """
    return _core.npu_group_quant(x, scale, group_index, offset, dst_dtype, out, numerics)


def reference(
    x: NDArray[Any],
    scale: NDArray[Any],
    group_index: NDArray[Any],
    *,
    offset: NDArray[Any] | None = None,
    dst_dtype: DTypeName | None = None,
) -> NDArray[Any]:
    """Compute :func:`npu_group_quant` in plain NumPy: the formula, to the bit, without checks."""
    group = np.searchsorted(group_index, np.arange(len(x)), side="right")
    with np.errstate(all="ignore"):
        q = x.astype(np.float32) * scale.astype(np.float32)[group]
        if offset is not None:
            q = q + offset.astype(np.float32).reshape(())
        return _codes.encode(q, "int8" if dst_dtype is None else dst_dtype)
