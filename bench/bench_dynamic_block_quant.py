"""npu_dynamic_block_quant: one scale per 128 elements of a row."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
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


def _squares(torch: Any, x: Any, y: Any, scale: Any) -> None:
    """Blocks of 128 x 128 in float8, of whole ones; a part of a few rows is less than one."""
    rows = min(128, x.shape[0])
    v = x.float().reshape(-1, rows, scale.shape[1], x.shape[1] // scale.shape[1])
    s = v.abs().amax((1, 3)) / 448
    scale.copy_(s)
    y.copy_((v / s[:, None, :, None]).reshape(x.shape).to(torch.float8_e4m3fn))


def _float8(torch: Any, *arrays: Any) -> None:
    for v, y, scale in _blocks(*arrays):
        s = v.abs().amax(-1) / 448
        scale.copy_(s)
        y.copy_((v / s[..., None]).reshape(y.shape).to(torch.float8_e4m3fn))


def _to_float8(rows: int, formula: Any) -> Operator:
    """In blocks of so many rows and 128 columns."""
    block: dict[str, Any] = {"dst_type": "float8_e4m3fn", "row_block_size": rows}
    return Operator(
        name=f"npu_dynamic_block_quant to float8_e4m3fn by {rows}x128",
        call=partial(npu_dynamic_block_quant, **block),
        reference=partial(reference, **block),
        outputs=lambda size, dtype: (
            (size, "float8_e4m3fn"),
            ((-(-size.rows // rows), -(-size.n // 128)), "float32"),
        ),
        eager=formula,
        compiled=formula,
        sizes="8x4096,128x4096,4096x4096,32768x7168",
        tolerance=32,  # peers may be a code off: 32 at the top
        of_copy_in_memory={"float16": 0.5, "bfloat16": 0.5},
    )


OPERATORS = (
    _to_float8(1, _float8),
    _to_float8(128, _squares),
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
