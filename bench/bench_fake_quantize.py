"""fake_quantize_*_cachemask: quantized and back, with a mask of what was in range."""

from __future__ import annotations

from typing import Any

import numpy as np

from npu_quant import (
    fake_quantize_per_channel_affine_cachemask,
    fake_quantize_per_tensor_affine_cachemask,
)
from npu_quant.ops.fake_quantize_per_channel import reference as per_channel_reference
from npu_quant.ops.fake_quantize_per_tensor import reference as per_tensor_reference

from . import arrays
from .operators import Operator, Size

_SCALE, _ZERO_POINT, _RANGE = 0.03, 3, (-128, 127)
_AXIS = 0  # a scale per row, as for weights


def _arguments(size: Size, dtype: str, place: str) -> tuple[Any, ...]:
    scale, zero_point = arrays.scales(size.rows, place), arrays.zero_points(size.rows, place)
    return scale, zero_point, _AXIS, *_RANGE


def _eager(torch: Any, x: Any, y: Any, mask: Any) -> Any:
    return torch.ops.aten.fake_quantize_per_tensor_affine_cachemask(x, _SCALE, _ZERO_POINT, *_RANGE)


def _eager_per_channel(torch: Any, x: Any, scale: Any, zero: Any, y: Any, mask: Any) -> Any:
    cachemask = torch.ops.aten.fake_quantize_per_channel_affine_cachemask
    return cachemask(x, scale, zero, _AXIS, *_RANGE)


def _formula(torch: Any, x: Any, inverse: Any, scale: Any, zero: Any, y: Any, mask: Any) -> None:
    """The fastest form found for torch.compile: a mask of bytes by way of floats, outputs given."""
    q = (x.float() * inverse).round() + zero
    clamped = q.clamp(*_RANGE)
    mask.copy_(torch.where(q == clamped, 1.0, 0.0).to(torch.uint8))
    y.copy_((clamped - zero) * scale)


def _compiled(torch: Any, x: Any, y: Any, mask: Any) -> None:
    scale = np.float32(_SCALE)
    _formula(torch, x, float(1 / scale), float(scale), _ZERO_POINT, y, mask)


def _compiled_per_channel(torch: Any, x: Any, scale: Any, zero: Any, y: Any, mask: Any) -> None:
    _formula(torch, x, (1 / scale)[:, None], scale[:, None], zero[:, None], y, mask)


_SHARED: dict[str, Any] = {
    "streams": (1, 2),
    "outputs": lambda size, dtype: ((size, dtype), (size, "bool")),
    "tolerance": 0.2,  # a step of the widest scale
    "of_copy_in_memory": {"float16": 0.90, "bfloat16": 0.90, "float32": 0.90},
}

OPERATORS = (
    Operator(
        name="fake_quantize per tensor",
        call=fake_quantize_per_tensor_affine_cachemask,
        reference=per_tensor_reference,
        arguments=lambda size, dtype, place: (_SCALE, _ZERO_POINT, *_RANGE),
        eager=_eager,
        compiled=_compiled,
        **_SHARED,
    ),
    Operator(
        name="fake_quantize per channel",
        call=fake_quantize_per_channel_affine_cachemask,
        reference=per_channel_reference,
        arguments=_arguments,
        eager=_eager_per_channel,
        compiled=_compiled_per_channel,
        most_overhead=3.7,
        **_SHARED,
    ),
)
