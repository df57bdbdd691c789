"""What is measured: an operator on one array, beside the copy and the peers."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

import npu_quant

from . import arrays, peers
from .copy_mix import FORMS, CopyMix, Form
from .harness import Candidate, Plan, Quartiles, Samples, measure, statement

DTYPES = ("float16", "bfloat16", "float32")
PEERS = ("copy", "numpy", "torch", "torch.compile")
# OpenMP's threads spin for some milliseconds after torch's work and would slow down what follows.
_OPENMP_SPINS = 0.01

Outputs = tuple[tuple[tuple[int, ...], str], ...]


@dataclass(frozen=True)
class Operator:
    """All the bench knows about an operator; bench_<op>.py calls its own OPERATOR."""

    name: str
    call: Callable[..., Any]
    reference: Callable[..., Any]
    outputs: Callable[[int, int], Outputs]
    """Shape and dtype of each output for so many rows and elements per row; the codes first."""
    eager: Callable[..., None]
    """(torch, x, *out): the formula as torch's users write it."""
    compiled: Callable[..., None]
    """The same for torch.compile, in the form it makes the fastest code of."""
    of_copy_in_memory: Mapping[str, float]
    """Goals by dtype: which part of the copy's speed is wanted, far outside the caches."""
    of_copy_in_cache: Mapping[str, float]
    """The same in the L2 cache, called from Python."""


def find_operators() -> dict[str, Operator]:
    """The OPERATOR of every bench_<op>.py, by name."""
    stems = sorted(path.stem for path in Path(__file__).parent.glob("bench_*.py"))
    operators = [importlib.import_module(f"{__package__}.{stem}").OPERATOR for stem in stems]
    return {operator.name: operator for operator in operators}


class Size(NamedTuple):
    """Rows and elements per row."""

    rows: int
    n: int

    @classmethod
    def parse(cls, text: str) -> Size:
        """From "8x4096"."""
        rows, _, n = text.partition("x")
        if not (rows.isdecimal() and n.isdecimal() and int(rows) and int(n)):
            raise ValueError(f"{text!r}, expected rows x elements per row, such as 8x4096")
        return cls(int(rows), int(n))

    def __str__(self) -> str:
        return f"{self.rows}x{self.n}"


@dataclass(frozen=True)
class Record:
    """What came out of a case with some number of threads."""

    operator: str
    dtype: str
    size: str
    arrays: str
    threads: int
    bytes: int
    """Read and written, without the scales."""
    copy_form: str
    """The fastest copy, which `ratios` is about."""
    peer_rows: int
    """NumPy and eager torch did this many rows; `seconds` is scaled to all."""
    seconds: dict[str, Quartiles]
    ratios: dict[str, Quartiles]
    """Time of the copy or peer over the operator's, from round to round."""
    speedup: dict[str, Quartiles] = field(default_factory=dict)
    """Time with one thread over time with these, of the operator and of the copy."""


@dataclass(frozen=True)
class Bench:
    """The tools every case needs."""

    copy: CopyMix
    torch: Any
    """The module, None where it is missing or not wanted."""
    plan: Plan
    threads: tuple[int, ...]

    def set_threads(self, threads: int) -> None:
        """Let npu_quant and torch use so many; the copy is told in each call."""
        npu_quant.set_num_threads(threads)
        if self.torch is not None:
            self.torch.set_num_threads(threads)

    def records(self, operator: Operator, dtype: str, size: Size) -> Iterator[Record]:
        """Measure the operator on both kinds of arrays; torch compiles once for the two."""
        compiled = None
        if self.torch is not None:
            compiled = peers.compiled(self.torch, partial(operator.compiled, self.torch))
        for place in arrays.PLACES:
            yield from _Case(self, operator, dtype, size, place, compiled).records()


class _Case:
    def __init__(
        self, bench: Bench, operator: Operator, dtype: str, size: Size, place: str, compiled: Any
    ) -> None:
        self.bench, self.operator, self.dtype, self.size, self.place = (
            bench, operator, dtype, size, place
        )  # fmt: skip
        self.compiled = compiled
        self.x = arrays.normal(size, dtype, place)
        self.out = tuple(arrays.empty(*spec, place) for spec in operator.outputs(*size))
        self.peer_rows = peers.part(*size)

    def records(self) -> Iterator[Record]:
        candidates = list(self._candidates())
        self._check_peers()
        samples = measure(candidates, self.bench.plan)
        for threads in self.bench.threads:
            yield self._record(samples, threads)

    def _candidates(self) -> Iterator[Candidate]:
        names = {"call": self.operator.call, "x": self.x, "out": self.out}
        for threads in self.bench.threads:
            prepare = partial(self.bench.set_threads, threads)
            yield Candidate(("op", threads), statement("call(x, out=out)", names), prepare)
            yield from self._copies(threads)
            yield from self._torch(threads, prepare)
        formula = {"f": self.operator.reference, "x": self.x[: self.peer_rows]}
        yield Candidate("numpy", statement("f(x)", formula), scale=self._peer_scale())

    def _copies(self, threads: int) -> Iterator[Candidate]:
        for form in FORMS:
            run = partial(self.bench.copy.run, self.x, self.out[0], form, threads)
            yield Candidate((form, threads), run)

    def _torch(self, threads: int, prepare: Callable[[], None]) -> Iterator[Candidate]:
        if self.bench.torch is None:
            return
        settle = 0.0 if threads == 1 else _OPENMP_SPINS
        whole = {"f": self.compiled, "a": self._tensors(self.size.rows)}
        part = {"f": self._eager, "a": self._tensors(self.peer_rows)}
        run, run_part = statement("f(*a)", whole), statement("f(*a)", part)
        yield Candidate(("torch.compile", threads), run, prepare, settle=settle)
        yield Candidate(("torch", threads), run_part, prepare, self._peer_scale(), settle)

    def _tensors(self, rows: int) -> list[Any]:
        return [peers.tensor_of(self.bench.torch, a[:rows]) for a in (self.x, *self.out)]

    def _eager(self, *tensors: Any) -> None:
        self.operator.eager(self.bench.torch, *tensors)

    def _peer_scale(self) -> float:
        return self.size.rows / self.peer_rows

    def _check_peers(self) -> None:
        """All must compute the same: the formula to the bit, torch to a code (it multiplies)."""
        rows = self.peer_rows
        expected = self.operator.reference(self.x[:rows])[0].astype(np.int16)
        peers_of: dict[str, Callable[[], Any]] = {
            "npu_quant": lambda: self.operator.call(self.x, out=self.out)
        }
        if self.bench.torch is not None:
            peers_of["torch"] = lambda: self._eager(*self._tensors(rows))
            peers_of["torch.compile"] = lambda: self.compiled(*self._tensors(self.size.rows))
        for name, run in peers_of.items():
            self.out[0].fill(99)
            run()
            if np.abs(self.out[0][:rows] - expected).max() > (name != "npu_quant"):
                raise RuntimeError(f"bench: {name} does not compute {self.operator.name}")

    def _record(self, samples: Samples, threads: int) -> Record:
        op = ("op", threads)
        copy = _fastest_copy(samples, threads, FORMS)
        keys = {"copy": copy, "numpy": "numpy"}
        keys |= {name: (name, threads) for name in PEERS if (name, threads) in samples}
        speedup = {}
        if threads != 1 and 1 in self.bench.threads:
            speedup["op"] = samples.ratio(("op", 1), op)
            speedup["copy"] = samples.ratio(_fastest_copy(samples, 1, FORMS), copy)
        seconds = {"op": op, **keys}
        for name, streams in (("copy_plain", False), ("copy_streaming", True)):
            forms = [form for form in FORMS if form.streams == streams]
            seconds[name] = _fastest_copy(samples, threads, forms)
        return Record(
            operator=self.operator.name,
            dtype=self.dtype,
            size=str(self.size),
            arrays=self.place,
            threads=threads,
            bytes=self.x.nbytes + self.out[0].nbytes,
            copy_form=str(copy[0]),
            peer_rows=self.peer_rows,
            seconds={name: samples.seconds(key) for name, key in seconds.items()},
            ratios={name: samples.ratio(key, op) for name, key in keys.items()},
            speedup=speedup,
        )


def _fastest_copy(samples: Samples, threads: int, forms: Iterable[Form]) -> tuple[Form, int]:
    keys = ((form, threads) for form in forms)
    return min(keys, key=lambda key: samples.seconds(key).median)
