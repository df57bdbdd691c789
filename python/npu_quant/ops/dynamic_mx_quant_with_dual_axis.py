"""npu_dynamic_mx_quant_with_dual_axis: codes and scales of blocks along each of two axes."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from .. import _core, _mx
from ..arrays import Array
from ..dtypes import DTypeName


class DynamicMxQuantWithDualAxisResult(NamedTuple):
    """What :func:`npu_dynamic_mx_quant_with_dual_axis` returns; None where ``out`` holds None."""

    y1: NDArray[Any]
    """Codes of blocks along the last axis, of input's shape; float4 has half the last axis."""
    mxscale1: NDArray[np.uint8]
    """Scales of y1: input's shape with the last axis n replaced by ceil(ceil(n / 32) / 2), 2."""
    y2: NDArray[Any]
    """Codes of blocks along the axis before the last, of y1's shape."""
    mxscale2: NDArray[np.uint8]
    """Scales of y2: input's shape with that axis m as ceil(ceil(m / 32) / 2), and a last 2."""


def npu_dynamic_mx_quant_with_dual_axis(
    input: Array,
    *,
    round_mode: str = "rint",
    dst_type: DTypeName = 296,
    scale_alg: int | None = 0,
    dst_type_max: float | None = 0.0,
    out: tuple[Array | None, Array | None, Array | None, Array | None] | None = None,
    numerics: str | None = None,
) -> DynamicMxQuantWithDualAxisResult:
    """Quantize twice: in blocks of 32 along the last axis, and along the axis before it (MX).

    In training, a matrix is multiplied from the left and from the right; both need codes::

        y1, mxscale1 = npu_dynamic_mx_quant(input, axis=-1, ...)
        y2, mxscale2 = npu_dynamic_mx_quant(input, axis=-2, ...)

    The results are the same bits (docs/numerics.md 14). :func:`npu_dynamic_mx_quant` documents the
    formula, the formats and their attributes.

    Args:
        input: float16, bfloat16 (``ml_dtypes.bfloat16``) or float32, of rank 2 to 7. It may have
            any strides and be unaligned or read-only. For float4 its last axis is even.
        round_mode: ``"rint"``; for float4 ``"round"`` or ``"floor"``, too.
        dst_type: the format of the codes: float8_e4m3fn (292), float8_e5m2 (291), float4_e2m1 (296)
            or float4_e1m2 (297), given as torch_npu's number, torch's number (23, 24, 45), a dtype
            or a name.
        scale_alg: how the scales' bytes are computed: 0 or 1 for float8, 0 or 2 for float4_e2m1, 0
            for float4_e1m2. None means 0.
        dst_type_max: for ``scale_alg=2``, the limit of amax / scale: 6 to 12. 0 or None means 6.
        out: where to write ``(y1, mxscale1, y2, mxscale2)``: arrays of exactly the result's shapes
            and dtypes, with any strides and no memory shared with each other or input. None stands
            for an output that is not wanted; without y1 and mxscale1 nothing is computed along the
            last axis.
        numerics: the arithmetic profile; None is the current one (:func:`npu_quant.numerics`).

    Returns:
        ``(y1, mxscale1, y2, mxscale2)``, for input of shape ``(..., m, n)``: ``y1`` and ``y2`` have
        that shape, in float4 ``(..., m, n / 2)``. The scales are uint8: ``mxscale1`` of shape
        ``(..., m, ceil(ceil(n / 32) / 2), 2)``, ``mxscale2`` of shape ``(..., ceil(ceil(m / 32) /
        2), n, 2)``. Byte b stands for ``2**(b - 127)``, and 255 for NaN.

    Rounding happens once per code, to the product, by ``round_mode``. Edge cases, by block:

    =======================================  ====================================================
    what                                     becomes
    =======================================  ====================================================
    an element that is NaN or an infinity    byte 255 and +0 in its block of a row in y1, and in
                                             its block of a column in y2; no other block changes
    the last of an odd number of blocks      the byte beside it in mxscale1, or mxscale2, is 0
    float4 along the axis before the last    two codes of a row share a byte of y2, as of y1
    ``(m, 0)`` or ``(0, n)``                 empty codes; mxscale1 ``(m, 0, 2)``, ``(0, p, 2)``
    anything else                            as in the table of :func:`npu_dynamic_mx_quant`
    =======================================  ====================================================

    Raises:
        DTypeError: ``input`` is missing (code 161001), is not an ndarray, or has another dtype.
        ParamError: rank, ``out``, the last axis or an attribute is not allowed or not available.
        TypeError: an attribute is of the wrong kind, such as ``scale_alg="a"``.

    Example:
        >>> import numpy as np, npu_quant
        >>> x = np.array([[1, -2], [3, 6]], dtype=np.float32)
        >>> y1, mxscale1, y2, mxscale2 = npu_quant.npu_dynamic_mx_quant_with_dual_axis(
        ...     x, dst_type="float8_e4m3fn"
        ... )
        >>> y1.astype(int).tolist(), mxscale1.tolist()
        ([[128, -256], [192, 384]], [[[120, 0]], [[121, 0]]])
        >>> y2.astype(int).tolist(), mxscale2.tolist()
        ([[128, -128], [384, 384]], [[[120, 0], [121, 0]]])

    Source: torch_npu.npu_dynamic_mx_quant_with_dual_axis (hicann/ops-nn
    ``quant/dynamic_mx_quant_with_dual_axis``, Ascend/op-plugin). Its kernel gives zeros where amax
    is subnormal; its document, and this function, do not.
    """
    return _core.npu_dynamic_mx_quant_with_dual_axis(
        DynamicMxQuantWithDualAxisResult,
        input,
        round_mode,
        dst_type,
        scale_alg,
        dst_type_max,
        out,
        numerics,
    )


def reference(
    input: NDArray[Any],
    *,
    round_mode: str = "rint",
    dst_type: DTypeName = 296,
    scale_alg: int | None = 0,
    dst_type_max: float | None = 0.0,
) -> DynamicMxQuantWithDualAxisResult:
    """Compute :func:`npu_dynamic_mx_quant_with_dual_axis` in plain NumPy, without checks."""
    last, other = (
        _mx.quantized(input, axis, round_mode, dst_type, scale_alg, dst_type_max)
        for axis in (-1, -2)
    )
    return DynamicMxQuantWithDualAxisResult(*last, *other)
