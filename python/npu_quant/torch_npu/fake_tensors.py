"""Empty tensors like others, for what fakes give."""

from __future__ import annotations

from typing import Any

import torch

from .. import dtypes
from ..errors import ParamError

Tensor = Any
Shape = tuple[Any, ...]


def row_of(dtype: Any) -> dtypes.DType:
    """Return the row of a dtype by any of its names."""
    row = dtypes.resolve(dtype)
    if row is None:
        raise ParamError(f"{dtype} is not the number of a dtype that npu_quant knows.")
    return row


def per_element(row: dtypes.DType) -> int:
    """Codes that lie in an element of the arrays that hold a format: 8 of int4, 2 of float4."""
    return row.carrier.itemsize * 8 // row.bits


def codes_of(x: Tensor, dtype: Any, unpacked: int = 1) -> Tensor:
    """Return codes for the elements of x, each of which has so many numbers in it."""
    row, shape = row_of(dtype), list(x.shape)
    if shape:
        shape[-1] = shape[-1] * unpacked // per_element(row)
    return x.new_empty(shape, dtype=getattr(torch, row.carrier.name))


def float32_of(x: Tensor, shape: Shape) -> Tensor:
    """Return float32 of a shape."""
    return x.new_empty(shape, dtype=torch.float32)


def bytes_of(x: Tensor, shape: Shape) -> Tensor:
    """Return uint8 of a shape."""
    return x.new_empty(shape, dtype=torch.uint8)
