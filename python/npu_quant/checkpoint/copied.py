"""What of a model is copied as it is, and which of its files lie elsewhere, by links."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

from .._shown import some_of
from .._text import clean
from .folder import CheckpointError, files_below, is_regular, link_to_nothing
from .keep import RECORD, SUMS

_OURS = ("config.json", SUMS, RECORD)
"""What is written under names that the source may have, too."""
_WEIGHTS = (
    *(".safetensors", ".bin", ".pt", ".pth", ".ckpt", ".gguf", ".ggml", ".h5"),
    *(".msgpack", ".onnx", ".onnx_data", ".npz"),
)
MODELOPT = "hf_quant_config.json"
"""How ModelOpt quantized a source. vLLM takes it for quantization_config where that is missing."""
MOST_LINKS = 1000
"""Links to folders that are followed: each may lead to many, and so on."""


class Contents(NamedTuple):
    """What is in a model's folder besides its weights."""

    files: list[str]
    outside: list[str]
    """Links to folders that lie outside it, which are not followed."""


def contents_of(folder: Path) -> Contents:
    """Return all files of a model but weights, indices, config.json and hidden ones, by name.

    A link to a file is as good as the file. A link to a folder is followed within the model's.

    Raises:
        CheckpointError: what has no contents is among them, or too many links to folders.
    """
    root = os.path.realpath(folder)
    result, links = Contents([], []), 0
    waiting: list[tuple[str, frozenset[tuple[int, int]]]] = [("", frozenset())]
    while waiting:
        below, above = waiting.pop()
        status = os.stat(folder / below)
        here = (status.st_dev, status.st_ino)
        if here in above:  # a link to a folder that holds it
            continue
        for entry in list(os.scandir(folder / below)):
            name = f"{below}{entry.name}"
            if entry.name.startswith(".") or name in _OURS:
                continue
            if not os.path.isdir(entry.path):
                if not _is_left_out(entry.name):
                    _check_file(entry, name)
                    result.files.append(name)
                continue
            if entry.is_symlink():
                if not _is_in(root, entry.path):
                    result.outside.append(name)
                    continue
                links += 1
                if links > MOST_LINKS:
                    raise CheckpointError(f"{folder} has too many links to folders: remove them.")
            waiting.append((f"{name}/", above | {here}))
    return Contents(sorted(result.files), sorted(result.outside))


def notes_of_links(folder: Path, copied: Contents, read: Iterable[str]) -> list[str]:
    """Say which files lie outside a model's folder though their names are in it.

    A usual cache has all of them beside the folder; a folder that somebody else made may lead to
    what is nobody else's business, and what it leads to is in the result.

    Args:
        folder: the model's.
        copied: what is copied.
        read: the other files of which the result is made.
    """
    root, found = os.path.realpath(folder), dict[str, tuple[list[str], list[str]]]()
    for names, kind in ((copied.files, 0), (read, 1)):
        for name in names:
            if not _is_in(root, folder / name):
                where = os.path.dirname(os.path.realpath(folder / name))
                found.setdefault(where, ([], []))[kind].append(name)
    notes = [
        f"links lead out of the model's folder, to {clean(where, 200)}: the result is made of "
        f"{', '.join(filter(None, (', '.join(map(clean, all_)), some_of(some, 8))))} there"
        for where, (all_, some) in found.items()
    ]
    return notes + [
        f"{clean(name, 200)} is a link to a folder outside the model's: what is there is left out"
        for name in copied.outside
    ]


def _is_in(root: str, path: str | Path) -> bool:
    """Whether a path leads to what is in a folder."""
    return os.path.commonpath([root, os.path.realpath(path)]) == root


def _check_file(entry: os.DirEntry[str], name: str) -> None:
    """Refuse what cannot be copied: what has no contents would be missing in the result."""
    if is_regular(Path(entry.path)):
        if not os.access(entry.path, os.R_OK):
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), entry.path)
        return
    if what := link_to_nothing(Path(entry.path)):
        mend = "download the model anew, or remove the link"
    else:
        what, mend = "is not a regular file", "move it out of the model's folder"
    raise CheckpointError(f"{clean(name, 100)} {what}: {mend}.")


def _is_left_out(name: str) -> bool:
    is_described = name.startswith("quant_model_description") and name.endswith(".json")
    return name.endswith((*_WEIGHTS, ".index.json")) or is_described or name == MODELOPT


def left_behind(folder: Path, shards: Iterable[str]) -> list[str]:
    """Return the files that have weights, but none of the model: neither read nor copied.

    vLLM loads every *.safetensors beside a description: what is copied is merged there.
    """
    read = set(shards)
    left = [n for n in files_below(folder) if n.endswith((*_WEIGHTS, MODELOPT))]
    return [name for name in left if name not in read]
