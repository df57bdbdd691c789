"""Checking a whole quantized model: its files, keys, shapes, values, and its original."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from .._kinds import Progress
from ..files.common import FileError
from . import check_values, names, sums
from .check_files import read
from .check_tensors import check_described, check_shapes
from .folder import CheckpointError
from .keep import SUMS, UNFINISHED
from .making import together
from .originals import (
    Floats,
    Layers,
    Original,
    check_config,
    check_copied,
    check_names,
    recipes_of,
)
from .quantized import QuantizedModel
from .reports import CheckReport, Findings
from .schemes import FLOAT, TYPES
from .sums import NO_SUMS
from .workers import Workers


class Task(Protocol):
    """A piece of what a rule looks at."""

    @property
    def size(self) -> int:
        """Its bytes."""


class Rule(Protocol):
    """What is looked at in pieces, anywhere and in any order, and then reported."""

    def tasks(self) -> Iterable[Task]:
        """Return the pieces."""

    def look(self, task: Any) -> Any:
        """Return what is seen of a piece."""

    def report(self, seen: Iterable[tuple[Any, Any]], found: Findings) -> None:
        """Add what is wrong, by all pieces in their order and what was seen of each."""


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
    rules: list[Rule] = [sums.Hashed(folder, found)] if has_sums and not is_whole else []
    rules.append(check_values.Numbers(model))
    layers_of = Layers(model, original)
    if original is not None:
        rules.append(Floats(model, original, check_names(model, original, found)))
    _carry_out([*rules, layers_of], workers, progress, found)
    layers = layers_of.judged
    if original is not None:
        check_config(model, original, found)
        check_copied(model, original, found)
    recipe = recipes_of(layers) if original is not None else _said(model)
    count = Counter(layer.type for layer in layers)
    modules = names.modules_of(model.tensors)
    left = sum(names.is_linear(m) and m not in model.types for m in modules)
    types = dict(count) | ({FLOAT: left} if left else {})
    kind = model.config.model_type
    has_original = original is not None
    notes = [] if has_sums or has_original else [NO_SUMS]
    return CheckReport(
        str(folder), model.format, kind, [*found], types, recipe, layers, has_original, notes
    )


def _carry_out(
    rules: Sequence[Rule], workers: Workers, progress: Progress | None, found: Findings
) -> None:
    tasks = [(number, task) for number, rule in enumerate(rules) for task in rule.tasks()]
    done, total = 0, sum(task.size for _, task in tasks)
    results: dict[tuple[int, Task], Any] = {}
    pieces = together(tasks, lambda numbered: numbered[1].size, workers.together_bytes)
    for some, gave in workers.each(_looked, rules, pieces):
        results |= zip(some, gave, strict=True)
        done += sum(task.size for _, task in some)
        if progress is not None:
            progress(done, total)
    for number, rule in enumerate(rules):  # in order, so that sums do not depend on who was faster
        rule.report([(task, results[n, task]) for n, task in tasks if n == number], found)


def _looked(rules: Sequence[Rule], tasks: list[tuple[int, Task]]) -> list[Any]:
    try:
        with np.errstate(all="ignore"):
            return [rules[number].look(task) for number, task in tasks]
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
