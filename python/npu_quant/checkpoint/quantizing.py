"""Quantizing a whole model: from its folder to another, streaming, resumable."""

from __future__ import annotations

import hashlib
import re
import resource
import shutil
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from .._kinds import Progress
from . import names
from .checking import check
from .choices import Wanted
from .config import Config
from .copied import Contents, contents_of, left_behind, notes_of_links
from .folder import CheckpointError, Shard, check_folder, json_bytes, json_of, shards_of
from .keep import NO_ROOM, RECORD, SUMS, UNFINISHED, OutFolder, check_out
from .making import Job
from .matrices import Matrix
from .place import Place
from .plan import CODES, DESCRIPTION, Plan, json_files_of, plan_of
from .record import modified_of, record_of, sources_of
from .reports import Finding, Layer, QuantizeReport, size
from .resuming import (
    Whole,
    as_written,
    check_same,
    different,
    errors_of,
    is_finished,
    recorded,
    sums_of,
)
from .run import Run, counted
from .schemes import FLOAT, INT8_ACTIVATIONS, check_pair
from .sums import sums_bytes
from .weights import Error
from .workers import Workers

_UNITS = {"": 1, "KB": 10**3, "MB": 10**6, "GB": 10**9, "TB": 10**12}
_UNITS |= {"KIB": 1 << 10, "MIB": 1 << 20, "GIB": 1 << 30, "TIB": 1 << 40}


@dataclass(frozen=True)
class Prepared:
    """All that is known before anything is written."""

    source: Path
    out: Path
    shards: list[Shard]
    config: Config
    plan: Plan
    copied: Contents
    json_files: dict[str, bytes]
    """What is written beside the shards, by name, in that order."""


def byte_count(text: str | int) -> int:
    """Return a number of bytes: 4GiB is 2^32, 500MB is 5e8.

    Raises:
        CheckpointError: it is no positive number of bytes.
    """
    found = re.fullmatch(r"(\d+)\s*([A-Za-z]*)", str(text).strip())
    if found and found[2].upper() in _UNITS and int(found[1]) > 0:
        return int(found[1]) * _UNITS[found[2].upper()]
    raise CheckpointError(
        f"shard size is {str(text)!r:.40}, expected a size such as 4GiB or 500MB."
    )


def prepared(source: Path, out: Path, wanted: Wanted) -> Prepared:
    """Read what headers and config.json say, and plan.

    Raises:
        CheckpointError: it cannot be done so; nothing was written.
    """
    check_pair(wanted.scheme, wanted.format)
    if wanted.mx_scale not in ("up", "floor"):
        raise CheckpointError(f"mx_scale is {wanted.mx_scale!r}, available: up, floor.")
    check_folder(source)
    check_out(out, source)
    config = Config(json_of(source / "config.json"))
    if (source / DESCRIPTION).exists():
        raise CheckpointError(f"the model is already quantized: it has {DESCRIPTION}.")
    shards = shards_of(source)
    plan = plan_of(shards, config, wanted)
    copied, texts = contents_of(source), json_files_of(config, plan)
    return Prepared(source, out, shards, config, plan, copied, texts)


def options_of(p: Prepared) -> dict[str, Any]:
    """Return the options that what is written depends on, by their names on the command line."""
    wanted = p.plan.wanted
    return {
        "scheme": wanted.scheme,
        "format": wanted.format,
        "exclude": list(wanted.exclude),
        "include": list(wanted.include),
        "type": [list(pair) for pair in wanted.types],
        "mx-scale": wanted.mx_scale,
        "shard-size": wanted.shard_size,
        "dtype": p.plan.params,
    }


def report_of(p: Prepared, errors: Mapping[str, Error] | None = None) -> QuantizeReport:
    """Return the report: with what each module lost, or as far as it is known before the run."""
    made = [(group.source, group.type) for group in p.plan.groups if group.how == CODES]
    layers = [Layer(m.module, type, m.shape) for m, type in made if isinstance(m, Matrix)]
    if errors is not None:
        for layer in layers:
            layer.measure(errors[layer.name])
    left = [
        {"name": name, "reason": choice.reason or ""}
        for name, choice in p.plan.choices.items()
        if choice.type == FLOAT
    ]
    left += [{"name": name, "reason": _why_unknown(name, p)} for name in p.plan.unknown]
    return QuantizeReport(
        scheme=p.plan.wanted.scheme,
        format=p.plan.wanted.format,
        model_type=p.config.model_type,
        params_dtype=p.plan.params,
        dry_run=errors is None,
        source_bytes=sum(t.size for s in p.shards for t in s.tensors),
        written_bytes=sum(s.size for s in p.plan.shards),
        left_float=left,
        layers=layers,
        shards=[{"file": s.name, "bytes": s.size} for s in p.plan.shards],
        copied_bytes=sum(copied_sizes(p).values()),
        warnings=_warnings(p),
        language_model=[*p.plan.layout.layers],
        outside=_outside(p.plan),
        left_files=left_behind(p.source, (shard.name for shard in p.shards)),
        left_tensors=[*p.plan.unread],
    )


def _why_unknown(module: str, p: Prepared) -> str:
    why = names.never(module, p.config.model_type)
    return f"{names.last_of(module)}: {why}" if why else "not known to be a Linear"


def _outside(plan: Plan) -> list[dict[str, Any]]:
    """Of what is outside the language model's layers, its Linears, and how many are quantized."""
    wished = [module for module, choice in plan.choices.items() if choice.type != FLOAT]
    quantized = plan.layout.outside(wished)
    return [
        {"name": at[0], "reason": at[1], "linears": count, "quantized": quantized[at]}
        for at, count in plan.layout.outside(plan.choices).items()
    ]


def _warnings(p: Prepared) -> list[str]:
    result = []
    if p.plan.types <= {FLOAT}:
        result.append("no module is quantized: the model has no Linear, or all are left FLOAT")
    if p.config.model_type not in names.KNOWN_MODELS:
        kind = p.config.model_type or "missing"
        result.append(f"model_type {kind} is not one that is known: it gets the same rules")
    for place in _outside(p.plan):
        if place["quantized"]:
            text = f"{place['name']} ({place['reason']}): {place['quantized']} of its"
            text += (
                f" {place['linears']} Linears are quantized, as asked: vllm-ascend has it in float"
            )
            result.append(text)
    said = p.config.dtype if p.config.has_dtype else "no torch_dtype"
    if said != p.plan.params:
        text = f"config.json says {said}, it will say {p.plan.params}: scales are read in it"
        result.append(text)
    if p.plan.params == "float16" and p.plan.types & INT8_ACTIVATIONS:
        result.append("npu_quant_matmul refuses float16 scales (EZ1001): --dtype bfloat16 has none")
    if "W4A8_DYNAMIC" in p.plan.types:
        result.append("W4A8_DYNAMIC rounds weights to int4 plainly: see what it cost per layer")
    read = ["config.json", *(shard.name for shard in p.shards)]
    return result + notes_of_links(p.source, p.copied, read)


def copied_sizes(p: Prepared) -> dict[str, int]:
    """Return the bytes of the files that are copied."""
    return {name: (p.source / name).stat().st_size for name in p.copied.files}


def check_space(p: Prepared, out: OutFolder) -> None:
    """Raise CheckpointError unless the disk has room for what is still to be written."""
    folder = p.out
    while not folder.exists():
        folder = folder.parent
    sizes = {s.name: s.size for s in p.plan.shards} | copied_sizes(p)
    needed = sum(sizes.values()) - out.room_kept(sizes)
    free = shutil.disk_usage(folder).free
    if needed > free:
        raise CheckpointError(
            f"{p.out} needs {size(needed)}, there are {size(free)} free: make room, or choose a "
            "folder on another disk."
        )


def write(
    p: Prepared, workers: Workers, progress: Progress | None, *, verify: bool
) -> QuantizeReport:
    """Carry out a plan, and read back what was written."""
    start = time.monotonic()
    sources = sources_of(p.source, p.shards)
    record = record_of(options_of(p), p.source / "config.json", sources.files, p.plan.sha256)
    if is_finished(p.out):
        return _finished_before(p, record, workers, progress, start, verify=verify)
    out = OutFolder(p.out, record, (s.name for s in p.plan.shards))
    out.check()
    check_space(p, out)
    run = Run(Job(p.source, out.unfinished, p.plan), out, sources, progress)
    try:
        findings = _carried_out(p, out, run, record, workers, verify=verify)
    except (KeyboardInterrupt, OSError) as error:
        kept = (
            f"{size(run.kept)} of {size(run.job.source_bytes)} are kept, the same command goes on"
        )
        if isinstance(error, KeyboardInterrupt):
            raise KeyboardInterrupt(kept) from error
        if error.errno in NO_ROOM:
            raise OSError(error.errno, f"{error.strerror}: {kept}", error.filename) from error
        raise
    shards = _shards(p, run)
    report = report_of(p, errors_of(shards.values()))
    report.findings = findings
    report.shards = [s | {"sha256": shards[s["file"]].sha256} for s in report.shards]
    report.resumed, report.resumed_bytes = run.resumed, run.resumed_bytes
    return _timed(report, start)


def _shards(p: Prepared, run: Run) -> dict[str, Whole]:
    return {shard.name: run.whole[n] for n, shard in enumerate(p.plan.shards)}


def _timed(report: QuantizeReport, start: float) -> QuantizeReport:
    report.seconds = time.monotonic() - start
    report.peak_rss_bytes = peak_rss()
    return report


def _carried_out(
    p: Prepared, out: OutFolder, run: Run, record: dict[str, Any], workers: Workers, *, verify: bool
) -> list[Finding]:
    with out:
        run.take_over(workers)
        run.make(workers)
        _check_unchanged(p, run)
        sums = _write_files(p, out, record, _shards(p, run))
        findings = _changed(workers, p.out, sums) if verify else []
        if verify and not findings:
            findings = _unfit(p.out, workers)
        out.end()  # not before: an interrupted check is done again by the same command
    return findings


def _unfit(out: Path, workers: Workers) -> list[Finding]:
    found = check(out, None, workers, None, is_whole=True).findings
    return [f for f in found if f.rule != "fp16"]  # it was asked for: the report has a warning


def _check_unchanged(p: Prepared, run: Run) -> None:
    now = modified_of(p.source, run.modified)
    for name, at in run.modified.items():
        if now[name] != at:
            text = f"{name} was written to while it was read: run the same command again."
            raise CheckpointError(text)


def _finished_before(
    p: Prepared,
    record: dict[str, Any],
    workers: Workers,
    progress: Progress | None,
    start: float,
    *,
    verify: bool,
) -> QuantizeReport:
    """Return the report of a run that finished before.

    Raises:
        CheckpointError: it was of another command or source, or a file is not as it was written.
    """
    job = Job(p.source, Place(p.out, (UNFINISHED,)), p.plan)
    check_same(p.out, record)
    sums = dict(sums_of(workers, p.source, p.copied.files))
    sums |= {name: hashlib.sha256(data).hexdigest() for name, data in p.json_files.items()}
    found = as_written(job, workers, p.out, sums, counted(job, progress))
    report = report_of(p, found.errors)
    report.findings = _unfit(p.out, workers) if verify else []
    report.shards = [s | {"sha256": found.sha256[s["file"]]} for s in report.shards]
    report.is_finished_before = True
    report.resumed, report.resumed_bytes = len(report.shards), report.source_bytes
    return _timed(report, start)


def _write_files(
    p: Prepared, out: OutFolder, record: dict[str, Any], shards: dict[str, Whole]
) -> dict[str, str]:
    """Write all but the shards, and return the SHA-256 of each file.

    The file without which the folder is no model is the last.
    """
    sums = {name: whole.sha256 for name, whole in shards.items()}
    sums |= {name: out.copy(p.source, name) for name in p.copied.files}
    files = {RECORD: json_bytes(recorded(record, shards)), **p.json_files}
    sums |= {name: hashlib.sha256(data).hexdigest() for name, data in files.items()}
    last = [*files][-1]
    for name, data in files.items():
        if name == last:
            out.write(SUMS, sums_bytes(sums))
        out.write(name, data)
    return sums


def peak_rss() -> int:
    """Return the most memory that this process had, in bytes."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def _changed(workers: Workers, out: Path, sums: dict[str, str]) -> list[Finding]:
    text = (
        "differs from what was written: the disk or memory is at fault; consumers load it as it is"
    )
    return [
        Finding("error", "changed", name, text) for name in sorted(different(workers, out, sums))
    ]
