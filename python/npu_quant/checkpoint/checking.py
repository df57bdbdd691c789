"""Checking a whole quantized model: its files, keys, shapes, values, and its original."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from .._kinds import Progress
from ..files.common import FileError
from . import check_static, check_values, names, sums
from .check_files import read
from .check_report import CheckedLayer, CheckReport
from .check_tensors import check_described, check_shapes
from .folder import CheckpointError, few
from .keep import SUMS, UNFINISHED
from .originals import (
    Original,
    check_config,
    check_copied,
    check_names,
    compare,
    is_same,
    judge,
    recipes_of,
    report_floats,
    rows_of,
)
from .quantized import QuantizedModel
from .reports import Findings
from .schemes import FLOAT, TYPES
from .states import note_states
from .sums import NO_SUMS
from .workers import Workers, each_of_many


class Look(NamedTuple):
    """What is looked at in pieces, anywhere and in any order."""

    at: Callable[[Any], Any]
    tasks: Iterable[Any]
    """Each has the size of what is read for it."""


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
    listed = sums.listed(folder, found) if has_sums and not is_whole else []
    looks = [
        Look(partial(sums.is_whole, folder), listed),
        Look(partial(check_values.look, model, original), check_values.tasks_of(model)),
        Look(partial(check_static.input_of, model), check_static.inputs_of(model)),
    ]
    if original is not None:
        floats = check_names(model, original, found)
        looks.append(Look(partial(is_same, model, original), floats))
        looks.append(Look(partial(compare, model, original), rows_of(model, original)))
    hashed, values, inputs, *of_original = _carry_out(looks, workers, progress)
    sums.report(hashed, found)
    check_values.report(model, values, found)
    check_static.check_shared(model, inputs, found)
    same, rows = of_original or ([], [])
    report_floats(same, found)
    layers = judge(model, rows, found)
    if original is not None:
        check_config(model, original, found)
        check_copied(model, original, found)
    recipe = recipes_of(layers) if original is not None else _said(model)
    has_original = original is not None
    notes = _notes(original, has_sums=has_sums)
    compared = {task.module for task, _ in rows}
    left = note_states(model, layers, compared, found, has_original=has_original)
    kind, types = model.config.model_type, _types_of(model, layers)
    return CheckReport(
        str(folder), model.format, kind, [*found], types, recipe, layers, has_original, notes, left
    )


def _types_of(model: QuantizedModel, layers: Iterable[CheckedLayer]) -> dict[str, int]:
    """Count the modules of each type, and the Linears that are FLOAT."""
    count = Counter(layer.type for layer in layers)
    modules = names.modules_of(model.tensors)
    left = sum(names.is_linear(m) and m not in model.types for m in modules)
    return dict(count) | ({FLOAT: left} if left else {})


def _notes(original: Original | None, *, has_sums: bool) -> list[str]:
    """Return what the check did not look at."""
    if original is None:
        return [] if has_sums else [NO_SUMS]
    left = original.left_files
    return [f"of the original, weights of something else are not read: {few(left)}"] if left else []


def _carry_out(
    looks: Sequence[Look], workers: Workers, progress: Progress | None
) -> list[list[tuple[Any, Any]]]:
    """Return what each look sees: its tasks, in their order whoever was faster, with results."""
    tasks = [(number, task) for number, look in enumerate(looks) for task in look.tasks]
    done, total = 0, sum(task.size for _, task in tasks)
    results: dict[tuple[int, Any], Any] = {}
    at = [look.at for look in looks]
    for task, seen in each_of_many(workers, _looked, at, tasks, lambda numbered: numbered[1].size):
        results[task] = seen
        done += task[1].size
        if progress is not None:
            progress(done, total)
    return [[(t, results[n, t]) for n, t in tasks if n == number] for number in range(len(looks))]


def _looked(at: Sequence[Callable[[Any], Any]], numbered: tuple[int, Any]) -> Any:
    number, task = numbered
    try:
        with np.errstate(all="ignore"):
            return at[number](task)
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
