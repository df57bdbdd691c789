"""The arrays in a folder, by names that another folder can have too, in the order of execution."""

from __future__ import annotations

import errno
import os
import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

from .._text import printable
from ..arrays import Source
from .common import FileError
from .dumps import (
    DATA_FOLDER,
    INDEX,
    PARENTS,
    SUFFIXES,
    Call,
    Index,
    Listed,
    calls_of,
    index_of,
    said_by,
    stem_of,
)
from .file_source import FileSource
from .loading import list_arrays, load
from .small import axes_of, json_in

_COUNTER = re.compile(r"(proc|pid|rank|device|step|iter|iteration|call|dump)[_=-]?[0-9._]*")
_PROCESSES = ("proc", "pid", "rank", "device")
"""Words for the same: msprobe has proc4711, rank, or rank0, as the run is started."""
_MOST_LINKS = 1000
"""Links to folders that are followed: each may lead to many, and so on."""
_SINGLE = (".npy", ".bin")
"""Suffixes of files that hold one array."""

_Like = tuple[str | None, tuple[int, ...] | None]


@dataclass(frozen=True)
class Entry:
    """An array of a folder."""

    name: str
    """Its path without the suffix; of a file that has keys, with ``::key``."""
    path: str
    file: str
    """Its path within the folder, with the suffix and the key."""
    key: str | None = None
    alone: str | None = None
    """The name without the key, of the only array in a file."""
    order: tuple[Any, ...] = ()
    call: str = ""
    """What it is an argument or a result of, with the folder; empty where that is not known."""
    is_input: bool = False
    said: _Like = (None, None)
    """Its dtype and shape by what lies beside it, for files that do not say theirs."""
    fault: str | None = None
    """Why it cannot be read."""

    def open(self, like: Source | None = None, dtype: str | None = None) -> FileSource:
        """Open it.

        Args:
            like: what a file without a header is taken to be like, if nothing else says it.
            dtype: what V1 and raw files hold, if nothing else says it.

        Raises:
            FileError: it cannot be read.
        """
        if self.fault is not None:
            raise FileError(self.path, self.fault)
        try:
            return load(self.path, key=self.key)
        except FileError:
            wanted, shape = self.said
            wanted = wanted or dtype or (like.dtype.name if like is not None else None)
            if wanted is None:
                raise
            shape = shape or (like.shape if like is not None else None)
            raw = any(stored == "bytes" for _, stored, _ in list_arrays(self.path))
            return load(self.path, key=self.key, dtype=wanted, shape=shape if raw else None)


@dataclass
class Folder:
    """What is in a folder."""

    path: str
    entries: list[Entry] = field(default_factory=list)
    calls: dict[str, Call] = field(default_factory=dict)
    """By their names with the folder they are in."""
    passed_over: list[str] = field(default_factory=list)
    folders: dict[str, list[str]] = field(default_factory=dict)
    """The names that the folders in each folder go by."""
    indexes: dict[str, tuple[Index | None, str]] = field(default_factory=dict)
    """What the dump.json of each folder says, and why it says nothing."""

    def find(self, name: str, folder: str = "") -> Entry | None:
        """Return the array of a name, in a folder or as it is; None where there is none."""
        for wanted in (joined(folder, name), name):
            if wanted in self._by_name:
                return self._by_name[wanted]
        return None

    @cached_property
    def _by_name(self) -> dict[str, Entry]:
        entries = self.entries
        names = [(e.alone, e) for e in entries if e.alone]  # the whole names are worth more
        return dict([*names, *((e.name, e) for e in entries), *((e.file, e) for e in entries)])


def natural(text: str) -> tuple[tuple[int, int, str], ...]:
    """Return what names are ordered by: the numbers in them as numbers."""
    parts = re.split("([0-9]+)", text)
    numbers = (part.lstrip("0") for part in parts[1::2])  # of any length
    ordered: list[tuple[int, int, str]] = [(1, 0, part) for part in parts]
    ordered[1::2] = [(0, len(number), number) for number in numbers]
    return tuple(part for part, given in zip(ordered, parts, strict=True) if given)


def folder_of(path: str | os.PathLike[str], like: Folder | None = None) -> Folder:
    """Return the arrays of a folder, or of one file with several.

    Args:
        path: of the folder or file.
        like: a folder that this one is compared with: what counts processes or calls goes by the
            name that it has there, if it is the only one in its folder here and there.

    Raises:
        FileNotFoundError: there is nothing.
        FileError: a folder in it cannot be listed.
    """
    root = os.fsdecode(path)
    if not os.path.lexists(root):
        raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), root)
    result = Folder(root)
    if os.path.isdir(root):
        for folder, shown, files in _walk(result, like):
            _add_folder(result, folder, shown, files)
    else:
        made = _entries_of_file(root, "", "")
        single = "" if len(made) == 1 else None
        names = (printable(e.key or "array") for e in made)
        result.entries = [
            replace(e, name=name, alone=single) for e, name in zip(made, names, strict=True)
        ]
    result.entries.sort(key=lambda entry: entry.order)
    return result


def _walk(result: Folder, like: Folder | None) -> Iterator[tuple[str, str, list[str]]]:
    """Each folder, the name it goes by, and its files; links are followed, but not round."""
    waiting: list[tuple[str, str, tuple[tuple[int, int], ...]]] = [(result.path, "", ())]
    links = 0
    while waiting:
        folder, shown, above = waiting.pop()
        try:
            status = os.stat(folder)
            names = sorted(os.listdir(folder), key=natural)
        except OSError as error:
            raise FileError(folder, f"cannot be listed: {error.strerror}") from error
        here = (status.st_dev, status.st_ino)
        if here in above:
            result.passed_over.append(printable(f"{shown} (a link to a folder that it is in)"))
            continue
        inner = [name for name in names if os.path.isdir(os.path.join(folder, name))]
        links += sum(os.path.islink(os.path.join(folder, name)) for name in inner)
        if links > _MOST_LINKS:
            raise FileError(result.path, "has too many links to folders: remove them")
        folders = set(inner)
        yield folder, shown, [name for name in names if name not in folders]
        known = _names_of_folders(inner, None if like is None else like.folders.get(shown, []))
        result.folders[shown] = known
        for name, given in zip(reversed(inner), reversed(known), strict=True):
            waiting.append((os.path.join(folder, name), joined(shown, given), (*above, here)))


def _names_of_folders(inner: list[str], there: list[str] | None) -> list[str]:
    """The names of folders in both runs: of what counts, where it is one alone, the other's."""
    ours, theirs = (_alone(names) for names in (inner, there or []))
    names = {name: theirs[kind] for kind, name in ours.items() if kind in theirs}
    if "proc" in ours and "proc" not in theirs and re.fullmatch(r"proc\d+", ours["proc"]):
        names[ours["proc"]] = "proc"
    return [given if (given := names.get(name, name)) not in inner else name for name in inner]


def _alone(names: list[str]) -> dict[str, str]:
    """The names that count something, by what they count, where there is one only."""
    found: dict[str, list[str]] = {}
    for name in names:
        if match := _COUNTER.fullmatch(name):
            found.setdefault("proc" if match[1] in _PROCESSES else match[1], []).append(name)
    return {kind: some[0] for kind, some in found.items() if len(some) == 1}


def _add_folder(result: Folder, folder: str, shown: str, files: list[str]) -> None:
    """Add the arrays in one folder, and what its dump.json says of them."""
    data = os.path.basename(folder) == DATA_FOLDER
    home, name = (os.path.dirname(folder), os.path.dirname(shown)) if data else (folder, shown)
    if home not in result.indexes:
        result.indexes[home] = _index(home)
    index, fault = result.indexes[home]
    entries: list[Entry] = []
    names, taken = {*files}, set[str]()
    for file in files:
        if os.path.splitext(file)[1].lower() in SUFFIXES:
            made = _entries_of_file(os.path.join(folder, file), shown, name)
            said, wrong, beside = _sidecar(folder, file, names)
            taken.add(beside)
            entries += [replace(e, said=said, fault=e.fault or wrong) for e in made]
    taken |= {os.path.basename(entry.path) for entry in entries}
    whys = {INDEX: fault, PARENTS: "" if index is None else index.fault}
    taken |= set() if data or index is None else {file for file in whys if not whys[file]}
    for file in (file for file in files if file not in taken):
        why = f" ({whys[file]})" if not data and whys.get(file) else ""
        result.passed_over.append(printable(joined(shown, file)) + why)
    if index is None:
        calls: Mapping[str, Call] = calls_of(
            [os.path.basename(entry.name) for entry in entries if entry.key is None]
        )
    else:
        calls, there = index.calls, {os.path.basename(entry.path) for entry in entries}
        has_data = os.path.isdir(os.path.join(folder, DATA_FOLDER))
        expected = index.listed if data or not has_data else {}
        for file in (file for file in expected if file not in there):
            entry = _lost(file, folder, shown, name)
            result.entries.append(_placed(entry, name, expected[file]))
    listed = {} if index is None else index.listed
    result.calls |= {printable(joined(name, key)): call for key, call in calls.items()}
    result.entries += [_placed(e, name, listed.get(os.path.basename(e.path))) for e in entries]


def _index(folder: str) -> tuple[Index | None, str]:
    try:
        found = index_of(folder)
    except FileNotFoundError:
        return None, ""
    except FileError as error:
        return None, error.what
    return found, "" if found is not None else "is none of msprobe's"


def joined(folder: str, name: str) -> str:
    """Return a name in a folder; the one that was named has none."""
    return f"{folder}/{name}" if folder else name


def _entries_of_file(path: str, shown: str, folder: str) -> list[Entry]:
    """Return the arrays in a file.

    Args:
        path: where it is.
        shown: the folder it is in, in words; empty for the one that was named.
        folder: the folder that its arrays' names begin with.
    """
    base = os.path.basename(path)
    name, file = (printable(joined(*path)) for path in ((folder, stem_of(base)), (shown, base)))
    order = (natural(folder), 1, natural(base))
    if path.lower().endswith(_SINGLE):
        return [Entry(name, path, file, None, name, order)]
    try:
        listed = list_arrays(path)
    except FileError as error:
        return [Entry(name, path, file, None, name, order, fault=error.what)]
    if not listed:
        return [Entry(name, path, file, None, name, order, fault="has no arrays in it")]
    alone = name if len(listed) == 1 else None
    return [
        Entry(
            f"{name}::{printable(key)}" if key else name,
            path,
            f"{file}::{printable(key)}" if key else file,
            key or None,
            alone,
            (*order, natural(key)),
        )
        for key, _, _ in listed
    ]


def _sidecar(folder: str, file: str, files: Collection[str]) -> tuple[_Like, str | None, str]:
    """The dtype and shape that lie beside a raw file, their fault, and their file's name."""
    for beside in (f"{file}.json", f"{stem_of(file)}.json"):
        if not file.lower().endswith(".bin") or beside not in files:
            continue
        try:
            said = json_in(os.path.join(folder, beside))
        except FileError as error:
            return (None, None), f"{beside} beside it {error.what}", beside
        if not isinstance(said, dict) or "dtype" not in said or "shape" not in said:
            continue
        dtype, shape = said["dtype"], axes_of(said["shape"])
        if not isinstance(dtype, str) or shape is None:
            what = "a dtype's name, and a shape as a list of whole numbers from 0 on"
            return (None, None), f"{beside} beside it has not {what}", beside
        return (dtype.removeprefix("torch."), shape), None, beside
    return (None, None), None, ""


def _placed(entry: Entry, folder: str, listed: Listed | None) -> Entry:
    """Put an array where dump.json says, or its name."""
    if listed is not None:
        return replace(
            entry,
            order=(natural(folder), 0, listed.place, entry.order[2:]),
            call=printable(joined(folder, listed.call)),
            is_input=listed.is_input,
            said=(entry.said[0] or listed.dtype, entry.said[1] or listed.shape),
        )
    said = said_by(os.path.basename(entry.name))
    if said is None or (said[1] == "output" and not said[2].isdecimal()):
        return entry
    return replace(entry, call=printable(joined(folder, said[0])), is_input=said[1] != "output")


def _lost(file: str, folder: str, shown: str, name: str) -> Entry:
    """An array that dump.json lists and that is not there."""
    path, inside = os.path.join(folder, os.path.basename(file)), printable(joined(shown, file))
    fault = f"is listed in {INDEX}, but is not there"
    return Entry(printable(joined(name, stem_of(file))), path, inside, fault=fault)
