"""What the commands print: text for any terminal, pipe and encoding, tables, colours, JSON."""

from __future__ import annotations

import json
import os
import shutil
import sys
from typing import Any, TextIO

from .._shell import is_unicode
from .._text import printable

WIDTH = 100
"""Of what is printed where there is no terminal."""

_PLAINER = str.maketrans({"·": "|", "‰": "per mille", "×": "x", "−": "-", "≤": "<=", "±": "+-"})


def is_terminal(stream: TextIO | None) -> bool:
    """Say whether somebody looks at it."""
    return stream is not None and not stream.closed and stream.isatty()


def is_coloured(stream: TextIO | None) -> bool:
    """Say whether to colour what is printed: on terminals, unless the environment says no."""
    wanted = not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"
    return wanted and is_terminal(stream)


def width() -> int:
    """Return how many characters a line of stdout may have."""
    return shutil.get_terminal_size().columns if is_terminal(sys.stdout) else WIDTH


def write(text: str, style: str = "") -> None:
    """Print text on stdout; a reader that has gone away is none of its business.

    Args:
        text: without its last newline.
        style: rich's name of how the first line looks on a terminal, such as "bold red".
    """
    stream = sys.stdout
    if stream is None:
        return
    if style and is_coloured(stream):
        from rich.style import Style

        first, newline, rest = text.partition("\n")
        text = Style.parse(style).render(first) + newline + rest
    try:
        stream.write(_encodable(text + "\n", stream))
        stream.flush()
    except BrokenPipeError:
        silence(stream)
    except OSError:
        silence(stream)
        raise


def write_error(face: str, text: str) -> None:
    """Print one line on stderr."""
    stream = sys.stderr
    if stream is None:
        return
    try:
        stream.write(_encodable(f"{face}: {printable(' '.join(text.split()))}\n", stream))
        stream.flush()
    except OSError:
        silence(stream)


def flush() -> None:
    """Write what argparse has printed; a reader that has gone away is none of its business."""
    for stream in (sys.stdout, sys.stderr):
        try:
            if stream is not None:
                stream.flush()
        except OSError:
            silence(stream)


def silence(stream: TextIO) -> None:
    """Send what is still to be written to a stream nowhere: Python flushes it once more at exit."""
    try:
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, stream.fileno())
        os.close(nowhere)
    except (OSError, ValueError):
        pass


def write_json(data: dict[str, Any], where: str) -> None:
    """Write data to a file, or to stdout for "-"."""
    from .._shown import plain

    write_text(json.dumps(plain(data), indent=2, allow_nan=False) + "\n", where)


def write_text(text: str, where: str) -> None:
    """Write text that ends with a newline to a file, or to stdout for "-"."""
    if where == "-":
        write(text.removesuffix("\n"))
        return
    try:
        with open(where, "w", encoding="utf-8") as file:
            file.write(text)
    except OSError as error:  # of a full disk it does not say which file
        raise OSError(error.errno, error.strerror, where) from error


def _encodable(text: str, stream: TextIO) -> str:
    encoding = getattr(stream, "encoding", None) or "utf-8"
    if not is_unicode(stream):
        text = text.translate(_PLAINER)
    return text.encode(encoding, "backslashreplace").decode(encoding)
