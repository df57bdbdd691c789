"""npu_dynamic_quant: codes of 8 or 4 bits, and a scale per token, channel or tensor."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from .. import _codes, _core
from ..arrays import Array
from ..dtypes import DType, DTypeName


class DynamicQuantResult(NamedTuple):
    """What :func:`npu_dynamic_quant` returns; a field is None where ``out`` holds None."""

    y: NDArray[Any]
    """Codes, of input's shape; int4 is packed into an eighth of the last axis."""
    scale: NDArray[np.float32]
    """float32, one per group. Shape: input's without the last axis or without axis -2, or (1,)."""


def npu_dynamic_quant(
    input: Array,
    *,
    smooth_scales: Array | None = None,
    group_index: Array | None = None,
    dst_type: DTypeName | None = None,
    quant_mode: str = "pertoken",
    dst_type_max: float = 0.0,
    out: tuple[Array | None, Array | None] | None = None,
    numerics: str | None = None,
) -> DynamicQuantResult:
    """Quantize symmetrically with one scale per token (row), per channel or per tensor.

    ::

        v     = input                     or  input * smooth_scales
        amax  = max |v| over the group
        scale = amax / MAX
        y     = code(v / scale)           the nearest of dst_type, saturated

    Every line is one IEEE float32 operation per element (docs/numerics.md 2); 16-bit inputs are
    widened exactly. ``dst_type`` selects the codes, and ``quant_mode`` the groups:

    ====================  =====  =============================  ==================
    dst_type              MAX    y                              codes end at
    ====================  =====  =============================  ==================
    int8 (258)            127    int8                           -128, 127
    int4 (285)            7      int32, 8 codes in an element:  -8, 7
                                 the first is its low nibble
    float8_e4m3fn (292)   448    ml_dtypes.float8_e4m3fn        +-448
    float8_e5m2 (291)     57344  ml_dtypes.float8_e5m2          +-57344
    hifloat8 (290)        32768  uint8                          +-32768
    ====================  =====  =============================  ==================

    ============  ==========================  ============================  =====================
    quant_mode    a group                     shape of scale                shape of smooth_scales
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
        group_index: int32, of shape ``(E,)``, 1 <= E <= 1024: the end of each expert's rows. Rows
            are counted in C order over ``input.shape[:-1]``; rows before ``group_index[0]`` belong
            to expert 0, and so on. Ends never decrease, and the last end is the number of rows; an
            expert without rows repeats the previous end. Not available with "perchannel".
        dst_type: the format of ``y``, one from the table: torch_npu's number there, torch's number
            (1 for int8, 16 for quint4x2 ...), a dtype or a name. None means int8.
        quant_mode: ``"pertoken"``, ``"pertensor"`` or ``"perchannel"``.
        dst_type_max: MAX for hifloat8, 1e-6 to 32768; 0 means the table's. Other formats always use
            the table's MAX. hifloat8 codes still end at +-32768.
        out: where to write ``(y, scale)``: arrays of exactly the result's shapes and dtypes, with
            any strides and no memory shared with each other or the inputs. None stands for an
            output that is not wanted.
        numerics: the arithmetic profile, by default the current one (:func:`npu_quant.numerics`):
            ``"reference"``, or a device's, ``"ascend910b"`` or ``"ascend950"``, which also refuse
            what the device refuses (docs/numerics.md 4).

    Returns:
        ``(y, scale)``: codes of input's shape (int4: an eighth of the last axis, which must be a
        multiple of 8), and one float32 per group. ``y * scale[..., None]``, with the numbers that
        the codes stand for, dequantizes to about ``v``; with "perchannel" it is ``y * scale[...,
        None, :]``.

    Rounding is to nearest, ties to even; in hifloat8 ties go away from zero. Edge cases, by group:

    =============================================  =======  ======================================
    group                                          scale    y
    =============================================  =======  ======================================
    all zero                                       0        0
    holds NaN (or 0 * inf with smooth_scales)      NaN      0 everywhere
    holds inf or -inf, no NaN                      inf      0; in float8 finite values keep their
                                                            sign: -0 is byte 80
    amax / MAX underflows to 0                     0        0 for 0, else the greatest or the least
    amax / dst_type_max overflows                  inf      0 everywhere
    no elements, such as an empty row              0        empty
    =============================================  =======  ======================================

    In float8, -0 and negative values that round to 0 become -0 (byte 80). hifloat8 has no -0: they
    become 0.

    Raises:
        DTypeError: an array is missing (code 161001), is not an ndarray, or has another dtype.
        ParamError: rank, shape, ``out``, an attribute or an entry of ``group_index`` is not
            allowed or not available.
        TypeError: an attribute is of the wrong kind, such as ``quant_mode=0``.

    Example:
        >>> import numpy as np, npu_quant
        >>> x = np.array([[0, 1, -2, 4], [3, -1.5, 0.75, -3]], dtype=np.float16)
        >>> y, scale = npu_quant.npu_dynamic_quant(x)
        >>> y
        array([[   0,   32,  -64,  127],
               [ 127,  -64,   32, -127]], dtype=int8)
        >>> scale
        array([0.03149606, 0.02362205], dtype=float32)
        >>> hifloat8 = {"dst_type": "torch_npu.hifloat8", "dst_type_max": 15}
        >>> npu_quant.npu_dynamic_quant(x, quant_mode="pertensor", **hifloat8).scale
        array([0.26666668], dtype=float32)
        >>> eight = np.array([[0, 1, -2, 4, -0.0, 0.5, 3, -4]], dtype=np.float16)
        >>> packed, _ = npu_quant.npu_dynamic_quant(eight, dst_type="torch.quint4x2")
        >>> [hex(word) for word in packed.view(np.uint32)[0]]  # 0, 2, -3, 7, 0, 1, 5, -7
        ['0x95107d20']
        >>> npu_quant.npu_dynamic_quant(x, quant_mode="perchannel").scale
        array([0.02362205, 0.01181102, 0.01574803, 0.03149606], dtype=float32)
        >>> smooth = np.array([[1, 1, 1, 1], [2, 2, 2, 4]], dtype=np.float16)
        >>> ends = np.array([1, 2], dtype=np.int32)  # a row for each of two experts
        >>> npu_quant.npu_dynamic_quant(x, smooth_scales=smooth, group_index=ends).y
        array([[   0,   32,  -64,  127],
               [  64,  -32,   16, -127]], dtype=int8)

    Source: aclnnDynamicQuant, V2, V3 and torch_npu.npu_dynamic_quant (hicann/ops-nn
    ``quant/dynamic_quant``, ``quant/dynamic_quant_v2``, Ascend/op-plugin). The device multiplies by
    127 / amax instead of dividing: next to rounding ties its codes may differ by one
    (docs/numerics.md 4).
    """
    return _core.npu_dynamic_quant(
        DynamicQuantResult,
        input,
        smooth_scales,
        group_index,
        dst_type,
        quant_mode,
        dst_type_max,
        out,
        numerics,
    )


def values(
    input: NDArray[Any],
    smooth_scales: NDArray[Any] | None,
    group_index: NDArray[np.int32] | None,
    quant_mode: str,
) -> NDArray[np.float32]:
    """Return ``v``: input by the factors of its elements."""
    v: NDArray[np.float32] = input.astype(np.float32)
    if smooth_scales is None:
        return v
    factors = smooth_scales.astype(np.float32)
    if quant_mode == "perchannel":
        factors = factors[:, None]
    elif group_index is not None:
        rows = np.arange(v[..., 0].size if v.size else 0)
        experts = np.searchsorted(group_index, rows, side="right")
        factors = factors[experts].reshape(v.shape)
    return v * factors


def per_group(quant_mode: str, extreme: Callable[..., Any], initial: float) -> NDArray[np.float32]:
    """Return an extreme of each group, with axes of one element for those that are reduced."""
    axis = {"pertoken": -1, "perchannel": -2, "pertensor": None}[quant_mode]
    return np.asarray(extreme(axis=axis, initial=np.float32(initial), keepdims=True))


def one_per_group(quant_mode: str, values: NDArray[Any]) -> NDArray[np.float32]:
    """Return these without the axes that are reduced."""
    if quant_mode == "pertensor":
        return values.reshape(1)
    return values.squeeze(-1 if quant_mode == "pertoken" else -2)


def greatest_of(format: DType, dst_type_max: float) -> NDArray[np.float32]:
    """Return what amax becomes."""
    return np.asarray(dst_type_max or format.greatest, np.float32)


def reference(
    input: NDArray[Any],
    *,
    smooth_scales: NDArray[Any] | None = None,
    group_index: NDArray[np.int32] | None = None,
    dst_type: DTypeName | None = None,
    quant_mode: str = "pertoken",
    dst_type_max: float = 0.0,
) -> DynamicQuantResult:
    """Compute :func:`npu_dynamic_quant` in plain NumPy: the formula, to the bit, without checks."""
    format = _codes.row_of(dst_type or "int8")
    with np.errstate(all="ignore"):
        v = values(input, smooth_scales, group_index, quant_mode)
        amax = per_group(quant_mode, np.abs(v).max, 0)
        scale = amax / greatest_of(format, dst_type_max)
        scale = np.where(np.isnan(amax), np.float32(np.nan), scale)
        y = _codes.encode(v / scale, format.name)
    return DynamicQuantResult(y, one_per_group(quant_mode, scale))
