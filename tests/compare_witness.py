"""What a comparison measures, from its definitions: Python's exact integers and math.fsum."""

from __future__ import annotations

import math
from typing import Any

import ml_dtypes
import numpy as np
from numpy.typing import NDArray

from npu_quant.golden.measure.metrics import RELATIVE_LIMITS, STEP_BINS
from npu_quant.golden.results import Metrics

Array = NDArray[Any]

# Bits of the fraction and the exponent of the least normal number.
FLOATS = {
    "float16": (10, -14),
    "bfloat16": (7, -126),
    "float32": (23, -126),
    "float64": (52, -1022),
    "float8_e4m3fn": (3, -6),
    "float8_e5m2": (2, -14),
}


def kind(x: float) -> str:
    """One of "finite", "NaN", "inf", "-inf"."""
    if isinstance(x, int) or math.isfinite(x):
        return "finite"
    return "NaN" if math.isnan(x) else "inf" if x > 0 else "-inf"


def numbers(array: Array) -> list[Any]:
    """Exact values: ints of integers and bool, floats of floats."""
    if array.dtype.name in FLOATS:
        with np.errstate(invalid="ignore"):  # NaN that signal
            return array.reshape(-1).astype(np.float64).tolist()
    return array.reshape(-1).astype(np.int64 if array.itemsize == 1 else array.dtype).tolist()


def ordinal(x: Any, dtype: np.dtype) -> int:
    """How many values of the type lie in (0, x]; negative for a negative x."""
    if dtype.name not in FLOATS:
        return int(x)
    if x < 0:
        return -ordinal(-x, dtype)
    fraction, least = FLOATS[dtype.name]
    exponent = max(math.frexp(x)[1] - 1, least) if x else least
    of_binade = math.ldexp(x, fraction - exponent)  # exact: a whole number below 2**(fraction + 1)
    assert of_binade.is_integer()
    return (exponent - least) * 2**fraction + int(of_binade)


def limits(dtype: np.dtype) -> set[Any]:
    """The values that count as saturated."""
    if dtype == np.bool_:
        return set()
    if dtype.name in FLOATS:
        most = float(ml_dtypes.finfo(dtype).max)
        return {most, -most}
    info = ml_dtypes.iinfo(dtype)
    return {int(info.max), int(info.min), -int(info.max)}


def step_bin(step: int) -> str:
    return STEP_BINS[max(-3, min(3, step)) + 3]


def is_mismatch(a: Any, g: Any) -> bool:
    """By value, but that 0 and -0 differ and NaN equals NaN."""
    if kind(a) == kind(g) == "NaN":
        return False
    return bool(a != g) or (isinstance(a, float) and math.copysign(1, a) != math.copysign(1, g))


def size(a: Any, g: Any) -> Any:
    """What orders mismatches."""
    return math.inf if kind(a) != "finite" or kind(g) != "finite" else abs(a - g)


def counts(actual: Array, golden: Array) -> dict[str, Any]:
    """All of Metrics that is exact."""
    a, g = numbers(actual), numbers(golden)
    pairs = list(zip(a, g, strict=True))
    differ = [i for i, pair in enumerate(pairs) if is_mismatch(*pair)]
    finite = [(x, y) for x, y in pairs if kind(x) == kind(y) == "finite"]
    steps = [ordinal(x, actual.dtype) - ordinal(y, actual.dtype) for x, y in finite]
    relative = [float(abs(x - y)) / (float(abs(y)) + 1e-7) for x, y in finite]
    at_limit = limits(actual.dtype)
    worst = max((size(*pairs[i]) for i in differ), default=None)
    nonfinite: dict[tuple[str, str], int] = {}
    for x, y in pairs:
        if kind(x) != kind(y):
            nonfinite[kind(x), kind(y)] = nonfinite.get((kind(x), kind(y)), 0) + 1
    return {
        "count": len(pairs),
        "mismatches": len(differ),
        "first": differ[0] if differ else None,
        "worst": next((i for i in differ if size(*pairs[i]) == worst), None),
        "finite": len(finite),
        "steps": {name: sum(step_bin(s) == name for s in steps) for name in STEP_BINS},
        "max_steps": max(map(abs, steps), default=0),
        "over_one_step": sum(abs(s) > 1 for s in steps),
        "max_abs": float(max((abs(x - y) for x, y in finite), default=0)),
        "max_rel": max(relative, default=0.0),
        "over_relative": {limit: sum(r > limit for r in relative) for limit in RELATIVE_LIMITS},
        "saturated_actual": sum(x in at_limit for x in a),
        "saturated_golden": sum(y in at_limit for y in g),
        "sign_flips": sum((x < 0) != (y < 0) and x != 0 and y != 0 for x, y in finite),
        "rounded_to_zero": sum(x == 0 and y != 0 for x, y in finite),
        "zero_signs": sum(x == 0 and y == 0 and is_mismatch(x, y) for x, y in finite),
        "nonfinite": nonfinite,
        "actual_range": bounds([x for x in a if kind(x) == "finite"]),
        "golden_range": bounds([y for y in g if kind(y) == "finite"]),
    }


def bounds(values: list[Any]) -> tuple[float, float]:
    """Least and greatest."""
    return (float(min(values)), float(max(values))) if values else (math.nan, math.nan)


def sums(actual: Array, golden: Array) -> dict[str, tuple[float, float]]:
    """Each sum over finite pairs, rounded once, and the sum of its terms' magnitudes."""
    pairs = zip(numbers(actual), numbers(golden), strict=True)
    finite = [(x, y) for x, y in pairs if kind(x) == kind(y) == "finite"]
    steps = [ordinal(x, actual.dtype) - ordinal(y, actual.dtype) for x, y in finite]
    terms = {
        "absolute": [float(abs(x - y)) for x, y in finite],
        "squares": [float(x - y) ** 2 for x, y in finite],
        "relative": [float(abs(x - y)) / (float(abs(y)) + 1e-7) for x, y in finite],
        "difference": [float(x - y) for x, y in finite],
        "steps": [float(abs(s)) for s in steps],
        "signed_steps": [float(s) for s in steps],
        "actual_squares": [float(x) * float(x) for x, y in finite],
        "golden_squares": [float(y) * float(y) for x, y in finite],
        "products": [float(x) * float(y) for x, y in finite],
    }
    return {name: (math.fsum(t), math.fsum(map(abs, t))) for name, t in terms.items()}


def assert_measured(metrics: Metrics, actual: Array, golden: Array) -> None:
    """Counts are exact.

    A sum of n terms in eight lanes of chunks of 4096, lanes and chunks added in turn, has passed
    through at most 512 + 3 + n / 4096 roundings, of 2**-53 of what has been summed so far each.
    """
    for name, value in counts(actual, golden).items():
        measured = getattr(metrics, name)
        if isinstance(value, dict):
            assert measured == value, name
        else:
            assert repr(measured) == repr(value), name
    exact, n = sums(actual, golden), max(1, metrics.finite)
    share = (515 + len(golden.reshape(-1)) / 4096) * 2.0**-53
    off = {name: share * magnitude for name, (_, magnitude) in exact.items()}
    means = {
        "mean_abs": "absolute",
        "mean_rel": "relative",
        "bias": "difference",
        "mean_steps": "steps",
        "step_bias": "signed_steps",
    }
    for name, of in means.items():
        assert abs(getattr(metrics, name) - exact[of][0] / n) <= 1.01 * off[of] / n, name
    of_squares = {name: exact[name][0] for name in ("squares", "golden_squares")}
    noise, signal = (math.sqrt(x) for x in of_squares.values())
    assert math.isclose(metrics.rmse, noise / math.sqrt(n), rel_tol=2 * share)
    lengths = math.sqrt(exact["actual_squares"][0]) * signal
    cosine = exact["products"][0] / lengths if lengths else float(noise == 0)
    assert abs(metrics.cosine - cosine) <= 4 * share
    # 20 log10(1 + e) < 9 e; the logarithms' own error is that of a few roundings of 400 dB.
    assert_decibels(metrics.sqnr_db, signal, noise, 18 * share)
    peak = max(map(abs, metrics.golden_range)) if metrics.golden_range[0] <= math.inf else 0.0
    assert_decibels(metrics.psnr_db, peak, noise / math.sqrt(n), 18 * share)


def assert_decibels(decibels: float, signal: float, noise: float, off: float) -> None:
    """20 log10(signal / noise)."""
    if noise == 0:
        assert decibels == math.inf
    elif signal == 0:
        assert decibels == -math.inf
    else:
        assert abs(decibels - 20 * (math.log10(signal) - math.log10(noise))) <= off + 1e-12
