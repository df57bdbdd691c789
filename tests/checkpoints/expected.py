"""What `npu-quant quantize` must write of a model: every file, from the specification alone."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

import npu_quant

from . import arithmetic
from .arithmetic import widened
from .modules import Piece, groups, types_of
from .tensor_files import BFLOAT16, Tensors, by_width, read_json, write, write_json

NOT_COPIED = re.compile(
    r".*\.(safetensors|bin|pt|pth|ckpt|gguf|ggml|h5|msgpack|onnx|onnx_data|npz|index\.json)"
    r"|quant_model_description.*\.json|\..*"
)
PRIORITY = ["FLOAT", "W8A16", "W8A8_DYNAMIC", "W8A8", "W8A8_MXFP8"]
RECIPES = {
    "W8A8_DYNAMIC": "npu_quant-P-127",
    "W8A16": "npu_quant-P-127",
    "W4A8_DYNAMIC": "npu_quant-7",
}
EXPERTS = r"re:.*\.experts\.\d+\.(gate_proj|up_proj|down_proj|w1|w2|w3)$"


class Expected(NamedTuple):
    """Files by their names in the folder."""

    shards: dict[str, Tensors]
    """Of each file its tensors, in the order of their offsets."""
    texts: dict[str, Any]
    """What is JSON and not copied."""
    copied: dict[str, bytes]
    types: dict[str, str]
    """Of each quantized module."""

    @property
    def tensors(self) -> Tensors:
        return {name: a for shard in self.shards.values() for name, a in shard.items()}

    def write(self, folder: Path) -> Path:
        """Write all of it into a new folder, and return the folder."""
        folder.mkdir(parents=True)
        for name, tensors in self.shards.items():
            write(folder / name, tensors)
        for name, data in self.copied.items():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).write_bytes(data)
        for name, value in self.texts.items():
            write_json(folder / name, value)
        return folder


def params_dtype(config: Mapping[str, Any], types: Iterable[str], asked: str | None) -> Any:
    """Return the dtype that config.json will say, which scales are read in."""
    text = config.get("text_config", {})
    said = [c[key] for c in (config, text) for key in ("torch_dtype", "dtype") if key in c]
    refuses = {"W8A8_DYNAMIC", "W4A8_DYNAMIC"} & {*types}
    is_half = said[:1] == ["float16"] and not refuses
    name = asked or ("float16" if is_half else "bfloat16")
    return BFLOAT16 if name == "bfloat16" else np.dtype(name)


def quantized(name: str, w: Any, kind: str, ascend: bool, p: Any, rule: str) -> Tensors:
    """Return the tensors of a module that come of its weight, in float32."""
    module = name.removesuffix(".weight")
    if kind == "W8A8_MXFP8":
        q, s = arithmetic.mxfp8(w, rule)
        return {name: q, f"{module}.weight_scale": s}
    if kind != "W4A8_DYNAMIC":
        q, s = arithmetic.int8(w, p)
    else:
        q, s = arithmetic.int4(w, np.float32 if ascend else p)
    if not ascend:
        return {name: q, f"{module}.weight_scale": s.astype(p)}
    extra = {f"{module}.weight_scale": s, f"{module}.weight_offset": np.zeros_like(s)}
    if kind != "W4A8_DYNAMIC":
        return {name: q, **extra}
    runs = 16 if module.endswith((".down_proj", ".w2")) else 1
    bias = arithmetic.scale_bias(q, s, runs)
    return {name: arithmetic.nibbles(q), **extra, f"{module}.scale_bias": bias}


def written(piece: Piece, types: Mapping[str, str], ascend: bool, p: Any, rule: str) -> Tensors:
    """Return what is written of a piece."""
    name, a, is_fp8 = piece
    module, _, last = name.rpartition(".")
    kind = types.get(module, "FLOAT")
    if kind != "FLOAT" and last == "weight":
        return quantized(name, widened(a), kind, ascend, p, rule)
    if kind != "FLOAT" and last == "bias" and ascend:
        return {name: widened(a)}
    return {name: np.ascontiguousarray(a.astype(p) if is_fp8 else a)}


def shards_of(planned: Iterable[Tensors], size: int) -> list[Tensors]:
    """Return files: one is closed before the group that would make it too large."""
    files: list[Tensors] = [{}]
    for group in planned:
        held = sum(a.nbytes for a in chain(files[-1].values(), group.values()))
        if files[-1] and held > size:
            files.append({})
        files[-1] |= group
    return files


def configured(value: Any, dtype: str, at: tuple[str, ...] = ()) -> Any:
    """Return config.json without what was quantized before, with a dtype in every place.

    Where the top has none it gets one, as the last key.
    """
    if isinstance(value, list):
        return [configured(v, dtype, (*at, "")) for v in value]
    if not isinstance(value, dict):
        return dtype if at and at[-1] in ("torch_dtype", "dtype") else value
    is_config = at in ((), ("text_config",), ("vision_config",))
    left_out = ("quantization_config", "compression_config") if is_config else ()
    said = {k: configured(v, dtype, (*at, k)) for k, v in value.items() if k not in left_out}
    return said if at or {"torch_dtype", "dtype"} & said.keys() else said | {"torch_dtype": dtype}


def description(names: Iterable[str], types: Mapping[str, str], scheme: str, rule: str) -> Any:
    """Return quant_model_description.json."""
    result: dict[str, Any] = {}
    for name in names:
        module, _, last = name.rpartition(".")
        result[name] = "FLOAT" if last == "bias" else types.get(module, "FLOAT")
    result.setdefault("lm_head.weight", "FLOAT")
    found = {*result.values()}
    is_mx = "W8A8_MXFP8" in found
    recipes = {RECIPES.get(t, f"npu_quant-mx-{rule}") for t in found - {"FLOAT"}}
    metadata = {"version": npu_quant.__version__, "scheme": scheme}
    return result | {
        "version": "1.0.0",
        "model_quant_type": [t for t in PRIORITY if t in found][-1],
        "group_size": 32 if is_mx else 0,
        "metadata": {"npu_quant": metadata | {"recipe": "+".join(sorted(recipes))}},
        "optional": {},
    }


def group_of(bits: int, targets: list[str]) -> dict[str, Any]:
    """Return a group of compressed-tensors' quantization_config."""
    weights = {
        "num_bits": bits,
        "type": "int",
        "strategy": "channel",
        "symmetric": True,
        "dynamic": False,
        "group_size": None,
        "block_structure": None,
        "actorder": None,
        "observer": "memoryless_minmax",
        "observer_kwargs": {},
    }
    inputs = weights | {"num_bits": 8, "strategy": "token", "dynamic": True, "observer": None}
    return {
        "targets": targets,
        "weights": weights,
        "input_activations": inputs,
        "output_activations": None,
        "format": "int-quantized",
    }


def quantization_config(tensors: Tensors, types: Mapping[str, str]) -> dict[str, Any]:
    """Return what compressed-tensors has in config.json."""
    ignore = [
        module
        for name, a in tensors.items()
        if (module := name.removesuffix(".weight")) != name
        and a.ndim == 2
        and module not in types
        and not re.search("embed|norm", module.rpartition(".")[2])
    ]
    config_groups = {"group_0": group_of(8, ["Linear"])}
    if "W4A8_DYNAMIC" in types.values():
        config_groups["group_1"] = group_of(4, [EXPERTS])
    return {
        "quant_method": "compressed-tensors",
        "format": "int-quantized",
        "quantization_status": "compressed",
        "global_compression_ratio": None,
        "kv_cache_scheme": None,
        "sparsity_config": {},
        "transform_config": {},
        "version": "0.13.0",
        "ignore": [*ignore, *(["lm_head"] if "lm_head" not in ignore else [])],
        "config_groups": config_groups,
    }


def copied(folder: Path) -> dict[str, bytes]:
    """Return the files that are copied, by their paths below the folder."""
    result = {}
    for path in folder.rglob("*"):
        below = path.relative_to(folder)
        is_left = NOT_COPIED.fullmatch(path.name) or any(p.startswith(".") for p in below.parts)
        if path.is_file() and not is_left and below != Path("config.json"):
            result[str(below)] = path.read_bytes()
    return result


def expect(
    folder: Path,
    scheme: str,
    format: str = "ascend",
    *,
    exclude: Iterable[str] = (),
    include: Iterable[str] = (),
    types: Iterable[tuple[str, str]] = (),
    dtype: str | None = None,
    mx_scale: str = "up",
    shard_size: int = 1 << 32,
) -> Expected:
    """Return what must be written of the model in a folder."""
    config = read_json(folder / "config.json")
    pieces = groups(folder)
    found = {
        p.name.removesuffix(".weight"): p.array.shape
        for p in chain(*pieces)
        if p.name.endswith(".weight") and p.array.ndim == 2
    }
    chosen = types_of(found, config, scheme, exclude=exclude, include=include, types=types)
    ascend = format == "ascend"
    p = params_dtype(config, chosen.values(), dtype)
    planned: list[Tensors] = [{} for _ in pieces]
    for into, group in zip(planned, pieces, strict=True):
        for piece in group:
            into |= written(piece, chosen, ascend, p, mx_scale)
    files = shards_of(planned, shard_size)
    stem = "quant_model_weights" if ascend else "model"
    names = [f"{stem}-{i:05d}-of-{len(files):05d}.safetensors" for i in range(1, len(files) + 1)]
    if not ascend and len(files) == 1:
        names = ["model.safetensors"]
    shards = {name: by_width(file) for name, file in zip(names, files, strict=True)}
    where = {tensor: name for name, shard in shards.items() for tensor in shard}
    total = sum(a.nbytes for shard in shards.values() for a in shard.values())
    index = {"metadata": {"total_size": total}, "weight_map": dict(sorted(where.items()))}
    texts = {f"{stem}.safetensors.index.json": index} if ascend or len(files) > 1 else {}
    texts["config.json"] = configured(config, p.name)
    everything = {name: a for group in planned for name, a in group.items()}
    if ascend:
        described = description(everything, chosen, scheme, mx_scale)
        texts["quant_model_description.json"] = described
    else:
        texts["config.json"]["quantization_config"] = quantization_config(everything, chosen)
    return Expected(shards, texts, copied(folder), chosen)
