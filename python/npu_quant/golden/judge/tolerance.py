"""Tolerances that are asked for: atol and rtol, and the acceptance rules of other tools by name."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from ...arrays import Source
from ...errors import ParamError
from ..elements import Elements, elements_of
from ..results import Metrics
from ..sources import blocks

RULES = ("exact", "off_by_one", "thousandth", "sqnr=40", "cann", "cann-en", "msprobe")
"""The presets shown next to every verdict; sqnr takes any number of dB."""
Preset = Literal[
    "exact",
    "off_by_one",
    "thousandth",
    "双千分之一",
    "cann",
    "cann-en",
    "msprobe",
    "sqnr=20",
    "sqnr=30",
    "sqnr=40",
    "sqnr=50",
    "sqnr=60",
]
"""The presets as type checkers know them: of sqnr a few, of which there is any number."""
CHINESE = {"双千分之一": "thousandth"}
"""The presets that Ascend's documents have a Chinese name for, by that name."""
KNOWN = ", ".join(
    rule + "".join(f" ({name})" for name, meant in CHINESE.items() if meant == rule)
    for rule in RULES
)
"""Every name of a preset, as help and messages list them."""

# |actual - golden| <= atol + rtol |golden| for 99 % of the elements, and never more than a limit or
# 32 ulp: CANN's standard for float outputs, hicann/opbase docs/zh/ops_precision_standard.
_CANN = {
    "float16": (2**-9, 2**-9, 0.1),
    "bfloat16": (2**-6, 2**-6, 1.0),
    "float32": (2**-10, 2**-16, 0.01),
    "float8_e4m3fn": (2**-2, 2**-4, 1.0),
    "float8_e5m2": (2**-1, 2**-3, 0.1),
}
_CANN_SHARE = 0.99
_CANN_ULP = 32
_AT_A_TIME = 1 << 16
"""Elements that are measured at a time: their float64 stay in the processor's cache."""
# Mean relative error below T, greatest below 10 T: the English page of the same standard.
_CANN_EN = {
    "float16": 2**-10,
    "bfloat16": 2**-7,
    "float32": 2**-13,
    "float8_e4m3fn": 2**-3,
    "float8_e5m2": 2**-2,
}


@dataclass(frozen=True)
class Excess:
    """How two arrays keep to atol + rtol * |golden|."""

    beyond: int
    """Elements that do not; a NaN or an infinity that the other lacks is one."""
    ratio: float
    """The greatest difference as a fraction of what is allowed there."""


def excess_of(
    actual: Source, golden: Source, atol: float, rtol: float, own: Elements | None = None
) -> Excess:
    """Measure two sources of one dtype against a tolerance, element by element.

    Args:
        actual: what is measured.
        golden: what it should be.
        atol: what is allowed everywhere, and `rtol` relative to the golden.
        rtol: see `atol`.
        own: what elements stand for; None: what their dtype says.
    """
    wide = (elements_of(golden.dtype) if own is None else own).wide
    word = f"u{golden.dtype.itemsize}"
    beyond, ratio = 0, 0.0
    for piece in blocks(golden, _AT_A_TIME):
        a, g = actual.read(*piece), golden.read(*piece)
        at = np.flatnonzero(a.view(word) != g.view(word))  # the same bits are never beyond
        if at.size:
            part = _excess_of_differing(wide(a[at]), wide(g[at]), atol, rtol)
            beyond, ratio = beyond + part.beyond, max(ratio, part.ratio)
    return Excess(beyond, ratio)


def _excess_of_differing(a: NDArray[Any], g: NDArray[Any], atol: float, rtol: float) -> Excess:
    """Measure elements whose bits differ, at least one, widened."""
    with np.errstate(all="ignore"):
        difference, allowed = np.abs(a - g), np.abs(g)
        allowed *= rtol
        allowed += atol
        ratio = difference / allowed
        most = ratio.max()
        if np.isfinite(most):  # hence all numbers are finite, and no 0 meets -0 without atol
            return Excess(int(np.count_nonzero(difference > allowed)), float(most))
        same = (a == g) | ((a != a) & (g != g))
        # An infinite golden would allow everything, and so would a difference beyond float64.
        finite = np.isfinite(difference)
        ratio = np.where(same, 0.0, np.where(finite, ratio, np.inf))
        kept = same | (finite & (difference <= allowed))
    return Excess(int(np.count_nonzero(~kept)), float(ratio.max()))


class Measured:
    """Two arrays with their metrics; what a preset may ask of them."""

    def __init__(
        self, metrics: Metrics, actual: Source, golden: Source, own: Elements | None = None
    ) -> None:
        self.metrics = metrics
        self.dtype = (own and own.name) or golden.dtype.name
        self._sources, self._own = (actual, golden), own

    def excess(self, atol: float, rtol: float) -> Excess:
        """Measure them against a tolerance."""
        return excess_of(*self._sources, atol, rtol, self._own)


def _exact(m: Measured) -> float:
    return float("inf") if m.metrics.mismatches > 0 else 0.0


def _off_by_one(m: Measured) -> float:
    return float("inf") if m.metrics.nonfinite else float(m.metrics.max_steps)


def _thousandth(m: Measured) -> float:
    """At most one element in a thousand is off by more than a thousandth."""
    if m.metrics.nonfinite:
        return float("inf")
    return m.metrics.over_relative[1e-3] / max(1, m.metrics.count) / 1e-3


def _cann(m: Measured) -> float | None:
    if m.dtype not in _CANN:
        return None
    rtol, atol, limit = _CANN[m.dtype]
    if m.metrics.nonfinite:
        return float("inf")
    beyond = 0.0
    if m.metrics.max_abs > atol:  # else no element can be beyond it
        beyond = m.excess(atol, rtol).beyond / m.metrics.count / (1 - _CANN_SHARE)
    return max(beyond, min(m.metrics.max_abs / limit, m.metrics.max_steps / _CANN_ULP))


def _cann_en(m: Measured) -> float | None:
    if m.dtype not in _CANN_EN:
        return None
    if m.metrics.nonfinite:
        return float("inf")
    threshold = _CANN_EN[m.dtype]
    used = max(m.metrics.mean_rel / threshold, m.metrics.max_rel / (10 * threshold))
    # The standard says below, not at most.
    return float(np.nextafter(1, 2)) if used == 1 else used


def _msprobe(m: Measured) -> float:
    """Apply Ascend mstt's rule: No if cosine or greatest difference are beyond its limits."""
    x = m.metrics
    wrong = (x.cosine < 0.99 and x.max_abs > 0.001) or x.cosine < 0.9 or x.max_abs > 1
    unknown = x.nonfinite or not np.isfinite(x.cosine)
    return float("inf") if wrong or unknown else min(1.0, x.max_abs)


def _sqnr(decibel: float) -> Callable[[Measured], float]:
    def used(m: Measured) -> float:
        if m.metrics.nonfinite or not m.metrics.sqnr_db >= decibel:
            return float("inf")
        return float(10 ** ((decibel - m.metrics.sqnr_db) / 20))

    return used


_BY_NAME: dict[str, Callable[[Measured], float | None]] = {
    "exact": _exact,
    "off_by_one": _off_by_one,
    "thousandth": _thousandth,
    "cann": _cann,
    "cann-en": _cann_en,
    "msprobe": _msprobe,
}


def rule_of(preset: str) -> Callable[[Measured], float | None]:
    """Return what a preset's name stands for: the part of the allowance that two arrays use.

    It passes up to 1; None where it says nothing about arrays of that dtype.

    Raises:
        ParamError: no preset has that name.
    """
    match = re.fullmatch(r"sqnr=([0-9]+(?:\.[0-9]*)?)", preset)
    if match:
        return _sqnr(float(match[1]))
    name = CHINESE.get(preset, preset)
    if name not in _BY_NAME:
        raise ParamError(f"preset is {preset!r}, known: {KNOWN}.")
    return _BY_NAME[name]


def is_about(preset: str, dtype: str) -> bool:
    """Say whether a preset says anything about arrays of a dtype."""
    tables: dict[str, Mapping[str, object]] = {"cann": _CANN, "cann-en": _CANN_EN}
    return dtype in tables.get(preset, {dtype: None})


def is_kept(used: float) -> bool:
    """Say whether a tolerance is kept of which so much is used; NaN is not."""
    return used <= 1


def verdicts_of_presets(measured: Measured) -> dict[str, bool]:
    """Return what each of RULES says, where it says anything about arrays of that dtype."""
    used = {preset: rule_of(preset)(measured) for preset in RULES}
    return {preset: is_kept(u) for preset, u in used.items() if u is not None}
