"""Formulas of npu_grouped_matmul and npu_dual_level_quant_matmul."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import ml_dtypes
import numpy as np

from . import BF16, F32, Outputs, Wrong, codes, to
from .glu import exp
from .matmul import CODES, VALUES
from .products import WEIGHTS, added

Made = tuple[dict[str, Any], Outputs]
Groups = list[tuple[int, int, int]]
GROUPED, DUAL = "npu_grouped_matmul", "npu_dual_level_quant_matmul"
ROWS, COLUMNS = 40, 24
BOUNDS = [(0, 0, 13), (1, 13, 13), (2, 13, 37)]
"""The weight of each group, its first row, and the one behind it: three rows are of none."""
LISTS: dict[str, tuple[int, Any, Groups]] = {
    "reference": (0, [13, 13, 37], BOUNDS),
    "group_list as counts": (0, [13, 13, 37], [(0, 0, 13), (1, 13, 26), (2, 26, 37)]),
    "group_list as ends": (1, [13, 9, 18], [(0, 0, 13), (2, 13, 22)]),
    "weights in order": (2, [[2, 13], [0, 24], [1, 0]], [(0, 0, 13), (1, 13, 37)]),
    "first weight for all": (0, [13, 13, 37], [(0, 0, 37)]),
}
"""What is wrong with a list: its type, it, and what is made of it."""


def by_groups(multiply: Callable[[int, slice], Any], groups: Groups = BOUNDS) -> Any:
    """Return the products of groups, and zeros for rows of none."""
    made = [multiply(e, slice(first, last)) for e, first, last in groups]
    y = np.concatenate(made)
    return np.pad(y, ((0, ROWS - len(y)), (0, 0)))


def arguments(x: Any, weight: Any, name: str = "reference", **own: Any) -> dict[str, Any]:
    """Return the arguments of a call, all in lists."""
    kind, groups, _ = LISTS.get(name, LISTS["reference"])
    a = {"x": [x], "weight": [weight], "split_item": 3, "group_type": 0}
    a |= {"group_list": np.array(groups), "group_list_type": kind}
    alone = ("output_dtype", "act_type")
    return a | {n: v if n in alone else [v] for n, v in own.items()}


def packed(whole: Any) -> Any:
    """Pack int4, eight to an int32."""
    pieces = (whole.reshape(*whole.shape[:-1], -1, 8) & 15) << np.arange(0, 32, 4)
    return pieces.sum(-1).astype(np.uint32).view(np.int32)


def integers(rng: Any, low: int, high: int, k: int = 96) -> tuple[Any, Any]:
    return rng.integers(low, high, (ROWS, k)), rng.integers(-8, 8, (3, k, COLUMNS))


def of_int8(name: str, dtype: Any) -> Made:
    """Values whose bias takes most of them away, so that every rounding shows."""
    rng = np.random.default_rng(20240607)
    x, weight = integers(rng, -128, 128)
    scale, rows = F32(rng.uniform(1, 2, (3, COLUMNS)) / 2**6), F32(rng.uniform(0.5, 2, ROWS))
    bias = -F32((x[[0, 20, 30]][:, None] @ weight)[:, 0] * scale)

    def multiply(e: int, own: slice) -> Any:
        acc = F32(x[own] @ weight[e])
        formula = VALUES[name if name in VALUES else "reference"]
        return formula(acc, scale[e], rows[own, None], bias[e], to(dtype))

    y = by_groups(multiply, LISTS.get(name, LISTS["reference"])[2]).astype(dtype)
    own = {"scale": scale, "per_token_scale": rows, "bias": bias, "output_dtype": dtype}
    return arguments(x.astype(np.int8), weight.astype(np.int8), name, **own), (y,)


# Of values and what rounds to 16 bits.
ACTS: dict[str, Callable[..., Any]] = {
    "reference": lambda v, r: v / (1 + exp(-v)),
    "a * sigmoid(a)": lambda v, r: v * (1 / (1 + exp(-v))),
    "swish of float64": lambda v, r: F32(v / (1 + np.exp(-v.astype(float)))),
    "swish of 1.702 * a": lambda v, r: v / (1 + exp(-(F32(1.702) * v))),
    "activation ignored": lambda v, r: v,
    "value in 16 bits before the activation": lambda v, r: ACTS["reference"](r(v), r),
}


def activated(name: str) -> Made:
    a = of_int8("reference", BF16)[0]
    a["scale"] = [a["scale"][0] / 256]
    x, weight, scale, rows = (a[n][0] for n in ("x", "weight", "scale", "per_token_scale"))

    def multiply(e: int, own: slice) -> Any:
        acc = F32(x[own].astype(int) @ weight[e].astype(int))
        return ACTS[name](acc * scale[e] * rows[own, None], to(BF16))

    del a["bias"]
    return a | {"act_type": 5}, (by_groups(multiply).astype(BF16),)


def rectified(is_ignored: bool) -> Made:
    a, (y,) = of_int8("reference", np.float16)
    return a | {"act_type": 1}, (y if is_ignored else np.where(y <= 0, np.float16(0), y),)


def of_codes(name: str) -> Made:
    """Codes of which many are ties."""
    rng = np.random.default_rng(20240607)
    x, weight = integers(rng, -128, 128)
    scale, offset = (
        F32(2.0 ** rng.integers(-9, -6, (3, COLUMNS))),
        rng.integers(-9, 9, (3, COLUMNS)),
    )
    word = scale.view(np.uint32).astype(np.int64) | (offset & 0x1FF) << 37 | 1 << 46

    def multiply(e: int, own: slice) -> Any:
        return codes(CODES[name](F32(x[own] @ weight[e]) * scale[e], offset[e]))

    a = arguments(x.astype(np.int8), weight.astype(np.int8), scale=word)
    return a, (by_groups(multiply),)


def of_sums(name: str) -> Made:
    rng = np.random.default_rng(20240607)
    x, weight = integers(rng, -128, 128)
    bias = rng.integers(-(2**20), 2**20, (3, COLUMNS)).astype(np.int32)
    groups = LISTS.get(name, LISTS["reference"])[2]
    factor = name != "bias of sums ignored"
    y = by_groups(lambda e, own: x[own] @ weight[e] + factor * bias[e], groups)
    own = {"bias": bias, "output_dtype": "int32"}
    a = arguments(x.astype(np.int8), weight.astype(np.int8), name, **own)
    return a, (y.astype(np.int32),)


def of_int4(name: str, is_wide: bool) -> Made:
    """Three groups along k, of int8 or of int4."""
    rng = np.random.default_rng(20240607)
    x, weight = integers(rng, *((-128, 128) if is_wide else (-8, 8)))
    scale, rows = F32(rng.uniform(0.5, 2, (3, 3, COLUMNS)) / 64), F32(rng.uniform(0.5, 2, ROWS))
    bias = F32(rng.standard_normal((3, COLUMNS)) * is_wide)

    def total(e: int, factors: Any, kind: Any = F32) -> Any:
        added = kind(0)
        for j, part in enumerate(np.split(factors, 3, 1)):
            product = F32(part @ weight[e, 32 * j : 32 * j + 32])
            scaled = product.astype(float) if kind is float else product
            added = added + (scaled * scale[e, j]).astype(kind)
        return F32(added)

    def multiply(e: int, own: slice) -> Any:
        numbers = x[own] - 8 * is_wide
        halves = x[own] // 16, x[own] % 16 - 8
        if name.startswith("halves"):
            kind = np.float16 if name.endswith("fp16") else F32
            t = F32(16) * total(e, halves[0], kind) + total(e, halves[1], kind)
        else:
            t = total(e, numbers, float if name == "rounded once" else F32)
        t = t + bias[e] * F32(name != "bias of sums ignored")
        return t if name == "per_token_scale ignored" else t * rows[own, None]

    left = x.astype(np.int8) if is_wide else packed(x)
    own: dict[str, Any] = {"scale": scale, "per_token_scale": rows, "output_dtype": np.float16}
    own |= {"bias": bias} if is_wide else {}
    return arguments(left, packed(weight), **own), (by_groups(multiply).astype(np.float16),)


def pieces(x: Any, w: Any, size: int) -> Any:
    """Add up exact sums of so many products, each rounded to float32."""
    total = np.zeros((len(x), w.shape[1]), F32)
    for k in range(0, len(w), size):
        total = total + F32(x[:, k : k + size].astype(float) @ w[k : k + size].astype(float))
    return total


def backwards(x: Any, w: Any) -> Any:
    """Add up products in float32 from the last one on, which no formula with a name does."""
    total = np.zeros((len(x), w.shape[1]), F32)
    for left, right in zip(x.T[::-1].astype(float), w[::-1].astype(float), strict=True):
        total = total + F32(np.outer(left, right))
    return total


# Of both factors.
ORDERS: dict[str, Callable[[Any, Any], Any]] = {
    "reference": added,
    "one k after another": partial(pieces, size=1),
    "16 k at a time": partial(pieces, size=16),
    "rounded once": partial(pieces, size=1 << 20),
}


def of_floats(name: str, add: Any = None) -> Made:
    rng = np.random.default_rng(20240607)
    x, weight = F32(rng.standard_normal((ROWS, 140))), F32(rng.standard_normal((3, 140, COLUMNS)))
    bias = F32(rng.standard_normal((3, COLUMNS)))
    add = add or ORDERS.get(name, added)
    factor = F32(name != "float bias ignored")
    y = by_groups(lambda e, own: add(x[own], weight[e]) + bias[e] * factor)
    return arguments(x, weight, bias=bias), (y,)


def along_k(name: str) -> Made:
    """Groups of columns of x: the second has none, and 3 columns are of none."""
    rng = np.random.default_rng(20240607)
    x, weight = (F32(rng.standard_normal(shape)) for shape in ((9, 40), (40, 7)))
    groups = LISTS[name][2]
    y = np.zeros((3, 9, 7), F32)
    for e, first, last in groups:
        y[e] = added(x[:, first:last], weight[first:last]) if last > first else 0
    return arguments(x, weight, name) | {"group_type": 2}, (y,)


def of_weights(name: str, dtype: Any, add: Any = added) -> Made:
    """Weights of codes, in two groups along k."""
    rng = np.random.default_rng(20240607)
    x = rng.uniform(-2, 2, (ROWS, 144)).astype(dtype)
    weight = rng.integers(-8, 8, (3, 144, COLUMNS))
    scale = rng.uniform(0.05, 0.1, (3, 2, COLUMNS)).astype(dtype)
    offset = rng.uniform(-3, 3, (3, 2, COLUMNS)).astype(dtype)
    bias = F32(rng.standard_normal((3, COLUMNS))).astype(np.float16 if dtype == np.float16 else F32)
    formula = WEIGHTS.get(name, WEIGHTS["reference"])

    def multiply(e: int, own: slice) -> Any:
        s, o = (np.repeat(F32(p[e]), 72, 0) for p in (scale, offset))
        t = add(F32(x[own]), formula(F32(weight[e]), s, o, to(dtype)))
        if name == "float bias ignored":
            return t
        is_narrow = name == "product in 16 bits before the bias"
        return (to(dtype)(t) if is_narrow else t) + F32(bias[e])

    own = {"antiquant_scale": scale, "antiquant_offset": offset, "bias": bias}
    return arguments(x, packed(weight), **own), (by_groups(multiply).astype(dtype),)


def of_mx(name: str, add: Any = None) -> Made:
    """Three blocks along k, the last of 6."""
    rng = np.random.default_rng(20240607)
    kind = ml_dtypes.float8_e4m3fn
    x, weight = (F32(rng.standard_normal(s)).astype(kind) for s in ((ROWS, 70), (3, 70, COLUMNS)))
    rows = rng.integers(124, 131, (ROWS, 2, 2), np.uint8)
    columns = rng.integers(124, 131, (3, 2, COLUMNS, 2), np.uint8)
    left = F32(x) * np.repeat(2.0 ** (rows.reshape(ROWS, 4) - 127.0), 32, 1)[:, :70]
    powers = 2.0 ** (columns.swapaxes(2, 3).reshape(3, 4, COLUMNS) - 127.0)
    right = F32(weight) * np.repeat(powers, 32, 1)[:, :70]
    add = add or (partial(pieces, size=32) if name == "reference" else ORDERS[name])
    y = by_groups(lambda e, own: add(left[own], right[e]))
    own = {"scale": columns, "per_token_scale": rows, "output_dtype": "float32"}
    return arguments(x, weight, **own), (y,)


E2M1 = np.array([0, 0.5, 1, 1.5, 2, 3, 4, 6])
# Of the sum of 512 k, and the scales of its row and column.
LEVELS: dict[str, Callable[..., Any]] = {
    "reference": lambda p, row, column: p * row * column,
    "x2_level0_scale first": lambda p, row, column: p * column * row,
    "level 0 scales multiplied first": lambda p, row, column: p * (row * column),
    "x1_level0_scale ignored": lambda p, row, column: p * column,
    "x2_level0_scale ignored": lambda p, row, column: p * row,
    "sums of 512 k in bf16": lambda p, row, column: to(BF16)(p) * row * column,
}
PIECES = {"reference": 32, "512 k at a time": 512, "one k after another": 1, "16 k at a time": 16}


def of_levels(name: str, add: Any = None) -> Made:
    """Two levels, the second of 40 k; rows differ little, so that the bias takes them away."""
    rng = np.random.default_rng(20240607)
    x1, x2 = np.tile(rng.integers(0, 256, (1, 276)), (20, 1)), rng.integers(0, 256, (8, 276))
    x1[:, ::97] = rng.integers(0, 256, (20, 3))
    level1 = [np.tile(rng.integers(116, 139, (1, 9, 2)), (20, 1, 1))]
    level1 += [rng.integers(116, 139, (8, 9, 2))]
    level0 = F32(rng.uniform(0.999, 1.001, (20, 2))), F32(rng.uniform(0.5, 2, (2, 8)))
    numbers = []
    for x, b in zip((x1, x2), level1, strict=True):
        nibbles = np.stack([x & 15, x >> 4], -1).reshape(len(x), 552)
        values = E2M1[nibbles & 7] * np.where(nibbles & 8, -1, 1)
        numbers.append(values * np.repeat(2.0 ** (b.reshape(len(b), 18) - 127), 32, 1)[:, :552])

    def total(name: str) -> Any:
        v = F32(0)
        for j, k in enumerate((slice(0, 512), slice(512, 552))):
            by = add or partial(pieces, size=PIECES.get(name, 32))
            p = by(numbers[0][:, k], numbers[1][:, k].T)
            v = v + LEVELS.get(name, LEVELS["reference"])(p, level0[0][:, j, None], level0[1][j])
        return v

    bias = -total("reference")[11]
    v = total(name)
    if name == "rounded once":
        every = (
            np.repeat(level0[0].astype(float), 512, 1),
            np.repeat(level0[1].astype(float), 512, 0),
        )
        v = F32((numbers[0] * every[0][:, :552]) @ (numbers[1].T * every[1][:552]))
    y = (v + bias * F32(name != "float bias ignored")).astype(BF16)
    a: dict[str, Any] = {"x1": x1.astype(np.uint8), "x2": x2.astype(np.uint8), "bias": bias}
    for i in range(2):
        a[f"x{i + 1}_level0_scale"] = level0[i]
        a[f"x{i + 1}_level1_scale"] = level1[i].astype(np.uint8)
    return a, (y,)


def row(
    name: str, make: Callable[[], Made], words: str, is_benign: bool, told: bool = True
) -> Wrong:
    return Wrong(GROUPED, name, is_benign, make, words, told and name != "reference")


def wrongs() -> Iterator[Wrong]:
    """Return a row per formula and form."""
    for i, name in enumerate(VALUES):
        own = name.replace("pertoken", "per_token")
        for dtype in (np.float16, BF16):
            make, words = partial(of_int8, name, dtype), f"{np.dtype(dtype).name}-int8"
            yield row(own, make, words, i < 3, i >= 3)
    for name in list(LISTS)[1:]:
        yield row(name, partial(of_int8, name, np.float16), "lists", False)
        yield row(name, partial(of_sums, name), "sums of lists", False)
    yield row("group_list as counts", partial(along_k, "group_list as counts"), "along k", False)
    yield row("bias of sums ignored", partial(of_sums, "bias of sums ignored"), "sums", False)
    for i, name in enumerate(ACTS):
        yield row(name, partial(activated, name), "swish", i < 3, i >= 3)
    yield row("activation ignored", partial(rectified, True), "relu", False)
    yield row("reference", partial(rectified, False), "relu", True)
    for name in CODES:
        yield row(name, partial(of_codes, name), "codes", name == "reference")
    of_groups = ["reference", "rounded once", "per_token_scale ignored"]
    for name in [*of_groups, "halves of x apart", "halves of x in fp16", "bias of sums ignored"]:
        is_benign = name in ("reference", "rounded once", "halves of x apart")
        yield row(name, partial(of_int4, name, True), "int8 by int4", is_benign, not is_benign)
        if name in of_groups:
            yield row(name, partial(of_int4, name, False), "int4", is_benign, not is_benign)
    for name in [*ORDERS, "float bias ignored"]:
        yield row(name, partial(of_floats, name), "floats", name in ORDERS)
    for name in ORDERS:
        yield row(name, partial(of_mx, name), "mx", True)
    for name in [*WEIGHTS, "float bias ignored", "product in 16 bits before the bias"]:
        own = name.replace("offset", "antiquant_offset")
        for dtype in (np.float16, BF16):
            make, words = partial(of_weights, name, dtype), f"{np.dtype(dtype).name}-weights"
            yield row(own, make, words, name == "reference")
    for name in [*LEVELS, *list(PIECES)[1:], "rounded once", "float bias ignored"]:
        is_benign = name in list(LEVELS)[:3] or name in PIECES or name == "rounded once"
        yield Wrong(DUAL, name, is_benign, partial(of_levels, name), "", name != "reference")
