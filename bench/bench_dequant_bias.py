"""npu_dequant_bias: int32 sums to values, by a scale per row and per column and a bias."""

from __future__ import annotations

from typing import Any

from numpy.typing import NDArray

from npu_quant import npu_dequant_bias
from npu_quant.ops.dequant_bias import reference

from . import arrays
from .operators import Operator, Size


def _call(
    x: NDArray[Any],
    weights: NDArray[Any],
    activations: NDArray[Any],
    bias: NDArray[Any],
    to: str,
    out: Any = None,
) -> NDArray[Any]:
    """The bench passes all but out by position."""
    return npu_dequant_bias(x, weights, activations, bias, output_dtype=to, out=out)


def _reference(
    x: NDArray[Any],
    weights: NDArray[Any],
    activations: NDArray[Any],
    bias: NDArray[Any],
    to: str,
) -> NDArray[Any]:
    return reference(x, weights, activations, bias, output_dtype=to)


def _eager(torch: Any, x: Any, weights: Any, activations: Any, bias: Any, y: Any) -> None:
    y.copy_((x.float() * weights).mul_(activations[:, None]).add_(bias))


def _compiled(torch: Any, x: Any, weights: Any, activations: Any, bias: Any, y: Any) -> None:
    y.copy_(x.float() * weights * activations[:, None] + bias)


def _operator(to: str) -> Operator:
    def arguments(size: Size, dtype: str, place: str) -> tuple[Any, ...]:
        scales = (arrays.scales(n, place) for n in (size.n, size.rows, size.n))
        return (*scales, to)

    return Operator(
        name=f"npu_dequant_bias to {to}",
        call=_call,
        reference=_reference,
        outputs=lambda size, dtype: ((size, to),),
        arguments=arguments,
        eager=_eager,
        compiled=_compiled,
        dtypes=("int32",),
        tolerance=1,
        of_copy_in_memory={"int32": 0.60},
        of_copy_in_cache={"int32": 0.50},
        most_overhead=3.6,
    )


OPERATORS = (_operator("float16"), _operator("bfloat16"))
