"""npu_quant_matmul: products of integers, of integers in groups, of small floats."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from witnesses import Array, assert_same_but_nan

import npu_quant
from cases.case import (
    BFLOAT16,
    DTYPES,
    FLOAT16,
    FLOAT32,
    SPECIALS,
    Arguments,
    Case,
    DType,
    Rng,
    kinds,
    settings,
    sprinkle,
)
from npu_quant import _codes
from npu_quant.ops.quant_matmul import reference

BIASES = [None, np.dtype(np.int32), *DTYPES]
SMALL_FLOATS = ["float8_e4m3fn", "float8_e5m2", "hifloat8"]
MX = ["mx float8_e4m3fn", "mx float8_e5m2", "mx float4_e2m1"]
# Around the columns and rows of a tile, and of a thread's part, on each target.
WIDTHS = [1, 2, 7, 15, 16, 17, 31, 32, 33, 63, 64, 65, 255, 256, 257, 300]
ROWS = [1, 2, 3, 4, 5, 6, 7, 11, 12, 13, 383, 384, 385]
# Around what a lane, a block and a panel along k have.
DEPTHS = [0, 1, 2, 3, 4, 5, 31, 32, 33, 127, 128, 129, 255, 256, 257, 513, 1030]


def packed(values: Array, along: int) -> Array:
    """Pack codes of int4, eight to an int32, along an axis."""
    turned = values.swapaxes(along, -1)
    return np.ascontiguousarray(_codes.packed(turned, np.int32).swapaxes(along, -1))


def integers(rng: Rng, shape: tuple[int, ...], codes: str, along: int = -1) -> Array:
    """Return codes of int8, or of int4 where that many fill whole words."""
    if codes == "int8":
        return rng.integers(-128, 128, shape, np.int8)
    return packed(rng.integers(-8, 8, shape, np.int8), along)


def carriers(rng: Rng, scale: Array) -> Array:
    """Return int64 scales: any float32 in the lower half, 9 bits of an offset, other bits."""
    words = scale.astype(FLOAT32).view(np.uint32).astype(np.int64)
    return words | rng.integers(0, 512, scale.shape) << 37 | 1 << 46


def scales(rng: Rng, shape: Any, around: float) -> Array:
    signs = rng.choice([1, -1], shape, p=[0.8, 0.2])
    return (np.exp(rng.uniform(-3, 1, shape)) * around * signs).astype(FLOAT32)


def of_integers(
    rng: Rng,
    shape: tuple[int, int],
    to: str,
    codes: str = "int8",
    *,
    k: int = 72,
    before: tuple[tuple[int, ...], tuple[int, ...]] = ((), ()),
    kind: str = "float32",
    one: bool = False,
    bias: DType | None = None,
    pertoken: bool = False,
    offset: bool = True,
) -> Arguments:
    """Return arguments whose results are spread over int8, or over float16, and beyond."""
    m, n = shape
    along = -1 if n % 8 == 0 else -2
    k = k if codes == "int8" else -k // 8 * -8
    spread = (5000 if codes == "int8" else 20) * max(k, 1) ** 0.5
    scale = scales(rng, 1 if one else n, 60 / spread)
    is_float = to in ("float16", "bfloat16")
    added: Any = rng.standard_normal((*before[0], 1, n) if before[0] else n)
    added = added * spread if bias is not None and bias.kind == "i" else added * 30
    own = {"int64": carriers(rng, scale), "bfloat16": scale.astype(BFLOAT16), "float32": scale}
    return {
        "x1": integers(rng, (*before[0], m, k), codes),
        "x2": integers(rng, (*before[1], k, n), codes, along),
        "scale": own[kind],
        "offset": scales(rng, 1 if one else n, 20) if to == "int8" and offset else None,
        "pertoken_scale": scales(rng, m, 1) if pertoken and is_float else None,
        "bias": None
        if bias is None or (to == "int32" and bias.kind != "i")
        else added.astype(bias),
        "output_dtype": to,
    }


def in_groups(
    rng: Rng,
    shape: tuple[int, int],
    to: str,
    codes: str = "int4",
    *,
    g: int = 24,
    groups: int = 3,
    offset: bool = True,
) -> Arguments:
    """Return arguments in groups along k: int4 by int4, or int8 by int4."""
    m, n = shape
    k = g * groups
    scale = scales(rng, (groups, n), 0.01)
    offsets: Any = rng.standard_normal((groups, n)).astype(FLOAT16) if offset else None
    if codes == "int8":
        scale, offsets = carriers(rng, scale), scales(rng, n, 1)
    return {
        "x1": integers(rng, (m, k), codes),
        "x2": integers(rng, (k, n), "int4", -1 if n % 8 == 0 else -2),
        "scale": scale,
        "offset": offsets,
        "pertoken_scale": scales(rng, (m, 1), 1),
        "output_dtype": to,
        "group_sizes": [0, 0, g],
    }


def small_floats(rng: Rng, shape: tuple[int, ...], name: str, along: int = -1) -> Array:
    """Return codes of finite numbers."""
    values = _codes.values_of(name)
    codes = rng.choice(np.flatnonzero(np.isfinite(values)), shape).astype(np.uint8)
    if name == "float4_e2m1":
        turned = codes.swapaxes(along, -1)
        return np.ascontiguousarray(_codes.packed(turned, np.uint8).swapaxes(along, -1))
    return codes.view(_codes.row_of(name).carrier)


def of_floats(
    rng: Rng,
    shape: tuple[int, int],
    to: str,
    codes: str = "float8_e4m3fn",
    *,
    k: int = 72,
    kind: str = "float32",
    bias: DType | None = FLOAT32,
    before: tuple[tuple[int, ...], tuple[int, ...]] = ((), ()),
) -> Arguments:
    """Return arguments of small floats, by scales or, of MX, by bytes of E8M0."""
    (m, n), name = shape, codes.rpartition(" ")[2]
    k = -k // 2 * -2 if name == "float4_e2m1" else k
    pairs = -(-k // 64)
    named = name if name in ("hifloat8", "float4_e2m1") else None
    a = {
        "x1": small_floats(rng, (*before[0], m, k), name),
        "x2": small_floats(rng, (*before[1], k, n), name, -1 if n % 2 == 0 else -2),
        "scale": scales(rng, n, 1e-3),
        "pertoken_scale": scales(rng, m, 1),
        "bias": None if bias is None else (rng.standard_normal(n) * 1000).astype(bias),
        "output_dtype": to,
        "x1_dtype": named,
        "x2_dtype": named,
    }
    if kind == "int64":
        a |= {"scale": carriers(rng, a["scale"]), "pertoken_scale": None}
    if codes.startswith("mx"):
        of_rows, of_columns = (*before[0], m, pairs, 2), (*before[1], pairs, n, 2)
        a["pertoken_scale"] = rng.integers(110, 140, of_rows, np.uint8)
        a["scale"] = rng.integers(110, 140, of_columns, np.uint8)
    return a


def sprinkled(rng: Rng, a: Arguments) -> Arguments:
    """Return the arguments with special values among scales, offsets and biases."""
    a = sprinkle(rng, a, [name for name in ("offset", "bias") if name in a], every=8)
    extremes = [*SPECIALS, -3e-39, 3e38, 1e-30]
    return sprinkle(rng, a, ("scale", "pertoken_scale"), extremes, every=8)


def sprinkled_codes(rng: Rng, a: Arguments) -> Arguments:
    """The same, with every code of small floats in some places, and bytes at the ends of E8M0."""
    a = sprinkled(
        rng, {name: v.copy() if isinstance(v, np.ndarray) else v for name, v in a.items()}
    )
    for name in ("x1", "x2", "scale", "pertoken_scale"):
        if a[name] is None or a[name].dtype.itemsize > 1 or a[name].size < 2:
            continue
        flat = a[name].view(np.uint8).reshape(-1)
        where = rng.integers(flat.size, size=max(1, flat.size // 200))
        is_scale = name.endswith("scale")
        flat[where] = rng.choice([0, 1, 2, 253, 254, 255] if is_scale else 256, where.size)
    return a


BATCHES = [((3,), (3,)), ((2, 1), (3,)), ((), (2,)), ((4,), (1,)), ((2, 3), ())]
WHOLE = Case(
    name="quant_matmul",
    operator=npu_quant.npu_quant_matmul,
    reference=reference,
    arguments=of_integers,
    sprinkled=sprinkled,
    rows=("x1",),
    kinds=kinds(to=["int32", "int8", "float16", "bfloat16"], codes=["int8", "int4"]),
    in_memory=kinds(to=["int8", "float16"], codes=["int8", "int4"]) | kinds(to=["int32"]),
    formulas={
        "combinations": settings(
            (5, 19), (19, 8), kind=["float32", "bfloat16", "int64"], bias=BIASES
        ),
        "one scale": settings((5, 19), one=[True], pertoken=[True, False], bias=BIASES[1:3]),
        "no offset": settings((5, 19), offset=[False], kind=["float32", "int64"]),
        "rows": settings((9, 33), (1, 24), pertoken=[True], bias=BIASES),
        "widths": settings(*[(6, n) for n in WIDTHS], pertoken=[True]),
        "heights": settings(*[(m, 24) for m in ROWS]),
        "depths": settings((7, 40), k=DEPTHS),
        "batches": settings((5, 8), before=BATCHES, pertoken=[True]),
        "a bias for each": settings((5, 8), before=BATCHES[:1], bias=BIASES),
    },
    layouts=settings((13, 33), (7, 24), bias=[FLOAT32]),
    outs=settings((5, 70), (70, 130)),
    threads=settings((70, 130), (2, 3001), (900, 24), to=["int8", "int32"], k=[72, 600]),
    large=settings((19, 420), to=["float16"]),
    stacks=False,
    same=assert_same_but_nan,
)
CASES = [
    WHOLE,
    replace(
        WHOLE,
        name="quant_matmul_groups",
        arguments=in_groups,
        rows=("x1", "pertoken_scale"),
        kinds=kinds(to=["float16", "bfloat16"], codes=["int4", "int8"]),
        in_memory=kinds(to=["float16"], codes=["int4", "int8"]),
        formulas={
            "offsets": settings((5, 19), (1, 24), offset=[True, False]),
            "groups": settings((7, 40), g=[8, 16, 32, 128, 256], groups=[0, 1, 2, 5]),
            "shapes": settings((1, 1), (6, 64), (7, 65), (385, 8), (12, 257)),
        },
        layouts=settings((13, 33), (7, 24)),
        threads=settings((70, 130), (2, 3001), (900, 24), to=["float16"]),
    ),
    replace(
        WHOLE,
        name="quant_matmul_floats",
        arguments=of_floats,
        sprinkled=sprinkled_codes,
        rows=("x1", "pertoken_scale"),
        kinds=kinds(to=["float16", "bfloat16", "float32"], codes=SMALL_FLOATS + MX),
        in_memory=kinds(to=["float32"], codes=SMALL_FLOATS + MX),
        formulas={
            "scales": settings((5, 19), (1, 24), kind=["float32", "int64"], bias=[None, FLOAT32]),
            "depths": settings((7, 40), k=DEPTHS[:-2]),
            "shapes": settings((1, 1), (6, 64), (7, 65), (385, 8), (12, 257), k=[40]),
            "batches": settings((5, 8), before=BATCHES),
        },
        layouts=settings((13, 33), (7, 24)),
        threads=settings((70, 130), (2, 1001), (300, 24), to=["float32"], codes=SMALL_FLOATS[:1]),
        large=settings((19, 420), to=["float32"]),
    ),
]
