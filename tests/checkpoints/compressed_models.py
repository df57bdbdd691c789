"""Models of compressed-tensors in each type that vllm-ascend gives them, as writers have them.

The tensors are those of llm-compressor: vllm-ascend 182b75ea, docstrings of quantization/methods.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from .tensor_files import BFLOAT16, FLOAT8, Tensors, write, write_json

A = "model.layers.0.self_attn"
M = "model.layers.0.mlp"
ATTENTION = [f"{A}.{n}_proj" for n in "qkvo"]
LINEARS = [*ATTENTION, *(f"{M}.{n}_proj" for n in ("gate", "up", "down"))]
EXPERTS = [f"{M}.experts.{e}.{n}_proj" for e in (0, 1) for n in ("gate", "up", "down")]
N, K = 64, 128
CHANNEL = {"num_bits": 8, "type": "int", "strategy": "channel", "symmetric": True, "dynamic": False}
TOKEN = CHANNEL | {"strategy": "token", "dynamic": True}
TENSOR = CHANNEL | {"strategy": "tensor"}
GROUPED = CHANNEL | {"num_bits": 4, "strategy": "group", "group_size": 32}
FLOAT = {"type": "float"}
Group = dict[str, Any]


def group(weights: Any, inputs: Any, *targets: str, **more: Any) -> Group:
    named = [*targets] or ["Linear"]
    return {"targets": named, "weights": weights, "input_activations": inputs, **more}


def floats(module: str) -> Tensors:
    return {f"{module}.weight": np.ones((N, K), BFLOAT16)}


def int8(module: str) -> Tensors:
    codes = (np.arange(N * K) % 255 - 127).astype(np.int8).reshape(N, K)
    return {f"{module}.weight": codes, f"{module}.weight_scale": np.full((N, 1), 0.01, BFLOAT16)}


def int4(module: str) -> Tensors:
    return int8(module) | {
        f"{module}.weight": (np.arange(N * K) % 16 - 8).astype("i1").reshape(N, K)
    }


def fp8(module: str) -> Tensors:
    return int8(module) | {f"{module}.weight": np.ones((N, K), FLOAT8)}


def static(module: str) -> Tensors:
    return int8(module) | {f"{module}.input_scale": np.full(1, 0.02, BFLOAT16)}


def packed(module: str) -> Tensors:
    return {
        f"{module}.weight_packed": np.arange(N * K // 8, dtype=np.int32).reshape(N, K // 8),
        f"{module}.weight_scale": np.full((N, K // 32), 0.01, BFLOAT16),
        f"{module}.weight_shape": np.array([N, K], np.int64),
    }


def tensors_of(*parts: tuple[Callable[[str], Tensors], Iterable[str]]) -> Tensors:
    return {name: a for make, modules in parts for m in modules for name, a in make(m).items()}


class Model(NamedTuple):
    """What is in a folder."""

    tensors: Tensors
    groups: dict[str, Group]
    ignore: list[str] = ["lm_head"]  # noqa: RUF012
    format: str = "int-quantized"
    more: dict[str, Any] = {}  # noqa: RUF012
    """Other keys of quantization_config."""

    def write(self, folder: Path) -> Path:
        """Write it into a new folder, and return the folder."""
        folder.mkdir(parents=True)
        heads = tensors_of((floats, ("model.embed_tokens", "lm_head")))
        write(folder / "model.safetensors", heads | self.tensors)
        said = {"config_groups": self.groups, "ignore": self.ignore, "format": self.format}
        config = {
            "architectures": ["LlamaForCausalLM"],
            "model_type": "llama",
            "torch_dtype": "bfloat16",
            "tie_word_embeddings": False,
            "quantization_config": {"quant_method": "compressed-tensors", **said, **self.more},
        }
        write_json(folder / "config.json", config)
        return folder


NO_ATTENTION = ["lm_head", "re:.*self_attn.*"]
W8A8 = Model(tensors_of((int8, LINEARS)), {"group_0": group(CHANNEL, TOKEN)})
STATIC = Model(tensors_of((static, LINEARS)), {"group_0": group(CHANNEL, TENSOR)})
FP8 = Model(
    tensors_of((fp8, LINEARS)),
    {"FP8_DYNAMIC": group(CHANNEL | FLOAT, TOKEN | FLOAT)},
    format="float-quantized",
)
W4A8 = Model(
    tensors_of((int8, ATTENTION), (int4, EXPERTS)),
    {
        "group_0": group(CHANNEL, TOKEN, "re:.*self_attn.*"),
        "group_1": group(CHANNEL | {"num_bits": 4}, TOKEN, "re:.*(gate|up|down)_proj.*"),
    },
)
W4A16 = Model(
    tensors_of((floats, ATTENTION), (packed, EXPERTS)),
    {"group_0": group(GROUPED, None)},
    NO_ATTENTION,
    "pack-quantized",
)
GOOD = {
    "W8A8_DYNAMIC": W8A8,
    "W8A8": STATIC,
    "W8A8FP8_DYNAMIC": FP8,
    "W4A8_DYNAMIC": W4A8,
    "W4A16": W4A16,
}
"""By the type of most of their modules."""
