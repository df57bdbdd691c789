"""Quantize and check whole models: the checkpoint in a folder, without torch.

    >>> from npu_quant import checkpoint
    >>> report = checkpoint.quantize("Qwen2.5-7B", "out", "W8A8_DYNAMIC")  # doctest: +SKIP
    >>> print(report)  # doctest: +SKIP

docs/checkpoint.md describes the files that are written, and the arithmetic.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from .. import _kinds
from .._kinds import Progress
from .._names import dir_of
from .check_report import CheckedLayer, CheckReport
from .checking import check as _check
from .choices import Wanted
from .folder import CheckpointError
from .quantizing import byte_count, prepared, report_of, write
from .reports import Finding, Layer, QuantizeReport
from .workers import Workers, workers_of

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
        model_dir: a folder with config.json and safetensors files of floats, or of FP8 with a scale
            for each block, row or weight: those that its index names, else model.safetensors.
        out_dir: a folder that does not exist or is empty. If the same call left it unfinished, the
            call continues, and ends with the same bytes. If the same call finished it, the call
            compares its files with its SHA256SUMS, and writes nothing.
        scheme: ``"W8A8_DYNAMIC"``, ``"W8A16"``, ``"W8A8_MXFP8"`` or ``"W4A8_DYNAMIC"`` (int4 for
            routed experts, plainly rounded, W8A8_DYNAMIC for the others).
        format: ``"ascend"``, or ``"compressed-tensors"`` for W8A8_DYNAMIC and W4A8_DYNAMIC.
        exclude: globs of modules, such as ``"*.layers.0.*"``, that are left FLOAT.
        include: globs of Linears to quantize that are left FLOAT otherwise, such as those of vision
            towers.
        types: globs and the types of the Linears that they match; the last glob that matches
            counts. ``"FLOAT"`` is a type, too.
        dtype: ``"bfloat16"`` or ``"float16"``: the dtype that scales are rounded to and that
            config.json names. By default bfloat16, unless the source is float16 and no activation
            is to be int8.
        mx_scale: for W8A8_MXFP8, ``"up"``, so that no block saturates, or ``"floor"``, OCP's rule.
        shard_size: bytes of tensors in an output file, such as ``"4GiB"`` or ``"500MB"``; the
            results of one tensor stay in one file.
        workers: threads; by default the CPUs this process may use. With a scheduler: how many
            shards to make at a time, by default as many as its workers take.
        scheduler: the address of a scheduler of Dask distributed, such as ``"tcp://host:8786"``.
            Its workers make the shards, a task each, and must see both folders under the same
            paths.
        dry_run: read headers only, and write nothing.
        verify: whether to read all shards back at the end.
        progress: called as ``progress(done, total)``, in bytes of the source.

    Returns:
        A report of what was written, what was left FLOAT and why, and how much each layer lost:
        ``str()`` is for a person, ``to_dict()`` for a program.

    Raises:
        TypeError: an argument is of a wrong kind.
        CheckpointError: it cannot be done; the text names file or tensor, and says what to do.
            Unless a weight has NaN, nothing was written.
        OSError: a file cannot be read or written. The same call continues from there.
        KeyboardInterrupt: likewise; the text says how much is kept.
    """
    face = "quantize"
    source = _folder(face, "model_dir", model_dir, scheduler)
    out = _folder(face, "out_dir", out_dir, scheduler)
    _kinds.check(face, "scheme", scheme, str, "a str, such as 'W8A8_DYNAMIC'")
    _kinds.check(face, "format", format, str, "a str, such as 'ascend'")
    globs = _globs_of(face, "exclude", exclude), _globs_of(face, "include", include)
    pairs = _pairs_of(face, "types", types)
    _kinds.check(face, "dtype", dtype, str | None, "a str, such as 'bfloat16'")
    _kinds.check(face, "mx_scale", mx_scale, str, "a str, such as 'up'")
    if not isinstance(shard_size, str):
        expected = "bytes: an int, or such as '4GiB'"
        shard_size = _kinds.whole(face, "shard_size", shard_size, expected)
    _kinds.check_callable(face, "progress", progress)
    _kinds.check(face, "dry_run", dry_run, bool, "True or False")
    _kinds.check(face, "verify", verify, bool, "True or False")
    who = _workers(face, workers, scheduler)
    wanted = Wanted(scheme, format, *globs, pairs, mx_scale, byte_count(shard_size), dtype)
    plan = prepared(source, out, wanted)
    if dry_run:
        return report_of(plan)
    with who:
        return write(plan, who, progress, verify=verify)


def _folder(face: str, name: str, path: str | os.PathLike[str], scheduler: str | None) -> Path:
    text = _path_of(face, name, path)
    # Other processes may have another working directory.
    return Path(text if scheduler is None else os.path.abspath(text))


def _workers(face: str, count: int | None, scheduler: str | None) -> Workers:
    if count is not None:
        count = _kinds.whole(face, "workers", count, "an int from 1 on, or None")
    _kinds.check(face, "scheduler", scheduler, str | None, "a str, such as 'tcp://host:8786'")
    return workers_of(count, scheduler)


def check(
    model_dir: str | os.PathLike[str],
    original: str | os.PathLike[str] | None = None,
    workers: int | None = None,
    progress: Progress | None = None,
    scheduler: str | None = None,
) -> CheckReport:
    """Check whether Ascend's consumers load a quantized model, and load the right values.

    Args:
        model_dir: a folder with quant_model_description.json (ascend), or whose config.json has a
            quantization_config of compressed-tensors, whoever wrote it.
        original: the model it was made from. With it the codes are computed anew, and the report
            names the arithmetic that gives them and every layer's error.
        workers: threads; by default the CPUs this process may use.
        progress: called as ``progress(done, total)``, in bytes.
        scheduler: the address of a scheduler of Dask distributed. Its workers do the work, and must
            see the folders under the same paths.

    Returns:
        The findings, each an error or a warning with the rule it breaks (docs/checkpoint.md 7), and
        what each quantized module was judged by. ``.verdict`` is ``"FAILED"`` if one is an error,
        ``"not judged"`` if ``.not_judged`` names a module or none is quantized, else ``"passed"``;
        ``str()`` is for a person, ``to_dict()`` for a program.

    Raises:
        TypeError: an argument is of a wrong kind.
        CheckpointError: nothing can be said: it is not quantized, or not finished, or the original
            cannot be read.
    """
    face = "check"
    folder = _folder(face, "model_dir", model_dir, scheduler)
    source = _folder(face, "original", original, scheduler) if original is not None else None
    _kinds.check_callable(face, "progress", progress)
    with _workers(face, workers, scheduler) as who:
        return _check(folder, source, who, progress)


def _path_of(who: str, name: str, value: Any) -> str:
    found = os.fspath(value) if isinstance(value, os.PathLike) else value
    if not isinstance(found, str):
        more = "; os.fsdecode makes a str of it" if isinstance(found, bytes) else ""
        raise _kinds.wrong(who, name, found, f"the path of a folder, a str or a pathlib.Path{more}")
    if not found:  # such as a variable that was never set
        raise CheckpointError(f"{who}: {name} is an empty path.")
    return found


def _globs_of(who: str, name: str, value: Any) -> tuple[str, ...]:
    if isinstance(value, str):
        return (value,)
    if isinstance(value, (bytes, Mapping)) or not isinstance(value, Iterable):
        raise _kinds.wrong(who, name, value, "a glob, or several in a list; [] for none")
    globs = tuple(value)
    for i, glob in enumerate(globs):
        _kinds.check(who, f"{name}[{i}]", glob, str, "a str, such as '*.mlp.*'")
    return globs


def _pairs_of(who: str, name: str, value: Any) -> tuple[tuple[str, str], ...]:
    expected = "a dict of globs and types, or a list of pairs of them"
    if isinstance(value, (str, bytes)) or not isinstance(value, Iterable):
        raise _kinds.wrong(who, name, value, expected)
    pairs = tuple(value.items() if isinstance(value, Mapping) else value)
    for i, pair in enumerate(pairs):
        is_pair = isinstance(pair, (tuple, list)) and len(pair) == 2
        if not is_pair or not all(isinstance(word, str) for word in pair):
            example = "a glob and a type, such as ('*.mlp.*', 'FLOAT')"
            raise _kinds.wrong(who, f"{name}[{i}]", pair, example)
    return tuple((glob, type) for glob, type in pairs)
