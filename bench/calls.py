"""What a call costs beside its work: the binding, and fresh memory for the outputs."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from . import arrays
from .aclnn_calls import FUNCTIONS, AclnnCalls
from .cases import Bench
from .harness import Candidate, Quartiles, measure, statement
from .operators import Operator, Size, Work

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
    """A call on 1x16 over np.add(x, x, out=o) on its first array."""
    work = Work.of(operator, dtype, SMALL, place)
    add = {"add": np.add, "x": work.inputs[0], "o": arrays.empty(SMALL, dtype, place)}
    return _compare(
        bench,
        ("np.add", operator.name, dtype, str(SMALL), place),
        Candidate("call", statement(*work.statement("call(..., out=out)"))),
        Candidate("other", statement("add(x, x, out=o)", add)),
    )


def c_api(bench: Bench, function: str, aclnn: AclnnCalls) -> Call:
    """Both phases in C on 1x16, over np.add(x, x, out=o) on its first tensor."""
    dtype, place = FUNCTIONS[function], "aligned"
    x, o = (arrays.empty(SMALL, dtype, place) for _ in range(2))
    x[:] = 1
    return _compare(
        bench,
        ("C", function, dtype, str(SMALL), place),
        Candidate("call", lambda repeats: aclnn.run(function, repeats)),
        Candidate("other", statement("add(x, x, out=o)", {"add": np.add, "x": x, "o": o})),
    )


def fresh(bench: Bench, operator: Operator, dtype: str) -> Call:
    """A call that makes its outputs over one that is given an earlier one's; x as NumPy's are."""
    work = Work.of(operator, dtype, FRESH, "numpy")
    out = work.call()
    work = replace(work, outputs=out if isinstance(out, tuple) else (out,))
    return _compare(
        bench,
        ("fresh", operator.name, dtype, str(FRESH), "numpy"),
        Candidate("call", statement(*work.statement("y = call(...)"))),
        Candidate("other", statement(*work.statement("y = call(..., out=out)"))),
    )


def _compare(bench: Bench, labels: tuple[str, ...], call: Candidate, other: Candidate) -> Call:
    bench.set_threads(1)
    samples = measure([call, other], bench.plan)
    kind, operator, dtype, size, place = labels
    return Call(
        kind, operator, dtype, size, place,
        samples.seconds("call"), samples.seconds("other"), samples.ratio("call", "other"),
    )  # fmt: skip
