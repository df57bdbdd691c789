"""Formulas of npu_trans_quant_param and npu_convert_weight_to_int4pack, by integers."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any

import numpy as np

from . import F32, Outputs, Wrong

Made = tuple[dict[str, Any], Outputs]
KEPT, MARK = ~0x1FFF, 1 << 46


def to_19_bits(bits: int) -> int:
    """Round a positive normal float's pattern."""
    rest = bits % 8192
    return bits + (8192 - rest if rest > 4096 or (rest == 4096 and bits // 8192 % 2) else -rest)


def cut(bits: int) -> int:
    return bits & KEPT


def whole(offset: float) -> int:
    return max(-256, min(255, round(offset))) % 512 << 37


# Of a pattern of scale, the same as round_mode says, and an offset.
WORDS: dict[str, Callable[[int, int, float], int]] = {
    "reference": lambda u, f, o: f | MARK | whole(o),
    "scale in full": lambda u, f, o: u | MARK | whole(o),
    "without bit 46": lambda u, f, o: f | whole(o),
    "scale in full, without bit 46": lambda u, f, o: u | whole(o),
    "offset ignored": lambda u, f, o: f | MARK,
    "offset subtracted": lambda u, f, o: f | MARK | whole(-o),
    "offset cut": lambda u, f, o: f | MARK | whole(int(o)),
    "offset not clamped": lambda u, f, o: f | MARK | round(o) % 512 << 37,
}


def scales(shape: tuple[int, ...], mode: int) -> tuple[dict[str, Any], list[tuple[int, float]]]:
    """Return inputs, and their scales' patterns with their offsets."""
    rng = np.random.default_rng(20240607)
    scale = F32(rng.uniform(0.001, 3, shape))
    offset = F32(np.rint(rng.standard_normal(shape) * 400) / 2)
    pairs = zip(scale.view(np.uint32).reshape(-1), offset.reshape(-1), strict=True)
    inputs = {"scale": scale, "offset": offset, "round_mode": mode}
    return inputs, [(int(u), float(o)) for u, o in pairs]


def in_words(function: Callable[[int, int, float], int], mode: int, other: bool = False) -> Made:
    """Return words, whose scales are rounded as the other round_mode says, or as its own."""
    inputs, pairs = scales((30, 40), mode)
    narrow = to_19_bits if mode != other else cut
    words = [function(u, narrow(u), o) for u, o in pairs]
    return inputs, (np.array(words, np.int64).reshape(30, 40),)


def coded(weight: Any, code_of: Callable[[Any], int], order: Sequence[int]) -> Made:
    """Return the codes of words, a byte each: those of eights, in that order."""
    found = [code_of(eight[k]) % 16 for eight in weight.reshape(-1, 8) for k in order]
    codes = np.array(found, np.uint8).reshape(weight.shape)
    if weight.dtype == np.int32:
        codes = ((codes ^ 8) - np.uint8(8)).view(np.int8)
    return {"weight": weight}, (codes,)


E2M1 = [0, 0.5, 1, 1.5, 2, 3, 4, 6]
PLAIN = range(8)
ORDERS: dict[str, Sequence[int]] = {
    "reference": PLAIN,
    "high nibble first": (1, 0, 3, 2, 5, 4, 7, 6),
    "first code highest": PLAIN[::-1],
    "codes 0, 2, 4, 6, 1, 3, 5, 7": (0, 2, 4, 6, 1, 3, 5, 7),
}


def float4(value: float) -> int:
    """Return the code of a number of float4_e2m1."""
    return E2M1.index(abs(value)) + 8 * bool(np.signbit(value))


def nearest(value: float) -> int:
    """Return the nearest code, of two the even one."""
    code = min(range(8), key=lambda i: (abs(E2M1[i] - abs(value)), i % 2))
    return code + 8 * bool(np.signbit(value))


def integers(name: str) -> Made:
    rng = np.random.default_rng(20240607)
    weight = rng.integers(-8, 8, (20, 48)).astype(np.int32)
    if name == "8 is 0":
        return coded(weight, lambda code: int(code) + 8, PLAIN)
    if name == "saturated":
        return coded(weight * 3, lambda code: max(-8, min(7, int(code))), PLAIN)
    return coded(weight, int, ORDERS[name])


def floats(name: str) -> Made:
    rng = np.random.default_rng(20240607)
    weight = rng.choice(F32([*E2M1, *np.negative(E2M1)]), (20, 48))
    if name == "-0 is 0":
        return coded(weight, lambda value: float4(value) % (8 if value == 0 else 16), PLAIN)
    if name == "saturated":
        return coded(F32(rng.standard_normal((20, 48)) * 4), nearest, PLAIN)
    return coded(weight, float4, ORDERS[name])


def wrongs() -> Iterator[Wrong]:
    """Return a row per formula and round_mode, and per formula and dtype."""
    for i, (name, function) in enumerate(WORDS.items()):
        for mode in (0, 1):
            make = partial(in_words, function, mode)
            yield Wrong("npu_trans_quant_param", name, i == 0, make, f"round_mode {mode}", i > 0)
    for name, mode in (("scale cut", 1), ("scale rounded", 0)):
        make = partial(in_words, WORDS["reference"], mode, other=True)
        yield Wrong("npu_trans_quant_param", name, False, make)
    for name in (*ORDERS, "saturated"):
        for kind, of in (("int32", integers), ("float32", floats)):
            is_other = name != "reference"
            op = "npu_convert_weight_to_int4pack"
            yield Wrong(op, name, not is_other, partial(of, name), kind, is_other)
    yield Wrong("npu_convert_weight_to_int4pack", "8 is 0", False, partial(integers, "8 is 0"))
    yield Wrong("npu_convert_weight_to_int4pack", "-0 is 0", False, partial(floats, "-0 is 0"))
