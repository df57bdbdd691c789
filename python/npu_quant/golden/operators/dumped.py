"""Which operator made arrays of a dump, and which of its arguments are among them."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from typing import Any

import numpy as np

from ... import ops
from ...errors import ParamError
from ...files.common import FileError
from ...files.dumps import Call, Dumped
from ...files.small import json_in
from .inputs import parameters_of
from .model import Model
from .registry import name_of, operator_of, outputs_of

Find = Callable[[str], Any]
"""Returns the array of a name."""

_KEYS = ("op", "inputs", "outputs", "attributes", "numerics", "variant")


@dataclass(frozen=True)
class Rule:
    """What is said of the calls whose names fit a pattern."""

    pattern: str
    op: str
    inputs: Mapping[str, str] = field(default_factory=dict)
    """By the operator's parameters: names of arrays, besides what the dump says itself."""
    outputs: Mapping[str, str] = field(default_factory=dict)
    """By the operator's outputs, likewise."""
    attributes: Mapping[str, Any] = field(default_factory=dict)
    numerics: str | None = None
    variant: str | None = None

    def fits(self, call: str) -> bool:
        """Say whether a call is meant, with the folder it is in or without; a gradient never is."""
        name = call.rpartition("/")[2]
        if "backward" in name.split("."):
            return False
        return any(n == self.pattern or fnmatchcase(n, self.pattern) for n in (call, name))


def rules_of(
    ops_by_name: str | Mapping[str, Any] | None,
    mapping: Mapping[str, Any] | str | os.PathLike[str] | None,
) -> list[Rule]:
    """Return what was said of calls, the mapping's first.

    Args:
        ops_by_name: operators, or their names, by patterns; one alone is for all its calls.
        mapping: likewise, or more by `_KEYS`; or a JSON file with that.

    Raises:
        ParamError: it is not of that form, or no operator goes by such a name.
        OSError: the file cannot be read.
    """
    said: Any = mapping
    if isinstance(mapping, (str, os.PathLike)):
        said = _read(mapping)
    if isinstance(ops_by_name, str):
        ops_by_name = {every_call_of(ops_by_name): ops_by_name}
    both = tuple({} if given is None else given for given in (said, ops_by_name))
    for what, given in zip(("mapping", "ops"), both, strict=True):
        if not isinstance(given, Mapping) or not all(isinstance(name, str) for name in given):
            raise ParamError(
                f"{what} is not an object of names and operators; write "
                '{"NPU.npu_dynamic_quant.*": "npu_dynamic_quant"}.'
            )
    return [_rule(name, value) for given in both for name, value in given.items()]


def _read(path: str | os.PathLike[str]) -> Any:
    try:
        return json_in(path)
    except FileError as error:
        if isinstance(error.__cause__, OSError):
            raise error.__cause__ from None
        raise ParamError(f"{os.fsdecode(path)} {error.what}") from error


def _rule(pattern: str, value: Any) -> Rule:
    fields = dict(value) if isinstance(value, Mapping) else {"op": value}
    unknown = [key for key in fields if key not in _KEYS]
    if unknown or "op" not in fields:
        what = f"has {unknown[0]!r}" if unknown else "lacks 'op'"
        raise ParamError(f"the mapping of {pattern!r} {what}; it takes {', '.join(_KEYS)}.")
    try:
        op = name_of(fields["op"])
    except ParamError as error:
        raise ParamError(f"mapping {pattern!r}: {error}") from None
    for key in ("inputs", "outputs", "attributes"):
        fields[key] = {} if fields.get(key) is None else fields[key]
        known = outputs_of(op) if key == "outputs" else _parameters(op)
        for name in _names(fields[key], pattern, key):
            if name not in known:
                raise ParamError(f"mapping {pattern!r}: {op} has {', '.join(known)}, not {name!r}.")
    return Rule(pattern, **{**fields, "op": op})


def _names(value: Any, pattern: str, key: str) -> list[str]:
    if isinstance(value, Mapping):
        texts = value.values() if key != "attributes" else ()
        if all(isinstance(text, str) for text in texts):
            return list(value)
    raise ParamError(f"mapping {pattern!r}: {key} is not an object of names.")


def _parameters(op: str) -> list[str]:
    """Return the operator's parameters in its order."""
    return list(parameters_of(getattr(ops, op)))


def names_of(op: str) -> list[str]:
    """Return the names of an operator's outputs and parameters."""
    return [*outputs_of(op), *_parameters(op)]


def every_call_of(op: str) -> str:
    """Return the pattern of an operator's calls: of its name, or of files that go by its names."""
    return f"*.{op}.*"


def calls_by_names(rule: Rule, arrays: Iterable[str]) -> dict[str, Call]:
    """Return the calls that a rule is for, of arrays that go by the operator's or its own names.

    ``case0/y`` and ``case0_y`` are the y of case0; x is the first input, as in aclnn.
    """
    outputs = {name: name for name in outputs_of(rule.op)}
    outputs |= {array: name for name, array in rule.outputs.items()}
    inputs = {"x": operator_of(rule.op).arrays[0]} | {name: name for name in _parameters(rule.op)}
    inputs |= {array: name for name, array in rule.inputs.items()}
    names = "|".join(map(re.escape, {**inputs, **outputs}))
    pattern = re.compile(rf"(?:(.*?)(?:/|::|[._-]))??({names})", re.DOTALL)
    calls: dict[str, Call] = {}
    for array in arrays:
        match = pattern.fullmatch(array)
        if match is None:
            continue
        call = calls.setdefault(match[1] or "", Call(match[1] or ""))
        if match[2] in outputs:
            call.outputs[outputs_of(rule.op).index(outputs[match[2]])] = array
        else:
            call.named[inputs[match[2]]] = Dumped(array)
    every = rule.pattern == every_call_of(rule.op)
    fitting = {name: call for name, call in calls.items() if every or rule.fits(name)}
    return {name: call for name, call in fitting.items() if call.outputs and call.named}


def outputs_of_call(rule: Rule, call: Call) -> dict[str, str]:
    """Return the names of the arrays that a call gave, by the operator's outputs."""
    names = outputs_of(rule.op)
    found = {names[i]: name for i, name in call.outputs.items() if i < len(names)}
    return found | dict(rule.outputs)


def output_in_file(model: Model, name: str, size: int) -> Any:
    """Return an array like an output in a file of bare elements, of so many bytes; None for none.

    A code of 4 bits has a byte of its own, or shares it: eight of int4 an int32, where that many
    are whole ones, else two a byte.
    """
    number = model.outputs.index(name)
    golden, format = model.golden()[number], model.format.name
    is_small = model.kinds[number] == "codes" and format.startswith(("int4", "float4"))
    if golden is None or not is_small or golden.ndim == 0 or golden.size == size:
        return golden
    *lead, n = golden.shape
    if format == "int4" and n % 8 == 0:
        return np.broadcast_to(np.int32(0), (*lead, n // 8))
    return np.broadcast_to(np.int8(0) if format == "int4" else np.uint8(0), (*lead, n // 2))


def arguments_of_call(rule: Rule, call: Call) -> dict[str, Any]:
    """Return the arguments of a call by the operator's parameters; an array is a `Dumped`.

    Raises:
        ParamError: the operator does not take so many, or none is known.
    """
    known = _parameters(rule.op)
    if max(call.positional, default=-1) >= len(known):
        raise ParamError(f"{rule.op} takes {len(known)} arguments; {call.name} has more.")
    given = {known[i]: value for i, value in call.positional.items()} | call.named
    given |= {name: Dumped(array) for name, array in rule.inputs.items()} | dict(rule.attributes)
    if not given:
        raise ParamError(f"no input of {call.name} is in the dump.")
    return given


def arrays_in(value: Any) -> list[str]:
    """Return the names of the arrays that are in arguments."""
    if isinstance(value, Dumped):
        return [value.name]
    if isinstance(value, (dict, list)):
        items = value.values() if isinstance(value, dict) else value
        return [name for item in items for name in arrays_in(item)]
    return []


def loaded(value: Any, find: Find) -> Any:
    """Return arguments with their arrays.

    Args:
        value: what `arguments_of_call` returns, or a part of it.
        find: returns the array of a name; a KeyError says that it is not there.

    Raises:
        ParamError: one is not there.
    """
    if isinstance(value, dict):
        return {name: loaded(item, find) for name, item in value.items()}
    if isinstance(value, list):
        return [loaded(item, find) for item in value]
    if not isinstance(value, Dumped):
        return value
    try:
        return find(value.name)
    except KeyError:
        raise ParamError(f"its input {value.name} is not in the dump.") from None
