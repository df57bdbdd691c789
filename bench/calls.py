"""What a call costs beside its work: the binding, and fresh memory for the outputs."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from . import arrays
from .cases import Bench, Operator, Size
from .harness import Candidate, Quartiles, measure, statement

SMALL = Size(1, 16)
FRESH = Size(16384, 4096)  # 64 MiB of int8


@dataclass(frozen=True)
class Call:
    """A call's time over that of the same work in another way, with one thread."""

    kind: str
    operator: str
    dtype: str
    size: str
    arrays: str
    seconds: Quartiles
    other_seconds: Quartiles
    ratio: Quartiles


def overhead(bench: Bench, operator: Operator, dtype: str, place: str) -> Call:
    """A call on 1x16 over np.add(x, x, out=o) on the same array."""
    x = arrays.normal(SMALL, dtype, place)
    out = tuple(arrays.empty(*spec, place) for spec in operator.outputs(*SMALL))
    names = {"call": operator.call, "x": x, "out": out}
    add = {"add": np.add, "x": x, "o": arrays.empty(SMALL, dtype, place)}
    return _compare(
        bench,
        ("np.add", operator.name, dtype, str(SMALL), place),
        Candidate("call", statement("call(x, out=out)", names)),
        Candidate("other", statement("add(x, x, out=o)", add)),
    )


def fresh(bench: Bench, operator: Operator, dtype: str) -> Call:
    """A call that makes its outputs over one that is given them; x as NumPy hands it out."""
    x = arrays.normal(FRESH, dtype, "numpy")
    out = tuple(arrays.empty(*spec, "numpy") for spec in operator.outputs(*FRESH))
    names = {"call": operator.call, "x": x, "out": out}
    return _compare(
        bench,
        ("fresh", operator.name, dtype, str(FRESH), "numpy"),
        Candidate("call", statement("y = call(x)", names)),
        Candidate("other", statement("y = call(x, out=out)", names)),
    )


def _compare(bench: Bench, labels: tuple[str, ...], call: Candidate, other: Candidate) -> Call:
    bench.set_threads(1)
    samples = measure([call, other], bench.plan)
    kind, operator, dtype, size, place = labels
    return Call(
        kind, operator, dtype, size, place,
        samples.seconds("call"), samples.seconds("other"), samples.ratio("call", "other"),
    )  # fmt: skip
