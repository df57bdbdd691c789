"""What the commands' arguments have in common: the parser, and the words it takes apart."""

from __future__ import annotations

import argparse
import ast
import math
import re
import textwrap
from collections.abc import Callable, Sequence
from typing import Any, NoReturn, TypeVar

from ..errors import meant

T = TypeVar("T")


class UsageError(ValueError):
    """The arguments do not fit together, or do not fit the files."""


class _Filling(argparse.HelpFormatter):
    """Fills paragraphs to the terminal's width, but keeps those that have indented lines."""

    def _fill_text(self, text: str, width: int, indent: str) -> str:
        return "\n\n".join(
            part if re.search("^  ", part, re.MULTILINE) else textwrap.fill(part, width)
            for part in text.split("\n\n")
        )


class Parser(argparse.ArgumentParser):
    """A parser whose errors are one line, raised as UsageError."""

    def __init__(self, command: str, description: str, epilog: str | None = None) -> None:
        super().__init__(
            prog=f"npu-quant {command}",
            description=description,
            epilog=epilog,
            formatter_class=_Filling,
            allow_abbrev=False,
        )

    def parse(self, words: Sequence[str], names: str) -> argparse.Namespace:
        """Parse words of which some may stand between options, and all that follow "--" are names.

        Args:
            words: the arguments.
            names: the attribute that has the words that are no options.
        """
        end = words.index("--") if "--" in words else len(words)
        arguments, unknown = self.parse_known_intermixed_args(words[:end])
        if unknown:
            after = [*words[words.index(unknown[0]) + 1 : end], "-"][0]
            value = "" if after.startswith("-") else after
            remedy = self.remedy(unknown[0], value, arguments)
            self.error(f"unrecognized arguments: {' '.join(unknown)}{remedy}")
        setattr(arguments, names, [*getattr(arguments, names), *words[end + 1 :]])
        return arguments

    def remedy(self, option: str, value: str, arguments: argparse.Namespace) -> str:
        """Return what was meant by an unknown option, which a value may follow; "" if unknown."""
        return meant(option.partition("=")[0], self._option_string_actions)

    def error(self, message: str) -> NoReturn:
        """Raise what is wrong with the arguments."""
        raise UsageError(f"{message} (see {self.prog} --help)")


def add_json(parser: argparse._ActionsContainer) -> None:
    """Add ``--json``, the same for all commands."""
    help = 'write the result as JSON to a file, or to stdout with "-"'
    parser.add_argument("--json", metavar="FILE", help=help)


def add_workers(parser: argparse._ActionsContainer) -> None:
    """Add ``--workers`` and ``--scheduler``: who does what can be done side by side."""
    help = "threads (default: the CPUs); of a scheduler: tasks at a time (default: all it takes)"
    parser.add_argument("--workers", type=at_least(1), help=help)
    help = "of Dask, such as tcp://host:8786, whose workers see the same folders (default: none)"
    parser.add_argument("--scheduler", metavar="ADDRESS", help=help)


def add_reading(parser: argparse.ArgumentParser, *, names: bool) -> None:
    """Add the options that say what is in a file that does not say it itself.

    Args:
        parser: the command's.
        names: whether files have names, of which each may be said something.
    """
    group = parser.add_argument_group("what the files do not say")
    start, more = ("[NAME=]", "; NAME=... for one file; repeatable") if names else ("", "")

    def add(option: str, parse: Callable[[str], Any], help: str) -> None:
        group.add_argument(
            option,
            action="append" if names else "store",
            type=named(parse) if names else parsed(parse),
            metavar=start + option[2:].upper(),
            help=help + more,
        )

    add("--dtype", str, "dtype of .bin, V1 and uint16 files: bf16, float8_e4m3fn, int4 ...")
    add("--shape", shape, "shape of .bin files, such as 32,2048")
    help = "the array in files that hold several; FILE::KEY is the same for one file"
    group.add_argument("--key", help=help)


def parsed(parse: Callable[[str], T]) -> Callable[[str], T]:
    """Turn a parser's ValueError into argparse's, which keeps the text."""

    def parse_or_complain(text: str) -> T:
        try:
            return parse(text)
        except ValueError as error:
            raise argparse.ArgumentTypeError(str(error)) from None

    return parse_or_complain


def shape(text: str) -> tuple[int, ...]:
    """Return a shape: "32,2048", "32x2048", "7", or "" for none."""
    inside = text.strip("()[] ")
    if inside and not re.fullmatch(r"\d{1,18}( ?[,x] ?\d{1,18})*,?", inside, re.ASCII):
        raise ValueError(f"{text!r}, expected whole numbers, such as 32,2048")
    return tuple(int(part) for part in re.findall(r"\d+", inside))


def assignment(text: str) -> tuple[str, str]:
    """Return name and value of "name=value"."""
    name, equals, value = text.partition("=")
    if not (equals and name.isidentifier() and value):
        raise ValueError(f"{text!r}, expected NAME=VALUE")
    return name, value


def named(parse: Callable[[str], T]) -> Callable[[str], tuple[str, T]]:
    """Return the parser of a value that may have a name: "int8", "y=int8"; "" is no name."""

    def parse_both(text: str) -> tuple[str, T]:
        name, equals, value = text.partition("=")
        return (name, parse(value)) if equals and name.isidentifier() else ("", parse(text))

    return parsed(parse_both)


def attribute(text: str) -> tuple[str, Any]:
    """Return name and value of "name=value"; a value that is no Python literal is a string."""
    name, value = assignment(text)
    try:
        return name, ast.literal_eval(value)
    except (ValueError, SyntaxError, TypeError, MemoryError, RecursionError):
        return name, value


def limit(text: str) -> float:
    """Return a limit."""
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not 0 <= value < math.inf:
        raise ValueError(f"{text!r}, expected a number from 0 on, or NAME=NUMBER for one output")
    return value


def once(option: str, given: Sequence[tuple[str, T]] | None) -> dict[str, T]:
    """Return what an option says by name, each once."""
    result: dict[str, T] = {}
    for name, value in given or ():
        if name in result:
            raise UsageError(f"{option} {name}=".removesuffix(" =") + " is given twice.")
        result[name] = value
    return result


def limits(
    option: str, given: Sequence[tuple[str, float]] | None
) -> float | dict[str, float] | None:
    """Return all that was given to an option as one limit for all, or one per output."""
    result = once(option, given)
    if "" in result and len(result) > 1:
        raise UsageError(f"{option} is given for all outputs and for {[*result][-1]}.")
    return result.get("", result or None)


def at_least(least: int) -> Callable[[str], int]:
    """Return the parser of whole numbers from `least` on."""

    def parse(text: str) -> int:
        if not re.fullmatch(r"\d{1,18}", text, re.ASCII) or int(text) < least:
            raise ValueError(f"{text!r}, expected a whole number from {least} on")
        return int(text)

    return parsed(parse)
