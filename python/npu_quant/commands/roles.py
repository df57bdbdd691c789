"""The arrays of ``npu-quant compare``: which file is an input, an actual or a golden output."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from ..arrays import Source
from ..errors import meant
from ..files import FileSource, same_file
from ..golden.operators import model_of, name_of, operators, outputs_of
from .arguments import UsageError
from .files import ABSENT, LOST, RAW, Like, Opener, listed
from .order import Order, by_key, filled
from .outputs import split


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


def roles_of(arguments: Namespace, order: Order | None) -> Roles:
    """Open what the arguments name.

    Args:
        arguments: of the command line.
        order: which file is what, where an operator computes the golden.

    Raises:
        UsageError: there are too few or too many files, or one takes two parts.
        FileError: a file cannot be read.
    """
    opener = opener_of(arguments, order)
    if order is not None:
        roles = _computed(order, arguments, opener)
    elif arguments.golden:
        roles = _named_outputs(arguments, opener)
    else:
        roles = _two_arrays(arguments, opener)
    opener.check_used()
    return roles


def opener_of(arguments: Namespace, order: Order | None) -> Opener:
    """Return what opens files, with what the command line says of all, or of some by name."""
    named = {} if order is None else dict(zip(outputs_of(order.op), order.actual, strict=False))
    named |= {} if order is None else order.inputs
    for name in arguments.dtypes:
        if named.get(name, ABSENT) == ABSENT:
            known = ", ".join(named) or "none, unless --op computes the golden"
            raise UsageError(f"--dtype {name}=: no file has that name; known: {known}.")
    dtypes = {named[name]: dtype for name, dtype in arguments.dtypes.items()}
    return Opener(arguments.dtype, arguments.shape, arguments.key, named=dtypes)


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
    sides = [_by_output(words, names) for words in (arguments.files, arguments.golden)]
    for what, words in zip(("actual", "--golden"), sides, strict=True):
        if not 1 <= len(words) <= len(names):
            raise UsageError(
                f"{op} has the outputs {', '.join(names)}; {len(words)} {what} files are given "
                "(with --golden no input is)."
            )
    golden = _opened(sides[1], opener, ())
    actual = _opened(sides[0], opener, golden)
    goldens = [f"--golden {name}" for name in names]
    _refuse_same(*(list(zip(*pair, strict=False)) for pair in ((names, actual), (goldens, golden))))
    return Roles(tuple(actual), tuple(golden), None, _listed(actual), _listed(golden))


def _computed(order: Order, arguments: Namespace, opener: Opener) -> Roles:
    """Open inputs and actual outputs of an operator that computes the golden."""
    op, words = order.op, order.actual
    given = {name: word for name, word in order.inputs.items() if word != ABSENT}
    sources = {name: opener.open(word) for name, word in given.items()}
    inputs: dict[str, Any] = {name: source.array() for name, source in sources.items()}
    inputs |= dict.fromkeys(set(order.inputs) - set(given)) | order.attributes
    goldens = _goldens(op, inputs, words, arguments.numerics)
    actual = _opened(words, opener, goldens, options=False)
    pairs = list(zip(outputs_of(op), actual, strict=False))
    _refuse_same(pairs, list(sources.items()))
    golden = f"computed from {_listed(list(sources.values()))}"
    actual += [None] * (len(outputs_of(op)) - len(actual))  # no file, no comparison
    return Roles(tuple(actual), None, inputs, _listed(actual), golden)


def _by_output(words: Sequence[str], names: Sequence[str]) -> Sequence[str]:
    """Return words, or the outputs that a file has which is the only one."""
    keyed = by_key(words[0], names) if len(words) == 1 else {}
    return filled(keyed, names) if keyed else words


def _goldens(
    op: str,
    inputs: dict[str, Any],
    words: Sequence[str],
    numerics: str | None,
) -> tuple[Like | None, ...]:
    """Return the golden outputs if files do not say all of what they have: they are like these."""
    present = [word for word in words if word != ABSENT]
    if not any(d in (RAW, LOST) for word in present for _, d, _ in listed(split(word)[0])):
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
