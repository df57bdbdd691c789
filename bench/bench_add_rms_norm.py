"""npu_rms_norm and npu_add_rms_norm: norms as they are, beside torch's own."""

from __future__ import annotations

from typing import Any

from npu_quant import npu_add_rms_norm, npu_rms_norm
from npu_quant.ops import add_rms_norm, rms_norm

from .bench_rms_norm import gamma, operator

_EPSILON = 1e-6


def _torchs_own(torch: Any, x: Any, gamma: Any, y: Any) -> None:
    """torch.nn.functional.rms_norm, which has no rstd."""
    y.copy_(torch.nn.functional.rms_norm(x, gamma.shape, gamma, _EPSILON))


def _norm(torch: Any, x: Any, gamma: Any, y: Any) -> None:
    s = x.float()
    y.copy_(s * torch.rsqrt(s.square().mean(-1, keepdim=True) + _EPSILON) * gamma.float())


def _sum_of_torch(torch: Any, x1: Any, x2: Any, gamma: Any, y: Any, x: Any) -> None:
    torch.add(x1, x2, out=x)
    _torchs_own(torch, x, gamma, y)


def _sum(torch: Any, x1: Any, x2: Any, gamma: Any, y: Any, x: Any) -> None:
    s = x1.float() + x2.float()
    x.copy_(s)
    _norm(torch, s, gamma, y)


OPERATORS = (
    operator(
        name="npu_rms_norm",
        call=npu_rms_norm,
        reference=rms_norm.reference,
        arguments=gamma,
        outputs=lambda size, dtype: ((size, dtype), None),
        eager=_torchs_own,
        compiled=_norm,
        of_torch_in_cache={"float16": 1.0, "bfloat16": 1.0, "float32": 1.0},
    ),
    operator(
        name="npu_add_rms_norm",
        call=npu_add_rms_norm,
        reference=add_rms_norm.reference,
        streams=(2, 2),
        arguments=gamma,
        outputs=lambda size, dtype: ((size, dtype), None, (size, dtype)),
        eager=_sum_of_torch,
        compiled=_sum,
    ),
)
