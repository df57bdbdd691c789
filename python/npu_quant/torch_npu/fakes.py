"""What each operator gives, by shapes and dtypes alone: for meta tensors and graphs.

A fake takes the operator's arguments, names those that decide, and returns empty tensors. Lengths
may be symbols (SymInt): they are computed with, never asked. What an operator refuses, it refuses
where it is run.
"""

from __future__ import annotations

import math
from typing import Any

import torch

from .. import dtypes
from ..errors import ParamError

Tensor = Any
Shape = tuple[Any, ...]

_BLOCK = 32  # elements that share a scale of MX


def _row(dtype: Any) -> dtypes.DType:
    row = dtypes.resolve(dtype)
    if row is None:
        raise ParamError(f"{dtype} is the number of no dtype that npu_quant knows.")
    return row


def _per_element(row: dtypes.DType) -> int:
    """Codes that lie in an element of the arrays that hold a format: 8 of int4, 2 of float4."""
    return row.carrier.itemsize * 8 // row.bits


def _codes(x: Tensor, dtype: Any, unpacked: int = 1) -> Tensor:
    """Return codes for the elements of x, each of which has so many numbers in it."""
    row, shape = _row(dtype), list(x.shape)
    if shape:
        shape[-1] = shape[-1] * unpacked // _per_element(row)
    return x.new_empty(shape, dtype=getattr(torch, row.carrier.name))


def _float32(x: Tensor, shape: Shape) -> Tensor:
    return x.new_empty(shape, dtype=torch.float32)


def _bytes(x: Tensor, shape: Shape) -> Tensor:
    return x.new_empty(shape, dtype=torch.uint8)


def _parts(n: Any, size: int) -> Any:
    """Return how many blocks of a size n elements have, the last of them perhaps a short one."""
    return (n + size - 1) // size


def _scales(input: Tensor, quant_mode: str) -> Tensor:
    shapes = {"pertensor": (1,), "perchannel": (*input.shape[:-2], input.shape[-1])}
    return _float32(input, shapes.get(quant_mode, tuple(input.shape[:-1])))


def _mx_scales(x: Tensor, axis: int, size: int = _BLOCK) -> Tensor:
    """Return two bytes a pair of blocks along an axis."""
    shape = list(x.shape)
    shape[axis] = _parts(_parts(shape[axis], size), 2)
    return _bytes(x, (*shape, 2))


def dynamic_quant(
    input: Tensor, *, dst_type: int | None = None, quant_mode: str = "pertoken", **others: Any
) -> tuple[Tensor, ...]:
    """Codes, and a float32 per token, per channel or for all."""
    return _codes(input, "int8" if dst_type is None else dst_type), _scales(input, quant_mode)


def dynamic_quant_asymmetric(
    input: Tensor, *, dst_type: int | None = None, quant_mode: str = "pertoken", **others: Any
) -> tuple[Tensor, ...]:
    """The same, and an offset for each scale."""
    y, scale = dynamic_quant(input, dst_type=dst_type, quant_mode=quant_mode)
    return y, scale, torch.empty_like(scale)


def dynamic_block_quant(
    x: Tensor,
    *,
    dst_type: int = 1,
    row_block_size: int = 1,
    col_block_size: int = 128,
    **others: Any,
) -> tuple[Tensor, ...]:
    """Codes, and a float32 per block."""
    *leading, m, n = x.shape
    blocks = (*leading, _parts(m, row_block_size), _parts(n, col_block_size))
    return _codes(x, dst_type), _float32(x, blocks)


def grouped_dynamic_block_quant(
    x: Tensor,
    group_list: Tensor,
    *,
    dst_type: int = 291,
    row_block_size: int = 1,
    col_block_size: int = 128,
    **others: Any,
) -> tuple[Tensor, ...]:
    """Codes, and room for the scales of every group's blocks, wherever it begins."""
    *leading, m, n = x.shape
    rows = m // row_block_size + group_list.shape[0]
    return _codes(x, dst_type), _float32(x, (*leading, rows, _parts(n, col_block_size)))


def dynamic_mx_quant(
    input: Tensor, *, axis: int = -1, dst_type: int = 296, block_size: int = _BLOCK, **others: Any
) -> tuple[Tensor, ...]:
    """Codes, and two bytes for a pair of blocks."""
    return _codes(input, dst_type), _mx_scales(input, axis, block_size)


def dynamic_mx_quant_with_dual_axis(
    input: Tensor, *, dst_type: int = 296, **others: Any
) -> tuple[Tensor, ...]:
    """Codes and bytes along the last axis, and along the one before it."""
    y1, y2 = _codes(input, dst_type), _codes(input, dst_type)
    return y1, _mx_scales(input, -1), y2, _mx_scales(input, -2)


def dynamic_block_mx_quant(
    input: Tensor, *, dst_type: int = 296, **others: Any
) -> tuple[Tensor, ...]:
    """Codes, and each tile's byte in the layouts of both axes."""
    return _codes(input, dst_type), _mx_scales(input, -1), _mx_scales(input, -2)


def dynamic_dual_level_mx_quant(input: Tensor, **others: Any) -> tuple[Tensor, ...]:
    """Codes of float4, a float32 for 512 of them, and two bytes for a pair of blocks."""
    *leading, n = input.shape
    scale = _float32(input, (*leading, _parts(n, 512)))
    return _codes(input, "float4_e2m1"), scale, _mx_scales(input, -1)


def grouped_dynamic_mx_quant(
    x: Tensor, group_index: Tensor, *, dst_type: int = 23, blocksize: int = _BLOCK, **others: Any
) -> tuple[Tensor, ...]:
    """Codes, and room for the bytes of every group's blocks, wherever it begins."""
    m, n = x.shape
    pairs = m // (2 * blocksize) + group_index.shape[0]
    return _codes(x, dst_type), _bytes(x, (pairs, n, 2))


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
        y = _bytes(x, y.shape) if quant_mode == 13 else _codes(y, "int8")
    first, last = active_expert_range or (0, expert_num)
    tokens: Shape = (expert_num, 2) if expert_tokens_num_type == 2 else (last - first,)
    slots = shape[0] * expert_capacity if drop_pad_mode == 1 else shape[0]
    scales = _float32(x, (slots,))
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


def quant_scatter(self: Tensor, *arrays: Any, **others: Any) -> Tensor:
    """Codes in an array like the one that they are put into."""
    return self.new_empty(self.shape)


def quant_scatter_(self: Tensor, *arrays: Any, **others: Any) -> Tensor:
    """The array that codes are put into."""
    return self


def quantize(
    self: Tensor, scales: Tensor, zero_points: Tensor | None, dtype: int, *others: Any
) -> Tensor:
    """Codes."""
    return _codes(self, dtype)


def group_quant(x: Tensor, *arrays: Any, dst_dtype: Any = None, **others: Any) -> Tensor:
    """Codes alone."""
    return _codes(x, "int8" if dst_dtype is None else dst_dtype)


def dequant_bias(x: Tensor, *arrays: Any, output_dtype: Any = None) -> Tensor:
    """Values, float16 unless another dtype is asked for."""
    return _codes(x, "float16" if output_dtype is None else output_dtype)


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
    """Products of all rows, or of each x: what rows a group has, its list alone knows."""
    dtype = x[0].dtype if output_dtype is None else getattr(torch, _row(output_dtype).carrier.name)
    *_, k, n = weight[0].shape
    per_word = {torch.int32: 8, torch.uint8: 2}.get(weight[0].dtype, 1)
    codes = x[0].shape[-1] * {torch.int32: 8, torch.uint8: 2}.get(x[0].dtype, 1)
    n = n * per_word if k == codes else n
    if group_type == 2:
        return [x[0].new_empty((len(group_list), x[0].shape[0], n), dtype=dtype)]
    if split_item in (2, 3):
        rows = sum(math.prod(one.shape[:-1]) for one in x)
        return [x[0].new_empty((rows, n), dtype=dtype)]
    if group_list is not None:
        raise ParamError("Without the elements of group_list a fake knows no rows of a group.")
    return [one.new_empty((*one.shape[:-1], n), dtype=dtype) for one in x]


def dual_level_quant_matmul(
    x1: Tensor, x2: Tensor, *scales: Tensor, output_dtype: int = 15, **others: Any
) -> Tensor:
    """A product with as many columns as x2 has rows."""
    return _codes(x1.new_empty((x1.shape[0], x2.shape[0])), output_dtype)


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
        return _per_element(_row(named)) if is_shared else 1

    columns = x2.shape[-1]
    if together(x2) > 1 and x2.shape[-2] == x1.shape[-1] * together(x1):
        columns = columns * together(x2)
    before = torch.broadcast_shapes(x1.shape[:-2], x2.shape[:-2])
    y = x1.new_empty((*before, x1.shape[-2], columns), dtype=torch.int8)
    return _codes(y, "int8" if output_dtype is None else output_dtype)


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


def anti_quant(x: Tensor, scale: Tensor, *, dst_dtype: int | None = None, **others: Any) -> Tensor:
    """Values, float16 unless another dtype is asked for."""
    to = "float16" if dst_dtype is None else dst_dtype
    return _codes(x, to, 8 if x.dtype == torch.int32 else 1)


def anti_mx_quant(
    x: Tensor, mxscale: Tensor, *, dst_type: int | None = 15, **others: Any
) -> Tensor:
    """Values, bfloat16 unless another dtype is asked for."""
    to = "bfloat16" if dst_type is None else dst_type
    return _codes(x, to, 2 if x.dtype == torch.uint8 else 1)


def rms_norm(self: Tensor, gamma: Tensor, epsilon: float = 1e-06) -> tuple[Tensor, ...]:
    """The norm, and what rows were multiplied by."""
    rows = (*self.shape[: self.ndim - gamma.ndim], *[1] * gamma.ndim)
    return self.new_empty(self.shape), _float32(self, rows)


def add_rms_norm(
    x1: Tensor, x2: Tensor, gamma: Tensor, epsilon: float = 1e-06
) -> tuple[Tensor, ...]:
    """The same of the sum, and that."""
    return *rms_norm(x1, gamma), x1.new_empty(x1.shape)


def add_rms_norm_quant(
    x1: Tensor, *arrays: Tensor, dst_type: int | None = None, **others: Any
) -> tuple[Tensor, ...]:
    """Codes, codes of the second branch, and the sum."""
    to = "int8" if dst_type is None else dst_type
    return _codes(x1, to), _codes(x1, to), x1.new_empty(x1.shape)


def rms_norm_quant(x: Tensor, *arrays: Any, dst_dtype: int | None = None, **others: Any) -> Tensor:
    """Codes alone."""
    return _codes(x, "int8" if dst_dtype is None else dst_dtype)


def rms_norm_quant_v2(x: Tensor, *arrays: Any, **others: Any) -> tuple[Tensor, ...]:
    """Codes, and what rows were multiplied by."""
    return rms_norm_quant(x, *arrays, **others), _float32(x, (*x.shape[:-1], 1))


def add_rms_norm_dynamic_quant(
    x1: Tensor,
    *arrays: Tensor,
    smooth_scale1: Tensor | None = None,
    smooth_scale2: Tensor | None = None,
    output_mask: list[bool] | None = None,
    y_dtype: int | None = None,
    **others: Any,
) -> tuple[Tensor, ...]:
    """Codes by branch, the sum, and scales by branch; zeros where there is no such branch."""
    both = smooth_scale1 is not None and smooth_scale2 is not None
    y = _codes(x1, "int8" if y_dtype is None else y_dtype)
    scale = _float32(x1, tuple(x1.shape[:-1]))
    mask = (True, both) if output_mask is None else output_mask
    is_first, is_second = (*mask, False, False)[:2]  # another length is refused where it is run
    return (
        y if is_first else y.new_empty(()),
        y.new_empty(y.shape if is_second else ()),
        x1.new_empty(x1.shape),
        scale if is_first else scale.new_empty(()),
        scale.new_empty(scale.shape if is_second else ()),
    )


def rms_norm_dynamic_quant(x: Tensor, *arrays: Any, **others: Any) -> tuple[Tensor, ...]:
    """Codes, and a scale for each row."""
    return _codes(x, "int8"), _float32(x, tuple(x.shape[:-1]))


def swiglu(self: Tensor, dim: int = -1) -> Tensor:
    """The values of a half."""
    shape = list(self.shape)
    shape[dim] = shape[dim] // 2
    return self.new_empty(shape)


def swiglu_group_quant(
    x: Tensor,
    *,
    dst_type: int = 291,
    quant_mode: int = 0,
    output_origin: bool = False,
    **others: Any,
) -> tuple[Tensor, ...]:
    """Codes of a half, scales of its blocks, and its values where they are asked for."""
    half = swiglu(x)
    rows = tuple(half.shape[:-1])
    blocks = _float32(x, (*rows, _parts(half.shape[-1], 128)))
    scale = _mx_scales(half, -1) if quant_mode == 1 else blocks
    return _codes(half, dst_type), scale, half if output_origin else half.new_empty((0,))


def swiglu_quant(x: Tensor, *, dst_type: Any = None, **others: Any) -> tuple[Tensor, ...]:
    """Codes of a half, two of int4 to a byte, and a multiplier for each row."""
    y = _codes(swiglu(x), "int8")
    is_packed = dst_type is not None and _row(dst_type).bits == 4
    return swiglu(y) if is_packed else y, _float32(x, tuple(x.shape[:-1]))


def dequant_swiglu_quant(
    x: Tensor, *, dst_type: int | None = None, **others: Any
) -> tuple[Tensor, ...]:
    """Codes of a half, and a scale for each row."""
    y = _codes(swiglu(x), "int8" if dst_type is None else dst_type)
    return y, _float32(x, tuple(x.shape[:-1]))


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
        return y, _float32(x, (rows,))
    y = x.new_empty((rows, scale.shape[-2] // 2))
    return y, _mx_scales(y, -1)


def grouped_matmul_swiglu_quant(
    x: Tensor, weight: Tensor, group_list: Tensor, weight_scale: Tensor, *more: Any, **others: Any
) -> tuple[Tensor, ...]:
    """Codes of a half of the columns, a scale for each row, and a zero."""
    rows = x.shape[0]
    return x.new_empty((rows, weight_scale.shape[-1] // 2)), _float32(x, (rows,)), _float32(x, ())


def dtype_cast(self: Tensor, dtype: int, input_dtype: int | None = None) -> Tensor:
    """The numbers in another format."""
    return _codes(self, dtype, 1 if input_dtype is None else _per_element(_row(input_dtype)))


def trans_quant_param(
    scale: Tensor, offset: Tensor | None = None, round_mode: int | None = 0
) -> Tensor:
    """An int64 for each scale; one scale is spread over the offsets."""
    shape = scale.shape
    if offset is not None and (scale.ndim, offset.ndim) == (1, 1) and shape[0] == 1:
        shape = offset.shape
    return scale.new_empty(shape, dtype=torch.int64)


def convert_weight_to_int4pack(weight: Tensor, inner_k_tiles: int = 0) -> Tensor:
    """Eight codes in an element of weight's dtype."""
    return weight.new_empty((*weight.shape[:-1], weight.shape[-1] // 8))
