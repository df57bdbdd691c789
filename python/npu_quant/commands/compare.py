"""``npu-quant compare``: files of actual results against their golden."""

from __future__ import annotations

import dataclasses
import re
from argparse import Namespace
from collections.abc import Sequence

from .._kinds import Progress
from ..errors import DTypeError, ParamError
from ..files import FileError
from ..golden.api import Comparison, Explanation, Sides, explain, sides_of
from ..golden.api import compared as run_comparison
from ..golden.judge.refusal import refusal_of
from ..golden.judge.request import Limit, Limits, Request
from ..golden.judge.tolerance import RULES
from ..golden.operators import operators, outputs_of
from . import wrong_order
from .advice import advice_on, complaint_of_file
from .arguments import (
    Parser,
    UsageError,
    add_json,
    add_reading,
    assignment_or_file,
    attribute,
    limit,
    limits,
    parsed,
)
from .console import write, write_error, write_json, write_text
from .folders import are_meant, run_folders
from .order import Order, once, order_of, parameter_meant
from .outputs import HTML, JSON, check_output
from .progress import progress_bar
from .roles import Roles, check_operator, roles_of
from .shell import joined

DESCRIPTION = """\
Compare results with their golden, and tell rounding from a bug.

  npu-quant compare ACTUAL GOLDEN                  two arrays
  npu-quant compare ACTUAL... INPUT... --op NAME   the golden is computed
  npu-quant compare DIR_ACTUAL DIR_GOLDEN          arrays of folders, by name

First comes what is judged, then what it is judged by: the golden, or with --op the arrays that the
operator requires. Both are in the operator's order; "-" stands for one that is not there, as do
fewer actual files. With --golden nothing is computed, and both sides have the same outputs or "-".
A file whose keys are the operator's names (y, scale, input) stands for all of these arrays.
Formats: .npy .npz .safetensors .pt .bin (raw or ATB). Raw actual files are taken to have the
golden's dtype and shape.

Of two folders, or two files with several arrays, those of one name are compared, in the order of
execution (msprobe's dump.json, else the numbers in the names), and the first that differs is named.
With --op CALL=NAME (CALL may have *), outputs are judged by what the operator makes of the inputs
beside them; --op NAME is for all calls of that name. What has no partner, or cannot be read, fails.

Exit status: 0 passed, 1 different, 2 nothing can be said: wrong arguments, unreadable files, or a
comparison that could only pass."""

EPILOG = """\
examples:
  npu-quant compare npu.npy golden.npy --atol 1
  npu-quant compare npu_y.npy npu_scale.npy x.npy --op npu_dynamic_quant \\
      --attr dst_type=int4
  npu-quant compare npu_y1.npy x1.npy x2.npy gamma.npy scales.npy - \\
      --op npu_add_rms_norm_quant --input beta=beta.npy --explain
  npu-quant compare npu_dump cpu_dump --op npu_dynamic_quant --html report.html"""

PASSED, DIFFERENT = 0, 1
_UNFIT = (DTypeError, ParamError, FileError)
"""What is raised where files are not what they were taken for."""

# How the Python interface words what the command line calls otherwise.
_OPTIONS = (
    (r"^compare(_folders)?: ", ""),
    (r"^explain: ", ""),
    (r"write None for", 'write "-" for'),
    (r"give op= and inputs= to learn", "give --op NAME and --input NAME=FILE to learn"),
    (r"\n  next: (npu_quant\.)?golden\.explain[^\n]*", ""),  # said by the rerun, where it helps
    (r"\.ranked has all", "--json has all"),
    (r"needs inputs\['(\w+)'\]", r"needs --attr \1=VALUE or --input \1=FILE"),
    (r"allow_constant=True", "--allow-constant"),
    (r'atol=\{"y": 1\}', "--atol y=1"),
    (r'variant="', '--variant "'),
    (r"npu_quant\.golden\.list_variants\([^)]*\)", "--explain ranks all"),
)


class _Parser(Parser):
    """A parser that knows the operators' parameters, which are no options."""

    def remedy(self, option: str, value: str, arguments: Namespace) -> str:
        """Return how a parameter is given, or which option was meant."""
        op = re.split("[.=]", arguments.ops[0])[-1] if arguments.ops else None
        given = parameter_meant(option, value, op)
        return f"; say {given}" if given else super().remedy(option, value, arguments)


def parser() -> Parser:
    """Return the parser of the arguments."""
    epilog = "\n  ".join([f"{EPILOG}\n\noperators:", *operators()])
    result = _Parser("compare", DESCRIPTION, epilog)
    result.usage = "npu-quant compare [options] FILE FILE [FILE ...]"
    result.add_argument("files", nargs="*", metavar="FILE", help="FILE or FILE::KEY, or -")
    _add_operator(result)
    _add_acceptance(result)
    add_reading(
        result,
        "files that do not say theirs, such as .bin, V1 and uint16 in .npy, or with --op of one",
        action="append",
        type=parsed(assignment_or_file),
        metavar="[NAME=]DTYPE",
    )
    report = result.add_argument_group("what is reported")
    help = "say where differences lie along this axis, too (default: rows and columns)"
    report.add_argument("--axis", type=int, help=help)
    help = "rank all named formulas by how well they fit (default: no)"
    report.add_argument("--explain", action="store_true", help=help)
    add_json(report)
    help = "write a page with tables and pictures; of folders a sortable one (default: none)"
    report.add_argument("--html", metavar="FILE", help=help)
    help = "print nothing but errors (default: print the report)"
    report.add_argument("--quiet", action="store_true", help=help)
    return result


def _add_operator(result: Parser) -> None:
    group = result.add_argument_group("the operator")
    help = "the operator that computes the golden, one of those listed below (default: none, two "
    help += "arrays are compared)"
    group.add_argument("--op", action="append", dest="ops", metavar="NAME", help=help)
    help = "JSON file: calls of a dump and their operators, for folders (default: none)"
    group.add_argument("--mapping", metavar="FILE", help=help)
    help = "an array input by name, such as smooth_scales=s.npy; without a name it is like a file "
    help += "among the inputs; repeatable (default: none)"
    group.add_argument(
        "--input",
        action="append",
        type=parsed(assignment_or_file),
        metavar="[NAME=]FILE",
        help=help,
    )
    help = "an attribute, such as epsilon=1e-5; repeatable (default: the operator's defaults)"
    group.add_argument(
        "--attr", action="append", type=parsed(attribute), metavar="NAME=VALUE", help=help
    )
    help = "arithmetic profile of the golden (default: NPU_QUANT_NUMERICS, else reference)"
    group.add_argument("--numerics", metavar="NAME", help=help)
    help = "a golden output, instead of computing it; repeatable, in order (default: computed)"
    group.add_argument("--golden", action="append", metavar="FILE", help=help)


def _add_acceptance(result: Parser) -> None:
    group = result.add_argument_group("what passes besides equality and rounding")
    help = "absolute tolerance, for all or one output: 1 or y=1; repeatable (default: none)"
    group.add_argument(
        "--atol", action="append", type=parsed(limit), metavar="[NAME=]NUMBER", help=help
    )
    help = "tolerance relative to the golden, likewise (default: none)"
    group.add_argument(
        "--rtol", action="append", type=parsed(limit), metavar="[NAME=]NUMBER", help=help
    )
    help = f"acceptance rule of another tool: {', '.join(RULES)} (default: none)"
    group.add_argument("--preset", metavar="NAME", help=help)
    help = "a named formula that passes, too; --explain names those that fit (default: none)"
    group.add_argument("--variant", metavar="NAME", help=help)
    help = "let a golden pass that holds one value only (default: refuse it)"
    group.add_argument("--allow-constant", action="store_true", help=help)


def run(words: Sequence[str]) -> int:
    """Compare what the arguments name, print the report, and return the exit status."""
    try:
        return _run(words)
    except ParamError as error:
        raise UsageError(_in_options(str(error))) from error


def _run(words: Sequence[str]) -> int:
    arguments = parser().parse(words, "files")
    arguments.dtypes = once("--dtype", arguments.dtype)
    arguments.dtype = arguments.dtypes.pop("", None)
    if are_meant(arguments):
        return PASSED if run_folders(arguments, _in_options) else DIFFERENT
    _check_single(arguments)
    tolerances = _check(arguments)
    with progress_bar("comparing", quiet=arguments.quiet) as progress:
        order = order_of(arguments) if arguments.op and not arguments.golden else None
        roles, comparison = _in_right_order(arguments, order, tolerances, progress)
        refusal = refusal_of(comparison, arguments.allow_constant) if comparison.passed else None
        if refusal is not None:
            raise UsageError(f"refused: {_in_options(refusal)}")
        advice = "" if comparison.passed else advice_on(comparison, roles, order)
    explanation, missing = _explained_or_why_not(arguments, roles)
    comparison = dataclasses.replace(comparison, rerun=_rerun(words, arguments, comparison))
    _report(arguments, comparison, explanation, advice)
    if missing:
        write_error("npu-quant compare", f"--explain: {missing}")
    return PASSED if comparison.passed else DIFFERENT


def _in_right_order(
    arguments: Namespace, order: Order | None, tolerances: Limits, progress: Progress | None
) -> tuple[Roles, Comparison]:
    """Compare once; where that fails, and the files fit in another order, say so instead."""
    if order is None:
        return _compared(arguments, None, tolerances, progress)[:2]
    meant: Order | None = None
    try:
        roles, comparison, sides = _compared(arguments, order, tolerances, progress)
        if not comparison.passed:
            meant = wrong_order.exchanged(order, roles, sides)
    except _UNFIT as error:
        meant = wrong_order.refused(order, arguments)
        if meant is None and isinstance(error, (DTypeError, ParamError)):
            raise UsageError(complaint_of_file(_in_options(str(error)), order)) from error
        if meant is None:
            raise
    if meant is None:
        return roles, comparison
    raise UsageError(
        f"wrong order of files: what is judged comes first, then the inputs: {meant.text()}"
    )


def _compared(
    arguments: Namespace, order: Order | None, tolerances: Limits, progress: Progress | None
) -> tuple[Roles, Comparison, Sides]:
    roles = roles_of(arguments, order)
    request = Request(
        arguments.op,
        roles.inputs,
        arguments.numerics,
        tolerances,
        arguments.variant,
        None,
        roles.actual_name,
        roles.golden_name,
        progress=progress,
        axis=arguments.axis,
    )
    sides = sides_of(roles.actual, roles.golden, request)
    return roles, run_comparison(sides, request), sides


def _check_single(arguments: Namespace) -> None:
    """Refuse what is for folders, and keep the one operator."""
    if arguments.mapping:
        raise UsageError("--mapping is for two folders or two files.")
    if len(arguments.ops or ()) > 1:
        raise UsageError("--op is given twice.")
    arguments.op = arguments.ops[0] if arguments.ops else None


def _check(arguments: Namespace) -> Limits:
    """Refuse options that go without each other, and return the tolerance that is asked for."""
    if arguments.op is not None:
        check_operator(arguments.op)
    if arguments.op is None:
        for name in ("input", "attr", "numerics", "golden", "variant", "explain"):
            if getattr(arguments, name):
                raise UsageError(f"--{name} needs --op, the operator's name.")
    elif arguments.golden:
        for name in ("input", "attr", "numerics", "variant", "explain"):
            if getattr(arguments, name):
                raise UsageError(f"--{name} is for a golden that is computed; leave --golden out.")
    atol, rtol = limits("--atol", arguments.atol), limits("--rtol", arguments.rtol)
    names = () if arguments.op is None else outputs_of(arguments.op)
    for option, given in (("--atol", atol), ("--rtol", rtol)):
        _check_names(option, given, names)
    named = [word for _, word in arguments.input or ()]
    read = [*arguments.files, *(arguments.golden or ()), *named]
    check_output(JSON, arguments.json, read)
    check_output(HTML, arguments.html, read)
    result = Limits(atol, rtol, arguments.preset)
    result.check()
    return result


def _check_names(option: str, given: Limit, names: Sequence[str]) -> None:
    for name in given if isinstance(given, dict) else ():
        if name not in names:
            known = ", ".join(names) or "none without --op"
            raise UsageError(f"{option} {name}=: no output has that name; known: {known}.")


def _explained_or_why_not(arguments: Namespace, roles: Roles) -> tuple[Explanation | None, str]:
    """Rank the formulas; where that fails, the comparison is still to be reported."""
    if not arguments.explain:
        return None, ""
    assert roles.inputs is not None
    try:
        with progress_bar("explaining", quiet=arguments.quiet) as progress:
            asked = {"numerics": arguments.numerics, "progress": progress}
            return explain(roles.actual, arguments.op, roles.inputs, **asked), ""
    except (ParamError, DTypeError, MemoryError) as error:
        return None, _in_options(str(error)) or "not enough memory"


def _in_options(text: str) -> str:
    """Return a message of the Python interface in the words of the command line."""
    for python, option in _OPTIONS:
        text = re.sub(python, option, text)
    return text


def _report(
    arguments: Namespace, comparison: Comparison, explanation: Explanation | None, advice: str
) -> None:
    if not arguments.quiet and arguments.json != "-":
        text = _text(comparison)
        if advice:
            text += f"\n  {'or' if '  next: ' in text else 'next'}: {advice}"
        write(text, _style(comparison))
        if explanation is not None:
            write("\n" + _in_options(str(explanation)))
    if arguments.html is not None:
        write_text(comparison.to_html(explanation), arguments.html)
    if arguments.json is None:
        return
    data = comparison.to_dict()
    if explanation is not None:
        data["explanation"] = explanation.to_dict()
    write_json(data, arguments.json)


def _rerun(words: Sequence[str], arguments: Namespace, comparison: Comparison) -> str:
    """Return the command that ranks the formulas; "" where there is nothing more to be said."""
    if not _fits(comparison) or not comparison.computed or arguments.explain:
        return ""
    end = words.index("--") if "--" in words else len(words)
    return joined(["npu-quant", "compare", *words[:end], "--explain", *words[end:]])


def _text(comparison: Comparison) -> str:
    """Return a report whose last line is of use: inputs tell nothing of another dtype or shape."""
    text = _in_options(str(comparison))
    if not _fits(comparison):
        return re.sub(r"\n  next: give [^\n]*", "", text)
    if comparison.op is not None:
        text = text.replace(
            "give --op NAME and --input NAME=FILE to", "give the inputs, not --golden, to"
        )
    return text


def _fits(comparison: Comparison) -> bool:
    """Say whether all dtypes and shapes agree, and both sides have all outputs."""
    return all(output.problem is None for output in comparison.outputs)


def _style(comparison: Comparison) -> str:
    if not comparison.passed:
        return "bold red"
    return "bold yellow" if comparison.rung == "variant" else "bold green"
