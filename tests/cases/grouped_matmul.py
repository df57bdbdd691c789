"""npu_grouped_matmul: every form of operands, groups of rows of every length."""

from __future__ import annotations

import ml_dtypes
import numpy as np
from witnesses import Array, assert_same_but_nan

import npu_quant
from cases.case import DTYPES, FLOAT32, SPECIALS, Arguments, Case, DType, Rng, settings, sprinkle
from npu_quant.ops.grouped_matmul import reference

FLOAT16, BFLOAT16, _ = DTYPES
LISTS = ("x", "weight", "bias", "scale", "antiquant_scale", "antiquant_offset", "per_token_scale")
GROUPS = 3
INT32, INT8 = np.dtype(np.int32), np.dtype(np.int8)
FORMS = {
    "float16": {"form": "plain", "to": FLOAT16},
    "bfloat16": {"form": "plain", "to": BFLOAT16},
    "float32": {"form": "plain", "to": FLOAT32},
    "sums": {"form": "a8w8", "to": INT32},
    "codes": {"form": "a8w8", "to": INT8},
    "a8w8": {"form": "a8w8", "to": BFLOAT16},
    "a8w4": {"form": "a8w4", "to": FLOAT16},
    "a4w4": {"form": "a4w4", "to": BFLOAT16},
    "a16w8": {"form": "a16w8", "to": FLOAT16},
    "a16w4": {"form": "a16w4", "to": BFLOAT16},
    "mx": {"form": "mx", "to": FLOAT32},
    "mx of float4": {"form": "mx4", "to": FLOAT16},
}


def words(rng: Rng, shape: tuple[int, ...], codes: str = "int4") -> Array:
    """Return random codes, eight or two of which share an element of the last axis."""
    if codes == "float4":
        return rng.integers(0, 256, (*shape[:-1], shape[-1] // 2)).astype(np.uint8)
    return rng.integers(-(2**31), 2**31, (*shape[:-1], shape[-1] // 8)).astype(np.int32)


def operands(rng: Rng, form: str, m: int, k: int, n: int, to: DType) -> tuple[Array, Array]:
    """Return x and a stack of weights."""
    stack = (GROUPS, k, n)
    if form in ("a8w8", "a8w4"):
        x = rng.integers(-128, 128, (m, k)).astype(np.int8)
        w = rng.integers(-128, 128, stack).astype(np.int8)
        return x, w if form == "a8w8" else words(rng, stack)
    if form == "a4w4":
        return words(rng, (m, k)), words(rng, stack)
    if form == "mx4":
        return words(rng, (m, k), "float4"), words(rng, stack, "float4")
    x, values = rng.standard_normal((m, k)), rng.standard_normal(stack)
    if form == "mx":
        return x.astype(ml_dtypes.float8_e4m3fn), values.astype(ml_dtypes.float8_e4m3fn)
    if form == "plain":
        return x.astype(to), values.astype(to)
    codes = rng.integers(-128, 128, stack).astype(np.int8)
    return x.astype(to), codes if form == "a16w8" else words(rng, stack)


def parameters(rng: Rng, form: str, m: int, k: int, n: int, to: DType, parts: int) -> Arguments:
    """Return what goes with them."""
    columns, rows = (GROUPS, n), (GROUPS, parts, n)
    tokens = rng.uniform(0.5, 2, m).astype(np.float32)
    if form in ("plain", "a16w8", "a16w4"):
        bias = rng.standard_normal(columns).astype(FLOAT16 if to == FLOAT16 else FLOAT32)
        if form == "plain":
            return {"bias": bias}
        where = columns if form == "a16w8" or parts == 1 else rows
        scale = (rng.uniform(-1, 1, where) / 64).astype(to)
        offset = rng.uniform(-4, 4, where).astype(to)
        return {"bias": bias, "antiquant_scale": scale, "antiquant_offset": offset}
    if form.startswith("mx"):
        pairs = -(-k // 64)
        scale = rng.integers(120, 134, (GROUPS, pairs, n, 2)).astype(np.uint8)
        tokens = rng.integers(120, 134, (m, pairs, 2)).astype(np.uint8)
        bias = rng.standard_normal(columns).astype(np.float32)
        return {"bias": bias, "scale": scale, "per_token_scale": tokens}
    if form == "a8w8":
        bias = rng.integers(-(2**31), 2**31, columns).astype(np.int32) >> 16
        if to == INT32:
            return {"bias": bias}
        scale = (rng.uniform(-1, 1, columns) / 4096).astype(np.float32)
        if to == INT8:
            carried = npu_quant.npu_trans_quant_param(scale, scale * 9e3)
            return {"bias": bias, "scale": carried}
        return {"bias": (bias / 9e3).astype(np.float32), "scale": scale, "per_token_scale": tokens}
    scale = (rng.uniform(-1, 1, rows) / 999).astype(np.float32)
    more = {"bias": rng.standard_normal(columns).astype(np.float32)} if form == "a8w4" else {}
    return {"scale": scale, "per_token_scale": tokens} | more


def arguments(
    rng: Rng,
    shape: tuple[int, ...],
    to: DType,
    form: str,
    n: int = 24,
    parts: int = 2,
    list_type: int | None = None,
    act: int = 0,
) -> Arguments:
    """Return arguments of three groups of rows, and some rows behind; K and N as words need them.

    Without a type of the list, of one weight for all rows, which are scaled alike.
    """
    m, k = shape
    if "4" in form:
        k, n = -k // 16 * -16, -n // 8 * -8
    parts = parts if k % (parts * 2) == 0 else 1
    x, weight = operands(rng, form, m, k, n, to)
    a: Arguments = {"x": x, "weight": weight} | parameters(rng, form, m, k, n, to, parts)
    a |= {"output_dtype": to, "split_item": 3}
    a["act_type"] = act if form == "a8w8" and to == BFLOAT16 else 0
    if list_type is None:
        of_weight = [name for name in a if name in LISTS[1:-1]]
        if "per_token_scale" in a:
            a["per_token_scale"][:] = a["per_token_scale"][:1]
        return a | {name: a[name][0] for name in of_weight}
    ends = np.sort(rng.integers(0, m + 1, GROUPS))
    counts = np.diff(ends, prepend=0)
    lists = (ends, counts, np.stack([[2, 0, 1], counts], axis=1))
    return a | {"group_list": lists[list_type], "group_type": 0, "group_list_type": list_type}


def sprinkled(rng: Rng, a: Arguments) -> Arguments:
    """Return the arguments with special values among the floats."""
    names = [n for n in ("antiquant_scale", "antiquant_offset", "bias") if n in a]
    a = sprinkle(rng, a, names, every=12)
    if a["x"].dtype.name in ("float16", "bfloat16", "float32"):
        return sprinkle(rng, a, ("x",), [*SPECIALS, 6e4, -3e-7], every=300)
    if a["x"].dtype.name == "float8_e4m3fn":
        return sprinkle(rng, a, ("x",), [np.nan, 448.0, -0.0], every=300)
    return a


CASES = [
    Case(
        name="grouped_matmul",
        operator=npu_quant.npu_grouped_matmul,
        reference=reference,
        arguments=arguments,
        sprinkled=sprinkled,
        rows=("x",),
        kinds=FORMS,
        formulas={
            "lists": settings((19, 72), (1, 40), list_type=[None, 0, 1, 2], act=[0, 1, 5]),
            "sizes": [((9, 140), {"n": n, "list_type": 0}) for n in (1, 8, 17, 64, 257, 300)],
            "depths": [((5, k), {"parts": 1, "list_type": 1}) for k in (16, 33, 64, 128, 130, 300)],
        },
        layouts=settings((7, 64), list_type=[0]),
        outs=settings((6, 32), list_type=[1]),
        threads=settings(
            (300, 64), to=[BFLOAT16], form=["plain", "a8w8", "a16w4"], n=[600], list_type=[0]
        ),
        large=settings((40, 64), to=[FLOAT16], form=["plain"], n=[512]),
        stacks=False,
        may_be_empty=False,
        same=assert_same_but_nan,
        lists=LISTS,
    )
]
