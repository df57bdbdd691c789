"""Independent witnesses of the operators: equality of bits, and arrays to try them on."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]


def bits(a: Array) -> Array:
    """View an array as the integers its bytes are."""
    return np.asarray(a).view(f"u{a.dtype.itemsize}")


def assert_same_bits(actual: tuple[Array | None, ...], expected: tuple[Array | None, ...]) -> None:
    """Fail unless every output has the expected dtype, shape and bytes."""
    assert_same(actual, expected, but_nan=False)


def assert_same_but_nan(
    actual: tuple[Array | None, ...], expected: tuple[Array | None, ...]
) -> None:
    """Fail as assert_same_bits does, but let a NaN be any NaN: its sign and payload differ."""
    assert_same(actual, expected, but_nan=True)


def assert_same(
    actual: tuple[Array | None, ...], expected: tuple[Array | None, ...], but_nan: bool
) -> None:
    assert len(actual) == len(expected)
    for i, (a, e) in enumerate(zip(actual, expected, strict=True)):
        assert a is not None, f"output {i}"
        assert e is not None, f"output {i}"
        assert (a.dtype, a.shape) == (e.dtype, e.shape), f"output {i}"
        if a.flags.c_contiguous and e.flags.c_contiguous and a.tobytes() == e.tobytes():
            continue
        differ = bits(a) != bits(e)
        if but_nan and differ.any():
            differ &= ~((a != a) & (e != e))
        if differ.any():
            wrong = np.argwhere(differ)
            raise AssertionError(
                f"output {i}: {len(wrong)} of {a.size} differ, first at {wrong[0]}: "
                f"{a[tuple(wrong[0])]}, expected {e[tuple(wrong[0])]}"
            )


def spoil(array: Array, value: Array) -> None:
    """Make every byte of an array differ from those of value."""
    unsigned = f"u{value.itemsize}"
    np.invert(np.asarray(value).view(unsigned), out=array.view(unsigned))


def lying_like(value: Array, memory: Array) -> Array:
    """Return value in the order of axes that another array has: both are read fast together."""
    assert value.shape == memory.shape
    turned = np.empty_like(memory, value.dtype)
    turned[...] = value
    return turned


@cache
def normal_numbers() -> Array:
    """Return millions of normal numbers: to draw from them is faster than to make others."""
    return np.random.default_rng(1).standard_normal(1 << 22, np.float32)


@cache
def steps_and_ties() -> Array:
    """Return numbers of some hundreds around 0, a third of them whole or halves."""
    rng = np.random.default_rng(2)
    ties = rng.integers(-700, 700, 1 << 20) / 2
    return np.where(rng.random(1 << 20) < 0.3, ties, rng.standard_normal(1 << 20) * 150)


def drawn(rng: np.random.Generator, numbers: Array, shape: tuple[int, ...]) -> Array:
    """Return as many of the numbers, one after the other from a random place on."""
    size = math.prod(shape)
    start = int(rng.integers(max(1, len(numbers) - size)))
    return np.resize(numbers[start : start + size], shape)


def normal(rng: np.random.Generator, shape: tuple[int, ...], dtype: np.dtype) -> Array:
    """Return normal values, each row at a magnitude of its own."""
    magnitude = np.exp(rng.uniform(-6, 6, (*shape[:-1], 1))).astype(np.float32)
    return (drawn(rng, normal_numbers(), shape) * magnitude).astype(dtype)


def with_specials(rng: np.random.Generator, x: Array) -> Array:
    """Sprinkle NaN, infinities, zeros and tiny values over some rows; make some rows all zero."""
    x = x.copy()
    if x.size == 0:
        return x
    rows = x.reshape(-1, x.shape[-1])
    tiny = np.finfo(np.float32).smallest_subnormal
    values = np.array([np.nan, -np.nan, np.inf, -np.inf, 0.0, tiny, -0.0]).astype(x.dtype)
    size = len(values), max(1, len(rows) // 8)  # drawn at once: a call takes longer than numbers
    some, places = (
        rng.integers(len(rows), size=(*size, 1)),
        rng.integers(rows.shape[1], size=(*size, 2)),
    )
    rows[some, places] = values[:, None, None]
    rows[rng.integers(len(rows), size=max(1, len(rows) // 8))] = 0
    rows[rng.integers(len(rows))] = np.float32(tiny * 40)
    return x


def layouts(x: Array) -> Iterator[tuple[str, Array]]:
    """Yield arrays equal to x, in memory layouts of every kind."""
    if x.ndim == 0:
        yield "one element", x
        return
    yield "contiguous", np.ascontiguousarray(x)
    yield "fortran", np.asfortranarray(x)
    if x.ndim > 2:
        turned = np.ascontiguousarray(np.moveaxis(x, 0, -1))
        yield "first axis innermost", np.moveaxis(turned, -1, 0)
    if x.ndim > 1:
        yield "fortran, backwards", np.asfortranarray(x[::-1])[::-1]
    for axis in range(x.ndim):
        flip = tuple(slice(None, None, -1) if a == axis else slice(None) for a in range(x.ndim))
        yield f"negative stride {axis}", x[flip].copy()[flip]
    wide = np.zeros(tuple(2 * d + 3 for d in x.shape), x.dtype)
    window = tuple(slice(3, 3 + 2 * d, 2) for d in x.shape)
    wide[window] = x
    yield "every other", wide[window]
    padded = np.zeros((*x.shape[:-1], x.shape[-1] + 5), x.dtype)
    padded[..., 2:-3] = x
    yield "row slices", padded[..., 2:-3]
    raw = np.zeros(x.nbytes + 1, np.uint8)[1:]
    unaligned = raw.view(x.dtype).reshape(x.shape)
    unaligned[...] = x
    assert unaligned.flags.aligned == (x.itemsize == 1)
    yield "unaligned", unaligned
    frozen = x.copy()
    frozen.flags.writeable = False
    yield "read-only", frozen


def out_layouts(shape: tuple[int, ...], dtype: type) -> Iterator[tuple[str, Array]]:
    """Yield writable arrays of that shape and dtype, in layouts of every kind."""
    yield "contiguous", np.empty(shape, dtype)
    yield "fortran", np.empty(shape, dtype, order="F")
    if shape:
        wide = np.empty(tuple(2 * d + 1 for d in shape), dtype)
        yield "every other", wide[tuple(slice(1, None, 2) for _ in shape)]
        yield "negative strides", np.empty(shape, dtype)[..., ::-1]
    size = math.prod(shape) * np.dtype(dtype).itemsize
    yield "unaligned", np.empty(size + 1, np.uint8)[1:].view(dtype).reshape(shape)


def columns(value: Array, begin: int, step: int = 1) -> Array:
    """Return an array equal to value whose rows lie across memory that begins at `begin` of 64."""
    memory = np.zeros(value.nbytes + 64, np.uint8)
    start = (begin - memory.ctypes.data) % 64
    across = memory[start : start + value.nbytes].view(value.dtype).reshape(value.shape[::-1]).T
    across[::step][...] = value
    return across[::step]


def padded(value: Array) -> Array:
    """Return an array equal to value, with gaps between its rows."""
    memory = np.zeros((*value.shape[:-1], value.shape[-1] + 3), value.dtype)
    memory[..., 1:-2] = value
    return memory[..., 1:-2]


@contextmanager
def guarded(likes: Sequence[Array | None], offset: int) -> Iterator[tuple[Array | None, ...]]:
    """Give arrays like these in one block of memory; fail where memory outside them is written.

    An odd offset leaves the arrays unaligned. Where there is None, None is given.
    """
    gap, begin = 1024, 1024 + offset
    memory = np.full(
        sum(0 if e is None else e.nbytes for e in likes) + gap * (len(likes) + 2), 85, np.uint8
    )
    outside = np.ones(memory.size, bool)
    views: list[Array | None] = []
    for like in likes:
        if like is None:
            views.append(None)
            continue
        inside = slice(begin, begin + like.nbytes)
        views.append(memory[inside].view(like.dtype).reshape(like.shape))
        outside[inside] = False
        begin += like.nbytes + gap // 2
        begin += (offset - begin) % 64
    yield tuple(views)
    assert (memory[outside] == 85).all(), (
        f"written outside, first at {np.argwhere(outside & (memory != 85))[0]}"
    )


def random_patterns(rng: np.random.Generator, shape: tuple[int, int], dtype: np.dtype) -> Array:
    """Return values over a window of some 12 binades, at a random place for each row."""
    exponent = rng.integers(-6, 7, shape).astype(np.float32)
    limit = 6.0 if dtype == np.float16 else 100.0
    place = rng.uniform(-limit, limit, (shape[0], 1)).astype(np.float32)
    x = rng.standard_normal(shape, np.float32) * np.exp2(exponent) * np.exp2(place)
    return np.asarray(x).astype(dtype)


def on_steps(
    rng: np.random.Generator, shape: tuple[int, ...], dtype: np.dtype, scale: Array | float = 0.1
) -> Array:
    """Return some hundreds of steps of scale around 0, a third of them ties, specials included."""
    steps = drawn(rng, steps_and_ties(), shape)
    with np.errstate(over="ignore"):
        return with_specials(rng, np.asarray(steps * scale).astype(dtype))
