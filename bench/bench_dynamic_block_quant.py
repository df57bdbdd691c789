"""npu_dynamic_block_quant: one scale per 128 elements of a row."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from npu_quant import npu_dynamic_block_quant
from npu_quant.ops.dynamic_block_quant import reference

from .operators import Operator


def _blocks(x: Any, y: Any, scale: Any) -> Iterator[tuple[Any, Any, Any]]:
    """The whole blocks of all rows, as (rows, blocks, elements), then the shorter last ones."""
    n = x.shape[1]
    whole = n - n % 128
    if whole:
        blocks = x[:, :whole].float().reshape(x.shape[0], -1, 128)
        yield blocks, y[:, :whole], scale[:, : whole // 128]
    if whole < n:
        yield x[:, None, whole:].float(), y[:, whole:], scale[:, whole // 128 :]


def _eager(torch: Any, *arrays: Any) -> None:
    for v, y, scale in _blocks(*arrays):
        s = v.abs().amax(-1) / 127
        scale.copy_(s)
        y.copy_((v / s[..., None]).round_().clamp_(-128, 127).reshape(y.shape))


def _compiled(torch: Any, *arrays: Any) -> None:
    """The fastest form found: multiplies, goes through int32, writes to given outputs."""
    for v, y, scale in _blocks(*arrays):
        amax = v.abs().amax(-1)
        scale.copy_(amax / 127)
        q = (v * (127 / amax)[..., None]).round().to(torch.int32).to(torch.int8)
        y.copy_(q.reshape(y.shape))


OPERATORS = (
    Operator(
        name="npu_dynamic_block_quant",
        call=npu_dynamic_block_quant,
        reference=reference,
        outputs=lambda size, dtype: (
            (size, "int8"),
            ((size.rows, -(-size.n // 128)), "float32"),
        ),
        eager=_eager,
        compiled=_compiled,
        of_copy_in_memory={"float16": 0.90, "bfloat16": 0.90, "float32": 0.90},
        of_copy_in_cache={"float16": 0.30, "bfloat16": 0.30, "float32": 0.30},
    ),
)
