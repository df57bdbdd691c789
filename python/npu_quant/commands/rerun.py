"""What to do next: the command that looks closer, as a shell takes it."""

from __future__ import annotations

import os
import re
import shlex
import sys
from argparse import Namespace
from collections.abc import Sequence

from ..golden.api import Comparison
from .console import is_unicode


def rerun_of(words: Sequence[str], arguments: Namespace, comparison: Comparison) -> str:
    """Return the command that ranks the formulas; "" where there is nothing more to be said."""
    if _has_problem(comparison) or comparison.model is None or arguments.explain:
        return ""
    end = words.index("--") if "--" in words else len(words)
    command = ["npu-quant", "compare", *words[:end], "--explain", *words[end:]]
    return " ".join(quoted(word) for word in command)


def next_step(text: str, comparison: Comparison) -> str:
    """Return a report whose last line is of use: inputs tell nothing of another dtype or shape."""
    if _has_problem(comparison):
        return re.sub(r"\n  next: give [^\n]*", "", text)
    if comparison.op is not None:
        text = text.replace("give the inputs and --op to", "give the inputs instead of --golden to")
    return text


def quoted(word: str) -> str:
    """Return a word as a shell takes it, in characters that can be printed on stdout."""
    if word.isprintable() and (word.isascii() or is_unicode(sys.stdout)):
        return shlex.quote(word)
    return "$'" + "".join(map(_escaped, word)) + "'"


def _escaped(character: str) -> str:
    if character in "'\\":
        return "\\" + character
    if character.isascii() and character.isprintable():
        return character
    return "".join(f"\\x{byte:02x}" for byte in os.fsencode(character))


def _has_problem(comparison: Comparison) -> bool:
    """Say whether dtypes or shapes differ, or one side lacks an output."""
    return any(output.problem is not None for output in comparison.outputs)
