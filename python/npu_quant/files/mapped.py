"""Which file a piece of memory is a map of: the system knows, whoever mapped it."""

from __future__ import annotations

import contextlib
import os


def mapped_at(address: int) -> tuple[int, int, int] | None:
    """Return the file that is mapped at an address, by device and number, and from which byte on.

    None where no file is mapped there, and where the system has no /proc.
    """
    try:
        with open("/proc/self/maps", encoding="utf-8", errors="surrogateescape") as maps:
            for line in maps:
                span, _, offset, device, inode, *path = line.rstrip("\n").split(None, 5)
                first, last = (int(end, 16) for end in span.split("-"))
                if first <= address < last:
                    break
            else:
                return None
    except OSError:
        return None
    if inode == "0":
        return None
    major, minor = (int(part, 16) for part in device.split(":"))
    found = os.makedev(major, minor), int(inode)
    with contextlib.suppress(OSError):  # of one that was deleted since
        status = os.stat(path[0])
        found = status.st_dev, status.st_ino
    return (*found, int(offset, 16) + address - first)
