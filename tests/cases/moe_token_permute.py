"""npu_moe_token_permute: tokens of every size, indices close together and far apart."""

from __future__ import annotations

import numpy as np
from witnesses import normal

import npu_quant
from cases.case import DTYPES, Arguments, Case, DType, Rng, kinds, settings
from npu_quant.ops.moe_token_permute import reference

INT8 = np.dtype(np.int8)


def arguments(
    rng: Rng,
    shape: tuple[int, ...],
    dtype: DType,
    *,
    k: int = 3,
    kept: int | None = None,
    far: bool = False,
    index: type = np.int64,
) -> Arguments:
    """Return tokens, and indices below 0, too; k of 0: one index for each token, of rank 1."""
    of = (shape[0], k) if k else shape[:1]
    indices = rng.integers(-3, 9, of).astype(index) * (2 * 10**8 if far else 1)
    x = rng.integers(-99, 99, shape).astype(INT8) if dtype == INT8 else normal(rng, shape, dtype)
    return {"tokens": x, "indices": indices.astype(index), "num_out_tokens": kept}


FORMS = {"k": [0, 1, 3, 8], "far": [False, True], "index": [np.int32, np.int64]}
CASES = [
    Case(
        name="moe_token_permute",
        operator=npu_quant.npu_moe_token_permute,
        reference=reference,
        arguments=arguments,
        rows=("tokens", "indices"),
        fields=("permuted_tokens", "sorted_indices"),
        kinds=kinds(dtype=[*DTYPES, INT8]),
        formulas={
            "forms": settings((9, 18), (1, 1), **FORMS),
            "kept": settings((9, 18), kept=[0, 1, 26, 27, 28, -1, -26, -27, -30]),
            "widths": settings(*[(5, n) for n in (1, 2, 31, 64, 65, 127, 1000, 17000)]),
        },
        layouts=settings((5, 34), (3, 140), kept=[None, 4]),
        outs=settings((5, 34), (3, 140), kept=[None, 4]),
        guards={"kept": [None, -1]},
        threads=settings((70, 512), (130, 301), dtype=[DTYPES[1]], k=[1, 8]),
        large=[],
        in_order=False,
    )
]
