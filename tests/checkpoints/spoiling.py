"""Tools that change a checkpoint in place, and keep what else describes it in step."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from .arithmetic import widened
from .expected import quantized
from .tensor_files import (
    BFLOAT16,
    Array,
    Tensors,
    by_width,
    packed,
    read,
    read_json,
    write,
    write_json,
)

DESCRIPTION = "quant_model_description.json"
SUMS = "SHA256SUMS"
INDEX = "quant_model_weights.safetensors.index.json"
Edit = Callable[[Any], object]


def edit_json(path: Path, edit: Edit) -> None:
    value = read_json(path)
    edit(value)
    write_json(path, value)
    resum(path.parent)


def shards(folder: Path) -> list[Path]:
    return sorted(folder.glob("*.safetensors"))


def reindex(folder: Path) -> None:
    """Write the index anew, where there is one."""
    found = {path.name: read(path) for path in shards(folder)}
    where = {name: file for file, tensors in found.items() for name in tensors}
    size = sum(a.nbytes for tensors in found.values() for a in tensors.values())
    for path in folder.glob("*.safetensors.index.json"):
        weight_map = dict(sorted(where.items()))
        write_json(path, {"metadata": {"total_size": size}, "weight_map": weight_map})


def rewrite(folder: Path, edit: Callable[[Tensors], object]) -> None:
    """Change the tensors of all files; new ones go to the last. The index follows."""
    files = {path: read(path) for path in shards(folder)}
    tensors = {name: a.copy() for held in files.values() for name, a in held.items()}
    before = {*tensors}
    edit(tensors)
    for path, held in files.items():
        new = tensors.keys() - before if path == max(files) else set()
        write(path, by_width({n: a for n, a in tensors.items() if n in held or n in new}))
    reindex(folder)
    resum(folder)


def replace(folder: Path, pattern: str, change: Callable[[Array], Array]) -> None:
    """Replace the tensors whose names match."""

    def edit(tensors: Tensors) -> None:
        found = [name for name in tensors if re.fullmatch(pattern, name)]
        assert found, pattern
        tensors.update({name: change(tensors[name]) for name in found})

    rewrite(folder, edit)


def put(folder: Path, pattern: str, at: Any, value: Any) -> None:
    """Put a value into the tensors whose names match."""

    def change(a: Array) -> Array:
        a[at] = value
        return a

    replace(folder, pattern, change)


def describe(folder: Path, edit: Edit) -> None:
    edit_json(folder / DESCRIPTION, edit)


def retype(folder: Path, pattern: str, kind: str) -> None:
    """Give the tensors whose names match another type."""

    def edit(keys: dict[str, Any]) -> None:
        keys.update({name: kind for name in keys if re.fullmatch(pattern, name)})

    describe(folder, edit)


def remove(folder: Path, pattern: str, *, keeps_keys: bool = False) -> None:
    """Remove the tensors whose names match, and their keys."""
    rewrite(folder, lambda t: [t.pop(n) for n in [*t] if re.fullmatch(pattern, n)])
    if not keeps_keys and (folder / DESCRIPTION).exists():
        describe(folder, lambda k: [k.pop(n) for n in [*k] if re.fullmatch(pattern, n)])


def add(folder: Path, tensors: Tensors, kind: str = "FLOAT") -> None:
    """Add tensors, or replace them, and their keys."""
    rewrite(folder, lambda t: t.update(tensors))
    if (folder / DESCRIPTION).exists():
        describe(folder, lambda k: k.update(dict.fromkeys(tensors, kind)))


def tensor(folder: Path, name: str) -> Array:
    return next(t[name] for t in map(read, shards(folder)) if name in t)


def as_float(folder: Path, module: str) -> None:
    """Make a module of int8 FLOAT again."""
    w, s = (widened(tensor(folder, f"{module}.{n}")) for n in ("weight", "weight_scale"))
    remove(folder, re.escape(module) + r"\.weight_.*")
    add(folder, {f"{module}.weight": (w * s).astype(BFLOAT16)})


def as_type(folder: Path, module: str, kind: str) -> None:
    """Quantize a module that is FLOAT."""
    w = widened(tensor(folder, f"{module}.weight"))
    add(folder, quantized(f"{module}.weight", w, kind, True, BFLOAT16, "up"), kind)


def as_static(
    folder: Path,
    module: str,
    type: str = "W8A8",
    *,
    step: float = 0.03125,
    offset: int = 3,
    dtype: Any = np.float32,
    bias: Array | None = None,
) -> None:
    """Make a module of W8A8_DYNAMIC one of W8A8, whose activations have a scale of their own.

    dtype is the one in which a writer computes products and quotients.
    """
    scale = tensor(folder, f"{module}.weight_scale")[:, 0]
    sums = tensor(folder, f"{module}.weight").sum(axis=1, dtype=np.int32)
    deq = (scale.astype(dtype) * np.array(step, dtype)).astype(np.float32)
    quotient = np.zeros(scale.shape, np.float32)
    if bias is not None:
        quotient = (bias.astype(dtype) / deq.astype(dtype)).astype(np.float32)
    made = {
        "input_scale": np.array([step], dtype).astype(np.float32),
        "input_offset": np.array([offset], np.float32),
        "quant_bias": np.rint(quotient - np.float32(offset) * sums).astype(np.int32),
        "deq_scale": deq,
    }
    add(folder, {f"{module}.{name}": a for name, a in made.items()})
    if bias is not None:
        add(folder, {f"{module}.bias": bias.astype(np.float32)})
    retype(folder, re.escape(module) + r"\.(?!bias).*", type)
    describe(folder, lambda keys: keys.update(model_quant_type=type))


def ratio_of_inputs(folder: Path, module: str, factor: float) -> None:
    """Give the activations of a static module another scale, and deq_scale what follows of it."""
    for part in ("input_scale", "deq_scale"):
        replace(folder, f"{module}.{part}", lambda a: (a * a.dtype.type(factor)).astype(a.dtype))


def rehead(path: Path, edit: Edit) -> None:
    """Change the header of a file, and nothing else."""
    data = path.read_bytes()
    start = 8 + int.from_bytes(data[:8], "little")
    entries = json.loads(data[8:start])
    edit(entries)
    path.write_bytes(packed(entries) + data[start:])


def resum(folder: Path) -> None:
    """Write SHA256SUMS anew, where there is one."""
    if (folder / SUMS).exists():
        sums(folder)


def sums(folder: Path) -> None:
    """Write SHA256SUMS of all files of a folder."""
    files = {
        p.relative_to(folder).as_posix(): p
        for p in folder.rglob("*")
        if p.is_file() and p.name != SUMS
    }
    lines = [f"{hashlib.sha256(p.read_bytes()).hexdigest()}  {n}\n" for n, p in files.items()]
    (folder / SUMS).write_text("".join(sorted(lines, key=lambda line: line[66:])))
