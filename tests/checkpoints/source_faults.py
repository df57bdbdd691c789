"""Faults of models that `npu-quant quantize` refuses: each breaks one of make() in place."""

from __future__ import annotations

import os
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import NamedTuple

import numpy as np

from .faults import Q, after, config, overlap
from .spoiling import add, edit_json, put, rehead, remove, replace, tensor
from .tensor_files import Tensors, write, write_json

FIRST = "model-00001-of-00002.safetensors"
INDEX = "model.safetensors.index.json"


class Refusal(NamedTuple):
    """What is broken, and what the line on stderr must hold; the exit status is 2."""

    spoil: Callable[[Path], object]
    words: tuple[str, ...]
    family: str = "llama"


def only_bin(folder: Path) -> None:
    for path in [*folder.glob("*.safetensors"), folder / INDEX]:
        path.unlink()
    (folder / "pytorch_model.bin").write_bytes(b"x")


def beyond(folder: Path) -> None:
    """Let a tensor in the middle of the first file end far beyond it."""
    rehead(folder / FIRST, lambda entries: entries[f"{Q}.weight"].update(data_offsets=[0, 1 << 40]))


def elsewhere(folder: Path) -> None:
    name = f"{Q}.weight"
    other = FIRST.replace("1-of", "2-of")
    edit_json(folder / INDEX, lambda i: i["weight_map"].update({name: other}))


def twice(folder: Path) -> None:
    """Leave no index, and one tensor in two files."""
    (folder / INDEX).unlink()
    write(folder / "more.safetensors", {f"{Q}.weight": tensor(folder, f"{Q}.weight")})


def nonfinite(folder: Path) -> None:
    """Write 3 numbers that are none: the first in row 6, column 70."""
    for at, value in (((6, 70), np.nan), ((7, 0), -np.inf), ((7, 1), np.inf)):
        put(folder, f"{Q}.weight", at, value)


def expert_bias(folder: Path) -> None:
    at = "model.language_model.layers.0.mlp.experts"
    bias: Tensors = {f"{at}.gate_up_proj_bias": np.zeros((4, 96), np.float32)}
    add(folder, bias)


def quantized(method: str) -> Callable[[Path], object]:
    return config(lambda c: c.update(quantization_config={"quant_method": method}))


def truncated(folder: Path, by: int) -> None:
    path = folder / FIRST
    data = path.read_bytes()
    path.write_bytes(data[:by] if by < 0 else data + bytes(by))


def pipe(folder: Path) -> None:
    (folder / "config.json").unlink()
    os.mkfifo(folder / "config.json")


def surrogate(half: bytes, folder: Path) -> None:
    """Name a tensor by half a letter, which JSON can say and UTF-8 cannot."""
    (folder / INDEX).unlink()
    name = f"{Q}.weight".encode()
    after(FIRST, lambda b: b.replace(name, half.ljust(len(name), b"x")))(folder)


SOURCE_FAULTS = {
    "config is a pipe": Refusal(pipe, ("config.json is not a regular file",)),
    "an index of nothing": Refusal(
        lambda f: write_json(f / INDEX, {"weight_map": {}}), (f"{INDEX} names no file",)
    ),
    "a name that is no text": Refusal(
        partial(surrogate, rb"\ud800"), (r"\ud800x", "is not a tensor name")
    ),
    "the last name that is none": Refusal(
        partial(surrogate, rb"\udfff"), (r"\udfffx", "is not a tensor name")
    ),
    "FP8 blocks of no rows": Refusal(
        config(lambda c: c["quantization_config"].update(weight_block_size=0)),
        ("weight_block_size is 0",),
        "deepseek_v3",
    ),
    "no config": Refusal(lambda f: (f / "config.json").unlink(), ("config.json",)),
    "config is no JSON": Refusal(after("config.json", lambda b: b[:-9]), ("config.json",)),
    "only .bin": Refusal(only_bin, ("only pytorch_model.bin",)),
    "missing shard": Refusal(lambda f: (f / FIRST).unlink(), ("missing", FIRST)),
    "short shard": Refusal(lambda f: truncated(f, -100), ("truncated", FIRST)),
    "long shard": Refusal(lambda f: truncated(f, 100), ("truncated", FIRST)),
    "header is no JSON": Refusal(after(FIRST, lambda b: b[:8] + b"[" + b[9:]), (FIRST,)),
    "offsets overlap": Refusal(overlap, (FIRST,)),
    "offsets beyond the file": Refusal(beyond, (FIRST,)),
    "elsewhere than the index says": Refusal(elsewhere, (f"{Q}.weight",)),
    "twice": Refusal(twice, (f"{Q}.weight",)),
    "a Linear of integers": Refusal(
        lambda f: replace(f, f"{Q}.weight", lambda a: a.astype(np.int8)),
        ("already quantized", f"{Q}.weight"),
    ),
    "a description": Refusal(
        lambda f: write_json(f / "quant_model_description.json", {"version": "1.0.0"}),
        ("already quantized",),
    ),
    "gptq": Refusal(quantized("gptq"), ("already quantized (gptq)",)),
    "FP8 without a scale": Refusal(
        lambda f: remove(f, "model.layers.0.self_attn.o_proj.weight_scale_inv"),
        ("model.layers.0.self_attn.o_proj.weight",),
        "deepseek_v3",
    ),
    "numbers that are none": Refusal(
        nonfinite,
        (f"{Q}.weight has 3 NaN or infinite values, the first at [6, 70]", "--exclude"),
    ),
    "a bias of experts": Refusal(expert_bias, ("gate_up_proj_bias",), "qwen3_vl_moe"),
}
