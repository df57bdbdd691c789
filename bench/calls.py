"""What costs beside the work: the call, fresh memory, short rows, transposed outputs."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from . import arrays
from .aclnn_calls import FUNCTIONS, AclnnCalls
from .cases import Bench
from .harness import Candidate, Quartiles, measure, statement
from .operators import Operator, Size, Work

Statement = tuple[str, dict[str, Any]]
Run = Callable[[int], float]


@dataclass(frozen=True)
class Call:
    """A call's time over that of the same work in another way, with one thread."""

    kind: str
    other: str
    operator: str
    dtype: str
    size: str
    arrays: str
    seconds: Quartiles
    other_seconds: Quartiles
    ratio: Quartiles


def _given(work: Work) -> Statement:
    return work.statement("call(..., out=out)")


def _fresh(work: Work) -> Statement:
    return work.statement("y = call(...)")


def _reused(work: Work) -> Statement:
    """The outputs are those of an earlier call."""
    out = work.call()
    work = replace(work, outputs=out if isinstance(out, tuple) else (out,))
    return work.statement("y = call(..., out=out)")


def _transposed(work: Work) -> Statement:
    """The outputs have the same memory, but their columns are what is contiguous."""
    outputs = (y if y is None else y.reshape(y.shape[::-1]).T for y in work.outputs)
    return _given(replace(work, outputs=tuple(outputs)))


def _formula(work: Work) -> Statement:
    return work.statement("formula(...)")


def _add(work: Work) -> Statement:
    x = work.inputs[0]
    o = arrays.empty(x.shape, work.dtype, work.place)
    return "add(x, x, out=o)", {"add": np.add, "x": x, "o": o}


class Kind(NamedTuple):
    """A call of an operator, and what it is compared with."""

    other_name: str
    size: Size
    places: tuple[str, ...]
    call: Callable[[Work], Statement]
    other: Callable[[Work], Statement]


ADD = "np.add(x, x, out=o)"
SMALL = Size(1, 16)
FRESH = Size(16384, 4096)  # 64 MiB of int8
SHORT = Size(200_000, 3)  # a row has fewer elements than a vector
SQUARE = Size(4096, 4096)

KINDS = {
    "overhead": Kind(ADD, SMALL, tuple(arrays.PLACES), _given, _add),
    "fresh": Kind("the call with out=", FRESH, ("numpy",), _fresh, _reused),
    "short rows": Kind("the NumPy formula", SHORT, ("numpy",), _given, _formula),
    "transposed out": Kind("contiguous out=", SQUARE, ("numpy",), _transposed, _given),
}
OF_NEW_ARRAYS = ("fresh", "transposed out")
"""What there is not where rows are put into an array, one here and one there."""


def of_kind(bench: Bench, kind: str, operator: Operator, dtype: str) -> Iterator[Call]:
    """Measure that one of KINDS at each of its places."""
    other_name, size, places, call, other = KINDS[kind]
    rows = max(1, round(size.rows * bench.plan.rows))
    size = Size(rows, -(-size.n // operator.together) * operator.together)
    for place in places:
        work = Work.of(operator, dtype, size, place)
        labelled = partial(Call, kind, other_name, operator.name, dtype, str(size), place)
        yield _compare(bench, labelled, statement(*call(work)), statement(*other(work)))


def c_api(bench: Bench, function: str, aclnn: AclnnCalls) -> Call:
    """Both phases in C on 1x16, over np.add(x, x, out=o) on its first tensor."""
    dtype, place = FUNCTIONS[function], "aligned"
    x, o = (arrays.empty(SMALL, dtype, place) for _ in range(2))
    x[:] = 1
    add = statement("add(x, x, out=o)", {"add": np.add, "x": x, "o": o})
    labelled = partial(Call, "C", ADD, function, dtype, str(SMALL), place)
    return _compare(bench, labelled, partial(aclnn.run, function), add)


def _compare(bench: Bench, labelled: Callable[..., Call], call: Run, other: Run) -> Call:
    bench.set_threads(1)
    samples = measure([Candidate("call", call), Candidate("other", other)], bench.plan)
    times = (samples.seconds("call"), samples.seconds("other"))
    return labelled(*times, samples.ratio("call", "other"))
