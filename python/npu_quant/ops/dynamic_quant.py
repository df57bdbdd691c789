"""npu_dynamic_quant: int8 codes and one scale per token."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from .. import _core
from ..arrays import Array
from ..dtypes import DTypeName


class DynamicQuantResult(NamedTuple):
    """What :func:`npu_dynamic_quant` returns; a field is None where ``out`` holds None."""

    y: NDArray[np.int8]
    """int8 codes, of input's shape."""
    scale: NDArray[np.float32]
    """float32, of input's shape without its last axis."""


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
    """Quantize each token (row) symmetrically to int8, with a scale of its own.

    ::

        v     = input                     or  input * smooth_scales
        amax  = max |v| over the last axis
        scale = amax / 127
        y     = round(v / scale)          saturated to [-128, 127]

    Every line is one IEEE float32 operation per element (docs/numerics.md 2); 16-bit inputs are
    widened exactly.

    Args:
        input: float16, bfloat16 (``ml_dtypes.bfloat16``) or float32 (an extension: the device takes
            16-bit types), of rank 2 to 8. Any strides, unaligned and read-only arrays included.
        smooth_scales: factors for the last axis, of shape ``(input.shape[-1],)`` and input's dtype.
        group_index: not available yet; must be None.
        dst_type: the type of ``y``: None or int8, as torch_npu's code (1), dtype or name.
        quant_mode: ``"pertoken"``.
        dst_type_max: 0.0.
        out: where to write ``(y, scale)``: arrays of exactly the result's shapes and dtypes, any
            strides, apart from each other and the inputs, such as an earlier result; None for one
            that is not wanted. After Ctrl-C it holds some new elements and some old ones.
        numerics: the arithmetic profile, by default the current one
            (:func:`npu_quant.numerics`).

    Returns:
        ``(y, scale)``: int8 of input's shape, float32 of ``input.shape[:-1]``. The way back to
        about ``v`` is ``y * scale[..., None]``.

    Rounding is to nearest, ties to even. Rows out of the ordinary:

    =============================================  =======  ==============================
    row                                            scale    y
    =============================================  =======  ==============================
    all zero                                       0        0
    holds NaN (or 0 * inf with smooth_scales)      NaN      0 everywhere
    holds inf or -inf, no NaN                      inf      0 everywhere
    so small that amax / 127 underflows to 0       0        0 for 0, else 127 or -128
    empty (``input.shape[-1] == 0``)               0        empty
    =============================================  =======  ==============================

    Raises:
        DTypeError: an array is missing (code 161001), is no ndarray, or has another dtype.
        ParamError: rank, shape, ``out`` or an attribute is not allowed or not available.
        TypeError: an attribute is of the wrong kind, such as ``quant_mode=0``.
        MemoryError: no memory for the results.

    Example:
        >>> import numpy as np, npu_quant
        >>> x = np.array([[0, 1, -2, 4], [3, -1.5, 0.75, -3]], dtype=np.float16)
        >>> y, scale = npu_quant.npu_dynamic_quant(x)
        >>> y
        array([[   0,   32,  -64,  127],
               [ 127,  -64,   32, -127]], dtype=int8)
        >>> scale
        array([0.03149606, 0.02362205], dtype=float32)

    Source: aclnnDynamicQuant and torch_npu.npu_dynamic_quant (hicann/ops-nn
    ``quant/dynamic_quant``, Ascend/op-plugin). The device multiplies by 127 / amax instead of
    dividing: next to rounding ties its codes may differ by one (docs/numerics.md 4).
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


def reference(
    input: NDArray[Any], *, smooth_scales: NDArray[Any] | None = None
) -> DynamicQuantResult:
    """Compute :func:`npu_dynamic_quant` in plain NumPy: the formula, to the bit, without checks."""
    with np.errstate(all="ignore"):
        v = input.astype(np.float32)
        if smooth_scales is not None:
            v = v * smooth_scales.astype(np.float32)
        amax = np.abs(v).max(axis=-1, initial=0)
        scale = np.where(np.isnan(amax), np.float32(np.nan), amax / np.float32(127))
        q = np.rint(v / scale[..., None])
        y = np.where(np.isnan(q), 0, np.clip(q, -128, 127)).astype(np.int8)
    return DynamicQuantResult(y, scale)
