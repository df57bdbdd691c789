"""npu_anti_quant: codes and scales back to float16 or bfloat16."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from .. import _codes, _core
from ..arrays import Array
from ..dtypes import DTypeName


def npu_anti_quant(
    x: Array,
    scale: Array,
    *,
    offset: Array | None = None,
    dst_dtype: DTypeName | None = None,
    src_dtype: DTypeName | None = None,
    out: Array | None = None,
    numerics: str | None = None,
) -> NDArray[Any]:
    """Dequantize codes with one scale per tensor or per channel.

    ::

        y = (c + offset) * scale          c: the number that a code stands for

    Sum and product are one IEEE float32 operation each (docs/numerics.md 9); the product is then
    rounded to ``dst_dtype``. Without an offset nothing is added. The offset is *added*: to
    dequantize the codes of :func:`npu_quant.npu_quantize`, pass minus the zero point.

    Args:
        x: int8, float8_e4m3fn or float8_e5m2 (of ``ml_dtypes``); int32 for int4, 8 codes in an
            element, the first in its low nibble; or uint8 for hifloat8. Rank 1 to 8. It may have
            any strides and be unaligned or read-only; so may the arrays below.
        scale: float32, or for integer codes also bfloat16 (``ml_dtypes.bfloat16``). Either 1-D: one
            element, or as many as the result's last axis or the axis before it has; if both axes
            have this length, scale belongs to the last axis. Or of x's rank, with an axis of 1
            everywhere but at one of these two axes, such as ``(16, 1)``. For a 1-D x: one element,
            or as many as the result has. Any sign.
        offset: of scale's dtype and shape; None for no offset.
        dst_dtype: the type of the result: float16 (also None) or bfloat16, given as torch_npu's
            number (5, 15), a dtype or a name.
        src_dtype: the format of the codes in x, given in the same ways: None, or int4 for int32,
            hifloat8 for uint8, and x's dtype otherwise.
        out: an array to write the result into: of exactly its shape and dtype, with any strides and
            no memory shared with the inputs.
        numerics: the arithmetic profile; None is the current one (:func:`npu_quant.numerics`).

    Returns:
        The values, of x's shape; for int4 with 8 times the last axis.

    Rounding is to nearest, ties to even. Edge cases:

    ==========================================  ===================================================
    what                                        y
    ==========================================  ===================================================
    beyond dst_dtype's range                    inf or -inf: float16 ends at 65504, from 65520 on
                                                values are inf
    below dst_dtype's normal range              subnormal, or 0 with the sign of the product
    x + offset is 0                             0 with scale's sign; NaN if scale is infinite
    scale 0 or -0.0                             0 with the sign of the product
    scale negative                              by the formula
    scale infinite                              inf or -inf, by the signs
    offset infinite                             inf or -inf, by the signs; NaN if scale is 0
    NaN in scale or offset                      NaN
    codes of NaN: hifloat8 80, float8_e4m3fn    NaN
    7F and FF, float8_e5m2 7D to 7F, FD to FF
    codes of inf: hifloat8 6F, EF,              by the formula
    float8_e5m2 7C, FC
    float8 -0, no offset                        0 with the sign of the product
    sum or product next to a rounding tie       rounded to float32 first, so perhaps onto the tie
    1-D scale whose length fits both axes       it belongs to the last axis
    no elements                                 empty; the rules for scale and offset hold
    ==========================================  ===================================================

    Raises:
        DTypeError: an array is missing (code 161001), is not an ndarray, or has another dtype.
        ParamError: rank, shape, ``out`` or an attribute is not allowed or not available.
        TypeError: an attribute is of the wrong kind, such as ``dst_dtype=1.5``.

    Example:
        >>> import numpy as np, npu_quant
        >>> x = np.array([[0, 1, -2, 127], [4, 5, 6, -128]], dtype=np.int8)
        >>> scale = np.array([0.5, 0.25], dtype=np.float32)
        >>> npu_quant.npu_anti_quant(x, scale)
        array([[  0.  ,   0.5 ,  -1.  ,  63.5 ],
               [  1.  ,   1.25,   1.5 , -32.  ]], dtype=float16)
        >>> npu_quant.npu_anti_quant(x[0], scale[:1], offset=np.float32([3]), dst_dtype="bfloat16")
        array([1.5, 2, 0.5, 65], dtype=bfloat16)
        >>> codes = np.array([0x08, 0x1C, 0x8C, 0x27], dtype=np.uint8)  # 1, 0.75, -1.5, 7.5
        >>> npu_quant.npu_anti_quant(codes, scale[:1], src_dtype=npu_quant.hifloat8)
        array([ 0.5  ,  0.375, -0.75 ,  3.75 ], dtype=float16)

    Source: torch_npu.npu_anti_quant (Ascend/op-plugin), which calls aclnnAscendAntiQuant
    (hicann/ops-nn ``quant/ascend_anti_quant_v2``).
    """
    return _core.npu_anti_quant(x, scale, offset, dst_dtype, src_dtype, out, numerics)


def reference(
    x: NDArray[Any],
    scale: NDArray[Any],
    *,
    offset: NDArray[Any] | None = None,
    dst_dtype: DTypeName | None = None,
    src_dtype: DTypeName | None = None,
) -> NDArray[Any]:
    """Compute :func:`npu_anti_quant` in plain NumPy: the formula, to the bit, without checks."""
    to = _codes.row_of("float16" if dst_dtype is None else dst_dtype).numpy
    packed = {np.dtype(np.int32): "int4", np.dtype(np.uint8): "hifloat8"}
    v = _codes.decode(x, packed.get(x.dtype, x.dtype))

    def along_axis(a: NDArray[Any]) -> NDArray[np.float32]:
        is_column = a.ndim == 1 < v.ndim and a.size not in (1, v.shape[-1])
        return a.astype(np.float32)[:, None] if is_column else a.astype(np.float32)

    with np.errstate(all="ignore"):
        if offset is not None:
            v = v + along_axis(offset)
        return (v * along_axis(scale)).astype(to)
