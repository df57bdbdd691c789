"""What products of matrices give, and what routes rows to experts and back: more of fakes.py."""

from __future__ import annotations

import math
from typing import Any

import torch

from .fake_tensors import Shape, Tensor, bytes_of, codes_of, float32_of, per_element, row_of


def moe_init_routing_v2(
    x: Tensor,
    expert_idx: Tensor,
    *,
    scale: Tensor | None = None,
    active_num: int = -1,
    expert_capacity: int = -1,
    expert_num: int = -1,
    drop_pad_mode: int = 0,
    expert_tokens_num_type: int = 0,
    quant_mode: int = -1,
    active_expert_range: list[int] = [],  # noqa: B006
    **others: Any,
) -> tuple[Tensor, ...]:
    """A row for each slot, where entries go, what is counted, and a scale for each slot."""
    columns, rows = x.shape[1], expert_idx.shape[0] * expert_idx.shape[1]
    shape: Shape = (torch.sym_min(active_num, rows) if active_num > 0 else rows,)
    if drop_pad_mode == 1:
        shape = (expert_num, expert_capacity)
    y = x.new_empty((*shape, columns // 2 if quant_mode == 13 else columns))
    if quant_mode >= 0:
        y = bytes_of(x, y.shape) if quant_mode == 13 else codes_of(y, "int8")
    first, last = active_expert_range or (0, expert_num)
    tokens: Shape = (expert_num, 2) if expert_tokens_num_type == 2 else (last - first,)
    slots = shape[0] * expert_capacity if drop_pad_mode == 1 else shape[0]
    scales = float32_of(x, (slots,))
    if quant_mode < 0 and scale is not None:
        scales = scale.new_empty((slots, *scale.shape[1:]))
    return (
        y,
        expert_idx.new_empty((rows,)),
        expert_idx.new_empty(tokens, dtype=torch.int64),
        scales,
    )


def moe_token_permute(
    tokens: Tensor, indices: Tensor, num_out_tokens: int | None = None, padded_mode: bool = False
) -> tuple[Tensor, ...]:
    """A row for each copy that is kept, and where each copy is."""
    rows, kept = indices.numel(), num_out_tokens or 0
    count = torch.sym_min(kept, rows) if kept > 0 else torch.sym_max(rows + kept, 0)
    permuted = tokens.new_empty((count, tokens.shape[1]))
    return permuted, indices.new_empty((rows,), dtype=torch.int32)


def moe_token_unpermute(
    permuted_tokens: Tensor,
    sorted_indices: Tensor,
    probs: Tensor | None = None,
    padded_mode: bool = False,
    restore_shape: list[int] | None = None,
) -> Tensor:
    """A row for each token."""
    tokens = sorted_indices.shape[0] if probs is None else probs.shape[0]
    return permuted_tokens.new_empty((tokens, permuted_tokens.shape[1]))


def moe_finalize_routing(
    expanded_permuted_rows: Tensor,
    skip1: Tensor | None,
    skip2: Tensor | None,
    bias: Tensor | None,
    scales: Tensor | None,
    expanded_src_to_dst_row: Tensor,
    export_for_source_row: Tensor | None,
    drop_pad_mode: int | None = 0,
    k: int | None = 1,
) -> Tensor:
    """A row for each token."""
    rows = expanded_src_to_dst_row.shape[0]
    tokens = rows // (1 if k is None else k) if scales is None else scales.shape[0]
    return expanded_permuted_rows.new_empty((tokens, expanded_permuted_rows.shape[-1]))


def grouped_matmul(
    x: list[Tensor],
    weight: list[Tensor],
    *,
    group_list: Any = None,
    split_item: int | None = 0,
    group_type: int | None = None,
    group_list_type: int | None = 0,
    output_dtype: int | None = None,
    **others: Any,
) -> list[Tensor]:
    """Products of all rows, of each x, or of the rows that each group has."""
    dtype = (
        x[0].dtype if output_dtype is None else getattr(torch, row_of(output_dtype).carrier.name)
    )
    codes = x[0].shape[-1] * {torch.int32: 8, torch.uint8: 2}.get(x[0].dtype, 1)

    def product(rows: Shape, weight: Tensor) -> Tensor:
        *_, k, n = weight.shape
        per_word = {torch.int32: 8, torch.uint8: 2}.get(weight.dtype, 1)
        return x[0].new_empty((*rows, n * per_word if k == codes else n), dtype=dtype)

    if group_type == 2:
        return [product((len(group_list), x[0].shape[0]), weight[0])]
    if split_item in (2, 3):
        return [product((sum(math.prod(one.shape[:-1]) for one in x),), weight[0])]
    if len(x) == len(weight) and (group_list is None or len(x) > 1):
        return [product(one.shape[:-1], w) for one, w in zip(x, weight, strict=True)]
    weights = [*weight[0]] if weight[0].ndim == 3 else weight
    rows = _rows_of_groups(group_list, group_list_type, len(weights))
    return [product((n,), w) for n, w in zip(rows, weights, strict=True)]


def _rows_of_groups(group_list: Any, group_list_type: int | None, count: int) -> list[Any]:
    """Return how many rows each group has: symbols, where a tensor knows it alone."""
    if isinstance(group_list, torch.Tensor):
        context = torch.library.get_ctx()
        return [context.new_dynamic_size() for _ in range(count)]
    if group_list_type == 1:
        return [*group_list]
    return [end - begin for begin, end in zip([0, *group_list], group_list, strict=False)]


def dual_level_quant_matmul(
    x1: Tensor, x2: Tensor, *scales: Tensor, output_dtype: int = 15, **others: Any
) -> Tensor:
    """A product with as many columns as x2 has rows."""
    return codes_of(x1.new_empty((x1.shape[0], x2.shape[0])), output_dtype)


def quant_matmul(
    x1: Tensor,
    x2: Tensor,
    scale: Tensor,
    *,
    output_dtype: Any = None,
    x1_dtype: Any = None,
    **others: Any,
) -> Tensor:
    """The sums of a product, codes of int8 unless another dtype is asked for."""

    def together(x: Tensor) -> int:
        named = "int4" if x.dtype == torch.int32 else x1_dtype
        is_shared = x.dtype in (torch.int32, torch.uint8) and named is not None
        return per_element(row_of(named)) if is_shared else 1

    columns = x2.shape[-1]
    if together(x2) > 1 and x2.shape[-2] == x1.shape[-1] * together(x1):
        columns = columns * together(x2)
    before = torch.broadcast_shapes(x1.shape[:-2], x2.shape[:-2])
    y = x1.new_empty((*before, x1.shape[-2], columns), dtype=torch.int8)
    return codes_of(y, "int8" if output_dtype is None else output_dtype)


def weight_quant_batchmatmul(
    x: Tensor,
    weight: Tensor,
    antiquant_scale: Tensor,
    antiquant_offset: Tensor | None = None,
    quant_scale: Tensor | None = None,
    *others: Any,
    **more: Any,
) -> Tensor:
    """Products in x's dtype, or in int8; 8 codes lie in a word of the weight, along N or K."""
    k, n = weight.shape
    if weight.dtype != torch.int8 and k == x.shape[-1]:
        n = 8 * n
    dtype = x.dtype if quant_scale is None else torch.int8
    return x.new_empty((*x.shape[:-1], n), dtype=dtype)


def grouped_matmul_swiglu_quant_v2(
    x: Tensor,
    weight: list[Tensor],
    weight_scale: list[Tensor],
    x_scale: Tensor,
    *more: Any,
    **others: Any,
) -> tuple[Tensor, ...]:
    """Codes of a half of the columns, and a scale for each row, of MX for blocks of it."""
    scale, rows = weight_scale[0], x.shape[0]
    if scale.ndim < 4:
        y = x.new_empty((rows, scale.shape[-1] // 2), dtype=torch.int8)
        return y, float32_of(x, (rows,))
    columns = scale.shape[-2] // 2
    return x.new_empty((rows, columns)), bytes_of(x, (rows, (columns + 63) // 64, 2))


def grouped_matmul_swiglu_quant(
    x: Tensor, weight: Tensor, group_list: Tensor, weight_scale: Tensor, *more: Any, **others: Any
) -> tuple[Tensor, ...]:
    """Codes of a half of the columns, a scale for each row, and a zero."""
    rows = x.shape[0]
    return (
        x.new_empty((rows, weight_scale.shape[-1] // 2)),
        float32_of(x, (rows,)),
        float32_of(x, ()),
    )
