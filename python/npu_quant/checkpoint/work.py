"""The folder that is written: what is whole in it, and what is not yet.

OUT_DIR/.npu-quant has plan.json, journal.jsonl, a lock, and files that are not whole. A file gets
its name in OUT_DIR when it is whole and on the disk; then the journal gets a line.
"""

from __future__ import annotations

import errno
import fcntl
import hashlib
import json
import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from uuid import uuid4

from .folder import CheckpointError, json_bytes

WORK = ".npu-quant"
_WEIGHTS = (
    *(".safetensors", ".bin", ".pt", ".pth", ".ckpt", ".gguf", ".ggml", ".h5"),
    *(".msgpack", ".onnx", ".onnx_data", ".npz"),
)
_NO_ROOM = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
_PIECE = 1 << 18  # what was copied stays in the cache until it is hashed


def files_to_copy(folder: Path) -> list[str]:
    """Return all files of a model but weights, indices, config.json and hidden ones, by name."""
    return sorted(_files(folder, "", frozenset()))


def _files(folder: Path, below: str, above: frozenset[str]) -> Iterator[str]:
    here = os.path.realpath(folder / below)
    if here in above:  # a symlink to a folder that holds it
        return
    for entry in list(os.scandir(folder / below)):
        name = f"{below}{entry.name}"
        if entry.name.startswith(".") or name == "config.json":
            continue
        if entry.is_dir():
            yield from _files(folder, f"{name}/", above | {here})
        elif entry.is_file() and not _is_left_out(entry.name):
            if not os.access(entry.path, os.R_OK):
                raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), entry.path)
            yield name


def _is_left_out(name: str) -> bool:
    is_described = name.startswith("quant_model_description") and name.endswith(".json")
    return name.endswith((*_WEIGHTS, ".index.json")) or is_described


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


class Work:
    """A folder that is being written, held by one run; a context manager."""

    def __init__(self, out: Path, plan: dict[str, Any]) -> None:
        self.out, self.folder = out, out / WORK
        self._plan, self._lock = plan, -1
        self.nonce = self.folder / f"{uuid4().hex}.part"
        """A file that is there as long as the run, and that nobody who sees another folder has."""

    def resumed(self) -> bool:
        """Say whether there is an unfinished run of this plan.

        Raises:
            CheckpointError: there is one of another plan, or other files.
        """
        if not self.out.exists() or not any(self.out.iterdir()):
            return False
        if not self.folder.is_dir():
            raise CheckpointError(f"{self.out} is not empty: choose another folder.")
        path = self.folder / "plan.json"
        try:
            found = json.loads(path.read_bytes())
        except FileNotFoundError:
            if {p.name for p in self.out.iterdir()} == {WORK}:  # nothing was planned yet
                return False
            found = {}
        except ValueError:
            found = {}
        if found != self._plan:
            scheme = found.get("scheme", "unknown") if isinstance(found, dict) else "unknown"
            raise CheckpointError(
                f"{self.out} has an unfinished run of another command (scheme {scheme}), or of "
                "another source: delete it or choose another folder."
            )
        return True

    def __enter__(self) -> Work:
        self.folder.mkdir(parents=True, exist_ok=True)
        self._lock = os.open(self.folder / "lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o666)
        try:
            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            self.resumed()  # another run may have held the lock until now
        except BlockingIOError as error:
            os.close(self._lock)
            raise CheckpointError(f"another run is writing to {self.out}.") from error
        except CheckpointError:
            if not (self.folder / "plan.json").exists():  # the other run finished
                shutil.rmtree(self.folder, ignore_errors=True)
            os.close(self._lock)
            raise
        self._clear()  # of what a run that was killed has left
        if not (self.folder / "plan.json").exists():
            self._put(self.folder / "plan.json", json_bytes(self._plan))
        self.nonce.touch()
        return self

    def __exit__(self, *_: object) -> None:
        self._clear()
        os.close(self._lock)

    def _clear(self) -> None:
        """Remove what is not whole; first what tells others that they make it for nobody."""
        self.nonce.unlink(missing_ok=True)
        for left in self.folder.glob("*.part"):
            left.unlink(missing_ok=True)

    def journal(self) -> Iterator[dict[str, Any]]:
        """Yield the shards that a former run finished and that have the size it left them."""
        try:
            lines = (self.folder / "journal.jsonl").read_bytes().splitlines()
        except FileNotFoundError:
            return
        for line in lines:
            try:
                entry = json.loads(line)
                path = self.out / entry["shard"]
                if path.stat().st_size != entry["bytes"] or "sha256" not in entry:
                    continue
            except (ValueError, OSError, KeyError, TypeError):  # cut off, or a file is lost
                continue
            yield entry

    def finish_shard(self, part: Path, entry: dict[str, Any]) -> None:
        """Give a shard that is whole and on the disk its name, and note it."""
        os.replace(part, self.out / entry["shard"])
        sync(self.out)
        path = self.folder / "journal.jsonl"
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o666)
        try:
            # A line that a killed run left unfinished is ended, and then skipped.
            os.write(descriptor, b"\n" + json.dumps(entry).encode() + b"\n")
            os.fsync(descriptor)
        finally:
            os.close(descriptor)

    def copy(self, source: Path, name: str) -> None:
        """Copy a file of the model."""
        part = self.folder / "copy.part"
        try:
            shutil.copyfile(source / name, part)
        except OSError as error:
            if error.errno in _NO_ROOM:  # of which copyfile names the source first
                raise OSError(error.errno, error.strerror, str(part)) from error
            raise
        self._rename(part, self.out / name)

    def write(self, name: str, data: bytes) -> None:
        """Write a file."""
        self._put(self.out / name, data)

    def end(self) -> None:
        """Remove what only an unfinished run needs: at once, or who is killed here leaves half."""
        self._clear()
        ended = self.folder.rename(self.out / f"{WORK}.ended")
        sync(self.out)
        shutil.rmtree(ended)

    def _put(self, path: Path, data: bytes) -> None:
        part = self.folder / "file.part"
        part.write_bytes(data)
        self._rename(part, path)

    def _rename(self, part: Path, path: Path) -> None:
        sync(part)
        path.parent.mkdir(parents=True, exist_ok=True)
        os.replace(part, path)
        sync(path.parent)


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
