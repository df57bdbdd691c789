"""The arrays of ``npu-quant compare``: which file is an input, an actual or a golden output."""

from __future__ import annotations

import inspect
from argparse import Namespace
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from .. import ops
from ..golden.operators import model_of, name_of, operator_of, operators, outputs_of
from ..golden.read import FileSource, same_file
from ..golden.results import Source
from .arguments import UsageError, meant
from .files import ABSENT, RAW, Like, Opener, listed
from .outputs import split

_OURS = ("out", "numerics")


@dataclass(frozen=True)
class Roles:
    """The arrays of a comparison, and what they are called in its report."""

    actual: Any
    golden: Any = None
    inputs: dict[str, Any] | None = None
    actual_name: str = ""
    golden_name: str = ""


def check_operator(op: str) -> None:
    """Raise UsageError unless an operator has that name."""
    known = operators()
    if op.rpartition(".")[2] not in known:
        nearest = meant(op, known)
        listed = f"; known: {', '.join(known[:3])} and {len(known) - 3} more"
        raise UsageError(
            f"--op {op}: no such operator{nearest or listed} (see npu-quant compare --help)"
        )


def roles_of(arguments: Namespace) -> Roles:
    """Open what the arguments name.

    Raises:
        UsageError: there are too few or too many files, or one takes two parts.
        FileError: a file cannot be read.
    """
    opener = Opener(arguments.dtype, arguments.shape, arguments.key)
    if arguments.op is None:
        roles = _two_arrays(arguments, opener)
    elif arguments.golden:
        roles = _named_outputs(arguments, opener)
    else:
        roles = _computed(arguments, opener)
    opener.check_used()
    return roles


def _two_arrays(arguments: Namespace, opener: Opener) -> Roles:
    files = arguments.files
    if len(files) != 2 or ABSENT in files:
        given = f"{len(files)} given" if ABSENT not in files else f"{ABSENT!r} given"
        raise UsageError(
            f"two files are compared, actual and golden, {given}. With inputs: --op NAME."
        )
    golden = opener.open(files[1])
    actual = opener.open(files[0], like=golden)
    _refuse_same([("actual", actual)], [("golden", golden)])
    return Roles(actual, golden)


def _named_outputs(arguments: Namespace, opener: Opener) -> Roles:
    """Open actual and golden outputs of an operator that computes nothing here."""
    op = name_of(arguments.op)
    names = outputs_of(op)
    for what, words in (("actual", arguments.files), ("--golden", arguments.golden)):
        if not 1 <= len(words) <= len(names):
            raise UsageError(
                f"{op} has the outputs {', '.join(names)}; {len(words)} {what} files are given "
                "(with --golden no input is)."
            )
    golden = _opened(arguments.golden, opener, ())
    actual = _opened(arguments.files, opener, golden)
    pairs = [list(zip(names, sources, strict=False)) for sources in (actual, golden)]
    _refuse_same(*pairs)
    return Roles(tuple(actual), tuple(golden), None, _listed(actual), _listed(golden))


def _computed(arguments: Namespace, opener: Opener) -> Roles:
    """Open inputs and actual outputs of an operator that computes the golden."""
    op = name_of(arguments.op)
    named = _once("--input", arguments.input)
    attributes = _once("--attr", arguments.attr)
    both = sorted(set(named) & set(attributes))
    if both:
        raise UsageError(f"{both[0]} is given by --input and by --attr.")
    _check_parameters(op, [*named, *attributes])
    order = _positional(arguments)
    words, given = _split_files(op, arguments.files, order)
    named |= dict(zip(order, given, strict=True))
    sources = {n: opener.open(named[n]) for n in _in_order(op, named) if named[n] != ABSENT}
    inputs: dict[str, Any] = {name: source.array() for name, source in sources.items()}
    inputs |= {n: None for n, word in named.items() if word == ABSENT} | attributes
    goldens = _goldens(op, inputs, words, arguments.numerics)
    actual = _opened(words, opener, goldens, options=False)
    pairs = list(zip(outputs_of(op), actual, strict=False))
    _refuse_same(pairs, list(sources.items()))
    golden = f"computed from {_listed(list(sources.values()))}"
    actual += [None] * (len(outputs_of(op)) - len(actual))  # no file, no comparison
    return Roles(tuple(actual), None, inputs, _listed(actual), golden)


def _positional(arguments: Namespace) -> list[str]:
    """Return the inputs that files without a name stand for."""
    named = [name for name, _ in [*(arguments.input or ()), *(arguments.attr or ())]]
    return [name for name in operator_of(arguments.op).arrays if name not in named]


def inputs_last(arguments: Namespace) -> list[str]:
    """Return the files in the order they are to have, if the inputs are the first of them."""
    count = 0 if arguments.op is None or arguments.golden else len(_positional(arguments))
    return [*arguments.files[count:], *arguments.files[:count]]


def _split_files(op: str, files: Sequence[str], order: list[str]) -> tuple[list[str], list[str]]:
    """Return the files of the actual outputs and those of the inputs."""
    names, count = outputs_of(op), len(files) - len(order)
    if not 0 < count <= len(names):
        given = "1 file is" if len(files) == 1 else f"{len(files)} files are"
        raise UsageError(
            f'{op} takes the actual {", ".join(names)} ("-" for one that is not there) and then '
            f"{', '.join(order) or 'no more inputs'}; {given} given."
        )
    actual, inputs = list(files[:count]), list(files[count:])
    if all(word == ABSENT for word in actual):
        raise UsageError("no actual output is given.")
    return actual, inputs


def _check_parameters(op: str, names: Sequence[str]) -> None:
    """Refuse what is no parameter of an operator, before a file is missed."""
    known = [n for n in inspect.signature(getattr(ops, op)).parameters if n not in _OURS]
    for name in names:
        if name not in known:
            listed = meant(name, known) or f"; it takes {', '.join(known)}."
            raise UsageError(f"{op} has no parameter {name!r}{listed}")


def _in_order(op: str, named: dict[str, str]) -> list[str]:
    """Return names in the order of the operator's parameters."""
    return sorted(named, key=[*inspect.signature(getattr(ops, op)).parameters].index)


def _once(option: str, given: Sequence[tuple[str, Any]] | None) -> dict[str, Any]:
    """Return what an option names, each once."""
    result: dict[str, Any] = {}
    for name, value in given or ():
        if name in result:
            raise UsageError(f"{option} {name}= is given twice.")
        if name in _OURS:
            raise UsageError(f"{option} {name}= cannot be given; the profile is --numerics.")
        result[name] = value
    return result


def _goldens(
    op: str,
    inputs: dict[str, Any],
    words: Sequence[str],
    numerics: str | None,
) -> tuple[Like | None, ...]:
    """Return the golden outputs if files have no header: these are taken to be like them."""
    present = [word for word in words if word != ABSENT]
    if not any(listed(split(word)[0])[0][1] == RAW for word in present):
        return ()
    return model_of(op, inputs, numerics).golden()


def _opened(
    words: Sequence[str],
    opener: Opener,
    like: Sequence[Like | None],
    *,
    options: bool = True,
) -> list[FileSource | None]:
    padded = [*like, *[None] * (len(words) - len(like))]
    return [
        None if word == ABSENT else opener.open(word, one, options=options)
        for word, one in zip(words, padded, strict=False)
    ]


def _listed(sources: Sequence[Source | None]) -> str:
    """Name some sources."""
    names = [source.name for source in sources if source is not None]
    more = f" and {len(names) - 3} more" if len(names) > 3 else ""
    return ", ".join(names[:3]) + more


def _refuse_same(
    actual: Sequence[tuple[str, Source | None]], others: Sequence[tuple[str, Source | None]]
) -> None:
    """Raise UsageError if one array takes two parts: it could be compared with itself."""
    every = [*actual, *others]
    for i, (name, source) in enumerate(every[: len(actual)]):
        for other, second in every[i + 1 :]:
            if source is not None and second is not None and same_file(source, second):
                raise UsageError(
                    f"{source.name} is given as {name} and as {other}: one array cannot be both."
                )
