"""Numbers, indexes and shapes as the reports write them."""

from __future__ import annotations

import math
from collections.abc import Sequence

from ..._shown import some_of
from ..measure.layout import runs


def count(n: int) -> str:
    """Write a count: 4,194,304."""
    return f"{n:,}"


def counted(n: int, noun: str) -> str:
    """Write a count with its noun: 1 row, 2 rows."""
    return f"{n:,} {noun}{'' if n == 1 else 's'}"


def number(value: float, digits: int = 6) -> str:
    """Write a number: 127, 0.02481, 1.5e-07, NaN, inf."""
    if math.isnan(value):
        return "NaN"
    if math.isinf(value):
        return "inf" if value > 0 else "-inf"
    if value == int(value) and abs(value) < 10**digits:
        return str(int(value)) if value or math.copysign(1, value) > 0 else "-0"
    return f"{value:.{digits}g}"


def distance(ulp: float) -> str:
    """Write a distance in ulp: 0.95, 149,328, 8.4e+06."""
    if math.isnan(ulp) or math.isinf(ulp):
        return number(ulp)
    if ulp < 100:
        return f"{ulp:.2f}"
    return f"{ulp:,.0f}" if ulp < 1e6 else f"{ulp:.2g}"


def index(place: Sequence[int]) -> str:
    """Write an index: [100, 3]."""
    return "[" + ", ".join(str(int(i)) for i in place) + "]"


def share(part: int, whole: int) -> str:
    """Write a share: 0.081 ‰, 12 %."""
    if whole == 0:
        return "none"
    per_thousand = 1000 * part / whole
    return f"{per_thousand:.2g} ‰" if per_thousand < 10 else f"{per_thousand / 10:.3g} %"


def odds(log10: float) -> str:
    """Write the odds of chance: below 1e-300."""
    return f"below 1e-{int(min(300, -log10))}"


def names(outputs: Sequence[object], most: int = 8) -> str:
    """Write the names of some outputs: y, scale."""
    return some_of(outputs, most, lambda name: str(name) or "an array without a name")


def places(numbers: Sequence[int], most: int = 8) -> str:
    """Write some numbers in order: 3, 7, 11; three neighbours or more as 40 to 55."""
    text = ", ".join(
        f"{count(first)} to {count(last)}"
        if last > first + 1
        else ", ".join(map(count, dict.fromkeys((first, last))))
        for first, last in runs(numbers[:most])
    )
    return text if len(numbers) <= most else f"{text} ..."
