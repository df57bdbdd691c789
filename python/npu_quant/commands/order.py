"""Which file is what, where an operator computes the golden: its outputs first, then its inputs."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from .. import ops
from ..errors import meant
from ..files import FileError, list_arrays
from ..golden.operators import model, name_of, operator_of, operators, outputs_of
from .arguments import UsageError
from .files import ABSENT
from .outputs import split
from .shell import joined


@dataclass(frozen=True)
class Order:
    """The words of a command line by what they name."""

    op: str
    actual: tuple[str, ...]
    """In the order of the operator's outputs, as many as are given."""
    inputs: dict[str, str]
    """Its array inputs in the order of its parameters; "-" for one that is not there."""
    attributes: dict[str, Any]

    def text(self) -> str:
        """Return the files and the inputs by name as a command line has them."""
        order = operator_of(self.op).arrays
        words = [*self.actual, *(self.inputs[name] for name in order if name in self.inputs)]
        for name, word in self.inputs.items():
            words += [] if name in order else ["--input", f"{name}={word}"]
        return joined(words)


def parameters_of(op: str) -> dict[str, str]:
    """Return the parameters of an operator that are told at a prompt, and their annotations."""
    every = model.parameters_of(getattr(ops, op)).items()
    return {name: str(each.annotation) for name, each in every}


def parameter_meant(option: str, value: str, op: str | None) -> str:
    """Return how an operator's parameter is given that was taken for an option; "" if it is none.

    Args:
        option: what was given, such as "--dst_type" or "--dst-type=int8".
        value: the word after it.
        op: the operator's name; None: any.
    """
    name, _, own = option.lstrip("-").partition("=")
    name = name.replace("-", "_")
    kinds = [parameters_of(one).get(name) for one in operators() if op in (None, one)]
    kind = next((kind for kind in kinds if kind is not None), None)
    if kind is None:
        return ""
    return f"{'--input' if kind.startswith('Array') else '--attr'} {name}={own or value or 'VALUE'}"


def order_of(arguments: Namespace) -> Order:
    """Return which file is what.

    Files with several arrays whose keys are names of the operator's outputs or parameters stand
    for all of them.

    Raises:
        UsageError: there are too few or too many files, or names that the operator has not.
    """
    op = name_of(arguments.op)
    words = [*arguments.files, *(word for name, word in arguments.input or () if not name)]
    named = once("--input", [pair for pair in arguments.input or () if pair[0]])
    attributes = once("--attr", arguments.attr)
    outputs: dict[str, str] = {}
    files: list[str] = []
    for word in words:
        keyed = {} if arguments.key else by_key(word, outputs_of(op), [*parameters_of(op)])
        files += [] if keyed else [word]
        for name, one in keyed.items():
            target = outputs if name in outputs_of(op) else named
            if name in target:
                golden = " (a golden is given by --golden FILE)" if target is outputs else ""
                raise UsageError(f"{name} is given by {target[name]} and by {one}{golden}.")
            target[name] = one
    _check_parameters(op, named, attributes)
    order = [name for name in operator_of(op).arrays if name not in {**named, **attributes}]
    count = len(files) - len(order)
    if not (0 < count <= len(outputs_of(op)) if not outputs else count == 0):
        raise UsageError(
            f'{op} takes the actual {", ".join(outputs_of(op))} ("-" for one that is not there) '
            f"and then {', '.join(order) or 'no more inputs'}; "
            f"{'1 file is' if len(words) == 1 else f'{len(words)} files are'} given."
        )
    actual = filled(outputs, outputs_of(op)) if outputs else files[:count]
    if all(word == ABSENT for word in actual):
        raise UsageError("no actual output is given.")
    inputs = named | dict(zip(order, files[count:], strict=True))
    in_order = {name: inputs[name] for name in parameters_of(op) if name in inputs}
    return Order(op, tuple(actual), in_order, attributes)


def by_key(word: str, outputs: Sequence[str], others: Sequence[str] = ()) -> dict[str, str]:
    """Return FILE::KEY by name where a file has several arrays, all of known names; else nothing.

    Args:
        word: the file.
        outputs: names; their numbers stand for them, which torch.save and np.savez give a tuple's.
        others: more names.
    """
    path, key = split(word)
    try:
        keys = [] if key is not None or word == ABSENT else [k for k, *_ in list_arrays(path)]
    except FileError:  # which its opening says, too
        return {}
    names = {k: k for k in (*outputs, *others)}
    for start in ("", "arr_"):
        numbers = {f"{start}{i}": name for i, name in enumerate(outputs)}
        names |= numbers if set(keys) == set(numbers) else {}
    known = len(keys) > 1 and set(keys) <= set(names)
    return {names[k]: f"{path}::{k}" for k in keys} if known else {}


def filled(outputs: dict[str, str], names: Sequence[str]) -> list[str]:
    """Return words by the names of outputs as a list, "-" for those that come before others."""
    last = max(i for i, name in enumerate(names) if name in outputs)
    return [outputs.get(name, ABSENT) for name in names[: last + 1]]


def _check_parameters(op: str, named: dict[str, str], attributes: dict[str, Any]) -> None:
    """Refuse what is no parameter of an operator, or is given by the wrong option."""
    both = sorted(set(named) & set(attributes))
    if both:
        raise UsageError(f"{both[0]} is given by --input and by --attr.")
    known = parameters_of(op)
    for name, value in (named | attributes).items():
        if name not in known:
            listed = meant(name, known) or f"; it takes {', '.join(known)}."
            raise UsageError(f"{op} has no parameter {name!r}{listed}")
        if name in named and "Array" not in known[name]:
            raise UsageError(f"{name} is no array: --attr {name}={value}")
        if name not in named and isinstance(value, str) and known[name].startswith("Array"):
            raise UsageError(f"{name} is an array: --input {name}={value}")


def once(option: str, given: Sequence[tuple[str, Any]] | None) -> dict[str, Any]:
    """Return what an option names, each once."""
    result: dict[str, Any] = {}
    for name, value in given or ():
        if name in result:
            raise UsageError(f"{option} {name}=".removesuffix(" =") + " is given twice.")
        if name in model.OURS:
            raise UsageError(f"{option} {name}= cannot be given; the profile is --numerics.")
        result[name] = value
    return result
