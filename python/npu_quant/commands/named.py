"""Files of ``npu-quant compare --op`` by what they are: the operator's outputs, inputs, goldens."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from .. import ops
from ..errors import meant
from ..files import FileError, list_arrays
from ..golden.operators import inputs, name_of, operator_of, outputs_of
from .arguments import UsageError
from .outputs import split

GOLDEN = "golden."
"""What stands before the name of an output whose golden is in a file."""

_NAMED = re.compile(rf"((?:{re.escape(GOLDEN)})?[^\W\d]\w*)=(.+)", re.DOTALL)
_OF_LIST = re.compile(r"([^\W\d]\w*?)\[?\d+\]?=.+", re.DOTALL)


@dataclass(frozen=True)
class Named:
    """The words of a command line by what they name; None stands for an array that is not there."""

    op: str
    actual: dict[str, str | None] = field(default_factory=dict)
    golden: dict[str, str | None] = field(default_factory=dict)
    inputs: dict[str, str | None] = field(default_factory=dict)
    attributes: Mapping[str, Any] = field(default_factory=dict)

    def files(self) -> dict[str, str]:
        """Return all files by their names."""
        golden = {GOLDEN + name: file for name, file in self.golden.items()}
        every = {**self.actual, **golden, **self.inputs}
        return {name: file for name, file in every.items() if file is not None}


def named_of(op: str, words: Sequence[str], attributes: Mapping[str, Any], *, keys: bool) -> Named:
    """Return what words of a command line name.

    Args:
        op: the operator, which is known.
        words: ``NAME=FILE``; files whose keys are such names; or one file for each output and
            each required input, in the operator's order.
        attributes: by name.
        keys: whether keys of files are names.

    Raises:
        UsageError: a name is unknown or given twice, or a file has none.
    """
    op, given, in_order = name_of(op), dict[str, str](), list[str]()
    for word in words:
        _refuse_lists(word, op)
        match = _NAMED.fullmatch(word)
        pairs = {match[1]: match[2]} if match else by_key(word, op) if keys else {}
        in_order += [] if pairs else [word]
        for name, file in pairs.items():
            if name in given:
                golden = f"; a golden is {GOLDEN}{name}=FILE" if name in outputs_of(op) else ""
                raise UsageError(f"{name} is given twice: by {given[name]} and by {file}{golden}.")
            given[name] = file
    names = [*outputs_of(op), *operator_of(op).arrays]
    if in_order and not given and len(in_order) == len(names):
        given = dict(zip(names, in_order, strict=True))
    elif in_order:
        raise UsageError(f"{in_order[0]} has no name; write {form_of(op)}")
    result = Named(op, attributes=attributes)
    for name, file in given.items():
        start, name = GOLDEN * name.startswith(GOLDEN), name.removeprefix(GOLDEN)
        _side_of(result, start, name, file)[name] = None if file == "None" else file
    _check(result)
    return result


def _refuse_lists(word: str, op: str) -> None:
    """Complain of an array of a list of several: weight[0]=FILE, or y0=FILE."""
    match, known = _OF_LIST.fullmatch(word), parameters_of(op)
    if match and match[1] in (*outputs_of(op), *known) and "Arrays" in str(known.values()):
        own = f"{match[1]} as a list of several arrays"
        raise UsageError(f"{op} takes {own} only in Python: npu_quant.golden.compare.")


def parameters_of(op: str) -> dict[str, str]:
    """Return the parameters of an operator that are told at a prompt, and their annotations."""
    every = inputs.parameters_of(getattr(ops, op)).items()
    return {name: str(each.annotation) for name, each in every}


def form_of(op: str) -> str:
    """Return the command that compares what an operator gives, with FILE for each file."""
    names = [f"{name}=FILE" for name in (*outputs_of(op), *operator_of(op).arrays)]
    optional = [
        f"[{name}=FILE]"
        for name, kind in parameters_of(op).items()
        if "Array" in kind and name not in operator_of(op).arrays
    ]
    return " ".join(["npu-quant compare --op", op, *names, *optional])


def by_key(word: str, op: str) -> dict[str, str]:
    """Return FILE::KEY by name where a file has several arrays, all of known names; else nothing.

    The numbers of all outputs stand for their names: torch.save and np.savez give a tuple's.
    """
    path, key = split(word)
    try:
        keys = [] if key is not None else [k for k, *_ in list_arrays(path)]
    except FileError:  # which its opening says, too
        return {}
    outputs = outputs_of(op)
    names = {k: k for k in (*outputs, *parameters_of(op))}
    for start in ("", "arr_"):
        numbers = {f"{start}{i}": name for i, name in enumerate(outputs)}
        names |= numbers if set(keys) == set(numbers) else {}
    known = len(keys) > 1 and set(keys) <= set(names)
    return {names[k]: f"{path}::{k}" for k in keys} if known else {}


def _side_of(named: Named, start: str, name: str, file: str) -> dict[str, str | None]:
    """Return where a name belongs; raise UsageError where it is none of the operator's."""
    outputs, parameters = outputs_of(named.op), parameters_of(named.op)
    if name in outputs:
        return named.golden if start else named.actual
    if name in parameters and not start:
        if "Array" not in parameters[name]:
            raise UsageError(f"{name} is not an array: --attr {name}={file}")
        return named.inputs
    known = outputs if start else [*outputs, *parameters]
    raise UsageError(_unknown(named.op, "output" if start else "output or input", name, known))


def _unknown(op: str, what: str, name: str, known: Iterable[str]) -> str:
    listed = f"; it has {', '.join(known)}."
    return f"{op} has no {what} {name!r}{meant(name, known) or listed}"


def _check(named: Named) -> None:
    """Raise UsageError unless attributes are the operator's, and something can be compared."""
    parameters = parameters_of(named.op)
    for name, value in named.attributes.items():
        if name not in parameters:
            raise UsageError(_unknown(named.op, "attribute", name, parameters))
        if isinstance(value, str) and parameters[name].startswith("Array"):
            raise UsageError(f"{name} is an array: {name}={value}")
        if name in named.inputs:
            raise UsageError(f"{name} is given by a file and by --attr.")
    if not any(named.actual.values()):
        raise UsageError(f"no output to judge is given; write {form_of(named.op)}")
    if named.golden:
        for name in (*named.inputs, *named.attributes):
            raise UsageError(f"with {GOLDEN}NAME=FILE nothing is computed: leave {name}= out.")
        return
    for name, parameter in inputs.parameters_of(getattr(ops, named.op)).items():
        given = name in named.inputs or name in named.attributes
        if given or parameter.default is not parameter.empty:
            continue
        kind = parameters[name]
        ways = [f"--attr {name}=VALUE"] * (not kind.startswith("Array"))
        ways += [f"{name}=FILE"] * ("Array" in kind) + [f"{name}=None"] * ("None" in kind)
        raise UsageError(f"{named.op} needs {' or '.join(ways)}; write {form_of(named.op)}")
