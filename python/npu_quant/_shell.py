"""Commands as a shell reads them as they are meant, each one line that a terminal shows."""

from __future__ import annotations

import os
import shlex
import sys
from collections.abc import Iterable
from typing import TextIO


def is_unicode(stream: TextIO | None) -> bool:
    """Say whether a stream takes all characters."""
    encoding = getattr(stream, "encoding", None) or "utf-8"
    return encoding.lower().replace("_", "-").startswith("utf")


def compare_command(words: Iterable[str]) -> str:
    """Return the command that compares what some words say."""
    return joined(["npu-quant", "compare", *words])


def joined(words: Iterable[str]) -> str:
    """Return a command."""
    return " ".join(map(quoted, words))


def quoted(word: str) -> str:
    """Return a word as a shell takes it, in characters that can be printed on stdout."""
    plain = is_unicode(sys.stdout)
    if word.isprintable() and (word.isascii() or plain):
        return shlex.quote(word)
    return "$'" + "".join(_escaped(c, plain) for c in word) + "'"


def _escaped(character: str, plain: bool) -> str:
    if character in "'\\\n":
        return {"\n": r"\n"}.get(character, f"\\{character}")
    if character.isprintable() and (character.isascii() or plain):
        return character
    return "".join(f"\\x{byte:02x}" for byte in os.fsencode(character))
