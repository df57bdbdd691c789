"""``npu-quant check``: whether a quantized model is what its consumers expect."""

from __future__ import annotations

from collections.abc import Sequence

from .arguments import Parser, add_json, add_workers
from .outputs import check_outputs, write_result
from .progress import progress_bar

DESCRIPTION = """\
Check a quantized model in a folder, whoever made it.

  npu-quant check Qwen2.5-7B-W8A8
  npu-quant check Qwen2.5-7B-W8A8 --original Qwen2.5-7B --json check.json

Missing keys, stray shards, fused layers of two types, dtypes, shapes, scales: all that makes
consumers stop, or load garbage silently. Files that a SHA256SUMS names are hashed. With its
original the codes are computed anew: the arithmetic that gives them is named, and every layer's
error is told.

Exit status: 0 if no error was found, 1 if one was, 2 if nothing can be said, 130 if interrupted."""


def parser() -> Parser:
    """Return the parser of the arguments."""
    result = Parser("check", DESCRIPTION)
    result.usage = "npu-quant check [options] MODEL_DIR"
    result.add_argument("folders", nargs="*", metavar="MODEL_DIR", help="the quantized model")
    result.add_argument("--original", metavar="DIR", help="the model it was made of")
    add_workers(result)
    add_json(result.add_argument_group("what is reported"))
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
    return 0 if report.passed else 1
