"""Whole models: quantize the weights of a checkpoint in a folder, check one, without torch.

    >>> from npu_quant import checkpoint
    >>> report = checkpoint.quantize("Qwen2.5-7B", "out", "W8A8_DYNAMIC")  # doctest: +SKIP
    >>> print(report)  # doctest: +SKIP

docs/checkpoint.md says what is written, and by which arithmetic.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path

from .._names import dir_of
from .checking import check as _check
from .findings import Finding
from .folder import CheckpointError
from .pool import workers_of
from .quantizing import byte_count, prepared, report_of, write
from .reports import CheckedLayer, CheckReport, Layer, QuantizeReport
from .run import Progress
from .types import Wanted

__all__ = ["CheckReport", "CheckedLayer", "CheckpointError", "Finding", "Layer", "QuantizeReport"]
__all__ += ["check", "quantize"]

__dir__ = dir_of(__name__)


def quantize(
    model_dir: str | os.PathLike[str],
    out_dir: str | os.PathLike[str],
    scheme: str,
    *,
    format: str = "ascend",
    exclude: str | Sequence[str] = (),
    include: str | Sequence[str] = (),
    types: Mapping[str, str] | Sequence[tuple[str, str]] = (),
    dtype: str | None = None,
    mx_scale: str = "up",
    shard_size: str | int = "4GiB",
    workers: int | None = None,
    scheduler: str | None = None,
    dry_run: bool = False,
    verify: bool = True,
    progress: Progress | None = None,
) -> QuantizeReport:
    """Quantize the Linears of a model into a new folder.

    Args:
        model_dir: a folder with config.json and safetensors files of floats, or of FP8 blocks with
            weight_scale_inv as DeepSeek's.
        out_dir: a folder that is not there or empty, or that the same call left unfinished: then it
            goes on, and ends with the same bytes.
        scheme: ``"W8A8_DYNAMIC"``, ``"W8A16"``, ``"W8A8_MXFP8"`` or ``"W4A8_DYNAMIC"`` (int4 for
            routed experts, plainly rounded, W8A8_DYNAMIC for the others).
        format: ``"ascend"``, or ``"compressed-tensors"`` for W8A8_DYNAMIC and W4A8_DYNAMIC.
        exclude: globs of modules, such as ``"*.layers.0.*"``, that are left FLOAT.
        include: globs of Linears to take in that are left FLOAT otherwise, such as those of vision
            towers.
        types: globs and the types of what they match, of which the last counts; ``"FLOAT"`` is one.
        dtype: ``"bfloat16"`` or ``"float16"``: what scales are rounded to, and config.json says. By
            default bfloat16, unless the source is float16 and no activation is to be int8.
        mx_scale: of W8A8_MXFP8 ``"up"``, so that no block saturates, or ``"floor"``, as OCP has it.
        shard_size: bytes of tensors in an output file, such as ``"4GiB"`` or ``"500MB"``; what
            comes of one tensor stays in one file.
        workers: processes; 1 for none but this one. By default the CPUs this process may use. With
            a scheduler: how many shards to make at a time, by default as many as its workers take.
        scheduler: the address of one of Dask distributed, such as ``"tcp://host:8786"``, whose
            workers make the shards, a task each: they must see both folders, by the same paths.
        dry_run: read headers only, and write nothing.
        verify: whether to read all shards back in the end.
        progress: called as ``progress(done, total)``, in bytes of the source.

    Returns:
        What was written, what was left FLOAT and why, and how much each layer lost: ``str()`` is
        for a person, ``to_dict()`` for a program.

    Raises:
        CheckpointError: it cannot be done; the text names file or tensor, and says what to do.
            Unless a weight has NaN, nothing was written.
        OSError: a file cannot be read or written. The same call goes on from there.
        KeyboardInterrupt: likewise.
    """
    pairs = tuple(types.items() if isinstance(types, Mapping) else types)
    wanted = Wanted(scheme, format, _globs(exclude), _globs(include), pairs)
    who = workers_of(workers, scheduler)
    size = byte_count(shard_size)
    source, out = _folder(model_dir, scheduler), _folder(out_dir, scheduler)
    plan = prepared(source, out, wanted, dtype, mx_scale, size)
    if dry_run:
        return report_of(plan, dry_run=True)
    with who:
        return write(plan, who, progress, verify=verify)


def _folder(path: str | os.PathLike[str], scheduler: str | None) -> Path:
    """Return a folder by a path that other processes than those of this one understand, too."""
    return Path(path if scheduler is None else os.path.abspath(path))


def _globs(given: str | Sequence[str]) -> tuple[str, ...]:
    return (given,) if isinstance(given, str) else tuple(given)


def check(
    model_dir: str | os.PathLike[str],
    original: str | os.PathLike[str] | None = None,
    workers: int | None = None,
    progress: Progress | None = None,
    scheduler: str | None = None,
) -> CheckReport:
    """Check a quantized model: whether Ascend's consumers load it, and load what it says.

    Args:
        model_dir: a folder with quant_model_description.json (ascend), or whose config.json has a
            quantization_config of compressed-tensors, whoever wrote it.
        original: the model it was made of: then codes are computed anew, the arithmetic that gives
            them is named, and every layer's error is told.
        workers: processes; 1 for none but this one. By default the CPUs this process may use.
        progress: called as ``progress(done, total)``, in bytes.
        scheduler: the address of one of Dask distributed, whose workers do it: they must see the
            folders, by the same paths.

    Returns:
        The findings, each an error or a warning with the rule it breaks (docs/checkpoint.md 7):
        ``.passed`` if none is an error; ``str()`` is for a person, ``to_dict()`` for a program.

    Raises:
        CheckpointError: nothing can be said: it is not quantized, or not finished, or the original
            cannot be read.
    """
    source = _folder(original, scheduler) if original is not None else None
    with workers_of(workers, scheduler) as who:
        return _check(_folder(model_dir, scheduler), source, who, progress)
