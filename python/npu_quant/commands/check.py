"""``npu-quant check``: whether a quantized model is what its consumers expect."""

from __future__ import annotations

from collections.abc import Sequence

from .arguments import Parser, add_json, add_workers
from .outputs import check_outputs, write_result
from .progress import progress_bar

DESCRIPTION = """\
Check a folder with a quantized model, whichever tool made it.

  npu-quant check Qwen2.5-7B-W8A8
  npu-quant check Qwen2.5-7B-W8A8 --original Qwen2.5-7B --json check.json

The command finds what makes consumers stop, or load garbage silently: missing keys, stray shards,
fused layers of two types, wrong dtypes, shapes and scales. It hashes the files that a SHA256SUMS
names. With --original it computes the codes anew, names the arithmetic that gives the codes of the
folder, and reports the error of every layer.

Every quantized module is judged by its codes (with --original), its scales and its shapes. The
report says by which, and names the modules that no rule judges, such as those of unknown layouts.

Exit status: 0 no error found, 1 errors found, 2 the folder cannot be checked, 3 not judged (no
error, but no rule judges some modules, or no module is quantized), 130 interrupted."""


def parser() -> Parser:
    """Return the parser of the arguments."""
    result = Parser("check", DESCRIPTION)
    result.usage = "npu-quant check [options] MODEL_DIR"
    result.add_argument(
        "folders", nargs="*", metavar="MODEL_DIR", help="folder of the quantized model"
    )
    result.add_argument("--original", metavar="DIR", help="folder of the model it was made from")
    add_workers(result)
    add_json(result.add_argument_group("report"))
    return result


def run(words: Sequence[str]) -> int:
    """Check a model, print the report, and return the exit status."""
    from .. import checkpoint

    parsing = parser()
    arguments = parsing.parse(words, "folders")
    if len(arguments.folders) != 1:
        parsing.error(f"one folder is expected, MODEL_DIR, {len(arguments.folders)} given")
    check_outputs(arguments)
    (model,) = arguments.folders
    with progress_bar(f"checking {model}", quiet=False, in_bytes=True) as progress:
        report = checkpoint.check(
            model, arguments.original, arguments.workers, progress, arguments.scheduler
        )
    write_result(arguments, report.__str__, report.to_dict)
    return report.status
