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
from .tensor_files import Array, Tensors, change, read, write, write_json

FIRST = "model-00001-of-00002.safetensors"
INDEX = "model.safetensors.index.json"
KV = "model.layers.0.self_attn.q_a_proj"


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
    """Have one tensor in two files."""
    held = {f"{Q}.weight": tensor(folder, f"{Q}.weight")}
    change(folder / FIRST.replace("1-of", "2-of"), lambda tensors: tensors.update(held))


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
    name = f"{Q}.weight".encode()
    for file in (FIRST, INDEX):
        after(file, lambda b: b.replace(name, half.ljust(len(name), b"x")))(folder)


def without_index(*names: str) -> Callable[[Path], object]:
    """Return what leaves files of these names in place of two shards with an index."""

    def spoil(folder: Path) -> None:
        (folder / INDEX).unlink()
        held = [*map(read, sorted(folder.glob("*.safetensors")))]
        for path in folder.glob("*.safetensors"):
            path.unlink()
        for name, tensors in zip(names, [*held, {}], strict=False):
            write(folder / name, tensors)

    return spoil


def fp8(edit: Callable[[Tensors], object]) -> Callable[[Path], object]:
    """Return what changes the parts of an FP8 Linear, by their last names."""

    def spoil(folder: Path) -> None:
        parts = {n: tensor(folder, f"{KV}.{n}") for n in ("weight", "weight_scale_inv")}
        edit(parts)
        remove(folder, f"{KV}[.]weight.*")
        add(folder, {f"{KV}.{name}": a for name, a in parts.items()})

    return spoil


def renamed(name: str) -> Callable[[Tensors], object]:
    return lambda parts: parts.update({name: parts.pop("weight_scale_inv")})


def scaled(scale: Array, name: str = "weight_scale") -> Callable[[Tensors], object]:
    """Return what gives an FP8 Linear of 96 x 192 another scale."""

    def edit(parts: Tensors) -> None:
        del parts["weight_scale_inv"]
        parts[name] = scale

    return edit


def one_scale(value: float) -> Array:
    """Return a scale for each of 96 rows, the last one of which is given."""
    return np.array([[0.5]] * 95 + [[value]], np.float32)


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
    "an index that is not there": Refusal(
        lambda f: [(f / INDEX).unlink(), (f / INDEX).symlink_to("nowhere")], (INDEX,)
    ),
    "another model beside the shards of the index": Refusal(
        lambda f: write(f / "model.safetensors", {}), ("model.safetensors, or", FIRST, INDEX)
    ),
    "two shards without an index": Refusal(
        without_index(FIRST, "model-00002-of-00002.safetensors"), (FIRST, "model-00002-of-00002")
    ),
    "the first shard of two": Refusal(without_index(FIRST), (FIRST,)),
    "a model and a shard of two": Refusal(
        without_index("model.safetensors", FIRST), ("model.safetensors", FIRST)
    ),
    "two files": Refusal(without_index("a.safetensors", "b.safetensors"), ("a.safet", "b.safet")),
    "two variants": Refusal(
        without_index("model.fp16.safetensors", "model.fp32.safetensors"), ("fp16", "fp32")
    ),
    "only the maker's names": Refusal(
        without_index("consolidated.safetensors"), ("consolidated.safetensors",)
    ),
    "only an adapter": Refusal(
        without_index("adapter_model.safetensors"), ("adapter_model.safetensors",)
    ),
    **{
        f"FP8: {what}": Refusal(fp8(edit), (*words, f"{KV}."), "deepseek_v3")
        for what, edit, *words in (
            (
                "a scale of another name",
                renamed("qscale_weight"),
                ".qscale_weight",
                ".weight_scale",
            ),
            (
                "two scales",
                lambda p: p.update(scale=one_scale(1)),
                ".scale and",
                "weight_scale_inv",
            ),
            ("a zero point", lambda p: p.update(zero_point=one_scale(0)), ".zero_point"),
            (
                "a scale of float64",
                scaled(np.ones((96, 1))),
                "F64 of shape (96, 1)",
                "expected F32",
            ),
            ("a scale of int8", scaled(np.ones((96, 1), np.int8)), "is I8", "expected F32"),
            ("a scale per column", scaled(np.ones((1, 192), np.float32)), "(1, 192)", "[96, 1]"),
            (
                "a scale of three axes",
                scaled(one_scale(1)[None]),
                "(1, 96, 1)",
                "[1, 2] (128 x 128)",
            ),
            ("a weight that has no rows", lambda p: p.update(weight=p["weight"][0]), "F8_E4M3"),
        )
    },
    "FP8: a scale beside floats": Refusal(
        lambda f: add(f, {f"{Q}.weight_scale": one_scale(1)}), (f"{Q}.weight is BF16",)
    ),
    "FP8: a scale of nothing": Refusal(
        lambda f: add(f, {"model.more.weight_scale": one_scale(1)}), ("model.more.weight_scale",)
    ),
    **{
        f"numbers that are none: a scale of {value}": Refusal(
            fp8(scaled(one_scale(value))),
            (f"{KV}.weight_scale is {value}", "[95, 0]"),
            "deepseek_v3",
        )
        for value in (np.nan, np.inf, 0.0, -1.0)
    },
    "FP8: rotated": Refusal(
        config(
            lambda c: c.update(
                quantization_config={
                    "quant_method": "compressed-tensors",
                    "transform_config": {"config_groups": {"R1": {}}},
                }
            )
        ),
        ("already quantized (compressed-tensors)", "transform_config"),
    ),
    "FP8: ModelOpt's FP4": Refusal(
        config(
            lambda c: c.update(
                quantization_config={"quant_method": "modelopt", "quant_algo": "NVFP4"}
            )
        ),
        ("already quantized (modelopt)", "NVFP4"),
    ),
    "a bias of experts": Refusal(expert_bias, ("gate_up_proj_bias",), "qwen3_vl_moe"),
}
