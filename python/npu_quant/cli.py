"""The command ``npu-quant``, which ``python -m npu_quant`` is too."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence

from . import __version__, aclnn_prefix


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
    arguments = _parser().parse_args(argv)
    try:
        return int(arguments.run(arguments))
    except FileNotFoundError as error:
        print(f"npu-quant: {error}", file=sys.stderr)
        return 1


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="npu-quant", description="Ascend's quantization operators on a CPU."
    )
    parser.add_argument("--version", action="version", version=__version__)
    commands = parser.add_subparsers(title="commands", metavar="<command>", required=True)
    prefix = commands.add_parser(
        "aclnn-prefix",
        help="print the folder of the C API",
        description="Print the folder that holds the include/, lib64/ and share/ of the C API.",
    )
    prefix.set_defaults(run=_aclnn_prefix)
    return parser


def _aclnn_prefix(arguments: argparse.Namespace) -> int:
    print(aclnn_prefix())
    return 0
