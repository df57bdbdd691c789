"""The operators that quantize a norm of x: by scales that are given, or each row by its own."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from npu_quant import npu_rms_norm_dynamic_quant, npu_rms_norm_quant, npu_rms_norm_quant_v2
from npu_quant.ops import (
    rms_norm_dynamic_quant,
    rms_norm_quant,
    rms_norm_quant_v2,
)

from . import arrays
from .operators import Operator, Size

_EPSILON = 1e-6
_SIZES = "1x16,8x4096,128x7168,4096x7168"


def gamma(size: Size, dtype: str, place: str) -> tuple[Any, ...]:
    gamma = arrays.empty((size.n,), dtype, place)
    gamma[:] = np.exp2(arrays.normal((size.n,), "float32", place, 6) / 4)
    return (gamma,)


def _by_scales(size: Size, dtype: str, place: str) -> tuple[Any, ...]:
    """Gamma around one, beta 0, scale, offset."""
    (around_one,) = gamma(size, dtype, place)
    return (
        around_one,
        around_one * 0,
        arrays.scales(size.n, place),
        arrays.zero_points(size.n, place),
    )


def _by_scales_v2(size: Size, dtype: str, place: str) -> tuple[Any, ...]:
    around_one, _, scale, _ = _by_scales(size, dtype, place)
    return around_one, scale


def _norm(x: Any, gamma: Any) -> tuple[Any, Any]:
    s = x.float()
    rstd = (s.square().mean(-1, keepdim=True) + _EPSILON).rsqrt()
    return s * rstd * gamma.float(), rstd


def _codes(q: Any, y: Any) -> None:
    """As the fastest form for torch.compile has it: through int32."""
    y.copy_(q.round().clamp(-128, 127).int().char())


def _scaled(torch: Any, x: Any, gamma: Any, beta: Any, scale: Any, zero: Any, y: Any) -> None:
    _codes((_norm(x, gamma)[0] + beta.float()) / scale + zero, y)


def _scaled_v2(torch: Any, x: Any, gamma: Any, scale: Any, y: Any, rstd: Any) -> None:
    t, root = _norm(x, gamma)
    rstd.copy_(root)
    _codes(t / scale, y)


def dynamic(torch: Any, x: Any, gamma: Any, y: Any, scale: Any) -> None:
    t, _ = _norm(x, gamma)
    s = t.abs().amax(-1, keepdim=True) / 127
    scale.copy_(s.squeeze(-1))
    _codes(t / s, y)


operator = partial(Operator, sizes=_SIZES, most_overhead=5.1)

OPERATORS = (
    operator(
        name="npu_rms_norm_quant",
        call=npu_rms_norm_quant,
        reference=rms_norm_quant.reference,
        arguments=_by_scales,
        outputs=lambda size, dtype: ((size, "int8"),),
        eager=_scaled,
        compiled=_scaled,
    ),
    operator(
        name="npu_rms_norm_quant_v2",
        call=npu_rms_norm_quant_v2,
        reference=rms_norm_quant_v2.reference,
        arguments=_by_scales_v2,
        outputs=lambda size, dtype: ((size, "int8"), ((size.rows, 1), "float32")),
        eager=_scaled_v2,
        compiled=_scaled_v2,
    ),
    operator(
        name="npu_rms_norm_dynamic_quant",
        call=npu_rms_norm_dynamic_quant,
        reference=rms_norm_dynamic_quant.reference,
        arguments=gamma,
        outputs=lambda size, dtype: ((size, "int8"), ((size.rows,), "float32")),
        eager=dynamic,
        compiled=dynamic,
    ),
)
