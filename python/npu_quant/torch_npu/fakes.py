"""What each operator gives, by shapes and dtypes alone: for meta tensors and graphs.

A fake takes the operator's arguments, names those that decide, and returns empty tensors. Lengths
may be symbols (SymInt): they are computed with, never asked. What an operator refuses without its
arrays' values, ``checks.py`` refuses before a fake is asked.
"""

from __future__ import annotations

from typing import Any

import torch

from .fake_tensors import Tensor, bytes_of, codes_of, float32_of, per_element, row_of
from .fakes_of_experts import (
    dual_level_quant_matmul,
    grouped_matmul,
    grouped_matmul_swiglu_quant,
    grouped_matmul_swiglu_quant_v2,
    moe_finalize_routing,
    moe_init_routing_v2,
    moe_token_permute,
    moe_token_unpermute,
    quant_matmul,
    weight_quant_batchmatmul,
)

__all__ = [
    "dual_level_quant_matmul",
    "grouped_matmul",
    "grouped_matmul_swiglu_quant",
    "grouped_matmul_swiglu_quant_v2",
    "moe_finalize_routing",
    "moe_init_routing_v2",
    "moe_token_permute",
    "moe_token_unpermute",
    "quant_matmul",
    "weight_quant_batchmatmul",
]


_BLOCK = 32  # elements that share a scale of MX


def _parts(n: Any, size: int) -> Any:
    """Return how many blocks of a size n elements have, the last of them perhaps a short one."""
    return (n + size - 1) // size


def _scales(input: Tensor, quant_mode: str) -> Tensor:
    shapes = {"pertensor": (1,), "perchannel": (*input.shape[:-2], input.shape[-1])}
    return float32_of(input, shapes.get(quant_mode, tuple(input.shape[:-1])))


def _mx_scales(x: Tensor, axis: int, size: int = _BLOCK) -> Tensor:
    """Return two bytes a pair of blocks along an axis."""
    shape = list(x.shape)
    shape[axis] = _parts(_parts(shape[axis], size), 2)
    return bytes_of(x, (*shape, 2))


def dynamic_quant(
    input: Tensor, *, dst_type: int | None = None, quant_mode: str = "pertoken", **others: Any
) -> tuple[Tensor, ...]:
    """Codes, and a float32 per token, per channel or for all."""
    return codes_of(input, "int8" if dst_type is None else dst_type), _scales(input, quant_mode)


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
    return codes_of(x, dst_type), float32_of(x, blocks)


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
    return codes_of(x, dst_type), float32_of(x, (*leading, rows, _parts(n, col_block_size)))


def dynamic_mx_quant(
    input: Tensor, *, axis: int = -1, dst_type: int = 296, block_size: int = _BLOCK, **others: Any
) -> tuple[Tensor, ...]:
    """Codes, and two bytes for a pair of blocks."""
    return codes_of(input, dst_type), _mx_scales(input, axis, block_size)


def dynamic_mx_quant_with_dual_axis(
    input: Tensor, *, dst_type: int = 296, **others: Any
) -> tuple[Tensor, ...]:
    """Codes and bytes along the last axis, and along the one before it."""
    y1, y2 = codes_of(input, dst_type), codes_of(input, dst_type)
    return y1, _mx_scales(input, -1), y2, _mx_scales(input, -2)


def dynamic_block_mx_quant(
    input: Tensor, *, dst_type: int = 296, **others: Any
) -> tuple[Tensor, ...]:
    """Codes, and each tile's byte in the layouts of both axes."""
    return codes_of(input, dst_type), _mx_scales(input, -1), _mx_scales(input, -2)


def dynamic_dual_level_mx_quant(input: Tensor, **others: Any) -> tuple[Tensor, ...]:
    """Codes of float4, a float32 for 512 of them, and two bytes for a pair of blocks."""
    *leading, n = input.shape
    scale = float32_of(input, (*leading, _parts(n, 512)))
    return codes_of(input, "float4_e2m1"), scale, _mx_scales(input, -1)


def grouped_dynamic_mx_quant(
    x: Tensor, group_index: Tensor, *, dst_type: int = 23, blocksize: int = _BLOCK, **others: Any
) -> tuple[Tensor, ...]:
    """Codes, and room for the bytes of every group's blocks, wherever it begins."""
    m, n = x.shape
    pairs = m // (2 * blocksize) + group_index.shape[0]
    return codes_of(x, dst_type), bytes_of(x, (pairs, n, 2))


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
    return codes_of(self, dtype)


def group_quant(x: Tensor, *arrays: Any, dst_dtype: Any = None, **others: Any) -> Tensor:
    """Codes alone."""
    return codes_of(x, "int8" if dst_dtype is None else dst_dtype)


def dequant_bias(x: Tensor, *arrays: Any, output_dtype: Any = None) -> Tensor:
    """Values, float16 unless another dtype is asked for."""
    return codes_of(x, "float16" if output_dtype is None else output_dtype)


def anti_quant(x: Tensor, scale: Tensor, *, dst_dtype: int | None = None, **others: Any) -> Tensor:
    """Values, float16 unless another dtype is asked for."""
    to = "float16" if dst_dtype is None else dst_dtype
    return codes_of(x, to, 8 if x.dtype == torch.int32 else 1)


def anti_mx_quant(
    x: Tensor, mxscale: Tensor, *, dst_type: int | None = 15, **others: Any
) -> Tensor:
    """Values, bfloat16 unless another dtype is asked for."""
    to = "bfloat16" if dst_type is None else dst_type
    return codes_of(x, to, 2 if x.dtype == torch.uint8 else 1)


def rms_norm(self: Tensor, gamma: Tensor, epsilon: float = 1e-06) -> tuple[Tensor, ...]:
    """The norm, and what rows were multiplied by."""
    rows = (*self.shape[: self.ndim - gamma.ndim], *[1] * gamma.ndim)
    return self.new_empty(self.shape), float32_of(self, rows)


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
    return codes_of(x1, to), codes_of(x1, to), x1.new_empty(x1.shape)


def rms_norm_quant(x: Tensor, *arrays: Any, dst_dtype: int | None = None, **others: Any) -> Tensor:
    """Codes alone."""
    return codes_of(x, "int8" if dst_dtype is None else dst_dtype)


def rms_norm_quant_v2(x: Tensor, *arrays: Any, **others: Any) -> tuple[Tensor, ...]:
    """Codes, and what rows were multiplied by."""
    return rms_norm_quant(x, *arrays, **others), float32_of(x, (*x.shape[:-1], 1))


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
    y = codes_of(x1, "int8" if y_dtype is None else y_dtype)
    scale = float32_of(x1, tuple(x1.shape[:-1]))
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
    return codes_of(x, "int8"), float32_of(x, tuple(x.shape[:-1]))


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
    blocks = float32_of(x, (*rows, _parts(half.shape[-1], 128)))
    scale = _mx_scales(half, -1) if quant_mode == 1 else blocks
    return codes_of(half, dst_type), scale, half if output_origin else half.new_empty((0,))


def swiglu_quant(x: Tensor, *, dst_type: Any = None, **others: Any) -> tuple[Tensor, ...]:
    """Codes of a half, two of int4 to a byte, and a multiplier for each row."""
    y = codes_of(swiglu(x), "int8")
    is_packed = dst_type is not None and row_of(dst_type).bits == 4
    return swiglu(y) if is_packed else y, float32_of(x, tuple(x.shape[:-1]))


def dequant_swiglu_quant(
    x: Tensor, *, dst_type: int | None = None, **others: Any
) -> tuple[Tensor, ...]:
    """Codes of a half, and a scale for each row."""
    y = codes_of(swiglu(x), "int8" if dst_type is None else dst_type)
    return y, float32_of(x, tuple(x.shape[:-1]))


def dtype_cast(self: Tensor, dtype: int, input_dtype: int | None = None) -> Tensor:
    """The numbers in another format."""
    return codes_of(self, dtype, 1 if input_dtype is None else per_element(row_of(input_dtype)))


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
