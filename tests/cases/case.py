"""What the tests have to know of an operator, and the check that all of them make."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from conftest import DTYPES
from witnesses import Array, assert_same_bits, lying_like, spoil

from npu_quant import _core

FLOAT16, BFLOAT16, FLOAT32 = DTYPES
SPECIALS = [np.nan, -np.nan, np.inf, -np.inf, 0.0, -0.0, 1e-45]
# What lies in guarded memory: whole and ragged vectors, one element, a long row.
GUARDED = [(3, 70), (1, 1), (4, 64), (2, 4100), (3, 2048)]

Rng = np.random.Generator
DType = np.dtype[Any]
Arguments = dict[str, Any]
Tries = Iterator[Arguments]
Results = tuple[Array | None, ...]
Kinds = Mapping[str, Arguments]
Setting = tuple[tuple[int, ...], Arguments]
# Settings, or what makes arguments of random numbers and the options of a kind.
Trial = Sequence[Setting] | Callable[..., Tries]


def settings(*shapes: tuple[int, ...], **choices: Sequence[Any]) -> list[Setting]:
    """Return each shape with each combination of choices, for a case's arguments()."""
    chosen = itertools.product(*choices.values())
    options = [dict(zip(choices, values, strict=True)) for values in chosen]
    return list(itertools.product(shapes, options))


def kinds(**choices: Sequence[Any]) -> Kinds:
    """Return each combination of choices by its name."""
    options = [chosen for _, chosen in settings((), **choices)]
    return {"-".join(map(word, o.values())): o for o in options}


def each(**choices: Sequence[Any]) -> Kinds:
    """Return as few combinations of choices as have each of them, by their names."""
    count = max(map(len, choices.values()))
    taken = ([*values][i % len(values)] for i in range(count) for values in choices.values())
    rows = zip(*[taken] * len(choices), strict=True)
    options = [dict(zip(choices, row, strict=True)) for row in rows]
    return {"-".join(map(word, o.values())): o for o in options}


def whole_elements(shape: tuple[int, ...], codes: int = 8) -> tuple[int, ...]:
    """Return a shape whose last axis is a multiple of 8, as packed codes of int4 need it."""
    return (*shape[:-1], -shape[-1] // codes * -codes)


def word(value: Any) -> str:
    """Name an option."""
    if isinstance(value, tuple):
        return "-".join(map(word, value))
    return str(getattr(value, "name", value))


@dataclass(frozen=True)
class Case:
    """An operator: how to call it, what it should give, and on which arguments it is tried.

    Settings are taken with each of the kinds, but that those of threads and large are complete.
    Where in_memory has fewer kinds, layouts, outs and guards are taken with those alone: one per
    size of elements, kernel and format, as which values they are is for the formulas.
    """

    name: str  # the stem of its files first: pytest -k finds it so
    operator: Callable[..., Any]
    reference: Callable[..., Any]
    arguments: Callable[..., Arguments]  # of random numbers, a shape, and options
    rows: tuple[str, ...]  # the arrays that have that shape
    kinds: Kinds
    # Every option and length, and what is hard to get right; with kinds of its own in a pair.
    formulas: Mapping[str, Trial | tuple[Trial, Kinds]]
    layouts: Sequence[Setting]  # for arguments in memory of every layout
    outs: Sequence[Setting]  # for results in memory of every layout
    threads: Sequence[Setting]  # enough work for many threads
    large: Sequence[Setting]  # two axes, to be repeated until no cache holds them
    guards: Mapping[str, Sequence[Any]] = field(default_factory=dict)  # options, for many shapes
    in_memory: Kinds | None = None
    # Whether arguments may have an axis more, before their own: large ones are stacked so.
    stacks: bool = True
    # Whether results have a row for each of its rows, or none.
    in_order: bool = True
    # Whether an axis may be empty.
    may_be_empty: bool = True
    most_columns: int = 1 << 53  # elements of a row
    fields: tuple[str, ...] = ()  # of the results, where there are several
    # Puts special values into arguments; none where arguments() has them already.
    sprinkled: Callable[[Rng, Arguments], Arguments] | None = None
    same: Callable[[Results, Results], None] = assert_same_bits
    # A function of the C API: it takes neither strides below zero nor None for a result.
    in_c: bool = False
    # The argument that it writes into, where there is no out.
    in_place: str = ""
    # The arguments that are lists of arrays, here of one each; so then are the results.
    lists: Sequence[str] = ()

    def given(self, a: Arguments) -> Arguments:
        """Return arguments with a list for an array, where the operator takes lists."""
        return {n: [v] if n in self.lists and v is not None else v for n, v in a.items()}

    def expected(self, a: Arguments) -> tuple[Array, ...]:
        """Return what the formula makes of arguments."""
        return as_tuple(self.reference(**self.given(a)))

    def run(self, a: Arguments, out: Results | None = None) -> Results:
        """Return what the operator makes of arguments; into out, where it is given."""
        if self.in_place:
            written = a[self.in_place].copy() if out is None else out[0]
            written[...] = a[self.in_place]
            return as_tuple(self.operator(**a | {self.in_place: written}))
        a = self.given(a)
        if out is None:
            return as_tuple(self.operator(**a))
        return as_tuple(self.operator(**a, out=out if self.fields or self.lists else out[0]))

    def tried(self, rng: Rng, setting: Setting, **kind: Any) -> list[Arguments]:
        """Return a setting's arguments, and then the same with special values among them."""
        shape, options = setting
        a = self.arguments(rng, shape, **kind | options)
        return [a] if self.sprinkled is None else [a, self.sprinkled(rng, a)]

    def tries(self, trial: Trial, rng: Rng, **kind: Any) -> Tries:
        """Yield the arguments of one of its formulas."""
        if callable(trial):
            return trial(rng, **kind)
        return (a for setting in trial for a in self.tried(rng, setting, **kind))

    def takes(self, memory: Array) -> bool:
        """Tell whether it takes arrays of such strides."""
        return not self.in_c or min((0, *memory.strides)) == 0

    def in_columns(self, a: Arguments) -> Arguments:
        """Return arguments whose rows lie across the memory."""
        return a | {name: a[name].copy(order="F") for name in self.rows}


def as_tuple(results: Any) -> tuple[Any, ...]:
    return tuple(results) if isinstance(results, (tuple, list)) else (results,)


def check(
    case: Case,
    a: Arguments,
    expected: tuple[Array, ...] | None = None,
    out: Results | None = None,
    where: str = "",
) -> None:
    """Fail unless the operator gives what the formula gives, on every instruction set."""
    expected = case.expected(a) if expected is None else expected
    if out is not None:
        pairs = zip(expected, out, strict=True)
        expected = tuple(e if o is None else lying_like(e, o) for e, o in pairs)
    before = _core.target()
    try:
        for target in _core.targets():
            assert _core.set_target(target)
            check_here(case, a, expected, out)
    except Exception as error:
        text = f"{case.name} on {target}{where and ', '}{where}, of {described(a)}: {error}"
        raise AssertionError(text) from error
    finally:
        _core.set_target(before)


def check_here(case: Case, a: Arguments, expected: tuple[Array, ...], out: Results | None) -> None:
    """Fail unless the operator gives these results, into out where it is given."""
    if out is None:
        results = case.run(a)
        assert all(result is not None and result.flags.c_contiguous for result in results)
        return case.same(results, expected)
    for array, value in zip(out, expected, strict=True):
        if array is not None:
            spoil(array, value)
    results = case.run(a, out)
    assert all(result is array for result, array in zip(results, out, strict=True))
    wanted = [i for i, array in enumerate(out) if array is not None]
    return case.same(tuple(out[i] for i in wanted), tuple(expected[i] for i in wanted))


def described(a: Arguments) -> str:
    """Say what arguments are, in a line."""
    return ", ".join(
        f"{name} {value.dtype}{value.shape}" if isinstance(value, np.ndarray) else f"{name}={value}"
        for name, value in a.items()
    )


def sprinkle(
    rng: Rng,
    a: Arguments,
    names: Sequence[str],
    specials: Sequence[float] = SPECIALS,
    every: int = 16,
) -> Arguments:
    """Return arguments with special values in these arrays, where they are several floats."""
    a = a.copy()
    for name in names:
        if a[name] is not None and a[name].dtype.kind not in "iu" and a[name].size > 1:
            a[name] = a[name].copy()
            where = rng.integers(a[name].size, size=max(1, a[name].size // every))
            a[name].reshape(-1)[where] = rng.choice(specials, where.size)
    return a
