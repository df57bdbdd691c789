"""npu_quant_scatter, and npu_quant_scatter_ in place: new rows for a cache of codes."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from .. import _codes, _core
from ..arrays import Array
from ..dtypes import DTypeName


def npu_quant_scatter(
    self: Array,
    indices: Array,
    updates: Array,
    quant_scales: Array,
    quant_zero_points: Array | None = None,
    axis: int = -2,
    quant_axis: int = -1,
    reduce: str = "update",
    dst_type: DTypeName | None = None,
    round_mode: str | None = "rint",
    *,
    out: Array | None = None,
    numerics: str | None = None,
) -> NDArray[Any]:
    """Quantize updates with given scales, and write them into a copy of an array of codes.

    ::

        q = updates / quant_scales          per place on the last axis
        q = q + quant_zero_points           if given
        y = self;  y[b, ..., p : p + L, ...] = code(q[i])       for i = 0, 1, ...

    ``indices[i]`` says where ``updates[i]`` goes: with indices (B,) into batch b = i, from p =
    indices[i] on along axis; with indices (B, 2), b, p = indices[i]. L is the length of axis in
    updates. Every operation is one IEEE float32 operation per element (docs/numerics.md 19); the
    codes are those of npu_quantize with ``div_mode=True``. If updates overlap, the later one
    counts.

    ==============================  ==================  ==========  ==============
    dst_type                        self and the        round_mode  codes end at
                                    result
    ==============================  ==================  ==========  ==============
    None, int8 (258)                int8                "rint"      -128, 127
    float8_e4m3fn (292)             float8_e4m3fn       "rint"      +-448
    float8_e5m2 (291)               float8_e5m2         "rint"      +-57344
    hifloat8 (290)                  uint8               "round"     +-32768
    ==============================  ==================  ==========  ==============

    Args:
        self: int8, float8_e4m3fn, float8_e5m2 (of ``ml_dtypes``) or uint8, of rank 3 to 8. It may
            have any strides and be unaligned or read-only; so may the arrays below.
        indices: int32 or int64, (B,) or (B, 2): 0 or more, such that all updates lie inside self.
            All indices are checked before anything is written.
        updates: float16 or bfloat16 (``ml_dtypes.bfloat16``), of self's shape except for the first
            axis, of length B, and ``axis``; both may be shorter than self's.
        quant_scales: float32 or bfloat16, as many elements as the last axis has, in any shape of
            rank 1 to 8. Any sign.
        quant_zero_points: int32 or bfloat16, of as many elements; None for no zero points.
        axis: the axis along which updates are placed, neither the first nor the last.
        quant_axis: the axis of the scales: the last axis, the only choice.
        reduce: "update", the only choice.
        dst_type: the format of the codes, one from the table: torch_npu's number there, torch's
            number (1, 23, 24), a dtype or a name. It must be the format that self holds.
        round_mode: how codes are rounded, as in the table; None means "rint".
        out: an array to write the result into: of exactly its shape and dtype, with any strides and
            no memory shared with the inputs.
        numerics: the arithmetic profile; None is the current one (:func:`npu_quant.numerics`).

    Returns:
        A copy of self with the new codes. :func:`npu_quant.npu_quant_scatter_` writes into self,
        and takes only the time of the updates.

    Rounding comes after the zero point is added, and is to nearest, ties to even; with "round" ties
    go away from zero. Edge cases:

    ==============================================  ===============================================
    what                                            y
    ==============================================  ===============================================
    NaN in updates, scales or zero points           0
    inf or -inf in updates, scale > 0 and finite    the greatest code, the least
    beyond the range of the codes                   the greatest code, the least
    a tie, such as -1.5 with zero point 1           rounded after the sum: -0.5 gives 0
    scale 0 (not -0)                                greatest for updates > 0, least for < 0, 0
                                                    for 0 (0 / 0 is NaN), whatever the zero point
    scale infinite                                  the zero point; 0 for an infinite update
    int32 zero points beyond 2 ** 24                rounded to float32 first
    two updates at one place                        the later one
    an index below 0, or an update beyond self      an error: no index counts from the end
    updates that end at the end of self             allowed: p may be the difference of the lengths
    elements that no update reaches                 unchanged, also float8 NaN
    no updates; self without elements               a copy of self
    ==============================================  ===============================================

    Raises:
        DTypeError: an array is missing (code 161001), is not an ndarray, or has another dtype.
        ParamError: rank, shape, an index, ``out`` or an attribute is not allowed or not available.
        TypeError: an attribute is of the wrong kind, such as ``axis=1.5``.

    Example:
        >>> import numpy as np, npu_quant
        >>> cache = np.zeros((1, 3, 2), dtype=np.int8)
        >>> updates = np.array([[[1, -3]]], dtype=np.float16)
        >>> scales, zero_points = np.array([0.5, 2], np.float32), np.array([0, 1], np.int32)
        >>> npu_quant.npu_quant_scatter(cache, np.array([1]), updates, scales, zero_points).tolist()
        [[[0, 0], [2, 0], [0, 0]]]

        A page and a place in it for each token, in place:

        >>> pages = np.zeros((2, 2, 2), dtype=np.int8)
        >>> y = npu_quant.npu_quant_scatter_(pages, np.array([[1, 0]]), updates, scales)
        >>> y is pages, pages.tolist()
        (True, [[[0, 0], [0, 0]], [[2, -2], [0, 0]]])

    Source: torch_npu.npu_quant_scatter (Ascend/op-plugin), which calls aclnnInplaceQuantScatter or
    V2 (hicann/ops-nn ``index/quant_update_scatter``).
    """
    return _core.npu_quant_scatter(
        self,
        indices,
        updates,
        quant_scales,
        quant_zero_points,
        axis,
        quant_axis,
        reduce,
        dst_type,
        round_mode,
        out,
        numerics,
    )


def npu_quant_scatter_(
    self: Array,
    indices: Array,
    updates: Array,
    quant_scales: Array,
    quant_zero_points: Array | None = None,
    axis: int = -2,
    quant_axis: int = -1,
    reduce: str = "update",
    dst_type: DTypeName | None = None,
    round_mode: str | None = "rint",
    *,
    numerics: str | None = None,
) -> NDArray[Any]:
    """Quantize updates with given scales, and write them into an array of codes in place.

    ::

        self[b, ..., p : p + L, ...] = code(updates[i] / quant_scales + quant_zero_points)

    Everything else is as in :func:`npu_quant.npu_quant_scatter` (docs/numerics.md 19), which leaves
    self unchanged and returns a copy. There is no ``out``.

    Args:
        self: int8, float8_e4m3fn, float8_e5m2 or uint8, of rank 3 to 8. It is writable and may have
            any strides; its memory is not shared with the other arrays, nor between two of its
            elements.
        indices: int32 or int64, (B,) or (B, 2).
        updates: float16 or bfloat16, of self's shape except for the first axis and ``axis``.
        quant_scales: float32 or bfloat16, as many elements as the last axis has.
        quant_zero_points: int32 or bfloat16, of as many elements; None for no zero points.
        axis: the axis along which updates are placed, neither the first nor the last.
        quant_axis: the axis of the scales: the last axis, the only choice.
        reduce: "update".
        dst_type: the format of the codes that self holds; None means int8.
        round_mode: "rint", or "round" for hifloat8; None means "rint".
        numerics: the arithmetic profile; None is the current one (:func:`npu_quant.numerics`).

    Returns:
        self. Elements that no update reaches are neither read nor written.

    Rounding is to nearest, ties to even; with "round" ties go away from zero. A call that fails has
    written nothing; after Ctrl-C some updates are written and some are not.

    Raises:
        DTypeError: an array is missing (code 161001), is not an ndarray, or has another dtype.
        ParamError: rank, shape, an index or an attribute is not allowed or not available, or self
            cannot be written to.
        TypeError: an attribute is of the wrong kind, such as ``axis=1.5``.

    Example:
        >>> import numpy as np, npu_quant
        >>> cache = np.zeros((1, 3, 2), dtype=np.int8)
        >>> updates = np.array([[[1, -3]]], dtype=np.float16)
        >>> y = npu_quant.npu_quant_scatter_(cache, np.array([1]), updates, np.float32([0.5, 2]))
        >>> y is cache, cache.tolist()
        (True, [[[0, 0], [2, -2], [0, 0]]])

    Source: torch_npu.npu_quant_scatter_ (Ascend/op-plugin), which calls aclnnInplaceQuantScatter or
    V2 (hicann/ops-nn ``index/quant_update_scatter``).
    """
    return _core.npu_quant_scatter_(
        self,
        indices,
        updates,
        quant_scales,
        quant_zero_points,
        axis,
        quant_axis,
        reduce,
        dst_type,
        round_mode,
        self,
        numerics,
    )


def reference(
    self: NDArray[Any],
    indices: NDArray[Any],
    updates: NDArray[Any],
    quant_scales: NDArray[Any],
    quant_zero_points: NDArray[Any] | None = None,
    axis: int = -2,
    quant_axis: int = -1,
    reduce: str = "update",
    dst_type: DTypeName | None = None,
    round_mode: str | None = "rint",
) -> NDArray[Any]:
    """Compute :func:`npu_quant_scatter` in plain NumPy: the formula, to the bit, without checks."""
    with np.errstate(all="ignore"):
        q = updates.astype(np.float32) / quant_scales.astype(np.float32).reshape(-1)
        if quant_zero_points is not None:
            q = q + quant_zero_points.astype(np.float32).reshape(-1)
        codes = _codes.encode(q, "int8" if dst_type is None else dst_type)
    y: NDArray[Any] = self.copy()
    along, codes = (np.moveaxis(a, axis, 1) for a in (y, codes))
    for i, index in enumerate(indices.tolist()):
        b, p = index if indices.ndim == 2 else (i, index)
        along[b, p : p + codes.shape[1]] = codes[i]
    return y
