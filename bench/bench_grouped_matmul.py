"""npu_grouped_matmul: rows of int8 for eight experts; its peers multiply floats, group by group."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from npu_quant import npu_grouped_matmul
from npu_quant.ops.grouped_matmul import reference

from . import arrays
from .operators import Operator, Size

EXPERTS = 8
SIZES = "8x1024,128x1024,1024x1024"


def _given(weight: Any, scale: Any, tokens: Any, ends: Any) -> dict[str, Any]:
    lists = {"weight": [weight], "scale": [scale], "per_token_scale": [tokens]}
    options = {"split_item": 3, "group_type": 0, "output_dtype": "bfloat16"}
    return {**lists, **options, "group_list": ends}


def _call(
    x: Any, weight: Any, scale: Any, tokens: Any, ends: Any, ready: Any, out: Any = None
) -> NDArray[Any]:
    """The bench passes all but out by position; peers have their weights ready."""
    given = _given(weight, scale, tokens, ends)
    return npu_grouped_matmul([x], **given, out=None if out is None else [out])[0]


def _reference(x: Any, weight: Any, scale: Any, tokens: Any, ends: Any, ready: Any) -> NDArray[Any]:
    return reference([x], **_given(weight, scale, tokens, ends))[0]


def _eager(
    torch: Any, x: Any, weight: Any, scale: Any, tokens: Any, ends: Any, ready: Any, y: Any
) -> None:
    begin = 0
    for group, end in enumerate(ends.tolist()):
        rows = slice(begin, end)
        y[rows] = (x[rows].float() @ ready[group]).mul_(tokens[rows, None])
        begin = end


def _arguments(size: Size, dtype: str, place: str) -> tuple[Any, ...]:
    weight = arrays.normal((EXPERTS * size.n, size.n), "int8", place, 3)
    weight = weight.reshape(EXPERTS, size.n, size.n)
    scale = arrays.scales(EXPERTS * size.n, place).reshape(EXPERTS, size.n)
    ends = np.linspace(0, size.rows, EXPERTS + 1).astype(np.int64)[1:]
    ready = weight.astype(np.float32) * scale[:, None]
    return weight, scale, arrays.scales(size.rows, place, 0.01), ends, ready


OPERATORS = (
    Operator(
        name="npu_grouped_matmul",
        call=_call,
        reference=_reference,
        outputs=lambda size, dtype: ((size, "bfloat16"),),
        arguments=_arguments,
        eager=_eager,
        compiled=_eager,
        multiplies=True,
        dtypes=("int8",),
        sizes=SIZES,
        tolerance=1,
    ),
)
