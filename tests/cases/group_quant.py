"""npu_group_quant: scales of groups of rows, of every number, size and dtype."""

from __future__ import annotations

from typing import Any

import numpy as np
from witnesses import normal, with_specials

import npu_quant
from cases.case import (
    BFLOAT16,
    DTYPES,
    FLOAT16,
    FLOAT32,
    Arguments,
    Case,
    DType,
    Rng,
    Tries,
    each,
    kinds,
    settings,
    sprinkle,
    whole_elements,
)
from npu_quant.ops.group_quant import reference

CODES = ["int8", "int4"]
# Around a vector of 8 or 16 elements, and of 64 bytes, on each target; ragged ends of each.
WIDTHS = [1, 2, 15, 16, 17, 63, 64, 65, 127, 128, 129, 300, 1025, 4096]
GROUPS = [1, 2, 7, 40]  # the last more than there are rows, and than RowGroups holds by itself


def arguments(
    rng: Rng,
    shape: tuple[int, ...],
    dtype: DType,
    to: str = "int8",
    *,
    groups: int = 1,
    scales: DType = FLOAT32,
    offset: tuple[int, ...] | None = (1,),
    ends: Any = np.int32,
) -> Arguments:
    """Return arguments whose codes are spread over the range of to, and beyond; groups are
    ragged, and some have no rows."""
    shape = whole_elements(shape) if to == "int4" else shape
    at = np.sort([*rng.integers(0, shape[0] + 1, groups - 1), shape[0]])
    magnitude = np.exp(rng.uniform(-2, 5, (groups, shape[1])))
    signs = rng.choice([1, -1], magnitude.shape, p=[0.8, 0.2])
    return {
        "x": normal(rng, shape, dtype),
        "scale": (magnitude * signs).astype(scales),
        "group_index": at.astype(ends),
        "offset": None if offset is None else np.full(offset, -2.5, scales),
        "dst_dtype": to,
    }


def sprinkled(rng: Rng, a: Arguments) -> Arguments:
    """Return the arguments with special values among the numbers and the scales."""
    return sprinkle(rng, a | {"x": with_specials(rng, a["x"])}, ("scale",))


def special_offsets(rng: Rng, dtype: DType, to: str) -> Tries:
    for offset in (np.nan, np.inf, -np.inf, -0.0, 1e-45, 3e38, 0.5):
        a = sprinkled(rng, arguments(rng, (9, 40), dtype, to))
        yield a | {"offset": np.array([offset], np.float32)}


def strided_groups(rng: Rng, dtype: DType, to: str) -> Tries:
    """Scales in columns and backwards, ends with gaps and backwards."""
    a = arguments(rng, (50, 72), dtype, to, groups=6)
    scale, ends = a["scale"], a["group_index"]
    for of_scale in (
        np.asfortranarray(scale),
        scale[::-1].copy()[::-1],
        scale.repeat(2, 1)[:, ::2],
    ):
        yield a | {"scale": of_scale, "group_index": ends.repeat(3)[::3]}
        yield a | {"scale": of_scale, "group_index": ends[::-1].copy()[::-1]}


def next_to_ties(rng: Rng, to: str) -> Tries:
    """Each tie of each scale, and the float32 numbers on either side."""
    scale = np.exp(rng.uniform(-3, 3, (3, 504))).astype(np.float32)
    at = np.arange(-131, 130)
    near = ((at[:, None] + 0.5) / scale[at % 3]).astype(np.float32)
    x = np.concatenate([np.nextafter(near, np.float32(s)) for s in (-1e9, 1e9)] + [near])
    a = {"x": x[np.argsort(np.tile(at % 3, 3), kind="stable")], "scale": scale, "dst_dtype": to}
    a |= {"group_index": np.array([261, 522, 783])}
    yield from (a, a | {"offset": np.array([1], np.float32)})


def every_16_bit_pattern(rng: Rng, dtype: DType, to: str) -> Tries:
    """With scales of many kinds, a group each."""
    x = np.arange(1 << 16, dtype=np.uint16).view(dtype).reshape(1024, 64)
    scales = [1, 0.1, -0.3, 2.0**-24, 1e5, 3e38, 1e-38, 1e-45, np.inf, 0, -0.0, np.nan]
    a = {"x": np.tile(x, (len(scales), 1)), "dst_dtype": to}
    a |= {"scale": np.repeat(np.array(scales, np.float32)[:, None], 64, axis=1)}
    yield a | {"group_index": 1024 * np.arange(1, len(scales) + 1)}


CASES = [
    Case(
        name="group_quant",
        operator=npu_quant.npu_group_quant,
        reference=reference,
        arguments=arguments,
        sprinkled=sprinkled,
        rows=("x",),
        kinds=kinds(dtype=DTYPES, to=CODES),
        in_memory=each(dtype=DTYPES, to=CODES),
        formulas={
            "groups": settings((19, 40), (1, 24), groups=GROUPS, ends=[np.int32, np.int64]),
            "offsets": settings((19, 40), scales=DTYPES, offset=[None, (1,), ()]),
            "special offsets": special_offsets,
            "strided groups": strided_groups,
            "widths": settings(*[(6, n) for n in WIDTHS], groups=[1, 3], offset=[None, (1,)]),
            "next to ties": (next_to_ties, kinds(to=CODES)),
            "every 16-bit pattern": (every_16_bit_pattern, kinds(dtype=DTYPES[:2], to=CODES)),
        },
        layouts=settings((35, 72), (200, 24), (3, 4504), (130, 1)),
        outs=settings((5, 72), (70, 136), (2, 704), groups=[4]),
        guards={"groups": [1, 3]},
        threads=[
            *settings((70, 4096), (3, 100_008), dtype=[BFLOAT16], to=CODES, groups=[1, 40]),
            *settings((9000, 24), dtype=[FLOAT16], to=CODES, groups=[1000]),
        ],
        large=[],
    )
]
