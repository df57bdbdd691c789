"""npu_dynamic_mx_quant, on both axes, too: a power of two per 32 elements of a row, or a column."""

from __future__ import annotations

from functools import partial
from typing import Any

from npu_quant import npu_dynamic_mx_quant, npu_dynamic_mx_quant_with_dual_axis
from npu_quant.ops import dynamic_mx_quant_with_dual_axis
from npu_quant.ops.dynamic_mx_quant import reference

from .operators import Operator, Size, Spec

_EMAX = {"float8_e4m3fn": 8, "float4_e2m1": 2}


def _float8(torch: Any, v: Any) -> Any:
    return v.clamp(-448, 448).to(torch.float8_e4m3fn)


def _float4(torch: Any, v: Any) -> Any:
    """Codes by what they begin at, the even ones behind ties, two to a byte."""
    m = v.abs()
    odd = (m > 0.25).int() + (m > 1.25) + (m > 2.5) + (m > 5)
    even = (m >= 0.75).int() + (m >= 1.75) + (m >= 3.5)
    code = (odd + even) | (v.view(torch.int32) >> 28) & 8
    return (code[:, ::2] | code[:, 1::2] << 4).to(torch.uint8)


def formula(torch: Any, x: Any, y: Any, mxscale: Any, to: str, axis: int) -> None:
    """The exponent's bits are the byte, and the power of two."""
    v = x.float()
    blocks = v.reshape((len(v), -1, 32) if axis == -1 else (-1, 32, v.shape[1]))
    amax = blocks.abs().amax(axis)
    b = ((amax.view(torch.int32) >> 23) - _EMAX[to]).clamp(min=0)
    power = ((254 - b) << 23).view(torch.float32)
    q = (blocks * power.unsqueeze(axis)).reshape(v.shape)
    y.copy_(_float8(torch, q) if to == "float8_e4m3fn" else _float4(torch, q))
    pairs = b.reshape(mxscale.shape) if axis == -1 else b.reshape(-1, 2, v.shape[1]).mT
    mxscale.copy_(pairs)


def _outputs(size: Size, dtype: str, to: str, axis: int) -> tuple[Spec, Spec]:
    codes = (size.rows, size.n // 2), "uint8"
    pairs = -(-(size.n if axis == -1 else size.rows) // 64)
    scales = (size.rows, pairs, 2) if axis == -1 else (pairs, size.n, 2)
    return codes if to == "float4_e2m1" else (tuple(size), to), (scales, "uint8")


def _operator(to: str, axis: int, of_copy: float) -> Operator:
    options: dict[str, Any] = {"dst_type": to, "axis": axis}
    return Operator(
        name=f"npu_dynamic_mx_quant to {to} along {axis}",
        call=partial(npu_dynamic_mx_quant, **options),
        reference=partial(reference, **options),
        outputs=partial(_outputs, to=to, axis=axis),
        eager=partial(formula, to=to, axis=axis),
        compiled=partial(formula, to=to, axis=axis),
        sizes="128x4096,4096x4096,32768x7168",
        together=2 if to == "float4_e2m1" else 1,
        dtypes=("float16", "bfloat16"),
        tolerance=0,
        of_copy_in_memory={"float16": of_copy, "bfloat16": of_copy},
    )


def _on_both_axes(torch: Any, x: Any, *results: Any, to: str) -> None:
    formula(torch, x, *results[:2], to, -1)
    formula(torch, x, *results[2:], to, -2)


def _outputs_of_both(size: Size, dtype: str, to: str) -> tuple[Spec, ...]:
    return _outputs(size, dtype, to, -1) + _outputs(size, dtype, to, -2)


def _of_both_axes(to: str, of_copy: float) -> Operator:
    return Operator(
        name=f"npu_dynamic_mx_quant_with_dual_axis to {to}",
        call=partial(npu_dynamic_mx_quant_with_dual_axis, dst_type=to),
        reference=partial(dynamic_mx_quant_with_dual_axis.reference, dst_type=to),
        outputs=partial(_outputs_of_both, to=to),
        eager=partial(_on_both_axes, to=to),
        compiled=partial(_on_both_axes, to=to),
        sizes="128x4096,4096x4096,32768x7168",
        dtypes=("float16", "bfloat16"),
        tolerance=0,
        of_copy_in_memory={"float16": of_copy, "bfloat16": of_copy},
    )


OPERATORS = (
    _operator("float8_e4m3fn", -1, 0.5),
    _operator("float8_e4m3fn", -2, 0.3),
    _operator("float4_e2m1", -1, 0.3),
    _of_both_axes("float8_e4m3fn", 0.3),
)
