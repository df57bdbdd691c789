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

import os
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from .common import FileError
from .small import axes_of, json_in

INDEX, PARENTS, DATA_FOLDER = "dump.json", "construct.json", "dump_tensor_data"

_INPUTS = ("input_args", "input_kwargs", "input", "parameters")
_NAME = re.compile(r"(?P<call>.+)\.(?P<role>input|kwargs|output)\.(?P<which>[^.]+)")
_DEEPEST = 50
_MOST_BYTES = 256 << 20
"""Of either file: one of a step of a large model has some 50 MB."""


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
    fault: str = ""
    """Why it is not known which module called what, if there is a construct.json."""


def index_of(folder: str) -> Index | None:
    """Return what a folder's dump.json says; None if it is none of msprobe's.

    Raises:
        FileError: it is not there, or cannot be read.
    """
    # What is made of it is bounded by `_DEEPEST`, so that it may nest as deep as it can be read.
    data = json_in(os.path.join(folder, INDEX), _MOST_BYTES, None)
    records = data.get("data") if isinstance(data, dict) else None
    if not isinstance(records, dict):
        return None
    records = {name: r for name, r in records.items() if isinstance(r, dict)}
    parents, fault = _parents(folder)
    ends = _ends(list(records), parents)
    calls: dict[str, Call] = {}
    listed: dict[str, Listed] = {}
    for number, (name, record) in enumerate(records.items()):
        calls[name] = _call_of(name, record)
        for one in _listed(name, record, number, ends[name]):
            listed.setdefault(one.file, one)
    return Index(calls, listed, fault)


def _parents(folder: str) -> tuple[dict[str, str], str]:
    """The caller of each module, by name, and why that is not known; no construct.json is none."""
    try:
        found = json_in(os.path.join(folder, PARENTS), _MOST_BYTES, None)
    except FileNotFoundError:
        return {}, ""
    except FileError as error:
        return {}, error.what
    parents = {}
    for name, parent in found.items() if isinstance(found, dict) else ():
        # With Megatron's steps it is a pair of the parent and the step's number.
        parent = parent[0] if isinstance(parent, list) and parent else parent
        if isinstance(parent, str):
            parents[name] = parent
    return parents, ""


def _ends(names: list[str], parents: dict[str, str]) -> dict[str, int]:
    """The number of the last call within each call, by name.

    The last call of all is within each of its callers; of another one only those callers are left
    that no later call has. So each is looked at once, however long the chains are.
    """
    ends: dict[str, int] = {}
    for number in reversed(range(len(names))):
        name: str | None = names[number]
        while name is not None and name not in ends:
            ends[name] = number
            name = parents.get(name)
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
            yield Listed(
                tensor["data_name"],
                name,
                is_input,
                place,
                _dtype(tensor),
                axes_of(tensor.get("shape")),
            )


def _dtype(tensor: dict[str, Any]) -> str | None:
    dtype = tensor.get("dtype")
    return dtype.removeprefix("torch.").lower() if isinstance(dtype, str) else None


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


def _argument(value: Any, depth: int = 0) -> Any:
    """An argument: a tensor in a file, a value, or None; what lies too deep is "..."."""
    if isinstance(value, dict) and isinstance(value.get("data_name"), str):
        return Dumped(stem_of(value["data_name"]))
    if not isinstance(value, (list, dict)):
        return value
    if depth > _DEEPEST:
        return "..."
    if isinstance(value, list):
        return [_argument(item, depth + 1) for item in value]
    if "value" in value:
        return _bounded(value["value"], depth + 1)
    return {key: _argument(item, depth + 1) for key, item in value.items()}


def _bounded(value: Any, depth: int) -> Any:
    """A value as it is, as far as `_argument` looks."""
    if not isinstance(value, (list, dict)):
        return value
    if depth > _DEEPEST:
        return "..."
    if isinstance(value, list):
        return [_bounded(item, depth + 1) for item in value]
    return {key: _bounded(item, depth + 1) for key, item in value.items()}


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
