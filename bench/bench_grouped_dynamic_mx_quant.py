"""npu_grouped_dynamic_mx_quant: a power of two per 32 rows of a column, in groups of 512 rows."""

from __future__ import annotations

from functools import partial
from typing import Any

from npu_quant import npu_grouped_dynamic_mx_quant
from npu_quant.ops.grouped_dynamic_mx_quant import reference

from . import groups
from .operators import Operator, Size, Spec


def _formula(torch: Any, x: Any, ends: Any, y: Any, mxscale: Any) -> None:
    """Group by group: the exponent's bits are the byte, and the power of two."""
    start = 0
    mxscale.zero_()
    for j, end in enumerate(ends.tolist()):
        blocks = x[start:end].float().reshape(-1, 32, x.shape[1])
        b = ((blocks.abs().amax(1).view(torch.int32) >> 23) - 15).clamp(min=0)
        power = ((254 - b) << 23).view(torch.float32)
        q = (blocks * power.unsqueeze(1)).clamp(-57344, 57344).to(torch.float8_e5m2)
        y[start:end] = q.reshape(-1, x.shape[1])
        first, pairs = start // 64 + j, len(b) // 2
        mxscale[first : first + pairs] = b.reshape(pairs, 2, -1).mT
        start = end


def _outputs(size: Size, dtype: str) -> tuple[Spec, Spec]:
    pairs = size.rows // 64 + groups.count(size.rows)
    return (tuple(size), "float8_e5m2"), ((pairs, size.n, 2), "uint8")


OPERATORS = (
    Operator(
        name="npu_grouped_dynamic_mx_quant",
        call=partial(npu_grouped_dynamic_mx_quant, dst_type="float8_e5m2"),
        reference=partial(reference, dst_type="float8_e5m2"),
        outputs=_outputs,
        eager=_formula,
        compiled=_formula,
        arguments=groups.ends,
        sizes="128x4096,4096x4096,32768x7168",
        dtypes=("float16", "bfloat16"),
        tolerance=0,
        of_copy_in_memory={"float16": 0.3, "bfloat16": 0.3},
    ),
)
