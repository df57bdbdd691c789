"""npu_moe_init_routing_v2: tokens sorted by expert, quantized or as they are."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from .. import _codes, _core
from ..arrays import Array
from ..dtypes import DTypeName


class MoeInitRoutingV2Result(NamedTuple):
    """The rows of the experts, the places and numbers of these rows, and their scales."""

    expanded_x: NDArray[Any]
    expanded_row_idx: NDArray[np.int32]
    expert_tokens_count_or_cumsum: NDArray[np.int64]
    expanded_scale: NDArray[Any]


def npu_moe_init_routing_v2(
    x: Array,
    expert_idx: Array,
    *,
    scale: Array | None = None,
    offset: Array | None = None,
    active_num: int = -1,
    expert_capacity: int = -1,
    expert_num: int = -1,
    drop_pad_mode: int = 0,
    expert_tokens_num_type: int = 0,
    expert_tokens_num_flag: bool = False,
    quant_mode: int = -1,
    active_expert_range: Sequence[int] = [],
    row_idx_type: int = 0,
    x_dtype: DTypeName | None = None,
    out: tuple[Array | None, ...] | None = None,
    numerics: str | None = None,
) -> MoeInitRoutingV2Result:
    """Route each token to its experts: sort rows by expert, and quantize them if asked to.

    ::

        order = stable argsort of expert_idx.ravel()     only experts in [start, end)
        slot i has token order[i] // K                   R tokens, each sent to K experts

        quant_mode    expanded_x                         expanded_scale
        -1            the row, bit for bit               scale's row, else 0
        0             code(x * scale + offset)           0
        1, 13         code(t / s)                        s = max |t| / 127, or / 7

    where t is x, or ``x * scale[g]`` with g the index of the slot's expert in the range. Every
    operation is one IEEE float32 operation (docs/numerics.md 22); the codes are those of
    ``npu_group_quant`` and ``npu_dynamic_quant``. [start, end) is ``active_expert_range``, or all
    experts; n is the number of entries of expert_idx in that range.

    =============  ======================================  =====================================
    drop_pad_mode  slots                                   filled
    =============  ======================================  =====================================
    0              R * K; at most ``active_num``, if       the first n
                   that is > 0
    1              ``expert_num * expert_capacity``        each expert's slots, with its first
                                                           rows in order; others are dropped
    =============  ======================================  =====================================

    Args:
        x: (R, H): float16, bfloat16 (``ml_dtypes.bfloat16``) or float32; with ``quant_mode=-1``
            also int8, uint8, float8_e4m3fn or float8_e5m2. It may have any strides and be unaligned
            or read-only; so may the arrays below.
        expert_idx: int32, (R, K): the experts of each token. Entries outside the range have any
            value, and their rows go nowhere.
        scale: float32. With ``quant_mode=-1`` (R,), and for one-byte floats or uint8 also uint8 (R,
            c, 2): each element moves with its row. With 0 (1,), and required. With 1 and 13 (1, H)
            or (end - start, H).
        offset: float32 (1,), only with ``quant_mode=0``, which requires it.
        active_num: the greatest number of slots, with ``drop_pad_mode=0``; 0 or less: no limit.
        expert_capacity: the number of slots of each expert, 1 or more, with ``drop_pad_mode=1``.
        expert_num: the number of experts, 1 to 10240.
        drop_pad_mode: 0 or 1, as in the table.
        expert_tokens_num_type: what the counts are: 0: running sums (with ``drop_pad_mode=1``
            counts); 1: counts; 2: pairs (expert, count) for the experts that have rows.
        expert_tokens_num_flag: whether to count.
        quant_mode: -1, 0, 1 (int8) or 13 (int4, with ``drop_pad_mode=0`` and an even H).
        active_expert_range: two ints, 0 <= start < end <= expert_num, or none for all experts. With
            ``drop_pad_mode=1`` the range is all experts.
        row_idx_type: what expanded_row_idx holds: 0: the slot of each entry of expert_idx; 1: the
            entry at each place in the order.
        x_dtype: None, or int4 with ``quant_mode=13``.
        out: a tuple of four arrays to write into, None where one is not wanted.
        numerics: the arithmetic profile; None is the current one (:func:`npu_quant.numerics`).

    Returns:
        ``(expanded_x, expanded_row_idx, expert_tokens_count_or_cumsum, expanded_scale)``.
        expanded_x is (slots, H), with ``drop_pad_mode=1`` (expert_num, expert_capacity, H); int4
        codes are uint8 with a last axis of H / 2, the first code in the low nibble.
        expanded_row_idx is int32 (R * K,); with ``row_idx_type=0`` an entry without a slot has -1
        (an entry beyond ``active_num`` has its place in the order). The counts are int64, (end -
        start,) or (expert_num, 2). They are counted before rows are dropped, and are zeros without
        the flag. expanded_scale has one row for each slot.

    Rounding of codes is to nearest, ties to even, saturated. Edge cases:

    ==========================================  ===================================================
    what                                        result
    ==========================================  ===================================================
    an expert below start, or end or more       no slot: -1
    the same with ``row_idx_type=1``            last: experts >= end, then experts < start
    a slot that no row goes to                  0 in expanded_x and in expanded_scale
    a row that is all zero, quant_mode 1        scale 0, codes 0
    NaN in a row, quant_mode 1                  scale NaN, codes 0
    inf in a row and no NaN, quant_mode 1       scale inf, codes 0
    NaN, quant_mode 0                           code 0
    an expert twice in a row of expert_idx      two slots, one after the other
    no tokens, or none in the range             slots of zeros, counts 0
    no columns                                  scale 0 with quant_mode 1
    ==========================================  ===================================================

    Raises:
        DTypeError: an array is missing (code 161001), is not an ndarray, or has another dtype.
        ParamError: rank, shape, ``out`` or an attribute is not allowed or not available, or an
            argument is given or missing that the ``quant_mode`` has no use for, or needs.
        TypeError: an attribute is of the wrong kind, such as ``expert_num=1.5``.

    Example:
        >>> import numpy as np, npu_quant
        >>> x = np.array([[1, -2], [4, 3]], dtype=np.float16)
        >>> result = npu_quant.npu_moe_init_routing_v2(
        ...     x,
        ...     np.array([[1, 0], [0, 2]], np.int32),
        ...     expert_num=3,
        ...     expert_tokens_num_type=1,
        ...     expert_tokens_num_flag=True,
        ...     quant_mode=1,
        ... )
        >>> result.expanded_x.tolist()
        [[64, -127], [127, 95], [64, -127], [127, 95]]
        >>> result.expanded_row_idx.tolist(), result.expert_tokens_count_or_cumsum.tolist()
        ([2, 0, 1, 3], [2, 1, 1])

    Source: torch_npu.npu_moe_init_routing_v2 (Ascend/op-plugin), which calls aclnnMoeInitRoutingV3
    (hicann/ops-transformer ``moe/moe_init_routing_v3``). The device computes ``quant_mode=0`` in
    float16; with 1 it rounds t / s to float16 first, and then ties away from zero.
    """
    return _core.npu_moe_init_routing_v2(
        MoeInitRoutingV2Result,
        x,
        expert_idx,
        scale,
        offset,
        active_num,
        expert_capacity,
        expert_num,
        drop_pad_mode,
        expert_tokens_num_type,
        expert_tokens_num_flag,
        quant_mode,
        active_expert_range,
        row_idx_type,
        x_dtype,
        out,
        numerics,
    )


def _slots_of(
    experts: NDArray[np.int64], order: NDArray[np.int64], n: int, capacity: int
) -> NDArray[np.int64]:
    """Return the slot of each sorted entry, -1 where it has none; without a capacity its place."""
    if capacity < 0:
        return np.where(np.arange(len(order)) < n, np.arange(len(order)), -1)
    slots = np.full(len(order), -1)
    taken: dict[int, int] = {}
    for i in range(n):
        expert = int(experts[order[i]])
        if taken.setdefault(expert, 0) < capacity:
            slots[i] = expert * capacity + taken[expert]
            taken[expert] += 1
    return slots


def _tokens(counts: NDArray[np.int64], start: int, expert_num: int, type: int) -> NDArray[np.int64]:
    if type < 2:
        return np.cumsum(counts) if type == 0 else counts
    pairs = np.zeros((expert_num, 2), np.int64)
    used = np.flatnonzero(counts)
    pairs[: len(used)] = np.stack([used + start, counts[used]], axis=1)
    return pairs


def _quantized(
    t: NDArray[np.float32], format: str, scale: NDArray[np.float32], offset: Any
) -> tuple[NDArray[Any], NDArray[np.float32]]:
    """Return codes and scales of rows: by a scale and an offset, or by what `scale` smooths."""
    if offset is not None:
        return _codes.encode(t * scale + offset, format), np.zeros(len(t), np.float32)
    carrier = np.uint8 if format == "int4" else None
    t = t * scale
    amax = np.abs(t).max(axis=1, initial=0)
    s = amax / np.float32(_codes.row_of(format).greatest)
    codes = _codes.encode(t / s[:, None], format, carrier=carrier)
    return codes, np.where(np.isnan(s), np.float32(np.nan), s)


def reference(
    x: NDArray[Any],
    expert_idx: NDArray[np.int32],
    *,
    scale: NDArray[Any] | None = None,
    offset: NDArray[np.float32] | None = None,
    active_num: int = -1,
    expert_capacity: int = -1,
    expert_num: int = -1,
    drop_pad_mode: int = 0,
    expert_tokens_num_type: int = 0,
    expert_tokens_num_flag: bool = False,
    quant_mode: int = -1,
    active_expert_range: Sequence[int] = [],
    row_idx_type: int = 0,
    x_dtype: DTypeName | None = None,
) -> MoeInitRoutingV2Result:
    """Compute :func:`npu_moe_init_routing_v2` in plain NumPy: the formula, without checks."""
    start, end = active_expert_range or (0, expert_num)
    rows, k = expert_idx.shape
    experts = expert_idx.ravel().astype(np.int64)
    order = np.argsort(np.where(experts < start, 2**31 - 1, experts), kind="stable")
    n = int(((experts >= start) & (experts < end)).sum())
    drops = drop_pad_mode == 1
    slots = _slots_of(experts, order, n, expert_capacity if drops else -1)
    row_idx = order.copy()
    if row_idx_type == 0:
        row_idx[order] = slots
    count = rows * k if active_num < 1 else min(active_num, rows * k)
    count = expert_num * expert_capacity if drops else count
    filled, kept = slots[(slots >= 0) & (slots < count)], order[(slots >= 0) & (slots < count)]
    counts = np.bincount(experts[order[:n]] - start, minlength=end - start)
    type = 1 if drops and expert_tokens_num_type == 0 else expert_tokens_num_type
    tokens = _tokens(counts, start, expert_num, type)
    y, scales = x[kept // max(k, 1)], np.zeros(len(kept), np.float32)
    if quant_mode < 0 and scale is not None:
        scales = scale[kept // max(k, 1)]
    elif quant_mode >= 0:
        of_group = np.ones(1, np.float32) if scale is None else scale
        if quant_mode > 0 and scale is not None and len(scale) > 1:
            of_group = scale[experts[kept] - start]
        with np.errstate(all="ignore"):
            format = "int4" if quant_mode == 13 else "int8"
            y, scales = _quantized(y.astype(np.float32), format, of_group, offset)
    expanded = np.zeros((count, *y.shape[1:]), y.dtype)
    expanded_scale = np.zeros((count, *scales.shape[1:]), scales.dtype)
    expanded[filled], expanded_scale[filled] = y, scales
    if drops:
        expanded = expanded.reshape(expert_num, expert_capacity, y.shape[1])
    return MoeInitRoutingV2Result(
        expanded,
        row_idx.astype(np.int32),
        tokens.astype(np.int64) if expert_tokens_num_flag else np.zeros_like(tokens),
        expanded_scale,
    )
