"""npu_dequant_swiglu_quant: dequantized sums, a gated linear unit, and its codes."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from .. import _codes, _core, _glu
from ..arrays import Array
from ..dtypes import DTypeName

ROUND_MODES = ("rint", "round", "floor", "ceil", "trunc")


class DequantSwigluQuantResult(NamedTuple):
    """What :func:`npu_dequant_swiglu_quant` returns; a field is None where ``out`` holds None."""

    y: NDArray[Any]
    """Codes, with half of x's last axis; float4 two to an element."""
    scale: NDArray[np.float32]
    """float32, one per row, of shape ``x.shape[:-1]``; zeros with ``quant_mode=0``."""


def npu_dequant_swiglu_quant(
    x: Array,
    *,
    weight_scale: Array | None = None,
    activation_scale: Array | None = None,
    bias: Array | None = None,
    quant_scale: Array | None = None,
    quant_offset: Array | None = None,
    group_index: Array | None = None,
    activate_left: bool = False,
    quant_mode: int = 0,
    dst_type: DTypeName | None = None,
    round_mode: int | None = None,
    activate_dim: int | None = None,
    swiglu_mode: int = 0,
    clamp_limit: float = 7.0,
    glu_alpha: float = 1.702,
    glu_bias: float = 1.0,
    out: tuple[Array | None, Array | None] | None = None,
    numerics: str | None = None,
) -> DequantSwigluQuantResult:
    """Dequantize int32 sums, multiply one half by the swish of the other half, and quantize.

    ::

        v      = x                                   or, of int32
                 x * weight_scale * activation_scale + bias
        mode 0:  a, b = the second and the first half of the last axis;
                       with activate_left the first and the second
                 o    = a / (1 + exp(-a)) * b
        mode 1:  a, b = the even elements and the odd ones;    mode 2: the halves
                 a, b = min(a, L), max(min(b, L), -L)          L is clamp_limit, NaN stays
                 o    = a / (1 + exp(-glu_alpha * a)) * (b + glu_bias)
        quant_mode 0:  y = code(o / quant_scale + quant_offset), and scale is 0
        quant_mode 1:  t = o                         or  o * quant_scale
                       scale = max |t| / MAX         over the row
                       y     = code(t / scale)       the nearest of dst_type, saturated

    Every operation is one IEEE float32 operation per element, from left to right, and exp is
    correctly rounded (docs/numerics.md 17). An int32 bias is added to ``x`` first, modulo 2^32; the
    sum is rounded to float32 once. An argument that is not given is left out of the formula.

    Args:
        x: int32, float16 or bfloat16 (``ml_dtypes.bfloat16``), of rank 2 to 8. Its last axis has 2H
            elements: an even number, for float4 a multiple of 4. It may have any strides and be
            unaligned or read-only; so may the arrays below.
        weight_scale: float32, ``(G, 2H)``, a row for each group, or ``(2H,)`` for one group. An
            int32 x requires it; float16 and bfloat16 x take none of weight_scale, activation_scale
            and bias.
        activation_scale: float32, one element for each row of ``x``.
        bias: int32, float32, float16 or bfloat16, with the shapes of weight_scale.
        quant_scale: float32, ``(G, H)`` or ``(G,)``: H elements or one for each of G groups. For
            one group, or without ``group_index``, also ``(H,)``. With ``quant_mode=0`` it divides,
            with 1 it multiplies.
        quant_offset: float32, added before rounding, with the shapes of quant_scale; only with
            ``quant_mode=0``.
        group_index: int64, ``(G,)``: the number of rows of each group, counted in C order over
            ``x.shape[:-1]``. Rows after the last group give results of 0.
        activate_left: whether ``a`` is the first half; it has no effect in mode 1.
        quant_mode: 0 quantizes with ``quant_scale``, 1 with one scale per row.
        dst_type: the format of ``y``: int8 (also None), hifloat8, float8_e5m2, float8_e4m3fn,
            float4_e2m1 or float4_e1m2, given as torch_npu's number (258, 290, 291, 292, 296, 297),
            torch's number, a dtype or a name. MAX is 127, 32768, 57344, 448, 6 and 1.75.
            :func:`npu_quant.npu_dtype_cast` says how arrays hold the codes.
        round_mode: 0 (also None): to nearest, ties to even; 1: to nearest, ties away from zero; 2:
            down; 3: up; 4: towards zero. float4 takes all of them, hifloat8 only 1, other formats
            only 0.
        activate_dim: the last axis, -1 or None.
        swiglu_mode: the mode, 0, 1 or 2.
        clamp_limit: L of modes 1 and 2: finite and above 0. Like glu_alpha and glu_bias, it is
            rounded to float32 first.
        glu_alpha: any number that is finite in float32.
        glu_bias: any number that is finite in float32.
        out: where to write ``(y, scale)``: arrays of exactly the result's shapes and dtypes, with
            any strides and no memory shared with each other or the inputs. None stands for an
            output that is not wanted.
        numerics: the arithmetic profile; None is the current one (:func:`npu_quant.numerics`).

    Returns:
        ``(y, scale)``: codes ``(..., H)``, for float4 bytes ``(..., H / 2)``, the first code in the
        low nibble; float32 of shape ``x.shape[:-1]``. ``y * scale[..., None]`` dequantizes to about
        ``t``; with ``quant_mode=0``, ``(y - quant_offset) * quant_scale`` dequantizes to about
        ``o``.

    Rounding follows ``round_mode``; values beyond a format's range saturate. Edge cases with
    ``quant_mode=1``, by row:

    =============================================  =======  ======================================
    row                                            scale    y
    =============================================  =======  ======================================
    t all zero                                     0        0
    t holds NaN                                    NaN      0 everywhere
    t holds inf or -inf, no NaN                    inf      0; in float8 and float4 finite values
                                                            keep their sign
    max / MAX underflows to 0                      0        0 for 0, else the greatest or the least
    after the last group                           0        0, every byte
    no elements                                    0        empty
    =============================================  =======  ======================================

    With ``quant_mode=0`` a NaN gives 0, and a quant_scale of 0 follows the formula.

    Raises:
        DTypeError: an array is missing (code 161001), is not an ndarray, or has another dtype;
            ``weight_scale`` is None for int32 (161002).
        ParamError: rank, shape, ``out``, an attribute or an entry of ``group_index`` is not
            allowed or not available.
        TypeError: an attribute is of the wrong kind, such as ``quant_mode="dynamic"``.

    Example:
        >>> import numpy as np, npu_quant
        >>> x = np.array([[10, -20, 5, 40]], dtype=np.int32)
        >>> weight_scale = np.array([0.1, 0.1, 0.2, 0.05], dtype=np.float32)
        >>> activation_scale = np.ones(1, dtype=np.float32)
        >>> y, scale = npu_quant.npu_dequant_swiglu_quant(
        ...     x,
        ...     weight_scale=weight_scale,
        ...     activation_scale=activation_scale,
        ...     activate_left=True,
        ...     quant_mode=1,
        ... )
        >>> y
        array([[127, -83]], dtype=int8)
        >>> scale
        array([0.00575637], dtype=float32)

    Source: aclnnDequantSwigluQuant, V2 and torch_npu.npu_dequant_swiglu_quant (hicann/ops-nn
    ``quant/dequant_swiglu_quant``, Ascend/op-plugin). The device's exp is an approximation, and its
    scale is ``max * (1 / 127)``; it inverts a quant_scale of one element first, and treats 0 as 1.
    vllm-ascend's binding of the same kernel has other defaults, such as activate_left=True.
    """
    return _core.npu_dequant_swiglu_quant(
        DequantSwigluQuantResult,
        x,
        weight_scale,
        activation_scale,
        bias,
        quant_scale,
        quant_offset,
        group_index,
        activate_left,
        quant_mode,
        dst_type,
        round_mode,
        activate_dim,
        swiglu_mode,
        clamp_limit,
        glu_alpha,
        glu_bias,
        out,
        numerics,
    )


def _dequantized(
    x: NDArray[Any],
    groups: _glu.Groups,
    weight_scale: NDArray[np.float32],
    activation_scale: NDArray[np.float32] | None,
    bias: NDArray[Any] | None,
) -> NDArray[np.float32]:
    own = None if bias is None else groups.of_rows(bias)
    is_whole = own is not None and own.dtype == np.int32
    v = (x + own if is_whole else x).astype(np.float32) * groups.of_rows(weight_scale)
    if activation_scale is not None:
        v = v * activation_scale.reshape(-1, 1)
    return v if own is None or is_whole else np.asarray(v + own.astype(np.float32))


def _gated(
    v: NDArray[np.float32],
    activate_left: bool,
    swiglu_mode: int,
    limit: np.float32,
    alpha: np.float32,
    bias: np.float32,
) -> NDArray[np.float32]:
    pair = [v[:, ::2], v[:, 1::2]] if swiglu_mode == 1 else _glu.halves(v)
    a, b = pair if activate_left or swiglu_mode == 1 else pair[::-1]
    if swiglu_mode == 0:
        return np.asarray(_glu.swish(a) * b)
    a, b = np.minimum(a, limit), np.maximum(np.minimum(b, limit), -limit)
    return np.asarray(_glu.swish(a, alpha) * (b + bias))


def reference(
    x: NDArray[Any],
    *,
    weight_scale: NDArray[np.float32] | None = None,
    activation_scale: NDArray[np.float32] | None = None,
    bias: NDArray[Any] | None = None,
    quant_scale: NDArray[np.float32] | None = None,
    quant_offset: NDArray[np.float32] | None = None,
    group_index: NDArray[np.int64] | None = None,
    activate_left: bool = False,
    quant_mode: int = 0,
    dst_type: DTypeName | None = None,
    round_mode: int | None = None,
    activate_dim: int | None = None,
    swiglu_mode: int = 0,
    clamp_limit: float = 7.0,
    glu_alpha: float = 1.702,
    glu_bias: float = 1.0,
) -> DequantSwigluQuantResult:
    """Compute :func:`npu_dequant_swiglu_quant` in plain NumPy: the formula, without checks."""
    format = _codes.row_of("int8" if dst_type is None else dst_type)
    rows = math.prod(x.shape[:-1])
    groups, v = _glu.Groups(group_index, rows), x.reshape(rows, x.shape[-1])
    with np.errstate(all="ignore"):
        if weight_scale is not None:
            v = _dequantized(v, groups, weight_scale, activation_scale, bias)
        limits = (np.float32(clamp_limit), np.float32(glu_alpha), np.float32(glu_bias))
        o = _gated(v.astype(np.float32), activate_left, swiglu_mode, *limits)
        scale = np.zeros(rows, np.float32)
        if quant_mode == 1:
            o = o if quant_scale is None else o * groups.of_rows(quant_scale)
            scale = np.where(groups.is_behind, scale, _glu.amax(o) / np.float32(format.greatest))
            o = o / scale[:, None]
        else:
            o = o if quant_scale is None else o / groups.of_rows(quant_scale)
            o = o if quant_offset is None else o + groups.of_rows(quant_offset)
    o = np.where(groups.is_behind[:, None], np.float32(0), o).reshape(*x.shape[:-1], o.shape[1])
    y = _codes.encode(o, format.name, ROUND_MODES[round_mode or 0])
    return DequantSwigluQuantResult(y, scale.reshape(x.shape[:-1]))
