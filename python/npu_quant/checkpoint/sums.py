"""SHA256SUMS: what is written, and the rule that each file which it names has the bytes it had."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import NamedTuple

from ..files.common import FileError
from ..files.small import read_small
from .folder import CheckpointError, is_regular, safetensors_in
from .keep import SUMS
from .place import sha256_of
from .reports import Findings

NO_SUMS = f"no {SUMS}: without it, or --original, no check sees a flipped bit in codes"
_LINE = re.compile(rb"(?P<escape>\\?)(?P<sum>[0-9A-Fa-f]{64}) [ *](?P<name>.+)", re.DOTALL)
_ESCAPES = {b"\\\\": b"\\", b"\\n": b"\n", b"\\r": b"\r"}


class Listed(NamedTuple):
    """A file of the folder that has a line."""

    name: str
    sha256: str
    size: int
    """Of the file as it is."""


class Sums(NamedTuple):
    """What SHA256SUMS says."""

    files: dict[str, str]
    """The SHA-256 of files of the folder, by name."""
    malformed: list[int]
    """The numbers of the lines that are no such file's."""
    outside: list[str]
    """Names that lead out of the folder."""


def listed(folder: Path, found: Findings) -> list[Listed]:
    """Return the files to hash, and find what is wrong with the list of them."""
    try:
        sums = _read(folder / SUMS)
    except CheckpointError as error:
        found.error("checksum", SUMS, f"{error}: nobody can tell whether the files are whole")
        return []
    if sums.files.pop(SUMS, None):  # as of sha256sum * > SHA256SUMS
        text = "names itself: no file can hold its own SHA-256, so sha256sum -c fails at that line"
        found.warning("checksum", SUMS, text)
    if sums.malformed or not sums.files:
        text = f"line {sums.malformed[0]} of it" if sums.malformed else "it"
        text += " names no file with its SHA-256: sha256sum -c cannot check all files by it"
        found.error("checksum", SUMS, text)
    for name in sums.outside:
        text = f"is named in {SUMS}, but lies outside the folder: it is not opened"
        found.error("checksum", name, text)
    result = []
    for name, sha256 in sums.files.items():
        if is_regular(folder / name):
            result.append(Listed(name, sha256, os.stat(folder / name).st_size))
        else:
            text = f"is named in {SUMS}, but there is no such file: a published file is missing"
            found.error("checksum", name, text)
    for name in safetensors_in(folder):
        if name not in sums.files:
            text = f"is not named in {SUMS}: nobody can tell whether it is whole"
            found.warning("checksum", name, text)
    return result


def _read(path: Path) -> Sums:
    try:
        return parsed(read_small(path).split(b"\n"))
    except FileError as error:
        raise CheckpointError(error.what) from error


def parsed(lines: Iterable[bytes]) -> Sums:
    """Return what lines say that sha256sum wrote, in text or binary mode; they may end with CR."""
    sums = Sums({}, [], [])
    for number, line in enumerate(lines, 1):
        found = _LINE.fullmatch(line.removesuffix(b"\r"))
        if found is None:
            if line.strip() and not line.startswith(b"#"):
                sums.malformed.append(number)
            continue
        raw, sha256 = found["name"], found["sum"].decode().lower()
        if found["escape"]:
            raw = re.sub(rb"\\.", lambda m: _ESCAPES.get(m[0], m[0]), raw)
        name = os.fsdecode(raw).removeprefix("./")
        if name.startswith("/") or ".." in name.split("/"):
            sums.outside.append(name)
        elif not name or "\0" in name or sums.files.setdefault(name, sha256) != sha256:
            sums.malformed.append(number)
    return sums


def is_whole(folder: Path, task: Listed) -> bool:
    """Say whether a file has the SHA-256 that is said."""
    return sha256_of(folder / task.name) == task.sha256


def report(seen: Iterable[tuple[Listed, bool]], found: Findings) -> None:
    """Add the files that have another SHA-256."""
    text = f"does not have the SHA-256 in {SUMS}: it was damaged or changed; consumers load it"
    for name in (task.name for task, is_right in seen if not is_right):
        found.error("checksum", name, f"{text} as it is")


def sums_bytes(sums: Mapping[str, str]) -> bytes:
    """Return a file that sha256sum reads: the SHA-256 of files, by their names."""
    lines = []
    for name in sorted(sums):
        raw = os.fsencode(name)
        written = raw.replace(b"\\", b"\\\\").replace(b"\n", b"\\n")
        escaped = b"\\" if written != raw else b""
        lines.append(escaped + sums[name].encode() + b"  " + written + b"\n")
    return b"".join(lines)
