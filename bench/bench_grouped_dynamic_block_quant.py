"""npu_grouped_dynamic_block_quant: a scale per block of rows, in groups of 512 rows."""

from __future__ import annotations

from functools import partial
from typing import Any

from npu_quant import npu_grouped_dynamic_block_quant
from npu_quant.ops.grouped_dynamic_block_quant import reference

from . import groups
from .operators import Operator


def _formula(torch: Any, x: Any, ends: Any, y: Any, scale: Any, rows: int) -> None:
    """Group by group, in whole blocks; a group of fewer rows is one."""
    start = 0
    scale.zero_()
    for j, end in enumerate(ends.tolist()):
        v = x[start:end].float().reshape(-1, min(rows, end - start), scale.shape[1], 128)
        s = v.abs().amax((1, 3)) / 448
        first = start // rows + j
        scale[first : first + len(s)] = s
        codes = (v / s[:, None, :, None]).to(torch.float8_e4m3fn)
        y[start:end] = codes.reshape(end - start, -1)
        start = end


def _operator(rows: int) -> Operator:
    block: dict[str, Any] = {"dst_type": "float8_e4m3fn", "row_block_size": rows}
    return Operator(
        name=f"npu_grouped_dynamic_block_quant to float8_e4m3fn by {rows}x128",
        call=partial(npu_grouped_dynamic_block_quant, **block),
        reference=partial(reference, **block),
        outputs=lambda size, dtype: (
            (size, "float8_e4m3fn"),
            ((size.rows // rows + groups.count(size.rows), -(-size.n // 128)), "float32"),
        ),
        eager=partial(_formula, rows=rows),
        compiled=partial(_formula, rows=rows),
        arguments=groups.ends,
        sizes="128x4096,4096x4096,32768x7168",
        dtypes=("float16", "bfloat16"),
        tolerance=32,  # peers may be a code off: 32 at the top
        of_copy_in_memory={"float16": 0.5, "bfloat16": 0.5},
    )


OPERATORS = (_operator(1), _operator(128))
