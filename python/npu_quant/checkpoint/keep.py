"""The folder that is written: what is whole in it, and what is not yet.

OUT_DIR/.npu-quant has plan.json, journal.jsonl, a lock, and files that are not whole. The journal
gets a line when pieces of a shard are written. A shard that is whole and on the disk gets its name
in OUT_DIR. The next run compares what a line says with the file before it believes it.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import json
import os
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any
from uuid import uuid4

from .._text import clean
from ..files.small import parsed
from .folder import CheckpointError, json_bytes
from .place import Place, pieces_of, write
from .record import difference, other_version

UNFINISHED = ".npu-quant"
ENDED = f"{UNFINISHED}.ended"
SUMS = "SHA256SUMS"
RECORD = "npu_quant.json"
_PLAN, _JOURNAL = "plan.json", "journal.jsonl"
_MOST = 256 << 20
"""Bytes of either that are read: more are of nobody."""
_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL
NO_ROOM = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)


def check_out(out: Path, source: Path) -> None:
    """Refuse a folder to write that is a file or a link, the model itself, or in it.

    Raises:
        CheckpointError: it is.
    """
    if out.exists() and not out.is_dir():
        raise CheckpointError(f"{out} is a file.")
    real, inside = Path(os.path.realpath(out)), Path(os.path.realpath(source))
    if real == inside or inside in real.parents:
        raise CheckpointError(f"{out} is the model's folder, or in it: choose another one.")
    if out.is_symlink():  # whoever made it may be somebody else
        said = f"{out} is a link to {clean(os.readlink(out), 100)}"
        raise CheckpointError(f"{said}: name the folder itself.")


class OutFolder:
    """A folder that is being written, held by one run; a context manager."""

    def __init__(self, path: Path, plan: dict[str, Any], shards: Iterable[str] = ()) -> None:
        self.path, self.place = path, Place(path)
        self.unfinished = self.place.within(UNFINISHED)
        self._plan, self._lock = plan, contextlib.ExitStack()
        self._parts = {part_of(name) for name in shards}
        self._nonce = f"{uuid4().hex}.part"

    @property
    def nonce(self) -> Path:
        """A file that is there as long as the run, and that nobody who sees another folder has."""
        return self.unfinished.path / self._nonce

    def check(self) -> None:
        """Refuse a folder that holds other files, or an unfinished run of another plan.

        Raises:
            CheckpointError: it does.
        """
        names = {*self.place.names()} if self.place.is_there() else set()
        has_plan = UNFINISHED in names and self.unfinished.status(_PLAN) is not None
        if names <= {UNFINISHED} and not has_plan:  # nothing was planned yet
            return
        if not has_plan:
            raise CheckpointError(f"{self.path} is not empty: choose another folder.")
        data = self.unfinished.read(_PLAN, _MOST)
        try:
            found = parsed(data)
        except ValueError:
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
        if not (self.place.is_there() and self.unfinished.is_there()):
            return 0
        unfinished = self.unfinished
        return sum(_allocated(unfinished, name) for name in self._left()) + sum(
            min(size, _allocated(*self._file(name)) + _allocated(unfinished, part_of(name)))
            for name, size in sizes.items()
        )

    def __enter__(self) -> OutFolder:
        with contextlib.ExitStack() as lock:
            self.unfinished.make()
            opened = self.unfinished.opened("lock", os.O_RDWR | os.O_CREAT)
            descriptor = lock.enter_context(opened)
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError as error:
                raise CheckpointError(f"another run is writing to {self.path}.") from error
            self._check_again()
            self._clear()  # of what a run that was killed has left
            if self.unfinished.status(_PLAN) is None:
                self._put(self.unfinished, _PLAN, json_bytes(self._plan))
            with self.unfinished.opened(self._nonce, _NEW):
                pass
            self._lock = lock.pop_all()
        return self

    def _check_again(self) -> None:
        """Look at the folder once it is locked: another run may have held the lock until now."""
        try:
            self.check()
        except CheckpointError:
            if self.unfinished.status(_PLAN) is None:  # the other run finished
                self.place.remove_folder(UNFINISHED)
            raise

    def __exit__(self, *_: object) -> None:
        with self._lock:
            self._clear()

    def _clear(self) -> None:
        """Remove what is of no use; first what tells others that they make it for nobody."""
        if self.unfinished.is_there():
            self.unfinished.remove(self._nonce)
            for name in self._left():
                self.unfinished.remove(name)

    def _left(self) -> list[str]:
        """The files that are of no shard."""
        return [n for n in self.unfinished.names() if n.endswith(".part") and n not in self._parts]

    def journal(self) -> Iterator[dict[str, Any]]:
        """Yield the lines of the journal, but what a killed run left unfinished."""
        try:
            lines = self.unfinished.read(_JOURNAL, _MOST).splitlines()
        except FileNotFoundError:
            return
        for line in lines:
            with contextlib.suppress(ValueError):
                entry = parsed(line)
                if isinstance(entry, dict):
                    yield entry

    def note(self, entry: dict[str, Any]) -> None:
        """Add a line to the journal."""
        # A line that a killed run left unfinished is ended, and then skipped.
        line = b"\n" + json.dumps(entry).encode() + b"\n"
        with self.unfinished.opened(_JOURNAL, os.O_WRONLY | os.O_CREAT | os.O_APPEND) as descriptor:
            os.write(descriptor, line)

    def sync_journal(self) -> None:
        """Bring the journal to the disk."""
        self.unfinished.sync(_JOURNAL)

    def finish_shard(self, part: str, name: str) -> None:
        """Give a shard that is whole and on the disk its name."""
        self.unfinished.move(part, self.place, name)
        self.place.sync()
        self.sync_journal()

    def take_back(self, name: str) -> bool:
        """Take a shard's name from it, which is to be looked at again; say whether it had it."""
        if is_there := self.place.status(name) is not None:
            self.place.move(name, self.unfinished, part_of(name))
        return is_there

    def copy(self, source: Path, name: str) -> str:
        """Copy a file of the model, and return its SHA-256."""
        part = "copy.part"
        with self.unfinished.opened(part, _NEW) as descriptor:
            at = 0
            for piece in pieces_of(source / name):
                write(descriptor, piece, at)
                at += len(piece)
        sha256 = self.unfinished.sha256(part)
        self._name(part, *self._file(name))
        return sha256

    def write(self, name: str, data: bytes) -> None:
        """Write a file."""
        self._put(self.place, name, data)

    def end(self) -> None:
        """Remove what only an unfinished run needs: at once, or who is killed here leaves half."""
        self._clear()
        self.place.remove_folder(ENDED)
        self.place.move(UNFINISHED, self.place, ENDED)
        self.place.sync()
        self.place.remove_folder(ENDED)

    def _file(self, name: str) -> tuple[Place, str]:
        """The folder that a file of the result is in, and its name there."""
        *folders, last = name.split("/")
        return self.place.within(*folders), last

    def _put(self, folder: Place, name: str, data: bytes) -> None:
        part = "file.part"
        with self.unfinished.opened(part, _NEW) as descriptor:
            write(descriptor, memoryview(data))
        self._name(part, folder, name)

    def _name(self, part: str, folder: Place, name: str) -> None:
        self.unfinished.sync(part)
        folder.make()
        self.unfinished.move(part, folder, name)
        folder.sync()


def part_of(shard: str) -> str:
    """Return the name that a shard has in the folder of a run while it is not whole."""
    return f"{shard}.part"


def _allocated(folder: Place, name: str) -> int:
    """The bytes that a file takes on the disk, which are less where it has holes."""
    try:
        found = folder.status(name)
    except (OSError, CheckpointError):
        found = None
    return 0 if found is None else min(found.st_size, found.st_blocks * 512)
