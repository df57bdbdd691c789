"""Members of a zip archive, read in place where they are stored, else unpacked as they are read."""

from __future__ import annotations

import struct
import threading
import zipfile
import zlib
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from .._text import clean
from .common import File, InPlace, Region, take

BOMB_BYTES = 64 << 20
BOMB_RATIO = 1000

_LENGTHS, _LOCAL_HEADER = 26, 30
_ENCRYPTED = 0x1
_AT_ONCE = 1 << 20


class Archive(NamedTuple):
    """An archive and its members by name."""

    file: File
    zip: zipfile.ZipFile
    members: dict[str, zipfile.ZipInfo]


def archive_of(file: File) -> Archive:
    """Return the archive in a file.

    Raises:
        FileError: it is none, is damaged or has two members of a name.
    """
    try:
        archive = Archive(file, zipfile.ZipFile(file.handle()), {})
    except Exception as error:  # zipfile answers broken directories with errors of many types
        raise file.fault(f"is not a zip archive or a damaged one: {error}") from error
    for info in archive.zip.infolist():
        if info.filename in archive.members:
            raise file.fault(f"has two members named {clean(info.filename, 60)}")
        archive.members[info.filename] = info
    return archive


def region(archive: Archive, name: str, *, check: bool) -> Region:
    """Return a member's bytes; with `check`, their CRC-32 is checked where they are stored, too.

    Raises:
        FileError: it is not where the directory says, is encrypted, packed by an unusual method,
            or would become very large out of very little.
    """
    file, info, what = archive.file, archive.members[name], clean(name, 60)
    if info.flag_bits & _ENCRYPTED:
        raise file.fault(f"{what} is encrypted")
    if info.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
        method = info.compress_type
        raise file.fault(f"{what} is compressed by method {method}; deflate is known")
    packed, size = info.compress_size, info.file_size
    if size > BOMB_BYTES and size > BOMB_RATIO * packed:
        raise file.fault(f"{what} says that {packed} bytes unpack to {size}: refused")
    try:
        archive.zip.open(info).close()
        lengths = take(InPlace(file, 0, file.size), info.header_offset + _LENGTHS, 4)
    except Exception as error:
        where = "is not where the archive's directory says"
        found = "has another name where it stands" if "differ" in str(error) else where
        raise file.fault(f"{what} {found}") from error
    begin = info.header_offset + _LOCAL_HEADER + sum(struct.unpack("<HH", lengths))
    if begin + packed > file.size:
        raise file.fault(f"{what} is not where the archive's directory says")
    if info.compress_type == zipfile.ZIP_DEFLATED:
        return Unpacked(archive, info, what)
    if packed != size:
        raise file.fault(f"{what} is stored, yet has two sizes")
    return InPlace(file, begin, size, info.CRC if check else None, what)


def check_sum(archive: Archive, name: str) -> None:
    """Read a member, and compare its CRC-32.

    Raises:
        FileError: the sum is wrong, or the member cannot be read.
    """
    data = region(archive, name, check=True)
    for begin in range(0, max(1, data.size), _AT_ONCE):
        take(data, begin, min(_AT_ONCE, data.size - begin))


class Unpacked:
    """A deflated member, unpacked in order; reading backwards begins again."""

    def __init__(self, archive: Archive, info: zipfile.ZipInfo, what: str) -> None:
        self.size = info.file_size
        self._archive, self._info, self._what = archive, info, what
        self._lock = threading.Lock()
        self._restart()

    def _restart(self) -> None:
        self._stream: Any = self._archive.zip.open(self._info)

    def fill(self, target: NDArray[np.uint8], offset: int) -> None:
        """Read `target` full from `offset` on."""
        file = self._archive.file
        with self._lock:
            file.check_open()
            try:
                self._stream.seek(offset)
                done = 0
                while count := self._stream.readinto(target.data[done:]):
                    done += count
                if not self.size:
                    self._stream.read(1)  # then only is its sum checked
                if done < target.size:
                    raise file.fault(
                        f"{self._what} ends after {offset + done} of {self.size} bytes"
                    )
            except BaseException as error:
                self._restart()
                if isinstance(error, zlib.error):
                    what = "is damaged: its deflate data is not valid"
                elif isinstance(error, zipfile.BadZipFile):
                    what = "has a wrong CRC-32: it is damaged"
                elif isinstance(error, EOFError):
                    what = "is damaged: its deflate data has no end"
                else:
                    raise
                raise file.fault(f"{self._what} {what}") from error
