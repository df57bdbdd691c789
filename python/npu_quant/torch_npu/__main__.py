"""Run a program that is written for Ascend: ``python -m npu_quant.torch_npu [...] script.py``."""

from __future__ import annotations

import argparse
import runpy
import sys
from collections.abc import Sequence
from pathlib import Path

from ..errors import ParamError
from . import install, simulate


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m npu_quant.torch_npu",
        usage="%(prog)s [--simulate SOC] (script.py | -m module) [its arguments ...]",
        description="Run a program with npu_quant in place of torch_npu.",
    )
    parser.add_argument(
        "--simulate",
        metavar="SOC",
        help='also provide a device "npu" of this kind: Ascend910B1, Ascend950 ...',
    )
    parser.add_argument(
        "-m", dest="module", action="store_true", help="run a module instead of a script"
    )
    parser.add_argument("program", help=argparse.SUPPRESS)
    parser.add_argument("arguments", nargs=argparse.REMAINDER, help=argparse.SUPPRESS)
    return parser


def main(arguments: Sequence[str] | None = None) -> None:
    """Install, then run the program as Python would."""
    parser = _parser()
    options = parser.parse_args(arguments)
    if not options.module and not Path(options.program).exists():
        parser.error(f"there is no file {options.program}.")
    try:
        install() if options.simulate is None else simulate(options.simulate)
    except (ImportError, ParamError) as error:
        parser.error(str(error))
    sys.argv = [options.program, *options.arguments]
    if options.module:
        sys.path[0] = ""
        runpy.run_module(options.program, run_name="__main__", alter_sys=True)
    else:
        sys.path[0] = str(Path(options.program).resolve().parent)
        runpy.run_path(str(Path(options.program).resolve()), run_name="__main__")


if __name__ == "__main__":
    main()
