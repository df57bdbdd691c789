"""npu_grouped_matmul_swiglu_quant and its second version: codes of all kinds, groups of rows."""

from __future__ import annotations

from typing import Any

import numpy as np
from witnesses import Array

import npu_quant
from cases.case import Arguments, Case, Rng, kinds, settings, sprinkle
from npu_quant import _codes
from npu_quant.ops import grouped_matmul_swiglu_quant_v2 as second
from npu_quant.ops.grouped_matmul_swiglu_quant import reference

CODES = ["int8", "int4", "int4 along K"]
BOTH = [True, False]
SECOND = [*CODES, "int4 by int4", "mx"]
# Around vectors and panels of columns, of which halves become codes.
WIDTHS = [2, 6, 14, 16, 18, 32, 34, 64, 66, 128, 254, 256, 258, 520]
DEPTHS = [1, 2, 3, 31, 32, 33, 127, 128, 129, 257, 1030]
ROWS = [1, 2, 5, 6, 7, 13, 383, 384, 385, 800]


def packed(values: Array, along: int) -> Array:
    """Pack codes of int4, eight to an int32, along an axis."""
    turned = np.ascontiguousarray(values.swapaxes(along, -1))
    return np.ascontiguousarray(_codes.packed(turned, np.int32).swapaxes(along, -1))


def weights(rng: Rng, shape: tuple[int, int, int], codes: str) -> Array:
    """Return codes of int8, or of int4 in words that lie along N or K."""
    if codes == "int8":
        return rng.integers(-128, 128, shape, np.int8)
    return packed(rng.integers(-8, 8, shape, np.int8), -1 if codes == "int4" else -2)


def ends_of(rng: Rng, rows: int, experts: int, behind: bool) -> Array:
    """Return ends of groups, some of them empty; the last one is of all rows, or before."""
    ends = np.sort(rng.integers(0, rows + 1, experts))
    ends[:1] = 0 if experts > 2 else ends[:1]
    ends[-1] = max(ends[-1] - 1, 0) if behind else rows
    return np.maximum.accumulate(np.minimum(ends, ends[-1])).astype(np.int64)


def carriers(rng: Rng, scale: Array) -> Array:
    """Return int64 scales: a float32 in the lower half, any bits in the upper one."""
    words = scale.view(np.uint32).astype(np.int64)
    return words | rng.integers(0, 2**31, scale.shape) << 32


def spread(rng: Rng, shape: Any, around: float) -> Array:
    """Return scales of any sign, of some magnitudes."""
    signs = rng.choice([1, -1], shape, p=[0.8, 0.2])
    return (np.exp(rng.uniform(-2, 1, shape)) * around * signs).astype(np.float32)


def arguments(
    rng: Rng,
    shape: tuple[int, int],
    codes: str = "int8",
    *,
    n: int = 24,
    experts: int = 1,
    groups: int = 0,
    carried: bool = False,
    behind: bool = False,
) -> Arguments:
    """Return arguments whose products are spread around 1, where swish bends.

    K and N are as the words of the weight need them.
    """
    (m, k), is_int4 = shape, codes != "int8"
    codes = codes if k > 0 or not is_int4 else "int4"  # the first that fits
    k = -k // 8 * -8 if codes == "int4 along K" else k
    k = k // max(groups, 1) * max(groups, 1)
    n = -n // 8 * -8 if codes == "int4" else n
    around = 1 / (5400 if not is_int4 else 350) / max(k, 1) ** 0.5
    of_weight = (experts, groups, n) if groups else (experts, n)
    scale = spread(rng, of_weight, around)
    bias = rng.standard_normal((experts, n)).astype(np.float32)
    return {
        "x": rng.integers(-128, 128, (m, k), np.int8),
        "weight": weights(rng, (experts, k, n), codes),
        "group_list": ends_of(rng, m, experts, behind),
        "weight_scale": carriers(rng, scale) if carried else scale,
        "x_scale": spread(rng, m, 2),
        "bias": bias if is_int4 else None,
    }


def of_second(
    rng: Rng,
    shape: tuple[int, int],
    codes: str = "int8",
    *,
    counts: bool = False,
    smooth: str = "",
    **more: Any,
) -> Arguments:
    """Return those of the second version: codes of x and weight, or "mx"."""
    of_weight = {"int4 by int4": "int4", "mx": "int8"}.get(codes, codes)
    k = shape[1] if codes != "int4 by int4" else -shape[1] // 8 * -8
    a = arguments(rng, (shape[0], k), of_weight, **more)
    assist, experts = a.pop("bias"), len(a["group_list"])
    n = a["weight_scale"].shape[-1]
    if counts:
        a["group_list"] = np.diff(a["group_list"], prepend=0)
    a |= {"weight_assist_matrix": assist, "group_list_type": int(counts)}
    if a["weight_scale"].ndim == 3:
        a["dequant_mode"] = 1
    if codes == "int4 by int4":
        x = packed(rng.integers(-8, 8, (shape[0], k), np.int8), -1)
        factors = spread(rng, (experts, n // 2) if smooth == "each" else experts, 1)
        a |= {"x": x, "weight_assist_matrix": None}
        if a["weight_scale"].dtype == np.float32:
            a["weight_scale"] = a["weight_scale"] * np.float32(12)
        a["smooth_scale"] = factors if smooth else None
    if codes == "mx":
        a |= in_blocks(rng, a["x"].shape, a["weight"].shape)
    return a


def in_blocks(rng: Rng, of_x: tuple[int, ...], of_weight: tuple[int, ...]) -> Arguments:
    """Return codes of float8_e4m3fn, and powers of two for 32 of them along k."""
    pairs = -(-of_x[1] // 64)
    x, weight = (rng.integers(0, 0x7F, shape, np.uint8) for shape in (of_x, of_weight))
    x, weight = x | rng.choice([0, 128], of_x), weight | rng.choice([0, 128], of_weight)
    scale = rng.integers(110, 122, (of_weight[0], pairs, of_weight[2], 2), np.uint8)
    return {
        "x": x.astype(np.uint8).view("float8_e4m3fn"),
        "weight": weight.astype(np.uint8).view("float8_e4m3fn"),
        "weight_scale": scale,
        "x_scale": rng.integers(110, 122, (of_x[0], pairs, 2), np.uint8),
        "dequant_mode": 2,
        "quant_mode": 2,
        "quant_dtype": "float8_e4m3fn",
    }


def sprinkled_second(rng: Rng, a: Arguments) -> Arguments:
    """Put special values among the scales and factors, or bytes of all kinds."""
    if a["x_scale"].dtype == np.float32:
        renamed = sprinkled(rng, a | {"bias": a["weight_assist_matrix"]})
        renamed["weight_assist_matrix"] = renamed.pop("bias")
        smooth = [name for name in ("smooth_scale",) if name in renamed]
        return sprinkle(rng, renamed, smooth)
    a = a | {"x_scale": a["x_scale"].copy(), "weight_scale": a["weight_scale"].copy()}
    for name, share in (("x_scale", 0.05), ("weight_scale", 0.005)):
        some = rng.random(a[name].shape) < share
        a[name][some] = rng.choice([0, 1, 200, 254, 255], int(some.sum()))
    return a


def sprinkled(rng: Rng, a: Arguments) -> Arguments:
    """Put special values among the scales of few rows and columns."""
    a = sprinkle(rng, a, ("x_scale",), every=7)
    if rng.integers(2):
        return a
    return sprinkle(rng, a, ("weight_scale", "bias"), every=60)


CASES = [
    Case(
        name="grouped_matmul_swiglu_quant",
        operator=npu_quant.npu_grouped_matmul_swiglu_quant,
        reference=reference,
        arguments=arguments,
        sprinkled=sprinkled,
        fields=("y", "scale", "offset"),
        rows=("x", "x_scale"),
        kinds=kinds(codes=CODES),
        formulas={
            "widths": settings(*[(5, 40)], n=WIDTHS),
            "depths": settings(*[(3, k) for k in DEPTHS]),
            "rows": settings(*[(m, 24) for m in ROWS], experts=[1, 3], behind=[True]),
            "experts": settings((40, 16), experts=[1, 2, 9, 40], behind=BOTH),
            "groups": (
                settings((7, 96), (3, 520), groups=[0, 1, 2, 8, 24], carried=BOTH),
                kinds(codes=CODES[1:]),
            ),
            "some rows at a time": (
                settings((900, 8), n=[6000], experts=[1, 5], behind=[True]),
                kinds(codes=CODES[:1]),
            ),
        },
        layouts=settings((9, 40), (5, 136), experts=[3], behind=[True]),
        outs=settings((9, 40), (5, 24), n=[24, 136], experts=[3], behind=[True]),
        guards={"experts": [2], "behind": BOTH},
        threads=settings((400, 64), codes=["int8", "int4"], n=[520], experts=[1, 7]),
        large=[],
        stacks=False,
    ),
    Case(
        name="grouped_matmul_swiglu_quant_v2",
        operator=npu_quant.npu_grouped_matmul_swiglu_quant_v2,
        reference=second.reference,
        arguments=of_second,
        sprinkled=sprinkled_second,
        fields=("y", "scale"),
        lists=("weight", "weight_scale", "weight_assist_matrix"),
        rows=("x", "x_scale"),
        kinds=kinds(codes=SECOND),
        formulas={
            "widths": settings(*[(5, 40)], n=WIDTHS),
            "depths": settings(*[(3, k) for k in (1, 31, 32, 33, 64, 65, 257)]),
            "experts": settings((40, 16), experts=[1, 2, 9], behind=BOTH, counts=BOTH),
            "smooth": (
                settings((40, 16), experts=[1, 9], behind=BOTH, smooth=["one", "each"]),
                kinds(codes=["int4 by int4"]),
            ),
            "words": (settings((40, 16), carried=[True]), kinds(codes=["int4 by int4"])),
            "groups": (
                settings((7, 96), groups=[1, 2, 8], carried=BOTH),
                kinds(codes=["int4", "int4 along K"]),
            ),
            "some rows at a time": (
                settings((900, 8), n=[6000], experts=[5], behind=[True]),
                kinds(codes=["int4 by int4"]),
            ),
        },
        layouts=settings((9, 40), (5, 136), experts=[3], behind=[True]),
        outs=settings((9, 40), (5, 24), n=[24, 136], experts=[3], behind=[True]),
        guards={"experts": [2], "behind": BOTH},
        threads=settings((400, 64), codes=["mx", "int4 by int4"], n=[520], experts=[1, 7]),
        large=[],
        stacks=False,
    ),
]
