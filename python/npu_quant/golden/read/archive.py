"""Members of a zip archive, read in place where they are stored, else unpacked as they are read."""

from __future__ import annotations

import threading
import zlib
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from .common import File, InPlace, Region, clean, take

BOMB_BYTES = 64 << 20
BOMB_RATIO = 1000
CHUNK = 256 << 10

_LOCAL_HEADER = 30
_STORED, _DEFLATED = 0, 8
_ENCRYPTED, _UTF8 = 0x1, 0x800


class Member(NamedTuple):
    """A member as the archive's directory has it."""

    name: str
    raw_name: bytes
    header: int
    packed: int
    size: int
    crc: int
    method: int
    flags: int


def members(file: File) -> dict[str, Member]:
    """Return an archive's members by name.

    Raises:
        FileError: it is no archive, is damaged or has two members of a name.
    """
    import zipfile

    found: dict[str, Member] = {}
    try:
        with file.handle() as handle, zipfile.ZipFile(handle) as archive:
            infos = archive.infolist()
    except Exception as error:  # zipfile answers broken directories with errors of many types
        raise file.fault(f"is not a zip archive or a damaged one: {error}") from error
    for i in infos:
        if i.filename in found:
            raise file.fault(f"has two members named {clean(i.filename, 60)}")
        raw = i.orig_filename.encode("utf-8" if i.flag_bits & _UTF8 else "cp437", "replace")
        found[i.filename] = Member(
            i.filename,
            raw,
            i.header_offset,
            i.compress_size,
            i.file_size,
            i.CRC,
            i.compress_type,
            i.flag_bits,
        )
    return found


def region(file: File, member: Member, *, check: bool) -> Region:
    """Return a member's bytes; with `check`, their CRC-32 is checked when they have been read.

    Raises:
        FileError: it is not where the directory says, is encrypted, packed by an unusual method,
            or would become very large out of very little.
    """
    what = clean(member.name, 60)
    if member.flags & _ENCRYPTED:
        raise file.fault(f"{what} is encrypted")
    begin = _data_of(file, member, what)
    if member.method == _STORED:
        if member.packed != member.size:
            raise file.fault(f"{what} is stored, yet has two sizes")
        return InPlace(file, begin, member.size, member.crc if check else None, what)
    if member.method != _DEFLATED:
        raise file.fault(f"{what} is compressed by method {member.method}; deflate is known")
    if member.size > BOMB_BYTES and member.size > BOMB_RATIO * member.packed:
        raise file.fault(f"{what} says that {member.packed} bytes unpack to {member.size}: refused")
    return _Deflated(file, member, begin, check)


def _data_of(file: File, member: Member, what: str) -> int:
    """Return where a member's bytes begin."""
    whole = InPlace(file, 0, file.size)
    fits = 0 <= member.header <= file.size - _LOCAL_HEADER
    if fits:
        header = take(whole, member.header, _LOCAL_HEADER)
        length, extra = (int.from_bytes(header[at : at + 2], "little") for at in (26, 28))
        name = member.header + _LOCAL_HEADER
        begin = name + length + extra
        fits = header.startswith(b"PK\x03\x04") and begin + member.packed <= file.size
    if not fits:
        raise file.fault(f"{what} is not where the archive's directory says")
    if take(whole, name, length) != member.raw_name:
        raise file.fault(f"{what} has another name where it stands")
    return begin


class _Deflated:
    """A deflated member, unpacked in order; reading backwards begins again."""

    def __init__(self, file: File, member: Member, begin: int, check: bool) -> None:
        self.size = member.size
        self._file, self._member, self._begin, self._check = file, member, begin, check
        self._lock = threading.Lock()
        self._restart()

    def _restart(self) -> None:
        self._stream = zlib.decompressobj(-zlib.MAX_WBITS)
        self._position, self._read, self._crc = 0, 0, 0
        self._waiting = b""

    def fill(self, target: NDArray[np.uint8], offset: int) -> None:
        with self._lock:
            try:
                if offset < self._position:
                    self._restart()
                while self._position < offset:
                    self._next(offset - self._position)
                done = 0
                while done < target.size:
                    piece = self._next(target.size - done)
                    target[done : done + len(piece)] = np.frombuffer(piece, np.uint8)
                    done += len(piece)
                if self._position == self.size:
                    self._finish()
            except BaseException:
                self._restart()
                raise

    def _next(self, most: int) -> bytes:
        """Return up to `most` bytes, at least one."""
        piece = self._unpack(min(most, CHUNK))
        if not piece:
            raise self._fault(f"ends after {self._position} of {self.size} bytes")
        self._position += len(piece)
        self._crc = zlib.crc32(piece, self._crc)
        return piece

    def _unpack(self, most: int) -> bytes:
        """Return up to `most` bytes; none at the end."""
        while not self._stream.eof:
            packed = self._waiting
            if not packed and self._read < self._member.packed:
                room = np.empty(min(CHUNK, self._member.packed - self._read), np.uint8)
                self._file.fill(room, self._begin + self._read)
                packed = room.tobytes()
                self._read += len(packed)
            ended = not packed
            try:
                piece = self._stream.decompress(packed, most)
            except zlib.error as error:
                raise self._fault("is damaged: its deflate data is not valid") from error
            self._waiting = self._stream.unconsumed_tail
            if piece or ended:
                return piece
        return b""

    def _finish(self) -> None:
        if self._unpack(1):
            raise self._fault(f"unpacks to more than the {self.size} bytes it says")
        if not self._stream.eof:
            raise self._fault("has no end of its deflate data")
        if self._check and self._crc != self._member.crc:
            raise self._fault("has a wrong CRC-32, it is damaged")

    def _fault(self, what: str) -> Exception:
        return self._file.fault(f"{clean(self._member.name, 60)} {what}")
