"""Faults of quantized checkpoints: of every rule of `npu-quant check`, what it must find.

good() makes a folder that no rule finds anything in; a fault breaks it in place.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from .arithmetic import halves
from .expected import expect
from .models import make
from .spoiling import (
    INDEX,
    add,
    as_float,
    as_type,
    describe,
    edit_json,
    rehead,
    remove,
    replace,
    retype,
    shards,
    tensor,
)
from .tensor_files import FLOAT8, write

Q = "model.layers.0.self_attn.q_proj"
K = "model.layers.0.self_attn.k_proj"
O = "model.layers.1.self_attn.o_proj"  # noqa: E741
E = "model.layers.0.mlp.experts"
FIRST = "quant_model_weights-00001-of-00002.safetensors"
OTHERS = frozenset({"index", "missing-tensor"})


class Fault(NamedTuple):
    """What is broken, and what must be said of it."""

    rule: str
    name: str
    """What the finding's name holds: a tensor, a module, a file."""
    spoil: Callable[[Path], object]
    severity: str = "error"
    family: str = "llama"
    scheme: str = "W8A8_DYNAMIC"
    format: str = "ascend"
    tied: bool = False
    also: frozenset[str] = frozenset()
    """The rules that may find something too."""
    is_noticed: bool = True
    """Whether ascend_reader refuses the folder, or reads other weights."""

    @property
    def needs_original(self) -> bool:
        compared = {"codes", "float-changed", "missing-layer", "extra-tensor", "config-changed"}
        return self.rule in compared | {"missing-file"}

    @property
    def status(self) -> int:
        """What `npu-quant check` exits with."""
        return 2 if self.rule in ("not-quantized", "unfinished") else int(self.severity == "error")


def good(root: Path, fault: Fault) -> Path:
    """Write root/source and root/quantized, and return the latter: no rule finds anything."""
    source = make(root / "source", fault.family, tied=fault.tied)
    size = 100_000 if fault.family == "llama" else 1 << 32
    return expect(source, fault.scheme, fault.format, shard_size=size).write(root / "quantized")


def after(path: str, edit: Callable[[bytes], bytes]) -> Callable[[Path], object]:
    """Return what changes the bytes of a file."""
    return lambda folder: (folder / path).write_bytes(edit((folder / path).read_bytes()))


def config(edit: Callable[[Any], object]) -> Callable[[Path], object]:
    return lambda folder: edit_json(folder / "config.json", edit)


def quantization(edit: Callable[[Any], object]) -> Callable[[Path], object]:
    """Return what changes the quantization_config of compressed-tensors."""
    return config(lambda c: edit(c["quantization_config"]))


def ignore_less(module: str) -> Callable[[Any], object]:
    """Return what takes a module out of compressed-tensors' ignore."""
    return lambda q: q["ignore"].remove(module)


def ignored(expression: str) -> Callable[[Path], object]:
    """Return what has compressed-tensors ignore what an expression fits, too."""
    return quantization(lambda q: q["ignore"].append(f"re:{expression}"))


def index(edit: Callable[[Any], object]) -> Callable[[Path], object]:
    return lambda folder: edit_json(folder / INDEX, edit)


def keys(edit: Callable[[Any], object]) -> Callable[[Path], object]:
    return lambda folder: describe(folder, edit)


def overlap(folder: Path) -> None:
    """Let the second tensor of the first file begin where the first one does."""

    def edit(entries: dict[str, Any]) -> None:
        first, second = sorted(
            (t for name, t in entries.items() if name != "__metadata__"),
            key=lambda t: t["data_offsets"],
        )[:2]
        second["data_offsets"][0] = first["data_offsets"][0]

    rehead(shards(folder)[0], edit)


def stray_weights(folder: Path) -> None:
    """Write a file that sorts last, with other codes of one module."""
    write(folder / "zz.safetensors", {f"{Q}.weight": -tensor(folder, f"{Q}.weight")})


def stray_index(folder: Path, *, with_shards: bool) -> None:
    source = folder.parent / "source"
    names = [p.name for p in shards(source)] if with_shards else []
    for name in [*names, "model.safetensors.index.json"]:
        shutil.copyfile(source / name, folder / name)


def renamed(prefix: str, to: str) -> Callable[[Path], object]:
    """Return what writes all keys of a prefix with another."""

    def edit(k: dict[str, Any]) -> None:
        old = {name: k.pop(name) for name in [*k] if name.endswith(ENDS)}
        k |= {to + name.removeprefix(prefix): kind for name, kind in old.items()}

    return keys(edit)


ENDS = (".weight", ".weight_scale", ".weight_offset")


def float8(folder: Path) -> None:
    """Write a module as msmodelslim writes FP8, under the name that it has for it."""
    remove(folder, f"{O}.weight_offset")
    replace(folder, f"{O}.weight", lambda a: a.astype(FLOAT8))
    retype(folder, f"{O}.weight.*", "WFP8AFP8_DYNAMIC")


def half_rows(folder: Path) -> None:
    """Leave 44 of 48 rows of gate and up: no multiple of 8."""
    at = f"{E}.*[.](gate|up)_proj[.]".replace("layers.0", "layers[.].")
    replace(folder, f"{at}weight", lambda a: a[:22])
    replace(folder, f"{at}(weight_.*|scale_bias)", lambda a: a[:44])


def odd_blocks(folder: Path) -> None:
    """Leave 32 of 48 columns of down_proj: one scale a row, where they are read in pairs."""
    at = E.replace("layers.0", "layers[.].")
    replace(folder, f"{at}.*[.](gate|up)_proj[.].*", lambda a: a[:32])
    replace(folder, f"{at}.*[.]down_proj[.]weight", lambda a: a[:, :32])
    replace(folder, f"{at}.*[.]down_proj[.]weight_scale", lambda a: a[:, :1])


def stack(folder: Path) -> None:
    """Put the experts' down_proj into one tensor."""
    at = [f"{E}.{e}.down_proj" for e in range(4)]
    for module in at:
        as_float(folder, module)
    stacked = np.stack([tensor(folder, f"{module}.weight") for module in at])
    remove(folder, f"{E}.*[.]down_proj[.].*")
    add(folder, {f"{E}.down_proj": stacked})


def int4_elsewhere(folder: Path) -> None:
    as_float(folder, O)
    as_type(folder, O, "W4A8_DYNAMIC")


def bias_off(folder: Path) -> None:
    """Add 1 % of the sum of magnitudes to one bias of scales."""
    at = f"{E}.0.gate_proj"
    most = np.abs(halves(tensor(folder, f"{at}.weight"))[7].astype(np.float32)).sum()
    by = 0.08 * most * tensor(folder, f"{at}.weight_scale")[7]
    replace(folder, f"{at}.scale_bias", lambda a: a + by * (np.arange(len(a)) == 7)[:, None])


def flip(folder: Path) -> None:
    """Flip a bit of one code."""
    replace(
        folder,
        f"{Q}.weight",
        lambda a: a ^ ((np.indices(a.shape).sum(0) == 11) * 64).astype(np.int8),
    )
