"""Quantizing a whole model: from its folder to another, streaming, resumable."""

from __future__ import annotations

import re
import resource
import shutil
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from . import names
from .checking import check
from .config import Config
from .findings import Finding
from .folder import CheckpointError, Shard, check_folder, json_of, shards_of
from .job import Job
from .matrices import Matrix
from .metadata import DESCRIPTION, json_files_of
from .plan import CODES, Plan, plan_of
from .pool import Place, Pool, Workers
from .reports import Layer, QuantizeReport
from .run import Progress, Run, digest
from .schemes import FLOAT, INT8_ACTIVATIONS, check_pair
from .types import Wanted
from .weights import Rule
from .work import Work, check_out, files_to_copy

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
    rule: Rule
    shard_size: int
    copied: list[str]
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
    raise CheckpointError(f"shard size is {str(text)!r:.40}, expected such as 4GiB or 500MB.")


def prepared(
    source: Path,
    out: Path,
    wanted: Wanted,
    dtype: str | None,
    mx_scale: str,
    shard_size: int,
) -> Prepared:
    """Read what headers and config.json say, and plan.

    Raises:
        CheckpointError: it cannot be done so; nothing was written.
    """
    check_pair(wanted.scheme, wanted.format)
    if mx_scale not in ("up", "floor"):
        raise CheckpointError(f"mx_scale is {mx_scale!r}, available: up, floor.")
    check_folder(source)
    check_out(out, source)
    config = Config(json_of(source / "config.json"))
    if (source / DESCRIPTION).exists():
        raise CheckpointError(f"the model is already quantized: it has {DESCRIPTION}.")
    shards = shards_of(source)
    plan = plan_of(shards, config, wanted, dtype, shard_size)
    rule = Rule(wanted.format, plan.params, mx_scale)
    copied, texts = files_to_copy(source), json_files_of(config, plan, mx_scale)
    return Prepared(source, out, shards, config, plan, rule, shard_size, copied, texts)


def record_of(p: Prepared) -> dict[str, Any]:
    """Return plan.json: what must be the same for a run to be resumed."""
    wanted = p.plan.wanted
    return {
        "scheme": wanted.scheme,
        "format": wanted.format,
        "exclude": list(wanted.exclude),
        "include": list(wanted.include),
        "types": [list(pair) for pair in wanted.types],
        "mx_scale": p.rule.mx_scale,
        "shard_size": p.shard_size,
        "params_dtype": p.plan.params,
        "sources": {s.name: [s.size, s.header_sha256] for s in p.shards},
    }


def report_of(p: Prepared, dry_run: bool) -> QuantizeReport:
    """Return the report as far as it is known before the run."""
    layers = [
        Layer(g.source.module, g.type, g.source.shape)
        for g in p.plan.groups
        if g.how == CODES and isinstance(g.source, Matrix)
    ]
    left = [
        {"name": name, "reason": choice.reason or ""}
        for name, choice in p.plan.choices.items()
        if choice.type == FLOAT
    ]
    left += [{"name": name, "reason": "not known to be a Linear"} for name in p.plan.unknown]
    return QuantizeReport(
        scheme=p.plan.wanted.scheme,
        format=p.plan.wanted.format,
        model_type=p.config.model_type,
        params_dtype=p.plan.params,
        dry_run=dry_run,
        source_bytes=sum(t.size for s in p.shards for t in s.tensors),
        written_bytes=sum(s.size for s in p.plan.shards),
        left_float=left,
        layers=layers,
        shards=[{"file": s.name, "bytes": s.size} for s in p.plan.shards],
        copied_bytes=copied_bytes(p),
        warnings=_warnings(p),
    )


def _warnings(p: Prepared) -> list[str]:
    result = []
    if p.plan.types <= {FLOAT}:
        result.append("no module is quantized: the model has no Linear, or all are left FLOAT")
    if p.config.model_type not in names.KNOWN_MODELS:
        kind = p.config.model_type or "missing"
        result.append(f"model_type {kind} is not one that is known: it gets the same rules")
    said = p.config.dtype if p.config.has_dtype else "no torch_dtype"
    if said != p.plan.params:
        text = f"config.json says {said}, it will say {p.plan.params}: scales are read in it"
        result.append(text)
    if p.plan.params == "float16" and p.plan.types & INT8_ACTIVATIONS:
        result.append("npu_quant_matmul refuses float16 scales (EZ1001): --dtype bfloat16 has none")
    if "W4A8_DYNAMIC" in p.plan.types:
        result.append("W4A8_DYNAMIC rounds weights to int4 plainly: see what it cost per layer")
    return result


def copied_bytes(p: Prepared) -> int:
    """Return the bytes of the files that are copied."""
    return sum((p.source / name).stat().st_size for name in p.copied)


def check_space(p: Prepared, done: int) -> None:
    """Raise CheckpointError unless the disk has room for what is still to be written."""
    folder = p.out
    while not folder.exists():
        folder = folder.parent
    needed = sum(s.size for s in p.plan.shards) + copied_bytes(p) - done
    free = shutil.disk_usage(folder).free
    if needed > free:
        raise CheckpointError(
            f"{p.out} needs {needed / 2**30:.2f} GiB, there are {free / 2**30:.2f} GiB free."
        )


def write(
    p: Prepared, workers: Workers, progress: Progress | None, *, verify: bool
) -> QuantizeReport:
    """Carry out a plan, and read back what was written."""
    start = time.monotonic()
    work = Work(p.out, record_of(p))
    done = _bytes_in(p.out) if work.resumed() else 0
    check_space(p, done)
    job = Job(p.source, work.folder, p.plan, p.rule)
    with work:
        with workers.pool(job, _places(p, work)) as pool:
            run = Run(job, work, progress)
            run.take_over(pool)
            run.make(pool)
            _write_files(p, work)
            entries = [run.entries[s.name] for s in p.plan.shards]
            findings = _changed(pool, p.out, entries) if verify else []
        if verify and not findings:
            found = check(p.out, None, workers, None, is_whole=True).findings
            # Of fp16 the report has a warning: it was asked for.
            findings = [f for f in found if f.rule != "fp16"]
        work.end()  # not before: an interrupted check is done again by the same command
    report = report_of(p, dry_run=False)
    report.findings = findings
    report.layers = [Layer.of(layer) for entry in entries for layer in entry["layers"]]
    report.shards = [
        {"file": e["shard"], "bytes": e["bytes"], "sha256": e["sha256"]} for e in entries
    ]
    report.resumed = run.resumed
    report.seconds = time.monotonic() - start
    report.peak_rss_bytes = peak_rss()
    return report


def _places(p: Prepared, work: Work) -> list[Place]:
    nonce = str(work.nonce.relative_to(p.out))
    return [Place.of(p.source, (s.name for s in p.shards)), Place.of(p.out, [nonce])]


def _bytes_in(out: Path) -> int:
    """Return the bytes of what is whole, and of what is not, and is removed before more is made."""
    found = [p.stat() for p in out.rglob("*") if p.is_file()]
    return sum(min(s.st_size, s.st_blocks * 512) for s in found)  # what is not whole has holes


def _write_files(p: Prepared, work: Work) -> None:
    """Write all but the shards; last the file without which the folder is no model."""
    for name in p.copied:
        work.copy(p.source, name)
    for name, data in p.json_files.items():
        work.write(name, data)


def peak_rss() -> int:
    """Return the most memory that any of the processes had, in bytes."""
    who = (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)
    return max(resource.getrusage(w).ru_maxrss for w in who) * 1024


def _changed(pool: Pool, out: Path, entries: list[dict[str, Any]]) -> list[Finding]:
    """Return the shards that are not what was written."""
    text = "is not as it was written: the disk or memory is at fault; consumers load it as it is"
    digests = pool.each(digest, [out / e["shard"] for e in entries])
    return [
        Finding("error", "changed", e["shard"], text)
        for e, (_, sha256) in zip(entries, digests, strict=True)
        if sha256 != e["sha256"]
    ]
