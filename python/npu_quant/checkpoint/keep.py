"""The folder that is written: what is whole in it, and what is not yet.

OUT_DIR/.npu-quant has plan.json, journal.jsonl, a lock, and files that are not whole. The journal
gets a line when pieces of a shard are written. A shard that is whole and on the disk gets its name
in OUT_DIR. The next run compares what a line says with the file before it believes it.
"""

from __future__ import annotations

import errno
import fcntl
import hashlib
import json
import os
import shutil
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any
from uuid import uuid4

from .._text import clean
from .folder import CheckpointError, files_below, is_regular, json_bytes, link_to_nothing
from .record import difference, other_version

UNFINISHED = ".npu-quant"
SUMS = "SHA256SUMS"
RECORD = "npu_quant.json"
_OURS = ("config.json", SUMS, RECORD)
"""What is written under names that the source may have, too."""
_WEIGHTS = (
    *(".safetensors", ".bin", ".pt", ".pth", ".ckpt", ".gguf", ".ggml", ".h5"),
    *(".msgpack", ".onnx", ".onnx_data", ".npz"),
)
MODELOPT = "hf_quant_config.json"
"""How ModelOpt quantized a source. vLLM takes it for quantization_config where that is missing."""
_PIECE = 1 << 18  # what was copied stays in the cache until it is hashed
NO_ROOM = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)


def files_to_copy(folder: Path) -> list[str]:
    """Return all files of a model but weights, indices, config.json and hidden ones, by name."""
    return sorted(_files(folder, "", frozenset()))


def _files(folder: Path, below: str, above: frozenset[str]) -> Iterator[str]:
    here = os.path.realpath(folder / below)
    if here in above:  # a symlink to a folder that holds it
        return
    for entry in list(os.scandir(folder / below)):
        name = f"{below}{entry.name}"
        if entry.name.startswith(".") or name in _OURS:
            continue
        if os.path.isdir(entry.path):
            yield from _files(folder, f"{name}/", above | {here})
        elif not _is_left_out(entry.name):
            _check_file(entry, name)
            yield name


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


def check_out(out: Path, source: Path) -> None:
    """Refuse a folder to write that is a file, the model itself, or in it.

    Raises:
        CheckpointError: it is.
    """
    if out.exists() and not out.is_dir():
        raise CheckpointError(f"{out} is a file.")
    real, inside = Path(os.path.realpath(out)), Path(os.path.realpath(source))
    if real == inside or inside in real.parents:
        raise CheckpointError(f"{out} is the model's folder, or in it: choose another one.")


class OutFolder:
    """A folder that is being written, held by one run; a context manager."""

    def __init__(self, path: Path, plan: dict[str, Any], shards: Iterable[str] = ()) -> None:
        self.path, self.unfinished = path, path / UNFINISHED
        self._plan, self._lock = plan, -1
        self._parts = {part_of(self.unfinished, name) for name in shards}
        self.nonce = self.unfinished / f"{uuid4().hex}.part"
        """A file that is there as long as the run, and that nobody who sees another folder has."""

    def check(self) -> None:
        """Refuse a folder that holds other files, or an unfinished run of another plan.

        Raises:
            CheckpointError: it does.
        """
        names = {p.name for p in self.path.iterdir()} if self.path.exists() else set()
        plan = self.unfinished / "plan.json"
        if names <= {UNFINISHED} and not plan.exists():  # nothing was planned yet
            return
        if not plan.exists():
            raise CheckpointError(f"{self.path} is not empty: choose another folder.")
        try:
            found = json.loads(plan.read_bytes())
        except (ValueError, RecursionError):
            found = None
        if other := difference(found, self._plan):
            of_version = other_version(found, self._plan) is not None
            again = "use that version to go on" if of_version else "give the same again"
            raise CheckpointError(
                f"{self.path} has an unfinished run {other}: {again}, or delete it or choose "
                "another folder."
            )

    def room_kept(self, sizes: Mapping[str, int]) -> int:
        """Return how much of what is to be written needs no more room: it is there, or is removed.

        Args:
            sizes: of all files that are written, by name.
        """
        if not self.unfinished.is_dir():
            return 0
        left = [p for p in self.unfinished.glob("*.part") if p not in self._parts]
        return sum(map(_allocated, left)) + sum(
            min(size, _allocated(self.path / name) + _allocated(part_of(self.unfinished, name)))
            for name, size in sizes.items()
        )

    def __enter__(self) -> OutFolder:
        self.unfinished.mkdir(parents=True, exist_ok=True)
        self._lock = os.open(self.unfinished / "lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o666)
        try:
            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            self.check()  # another run may have held the lock until now
        except BlockingIOError as error:
            os.close(self._lock)
            raise CheckpointError(f"another run is writing to {self.path}.") from error
        except CheckpointError:
            if not (self.unfinished / "plan.json").exists():  # the other run finished
                shutil.rmtree(self.unfinished, ignore_errors=True)
            os.close(self._lock)
            raise
        self._clear()  # of what a run that was killed has left
        if not (self.unfinished / "plan.json").exists():
            self._put(self.unfinished / "plan.json", json_bytes(self._plan))
        self.nonce.touch()
        return self

    def __exit__(self, *_: object) -> None:
        self._clear()
        os.close(self._lock)

    def _clear(self) -> None:
        """Remove what is of no use; first what tells others that they make it for nobody."""
        self.nonce.unlink(missing_ok=True)
        for left in self.unfinished.glob("*.part"):
            if left not in self._parts:
                left.unlink(missing_ok=True)

    @property
    def _journal(self) -> Path:
        return self.unfinished / "journal.jsonl"

    def journal(self) -> Iterator[dict[str, Any]]:
        """Yield the lines of the journal, but what a killed run left unfinished."""
        try:
            lines = self._journal.read_bytes().splitlines()
        except FileNotFoundError:
            return
        for line in lines:
            try:
                entry = json.loads(line)
            except (ValueError, RecursionError):
                continue
            if isinstance(entry, dict):
                yield entry

    def note(self, entry: dict[str, Any]) -> None:
        """Add a line to the journal."""
        descriptor = os.open(
            self._journal, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o666
        )
        try:
            # A line that a killed run left unfinished is ended, and then skipped.
            os.write(descriptor, b"\n" + json.dumps(entry).encode() + b"\n")
        finally:
            os.close(descriptor)

    def sync_journal(self) -> None:
        """Bring the journal to the disk."""
        sync(self._journal)

    def finish_shard(self, part: Path, name: str) -> None:
        """Give a shard that is whole and on the disk its name."""
        os.replace(part, self.path / name)
        sync(self.path)
        self.sync_journal()

    def take_back(self, name: str) -> bool:
        """Take a shard's name from it, which is to be looked at again; say whether it had it."""
        if is_there := (self.path / name).exists():
            os.replace(self.path / name, part_of(self.unfinished, name))
        return is_there

    def copy(self, source: Path, name: str) -> str:
        """Copy a file of the model, and return its SHA-256."""
        part = self.unfinished / "copy.part"
        try:
            shutil.copyfile(source / name, part)
        except OSError as error:
            if error.errno in NO_ROOM:  # of which copyfile names the source first
                raise OSError(error.errno, error.strerror, str(part)) from error
            raise
        sha256 = sha256_of(part)
        self._rename(part, self.path / name)
        return sha256

    def write(self, name: str, data: bytes) -> None:
        """Write a file."""
        self._put(self.path / name, data)

    def end(self) -> None:
        """Remove what only an unfinished run needs: at once, or who is killed here leaves half."""
        self._clear()
        ended = self.unfinished.rename(self.path / f"{UNFINISHED}.ended")
        sync(self.path)
        shutil.rmtree(ended)

    def _put(self, path: Path, data: bytes) -> None:
        part = self.unfinished / "file.part"
        part.write_bytes(data)
        self._rename(part, path)

    def _rename(self, part: Path, path: Path) -> None:
        sync(part)
        path.parent.mkdir(parents=True, exist_ok=True)
        os.replace(part, path)
        sync(path.parent)


def part_of(folder: Path, shard: str) -> Path:
    """Return the file in the folder of a run that a shard is while it is not whole."""
    return folder / f"{shard}.part"


def sync(path: Path) -> None:
    """Bring to the disk what is in a file, or the names in a folder."""
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def sha256_of(path: Path) -> str:
    """Return the SHA-256 of a file."""
    digest = hashlib.sha256()
    buffer = memoryview(bytearray(_PIECE))
    with open(path, "rb", buffering=0) as file:
        while count := file.readinto(buffer):
            digest.update(buffer[:count])
    return digest.hexdigest()


def _allocated(path: Path) -> int:
    """The bytes that a file takes on the disk, which are less where it has holes."""
    try:
        found = path.stat()
    except OSError:
        return 0
    return min(found.st_size, found.st_blocks * 512)
