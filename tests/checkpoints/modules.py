"""Which modules of a model are quantized, to what, and what the tensors of a source stand for."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from .arithmetic import widened
from .tensor_files import Array, Tensors, read, read_json

LINEAR = re.compile(
    "[qkvo]_proj|qkv_proj|(gate|up|down|gate_up)_proj|q_[ab]_proj|kv_a_proj_with_mqa|w[123]|wqkv|wo"
    "|query_key_value|dense|dense_h_to_4h|dense_4h_to_h|fc[12]|out_proj"
)
TOWER = re.compile(
    "visual|vision_(tower|model|encoder)|vit|vpm|resampler|audio_(tower|model)"
    "|(multi_modal|mm)_projector|mlp1|aligner|talker|code2wav|token2wav"
)
TRANSPOSED = ("qwen3_vl_moe", "llama4", "gpt_oss")
ROUTED = re.compile(r".*\.experts\.\d+\.(gate_proj|up_proj|down_proj|w1|w2|w3)")


class Piece(NamedTuple):
    """What is written of a tensor of the source, under a name of its own."""

    name: str
    array: Array
    is_fp8: bool
    """Whether the array is of the product of FP8 codes and scales."""


def source(folder: Path) -> Tensors:
    """Return a model's tensors: files by name, tensors by offset."""
    index = folder / "model.safetensors.index.json"
    files = {p.name for p in folder.glob("*.safetensors")}
    if index.exists():
        files = set(read_json(index)["weight_map"].values())
    found: Tensors = {}
    for file in sorted(files):
        found |= read(folder / file)
    return found


def text_config(config: Mapping[str, Any]) -> dict[str, Any]:
    """Return the keys of the language model, wherever they are."""
    return {**config, **config.get("text_config", {})}


def of_blocks(code: Array, scale: Array, block: tuple[int, int]) -> Array:
    """Return float32 weights of FP8 codes and a scale per block."""
    rows, columns = (np.arange(n) // b for n, b in zip(code.shape, block, strict=True))
    return widened(code) * widened(scale)[rows][:, columns]


def split(name: str, a: Array, model_type: str) -> Iterable[tuple[str, Array]]:
    """Yield the weights of stacked experts, E ascending: gate and up of one, then of the next."""
    parent, _, last = name.removesuffix(".weight").rpartition(".")
    for e in range(len(a)):
        w = a[e].T if model_type in TRANSPOSED else a[e]
        if last == "down_proj":
            yield f"{parent}.{e}.down_proj.weight", w
        else:
            half = len(w) // 2
            yield f"{parent}.{e}.gate_proj.weight", w[:half]
            yield f"{parent}.{e}.up_proj.weight", w[half:]


def groups(folder: Path) -> list[list[Piece]]:
    """Return the pieces of each tensor of the source, in the order of planning."""
    config = read_json(folder / "config.json")
    block = tuple(config.get("quantization_config", {}).get("weight_block_size", (128, 128)))
    tensors = source(folder)
    result = []
    for name, a in tensors.items():
        if name.endswith(".weight_scale_inv"):
            continue
        if re.fullmatch(r".*\.experts\.(gate_up_proj|down_proj)(\.weight)?", name) and a.ndim == 3:
            result.append([Piece(n, w, False) for n, w in split(name, a, config["model_type"])])
        elif f"{name}_scale_inv" in tensors:
            result.append([Piece(name, of_blocks(a, tensors[f"{name}_scale_inv"], block), True)])
        else:
            result.append([Piece(name, a, False)])
    return result


def why_float(module: str, config: Mapping[str, Any]) -> str:
    """Return why a Linear by its name stays FLOAT, or nothing."""
    parts = module.split(".")
    if any(map(TOWER.fullmatch, parts)):
        return "vision or audio tower"
    if "indexer" in parts or "linear_attn" in parts:
        return "small, sensitive"
    text = text_config(config)
    layer = re.search(r"\blayers\.(\d+)\b", module)
    is_beyond = layer and int(layer[1]) >= text["num_hidden_layers"]
    has_drafts = text.get("num_nextn_predict_layers", 0) > 0
    return "draft layer" if parts[0] == "mtp" or (is_beyond and has_drafts) else ""


def types_of(
    shapes: Mapping[str, tuple[int, ...]],
    config: Mapping[str, Any],
    scheme: str,
    *,
    exclude: Iterable[str] = (),
    include: Iterable[str] = (),
    types: Iterable[tuple[str, str]] = (),
) -> dict[str, str]:
    """Return the type of each module that is quantized, of those with a 2-D float weight."""
    result = {}
    for module, shape in shapes.items():
        if not LINEAR.fullmatch(module.rpartition(".")[2]) or 0 in shape:
            continue
        is_included = any(fnmatchcase(module, glob) for glob in include)
        if why_float(module, config) and not is_included:
            continue
        kind = scheme
        if scheme == "W4A8_DYNAMIC" and not ROUTED.fullmatch(module):
            kind = "W8A8_DYNAMIC"
        for glob, other in types:
            kind = other if fnmatchcase(module, glob) else kind
        if kind != "FLOAT" and not any(fnmatchcase(module, glob) for glob in exclude):
            result[module] = kind
    return result
