"""npu_trans_quant_param: all patterns of scales, with offsets of every shape."""

from __future__ import annotations

import numpy as np

import npu_quant
from cases.case import Arguments, Case, Rng, Tries, kinds, settings, sprinkle
from npu_quant.ops.trans_quant_param import reference

# Around a vector of 4, 8 or 16 elements and a tile of four, on each target; ragged ends of each.
WIDTHS = [1, 2, 3, 7, 15, 16, 17, 31, 33, 63, 64, 65, 127, 129, 300, 1025, 4096]


def arguments(
    rng: Rng, shape: tuple[int, ...], offset: str = "full", round_mode: int = 1
) -> Arguments:
    """Return scales of any bits, and offsets on both sides of the range, of which many are ties."""
    scale = rng.integers(0, 1 << 32, shape, np.uint32).view(np.float32)
    of = {"none": None, "one": (1,), "full": shape, "flat": (scale.size,)}[offset]
    given = None if of is None else np.rint(rng.standard_normal(of) * 400).astype(np.float32) / 2
    return {"scale": scale, "offset": given, "round_mode": round_mode}


def sprinkled(rng: Rng, a: Arguments) -> Arguments:
    return sprinkle(rng, a, ("scale", "offset"))


def one_for_all(rng: Rng, round_mode: int) -> Tries:
    """A scale, and offsets that give the result its length."""
    for n in WIDTHS:
        offset = (rng.standard_normal(n) * 200).astype(np.float32)
        yield {"scale": np.float32([0.3]), "offset": offset, "round_mode": round_mode}


CASES = [
    Case(
        name="trans_quant_param",
        operator=npu_quant.npu_trans_quant_param,
        reference=reference,
        arguments=arguments,
        sprinkled=sprinkled,
        rows=("scale", "offset"),
        kinds=kinds(offset=["full"], round_mode=[0, 1]),
        formulas={
            "shapes of offset": (
                settings((300,), (1, 300), (7, 40), (3, 1)),
                kinds(offset=["none", "one", "full", "flat"], round_mode=[0, 1]),
            ),
            "widths": settings(*[(n,) for n in WIDTHS], *[(3, n) for n in WIDTHS]),
            "one scale": (one_for_all, kinds(round_mode=[0, 1])),
        },
        layouts=settings((35, 72), (2, 4504), (203,)),
        outs=settings((3, 72), (70, 130), (200,)),
        threads=settings((70, 2048), offset=["full", "one", "none"]),
        large=settings((19, 4201), offset=["full"]),
        stacks=False,
    )
]
