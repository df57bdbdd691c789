"""npu_dynamic_quant_asymmetric: int8 codes, a scale and an offset per group."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from .. import _core
from ..dtypes import DTypeName
from .dynamic_quant import codes, one_per_group, per_group, values

_Float32 = NDArray[np.float32]


class DynamicQuantAsymmetricResult(NamedTuple):
    """What :func:`npu_dynamic_quant_asymmetric` returns; None where ``out`` holds None."""

    y: NDArray[np.int8]
    """int8 codes, of input's shape."""
    scale: NDArray[np.float32]
    """float32, one per group: of input's shape without its last axis, its axis -2, or (1,)."""
    offset: NDArray[np.float32]
    """float32 like scale; no integer: the code that zero would have, before rounding."""


def npu_dynamic_quant_asymmetric(
    input: NDArray[Any],
    *,
    smooth_scales: NDArray[Any] | None = None,
    group_index: NDArray[Any] | None = None,
    dst_type: DTypeName | None = None,
    quant_mode: str = "pertoken",
    dst_type_max: float = 0.0,
    out: tuple[NDArray[np.int8] | None, _Float32 | None, _Float32 | None] | None = None,
    numerics: str | None = None,
) -> DynamicQuantAsymmetricResult:
    """Quantize to int8 from the least to the greatest value of each token (row), channel or of all.

    ::

        v      = input                                or  input * smooth_scales
        hi, lo = max v, min v                         over the group
        scale  = (hi - lo) / 255                      at least 1e-12
        offset = 127 - hi / scale                     not rounded
        y      = round(v / scale + offset)            saturated to [-128, 127]

    Every operation is one IEEE float32 operation per element (docs/numerics.md 2); 16-bit inputs
    are widened exactly. Zero is not forced into the range from lo to hi. ``quant_mode`` says what a
    group is:

    ============  ==========================  ============================  =====================
    quant_mode    a group                     shape of scale and offset     shape of smooth_scales
    ============  ==========================  ============================  =====================
    "pertoken"    a row, along the last axis  ``input.shape[:-1]``          ``(input.shape[-1],)``
    "pertensor"   everything                  ``(1,)``                      ``(input.shape[-1],)``
    "perchannel"  a column, along axis -2     input.shape without axis -2   ``(input.shape[-2],)``
    ============  ==========================  ============================  =====================

    Args:
        input: float16, bfloat16 (``ml_dtypes.bfloat16``) or float32 (an extension: the device takes
            16-bit types), of rank 2 to 8. Any strides, unaligned and read-only arrays included.
        smooth_scales: factors of input's dtype for the last axis, "perchannel" for axis -2. With
            ``group_index`` a row of them for each expert, ``(E, input.shape[-1])``.
        group_index: int32, the end of each expert's rows, of shape ``(E,)``, 1 <= E <= 1024, as
            :func:`npu_quant.npu_dynamic_quant` takes it. Not with "perchannel".
        dst_type: the type of ``y``: None or int8, as torch_npu's code (1), dtype or name.
        quant_mode: ``"pertoken"``, ``"pertensor"`` or ``"perchannel"``.
        dst_type_max: 0.0.
        out: where to write ``(y, scale, offset)``: arrays of exactly the result's shapes and
            dtypes, any strides, apart from each other and the inputs, such as an earlier result;
            None for one that is not wanted. After Ctrl-C it holds some new elements and some old
            ones.
        numerics: the arithmetic profile, by default the current one
            (:func:`npu_quant.numerics`).

    Returns:
        ``(y, scale, offset)``: int8 of input's shape, float32 and float32 per group. The way back
        to about ``v`` is ``(y - offset[..., None]) * scale[..., None]``, "perchannel" with
        ``[..., None, :]``.

    Rounding is to nearest, ties to even, after the offset is added. Groups out of the ordinary:

    ===============================  ======  ===================  ==================================
    group                            scale   offset               y
    ===============================  ======  ===================  ==================================
    all zero, or without elements    1e-12   127                  127, which comes back as 0
    all c, not 0                     1e-12   127 - c / scale      by the formula; c comes back but
                                                                  for 2 ** -22 of it and 1e-14
    all c, abs(c) beyond 3.4e26      1e-12   -inf or inf          0
    narrow: (hi - lo) / 255 < 1e-12  1e-12   by the formula       in steps of 1e-12
    holds NaN (or 0 * inf with       NaN     NaN                  0 everywhere
    smooth_scales), or is all inf,
    or all -inf
    inf and anything less, no NaN    inf     NaN                  0 everywhere
    -inf and finite values           inf     127                  127, and 0 for -inf
    finite, but hi - lo is inf       inf     127                  127 everywhere
    ===============================  ======  ===================  ==================================

    Raises:
        DTypeError: an array is missing (code 161001), is no ndarray, or has another dtype.
        ParamError: rank, shape, ``out``, an attribute or an entry of ``group_index`` is not
            allowed or not available.
        TypeError: an attribute is of the wrong kind, such as ``quant_mode=0``.
        MemoryError: no memory for the results.

    Example:
        >>> import numpy as np, npu_quant
        >>> x = np.array([[-1, 0, 1, 3], [5, 6, 7, 8]], dtype=np.float16)
        >>> y, scale, offset = npu_quant.npu_dynamic_quant_asymmetric(x)
        >>> y
        array([[-128,  -64,    0,  127],
               [-128,  -43,   42,  127]], dtype=int8)
        >>> scale
        array([0.01568628, 0.01176471], dtype=float32)
        >>> offset
        array([ -64.24998, -553.     ], dtype=float32)

    Source: torch_npu.npu_dynamic_quant_asymmetric and aclnnDynamicQuantV2, V3 (Ascend/op-plugin,
    hicann/ops-nn ``quant/dynamic_quant_v2``). The least scale of 1e-12 is that of Atlas A2; the
    950 series has none, and loses a group of equal values.
    """
    return _core.npu_dynamic_quant_asymmetric(
        DynamicQuantAsymmetricResult,
        input,
        smooth_scales,
        group_index,
        dst_type,
        quant_mode,
        dst_type_max,
        out,
        numerics,
    )


def reference(
    input: NDArray[Any],
    *,
    smooth_scales: NDArray[Any] | None = None,
    group_index: NDArray[np.int32] | None = None,
    quant_mode: str = "pertoken",
) -> DynamicQuantAsymmetricResult:
    """Compute it in plain NumPy: the formula, to the bit, without checks."""
    with np.errstate(all="ignore"):
        v = values(input, smooth_scales, group_index, quant_mode)
        hi = per_group(quant_mode, v.max, -np.inf)
        lo = per_group(quant_mode, v.min, np.inf)
        empty = hi < lo
        hi, lo = np.where(empty, np.float32(0), hi), np.where(empty, np.float32(0), lo)
        d = (hi - lo) / np.float32(255)
        least, nan = np.float32(1e-12), np.float32(np.nan)
        scale = np.where(np.isnan(d), nan, np.where(d < least, least, d))
        offset = np.float32(127) - hi / scale
        offset = np.where(np.isnan(offset), nan, offset)
        y = codes(v / scale + offset)
    return DynamicQuantAsymmetricResult(
        y, one_per_group(quant_mode, scale), one_per_group(quant_mode, offset)
    )
