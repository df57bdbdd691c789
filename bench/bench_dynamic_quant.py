"""npu_dynamic_quant, npu_dynamic_quant_asymmetric: a scale per row, per column."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from npu_quant import formats, npu_dynamic_quant, npu_dynamic_quant_asymmetric
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


def _scaled(torch: Any, x: Any, scale: Any, greatest: float) -> Any:
    v = x.float()
    s = v.abs().amax(-1) / greatest
    scale.copy_(s)
    return v / s[:, None]


def _float8(torch: Any, x: Any, y: Any, scale: Any) -> None:
    y.copy_(_scaled(torch, x, scale, 448).to(torch.float8_e4m3fn))


def _hifloat8_table() -> tuple[list[float], list[int]]:
    """The middles between magnitudes, and the codes between these: ties go away from zero."""
    values = formats.info("hifloat8").values[:128]
    codes = np.argsort(np.where(np.isfinite(values), values, np.inf))[:-1]
    ascending = values[codes].astype(np.float64)
    return ((ascending[1:] + ascending[:-1]) / 2).tolist(), codes.tolist()


_MIDDLES, _CODES = _hifloat8_table()


def _hifloat8(torch: Any, x: Any, y: Any, scale: Any) -> None:
    q = _scaled(torch, x, scale, 32768)
    place = torch.bucketize(q.abs(), torch.tensor(_MIDDLES), right=True)
    code = torch.tensor(_CODES, dtype=torch.uint8)[place]
    y.copy_(code | ((q < 0) & (code != 0)).to(torch.uint8) << 7)  # there is no -0


def _operator(to: str, formula: Any, of_copy: float, carrier: str = "") -> Operator:
    """Per token, to codes of another format than int8."""
    return Operator(
        name=f"npu_dynamic_quant to {to}",
        call=partial(npu_dynamic_quant, dst_type=to),
        reference=partial(reference, dst_type=to),
        outputs=lambda size, dtype: (
            (size, carrier or to),
            ((size.rows,), "float32"),
        ),
        eager=formula,
        compiled=formula,
        tolerance=32,  # a code of float8, at the top
        of_copy_in_memory={"float16": of_copy, "bfloat16": of_copy},
    )


OPERATORS = (
    _operator("float8_e4m3fn", _float8, 0.5),
    _operator("hifloat8", _hifloat8, 0.3, "uint8"),
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
