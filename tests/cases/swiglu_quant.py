"""npu_swiglu_quant: by offsets and by multipliers of rows, for groups of them."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
from witnesses import normal, with_specials

import npu_quant
from cases.case import (
    BFLOAT16,
    DTYPES,
    FLOAT16,
    Arguments,
    Case,
    DType,
    Rng,
    Tries,
    kinds,
    settings,
    sprinkle,
)
from cases.swiglu import HALVES, halved
from npu_quant.ops.swiglu_quant import reference

INT4 = 16  # torch.quint4x2: dst_type is a torch.dtype upstream
# What a group has: nothing, a value, or one per element; without a list also plainly these.
NONE, ONE, EACH, PLAIN = "none", "one", "each", "plain"


def gated(rng: Rng, shape: tuple[int, ...], dtype: DType) -> Any:
    """Return rows whose gates are on both sides of where swish is 0, and where it is a."""
    rows = normal(rng, shape, np.dtype(np.float32))
    with np.errstate(over="ignore"):
        return np.where(np.abs(rows) > 30, np.fmod(rows, 30), rows).astype(dtype)


def lengths(rng: Rng, rows: int, groups: int) -> Any:
    """Return how many rows groups have: some none, and some are behind the last."""
    return rng.integers(0, rows // groups + 1, groups)


def parameter(rng: Rng, form: str, groups: int, width: int) -> Any:
    """Return factors around 1, of which some are negative."""
    shapes = {ONE: (groups,), EACH: (groups, width), PLAIN: (width,)}
    if form == NONE:
        return None
    sign = rng.choice([1, -1], shapes[form], p=[0.9, 0.1])
    return (np.exp(rng.uniform(-2, 2, shapes[form])) * sign).astype(np.float32)


def arguments(
    rng: Rng,
    shape: tuple[int, ...],
    dtype: DType,
    *,
    mode: int = 1,
    form: str = NONE,
    groups: int = 0,
    listed: int = 0,
    left: bool = True,
    to: int | None = None,
) -> Arguments:
    shape = halved(shape, 4 if to == INT4 else 2)
    own, rows, width = max(1, groups), int(np.prod(shape[:-1])), shape[-1] // 2
    smooth = parameter(rng, form, own, width)
    offsets = None
    if mode == 0 and smooth is not None:
        offsets = (rng.integers(-40, 40, smooth.shape) / 2).astype(np.float32)
    counts = lengths(rng, rows, own) if groups else None
    given = counts if counts is None or listed else np.cumsum(counts)
    return {
        "x": gated(rng, shape, dtype),
        "smooth_scales": smooth,
        "offsets": offsets,
        "group_index": None if given is None else given.astype(np.int32),
        "activate_left": left,
        "quant_mode": mode,
        "group_list_type": listed,
        "dst_type": to,
    }


def sprinkled(rng: Rng, a: Arguments) -> Arguments:
    a = a | {"x": with_specials(rng, a["x"])}
    return sprinkle(rng, a, [n for n in ("smooth_scales", "offsets") if a.get(n) is not None])


def widths(rng: Rng, dtype: DType, **how: Any) -> Tries:
    for n, mode, to in itertools.product(HALVES[:-1], (0, 1), (None, INT4)):
        if n <= 4096:
            a = arguments(rng, (5, 2 * n), dtype, mode=mode, form=PLAIN, to=to)
            yield from (a, sprinkled(rng, a))


GROUPED = {"form": [ONE, EACH], "groups": [1, 2, 9], "listed": [0, 1], "mode": [0, 1]}
BOTH = {"mode": [0, 1], "to": [None, INT4]}

CASES = [
    Case(
        name="swiglu_quant",
        most_columns=8192,
        operator=npu_quant.npu_swiglu_quant,
        reference=reference,
        fields=("y", "scale"),
        arguments=arguments,
        sprinkled=sprinkled,
        rows=("x",),
        kinds=kinds(dtype=DTYPES, mode=[0, 1]),
        formulas={
            "forms": (
                settings(
                    (7, 12), (2, 3, 40), form=[NONE, ONE, EACH, PLAIN], left=[True, False], **BOTH
                ),
                kinds(dtype=DTYPES),
            ),
            "groups": (settings((23, 70), (2, 5, 8), **GROUPED), kinds(dtype=DTYPES)),
            "formats": settings((3, 8), (2, 5, 200), (9, 2056), to=[1, INT4], form=[EACH]),
            "widths": (widths, kinds(dtype=DTYPES)),
            "ranks": settings(*[(2, 1, 3, 1, 2, 1, 2, 8)[8 - r :] for r in range(2, 9)]),
        },
        layouts=[
            *settings((35, 140), (2, 8008), form=[NONE]),
            *settings((3, 2, 136), form=[EACH, ONE], groups=[3], to=[INT4, None]),
        ],
        outs=settings((3, 5, 144), (70, 260), to=[None, INT4], form=[EACH], groups=[2]),
        guards={"to": [None, INT4], "form": [NONE, PLAIN]},
        threads=settings((70, 4096), dtype=[BFLOAT16], form=[NONE, EACH], groups=[0, 4], **BOTH),
        large=settings((19, 8002), dtype=[FLOAT16], mode=[0, 1]),
    )
]
