"""npu_dynamic_mx_quant: codes and a power of two per block along an axis."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from .. import _core, _mx
from ..arrays import Array
from ..dtypes import DTypeName


class DynamicMxQuantResult(NamedTuple):
    """What :func:`npu_dynamic_mx_quant` returns; a field is None where ``out`` holds None."""

    y: NDArray[Any]
    """Codes, of input's shape; float4 has half the last axis."""
    mxscale: NDArray[np.uint8]
    """E8M0 bytes, uint8: the axis becomes ceil(blocks / 2), and a last axis of 2 is added."""


def npu_dynamic_mx_quant(
    input: Array,
    *,
    axis: int = -1,
    round_mode: str = "rint",
    dst_type: DTypeName = 296,
    block_size: int = 32,
    scale_alg: int | None = 0,
    dst_type_max: float | None = 0.0,
    max_low_bound: float = 0.0,
    out: tuple[Array | None, Array | None] | None = None,
    numerics: str | None = None,
) -> DynamicMxQuantResult:
    """Quantize with one power-of-two scale per block along an axis (MX).

    ::

        amax = max |x| over the block
        b    = floor(log2(amax)) - emax + 127, at least 0                          scale_alg 0
               the least byte with max(amax, max_low_bound) <= top * 2^(b - 127)   scale_alg 1
               the least byte with amax <= dst_type_max * 2^(b - 127)              scale_alg 2
        y    = code(x * 2^(127 - b))                   the nearest of dst_type, saturated

    The byte b is exact, and the product is one float32 operation (docs/numerics.md 14); 16-bit
    inputs are widened exactly. The last block along the axis may be shorter.

    =====================  ===========================  ====  =====  =========  ===============
    dst_type               y                            emax  top    scale_alg  round_mode
    =====================  ===========================  ====  =====  =========  ===============
    float8_e4m3fn (292)    ml_dtypes' type              8     448    0, 1       rint
    float8_e5m2 (291)      ml_dtypes' type              15    57344  0, 1       rint
    float4_e2m1 (296)      uint8, 2 codes in a byte:    2     6      0, 2       rint, round,
                           the first is its low nibble                          floor
    float4_e1m2 (297)      the same                     0     1.75   0          the same
    =====================  ===========================  ====  =====  =========  ===============

    Args:
        input: float16, bfloat16 (``ml_dtypes.bfloat16``) or float32, of rank 1 to 7. It may have
            any strides and be unaligned or read-only. For float4 its last axis is even.
        axis: the axis along which the blocks lie.
        round_mode: ``"rint"``: ties go to the even code; ``"round"``: away from zero; ``"floor"``:
            to the next code below, so that -0.3 becomes -0.5.
        dst_type: the format of the codes, one from the table: torch_npu's number there, torch's
            number (23, 24, 45), a dtype or a name.
        block_size: the number of elements of a block: a multiple of 32, at most 1024; 32 with
            ``scale_alg=2``.
        scale_alg: how the scale's byte b is computed, see the formula. None means 0.
        dst_type_max: for ``scale_alg=2``, the limit of amax / scale: 6 to 12; codes still end at
            +-6. 0 or None means 6. Rounded to float32.
        max_low_bound: for ``scale_alg=1``, a lower bound of amax: a block with a smaller amax gets
            the byte of a block with this amax. Rounded to float32; negative, NaN or infinite is an
            error.
        out: where to write ``(y, mxscale)``: arrays of exactly the result's shapes and dtypes, with
            any strides and no memory shared with each other or input. None stands for an output
            that is not wanted.
        numerics: the arithmetic profile; None is the current one (:func:`npu_quant.numerics`).

    Returns:
        ``(y, mxscale)``: ``y`` has input's shape; float4 has half the last axis, whichever axis the
        blocks lie along. ``mxscale`` is uint8: ``axis``, with ``nb`` blocks, becomes ``ceil(nb /
        2)``, and a last axis of 2 is added. ``mxscale[..., p, ..., j]`` is the byte of block ``2 p
        + j``, or 0 if there is no such block. Byte b stands for ``2**(b - 127)``, and 255 for NaN.
        Code times that number dequantizes to about ``input``: :func:`npu_anti_mx_quant` does so for
        blocks of 32. For blocks of any size, with float8 codes along the last axis of n elements,
        write ``y.astype(np.float32) * np.repeat(2.0**(mxscale.reshape(*y.shape[:-1], -1) - 127.0),
        block_size, axis=-1)[..., :n]``.

    Rounding happens once per code, to the product, by ``round_mode``. Edge cases, by block:

    =======================================  ======  ==========================================
    block                                    byte    y
    =======================================  ======  ==========================================
    all zero, of any sign                    0       0, or -0 as the element
    all zero, with max_low_bound             that b  the same
    holds NaN, inf or -inf                   255     +0 everywhere
    amax so small that the byte is 0         0       by the formula: the code of x * 2^127
    else: a value that rounds to 0           b       -0 (80; float4: 8) if it is negative
    value beyond top, scale_alg 0 or 2       b       top: 448 of 500 in float8_e4m3fn
    the last of an odd number                b       the byte beside it in mxscale is 0
    empty: ``(m, 0)``                        none    empty; mxscale is ``(m, 0, 2)``
    =======================================  ======  ==========================================

    Raises:
        DTypeError: ``input`` is missing (code 161001), is not an ndarray, or has another dtype.
        ParamError: rank, ``out``, the last axis or an attribute is not allowed or not available.
        TypeError: an attribute is of the wrong kind, such as ``block_size="a"``.

    Example:
        >>> import numpy as np, npu_quant
        >>> x = np.array([[1, -2.5, 0.1, 7, 0.3, -0.7, 3.3, -5]], dtype=np.float32)
        >>> y, mxscale = npu_quant.npu_dynamic_mx_quant(x)
        >>> [f"{byte:02X}" for byte in y[0]], mxscale
        (['C2', '70', '91', 'E5'], array([[[127,   0]]], dtype=uint8))
        >>> weight = np.ones((256, 384), dtype=np.float16)
        >>> y, mxscale = npu_quant.npu_dynamic_mx_quant(weight, axis=-2, dst_type="float8_e4m3fn")
        >>> y.dtype.name, float(y[0, 0]), mxscale.shape, int(mxscale[0, 0, 0])
        ('float8_e4m3fn', 256.0, (4, 384, 2), 119)

    Source: torch_npu.npu_dynamic_mx_quant (hicann/ops-nn ``quant/dynamic_mx_quant``,
    Ascend/op-plugin). Where the byte is 0 and amax is not, its kernel gives zeros with scale_alg 0,
    and mostly with 2; its document, and this function, do not.
    """
    return _core.npu_dynamic_mx_quant(
        DynamicMxQuantResult,
        input,
        axis,
        round_mode,
        dst_type,
        block_size,
        scale_alg,
        dst_type_max,
        max_low_bound,
        out,
        numerics,
    )


def reference(
    input: NDArray[Any],
    *,
    axis: int = -1,
    round_mode: str = "rint",
    dst_type: DTypeName = 296,
    block_size: int = 32,
    scale_alg: int | None = 0,
    dst_type_max: float | None = 0.0,
    max_low_bound: float = 0.0,
) -> DynamicMxQuantResult:
    """Compute :func:`npu_dynamic_mx_quant` in plain NumPy: the formula, without checks."""
    rule = (scale_alg, dst_type_max, max_low_bound)
    return DynamicMxQuantResult(
        *_mx.quantized(input, axis, round_mode, dst_type, *rule, block=block_size)
    )
