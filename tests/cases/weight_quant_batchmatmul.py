"""npu_weight_quant_batchmatmul: weights of every format, scales of columns and of groups."""

from __future__ import annotations

from typing import Any

import numpy as np
from witnesses import Array, assert_same_but_nan

import npu_quant
from cases.case import (
    BFLOAT16,
    DTYPES,
    FLOAT16,
    SPECIALS,
    Arguments,
    Case,
    DType,
    Rng,
    kinds,
    settings,
    sprinkle,
)
from npu_quant.ops.weight_quant_batchmatmul import reference

CODES = ["int8", "int4", "int4 along K", "float4"]
# Around a vector of 4, 8 or 16 columns and a block of 256; chunks of 128 rows, whole and ragged.
COLUMNS = [1, 2, 7, 8, 15, 16, 17, 31, 33, 64, 65, 255, 256, 257, 300]
DEPTHS = [1, 2, 7, 127, 128, 129, 255, 256, 257, 400]
E2M1 = np.array([0, 0.5, 1, 1.5, 2, 3, 4, 6, -0.0, -0.5, -1, -1.5, -2, -3, -4, -6])


def packed(weight: Array, codes: str) -> Array:
    """Return the numbers in a weight: the nibbles of each word, the lowest first."""
    if codes == "int8":
        return weight
    words = np.ascontiguousarray(weight.T if codes == "int4 along K" else weight).view(np.uint32)
    nibbles = (words[..., None] >> np.arange(0, 32, 4, dtype=np.uint32) & 15).astype(int)
    found = nibbles.reshape(len(words), -1)
    if codes == "float4":
        return np.asarray(E2M1[found])
    found = np.where(found > 7, found - 16, found)
    return found.T if codes == "int4 along K" else found


def weights(rng: Rng, k: int, n: int, codes: str) -> Array:
    """Return a weight for K rows and N columns, in the words of its format."""
    if codes == "int8":
        return rng.integers(-128, 128, (k, n)).astype(np.int8)
    if codes == "int4 along K":
        assert k % 8 == 0
        return rng.integers(-(2**31), 2**31, (n, k // 8)).astype(np.int32).T
    words = rng.integers(-(2**31), 2**31, (k, n // 8)).astype(np.int32)
    return words if codes == "int4" else words.view(np.float32)


def scales(rng: Rng, shape: tuple[int, ...], dtype: DType) -> Array:
    """Return scales of any sign that keep sums of some hundred products in float16's range."""
    scale = np.exp(rng.uniform(-9, -3, shape)) * rng.choice([1, -1], shape, p=[0.8, 0.2])
    return scale.astype(dtype)


def arguments(
    rng: Rng,
    shape: tuple[int, ...],
    dtype: DType,
    n: int = 24,
    codes: str = "int8",
    group: int = 0,
    offsets: bool = True,
    bias: str = "float32",
    quantized: str = "",
    form: str = "columns",
) -> Arguments:
    """Return arguments whose results are spread over the range of float16.

    K and N are as the words of the weight need them; a bias without a dtype is of x's.
    """
    k = shape[-1] if codes != "int4 along K" else -shape[-1] // 8 * -8
    n = n if codes in ("int8", "int4 along K") else -n // 8 * -8
    group = 32 if codes == "float4" else group if group < k else 0
    where: Any = (
        (-(-k // group), n) if group else {"one": (1,), "columns": (n,), "row": (1, n)}[form]
    )
    x = rng.standard_normal((*shape[:-1], k)) * np.exp(rng.uniform(-4, 2, (*shape[:-1], 1)))
    scale: Any = scales(rng, where, dtype)
    offset = (rng.integers(-9, 9, where) + rng.choice([0, 0.3], where)).astype(dtype)
    if codes == "float4":
        where, offsets = (-(-k // 32), n), False
        scale = rng.integers(117, 124, where).astype(np.uint8)
    a: Arguments = {
        "x": x.astype(dtype),
        "weight": weights(rng, k, n, codes),
        "antiquant_scale": scale,
        "antiquant_offset": offset if offsets else None,
        "bias": rng.standard_normal(n).astype(bias or dtype) if bias != "none" else None,
        "antiquant_group_size": group,
    }
    if quantized:
        quant_scale = np.exp(rng.uniform(0, 4, n)).astype(np.float32)
        a["quant_scale"] = quant_scale
        a["quant_offset"] = rng.integers(-9, 9, n).astype(np.float32)
        if quantized == "carried":
            a["quant_scale"] = npu_quant.npu_trans_quant_param(quant_scale, a["quant_offset"])
            a["quant_offset"] = None
    return a


def sprinkled(rng: Rng, a: Arguments) -> Arguments:
    """Return the arguments with special values among the floats: some columns and rows only."""
    a = sprinkle(rng, a, ("antiquant_scale", "antiquant_offset", "bias"), every=12)
    return sprinkle(rng, a, ("x",), [*SPECIALS, 60000, -3e-7], every=300)


CASES = [
    Case(
        name="weight_quant_batchmatmul",
        operator=npu_quant.npu_weight_quant_batchmatmul,
        reference=reference,
        arguments=arguments,
        sprinkled=sprinkled,
        rows=("x",),
        kinds=kinds(dtype=DTYPES[:2]),
        formulas={
            "formats": settings(
                *[(5, 72), (1, 200), (2, 3, 40)],
                codes=CODES,
                group=[0, 32],
                offsets=[True, False],
            ),
            "results": settings(
                *[(7, 130), (1, 64)],
                bias=["none", "float32", ""],
                quantized=["", "scaled", "carried"],
            ),
            "columns": [((3, 70), {"n": n, "codes": c}) for n in COLUMNS for c in CODES],
            "depths": [((3, k), {"n": 40, "codes": c}) for k in DEPTHS for c in CODES[:2]],
            "rows": [
                ((m, 140), {"n": 24, "form": f}) for m in (1, 4, 6, 7, 13) for f in ("one", "row")
            ],
        },
        layouts=settings((6, 70), (2, 3, 40), codes=["int8", "int4"], group=[32]),
        outs=settings((5, 40), (2, 3, 24), n=[24, 70]),
        threads=settings((70, 256), (1, 500), dtype=[BFLOAT16], n=[1000], codes=CODES[:3]),
        large=settings((19, 64), dtype=[FLOAT16], n=[512]),
        stacks=False,
        same=assert_same_but_nan,
    )
]
