"""npu_dynamic_quant_asymmetric: codes of 8 or 4 bits, a scale and an offset per group."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from .. import _codes, _core
from ..arrays import Array
from ..dtypes import DTypeName
from .dynamic_quant import greatest_of, one_per_group, per_group, values


class DynamicQuantAsymmetricResult(NamedTuple):
    """What :func:`npu_dynamic_quant_asymmetric` returns; None where ``out`` holds None."""

    y: NDArray[Any]
    """Codes, of input's shape; int4 is packed into an eighth of the last axis."""
    scale: NDArray[np.float32]
    """float32, one per group. Shape: input's without the last axis or without axis -2, or (1,)."""
    offset: NDArray[np.float32]
    """float32, of scale's shape: the code of 0 before rounding, so not an integer."""


def npu_dynamic_quant_asymmetric(
    input: Array,
    *,
    smooth_scales: Array | None = None,
    group_index: Array | None = None,
    dst_type: DTypeName | None = None,
    quant_mode: str = "pertoken",
    dst_type_max: float = 0.0,
    out: tuple[Array | None, Array | None, Array | None] | None = None,
    numerics: str | None = None,
) -> DynamicQuantAsymmetricResult:
    """Quantize asymmetrically with a scale and offset per token (row), channel or tensor.

    ::

        v      = input                                or  input * smooth_scales
        hi, lo = max v, min v                         over the group
        scale  = (hi - lo) / R                        at least 1e-12
        offset = MAX - hi / scale                     not rounded
        y      = code(v / scale + offset)             the nearest of dst_type, saturated

    Every operation is one IEEE float32 operation per element (docs/numerics.md 12); 16-bit inputs
    are widened exactly. Zero is not forced into the range from lo to hi. ``dst_type`` selects the
    codes, and ``quant_mode`` the groups:

    ====================  =====  ======  =============================  ==================
    dst_type              MAX    R       y                              codes end at
    ====================  =====  ======  =============================  ==================
    int8 (258)            127    255     int8                           -128, 127
    int4 (285)            7      15      int32, 8 codes in an element:  -8, 7
                                         the first is its low nibble
    float8_e4m3fn (292)   448    896     ml_dtypes.float8_e4m3fn        +-448
    float8_e5m2 (291)     57344  114688  ml_dtypes.float8_e5m2          +-57344
    hifloat8 (290)        32768  65536   uint8                          +-32768
    ====================  =====  ======  =============================  ==================

    ============  ==========================  ============================  =====================
    quant_mode    a group                     shape of scale and offset     shape of smooth_scales
    ============  ==========================  ============================  =====================
    "pertoken"    a row, along the last axis  ``input.shape[:-1]``          ``(input.shape[-1],)``
    "pertensor"   everything                  ``(1,)``                      ``(input.shape[-1],)``
    "perchannel"  a column, along axis -2     input.shape without axis -2   ``(input.shape[-2],)``
    ============  ==========================  ============================  =====================

    Args:
        input: float16, bfloat16 (``ml_dtypes.bfloat16``) or float32 (an extension: the device takes
            16-bit types), of rank 2 to 8. It may have any strides and be unaligned or read-only.
        smooth_scales: factors of input's dtype for the last axis; with "perchannel" for axis -2.
            With ``group_index`` one row of factors for each expert, ``(E, input.shape[-1])``.
        group_index: int32, of shape ``(E,)``, 1 <= E <= 1024: the end of each expert's rows, as in
            :func:`npu_quant.npu_dynamic_quant`. Not available with "perchannel".
        dst_type: the format of ``y``, one from the table: torch_npu's number there, torch's number
            (1 for int8, 16 for quint4x2 ...), a dtype or a name. None means int8.
        quant_mode: ``"pertoken"``, ``"pertensor"`` or ``"perchannel"``.
        dst_type_max: MAX for hifloat8, 1e-6 to 32768, with R = 2 MAX; 0 means the table's. Other
            formats always use the table's MAX and R. hifloat8 codes still end at +-32768.
        out: where to write ``(y, scale, offset)``: arrays of exactly the result's shapes and
            dtypes, with any strides and no memory shared with each other or the inputs. None stands
            for an output that is not wanted.
        numerics: the arithmetic profile, by default the current one (:func:`npu_quant.numerics`):
            ``"reference"``, or a device's, ``"ascend910b"`` or ``"ascend950"``, which also refuse
            what the device refuses (docs/numerics.md 4).

    Returns:
        ``(y, scale, offset)``: codes of input's shape (int4: an eighth of the last axis, which must
        be a multiple of 8), and a float32 scale and offset per group. ``(y - offset[..., None]) *
        scale[..., None]``, with the numbers that the codes stand for, dequantizes to about ``v``;
        with "perchannel" the index is ``[..., None, :]``.

    Rounding comes after the offset is added, and is to nearest, ties to even; in hifloat8 ties go
    away from zero. Edge cases, by group:

    ===============================  ======  ===================  ==================================
    group                            scale   offset               y
    ===============================  ======  ===================  ==================================
    all zero, or no elements         1e-12   MAX                  MAX, which dequantizes to 0
    all c, not 0                     1e-12   MAX - c / scale      by the formula; dequantizes to c
                                                                  within 2 ** -22 * |c| + 1e-14
    all c, abs(c) beyond 3.4e26      1e-12   -inf or inf          0
    narrow: (hi - lo) / R < 1e-12    1e-12   by the formula       in steps of 1e-12
    holds NaN (or 0 * inf with       NaN     NaN                  0 everywhere
    smooth_scales), or is all inf,
    or all -inf
    inf and anything less, no NaN    inf     NaN                  0 everywhere
    -inf and finite values           inf     MAX                  MAX, and 0 for -inf
    finite, but hi - lo is inf       inf     MAX                  MAX everywhere
    ===============================  ======  ===================  ==================================

    Raises:
        DTypeError: an array is missing (code 161001), is not an ndarray, or has another dtype.
        ParamError: rank, shape, ``out``, an attribute or an entry of ``group_index`` is not
            allowed or not available.
        TypeError: an attribute is of the wrong kind, such as ``quant_mode=0``.

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
        array([ -64.249985, -553.      ], dtype=float32)
        >>> npu_quant.npu_dynamic_quant_asymmetric(x, dst_type="float8_e4m3fn").y.astype(np.float32)
        array([[-448., -224.,   -0.,  448.],
               [-448., -144.,  144.,  448.]], dtype=float32)

    Source: torch_npu.npu_dynamic_quant_asymmetric and aclnnDynamicQuantV2, V3 (Ascend/op-plugin,
    hicann/ops-nn ``quant/dynamic_quant_v2``). The least scale, 1e-12, is that of Atlas A2. The 950
    series has no least scale, and loses a group of equal values.
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
    dst_type: DTypeName | None = None,
    quant_mode: str = "pertoken",
    dst_type_max: float = 0.0,
) -> DynamicQuantAsymmetricResult:
    """Compute it in plain NumPy: the formula, to the bit, without checks."""
    format = _codes.row_of(dst_type or "int8")
    greatest = greatest_of(format, dst_type_max)
    steps = 2 * greatest + np.float32(format.name.startswith("int"))
    least, nan = np.float32(1e-12), np.float32(np.nan)
    with np.errstate(all="ignore"):
        v = values(input, smooth_scales, group_index, quant_mode)
        hi = per_group(quant_mode, v.max, -np.inf)
        lo = per_group(quant_mode, v.min, np.inf)
        empty = hi < lo
        hi, lo = np.where(empty, np.float32(0), hi), np.where(empty, np.float32(0), lo)
        d = (hi - lo) / steps
        scale = np.where(np.isnan(d), nan, np.where(d < least, least, d))
        offset = greatest - hi / scale
        offset = np.where(np.isnan(offset), nan, offset)
        y = _codes.encode(v / scale + offset, format.name)
    return DynamicQuantAsymmetricResult(
        y, one_per_group(quant_mode, scale), one_per_group(quant_mode, offset)
    )
