"""Which modules of a model are Linears, by their names, and which go together.

A module is a weight's name without ``.weight``.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator


def words(text: str) -> tuple[str, ...]:
    """Return the words of a text."""
    return tuple(text.split())


LINEARS = words("""
    q_proj k_proj v_proj o_proj qkv_proj gate_proj up_proj down_proj gate_up_proj q_a_proj
    q_b_proj kv_a_proj_with_mqa kv_b_proj w1 w2 w3 wqkv wo query_key_value dense
    dense_h_to_4h dense_4h_to_h fc1 fc2 out_proj
""")
"""The last names of modules that are Linears."""

NEVER = {
    "kv_b_proj": "vllm-ascend wants it unquantized",
    **dict.fromkeys(("eh_proj", "mtp_linear_proj"), "vLLM has a plain nn.Linear for it"),
    "weights_proj": "vLLM has no quantized Linear for an indexer's weights",
}
"""The last names of modules that no consumer reads quantized, and why."""
_READ_BY = {"eh_proj": ("longcat_flash", "minimax_m3", "bailing_hybrid")}
"""Beginnings of the model_types whose classes do have a quantized Linear of such a name."""
_EMBEDDING = re.compile(r"embed|(^|\.)(wte|wpe|shared)$")
_NORM = re.compile(r"norm|(^|\.)ln_?\w*$")
HEAD = "lm_head"
HEADS = frozenset((HEAD, "gate", "router", "score", "classifier", "shared_expert_gate"))

KNOWN_MODELS = words("""
    qwen qwen2 qwen3 llama mistral mixtral qwen2_moe qwen2_vl qwen3_vl qwen3_moe internlm2
    deepseek_v2 deepseek_v3 deepseek_v32 deepseek_v4 deepseek_mtp pangu_ultra_moe
    pangu_ultra_moe_mtp kimi_k2 glm_moe_dsa qwen3_next qwen2_5_vl qwen3_vl_moe glm4_moe
    glm4_moe_lite glm4v_moe glm4v_moe_text longcat_flash minimax_m2 minimax_m3 minimax_m3_vl
    qwen3_omni_moe qwen3_omni_moe_text qwen2_5_omni qwen3_5 qwen3_5_moe gemma4 gemma4_text
    bailing_hybrid step3p5 step3p5_mtp
""")
"""model_type of the models whose fused layers and experts are as here: vllm-ascend's
packed_modules_model_mapping, those whose layers are Qwen's or Llama's, and InternLM2."""

DOWN = ("down_proj", "w2")
_EXPERT = re.compile(r"(?P<experts>.*\.experts)\.\d+\.[^.]+")
_FUSED = tuple(
    words(line)
    for line in """
    q_proj k_proj v_proj
    attn_q_proj attn_k_proj attn_v_proj
    query key value
    q k v
    index_q_proj index_k_proj
    gate_proj up_proj
    w1 w3
    c_fc_0 c_fc_1
    q_a_proj kv_a_proj_with_mqa
    in_proj_qkv in_proj_z
    in_proj_b in_proj_a
    """.strip().splitlines()
)
"""What consumers load as one layer, by the last names of its parts: packed_modules_model_mapping of
vllm-ascend, packed_modules_mapping and stacked_params_mapping of vLLM's models."""
_FUSED_OF = {"qwen": (("w1", "w2"), *(parts for parts in _FUSED if "w1" not in parts))}
"""The same of models, by model_type, whose names mean something else."""


def modules_of(tensors: Iterable[str]) -> list[str]:
    """Return the modules that have a weight, by the names of all tensors."""
    return [name.removesuffix(".weight") for name in tensors if name.endswith(".weight")]


def last_of(module: str) -> str:
    """Return the last part of a module's name."""
    return module.rpartition(".")[2]


def is_down(module: str) -> bool:
    """Say whether a module is a down projection, whose scale_bias is by runs of columns."""
    return last_of(module) in DOWN


def is_linear(module: str) -> bool:
    """Say whether a module is a Linear by its name."""
    return last_of(module) in LINEARS


def is_embedding_or_norm(module: str) -> bool:
    """Say whether a module is an embedding or a norm by its name."""
    return is_norm(module) or bool(_EMBEDDING.search(last_of(module)))


def is_norm(module: str) -> bool:
    """Say whether a module is a norm by its name."""
    return bool(_NORM.search(last_of(module)))


def never(module: str, model_type: str) -> str | None:
    """Say why no consumer reads a module quantized; None if one may."""
    last = last_of(module)
    if last.isdecimal():  # one of a list, such as ERNIE's mtp_linear_proj.0
        last = last_of(module.rpartition(".")[0])
    if last == "input_proj" and "mtp_layers" in module.split("."):  # MiMo's
        last = "eh_proj"
    return None if model_type.startswith(_READ_BY.get(last, "\0")) else NEVER.get(last)


def is_other(module: str) -> bool:
    """Say whether a module is no Linear though its weight is a matrix: embedding, norm, head."""
    return last_of(module) in HEADS or is_embedding_or_norm(module)


def has_head(tensors: Iterable[str]) -> bool:
    """Say whether a model has a head of another name than vLLM's, as InternLM2's output."""
    heads = (HEAD, "output", "output_layer", "embed_out")
    return any(last_of(module) in heads for module in modules_of(tensors))


def experts_of(module: str) -> str | None:
    """Return the name up to ``experts`` of a routed expert's module."""
    found = _EXPERT.fullmatch(module)
    return found["experts"] if found else None


def _fused(model_type: str) -> dict[str, str]:
    """What consumers load as one layer is called, by the last names of its parts."""
    fused = _FUSED_OF.get(model_type, _FUSED)
    return {part: f"{', '.join(parts[:-1])} and {parts[-1]}" for parts in fused for part in parts}


def fused_groups(modules: Iterable[str], model_type: str = "") -> Iterator[tuple[str, list[str]]]:
    """Yield what must be of one type: what it is called, and its modules, two at least."""
    of_experts: dict[str, list[str]] = {}
    others = []
    for module in modules:
        experts = experts_of(module)
        if experts is None:
            others.append(module)
        else:
            of_experts.setdefault(experts, []).append(module)
    for experts, members in of_experts.items():
        if len(members) > 1:
            yield f"the experts of {experts}", members
    yield from sharing_groups(others, model_type)


def sharing_groups(modules: Iterable[str], model_type: str = "") -> Iterator[tuple[str, list[str]]]:
    """Yield what has one input in one layer of consumers: of fused Linears, and of each expert."""
    called = _fused(model_type)
    groups: dict[tuple[str, str], list[str]] = {}
    for module in modules:
        parent, _, last = module.rpartition(".")
        # The query of Whisper's cross attention is of another input, so a layer of its own.
        if last in called and module.split(".")[-2:] != ["encoder_attn", "q_proj"]:
            groups.setdefault((parent, called[last]), []).append(module)
    for (parent, what), members in groups.items():
        if len(members) > 1:
            yield f"{what} of {parent}", members
