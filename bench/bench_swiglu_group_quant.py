"""npu_swiglu_group_quant: a gated linear unit, and float8 codes of blocks of 128 or of 32 of it."""

from __future__ import annotations

from functools import partial
from typing import Any

from npu_quant import npu_swiglu_group_quant
from npu_quant.ops.swiglu_group_quant import reference

from .bench_swiglu import SIZES, unit
from .operators import Operator, Size, Spec

_MX: dict[str, Any] = {"quant_mode": 1, "round_scale": True}


def _blocks(torch: Any, x: Any, size: int) -> tuple[Any, Any]:
    """Return o in blocks, and the amax of each."""
    o = unit(torch, x)
    o = o.reshape(len(o), -1, min(size, o.shape[1]))
    return o, o.abs().amax(-1, keepdim=True).clamp(min=1e-4)


def _by_floats(torch: Any, x: Any, y: Any, scale: Any, origin: Any = None) -> None:
    o, amax = _blocks(torch, x, 128)
    scale.copy_((amax / 448).squeeze(-1))
    y.copy_((o * (448 / amax)).to(torch.float8_e4m3fn).reshape(y.shape))


def _by_powers(torch: Any, x: Any, y: Any, scale: Any, origin: Any = None) -> None:
    """448 is 1.75 * 2^8: what amax has beyond that fraction carries into its exponent."""
    o, amax = _blocks(torch, x, 32)
    b = ((amax.view(torch.int32) + 0x1FFFFF) >> 23) - 8
    power = ((254 - b) << 23).view(torch.float32)
    bytes_ = scale.view(len(scale), -1)
    bytes_.zero_()
    bytes_[:, : b.shape[1]].copy_(b.squeeze(-1))
    y.copy_((o * power).to(torch.float8_e4m3fn).reshape(y.shape))


def _outputs(size: Size, dtype: str, is_mx: bool) -> tuple[Spec | None, ...]:
    h = size.n // 2
    scale = (
        ((size.rows, -(-h // 64), 2), "uint8") if is_mx else ((size.rows, -(-h // 128)), "float32")
    )
    return ((size.rows, h), "float8_e4m3fn"), scale, None


def _operator(words: str, formula: Any, **how: Any) -> Operator:
    how["dst_type"] = "float8_e4m3fn"
    return Operator(
        name=f"npu_swiglu_group_quant{words}",
        call=lambda x, **out: npu_swiglu_group_quant(x, **how, **out),
        reference=lambda x: reference(x, **how),
        outputs=partial(_outputs, is_mx="quant_mode" in how),
        eager=formula,
        compiled=formula,
        sizes=SIZES,
        dtypes=("float16", "bfloat16"),
        together=2,
        tolerance=32,  # a step of float8 at the greatest
        most_overhead=4.8,
    )


OPERATORS = (
    _operator("", _by_floats),
    _operator(" to MX", _by_powers, **_MX),
)
