"""Small models on disk: the names, shapes and config.json of real families, seeded numbers."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np

from .tensor_files import BFLOAT16, FLOAT8, Array, Tensors, write, write_json

Shapes = dict[str, tuple[int, ...]]
Config = dict[str, Any]
GATED = ("gate_proj", "up_proj", "down_proj")
# About 1 GiB: make(folder, "llama", shards=8, **LARGE).
LARGE = {"hidden": 2048, "inner": 8192, "layers": 8, "vocab": 16384}


def attention(at: str, hidden: int, *, bias: bool = False, norms: bool = False) -> Shapes:
    """4 heads, 2 of keys and values."""
    rows = {"q": hidden, "k": hidden // 2, "v": hidden // 2}
    shapes: Shapes = {f"{at}.{n}_proj.weight": (r, hidden) for n, r in rows.items()}
    shapes |= {f"{at}.{n}_proj.bias": (r,) for n, r in rows.items() if bias}
    shapes |= {f"{at}.{n}_norm.weight": (hidden // 4,) for n in "qk" if norms}
    return shapes | {f"{at}.o_proj.weight": (hidden, hidden)}


def gated(at: str, hidden: int, inner: int, names: tuple[str, str, str] = GATED) -> Shapes:
    shapes = [(inner, hidden), (inner, hidden), (hidden, inner)]
    return {f"{at}.{name}.weight": shape for name, shape in zip(names, shapes, strict=True)}


def norms(at: str, hidden: int) -> Shapes:
    names = ("input_layernorm", "post_attention_layernorm")
    return {f"{at}.{name}.weight": (hidden,) for name in names}


def experts(at: str, s: Config, names: tuple[str, str, str] = GATED) -> Shapes:
    """A router and separate experts."""
    shapes: Shapes = {f"{at}.gate.weight": (s["experts"], s["hidden"])}
    for e in range(s["experts"]):
        shapes |= gated(f"{at}.experts.{e}", s["hidden"], s["inner"], names)
    return shapes


def stacked(at: str, s: Config, *, is_transposed: bool) -> Shapes:
    """A router and experts in two 3-D tensors, whose names do not end with .weight."""
    e, h, i = s["experts"], s["hidden"], s["inner"]
    up, down = ((e, h, 2 * i), (e, i, h)) if is_transposed else ((e, 2 * i, h), (e, h, i))
    names = {f"{at}.experts.gate_up_proj": up, f"{at}.experts.down_proj": down}
    return {f"{at}.gate.weight": (e, h), **names}


def body(prefix: str, s: Config, layer: Callable[[str, int], Shapes]) -> Shapes:
    """Embeddings, layers and the last norm."""
    shapes: Shapes = {f"{prefix}embed_tokens.weight": (s["vocab"], s["hidden"])}
    for i in range(s["layers"]):
        shapes |= layer(f"{prefix}layers.{i}", i)
    return shapes | {f"{prefix}norm.weight": (s["hidden"],)}


def plain(s: Config, *, bias: bool = False) -> Shapes:
    def layer(at: str, _: int) -> Shapes:
        found = norms(at, s["hidden"]) | attention(f"{at}.self_attn", s["hidden"], bias=bias)
        return found | gated(f"{at}.mlp", s["hidden"], s["inner"])

    return body("model.", s, layer)


def sparse(s: Config, mlp: Callable[[str], Shapes], prefix: str = "model.") -> Shapes:
    def layer(at: str, _: int) -> Shapes:
        found = norms(at, s["hidden"]) | attention(f"{at}.self_attn", s["hidden"], norms=True)
        return found | mlp(at)

    return body(prefix, s, layer)


def visual(at: str, s: Config) -> Shapes:
    """A tower whose Linears have names of a language model's, and others."""
    h = s["hidden"]
    block = {f"{at}.blocks.0.attn.{n}.weight": (r * h, h) for n, r in (("qkv", 3), ("proj", 1))}
    shapes: Shapes = {f"{at}.patch_embed.proj.weight": (h, 3, 2, 4, 4), **block}
    shapes |= gated(f"{at}.blocks.0.mlp", h, s["inner"])
    return shapes | {f"{at}.pos_embed.weight": (16, h), f"{at}.merger.mlp.0.weight": (h, h)}


def linear_attention(at: str, h: int) -> Shapes:
    parts = {"in_proj_qkv": (2 * h, h), "in_proj_z": (h, h), "in_proj_b": (4, h)}
    parts |= {"in_proj_a": (4, h), "out_proj": (h, h)}
    shapes: Shapes = {f"{at}.{name}.weight": shape for name, shape in parts.items()}
    return shapes | {f"{at}.conv1d.weight": (2 * h, 1, 4), f"{at}.A_log": (4,)}


def qwen3_5(s: Config) -> Shapes:
    """Layers of two kinds of attention, a shared expert, a draft layer, a tower."""
    h = s["hidden"]

    def layer(at: str, i: int) -> Shapes:
        found = norms(at, h)
        is_linear = i % 2 == 0
        found |= linear_attention(f"{at}.linear_attn", h) if is_linear else {}
        found |= {} if is_linear else attention(f"{at}.self_attn", h, norms=True)
        found |= stacked(f"{at}.mlp", s, is_transposed=False)
        found |= gated(f"{at}.mlp.shared_expert", h, s["inner"])
        return found | {f"{at}.mlp.shared_expert_gate.weight": (1, h)}

    draft: Shapes = {"mtp.fc.weight": (h, 2 * h), **layer("mtp.layers.0", 1)}
    return body("model.language_model.", s, layer) | visual("model.visual", s) | draft


def deepseek(s: Config) -> Shapes:
    """Latent attention, a dense layer, layers of experts, and a draft layer after the last."""
    h, inner, rank = s["hidden"], s["inner"], 64
    sizes = {"q_a_proj": (96, h), "q_b_proj": (96, 96), "kv_a_proj_with_mqa": (rank + 16, h)}
    sizes |= {"kv_b_proj": (128, rank), "o_proj": (h, 64)}

    def layer(at: str, i: int) -> Shapes:
        found = norms(at, h) | {f"{at}.self_attn.{n}.weight": shape for n, shape in sizes.items()}
        found |= {
            f"{at}.self_attn.{n}_a_layernorm.weight": (r,) for n, r in (("q", 96), ("kv", 64))
        }
        if i == 0:
            return found | gated(f"{at}.mlp", h, 208)
        found |= {f"{at}.mlp.gate.e_score_correction_bias": (s["experts"],)}
        return found | experts(f"{at}.mlp", s) | gated(f"{at}.mlp.shared_experts", h, inner)

    at = f"model.layers.{s['layers']}"
    draft: Shapes = {f"{at}.{n}.weight": (h,) for n in ("enorm", "hnorm", "shared_head.norm")}
    draft |= {f"{at}.eh_proj.weight": (h, 2 * h), f"{at}.shared_head.head.weight": (s["vocab"], h)}
    return body("model.", s, layer) | draft | layer(at, s["layers"])


# Of each family: its class, its sizes where they are not the usual, its tensors.
DENSE = {"hidden": 72, "inner": 112, "layers": 2, "vocab": 320}
MIXED = DENSE | {"hidden": 64, "inner": 48, "experts": 4}
MIXTRAL = ("w1", "w3", "w2")
FAMILIES: dict[str, tuple[str, Config, Callable[[Config], Shapes]]] = {
    "qwen2": ("Qwen2ForCausalLM", DENSE, lambda s: plain(s, bias=True)),
    "llama": ("LlamaForCausalLM", DENSE, plain),
    "qwen3_moe": (
        "Qwen3MoeForCausalLM",
        MIXED,
        lambda s: sparse(s, lambda at: experts(f"{at}.mlp", s)),
    ),
    "mixtral": (
        "MixtralForCausalLM",
        MIXED,
        lambda s: sparse(s, lambda at: experts(f"{at}.block_sparse_moe", s, MIXTRAL)),
    ),
    "qwen3_vl_moe": (
        "Qwen3VLMoeForConditionalGeneration",
        MIXED,
        lambda s: (
            sparse(
                s,
                lambda at: stacked(f"{at}.mlp", s, is_transposed=True),
                "model.language_model.",
            )
            | visual("model.visual", s)
        ),
    ),
    "qwen3_5_moe": ("Qwen3_5MoeForConditionalGeneration", MIXED, qwen3_5),
    "deepseek_v3": ("DeepseekV3ForCausalLM", MIXED | {"hidden": 192, "inner": 176}, deepseek),
    "qwen2_5_vl": (
        "Qwen2_5_VLForConditionalGeneration",
        DENSE,
        lambda s: plain(s, bias=True) | visual("visual", s),
    ),
}
IN_BLOCKS = re.compile(r".*\.(self_attn|mlp)\..*(_proj|_with_mqa)\.weight")
NESTED = ("qwen3_vl_moe", "qwen3_5_moe", "qwen2_5_vl")


def config_of(family: str, s: Config, dtype: str, *, tied: bool) -> Config:
    """Return config.json, with a word that is not ASCII, and dtypes in every place."""
    text: Config = {
        "hidden_size": s["hidden"],
        "intermediate_size": s["inner"],
        "num_hidden_layers": s["layers"],
        "torch_dtype": dtype,
        "num_attention_heads": 4,
        "num_key_value_heads": 2,
        "rms_norm_eps": 1e-6,
        "hidden_act": "silu",
        "max_position_embeddings": 128,
        "vocab_size": s["vocab"],
    }
    if "experts" in s:
        text |= {"moe_intermediate_size": s["inner"], "num_experts": s["experts"]}
        text |= {"num_local_experts": s["experts"], "num_experts_per_tok": 2}
    config = {"_name_or_path": "模型", "architectures": [FAMILIES[family][0]], "model_type": family}
    if family in NESTED:
        vision = {"hidden_size": s["hidden"], "dtype": dtype, "depth": 1}
        nested = {"text_config": {"model_type": f"{family}_text", **text}, "vision_config": vision}
        return config | nested | {"dtype": dtype, "tie_word_embeddings": tied}
    if family == "deepseek_v3":
        blocks = {"quant_method": "fp8", "fmt": "e4m3", "activation_scheme": "dynamic"}
        text |= {"num_nextn_predict_layers": 1, "first_k_dense_replace": 1}
        config |= {"quantization_config": blocks | {"weight_block_size": [128, 128]}}
    return config | text | {"tie_word_embeddings": tied}


def numbers(rng: np.random.Generator, name: str, shape: tuple[int, ...], dtype: Any) -> Array:
    """Return ordinary numbers: outlier columns, a row of zeros, -0.0, rows of subnormals."""
    count = int(np.prod(shape))
    pool = rng.standard_normal(min(count, 1 << 20), np.float32) * np.float32(0.05)
    x = np.resize(pool, shape)
    if "norm" in name:
        return np.asarray((1 + x).astype(dtype))
    if len(shape) > 1 and shape[-2] > 8 and shape[-1] > 8:
        x[..., ::17] *= 20
        x[..., 1, :] = 0
        x[..., 2, ::5] = -0.0
        least = ml_dtypes.finfo(dtype).smallest_subnormal.astype(np.float32)
        x[..., 3, :] = least * rng.integers(-300, 301, shape[-1]).astype(np.float32)
        x[..., 4, :] = least * rng.integers(-1, 2, shape[-1]).astype(np.float32)
    return np.asarray(x.astype(dtype))


def in_blocks(name: str, weight: Array) -> Tensors:
    """Return a weight as FP8 codes, and a scale per block of 128 x 128."""
    x = weight.astype(np.float32)
    n, k = x.shape
    blocks = [(i, j) for i in range(-(-n // 128)) for j in range(-(-k // 128))]
    scale = np.ones((-(-n // 128), -(-k // 128)), np.float32)
    codes = np.zeros((n, k), FLOAT8)
    for i, j in blocks:
        at = np.s_[128 * i : 128 * i + 128, 128 * j : 128 * j + 128]
        scale[i, j] = np.abs(x[at]).max() / np.float32(448)
        codes[at] = (x[at] / scale[i, j]).astype(FLOAT8)
    return {name: codes, f"{name}_scale_inv": scale}


def tensors_of(family: str, names: Shapes, dtype: Any, seed: int) -> Iterator[tuple[str, Array]]:
    """Yield the tensors; scales of FP8 blocks after all others, so in another shard."""
    rng = np.random.default_rng(seed)
    late: Tensors = {}
    for name, shape in names.items():
        kind = np.dtype(np.float32) if "e_score" in name else dtype
        made = {name: numbers(rng, name, shape, kind)}
        if family == "deepseek_v3" and IN_BLOCKS.fullmatch(name):
            made = in_blocks(name, made[name])
        late |= {n: made.pop(n) for n in [*made] if n.endswith("_scale_inv")}
        yield from made.items()
    yield from late.items()


def others(folder: Path) -> None:
    """Write what is in a model's folder beside config.json and weights."""
    (folder / "assets").mkdir()
    (folder / "original").mkdir()
    write_json(folder / "generation_config.json", {"eos_token_id": 2})
    write_json(folder / "tokenizer.json", {"version": "1.0", "added_tokens": ["字"]})
    write_json(folder / "tokenizer_config.json", {"model_max_length": 128})
    (folder / "tokenizer.model").write_bytes(bytes(range(256)))
    (folder / "chat_template.jinja").write_text("{{ messages }}\n")
    (folder / "assets/vocab.txt").write_text("a\nb\n")
    (folder / "vocab.txt").symlink_to("assets/vocab.txt")
    (folder / "original/params.json").write_text("{}\n")
    (folder / "original/consolidated.00.pth").write_bytes(b"not copied")
    (folder / ".gitattributes").write_text("not copied\n")


def shard(folder: Path, number: int, shards: int, tensors: Tensors) -> str:
    """Write a shard: its header by name, its tensors in another order; the last is a link."""
    file = f"model-{number:05d}-of-{shards:05d}.safetensors" if shards > 1 else "model.safetensors"
    path = folder / file
    if 1 < shards == number:
        (folder / ".blobs").mkdir()
        path.symlink_to(f".blobs/{number}")
    write(path, tensors, is_sorted_header=True)
    return file


def in_shards(tensors: Iterator[tuple[str, Array]], shards: int, total: int) -> Iterator[Tensors]:
    """Yield the tensors of each shard, of about the same size."""
    held: Tensors = {}
    size = done = 0
    for name, a in tensors:
        if held and done + 1 < shards and size >= total * (done + 1) / shards:
            done += 1
            yield held
            held = {}
        held[name] = a
        size += a.nbytes
    yield held


def make(
    folder: Path,
    family: str,
    *,
    shards: int = 2,
    dtype: str = "bfloat16",
    tied: bool | None = None,
    seed: int = 0,
    **sizes: int,
) -> Path:
    """Write a model into a new folder, and return the folder; one shard has no index."""
    s = FAMILIES[family][1] | sizes
    tied = family == "qwen2" if tied is None else tied
    names = FAMILIES[family][2](s)
    if not tied:
        names["lm_head.weight"] = (s["vocab"], s["hidden"])
    kind = BFLOAT16 if dtype == "bfloat16" else np.dtype(dtype)
    width = 1 if family == "deepseek_v3" else kind.itemsize
    total = sum(int(np.prod(shape)) for shape in names.values()) * width
    folder.mkdir(parents=True)
    weight_map: dict[str, str] = {}
    size = 0
    for number, held in enumerate(in_shards(tensors_of(family, names, kind, seed), shards, total)):
        weight_map |= dict.fromkeys(held, shard(folder, number + 1, shards, held))
        size += sum(a.nbytes for a in held.values())
    if shards > 1:
        index = {"metadata": {"total_size": size}, "weight_map": dict(sorted(weight_map.items()))}
        write_json(folder / "model.safetensors.index.json", index)
    write_json(folder / "config.json", config_of(family, s, dtype, tied=tied))
    others(folder)
    return folder
