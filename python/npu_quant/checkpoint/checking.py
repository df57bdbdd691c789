"""Checking a whole quantized model: its files, keys, shapes, values, and its original."""

from __future__ import annotations

import os
from collections import Counter
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from .._kinds import Progress
from ..files.common import FileError
from . import check_values, names, sums
from .check_files import read
from .check_layers import Compared, Rows, compare, is_same, rows_of
from .check_tensors import check_described, check_shapes
from .check_values import Seen, Values
from .folder import CheckpointError
from .keep import SUMS, UNFINISHED
from .making import together
from .originals import Original, check_config, check_copied, check_names, judge, recipes_of
from .quantized import QuantizedModel
from .reports import CheckReport, Findings
from .schemes import FLOAT, TYPES
from .sums import NO_SUMS, Listed
from .workers import Workers


@dataclass(frozen=True)
class Both:
    """What tasks share."""

    model: QuantizedModel
    original: Original | None


class Floats(NamedTuple):
    """A FLOAT tensor that is compared with the original's."""

    name: str
    size: int


Task = Values | Rows | Floats | Listed


def check(
    folder: Path,
    original_dir: Path | None,
    workers: Workers,
    progress: Progress | None,
    *,
    is_whole: bool = False,
) -> CheckReport:
    """Check a model.

    Args:
        folder: the model's.
        original_dir: the folder of the model that it was made of.
        workers: who does it.
        progress: is told how many bytes are done, of how many.
        is_whole: it is known that all is there as it was written, though the run that wrote it has
            not ended: files are not hashed.

    Raises:
        CheckpointError: nothing can be said: it is not quantized, or not finished, or the original
            cannot be read.
    """
    if not is_whole and (folder / UNFINISHED).exists():
        text = f"{folder} is unfinished: run the same npu-quant quantize again, it goes on."
        raise CheckpointError(text)
    found = Findings()
    model = read(folder, found)
    check_described(model, found)
    check_shapes(model, found)
    original = Original(original_dir) if original_dir is not None else None
    has_sums = os.path.lexists(folder / SUMS)
    tasks: list[Task] = [*sums.tasks_of(folder, found)] if has_sums and not is_whole else []
    tasks += check_values.tasks_of(model)
    if original is not None:
        floats = check_names(model, original, found)
        tasks += [Floats(name, model.tensors[name].size) for name in floats]
        matrices = [m for x in model.types if (m := original.matrix(model, x))]
        tasks += chain.from_iterable(map(rows_of, matrices))
    compared = _carry_out(Both(model, original), tasks, workers, progress, found)
    layers = judge(model, compared, found)
    if original is not None:
        check_config(model, original, found)
        check_copied(model, original, found)
    recipe = recipes_of(layers) if original is not None else _said(model)
    count = Counter(layer.type for layer in layers)
    weights = [n.removesuffix(".weight") for n in model.tensors if n.endswith(".weight")]
    left = sum(names.is_linear(m) and m not in model.types for m in weights)
    types = dict(count) | ({FLOAT: left} if left else {})
    kind = model.config.model_type
    has_original = original is not None
    notes = [] if has_sums or has_original else [NO_SUMS]
    return CheckReport(
        str(folder), model.format, kind, [*found], types, recipe, layers, has_original, notes
    )


def _carry_out(
    both: Both,
    tasks: list[Task],
    workers: Workers,
    progress: Progress | None,
    found: Findings,
) -> dict[str, Compared]:
    seen: dict[tuple[str, str], Seen] = {}
    compared: dict[str, Compared] = {}
    changed: list[str] = []
    damaged: list[str] = []
    done, total = 0, sum(task.size for task in tasks)
    handed = workers.each(_do, both, together(tasks, lambda t: t.size, workers.together_bytes))
    results: dict[Task, Any] = {}
    for some, gave in handed:
        results |= zip(some, gave, strict=True)
        done += sum(task.size for task in some)
        if progress is not None:
            progress(done, total)
    for task in tasks:  # in their order, so that sums do not depend on who was faster
        result = results[task]
        if isinstance(task, Rows):
            compared.setdefault(task.module, Compared()).add(result)
        elif isinstance(task, Floats):
            changed += [] if result else [task.name]
        elif isinstance(task, Listed):
            damaged += [] if result else [task.name]
        else:
            key = task.rule, task.name
            seen[key] = check_values.merged(seen.get(key, Seen()), result)
    sums.report(damaged, found)
    check_values.report(both.model, seen, found)
    for name in changed:
        text = "has not the original's values: consumers compute another model"
        found.error("float-changed", name, text)
    return compared


def _do(both: Both, tasks: list[Task]) -> list[Any]:
    return [_done(both, task) for task in tasks]


def _done(both: Both, task: Task) -> Any:
    model, original = both.model, both.original
    try:
        if isinstance(task, Values):
            return check_values.look(model, task)
        if isinstance(task, Listed):
            return sums.is_whole(model.folder, task)
        assert original is not None
        if isinstance(task, Floats):
            return is_same(model, original.folder, original.sources[task.name], task.name)
        matrix = original.matrix(model, task.module)
        assert matrix is not None
        with np.errstate(all="ignore"):
            return compare(model, original.folder, matrix, task)
    except FileError as error:
        raise CheckpointError(str(error)) from error


def _said(model: QuantizedModel) -> dict[str, str | None]:
    """Return what the metadata says of recipes."""
    metadata = model.keys.get("metadata")
    ours = metadata.get("npu_quant") if isinstance(metadata, dict) else None
    said = str(ours.get("recipe")).split("+") if isinstance(ours, dict) else []
    result: dict[str, str | None] = {}
    for type in dict.fromkeys(model.types.values()):
        named = [TYPES[type].recipe.format(m) for m in ("up", "floor")] if type in TYPES else []
        result[type] = next((name for name in named if name in said), None)
    return result
