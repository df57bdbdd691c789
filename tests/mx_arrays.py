"""What MX operators are tried on: numbers of every kind, rules that exist, ends of groups."""

from __future__ import annotations

from itertools import product
from typing import Any, NamedTuple

import numpy as np
from conftest import DTYPES
from hypothesis import strategies as st
from witnesses import Array


class Rule(NamedTuple):
    """What an operator is asked for."""

    dst_type: str
    round_mode: str
    scale_alg: int = 0
    dst_type_max: float = 0.0


FP8 = [Rule(f, "rint", alg) for f in ("float8_e4m3fn", "float8_e5m2") for alg in (0, 1)]
_MODES = ("rint", "round", "floor")
E2M1 = [
    Rule("float4_e2m1", mode, *rule)
    for mode, rule in product(_MODES, [(0,), (2, 0.0), (2, 6.0), (2, 7.0), (2, 8.3), (2, 12.0)])
]
E1M2 = [Rule("float4_e1m2", mode) for mode in _MODES]
E1M2_GROUPED = [
    Rule("float4_e1m2", mode, 2, end) for mode, end in product(_MODES, (0.0, 1.75, 1.875, 2.1, 3.5))
]
RULES = FP8 + E2M1 + E1M2
SEEDS = st.integers(0, 2**32 - 1)
SPECIALS = (np.nan, -np.nan, np.inf, -np.inf)
ORDINARY = (0.0, -0.0, 2.0**-149, -(2.0**-149), 2.0**-127, 3.4e38, -6e4, 6.0, 7.0, 448.0, 449.0)


def numbers(seed: int, shape: tuple[int, ...], dtype: Any) -> Array:
    """Return numbers about a magnitude, or of every one; some zeros, ties and specials."""
    rng = np.random.default_rng(seed)
    center, width = rng.integers(-150, 128), rng.choice([0, 2, 12, 300])
    exponent = center + rng.uniform(-width, width, shape)
    x = rng.standard_normal(shape) * np.exp2(np.clip(exponent, -160, 127))
    if rng.random() < 0.3:  # few bits, so ties
        x = rng.integers(-16, 17, shape) * 2.0**center
    if rng.random() < 0.2:
        x[rng.random(shape) < 0.9] = 0
    for values, share in ((ORDINARY, 0.02), (SPECIALS, rng.choice([0, 0, 0.003]))):
        chosen = rng.random(shape) < share
        x[chosen] = rng.choice(values, int(chosen.sum()))
    with np.errstate(all="ignore"):
        return np.asarray(x.astype(np.float32).astype(dtype))


@st.composite
def arrays(draw: st.DrawFn, ranks: tuple[int, int], *, is_even: bool) -> Array:
    """Draw an array: one axis of several blocks, or two, others short; now and then none."""
    rank = draw(st.integers(*ranks))
    shape = [draw(st.integers(1, 3)) for _ in range(rank)]
    shape[draw(st.integers(0, rank - 1))] = draw(st.integers(0, 150))
    shape[-1] = draw(st.sampled_from([shape[-1], 33, 65]))
    if is_even:
        shape[-1] += shape[-1] % 2
    return numbers(draw(SEEDS), tuple(shape), draw(st.sampled_from(DTYPES)))


def ends(draw: st.DrawFn, m: int) -> list[int]:
    """Draw where groups of m rows end: of none, one or many rows each."""
    inner = st.lists(st.integers(0, m), max_size=4)
    return [*sorted(draw(inner)), m]
