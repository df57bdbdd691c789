"""Layouts of an NPU's memory, which has some of its own: on a CPU all tensors are ND."""

from __future__ import annotations

from typing import Any

import torch

from ..errors import ParamError

Tensor = Any

ND = 2  # ACL_FORMAT_ND
_LAST = 50  # ACL's formats are numbers up to this one; -1 is undefined


def _check(acl_format: int) -> None:
    if not -1 <= acl_format <= _LAST:
        raise ParamError(f"acl_format is {acl_format}, expected -1 to {_LAST}: 2 is ND, 29 NZ.")


def npu_format_cast(
    self: Tensor,
    acl_format: int,
    *,
    customize_dtype: int | None = None,
    input_dtype: int | None = None,
) -> Tensor:
    """Return a copy in the layout that there is, whichever is asked for."""
    _check(acl_format)
    if customize_dtype is not None or input_dtype is not None:
        raise ParamError("npu_format_cast: customize_dtype and input_dtype are not available.")
    return self.clone(memory_format=torch.contiguous_format)


def npu_format_cast_(self: Tensor, acl_format: int) -> Tensor:
    """Leave the tensor as it is."""
    _check(acl_format)
    return self


def get_npu_format(self: Tensor) -> int:
    """Return ND."""
    return ND
