"""npu_moe_token_unpermute: weights of every dtype, rows that are not there, and no weights."""

from __future__ import annotations

import numpy as np
from witnesses import assert_same_but_nan, normal

import npu_quant
from cases.case import DTYPES, Arguments, Case, DType, Rng, kinds, settings, sprinkle
from npu_quant.ops.moe_token_unpermute import reference

FLOAT32 = DTYPES[2]


def arguments(
    rng: Rng,
    shape: tuple[int, ...],
    dtype: DType,
    *,
    k: int = 3,
    weighs: bool = True,
    of: DType = FLOAT32,
    index: type = np.int32,
) -> Arguments:
    """Return rows of some tokens, some of them twice and some not at all."""
    tokens, n = shape
    terms = tokens * (k if weighs else 1)
    rows = (terms * 3 + 3) // 4
    indices = rng.integers(0, rows + 1 + rows // 8, terms)
    return {
        "permuted_tokens": normal(rng, (rows, n), dtype),
        "sorted_indices": indices.astype(index),
        "probs": rng.standard_normal((tokens, k)).astype(of) if weighs else None,
    }


def sprinkled(rng: Rng, a: Arguments) -> Arguments:
    return sprinkle(rng, a, ("permuted_tokens", "probs"))


CASES = [
    Case(
        name="moe_token_unpermute",
        operator=npu_quant.npu_moe_token_unpermute,
        reference=reference,
        arguments=arguments,
        sprinkled=sprinkled,
        rows=("permuted_tokens",),
        kinds=kinds(dtype=DTYPES),
        formulas={
            "forms": settings(
                (9, 18), (1, 1), k=[0, 1, 2, 8], of=DTYPES, index=[np.int32, np.int64]
            ),
            "copies": settings((9, 18), (40, 130), (3, 17000), weighs=[False]),
            "widths": settings(*[(5, n) for n in (1, 2, 31, 63, 64, 65, 127, 2048, 2049, 5000)]),
        },
        layouts=settings((5, 34), (3, 140), (2, 2100), weighs=[True, False]),
        outs=settings((5, 34), (3, 140), weighs=[True, False]),
        guards={"weighs": [True, False]},
        threads=settings((70, 512), (130, 301), dtype=[DTYPES[1]], weighs=[True, False]),
        large=[],
        same=assert_same_but_nan,
        in_order=False,
    )
]
