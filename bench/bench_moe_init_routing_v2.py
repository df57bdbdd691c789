"""npu_moe_init_routing_v2: each token to four experts, as it is and as codes.

The experts are in the order of the choices, and each has a slot for each token: so a token's rows
lie at its number in the slots of all.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from npu_quant import npu_moe_init_routing_v2
from npu_quant.ops.moe_init_routing_v2 import reference

from .operators import Operator, Size

K = 4


def experts(size: Size, dtype: str, place: str) -> tuple[Any, ...]:
    """Return the experts of each token."""
    return (np.tile(np.arange(K, dtype=np.int32), (size.rows, 1)),)


def _how(x: NDArray[Any], mode: int) -> dict[str, Any]:
    more = {"expert_capacity": len(x), "quant_mode": mode}
    return {"expert_num": K, "drop_pad_mode": 1} | more


def _call(x: NDArray[Any], idx: NDArray[Any], out: Any = None, *, mode: int) -> NDArray[Any]:
    slots = None if out is None else (out.transpose(1, 0, 2), None, None, None)
    routed = npu_moe_init_routing_v2(x, idx, **_how(x, mode), out=slots)
    return routed.expanded_x.transpose(1, 0, 2)


def _reference(x: NDArray[Any], idx: NDArray[Any], mode: int) -> NDArray[Any]:
    return reference(x, idx, **_how(x, mode)).expanded_x.transpose(1, 0, 2)


def _sorted(torch: Any, rows: Any, idx: Any) -> Any:
    """Return rows in the order of their experts, as a batch of K."""
    order = torch.sort(idx.reshape(-1), stable=True).indices
    return rows.index_select(0, order // K).view(K, len(rows), -1).transpose(0, 1)


def _quantized(x: Any) -> Any:
    v = x.float()
    return (v * (127 / v.abs().amax(-1, keepdim=True))).round().char()


def _eager(torch: Any, x: Any, idx: Any, y: Any) -> Any:
    return _sorted(torch, x, idx)


def _eager_codes(torch: Any, x: Any, idx: Any, y: Any) -> Any:
    return _sorted(torch, _quantized(x), idx)


def _compiled(torch: Any, x: Any, idx: Any, y: Any) -> None:
    y.copy_(_sorted(torch, x, idx))


def _compiled_codes(torch: Any, x: Any, idx: Any, y: Any) -> None:
    y.copy_(_sorted(torch, _quantized(x), idx))


def _operator(name: str, mode: int, eager: Any, compiled: Any) -> Operator:
    return Operator(
        name=name,
        call=partial(_call, mode=mode),
        reference=partial(_reference, mode=mode),
        outputs=lambda size, dtype: (((size.rows, K, size.n), dtype if mode < 0 else "int8"),),
        eager=eager,
        compiled=compiled,
        arguments=experts,
        dtypes=("float16", "bfloat16"),
        most_overhead=8.0,
    )


OPERATORS = (
    _operator("npu_moe_init_routing_v2", -1, _eager, _compiled),
    _operator("npu_moe_init_routing_v2 to int8", 1, _eager_codes, _compiled_codes),
)
