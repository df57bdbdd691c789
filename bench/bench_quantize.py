"""npu_quantize: codes by scales that are given."""

from __future__ import annotations

from typing import Any

import numpy as np

from npu_quant import npu_quantize
from npu_quant.ops.quantize import reference

from . import arrays
from .operators import Linear, Operator, Size

_SCALE, _ZERO_POINT = 0.03, 3
_AXIS = 1  # per channel: a scale per column, the default


def _of_tensor(size: Size, dtype: str, place: str) -> tuple[Any, ...]:
    return np.array([_SCALE], np.float32), np.array([_ZERO_POINT], np.int32), np.int8


def _of_channels(size: Size, dtype: str, place: str) -> tuple[Any, ...]:
    return arrays.scales(size.n, place), arrays.zero_points(size.n, place), np.int8, _AXIS


def _eager(torch: Any, x: Any, scale: Any, zero: Any, y: Any) -> Any:
    """torch.quantize_per_tensor takes float32 only, and .float() costs something even there."""
    v = x if x.dtype == torch.float32 else x.float()
    return torch.quantize_per_tensor(v, _SCALE, _ZERO_POINT, torch.qint8)


def _eager_per_channel(torch: Any, x: Any, scale: Any, zero: Any, y: Any) -> Any:
    return torch.quantize_per_channel(x.float(), scale, zero, _AXIS, torch.qint8)


def _compiled(torch: Any, x: Any, scale: Any, zero: Any, y: Any) -> None:
    """The fastest form found: multiplies, float32 goes through int32, writes to a given output."""
    q = ((x.float() * (1 / _SCALE)).round() + _ZERO_POINT).clamp(-128, 127)
    y.copy_((q.to(torch.int32) if x.dtype == torch.float32 else q).to(torch.int8))


def _compiled_per_channel(torch: Any, x: Any, scale: Any, zero: Any, y: Any) -> None:
    q = (x.float() / scale + zero).round()
    y.copy_(q.clamp(-128, 127).to(torch.int32).to(torch.int8))


_SHARED: dict[str, Any] = {
    "call": npu_quantize,
    "reference": reference,
    "outputs": lambda size, dtype: ((size, "int8"),),
    "most_overhead": 2.9,
    "of_copy_in_memory": {"float16": 0.90, "bfloat16": 0.90, "float32": 0.90},
}

OPERATORS = (
    Operator(
        name="npu_quantize per tensor",
        arguments=_of_tensor,
        eager=_eager,
        compiled=_compiled,
        linear=Linear("QuantizeLinear", _SCALE, _ZERO_POINT),
        peers_do_all=("float32",),
        of_copy_in_cache={"float32": 0.60},
        of_torch_in_cache={"float32": 1.5},
        **_SHARED,
    ),
    Operator(
        name="npu_quantize per channel",
        arguments=_of_channels,
        eager=_eager_per_channel,
        compiled=_compiled_per_channel,
        **_SHARED,
    ),
)
