"""Text of users and of files as it can be shown: on one line, of few letters, in HTML."""

from __future__ import annotations

import html
from itertools import accumulate

LONGEST = 60
"""How many letters of a name are shown."""


def printable(text: str) -> str:
    """Return text on one line, with escapes for what cannot be printed."""
    return text if text.isprintable() else "".join(map(_letter, text))


def _letter(c: str) -> str:
    if c.isprintable():
        return c
    if "\udc80" <= c <= "\udcff":  # a byte of a file's name that is not UTF-8
        return f"\\x{ord(c) - 0xDC00:02x}"
    return ascii(c)[1:-1]


def clean(text: str, limit: int = LONGEST) -> str:
    """Return printable text of at most `limit` letters, its middle left out where it is longer."""
    letters = [*map(_letter, text if len(text) <= 2 * limit else text[:limit] + text[-limit:])]
    if sum(map(len, letters)) <= limit:
        return "".join(letters)
    half = (limit - 3) // 2

    def fitting(some: list[str]) -> list[str]:
        return [
            letter for letter, n in zip(some, accumulate(map(len, some)), strict=True) if n <= half
        ]

    return "".join([*fitting(letters), "...", *fitting(letters[::-1])[::-1]])


def escaped(text: str, limit: int = 240) -> str:
    """Return text as HTML shows it."""
    return html.escape(clean(text, limit))
