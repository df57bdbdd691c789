"""The arrays of ``npu-quant compare``, opened, and the names they go by in its report."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from .._shown import some_of
from ..arrays import Source
from ..files import FileSource, same_file
from ..golden.operators import model_of, operator_of, outputs_of
from ..golden.operators.dumped import output_in_file
from .arguments import UsageError
from .files import LOST, RAW, Reading, listed
from .named import GOLDEN, Named
from .outputs import split

Sources = dict[str, FileSource | None]
"""By the names of outputs; None where there is no array. Of two arrays alone the name is ""."""


@dataclass(frozen=True)
class Opened:
    """The arrays of a comparison."""

    actual: Sources
    golden: Sources = field(default_factory=dict)
    """Those in files; none where the operator computes it."""
    inputs: dict[str, Any] | None = None
    """The operator's, with its attributes."""
    actual_name: str = ""
    golden_name: str = ""


def open_two(words: Sequence[str], reading: Reading) -> Opened:
    """Open an array and its golden.

    Raises:
        UsageError: there are not two.
        FileError: a file cannot be read.
    """
    if len(words) != 2:
        raise UsageError(
            f"two files are compared, actual and golden, {len(words)} given; files of an operator "
            "go by name: --op NAME y=FILE input=FILE."
        )
    golden = reading.open(words[1], "golden")
    actual = reading.open(words[0], "actual", golden)
    _refuse_same({"actual": actual}, {"golden": golden})
    return Opened({"": actual}, {"": golden})


def open_named(named: Named, reading: Reading, numerics: str | None) -> Opened:
    """Open the arrays of an operator.

    Raises:
        UsageError: one array is given twice.
        FileError: a file cannot be read.
        DTypeError, ParamError: the operator does not take the inputs.
    """
    if named.golden:
        golden = {
            name: None if word is None else reading.open(word, GOLDEN + name)
            for name, word in named.golden.items()
        }
        actual = _open_outputs(named, reading, golden)
        _refuse_same(actual, {GOLDEN + name: source for name, source in golden.items()})
        return Opened(actual, golden, None, _listed(actual.values()), _listed(golden.values()))
    sources = {
        name: None if word is None else reading.open(word, name, None, _lost_dtype(named, name))
        for name, word in named.inputs.items()
    }
    inputs = {**sources, **named.attributes}
    stored = {n: listed(split(word)[0]) for n, word in named.actual.items() if word is not None}
    like: dict[str, Any] = {}
    if any(dtype in (RAW, LOST) for arrays in stored.values() for _, dtype, _ in arrays):
        model = model_of(named.op, inputs, numerics)
        like = {n: output_in_file(model, n, sum(a[0][2])) for n, a in stored.items() if a}
    actual = _open_outputs(named, reading, like)
    _refuse_same(actual, sources)
    computed = f"computed from {_listed(sources.values())}"
    absent = dict.fromkeys(outputs_of(named.op))  # no file, no comparison
    return Opened(absent | actual, {}, inputs, _listed(actual.values()), computed)


def _open_outputs(named: Named, reading: Reading, like: Mapping[str, Any]) -> Sources:
    words = [(name, named.actual[name]) for name in outputs_of(named.op) if name in named.actual]
    return {
        name: None if word is None else reading.open(word, name, like.get(name))
        for name, word in words
    }


def _lost_dtype(named: Named, name: str) -> Any:
    """The dtype that the operator and its attributes say an input has; None for none."""
    if name == "mxscale":
        return "float8_e8m0fnu"
    source = named.attributes.get("src_type", named.attributes.get("src_dtype"))
    return source if name == operator_of(named.op).arrays[0] else None


def _listed(sources: Iterable[Source | None]) -> str:
    return some_of([s.name for s in sources if s is not None], shown=str)


def _refuse_same(actual: Sources, others: Sources) -> None:
    """Raise UsageError if one array takes two parts: it could be compared with itself."""
    every = [(n, s) for n, s in [*actual.items(), *others.items()] if s is not None]
    for i, (name, source) in enumerate(every[: len(actual)]):
        for other, second in every[i + 1 :]:
            if same_file(source, second):
                raise UsageError(
                    f"{source.name} is given as {name} and as {other}: one array cannot be both."
                )
