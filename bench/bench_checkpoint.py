"""A model quantized and checked, beside a program that only reads and writes, and beside torch.

A program of as many processes as quantize() has threads reads the same files with pread, each a MiB
at a time into a buffer of its own, and writes as many bytes as the result has with pwrite, as it
goes along. All is in the page cache. It makes, hashes and syncs nothing; quantize() is called with
verify=False and does sync its files, about eight: a shard is hashed while the next is made, as in
models of 30 GiB with shards of 4 GiB. Of a check there is nothing to write.

torch does what msmodelslim does to a bfloat16 weight, in bfloat16: scale = max(amax / 127, 2^-23),
codes = round(w / scale), with as many threads. It reads each file with safetensors, or where that
is not installed as one array, quantizes the Linears in it and writes a file of all its tensors,
with safetensors or one after the other. It measures no error, and hashes and syncs nothing. In
memory it is the arithmetic alone, for both: weights to codes and scales.
"""

from __future__ import annotations

import importlib
import multiprocessing
import os
import shutil
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np

from npu_quant import checkpoint
from npu_quant.checkpoint.folder import Tensor, shards_of
from npu_quant.checkpoint.matrices import NUMPY, bands, bytes_of
from npu_quant.checkpoint.names import is_linear
from npu_quant.checkpoint.weights import Rule, codes_of

from . import peers
from .cases import Bench
from .goals import Goal
from .harness import Candidate, Plan, Quartiles, measure
from .operators import Operator

OPERATORS: tuple[Operator, ...] = ()  # it computes no array

WORKERS = 2
BUFFER = 1 << 20
SHARD = "96MiB"
SMALL = {"hidden": 256, "inner": 1024, "layers": 2, "vocab": 1024}
SCHEMES = ("W8A8_DYNAMIC", "W8A8_MXFP8", "W8A16")
MOST_ROUNDS, ROUNDS_OF_SMALL = 5, 2
GOALS = {
    ("W8A8_DYNAMIC", "files"): 0.8,
    ("W8A8_MXFP8", "files"): 0.6,
    ("W8A8_DYNAMIC", "torch, in memory"): 10,
}


@dataclass(frozen=True)
class OfModel:
    """What was done to a model, and the same in another way."""

    what: str
    of: str
    """"files": reading and writing alone; "torch"; "torch, in memory": arithmetic, one thread."""
    mib: int
    """Of the model."""
    seconds: Quartiles
    other_seconds: Quartiles
    ratio: Quartiles
    """The other's time over ours, from round to round."""


def measured(bench: Bench, *, small: bool) -> list[OfModel]:
    """Measure everything on one model: about 1 GiB, or 5 MiB."""
    with tempfile.TemporaryDirectory(prefix="npu_quant-bench-") as folder:
        model = _Model(Path(folder), small=small)
        most = ROUNDS_OF_SMALL if small else MOST_ROUNDS
        plan = Plan(min(bench.plan.rounds, most), bench.plan.block_seconds)
        pairs = list(_pairs(model, bench))
        samples = measure([c for pair in pairs for c in pair], plan)
    return [
        OfModel(
            *ours.key,  # type: ignore[misc]
            model.mib,
            samples.seconds(ours.key),
            samples.seconds(other.key),
            samples.ratio(other.key, ours.key),
        )
        for ours, other in pairs
    ]


def goals(measurings: list[OfModel], *, small: bool) -> Iterator[Goal]:
    """Of a large model; with a small one a run is mostly its beginning and end."""
    for m in measurings:
        if (least := GOALS.get((m.what, m.of))) is not None:
            seen, note = m.ratio.median, "small model" if small else ""
            goal = f"quantize, of {'reading and writing' if m.of == 'files' else m.of}"
            met = None if small else seen >= least
            yield Goal(goal, f"{m.what} {m.mib} MiB", f">= {least}", seen, met, note)


class _Model:
    """A model on disk, its quantized ones, and a place to write to."""

    def __init__(self, folder: Path, *, small: bool) -> None:
        sys.path.append(str(Path(__file__).parents[1] / "tests"))
        models: Any = importlib.import_module("checkpoints.models")
        sizes = SMALL if small else models.LARGE
        self.folder, self.out = folder / "model", folder / "out"
        models.make(self.folder, "llama", shards=8, **sizes)
        self.quantized = {scheme: folder / scheme for scheme in SCHEMES}
        for scheme, out in self.quantized.items():
            checkpoint.quantize(self.folder, out, scheme, verify=False)
        os.sync()
        self.mib = sum(p.stat().st_size for p in _files(self.folder)) >> 20

    def timed(self, work: Callable[[], object]) -> Callable[[int], float]:
        """Make a Candidate's run of it; what it wrote before is removed, untimed."""

        def run(count: int) -> float:
            seconds = 0.0
            for _ in range(count):
                shutil.rmtree(self.out, ignore_errors=True)
                begin = time.perf_counter()
                work()
                seconds += time.perf_counter() - begin
            return seconds

        return run


def _files(folder: Path) -> list[Path]:
    return sorted(folder.glob("*.safetensors"))


def _pairs(m: _Model, bench: Bench) -> Iterator[tuple[Candidate, Candidate]]:
    """Yield what is done to the model beside the same in another way."""
    at_once = partial(bench.set_threads, 1)

    def pair(key: tuple[str, str], ours: Any, other: Any, threads: int = WORKERS) -> Any:
        of_other = partial(bench.set_threads, threads)
        return (
            Candidate(key, m.timed(ours), at_once),
            Candidate(("other", *key), m.timed(other), of_other),
        )

    for scheme, made in m.quantized.items():
        size = sum(p.stat().st_size for p in _files(made))
        quantize = partial(
            checkpoint.quantize, m.folder, m.out, scheme, shard_size=SHARD, workers=WORKERS
        )
        copy = partial(_read_and_write, _files(m.folder), m.out, size)
        yield pair((scheme, "files"), partial(quantize, verify=False), copy)
        if scheme == "W8A8_DYNAMIC" and bench.torch is not None:
            slow = partial(_by_torch, bench.torch, m.folder, m.out)
            yield pair((scheme, "torch"), partial(quantize, verify=False), slow)
    made = m.quantized["W8A8_DYNAMIC"]
    check = partial(checkpoint.check, made, workers=WORKERS)
    read = partial(_read_and_write, _files(made), m.out, 0)
    yield pair(("check", "files"), check, read)
    both = partial(_read_and_write, _files(made) + _files(m.folder), m.out, 0)
    yield pair(("check --original", "files"), partial(check, original=m.folder), both)
    if bench.torch is not None:
        weights = _weights(m.folder)
        tensors = [peers.tensor_of(bench.torch, w) for w in weights]
        slow = partial(_all_by_torch, bench.torch, tensors)
        yield pair(("W8A8_DYNAMIC", "torch, in memory"), partial(_arithmetic, weights), slow, 1)


def _read_and_write(files: list[Path], out: Path, size: int) -> None:
    """Read files and write so many bytes, in processes that take MiB by turns."""
    out.mkdir()
    path = out / "copy"
    path.touch()
    os.truncate(path, size)
    fork = multiprocessing.get_context("fork")
    work = [fork.Process(target=_part, args=(files, path, size, i)) for i in range(WORKERS)]
    for process in work:
        process.start()
    for process in work:
        process.join()


def _part(files: list[Path], path: Path, size: int, worker: int) -> None:
    buffer = memoryview(np.zeros(BUFFER, np.uint8))
    pieces = [(f, at) for f in files for at in range(0, f.stat().st_size, BUFFER)]
    sources = {f: os.open(f, os.O_RDONLY) for f in files}
    out = os.open(path, os.O_WRONLY)
    for i in range(worker, len(pieces), WORKERS):
        file, at = pieces[i]
        os.preadv(sources[file], [buffer], at)
        done, end = size * i // len(pieces), size * (i + 1) // len(pieces)
        while done < end:
            done += os.pwrite(out, buffer[: end - done], done)


def _linears(folder: Path) -> Iterator[Tensor]:
    for shard in shards_of(folder):
        yield from (t for t in shard.tensors if _is_linear(t.name))


def _is_linear(name: str) -> bool:
    return name.endswith(".weight") and is_linear(name.removesuffix(".weight"))


def _weights(folder: Path) -> list[Any]:
    """Return the first Linears, 64 MiB or a little more."""
    result: list[Any] = []
    for t in _linears(folder):
        if sum(w.nbytes for w in result) < 64 << 20:
            values = bytes_of(folder, t, 0, t.size).view(NUMPY[t.kind])
            result.append(values.reshape(t.shape))
    return result


def _arithmetic(weights: list[Any]) -> None:
    """Codes and scales, a band of rows at a time, as a worker does."""
    rule = Rule("ascend", "bfloat16")
    for w in weights:
        for begin, end in bands(0, len(w), w[0].nbytes):
            codes_of(w[begin:end], "int8", rule)


def _formula(torch: ModuleType, w: Any) -> tuple[Any, Any]:
    amax = w.abs().amax(dim=1, keepdim=True)
    scale = (amax / 127).clamp(min=2.0**-23)
    return torch.round(w / scale).clamp(-128, 127).to(torch.int8), scale


def _all_by_torch(torch: ModuleType, tensors: list[Any]) -> None:
    for w in tensors:
        _formula(torch, w)


def _by_torch(torch: ModuleType, folder: Path, out: Path) -> None:
    out.mkdir()
    library = peers.find("safetensors.torch")
    for shard in shards_of(folder):
        made = {}
        for name, w in _tensors(torch, library, folder, shard.tensors).items():
            if _is_linear(name):
                made[name], scale = _formula(torch, w)
                made[f"{name}_scale"] = scale.float()
                made[f"{name}_offset"] = torch.zeros_like(made[f"{name}_scale"])
            else:
                made[name] = w
        if library is not None:
            library.save_file(made, out / shard.name)
            continue
        with open(out / shard.name, "wb") as file:
            for tensor in made.values():
                file.write(tensor.view(torch.uint8).numpy().data)


def _tensors(
    torch: ModuleType, library: ModuleType | None, folder: Path, tensors: list[Tensor]
) -> dict[str, Any]:
    if library is not None:
        result: dict[str, Any] = library.load_file(folder / tensors[0].file)
        return result
    arrays = {t.name: bytes_of(folder, t, 0, t.size).view(NUMPY[t.kind]) for t in tensors}
    return {t.name: peers.tensor_of(torch, arrays[t.name].reshape(t.shape)) for t in tensors}
