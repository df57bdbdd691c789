"""The one way in which files are opened that somebody else may have made."""

from __future__ import annotations

import errno
import os
import stat


class IrregularError(OSError):
    """What is to be read or written is no file that can be: a pipe, a device, a link, a folder."""


def open_regular(path: str | os.PathLike[str], flags: int, dir_fd: int | None = None) -> int:
    """Return a descriptor of a regular file; no pipe is waited for, and no device is read.

    Args:
        path: of the file; in an error as it is given.
        flags: of ``os.open``; with ``O_NOFOLLOW`` a link is refused.
        dir_fd: the folder that the path begins in.

    Raises:
        IrregularError: it is none; of a link, with ``O_NOFOLLOW``.
        OSError: it cannot be opened.
    """
    try:
        # Without O_NONBLOCK the opening of a pipe would wait for its other end.
        descriptor = os.open(path, flags | os.O_CLOEXEC | os.O_NONBLOCK, 0o666, dir_fd=dir_fd)
    except OSError as error:
        if error.errno == errno.ELOOP and flags & os.O_NOFOLLOW:
            raise IrregularError(error.errno, "is a link, which is not followed", path) from error
        if error.errno in (errno.ENXIO, errno.EISDIR):  # a pipe, a socket or a folder to be written
            raise IrregularError(error.errno, "is not a regular file", path) from error
        raise
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise IrregularError(errno.EINVAL, "is not a regular file", path)
    return descriptor
