"""A folder that is written, where others may have put links: no name in it leads elsewhere.

Whatever is done to a file is done relative to a descriptor of its folder, which is reached from the
one that was named by descriptors, too; the kernel has that for all filesystems. So it does not
matter what is put there meanwhile. Folders have no state, and go to the workers of a scheduler.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

from .._text import clean
from ..files.opening import IrregularError, open_regular
from .folder import CheckpointError

_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_PIECE = 1 << 18  # what was copied stays in the cache until it is hashed


@dataclass(frozen=True)
class Place:
    """A folder: the one that was named, or one below it."""

    root: Path
    below: tuple[str, ...] = ()
    """The names that lead from there."""

    @property
    def path(self) -> Path:
        """Where it is, in words."""
        return self.root.joinpath(*self.below)

    def within(self, *names: str) -> Place:
        """Return a folder in it."""
        return Place(self.root, (*self.below, *names))

    def make(self) -> None:
        """Make it, where it is not there."""
        self.root.mkdir(parents=True, exist_ok=True)
        for n, name in enumerate(self.below):
            outer = Place(self.root, self.below[:n])
            with outer._held(name) as folder, contextlib.suppress(FileExistsError):
                os.mkdir(name, dir_fd=folder)

    def is_there(self) -> bool:
        """Say whether it is; what is no folder is there, too, and nothing can be done in it."""
        try:
            with self._held():
                return True
        except FileNotFoundError:
            return False

    def names(self) -> list[str]:
        """Return the names in it."""
        with self._held() as folder:
            return os.listdir(folder)

    def status(self, name: str) -> os.stat_result | None:
        """Return what the kernel says of a name, of a link's own; None where it is not there."""
        try:
            with self._held(name) as folder:
                return os.stat(name, dir_fd=folder, follow_symlinks=False)
        except FileNotFoundError:
            return None

    @contextlib.contextmanager
    def opened(self, name: str, flags: int = os.O_RDONLY) -> Iterator[int]:
        """Yield a descriptor of a file; an error names it.

        Raises:
            CheckpointError: it is no regular file; or to be written, and has another name as well,
                which may be elsewhere.
        """
        with self._held(name) as folder:
            try:
                descriptor = open_regular(name, flags | os.O_NOFOLLOW, dir_fd=folder)
            except IrregularError as error:
                raise CheckpointError(
                    f"{_shown(self.path / name)} {error.strerror}: {_MEND}"
                ) from error
            try:
                if flags & (os.O_WRONLY | os.O_RDWR) and os.fstat(descriptor).st_nlink > 1:
                    text = "has another name, a hard link, and would be written there, too"
                    raise CheckpointError(f"{_shown(self.path / name)} {text}: {_MEND}")
                yield descriptor
            finally:
                os.close(descriptor)

    def read(self, name: str, most: int) -> bytes:
        """Return what is in a file, or about so many bytes of it."""
        with self.opened(name) as descriptor:
            return b"".join(map(bytes, islice(_pieces(descriptor), -(-most // _PIECE))))

    def remove(self, name: str) -> None:
        """Remove a file, or a link itself, if it is there."""
        with self._held(name) as folder, contextlib.suppress(FileNotFoundError):
            os.unlink(name, dir_fd=folder)

    def remove_folder(self, name: str) -> None:
        """Remove a folder and what is in it, links themselves; or what else has its name."""
        path = self.path / name
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path)  # which looks again, and follows none
        else:
            self.remove(name)

    def move(self, name: str, to: Place, other: str) -> None:
        """Give a file or a folder another name; what had it, if that was a file, is no more."""
        with self._held(name) as folder, to._held(other) as target:
            os.replace(name, other, src_dir_fd=folder, dst_dir_fd=target)

    def sync(self, name: str | None = None) -> None:
        """Bring to the disk what is in a file, or the names in the folder."""
        if name is None:
            with self._held() as folder:
                os.fsync(folder)
        else:
            with self.opened(name) as descriptor:
                os.fsync(descriptor)

    def sha256(self, name: str) -> str:
        """Return the SHA-256 of a file."""
        result = hashlib.sha256()
        with self.opened(name) as descriptor:
            for piece in _pieces(descriptor):
                result.update(piece)
        return result.hexdigest()

    @contextlib.contextmanager
    def _held(self, name: str = "") -> Iterator[int]:
        """Yield a descriptor of the folder; an error is of the folder, or of a name in it."""
        folder, at, given = -1, self.root, str(self.root)
        try:
            folder = os.open(given, _FOLDER)
            for given in self.below:
                at /= given
                inner = os.open(given, _FOLDER, dir_fd=folder)
                os.close(folder)
                folder = inner
            at, given = at / name, name
            yield folder
        except NotADirectoryError as error:
            if error.filename != given:
                raise
            raise CheckpointError(f"{_shown(at)} is a link, or no folder: {_MEND}") from error
        except OSError as error:
            if error.filename not in (None, given):
                raise
            raise OSError(error.errno, error.strerror, str(at)) from error
        finally:
            if folder >= 0:
                os.close(folder)


_MEND = "remove it, or choose another folder."


def _shown(path: Path) -> str:
    return clean(str(path), 200)


def sha256_of(path: Path) -> str:
    """Return the SHA-256 of a file, by whatever links the path has."""
    result = hashlib.sha256()
    for piece in pieces_of(path):
        result.update(piece)
    return result.hexdigest()


def pieces_of(path: Path) -> Iterator[memoryview]:
    """Yield what is in a file, by whatever links the path has; each is read where the last was.

    Raises:
        OSError: it cannot be opened or read; it names the file.
    """
    descriptor = open_regular(path, os.O_RDONLY)
    try:
        yield from _pieces(descriptor)
    except OSError as error:
        raise OSError(error.errno, error.strerror, str(path)) from error
    finally:
        os.close(descriptor)


def _pieces(descriptor: int) -> Iterator[memoryview]:
    buffer = memoryview(bytearray(_PIECE))
    while count := os.readv(descriptor, [buffer]):
        yield buffer[:count]


def write(descriptor: int, data: memoryview, place: int = 0) -> None:
    """Write data into a file, from a place on."""
    while data:
        done = os.pwrite(descriptor, data, place)
        data, place = data[done:], place + done
