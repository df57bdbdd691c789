"""A consumer of the ascend format: loads a folder, and stumbles where consumers do.

Written of the facts of the format alone. Faults are KeyError, ValueError and OSError.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np

from .arithmetic import halves, widened
from .tensor_files import Array, Tensors, read, read_json

FUSED = [("q_proj", "k_proj", "v_proj"), ("gate_proj", "up_proj")]
FUSED += [("q_a_proj", "kv_a_proj_with_mqa"), ("in_proj_qkv", "in_proj_z")]
FUSED += [("in_proj_b", "in_proj_a")]
NEVER = re.compile(r".*(\.kv_b_proj|norm|\.mlp\.gate|\.block_sparse_moe\.gate)")
EXPERT = re.compile(r"(.*\.experts)\.\d+\.\w+")
TYPES = {"W8A16", "W8A8_DYNAMIC", "W8A8", "W8A8_MXFP8", "W4A8_DYNAMIC"}
ABOUT = {"version", "model_quant_type", "group_size", "metadata", "optional"}
PARAMETER = re.compile("(?!weight_|scale_bias|deq_scale|input_|quant_bias).*")
Weights = dict[str, Array]


def files(folder: Path) -> list[Path]:
    """Return the shards: of the usual index where it is, else all there are, by name."""
    index = folder / "model.safetensors.index.json"
    if index.exists():
        return [folder / name for name in sorted({*read_json(index)["weight_map"].values()})]
    found = sorted(folder.glob("*.safetensors"))
    own = folder / "quant_model_weights.safetensors.index.json"
    named = {*read_json(own)["weight_map"].values()} if own.exists() else set()
    if missing := named - {path.name for path in found}:
        raise FileNotFoundError(f"{folder}: no {sorted(missing)}")
    return found


def type_of(module: str, keys: Mapping[str, Any]) -> str:
    kind = keys[f"{module}.weight"]
    if kind not in TYPES | {"FLOAT"}:
        raise ValueError(f"{module}: no type {kind}")
    if kind != "FLOAT" and NEVER.fullmatch(module):
        raise ValueError(f"{module} is {kind}: it must be FLOAT")
    is_expert = EXPERT.fullmatch(module)
    if (kind == "W8A16") > (not is_expert) or (kind == "W4A8_DYNAMIC") > bool(is_expert):
        raise ValueError(f"{module}: no method for {kind}")
    return str(kind)


def same_type(types: Mapping[str, str]) -> None:
    """Refuse a fused group, or the experts of a layer, of several types."""
    groups: dict[str, set[str]] = {}
    for module, kind in types.items():
        parent, _, last = module.rpartition(".")
        for fused in FUSED:
            if last in fused:
                groups.setdefault(f"{parent}.{fused[0]}", set()).add(kind)
        if found := EXPERT.fullmatch(module):
            groups.setdefault(found[1], set()).add(kind)
    for name, kinds in groups.items():
        if len(kinds) > 1:
            raise ValueError(f"{name}: {sorted(kinds)}")


def taken(tensors: Tensors, name: str, dtypes: str, *shape: int) -> Array:
    """Return a tensor that must be there, of one of these dtypes, of a shape."""
    a = tensors[name]
    if a.dtype.name not in dtypes.split() or a.shape != shape:
        raise ValueError(f"{name} is {a.dtype}{[*a.shape]}, must be {dtypes}{[*shape]}")
    return a


def int4(module: str, tensors: Tensors) -> Array:
    """Return the weights of W4A8_DYNAMIC."""
    q = halves(tensors[f"{module}.weight"])
    n, k = q.shape
    s = taken(tensors, f"{module}.weight_scale", "float32", n, 1)
    taken(tensors, f"{module}.weight_offset", "float32", n, 1)
    is_down = module.endswith((".down_proj", ".w2"))
    bias = taken(tensors, f"{module}.scale_bias", "float32", n, 16 if is_down else 1)
    if n % 8 or (is_down and k % 16):
        raise ValueError(f"{module}: {n} rows, {k} columns")
    sums = 8 * q.sum(axis=1, dtype=np.int64, keepdims=True) * s.astype(float)
    most = np.abs(q).sum(axis=1, dtype=np.int64, keepdims=True) * s
    if np.any(np.abs(bias.sum(axis=1, keepdims=True) - sums) > most * 1e-4):
        raise ValueError(f"{module}: the bias of scales takes off something else")
    return widened(q) * s


def mxfp8(module: str, tensors: Tensors) -> Array:
    n, k = tensors[f"{module}.weight"].shape
    q = taken(tensors, f"{module}.weight", "float8_e4m3fn", n, k)
    blocks = -(-k // 32)
    u = taken(tensors, f"{module}.weight_scale", "uint8", n, blocks)
    if blocks % 2 and EXPERT.fullmatch(module):
        raise ValueError(f"{module}: {blocks} scales do not go in pairs")
    s = widened(u.view(ml_dtypes.float8_e8m0fnu))
    return widened(q) * np.repeat(s, 32, axis=1)[:, :k]


def int8(module: str, kind: str, tensors: Tensors, dtype: str) -> Array:
    n, k = tensors[f"{module}.weight"].shape
    q = taken(tensors, f"{module}.weight", "int8", n, k)
    if kind == "W8A8":
        taken(tensors, f"{module}.deq_scale", "int64" if dtype == "float16" else "float32", n)
        s = tensors[f"{module}.deq_scale"][:, None] / tensors[f"{module}.input_scale"].item()
        if not -128 <= tensors[f"{module}.input_offset"].item() <= 127:
            raise ValueError(f"{module}: the offset of inputs is no int8")
        return widened(q) * widened(s)
    if kind == "W8A8_DYNAMIC" and dtype == "float16":
        raise ValueError(f"{module}: npu_quant_matmul takes no float16 scales")
    s = taken(tensors, f"{module}.weight_scale", "float32 bfloat16", n, 1)
    taken(tensors, f"{module}.weight_offset", "float32 bfloat16", n, 1)
    return widened(q) * widened(s)


def described(folder: Path) -> dict[str, str]:
    """Return the types of tensors, or refuse what the description says of all of them."""
    keys = read_json(folder / "quant_model_description.json")
    types = {name: kind for name, kind in keys.items() if name not in ABOUT}
    size = keys["group_size"]
    if "W8A8_MXFP8" in types.values() and size != 32:
        raise ValueError(f"group_size {size} with MXFP8")
    if "W4A8_DYNAMIC" in types.values() and size != 0:
        raise ValueError(f"group_size {size} with W4A8_DYNAMIC")
    if "lm_head.weight" not in types:
        raise KeyError("lm_head.weight")
    return types


def load(folder: Path) -> Weights:
    """Return what a model would compute with: float32 of every tensor that is no scale, by name."""
    config = read_json(folder / "config.json")
    if "quantization_config" in config:
        raise ValueError("two configurations of quantization")
    keys = described(folder)
    tensors: Tensors = {}
    for path in files(folder):
        tensors |= read(path)
    text = {**config, **config.get("text_config", {})}
    tied = {"lm_head.weight"} if config["tie_word_embeddings"] else set()
    if missing := keys.keys() - tensors.keys() - tied:
        raise KeyError(min(missing))
    types: dict[str, str] = {}
    weights: Weights = {}
    for name, a in tensors.items():
        module, _, last = name.rpartition(".")
        if a.ndim == 3 and "experts" in module:
            raise ValueError(f"{name}: experts are read one by one")
        if not PARAMETER.fullmatch(last):
            continue
        needs_no_key = a.ndim != 2 or re.search("embed|norm", module)
        if last == "weight" and (name in keys or not needs_no_key):
            types[module] = type_of(module, keys)
        kind = types.get(module, "FLOAT")
        weights[name] = of_type(module, kind, last, tensors, text.get("torch_dtype", ""))
    same_type(types)
    return weights


def of_type(module: str, kind: str, last: str, tensors: Tensors, dtype: str) -> Array:
    """Return a tensor as the model holds it, codes as the numbers they stand for."""
    a = tensors[f"{module}.{last}"]
    if kind == "FLOAT" or last != "weight":
        if a.dtype.name not in ("float32", "float16", "bfloat16"):
            raise ValueError(f"{module}.{last} is FLOAT of {a.dtype}")
        return widened(a)
    if kind == "W4A8_DYNAMIC":
        return int4(module, tensors)
    if kind == "W8A8_MXFP8":
        return mxfp8(module, tensors)
    return int8(module, kind, tensors, dtype)
