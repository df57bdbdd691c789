"""What the bytes of a file without a header may be: dtypes, ranked, from statistics of its bits.

Three things tell. Bytes at the same place of every element are distributed alike, so the
distributions by place give the size of an element. Small numbers have their codes next to 0
(int8), next to 128 (uint8 with a zero point), or twice, with and without the sign bit (float8).
And in most data a tenth as many numbers are ten times nearer to 0, whatever their magnitudes:
from one quantile of log2 |x| to another are as many units as their shares are factors of 2 apart.
Reading an exponent of e bits as one of f multiplies that by 2 to the power f - e: by 8 where
float16 is read as bfloat16.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import ml_dtypes
import numpy as np
from numpy.typing import NDArray

from ..golden.sources import Source, size_of

LIKELY, POSSIBLE, UNLIKELY = "likely", "possible", "unlikely"

_WINDOW, _WINDOWS = 1 << 16, 16
_LEAST = 2048
"""Bytes below which nothing is called likely."""
_ALIKE = 0.15
"""Distance of two distributions of bytes up to which they count as the same, in large samples."""
_TAIL = (0.005, 0.05)
"""The quantiles of log2 |x| that are taken apart."""
_WIDTHS = (2048, 4096, 5120, 7168, 8192, 1024, 512, 768, 128)

Bytes = NDArray[np.uint8]


@dataclass(frozen=True)
class Guess:
    """A dtype that a file may hold."""

    dtype: str
    certainty: str
    """``likely``, ``possible`` or ``unlikely``."""
    count: int
    """How many elements that makes."""
    why: str


def guesses(source: Source, shape: tuple[int, ...] | None) -> list[Guess]:
    """Rank the dtypes that the bytes of a file may be.

    Args:
        source: all bytes of the file, as uint8.
        shape: its shape, if that is known: then the size of an element is.
    """
    size = size_of(source)
    sizes = [n for n in (1, 2, 4, 8) if size % n == 0 and size]
    if shape is not None:
        sizes = [n for n in sizes if n * math.prod(shape) == size]
    sample = _sample(source, size)
    scored = [
        (score, name, n, why)
        for n in sizes
        for score, name, why in _scores(sample[: sample.size // n * n], n, alone=len(sizes) == 1)
    ]
    scored.sort(key=lambda found: -found[0])
    best = scored[0][0] if scored else 0.0
    second = scored[1][0] if len(scored) > 1 else 0.0
    few = sample.size < _LEAST
    return [
        Guess(name, _certainty(score, best, second, few), size // n, why)
        for score, name, n, why in scored
        if score >= 0.05 * best and score > 0
    ][:4]


def shapes(count: int) -> list[tuple[int, int]]:
    """Return some shapes that so many elements may have: rows of the usual widths."""
    return [(count // width, width) for width in _WIDTHS if count % width == 0 and count][:3]


def _certainty(score: float, best: float, second: float, few: bool) -> str:
    if score < best:
        return POSSIBLE if score >= 0.4 * best else UNLIKELY
    return LIKELY if score >= 0.5 and second < 0.5 * best and not few else POSSIBLE


def _sample(source: Source, size: int) -> Bytes:
    """Return stretches of the bytes from all over the file, each from a multiple of 8."""
    if size <= _WINDOW * _WINDOWS:
        return source.read(0, size)
    starts = [(size - _WINDOW) * i // (_WINDOWS - 1) // 8 * 8 for i in range(_WINDOWS)]
    return np.concatenate([source.read(at, at + _WINDOW) for at in starts])


def _scores(sample: Bytes, itemsize: int, *, alone: bool) -> list[tuple[float, str, str]]:
    """Return how well the dtypes of a size fit, from 0 to 1, each with the reason."""
    fit = 1.0 if alone else _fit_of_size(sample, itemsize)
    if itemsize == 1:
        found = _bytes_scores(sample)
    elif itemsize == 2:
        found = [
            _float_score(sample, "float16", np.dtype(np.float16)),
            _float_score(sample, "bfloat16", np.dtype(ml_dtypes.bfloat16)),
            _integer_score(sample, "int16"),
        ]
    elif itemsize == 4:
        found = [
            _float_score(sample, "float32", np.dtype(np.float32)),
            _integer_score(sample, "int32"),
        ]
    else:
        found = [
            _float_score(sample, "float64", np.dtype(np.float64)),
            _integer_score(sample, "int64"),
        ]
    return [(fit * score, name, why) for score, name, why in found]


def _fit_of_size(sample: Bytes, itemsize: int) -> float:
    """Say how far the bytes repeat with that period, and with no shorter one."""
    if sample.size < 16:
        return 0.5

    def alike(period: int) -> bool:
        """Say whether bytes that far apart are distributed alike, wherever in twice that."""
        places = [np.bincount(sample[i :: 2 * period], minlength=256) for i in range(2 * period)]
        # What two samples of one distribution differ by: 0.6 of the root for uniform bytes.
        noise = 0.8 * math.sqrt(256 * 2 * period / sample.size)
        apart = (_distance(places[i], places[i + period]) for i in range(period))
        return max(apart) <= _ALIKE + noise

    repeats = itemsize == 8 or alike(itemsize)
    shorter = itemsize > 1 and alike(itemsize // 2)
    return 1.0 if repeats and not shorter else 0.02


def _distance(a: NDArray[np.int64], b: NDArray[np.int64]) -> float:
    """Return the total variation between two distributions of bytes."""
    return float(np.abs(a / max(1, a.sum()) - b / max(1, b.sum())).sum() / 2)


def _bytes_scores(sample: Bytes) -> list[tuple[float, str, str]]:
    """Score the dtypes of one byte by where the codes of small numbers are."""
    share = np.bincount(sample, minlength=256) / max(1, sample.size)
    codes = np.arange(256)
    signed = np.abs(codes.astype(np.uint8).view(np.int8).astype(np.float64))
    near_0 = 1 - float((share * signed).sum()) / 64
    near_128 = 1 - float((share * np.abs(codes - 128.0)).sum()) / 64
    counted = np.bincount(sample, minlength=256).astype(np.int64)
    mirrored = 1 - _distance(counted, np.roll(counted, 128))
    if not share[1:].any():
        return [(0.3, "int8", "all zero")]
    if not share[2:].any():
        return [(0.9, "bool", "only 0 and 1"), (0.4, "int8", "only 0 and 1")]
    smooth = 0.9 if mirrored < 0.7 else 0.4
    floats = 0.8 * max(0.0, mirrored - 0.6) / 0.4
    result = [
        (smooth * _clipped(0.5 + near_0), "int8", "codes lie around 0"),
        (smooth * _clipped(0.5 + near_128), "uint8", "codes lie around 128"),
    ]
    for name, dtype in (
        ("float8_e4m3fn", ml_dtypes.float8_e4m3fn),
        ("float8_e5m2", ml_dtypes.float8_e5m2),
    ):
        score, _, why = _float_score(sample, name, np.dtype(dtype))
        result.append((floats * score, name, why))
    return result


def _clipped(score: float) -> float:
    return min(1.0, max(0.0, score))


def _float_score(sample: Bytes, name: str, dtype: np.dtype) -> tuple[float, str, str]:
    """Score a float dtype by the spread of the magnitudes it gives."""
    with np.errstate(all="ignore"):
        values = sample.view(dtype).astype(np.float64)
    finite = np.isfinite(values)
    magnitudes = np.abs(values[finite & (values != 0)])
    if magnitudes.size == 0:
        return 0.0, name, "all zero"
    logs = np.log2(magnitudes)
    nearest, near, low, middle, high = map(float, np.quantile(logs, [*_TAIL, 0.16, 0.5, 0.84]))
    broken = 1 - float(finite.mean())
    off = math.log2(max(near - nearest, 1e-3) / math.log2(_TAIL[1] / _TAIL[0]))
    if dtype.itemsize >= 4 and off < 0:
        off /= 3  # scales lie close together, and no other float has that size
    score = math.exp(-((middle / 24) ** 2)) * (1 - broken) ** 2 / (1 + (off / 1.2) ** 2)
    why = f"|x| mostly {2.0**low:.2g} to {2.0**high:.2g}"
    return score if broken < 0.2 else 0.1 * score, name, why


def _integer_score(sample: Bytes, name: str) -> tuple[float, str, str]:
    """Score an integer dtype by how far its numbers are from filling it."""
    values = sample.view(name).astype(np.float64)
    filled = float(np.quantile(np.abs(values), 0.98)) / np.iinfo(name).max
    bits = math.log2(max(filled, 2.0**-64))
    return _clipped(-bits / 8 - 0.5), name, f"numbers up to {np.abs(values).max():.0f}"
