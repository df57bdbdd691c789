"""Formulas of the operators of experts: codes of rows that are moved, sums of weighed ones."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np

from . import DTYPES, F32, Outputs, Wrong, away, codes, f16, to
from .given import rounded_fma

Made = tuple[dict[str, Any], Outputs]
TOKENS, K, WIDTH, EXPERTS = 40, 5, 24, 3
# Of a sum, a row and a weight, in float32; `r` rounds to the rows' dtype.
ADDED: dict[str, Callable[..., Any]] = {
    "reference": lambda t, v, w, r: t + v * w,
    "last term first": lambda t, v, w, r: t + v * w,
    "fused": lambda t, v, w, r: rounded_fma(*np.broadcast_arrays(v, w, t)).reshape(t.shape),
    "float64 sum": lambda t, v, w, r: t.astype(np.float64) + v.astype(np.float64) * w,
    "products in 16 bits": lambda t, v, w, r: t + r(v * w),
    "sums in 16 bits": lambda t, v, w, r: r(t + r(v * w)),
    "weights ignored": lambda t, v, w, r: t + v,
}
# What else npu_moe_finalize_routing may leave out.
LEFT_OUT = ["bias ignored", "skips ignored", "rows that are not there left out"]


def cut(q: Any) -> Any:
    near = q.astype(np.float16)
    is_beyond = np.abs(near.astype(float)) > np.abs(q)
    return np.where(is_beyond, np.nextafter(near, np.float16(0)), near).astype(F32)


# Of rows and their factors: what is rounded to codes, and how.
ROUTED: dict[str, tuple[Callable[..., Any], Callable[[Any], Any]]] = {
    "reference": (lambda x, f, s: x * f / s, np.rint),
    "x * (1/scale)": (lambda x, f, s: x * f * (1 / s), np.rint),
    "half away": (lambda x, f, s: x * f / s, away),
    "half up": (lambda x, f, s: x * f / s, lambda q: np.floor(q + 0.5)),
    "ascend910b": (lambda x, f, s: cut(x * f / s), away),
    "quotient cut to fp16": (lambda x, f, s: cut(x * f / s), np.rint),
    "x divided": (lambda x, f, s: x / s, np.rint),
    "truncation": (lambda x, f, s: x * f / s, np.trunc),
}
# The same of a scale and an offset.
STATIC: dict[str, Callable[..., Any]] = {
    "reference": lambda x, s, o: x * s + o,
    "fp16 product and sum": lambda x, s, o: f16(f16(f16(x) * f16(s)) + f16(o)),
    "offset ignored": lambda x, s, o: x * s,
}


def routed(name: str, dtype: Any, is_static: bool) -> Made:
    """Each token goes to two of three experts."""
    rng = np.random.default_rng(20240607)
    x = (rng.standard_normal((150, 64)) * 40).astype(dtype)
    experts = rng.integers(0, 3, (150, 2)).astype(np.int32)
    order = np.argsort(experts.ravel(), kind="stable")
    places = np.empty(300, np.int32)
    places[order] = np.arange(300)
    rows, inputs = x[order // 2].astype(F32), {"x": x, "expert_idx": experts, "expert_num": 3}
    others = places, np.zeros(3, np.int64)
    if is_static:
        scale, offset = F32([0.37]), F32([1.3])
        y = codes(STATIC[name](rows, scale, offset))
        given = {"scale": scale, "offset": offset, "quant_mode": 0}
        return inputs | given, (y, *others, np.zeros(300, F32))
    factors = F32(rng.uniform(0.5, 2, (3, 64)))
    own, (quotient, rounding) = factors[experts.ravel()[order]], ROUTED[name]
    s = np.abs(rows * own).max(axis=1) / F32(127)
    y = codes(quotient(rows, own, s[:, None]), rounding)
    return inputs | {"scale": factors, "quant_mode": 1}, (y, *others, s)


def terms_of(name: str) -> list[int]:
    return list(range(K))[:: -1 if name == "last term first" else 1]


def numbers(dtype: Any) -> tuple[Any, Any, Any]:
    """Return rows, the row of each term, and weights: sums that lose most of their terms."""
    rng = np.random.default_rng(20240607)
    rows = rng.standard_normal((TOKENS * K, WIDTH)) * 100
    rows[1::K] = -rows[::K]
    return rows.astype(dtype), np.arange(TOKENS * K), F32(rng.uniform(0.9, 1, (TOKENS, K)))


def unpermuted(name: str, dtype: Any) -> Made:
    """Some rows are not there."""
    rows, source, weights = numbers(dtype)
    source[7::11] = 999
    own = np.concatenate([rows, np.zeros((1000, WIDTH), dtype)])[source].astype(F32)
    t: Any = np.zeros((TOKENS, WIDTH), F32)
    for k in terms_of(name):
        t = ADDED[name](t, own[k::K], weights[:, k, None], to(dtype))
    inputs = {"permuted_tokens": rows, "sorted_indices": source.astype(np.int32)}
    return inputs | {"probs": weights}, (t.astype(dtype),)


def finalized(name: str, dtype: Any) -> Made:
    """Slots of experts, some of which no row has, with a bias and two skips."""
    rows, source, scales = numbers(dtype)
    rng = np.random.default_rng(9)
    bias, skip = rng.standard_normal((EXPERTS, WIDTH)).astype(dtype), rows[: 2 * TOKENS]
    experts = rng.integers(0, EXPERTS, (TOKENS, K)).astype(np.int32)
    source[7::11] = -1
    own = np.where(source[:, None] < 0, F32(0), rows[source].astype(F32))
    first, second = skip[:TOKENS], skip[TOKENS:]
    t: Any = first.astype(F32) + second.astype(F32)
    t = np.zeros_like(t) if name == "skips ignored" else t
    for k in terms_of(name):
        v = own[k::K] + (0 if name == "bias ignored" else bias[experts[:, k]].astype(F32))
        added = ADDED.get(name, ADDED["reference"])(t, v, scales[:, k, None], to(dtype))
        is_kept = name != LEFT_OUT[2] or source[k::K, None] >= 0
        t = np.where(is_kept, added, t)
    inputs = {"expanded_permuted_rows": rows.reshape(4, -1, WIDTH), "skip1": first, "skip2": second}
    inputs |= {"bias": bias, "scales": scales, "expanded_src_to_dst_row": source.astype(np.int32)}
    return inputs | {"export_for_source_row": experts, "drop_pad_mode": 3}, (t.astype(dtype),)


def of_routing() -> Iterator[Wrong]:
    """Return rows of npu_moe_init_routing_v2."""
    for is_static, table in ((False, ROUTED), (True, STATIC)):
        for i, name in enumerate(table):
            for dtype in DTYPES:
                is_benign = i < (1 if is_static else 5)
                make = partial(routed, name, dtype, is_static)
                words = f"{np.dtype(dtype).name}-{'static' if is_static else 'dynamic'}"
                yield Wrong("npu_moe_init_routing_v2", name, is_benign, make, words, not is_benign)


def wrongs() -> Iterator[Wrong]:
    """Return a row per formula and dtype."""
    yield from of_routing()
    for op, make, names in (
        ("npu_moe_token_unpermute", unpermuted, list(ADDED)),
        ("npu_moe_finalize_routing", finalized, [*ADDED, *LEFT_OUT]),
    ):
        for i, name in enumerate(names):
            for dtype in DTYPES:
                if "16 bits" in name and dtype == F32:
                    continue
                short = "fp16" if dtype == np.float16 else "bf16"
                told = name.replace("16 bits", short)
                words, is_benign = np.dtype(dtype).name, i < 4
                own = partial(make, name, dtype)
                yield Wrong(
                    op, told, is_benign, own, words, not is_benign or (dtype == F32 and i > 0)
                )
