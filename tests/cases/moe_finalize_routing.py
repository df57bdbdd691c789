"""npu_moe_finalize_routing: every mode, with and without skips, biases and scales."""

from __future__ import annotations

import numpy as np
from witnesses import assert_same_but_nan, normal

import npu_quant
from cases.case import DTYPES, Arguments, Case, DType, Rng, kinds, settings, sprinkle
from npu_quant.ops.moe_finalize_routing import reference

FLOAT32 = DTYPES[2]
EXPERTS = 5


def arguments(
    rng: Rng,
    shape: tuple[int, ...],
    dtype: DType,
    *,
    mode: int = 0,
    k: int = 3,
    skips: str = "both",
    biased: bool = True,
    of: DType | None = FLOAT32,
) -> Arguments:
    """Return rows, or slots of experts, some taken twice; `of` is the scales' dtype."""
    tokens, n = shape
    has_slots = mode in (1, 3)
    of_rows = (EXPERTS, tokens + 1, n) if has_slots else (tokens * k + 1, n)
    source = rng.integers(-1 if has_slots else 0, int(np.prod(of_rows[:-1])), tokens * k)
    experts = rng.integers(0, EXPERTS, (tokens, k)).astype(np.int32)
    return {
        "expanded_permuted_rows": normal(rng, of_rows, dtype),
        "skip1": normal(rng, shape, dtype) if skips in ("first", "both") else None,
        "skip2": normal(rng, shape, dtype) if skips in ("second", "both") else None,
        "bias": normal(rng, (EXPERTS, n), dtype) if biased else None,
        "scales": None if of is None else rng.standard_normal((tokens, k)).astype(of),
        "expanded_src_to_dst_row": source.astype(np.int32),
        "export_for_source_row": experts if biased or of is None else None,
        "drop_pad_mode": mode,
        "k": k if of is None else None,
    }


def sprinkled(rng: Rng, a: Arguments) -> Arguments:
    return sprinkle(rng, a, ("expanded_permuted_rows", "skip1", "skip2", "bias", "scales"))


MODES = [0, 1, 2, 3]
CASES = [
    Case(
        name="moe_finalize_routing",
        operator=npu_quant.npu_moe_finalize_routing,
        reference=reference,
        arguments=arguments,
        sprinkled=sprinkled,
        rows=("expanded_permuted_rows",),
        kinds=kinds(dtype=DTYPES),
        formulas={
            "modes": settings((7, 18), (1, 1), mode=MODES, biased=[True, False], k=[1, 4]),
            "parts": settings(
                (7, 66),
                skips=["none", "first", "second", "both"],
                biased=[True, False],
                of=[None, *DTYPES],
            ),
            "widths": settings(*[(5, n) for n in (1, 2, 31, 63, 64, 65, 127, 2048, 2049, 5000)]),
            "no terms": settings((5, 18), k=[0], skips=["none", "both"]),
        },
        layouts=[*settings((4, 34), mode=[0, 3]), *settings((3, 140), (2, 2100))],
        outs=settings((4, 34), (3, 140), mode=[0, 1]),
        guards={"mode": [0, 1]},
        threads=settings((70, 512), (130, 301), dtype=[DTYPES[1]], mode=[0, 3]),
        large=[],
        same=assert_same_but_nan,
        in_order=False,
    )
]
