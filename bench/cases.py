"""What is measured: an operator on arrays of one kind, beside the copy and the peers."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np

import npu_quant

from . import arrays, onnx_linear, peers
from .copy_mix import FORMS, CopyMix, Form
from .harness import Candidate, Plan, Quartiles, Samples, measure, statement
from .operators import Linear, Operator, Size, Work

PEERS = ("copy", "numpy", "torch", "torch.compile", "onnxruntime")
# OpenMP's threads spin for some milliseconds after torch's work and would slow down what follows.
_OPENMP_SPINS = 0.01


@dataclass(frozen=True)
class Record:
    """What came out of a case with some number of threads."""

    operator: str
    dtype: str
    size: str
    arrays: str
    threads: int
    bytes: int
    """Read and written, in arrays that have rows x elements."""
    copy_form: str
    """The fastest copy, which `ratios` is about."""
    peer_rows: int
    """Peers that make temporaries did this many rows; `seconds` is scaled to all."""
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
    onnxruntime: Any
    """The same."""
    plan: Plan
    threads: tuple[int, ...]

    def set_threads(self, threads: int) -> None:
        """Let npu_quant and torch use so many; the others are told as they are called or made."""
        npu_quant.set_num_threads(threads)
        if self.torch is not None:
            self.torch.set_num_threads(threads)

    def records(self, operator: Operator, dtype: str, size: Size) -> Iterator[Record]:
        """Measure the operator on arrays of all places; torch compiles once for them."""
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
        self.work = Work.of(operator, dtype, size, place)
        self.peer_rows = peers.part(*size)
        self.part = self.work.part(self.peer_rows)
        self.of_peers = self.work if dtype in operator.peers_do_all else self.part

    def records(self) -> Iterator[Record]:
        candidates = [c for threads in self.bench.threads for c in self._candidates(threads)]
        formula = statement(*self.part.statement("formula(...)"))
        candidates.append(Candidate("numpy", formula, scale=self._scale(self.part)))
        self._check(candidates)
        samples = measure(candidates, self.bench.plan)
        for threads in self.bench.threads:
            yield self._record(samples, threads)

    def _candidates(self, threads: int) -> Iterator[Candidate]:
        prepare = partial(self.bench.set_threads, threads)
        run = statement(*self.work.statement("call(..., out=out)"))
        yield Candidate(("op", threads), run, prepare)
        copy = self.bench.copy.between(*self.work.streams)
        for form in FORMS:
            yield Candidate((form, threads), partial(copy, form, threads))
        if self.bench.torch is not None:
            yield from self._torch(threads, prepare)
        if self.bench.onnxruntime is not None and self.operator.linear is not None:
            yield from self._onnxruntime(self.operator.linear, threads)

    def _torch(self, threads: int, prepare: Callable[[], None]) -> Iterator[Candidate]:
        settle = 0.0 if threads == 1 else _OPENMP_SPINS
        whole = {"f": self.compiled, "a": self._tensors(self.work)}
        yield Candidate(
            ("torch.compile", threads), statement("f(*a)", whole), prepare, settle=settle
        )
        eager = {"f": self.operator.eager, "torch": self.bench.torch}
        run = statement("f(torch, *a)", eager | {"a": self._tensors(self.of_peers)})
        yield Candidate(("torch", threads), run, prepare, self._scale(self.of_peers), settle)

    def _onnxruntime(self, linear: Linear, threads: int) -> Iterator[Candidate]:
        streams = (self.of_peers.inputs[0], self.of_peers.wanted[0])
        bound = onnx_linear.bind(self.bench.onnxruntime, linear, *streams, threads)
        if bound is not None:
            run = statement("s.run_with_iobinding(b)", dict(zip("sb", bound, strict=True)))
            yield Candidate(("onnxruntime", threads), run, scale=self._scale(self.of_peers))

    def _tensors(self, work: Work) -> list[Any]:
        return [peers.tensor_of(self.bench.torch, a) for a in work.arrays]

    def _scale(self, work: Work) -> float:
        return self.size.rows / work.inputs[0].shape[0]

    def _check(self, candidates: Iterable[Candidate]) -> None:
        """All must compute the same: the operator to the bit, peers to a code."""
        expected = self.part.expected()
        self.work.call(out=self.work.out)
        for got, wanted in zip(self.part.outputs, expected, strict=True):
            if got is not None and not np.array_equal(got, wanted):
                raise RuntimeError(f"bench: npu_quant does not compute {self.operator.name}")
        for c in candidates:
            if c.key in [(name, self.bench.threads[0]) for name in PEERS]:
                off = np.abs(self._first_output(c) - expected[0].astype(np.float32)).max()
                if not off <= self.operator.tolerance:
                    raise RuntimeError(f"bench: {c.key[0]} does not compute {self.operator.name}")

    def _first_output(self, peer: Candidate) -> Any:
        first = self.part.wanted[0]
        first.fill(99)
        peer.prepare()
        result = None
        if peer.key == ("torch", self.bench.threads[0]):
            result = self.operator.eager(self.bench.torch, *self._tensors(self.part))
        else:
            peer.run(1)
        return (first if result is None else peers.array_of(result)).astype(np.float32)

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
            bytes=self.work.nbytes,
            copy_form=str(copy[0]),
            peer_rows=self.peer_rows,
            seconds={name: samples.seconds(key) for name, key in seconds.items()},
            ratios={name: samples.ratio(key, op) for name, key in keys.items()},
            speedup=speedup,
        )


def _fastest_copy(samples: Samples, threads: int, forms: Iterable[Form]) -> tuple[Form, int]:
    keys = ((form, threads) for form in forms)
    return min(keys, key=lambda key: samples.seconds(key).median)
