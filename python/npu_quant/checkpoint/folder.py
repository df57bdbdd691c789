"""A model's folder: its shards, the tensors in them, and its JSON files."""

from __future__ import annotations

import hashlib
import json
import os
import re
import stat
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

from .._text import clean, printable
from ..errors import NpuQuantError
from ..files.common import File, FileError
from ..files.safetensors import Header, header_of
from ..files.small import json_in

SOURCE_INDEX = "model.safetensors.index.json"
WHOLE = "model.safetensors"
"""The one file of a model that has no index."""
_PART = re.compile(r"(pytorch_)?model[-_.]\d+[-_]of[-_](?P<count>\d+)\b.*")
NOT_A_MODEL = re.compile(r"(consolidated|adapter|optimizer).*")
"""Weights under the names of their maker, and what other tools keep beside a model."""
FLOATS = ("BF16", "F16", "F32", "F64")
"""safetensors' words of the floats that need no scale."""


class CheckpointError(NpuQuantError, ValueError):
    """A model cannot be quantized or checked as asked; nothing was done."""

    def __init__(self, text: str) -> None:
        super().__init__(printable(text))  # names come from files


class Tensor(NamedTuple):
    """A tensor of a model."""

    name: str
    file: str
    """The shard's name in the model's folder."""
    kind: str
    """Its dtype, in safetensors' word."""
    shape: tuple[int, ...]
    begin: int
    """Of its bytes, counted from the beginning of the file, as `end`."""
    end: int

    @property
    def size(self) -> int:
        """How many bytes it has."""
        return self.end - self.begin


class Shard(NamedTuple):
    """A file of tensors."""

    name: str
    size: int
    header_sha256: str
    tensors: tuple[Tensor, ...]
    """In the order of their bytes."""


def shard_of(path: Path) -> Shard:
    """Read a shard's header.

    Raises:
        CheckpointError: it is no safetensors file, or shorter or longer than its header says.
    """
    shard, whole = headed(path)
    if shard.size != whole:
        raise CheckpointError(f"{clean(shard.name, 100)} is {fault_of_size(shard.size, whole)}")
    return shard


def headed(path: Path) -> tuple[Shard, int]:
    """Return a shard by its header alone, and how many bytes the header says that the file has.

    Raises:
        CheckpointError: it is no safetensors file.
    """
    name = path.name
    try:
        file = File(path)
        header = header_of(file)
        size = file.size
        file.close()
    except FileError as error:
        raise CheckpointError(f"{clean(name, 100)} {error.what}.") from error
    digest = hashlib.sha256(header.text).hexdigest()
    return Shard(name, size, digest, _tensors(name, header)), header.begin + header.size


def fault_of_size(size: int, whole: int) -> str:
    """Say that a file has not the size that its header says."""
    fault = "truncated" if size < whole else "too long, or truncated in its header"
    return f"{fault}: it has {size} bytes, its header says {whole}."


def _tensors(file: str, header: Header) -> tuple[Tensor, ...]:
    at = header.begin
    return tuple(
        Tensor(name, file, t.kind, t.shape, at + t.begin, at + t.end)
        for name, t in header.tensors.items()
    )


def check_folder(path: Path) -> None:
    """Refuse what is not a folder.

    Raises:
        CheckpointError: it is none; if it may be a model's name on a hub, the text says so.
    """
    if path.is_dir():
        return
    text = f"{clean(str(path), 200)} is not a folder"
    if not os.path.lexists(path) and re.fullmatch(r"[\w-][\w.-]*/[\w-][\w.-]*", str(path)):
        text += ": to take a model from a hub, download it first, and name its folder"
    raise CheckpointError(f"{text}.")


def is_regular(path: Path) -> bool:
    """Say whether a path is that of a file whose end can be reached: of no pipe, and no folder."""
    try:
        return stat.S_ISREG(os.stat(path).st_mode)
    except (OSError, ValueError):  # such as a name that no file can have
        return False


def link_to_nothing(path: Path) -> str | None:
    """Say of a link to a file that is not there that it is one."""
    if not path.is_symlink() or path.exists():
        return None
    return f"is a link to {clean(os.readlink(path), 100)}, which is not there"


def files_below(folder: Path) -> list[str]:
    """Return the names of all files in a folder and its folders, links and pipes among them.

    Hidden names are left out, and links to folders are not followed.
    """
    result, left = [], [""]
    while left:
        below = left.pop()
        with suppress(OSError), os.scandir(folder / below) as entries:
            for entry in entries:
                name = f"{below}{entry.name}"
                if entry.name.startswith("."):
                    continue
                if entry.is_dir(follow_symlinks=False):
                    left.append(f"{name}/")
                elif not entry.is_dir():
                    result.append(name)
    return sorted(result)


def safetensors_in(folder: Path) -> list[str]:
    """Return the names of all shards in a folder, hidden ones apart."""
    return sorted(p.name for p in folder.glob("*.safetensors") if not p.name.startswith("."))


def shards_of(folder: Path) -> list[Shard]:
    """Return a model's shards, by name.

    Raises:
        CheckpointError: as :func:`files_of`; or a shard is damaged, a tensor stands in two of them,
            or elsewhere than the index says.
    """
    names, weight_map = files_of(folder)
    shards = [shard_of(folder / name) for name in names]
    _check_places(shards, weight_map)
    return shards


def files_of(folder: Path) -> tuple[list[str], dict[str, str] | None]:
    """Return the names of the files that a model's weights are in, and its index's weight_map.

    They are those that model.safetensors.index.json names, or else model.safetensors, or else the
    only file that may be a whole model. transformers reads the same. vLLM does with an index;
    without one it reads every file, and consolidated*.safetensors alone if there are any.

    Raises:
        CheckpointError: there is none, one is missing, or the folder leaves a doubt.
    """
    there, index = safetensors_in(folder), folder / SOURCE_INDEX
    if not os.path.lexists(index):
        return _without_index(folder, there), None
    weight_map = weight_map_of(json_of(index), index.name)
    names = sorted(set(weight_map.values()))
    if not names:
        raise CheckpointError(f"{SOURCE_INDEX} names no file.")
    for name in names:
        if not (folder / name).is_file():
            raise CheckpointError(f"{name} is missing: {SOURCE_INDEX} names it.")
    if WHOLE in there and WHOLE not in names:
        text = f"the model may be {WHOLE}, or {few(names)}, which {SOURCE_INDEX} names"
        raise CheckpointError(f"{text}: move what is not the model out of the folder.")
    return names, weight_map


def _without_index(folder: Path, there: list[str]) -> list[str]:
    if not there:
        raise CheckpointError(_no_weights(folder))
    parts = [name for name in there if (part := _PART.fullmatch(name)) and int(part["count"]) > 1]
    if WHOLE in there and not parts:
        return [WHOLE]
    if len(there) == 1 and not parts and not NOT_A_MODEL.fullmatch(there[0]):
        return there
    text = f"{folder} has no {SOURCE_INDEX}: which files are the model is not known of"
    mend = f"download the index, or name the model's only file {WHOLE}"
    raise CheckpointError(f"{text} {few(there)}: {mend}.")


def few(names: list[str]) -> str:
    """Write the first of some names, and how many more there are."""
    shown = ", ".join(clean(name, 200) for name in names[:3])
    return shown + (f" and {len(names) - 3} more" if len(names) > 3 else "")


def _no_weights(folder: Path) -> str:
    others = [p.name for p in sorted(folder.iterdir()) if p.suffix in (".bin", ".pt", ".pth")]
    if others:
        return (
            f"{folder} has no *.safetensors, only {others[0]}: save the model with "
            "save_pretrained(folder, safe_serialization=True)."
        )
    return f"{folder} has no *.safetensors."


def _check_places(shards: list[Shard], weight_map: dict[str, str] | None) -> None:
    found: dict[str, str] = {}
    for tensor in (t for shard in shards for t in shard.tensors):
        if tensor.name in found:
            text = f"is in {found[tensor.name]} and in {tensor.file}"
            raise CheckpointError(f"{clean(tensor.name, 100)} {text}.")
        found[tensor.name] = tensor.file
    for name, file, said in misplaced(found, weight_map) if weight_map is not None else ():
        shown = clean(name, 100)
        if file is None:
            raise CheckpointError(f"{shown} is not in {said}, as {SOURCE_INDEX} says.")
        where = f"puts it in {said}" if said else "does not name it"
        raise CheckpointError(f"{shown} is in {file}, but {SOURCE_INDEX} {where}.")


def misplaced(
    files: Mapping[str, str], weight_map: Mapping[str, str]
) -> Iterator[tuple[str, str | None, str | None]]:
    """Yield the tensors that are not where an index puts them: name, file, and what it says.

    Args:
        files: of the tensors that there are, by name.
        weight_map: of the index.
    """
    for name in dict.fromkeys([*files, *weight_map]):
        file, said = files.get(name), weight_map.get(name)
        if file != said:
            yield name, file, said


def weight_map_of(index: dict[str, Any], name: str) -> dict[str, str]:
    """Return which file of the folder an index of that name puts each tensor in.

    Raises:
        CheckpointError: it is no index, or names a file outside the folder.
    """
    weight_map = index.get("weight_map")
    if not isinstance(weight_map, dict) or not all(
        isinstance(v, str) and v == os.path.basename(v) and v not in ("", ".", "..")
        for v in weight_map.values()
    ):
        raise CheckpointError(f"{name} has no weight_map of tensors to files beside it.")
    return weight_map


def json_of(path: Path) -> dict[str, Any]:
    """Read a JSON file that has an object.

    Raises:
        CheckpointError: it is not there, or is no such file.
    """
    try:
        data = json_in(path)
    except FileNotFoundError as error:
        raise CheckpointError(f"{path.parent} has no {path.name}.") from error
    except FileError as error:
        raise CheckpointError(f"{path.name} {error.what}.") from error.__cause__
    if not isinstance(data, dict):
        raise CheckpointError(f"{path.name} is not JSON of an object.")
    return data


def json_bytes(data: Any) -> bytes:
    """Return data as the bytes of a JSON file, which are the same wherever it is written.

    What UTF-8 has no bytes for, a half of a pair of surrogates, is escaped.
    """
    text = json.dumps(data, indent=2, ensure_ascii=False) + "\n"
    return text.encode("utf-8", "backslashreplace")
