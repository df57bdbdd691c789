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
from .console import write

T = TypeVar("T")


class UsageError(ValueError, argparse.ArgumentTypeError):
    """The arguments do not fit together, or do not fit the files; argparse keeps its text."""


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

    def print_help(self, file: Any = None) -> None:
        """Print the help as other text is printed: escaped where stdout cannot encode it."""
        if file is None:
            write(self.format_help().removesuffix("\n"))
        else:
            super().print_help(file)

    def error(self, message: str) -> NoReturn:
        """Raise what is wrong with the arguments."""
        raise UsageError(f"{message} (see {self.prog} --help)")


def add_json(parser: argparse._ActionsContainer) -> None:
    """Add ``--json``, the same for all commands."""
    help = 'write the result as JSON to a file, or to stdout with "-"'
    parser.add_argument("--json", metavar="FILE", help=help)


def add_workers(parser: argparse._ActionsContainer) -> None:
    """Add ``--workers`` and ``--scheduler``: who does what can be done side by side."""
    help = "threads (default: the CPUs); with --scheduler: tasks at a time (default: all it takes)"
    parser.add_argument("--workers", type=at_least(1), help=help)
    help = "address of a Dask scheduler, such as tcp://host:8786; its workers see the same folders"
    parser.add_argument("--scheduler", metavar="ADDRESS", help=help)


def add_reading(parser: argparse.ArgumentParser, *, names: bool) -> None:
    """Add the options that say what is in a file that does not say it itself.

    Args:
        parser: the command's.
        names: whether files have names, of which each may be said something.
    """
    group = parser.add_argument_group("what the files do not say")
    start, more = ("[NAME=]", "; NAME=... sets it for one file; repeatable") if names else ("", "")

    def add(option: str, parse: Callable[[str], Any], help: str) -> None:
        metavar, help = start + option[2:].upper(), help + more
        if names:
            group.add_argument(option, action=ByName, type=named(parse), metavar=metavar, help=help)
        else:
            for_all = lambda text: {"": parse(text)}  # noqa: E731
            group.add_argument(option, type=for_all, metavar=metavar, help=help)

    add("--dtype", str, "dtype of .bin, V1 and uint16 files: bf16, float8_e4m3fn, int4 ...")
    add("--shape", shape, "shape of .bin files, such as 32,2048")
    help = "which array to read from files that hold several; FILE::KEY names it for one file"
    group.add_argument("--key", help=help)


class ByName(argparse.Action):
    """Collects pairs of a name and a value in a dict, each name once."""

    def __call__(
        self,
        parser: argparse.ArgumentParser,
        namespace: argparse.Namespace,
        values: Any,
        option_string: str | None = None,
    ) -> None:
        """Take one pair."""
        (name, value), known = values, getattr(namespace, self.dest) or {}
        if name in known:
            raise UsageError(f"{option_string} {name}=".removesuffix(" =") + " is given twice.")
        setattr(namespace, self.dest, {**known, name: value})


def shape(text: str) -> tuple[int, ...]:
    """Return a shape: "32,2048", "32x2048", "7", or "" for none."""
    inside = text.strip("()[] ")
    if inside and not re.fullmatch(r"\d{1,18}( ?[,x] ?\d{1,18})*,?", inside, re.ASCII):
        raise UsageError(f"{text!r}, expected whole numbers, such as 32,2048")
    return tuple(int(part) for part in re.findall(r"\d+", inside))


def assignment(text: str) -> tuple[str, str]:
    """Return name and value of "name=value"."""
    name, equals, value = text.partition("=")
    if not (equals and name.isidentifier() and value):
        raise UsageError(f"{text!r}, expected NAME=VALUE")
    return name, value


def named(parse: Callable[[str], T]) -> Callable[[str], tuple[str, T]]:
    """Return the parser of a value that may have a name: "int8", "y=int8"; "" is no name."""

    def parse_both(text: str) -> tuple[str, T]:
        name, equals, value = text.partition("=")
        return (name, parse(value)) if equals and name.isidentifier() else ("", parse(text))

    return parse_both


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
        raise UsageError(f"{text!r}, expected a number of 0 or more, or NAME=NUMBER for one output")
    return value


def limits(option: str, given: dict[str, float] | None) -> float | dict[str, float] | None:
    """Return what was given to an option as one limit for all, or one per output."""
    if given is not None and "" in given and len(given) > 1:
        raise UsageError(f"{option} is given for all outputs and for {[*given][-1]}.")
    return given and given.get("", given)


def at_least(least: int) -> Callable[[str], int]:
    """Return the parser of whole numbers from `least` on."""

    def parse(text: str) -> int:
        if not re.fullmatch(r"\d{1,18}", text, re.ASCII) or int(text) < least:
            raise UsageError(f"{text!r}, expected a whole number from {least} on")
        return int(text)

    return parse
