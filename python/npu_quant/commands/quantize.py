"""``npu-quant quantize``: the weights of a whole model."""

from __future__ import annotations

from collections.abc import Sequence

from .arguments import Parser, UsageError, add_json, add_workers
from .outputs import check_outputs, write_result
from .progress import progress_bar

DESCRIPTION = """\
Quantize the weights of a model in a folder of Hugging Face's layout, and write a new folder that
vllm-ascend and related consumers load. This needs no calibration data and no torch.

  npu-quant quantize Qwen2.5-7B out --scheme W8A8_DYNAMIC
  npu-quant quantize DeepSeek-V3 out --scheme W8A8_MXFP8 --dry-run
  npu-quant quantize Llama-3 out --scheme W8A8_DYNAMIC --exclude '*.layers.0.*'

Schemes: W8A8_DYNAMIC, W8A16, W8A8_MXFP8, W4A8_DYNAMIC (int4 for routed experts). The
command reads and writes in pieces, with as many threads as there are CPUs. After an interruption
or a kill, the same command continues where it stopped, and ends with the same bytes. It also
writes SHA256SUMS, for sha256sum -c.

Exit status: 0 done (also if it was done before), 1 the written files have errors, 2 the request
cannot be carried out, 130 interrupted."""


def parser() -> Parser:
    """Return the parser of the arguments."""
    result = Parser("quantize", DESCRIPTION)
    result.usage = "npu-quant quantize [options] MODEL_DIR OUT_DIR --scheme SCHEME"
    result.add_argument("folders", nargs="*", metavar="DIR", help="MODEL_DIR, then OUT_DIR")
    result.add_argument("--scheme", help="the format of quantized Linears, see above")
    result.add_argument("--format", default="ascend", help="ascend (default) or compressed-tensors")
    which = result.add_argument_group("which modules; GLOB matches their names, such as '*.mlp.*'")
    for option, what in (("exclude", "leave these FLOAT"), ("include", "quantize these, too")):
        which.add_argument(f"--{option}", action="append", default=[], metavar="GLOB", help=what)
    which.add_argument(
        "--type",
        action="append",
        default=[],
        type=_type,
        metavar="GLOB=TYPE",
        help="give these another type; the last GLOB that matches counts",
    )
    how = result.add_argument_group("how")
    how.add_argument(
        "--dtype",
        help="bfloat16 or float16: the dtype that scales are rounded to and the model runs "
        "in (default: bfloat16 if activations are int8, else the source's)",
    )
    how.add_argument(
        "--mx-scale",
        default="up",
        help="rounding of MX scales: up (default), so that no block saturates, or floor",
    )
    how.add_argument(
        "--shard-size", default="4GiB", help="greatest size of an output file (default: 4GiB)"
    )
    add_workers(how)
    how.add_argument(
        "--dry-run", action="store_true", help="report what would be written, and write nothing"
    )
    how.add_argument("--no-verify", action="store_true", help="do not read the written files back")
    add_json(result.add_argument_group("report"))
    return result


def _type(text: str) -> tuple[str, str]:
    glob, equals, type = text.rpartition("=")
    if not (equals and glob and type):
        raise UsageError(f"{text!r}, expected GLOB=TYPE")
    return glob, type


def run(words: Sequence[str]) -> int:
    """Quantize a model, print the report, and return the exit status."""
    from .. import checkpoint

    parsing = parser()
    arguments = parsing.parse(words, "folders")
    if len(arguments.folders) != 2:
        count = len(arguments.folders)
        parsing.error(f"two folders are expected, MODEL_DIR and OUT_DIR, {count} given")
    if arguments.scheme is None:
        parsing.error("--scheme is missing, such as --scheme W8A8_DYNAMIC")
    check_outputs(arguments)
    source, out = arguments.folders
    with progress_bar(f"quantizing {source}", quiet=False, in_bytes=True) as progress:
        report = checkpoint.quantize(
            source,
            out,
            arguments.scheme,
            format=arguments.format,
            exclude=arguments.exclude,
            include=arguments.include,
            types=arguments.type,
            dtype=arguments.dtype,
            mx_scale=arguments.mx_scale,
            shard_size=arguments.shard_size,
            workers=arguments.workers,
            scheduler=arguments.scheduler,
            dry_run=arguments.dry_run,
            verify=not arguments.no_verify,
            progress=progress,
        )
    write_result(arguments, report.__str__, report.to_dict)
    return 0 if report.passed else 1
