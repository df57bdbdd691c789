"""npu_dynamic_quant, npu_dynamic_quant_asymmetric: a scale per row, per column."""

from __future__ import annotations

from functools import partial
from typing import Any

from npu_quant import npu_dynamic_quant, npu_dynamic_quant_asymmetric
from npu_quant.ops import dynamic_quant_asymmetric
from npu_quant.ops.dynamic_quant import reference

from .operators import Operator


def _eager(torch: Any, x: Any, y: Any, scale: Any) -> None:
    v = x.float()
    s = v.abs().amax(-1) / 127
    scale.copy_(s)
    y.copy_((v / s[:, None]).round_().clamp_(-128, 127))


def _compiled(torch: Any, x: Any, y: Any, scale: Any) -> None:
    """The fastest form found: multiplies, goes through int32, writes to given outputs."""
    v = x.float()
    amax = v.abs().amax(-1)
    scale.copy_(amax / 127)
    y.copy_((v * (127 / amax)[:, None]).round().to(torch.int32).to(torch.int8))


def _of_channels(torch: Any, x: Any, y: Any) -> None:
    v = x.float()
    y.copy_((v * (127 / v.abs().amax(0))).round().to(torch.int32).to(torch.int8))


def _asymmetric(torch: Any, x: Any, y: Any, scale: Any, offset: Any) -> None:
    v = x.float()
    hi = v.amax(-1)
    s = (hi - v.amin(-1)) / 255
    scale.copy_(s)
    offset.copy_(127 - hi / s)
    q = (v * (1 / s)[:, None] + offset[:, None]).round()
    y.copy_(q.to(torch.int32).to(torch.int8))


def _float8(torch: Any, x: Any, y: Any, scale: Any) -> None:
    v = x.float()
    s = v.abs().amax(-1) / 448
    scale.copy_(s)
    y.copy_((v / s[:, None]).to(torch.float8_e4m3fn))


OPERATORS = (
    Operator(
        name="npu_dynamic_quant to float8_e4m3fn",
        call=partial(npu_dynamic_quant, dst_type="float8_e4m3fn"),
        reference=partial(reference, dst_type="float8_e4m3fn"),
        outputs=lambda size, dtype: ((size, "float8_e4m3fn"), ((size.rows,), "float32")),
        eager=_float8,
        compiled=_float8,
        tolerance=32,  # a code, at the top
        of_copy_in_memory={"float16": 0.5, "bfloat16": 0.5},
    ),
    Operator(
        name="npu_dynamic_quant",
        call=npu_dynamic_quant,
        reference=reference,
        outputs=lambda size, dtype: ((size, "int8"), ((size.rows,), "float32")),
        eager=_eager,
        compiled=_compiled,
        of_copy_in_memory={"float16": 0.90, "bfloat16": 0.90},
        of_copy_in_cache={"float16": 0.40, "bfloat16": 0.40, "float32": 0.40},
    ),
    Operator(
        name="npu_dynamic_quant per channel",
        call=partial(npu_dynamic_quant, quant_mode="perchannel"),
        reference=partial(reference, quant_mode="perchannel"),
        outputs=lambda size, dtype: ((size, "int8"), None),
        eager=_of_channels,
        compiled=_of_channels,
    ),
    Operator(
        name="npu_dynamic_quant_asymmetric",
        call=npu_dynamic_quant_asymmetric,
        reference=dynamic_quant_asymmetric.reference,
        outputs=lambda size, dtype: (
            (size, "int8"),
            ((size.rows,), "float32"),
            ((size.rows,), "float32"),
        ),
        eager=_asymmetric,
        compiled=_asymmetric,
        most_overhead=2.9,
    ),
)
