"""npu_convert_weight_to_int4pack: 4-bit codes packed, eight to an element."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from .. import _codes, _core
from ..arrays import Array


def npu_convert_weight_to_int4pack(
    weight: Array,
    inner_k_tiles: int = 0,
    *,
    out: Array | None = None,
    numerics: str | None = None,
) -> NDArray[Any]:
    """Pack codes of int4 or float4_e2m1: from one code per element to eight per element.

    ::

        y_i = code_0 | code_1 << 4 | ... | code_7 << 28      weight's elements 8 i to 8 i + 7

    The code of an int32 is its low 4 bits. The code of a float32 is the code of the float4_e2m1
    number with the same first 10 bits: 0, 0.5, 1, 1.5, 2, 3, 4, 6 have the codes 0 to 7, and
    negative numbers have 8 more (docs/numerics.md 16). :func:`npu_quant.formats.unpack_int4` undoes
    it.

    Args:
        weight: int32 or float32, of rank 2 or 3, without an axis of length 0; the last axis is a
            multiple of 8. It may have any strides and be unaligned or read-only.
        inner_k_tiles: torch_npu's argument; it has no effect.
        out: an array to write the result into: of exactly its shape and dtype, with any strides and
            no memory shared with weight.
        numerics: the arithmetic profile; None is the current one (:func:`npu_quant.numerics`).

    Returns:
        An array of weight's dtype and shape, with an eighth of the last axis. A float32 result only
        carries the bits of the codes, and some of its elements are NaN: pass it on, but do not
        compute with it.

    Rounding does not take place. Edge cases:

    ==========================================  ===================================================
    what                                        code
    ==========================================  ===================================================
    int32 beyond -8 to 7                        the low 4 bits all the same: 8 becomes -8
    float32 -0.0                                8
    a float32 between these numbers             that of the same first 10 bits, such as 6 for 7.5;
                                                0 if no number has them, as for 0.75 and 8
    float32 infinite, NaN                       0
    float32 subnormal                           0 below 2^-127, with the sign; 0 above
    inner_k_tiles                               the same, whatever it is
    ==========================================  ===================================================

    Raises:
        DTypeError: weight is missing (code 161001), is not an ndarray, or has another dtype.
        ParamError: rank, shape or ``out`` is not allowed.
        TypeError: inner_k_tiles is no int.

    Example:
        >>> import numpy as np, npu_quant
        >>> weight = np.arange(-8, 8, dtype=np.int32).reshape(2, 8)
        >>> y = npu_quant.npu_convert_weight_to_int4pack(weight)
        >>> [hex(word) for word in y.view(np.uint32)[:, 0]]
        ['0xfedcba98', '0x76543210']
        >>> (npu_quant.formats.unpack_int4(y) == weight).all()
        np.True_

    Source: torch_npu.npu_convert_weight_to_int4pack (Ascend/op-plugin), which calls
    aclnnConvertWeightToINT4Pack (hicann/ops-nn ``matmul/convert_weight_to_int4_pack``). The C
    function also returns the layout FRACTAL_NZ, which NumPy does not have.
    """
    return _core.npu_convert_weight_to_int4pack(weight, inner_k_tiles, out, numerics)


def reference(weight: NDArray[Any], inner_k_tiles: int = 0) -> NDArray[Any]:
    """Compute :func:`npu_convert_weight_to_int4pack` in plain NumPy: the same, to the bit."""
    if weight.dtype == np.int32:
        return _codes.packed(weight & 15, np.int32)
    kept = np.ascontiguousarray(weight).view(np.uint32) & 0xFFC00000
    numbers = _codes.values_of("float4_e2m1").view(np.uint32)
    codes = np.zeros(weight.shape, np.uint8)
    for code, number in enumerate(numbers):
        codes[kept == number] = code
    return _codes.packed(codes, np.float32)
