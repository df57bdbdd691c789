"""Every operator against its formula, bit for bit, on every instruction set."""

from __future__ import annotations

import numpy as np
from cases import every_formula
from cases.case import Arguments, Case, Trial, check


@every_formula
def test_formula(case: Case, kind: Arguments, trial: Trial, rng: np.random.Generator) -> None:
    for a in case.tries(trial, rng, **kind):
        check(case, a)
