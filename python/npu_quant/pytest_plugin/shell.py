"""Commands that a shell reads as they are meant, each one line that a terminal shows."""

from __future__ import annotations

import os
import shlex
from collections.abc import Iterable


def quoted(word: str) -> str:
    """Return a word as a shell reads it, in ``$'...'`` where it has what cannot be printed."""
    if word.isprintable():
        return shlex.quote(word)
    return "$'" + "".join(map(_escaped, word)) + "'"


def _escaped(character: str) -> str:
    if character == "\n":
        return r"\n"
    if character in "'\\":
        return f"\\{character}"
    if character.isprintable():
        return character
    return "".join(f"\\x{byte:02x}" for byte in os.fsencode(character))


def joined(words: Iterable[str]) -> str:
    """Return a command."""
    return " ".join(map(quoted, words))
