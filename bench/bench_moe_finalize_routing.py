"""npu_moe_finalize_routing: the sum of four rows for each token."""

from __future__ import annotations

from typing import Any

from numpy.typing import NDArray

from npu_quant import npu_moe_finalize_routing
from npu_quant.ops.moe_finalize_routing import reference

from .bench_moe_token import K, parts, sources, weighed
from .operators import Operator

_MODE = 2  # the rows of a token one after the other


def _call(
    x: NDArray[Any], source: NDArray[Any], weights: NDArray[Any], out: Any = None
) -> NDArray[Any]:
    rows = parts(x)
    return npu_moe_finalize_routing(rows, None, None, None, weights, source, None, _MODE, out=out)


OPERATORS = (
    Operator(
        name="npu_moe_finalize_routing",
        call=_call,
        reference=lambda x, s, w: reference(parts(x), None, None, None, w, s, None, _MODE),
        outputs=lambda size, dtype: (((size.rows, size.n // K), dtype),),
        eager=weighed,
        compiled=weighed,
        arguments=sources,
        dtypes=("float16", "bfloat16"),
        together=K,
        tolerance=0.5,
        most_overhead=6.0,
    ),
)
