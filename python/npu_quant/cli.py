"""The command ``npu-quant``, which ``python -m npu_quant`` is too."""

from __future__ import annotations

import argparse
import importlib
import os
import sys
import traceback
from collections.abc import Sequence

from . import __version__, info, ops
from ._command import begin_command
from ._face import AT_PROMPT
from .errors import NpuQuantError, meant

COMMANDS = {
    "compare": "compare results with a golden, and tell rounding from a bug",
    "inspect": "summarize the arrays in files",
    "quantize": "quantize the weights of a model folder",
    "check": "check a quantized model before a consumer loads it",
    "info": "print versions, CPU and settings for a bug report",
    "aclnn-prefix": "print the folder of the C API (aclnn)",
}

OK, DIFFERENT, UNUSABLE, INTERRUPTED = 0, 1, 2, 130
"""Exit statuses: `UNUSABLE` is for arguments, files and requests that nothing can be said about."""


def main(argv: Sequence[str] | None = None) -> int:
    """Run a command and return its exit status.

    Args:
        argv: the command and its arguments; None means those of this process.

    Example:
        >>> from npu_quant.cli import main
        >>> main(["aclnn-prefix"])  # doctest: +ELLIPSIS
        /...
        0
    """
    words = list(sys.argv[1:] if argv is None else argv)
    try:
        if not words or words[0] not in COMMANDS:
            return _other(words)
        return _run(words[0], words[1:])
    except SystemExit as end:  # how argparse ends: after --help, or with a message
        from .commands.console import flush

        flush()
        return end.code if isinstance(end.code, int) else UNUSABLE


def _other(words: list[str]) -> int:
    """Answer --help and --version, complain of anything else."""
    if not words or words[0] not in ("-h", "--help", "--version"):
        return _complain(words)
    if words[0] == "--version":
        return _tell_version()
    parser = argparse.ArgumentParser(
        prog="npu-quant",
        description="Ascend's quantization operators on a CPU.",
        epilog="Exit status: 0 passed, 1 different, 2 no result: wrong arguments or files. "
        "npu-quant <command> --help says more.",
        allow_abbrev=False,
        formatter_class=lambda prog: argparse.HelpFormatter(prog, max_help_position=20),
    )
    parser.add_argument("--version", action="store_true", help="say which version, and where it is")
    commands = parser.add_subparsers(title="commands", metavar="<command>", required=True)
    for name, help in COMMANDS.items():
        commands.add_parser(name, help=help)
    parser.parse_args(words[:1])
    return OK


def _tell_version() -> int:
    """Say in a line which version this is, of which folder, and which instruction sets it takes."""
    from .commands.console import write

    targets = ", ".join(info()["targets"])
    try:
        write(f"npu_quant {__version__} from {os.path.dirname(__file__)} ({targets})")
    except OSError as error:
        return _give_up("npu-quant", error)
    return OK


def _complain(words: list[str]) -> int:
    """Say in a line which commands there are."""
    from .commands.console import write_error

    *some, last = COMMANDS
    listed = ", ".join(some)
    if not words:
        text = f"a command is missing: {listed} or {last}"
    else:
        near = meant(words[0], {**COMMANDS, "explain": ""}).replace("explain", "compare --explain")
        text = f"{words[0]!r} is not a command{near or f'; there are {listed} and {last}'}"
    write_error("npu-quant", f"{text} (see npu-quant --help)")
    return UNUSABLE


def _run(command: str, words: list[str]) -> int:
    """Run a command; whatever goes wrong is one line."""
    at_prompt = AT_PROMPT.set(True)
    try:
        begin_command()
        module = importlib.import_module(f".commands.{command.replace('-', '_')}", __package__)
        return int(module.run(words))
    except (Exception, KeyboardInterrupt) as error:
        return _give_up(f"npu-quant {command}", error)
    finally:
        AT_PROMPT.reset(at_prompt)


def _give_up(face: str, error: BaseException) -> int:
    from .commands.console import write_error

    write_error(face, _text_of(error))
    if os.environ.get("NPU_QUANT_TRACEBACK") == "1":
        traceback.print_exception(error)
    return INTERRUPTED if isinstance(error, KeyboardInterrupt) else UNUSABLE


def _text_of(error: BaseException) -> str:
    if isinstance(error, KeyboardInterrupt):
        return f"interrupted: {error}".removesuffix(": ")
    if isinstance(error, MemoryError):
        return f"not enough memory: {error}".removesuffix(": ")
    if isinstance(error, OSError) and error.strerror:
        name = "" if error.filename is None else f"{os.fsdecode(error.filename)}: "
        return name + error.strerror
    if isinstance(error, (NpuQuantError, ValueError, OSError)):
        return str(error)
    if isinstance(error, TypeError) and str(error).partition(":")[0] in ops.__all__:
        return str(error)  # an operator's, about an attribute
    what = f"{type(error).__name__}: {error}"
    return f"internal error: {what}. Please report it, with what npu-quant info prints."
