"""Every operator against its formula, bit for bit, on every instruction set, however the caller rounds."""

from __future__ import annotations

import ctypes
import platform
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
from cases import every_formula, every_kind
from cases.case import Arguments, Case, Trial, check

LIBM = ctypes.CDLL("libm.so.6")
# To the nearest; down, up and towards zero.
NEAREST, *OTHERS = (0, 0x400, 0x800, 0xC00) if platform.machine() == "x86_64" else (0, 1 << 22)


@every_formula
def test_formula(case: Case, kind: Arguments, trial: Trial, rng: np.random.Generator) -> None:
    for a in case.tries(trial, rng, **kind):
        check(case, a)


def rounding(mode: int, operator: Callable[..., Any]) -> Callable[..., Any]:
    """Return an operator whose caller rounds like that, and goes on to."""

    def run(**a: Any) -> Any:
        assert LIBM.fesetround(mode) == 0
        try:
            return operator(**a)
        finally:
            after = LIBM.fegetround()
            LIBM.fesetround(NEAREST)
            assert after == mode

    return run


@every_kind
def test_a_changed_rounding_mode_changes_nothing(
    case: Case, kind: Arguments, rng: np.random.Generator
) -> None:
    """Other libraries leave the floating-point environment in odd states."""
    a = case.tried(rng, case.outs[0], **kind)[-1]
    expected = case.expected(a)
    for mode in OTHERS:
        check(replace(case, operator=rounding(mode, case.operator)), a, expected)
