"""``npu-quant compare``: files of actual results against their golden."""

from __future__ import annotations

import dataclasses
import re
from argparse import Namespace
from collections.abc import Sequence

from .._kinds import Progress
from .._shell import compare_command
from ..errors import DTypeError, ParamError
from ..golden.api import Comparison, Explanation, explain, sides_of
from ..golden.api import compared as run_comparison
from ..golden.judge.request import Limits, Request
from ..golden.judge.tolerance import KNOWN
from ..golden.operators import operators
from .arguments import (
    ByName,
    Parser,
    UsageError,
    add_json,
    add_reading,
    attribute,
    limit,
    limits,
    named,
)
from .console import write_error
from .files import Reading, dtype_of
from .folders import are_meant, run_folders
from .hints import hint_on
from .named import Named, named_of, parameters_of
from .opened import Opened, open_named, open_two
from .outputs import check_outputs, write_comparison
from .progress import progress_bar

DESCRIPTION = """\
Compare results with a golden, and tell rounding from a bug.

  npu-quant compare --op npu_dynamic_quant y=y.npy scale=s.npy input=x.npy
  npu-quant compare npu.npy golden.npy --atol 1
  npu-quant compare npu_dump cpu_dump --op npu_dynamic_quant --html report.html
  npu-quant compare dev --op npu_dynamic_quant

With --op, name each file after the operator's output or input that it holds; NAME=None stands for
one that does not exist. The operator computes the golden from the inputs; golden.y=FILE gives your
own golden instead. Outputs without a file are not compared. Files may be .npy .npz .safetensors .pt
.bin; a file whose keys are such names stands for all of them. Raw outputs have the operator's dtype
and shape.

Two folders, or two files with several arrays, are compared array by array: arrays of one name, in
the order of execution. The report names the first that differs. With --op, or --op CALLS=NAME, the
inputs beside the outputs tell rounding from a bug. One folder with --op needs no golden: the
operator computes it for each call of a dump, and for files with the operator's names, such as
case0/y.bin or case0_y.bin. Files that belong to no call, or cannot be read, fail.

Exit status: 0 passed, 1 different, 2 no result: wrong arguments, unreadable files, or a comparison
that could only pass."""

PASSED, DIFFERENT = 0, 1


class _Parser(Parser):
    """A parser that knows the operators' parameters, which are no options."""

    def remedy(self, option: str, value: str, arguments: Namespace) -> str:
        """Return how a parameter is given, or which option was meant."""
        name, _, own = option.lstrip("-").partition("=")
        name, value = name.replace("-", "_"), own or value or "VALUE"
        op = re.split("[.=]", arguments.ops[0])[-1] if arguments.ops else None
        every = [parameters_of(one) for one in operators() if op in (None, one)]
        kind = next((kinds[name] for kinds in every if name in kinds), None)
        if kind is None:
            return super().remedy(option, value, arguments)
        if kind.startswith("Array"):
            return f"; say {value if '=' in value else f'{name}={value}'}"
        return f"; say --attr {name}={value}"


def parser() -> Parser:
    """Return the parser of the arguments."""
    result = _Parser("compare", DESCRIPTION, f"operators: {', '.join(operators())}")
    result.usage = "npu-quant compare [options] [--op NAME] [NAME=]FILE ..."
    result.add_argument("files", nargs="*", metavar="[NAME=]FILE", help="FILE or FILE::KEY")
    _add_operator(result)
    _add_acceptance(result)
    add_reading(result, names=True)
    report = result.add_argument_group("report")
    help = "also report where differences lie along this axis"
    report.add_argument("--axis", type=int, help=help)
    help = "rank all named formulas by how well they fit the results"
    report.add_argument("--explain", action="store_true", help=help)
    add_json(report)
    report.add_argument("--html", metavar="FILE", help="write a page with tables and pictures")
    report.add_argument("--quiet", action="store_true", help="print nothing but errors")
    return result


def _add_operator(result: Parser) -> None:
    group = result.add_argument_group("the operator")
    help = "the operator that computes the golden, from the list below"
    group.add_argument("--op", action="append", dest="ops", metavar="NAME", help=help)
    group.add_argument(
        "--attr",
        action=ByName,
        type=attribute,
        metavar="NAME=VALUE",
        help="an attribute of the operator, such as dst_type=int4; repeatable",
    )
    help = "arithmetic profile of the golden (default: NPU_QUANT_NUMERICS, else reference)"
    group.add_argument("--numerics", metavar="NAME", help=help)
    help = "for folders: a JSON file that maps calls of a dump to operators"
    group.add_argument("--mapping", metavar="FILE", help=help)


def _add_acceptance(result: Parser) -> None:
    group = result.add_argument_group("acceptance, besides equality and rounding")
    for option, help in (
        ("--atol", "absolute tolerance, for all outputs or one: 1 or y=1; repeatable"),
        ("--rtol", "tolerance relative to the golden, in the same way"),
    ):
        group.add_argument(
            option, action=ByName, type=named(limit), metavar="[NAME=]NUMBER", help=help
        )
    help = f"acceptance rule of another tool: {KNOWN}"
    group.add_argument("--preset", metavar="NAME", help=help)
    help = "also accept this named formula; --explain lists those that fit"
    group.add_argument("--variant", metavar="NAME", help=help)
    help = "accept a golden that holds one value only"
    group.add_argument("--allow-constant", action="store_true", help=help)


def run(words: Sequence[str]) -> int:
    """Compare what the arguments name, print the report, and return the exit status."""
    arguments = parser().parse(words, "files")
    if are_meant(arguments):
        return PASSED if run_folders(arguments) else DIFFERENT
    files = _named(arguments)
    _check_words(arguments, files)
    with progress_bar("comparing", quiet=arguments.quiet) as progress:
        try:
            opened = _opened(arguments, files)
            comparison = _compared(arguments, files, opened, progress)
        except (DTypeError, ParamError) as error:
            raise _of_argument(error, files) from error
        if comparison.refusal is not None:
            raise UsageError(f"refused: {comparison.refusal}")
        hint = "" if comparison.passed else hint_on(comparison, files, opened)
    explanation, missing = _explained_or_why_not(arguments, opened)
    comparison = dataclasses.replace(comparison, rerun=_rerun(words, arguments, comparison))
    lead = "or" if "  next: " in str(comparison) else "next"
    write_comparison(arguments, comparison, explanation, f"\n  {lead}: {hint}" if hint else "")
    if missing:
        write_error("npu-quant compare", f"--explain: {missing}")
    return PASSED if comparison.passed else DIFFERENT


def _named(arguments: Namespace) -> Named | None:
    """What the files are of an operator; None of two arrays alone."""
    if arguments.mapping:
        raise UsageError("--mapping is for folders.")
    if len(arguments.ops or ()) > 1:
        raise UsageError("--op is given twice.")
    arguments.op = arguments.ops[0] if arguments.ops else None
    files = None
    if arguments.op is not None:
        attributes, keys = arguments.attr or {}, arguments.key is None
        files = named_of(arguments.op, arguments.files, attributes, keys=keys)
    for name in ("attr", "numerics", "variant", "explain"):
        if getattr(arguments, name) and (files is None or files.golden):
            raise UsageError(f"--{name} needs --op and its inputs, which compute the golden.")
    return files


def _check_words(arguments: Namespace, files: Named | None) -> None:
    """Refuse names that no file has, and results that would overwrite what is read."""
    known = {"actual": "", "golden": ""} if files is None else files.files()
    for option, given in (("--dtype", arguments.dtype), ("--shape", arguments.shape)):
        for name in given or ():
            if name and name not in known:
                listed = ", ".join(known)
                raise UsageError(f"{option} {name}=: no file has that name; known: {listed}.")
    read = arguments.files if files is None else list(files.files().values())
    check_outputs(arguments, read)


def _opened(arguments: Namespace, files: Named | None) -> Opened:
    reading = Reading(arguments.dtype or {}, arguments.shape or {}, arguments.key)
    if files is None:
        opened = open_two(arguments.files, reading)
    else:
        opened = open_named(files, reading, arguments.numerics)
    reading.check_used()
    return opened


def _compared(
    arguments: Namespace, files: Named | None, opened: Opened, progress: Progress | None
) -> Comparison:
    atol, rtol = limits("--atol", arguments.atol), limits("--rtol", arguments.rtol)
    request = Request(
        None if files is None else files.op,
        opened.inputs,
        arguments.numerics,
        Limits(atol, rtol, arguments.preset),
        arguments.variant,
        actual_name=opened.actual_name,
        golden_name=opened.golden_name,
        progress=progress,
        axis=arguments.axis,
        allow_constant=arguments.allow_constant,
    )
    return run_comparison(sides_of(opened.actual, opened.golden or None, request), request)


def _of_argument(error: DTypeError | ParamError, files: Named | None) -> Exception:
    """An operator's complaint of an argument as one of what the command line gave for it."""
    name = error.argument
    if files is None or error.caller != files.op:
        return error
    if name in files.attributes:
        return UsageError(f"--attr {name} {error.reason}")
    file = files.inputs.get(name)
    if file is None:
        return error
    text = f"{file}, given as {name}, {error.reason}"
    if isinstance(error, DTypeError) and dtype_of(file) in ("int16", "uint16"):
        text += f" If it holds the bits of bfloat16, pass --dtype {name}=bf16."
    return UsageError(text)


def _explained_or_why_not(arguments: Namespace, opened: Opened) -> tuple[Explanation | None, str]:
    """Rank the formulas; where that fails, the comparison is still to be reported."""
    if not arguments.explain:
        return None, ""
    try:
        with progress_bar("explaining", quiet=arguments.quiet) as progress:
            asked = {"numerics": arguments.numerics, "progress": progress}
            return explain(opened.actual, arguments.op, opened.inputs, **asked), ""
    except (ParamError, DTypeError) as error:
        return None, error.reason
    except MemoryError:
        return None, "not enough memory"


def _rerun(words: Sequence[str], arguments: Namespace, comparison: Comparison) -> str:
    """Return the command that ranks the formulas; "" where there is nothing more to be said."""
    fits = all(output.problem is None for output in comparison.outputs)
    if not fits or not comparison.computed or arguments.explain:
        return ""
    end = words.index("--") if "--" in words else len(words)
    return compare_command([*words[:end], "--explain", *words[end:]])
