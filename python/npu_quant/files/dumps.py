"""What msprobe (Ascend mstt) writes beside its tensors: dump.json, and what construct.json adds.

Supported is what the tasks ``tensor`` and ``statistics`` with a ``tensor_list`` write, at the
levels L0, L1 and mix, for torch (.pt) and MindSpore (.npy):

* ``dump.json``: an object with ``data``, in which every call of an operator or module is a key,
  such as ``NPU.npu_dynamic_quant.0.forward`` or ``Module.fc.Linear.forward.0``, in the order of the
  calls. Its value has ``input_args`` (a list), ``input_kwargs`` (by name) and ``output``; of a
  backward pass ``input`` and ``output``; of a module ``parameters``; in them lie tensors, at any
  depth, as objects with ``type``, ``dtype``, ``shape`` and ``data_name``, the file's name. Other
  arguments have ``type`` and ``value``; None is null. ``dump_data_dir`` is where the dump was made,
  and is not followed: the files are looked for in ``dump_tensor_data`` beside dump.json, and beside
  dump.json itself.
* ``construct.json``: which module called what. A module is listed when it is entered, so that its
  outputs would come before those of what it calls; they are put behind them.

The names of files say the same without dump.json: ``<call>.input.<number>``, ``.kwargs.<name>``,
``.output.<number>``. Not supported are debug.json (`PrecisionDebugger.save`), the kernel dump and
overflow check, and dumps of statistics alone, which have no arrays.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

INDEX, PARENTS, DATA_FOLDER = "dump.json", "construct.json", "dump_tensor_data"

_INPUTS = ("input_args", "input_kwargs", "input", "parameters")
_NAME = re.compile(r"(?P<call>.+)\.(?P<role>input|kwargs|output)\.(?P<which>[^.]+)")
_DEEPEST = 50


@dataclass(frozen=True)
class Dumped:
    """An argument that is in a file: its name without the suffix."""

    name: str


@dataclass
class Call:
    """One call of an operator or a module: its arguments, and what it gave."""

    name: str
    positional: dict[int, Any] = field(default_factory=dict)
    """By their numbers; a tensor is a `Dumped`."""
    named: dict[str, Any] = field(default_factory=dict)
    outputs: dict[int, str] = field(default_factory=dict)
    """The names of their files without the suffix, by their numbers."""


@dataclass(frozen=True)
class Listed:
    """A tensor as dump.json has it."""

    file: str
    call: str
    is_input: bool
    place: tuple[int, ...]
    """When it was there: what order of execution compares."""
    dtype: str | None
    shape: tuple[int, ...] | None


@dataclass(frozen=True)
class Index:
    """What a dump.json says."""

    calls: Mapping[str, Call]
    listed: Mapping[str, Listed]
    """By the file's name."""


def index_of(folder: str) -> Index | None:
    """Return what a folder's dump.json says; None if it is none of msprobe's.

    Raises:
        ValueError: it cannot be read.
    """
    data = _json(os.path.join(folder, INDEX))
    records = data.get("data") if isinstance(data, dict) else None
    if not isinstance(records, dict):
        return None
    records = {name: r for name, r in records.items() if isinstance(r, dict)}
    ends = _ends(list(records), _parents(folder))
    calls: dict[str, Call] = {}
    listed: dict[str, Listed] = {}
    for number, (name, record) in enumerate(records.items()):
        calls[name] = _call_of(name, record)
        for one in _listed(name, record, number, ends[name]):
            listed.setdefault(one.file, one)
    return Index(calls, listed)


def _json(path: str) -> Any:
    try:
        with open(path, encoding="utf-8") as file:
            return json.load(file)
    except (OSError, ValueError, RecursionError) as error:
        why = getattr(error, "strerror", None) or type(error).__name__
        raise ValueError(f"cannot be read: {why}") from error


def _parents(folder: str) -> dict[str, str]:
    """The caller of each module, by name; empty without a construct.json."""
    try:
        found = _json(os.path.join(folder, PARENTS))
    except ValueError:
        return {}
    parents = {}
    for name, parent in found.items() if isinstance(found, dict) else ():
        # With Megatron's steps it is a pair of the parent and the step's number.
        parent = parent[0] if isinstance(parent, list) and parent else parent
        if isinstance(parent, str):
            parents[name] = parent
    return parents


def _ends(names: list[str], parents: dict[str, str]) -> dict[str, int]:
    """The number of the last call within each call, by name."""
    ends = {name: number for number, name in enumerate(names)}
    for name in reversed(names):
        parent, seen = parents.get(name), {name}
        while parent is not None and parent not in seen:
            if parent in ends:
                ends[parent] = max(ends[parent], ends[name])
            seen.add(parent)
            parent = parents.get(parent)
    return ends


def _tensors(value: Any, depth: int = 0) -> Iterator[dict[str, Any]]:
    """The tensors in a value that have a file, in order."""
    if depth > _DEEPEST:
        return
    if isinstance(value, dict) and isinstance(value.get("data_name"), str):
        yield value
    elif isinstance(value, (dict, list)):
        for item in value.values() if isinstance(value, dict) else value:
            yield from _tensors(item, depth + 1)


def _listed(name: str, record: dict[str, Any], number: int, end: int) -> Iterator[Listed]:
    for part, (key, value) in enumerate(record.items()):
        is_input = key in _INPUTS
        for i, tensor in enumerate(_tensors(value)):
            place = (number, 0, 0, part, i) if is_input else (end, 1, -number, part, i)
            yield Listed(tensor["data_name"], name, is_input, place, _dtype(tensor), _shape(tensor))


def _dtype(tensor: dict[str, Any]) -> str | None:
    dtype = tensor.get("dtype")
    return dtype.removeprefix("torch.").lower() if isinstance(dtype, str) else None


def _shape(tensor: dict[str, Any]) -> tuple[int, ...] | None:
    shape = tensor.get("shape")
    if not isinstance(shape, list) or not all(type(n) is int for n in shape):
        return None
    return tuple(shape)


def _call_of(name: str, record: dict[str, Any]) -> Call:
    positional, named = record.get("input_args"), record.get("input_kwargs")
    outputs = record.get("output")
    call = Call(name)
    if isinstance(positional, list):
        call.positional = {i: _argument(value) for i, value in enumerate(positional)}
    if isinstance(named, dict):
        call.named = {key: _argument(value) for key, value in named.items()}
    for i, output in enumerate(outputs if isinstance(outputs, list) else [outputs]):
        value = _argument(output)
        if isinstance(value, Dumped):
            call.outputs[i] = value.name
    return call


def _argument(value: Any) -> Any:
    """An argument: a tensor in a file, a value, or None."""
    if isinstance(value, list):
        return [_argument(item) for item in value]
    if not isinstance(value, dict):
        return value
    if isinstance(value.get("data_name"), str):
        return Dumped(stem_of(value["data_name"]))
    if "value" in value:
        return value["value"]
    return {key: _argument(item) for key, item in value.items()}


def said_by(name: str) -> tuple[str, str, str] | None:
    """Return what an array's name says: its call, "input", "kwargs" or "output", and which."""
    match = _NAME.fullmatch(name)
    return None if match is None else (match["call"], match["role"], match["which"])


def calls_of(names: list[str]) -> dict[str, Call]:
    """Return the calls that names of arrays speak of, where there is no dump.json."""
    calls: dict[str, Call] = {}
    for name in names:
        said = said_by(name)
        if said is None:
            continue
        of, role, which = said
        call = calls.setdefault(of, Call(of))
        if role != "output" and not which.isdecimal():
            call.named[which] = Dumped(name)
        elif which.isdecimal() and role == "input":
            call.positional[int(which)] = Dumped(name)
        elif which.isdecimal() and role == "output":
            call.outputs[int(which)] = name
    return {name: call for name, call in calls.items() if call.outputs}


def stem_of(name: str) -> str:
    """Return a file's name without the suffix of its format."""
    stem, suffix = os.path.splitext(name)
    return stem if suffix.lower() in SUFFIXES else name


SUFFIXES = (".npy", ".npz", ".pt", ".pth", ".ckpt", ".safetensors", ".bin")
"""Of files of arrays; other files are passed over."""
