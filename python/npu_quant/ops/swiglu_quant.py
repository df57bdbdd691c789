"""npu_swiglu_quant: a gated linear unit, and its codes with one multiplier per row."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from .. import _codes, _core, _glu
from ..arrays import Array
from ..dtypes import DTypeName


class SwigluQuantResult(NamedTuple):
    """What :func:`npu_swiglu_quant` returns; a field is None where ``out`` holds None."""

    y: NDArray[np.int8]
    """Codes, with half of x's last axis; int4 two to an element."""
    scale: NDArray[np.float32]
    """One multiplier per row, of shape ``x.shape[:-1]``; zeros with ``quant_mode=0``."""


def npu_swiglu_quant(
    x: Array,
    *,
    smooth_scales: Array | None = None,
    offsets: Array | None = None,
    group_index: Array | None = None,
    activate_left: bool = False,
    quant_mode: int = 0,
    group_list_type: int = 0,
    dst_type: DTypeName | None = None,
    out: tuple[Array | None, Array | None] | None = None,
    numerics: str | None = None,
) -> SwigluQuantResult:
    """Multiply one half of each row by the swish of the other half, and quantize.

    ::

        a, b     = the second and the first half of the last axis;
                   with activate_left the first and the second
        swish(a) = a / (1 + exp(-a))
        o        = swish(a) * b                     or  swish(a) * b * smooth_scales
        quant_mode 0:  y = rint(o + offsets)        saturated, and scale is 0
        quant_mode 1:  scale = MAX / max |o|        over the row
                       y     = rint(o * scale)      saturated

    **The scale is the multiplier**, MAX / max, where other operators return max / MAX. MAX is 127
    for int8 and 7 for int4. Every operation is one IEEE float32 operation per element, from left to
    right, and exp is correctly rounded (docs/numerics.md 17); 16-bit inputs are widened exactly.

    Args:
        x: float16, bfloat16 (``ml_dtypes.bfloat16``) or float32, of rank 2 to 8. Its last axis is
            even and at most 8192, for int4 a multiple of 4. It may have any strides and be
            unaligned or read-only; so may the arrays below.
        smooth_scales: float32 factors of ``o``, which has H = ``x.shape[-1] // 2`` elements a row:
            ``(G, H)`` or ``(G,)``, H factors or one for each of G groups. For one group, or without
            ``group_index``, also ``(H,)``.
        offsets: float32, added before rounding, of smooth_scales' shape. With ``quant_mode=0`` give
            both smooth_scales and offsets, or neither; with 1 there are no offsets.
        group_index: int32, ``(G,)``: the rows of each group, counted in C order over
            ``x.shape[:-1]``. Rows after the last group are quantized without factors and offsets.
        activate_left: whether ``a`` is the first half.
        quant_mode: 0 adds ``offsets`` and rounds; 1 quantizes with one multiplier per row.
        group_list_type: what ``group_index`` holds: 0, where each group ends; 1, the number of rows
            of each group.
        dst_type: the format of ``y``: int8 (also None) or int4, given as torch_npu's number (258,
            285), torch's number (1, 16), a dtype or a name.
        out: where to write ``(y, scale)``: arrays of exactly the result's shapes and dtypes, with
            any strides and no memory shared with each other or the inputs. None stands for an
            output that is not wanted.
        numerics: the arithmetic profile; None is the current one (:func:`npu_quant.numerics`).

    Returns:
        ``(y, scale)``: int8 ``(..., H)``, or for int4 ``(..., H / 2)``, the first of two codes in
        the low nibble; float32 of shape ``x.shape[:-1]``. ``y / scale[..., None]``, or ``y -
        offsets`` with ``quant_mode=0``, dequantizes to about ``o``.

    Rounding is to nearest, ties to even. Edge cases with ``quant_mode=1``, by row:

    ==========================================  ==========  ==================================
    row                                         scale       y
    ==========================================  ==========  ==================================
    o all zero                                  inf         0: 0 * inf is NaN
    o holds NaN                                 NaN         0 everywhere
    o holds inf or -inf, no NaN                 0           0 everywhere
    MAX / max overflows                         inf         0 for 0, else the least or greatest
    after the last group                        MAX / max   computed without smooth_scales
    no elements                                 inf         empty
    ==========================================  ==========  ==================================

    With ``quant_mode=0`` a NaN gives 0, and an infinite value the least or the greatest code.

    Raises:
        DTypeError: an array is missing (code 161001), is not an ndarray, or has another dtype.
        ParamError: rank, shape, ``out``, an attribute or an entry of ``group_index`` is not
            allowed or not available.
        TypeError: an attribute is of the wrong kind, such as ``activate_left="yes"``.

    Example:
        >>> import numpy as np, npu_quant
        >>> x = np.array([[1, 2, 0, -3]], dtype=np.float32)
        >>> y, scale = npu_quant.npu_swiglu_quant(x, activate_left=True, quant_mode=1)
        >>> y
        array([[   0, -127]], dtype=int8)
        >>> scale
        array([24.031263], dtype=float32)

    Source: aclnnSwiGluQuant, V2 and torch_npu.npu_swiglu_quant (hicann/ops-nn
    ``quant/swi_glu_quant``, Ascend/op-plugin). The device's exp is an approximation.
    """
    return _core.npu_swiglu_quant(
        SwigluQuantResult,
        x,
        smooth_scales,
        offsets,
        group_index,
        activate_left,
        quant_mode,
        group_list_type,
        dst_type,
        out,
        numerics,
    )


def reference(
    x: NDArray[Any],
    *,
    smooth_scales: NDArray[np.float32] | None = None,
    offsets: NDArray[np.float32] | None = None,
    group_index: NDArray[np.int32] | None = None,
    activate_left: bool = False,
    quant_mode: int = 0,
    group_list_type: int = 0,
    dst_type: DTypeName | None = None,
) -> SwigluQuantResult:
    """Compute :func:`npu_swiglu_quant` in plain NumPy: the formula, without checks."""
    format = _codes.row_of("int8" if dst_type is None else dst_type)
    lengths = group_index
    if group_index is not None and group_list_type == 0:
        lengths = np.diff(group_index, prepend=np.int32(0))
    left, right = _glu.halves(x.astype(np.float32))
    a, b = (left, right) if activate_left else (right, left)
    with np.errstate(all="ignore"):
        rows = math.prod(x.shape[:-1])
        o = (_glu.swish(a) * b).reshape(rows, a.shape[-1])
        groups = _glu.Groups(lengths, rows)
        has_none = groups.is_behind[:, None]
        if smooth_scales is not None:
            o = np.where(has_none, o, o * groups.of_rows(smooth_scales))
        if quant_mode == 1:
            scale = np.float32(format.greatest) / _glu.amax(o)
            o = o * scale[:, None]
        else:
            scale = np.zeros(rows, np.float32)
            o = o if offsets is None else np.where(has_none, o, o + groups.of_rows(offsets))
    y = _codes.encode(o.reshape(a.shape), format.name, carrier=np.int8)
    return SwigluQuantResult(y, scale.reshape(x.shape[:-1]))
