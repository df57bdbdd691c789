"""Which Linears of real models are quantized: the language model's layers, and no tower's."""

from __future__ import annotations

import itertools
import re
from pathlib import Path
from typing import Any

import pytest
from checkpoints.tensor_files import BFLOAT16, Tensors, write, write_json
from numpy import ones

from npu_quant import checkpoint
from npu_quant.checkpoint.names import fused_groups
from npu_quant.checkpoint.reports import QuantizeReport

QKVO = "self_attn.{q,k,v,o}_proj"
LLAMA = f"{QKVO} mlp.{{gate,up,down}}_proj"
CLIP = "self_attn.{q,k,v,out}_proj mlp.fc{1,2}"
PHI = "self_attn.{qkv,o}_proj mlp.{gate_up,down}_proj"
GLM = "self_attention.query_key_value self_attention.dense mlp.dense_{h_to_4h,4h_to_h}"
INTERN = "attention.w{qkv,o} feed_forward.w{1,2,3}"
MLA = (
    "self_attn.{q_a,q_b,o}_proj self_attn.kv_a_proj_with_mqa mlp.experts.{0,1}.{gate,up,down}_proj"
)
BERT = "attention.self.query attention.output.dense intermediate.dense output.dense"
# Of each model: its token embedding, the layers that are quantized, and Linears that are not.
MODELS: dict[str, tuple[str, str, str]] = {
    "llama": ("model.embed_tokens", f"model.layers.0 {LLAMA}", ""),
    "phi3": ("model.embed_tokens", f"model.layers.0 {PHI}", ""),
    "mixtral": ("model.embed_tokens", f"model.layers.0 {QKVO} moe.experts.{{0,1}}.w{{1,2,3}}", ""),
    "internlm2": ("model.tok_embeddings", f"model.layers.0 {INTERN}", ""),
    "chatglm": ("transformer.embedding.word_embeddings", f"transformer.encoder.layers.0 {GLM}", ""),
    "falcon": ("transformer.word_embeddings", "transformer.h.0 mlp.dense_h_to_4h", ""),
    "gpt_neox": ("gpt_neox.embed_in", "gpt_neox.layers.0 attention.dense", ""),
    "nemotron_h": ("backbone.embeddings", "backbone.layers.0 mixer.{up,down}_proj", ""),
    "opt": ("model.decoder.embed_tokens", f"model.decoder.layers.0 {CLIP}", ""),
    "bert": ("embeddings.word_embeddings", f"encoder.layer.0 {BERT}", "pooler.dense"),
    "roberta": (
        "roberta.embeddings.word_embeddings",
        f"roberta.encoder.layer.0 {BERT}",
        "classifier.dense classifier.out_proj lm_head.dense",
    ),
    "deepseek_v4": ("embed", "layers.0 ffn.w{1,2,3}", "mtp.0.ffn.w{1,2,3}"),
    "deepseek_v3": ("model.embed_tokens", f"model.layers.0 {MLA}", "model.layers.0.kv_b_proj"),
    "bart": ("model.shared", f"model.encoder.layers.0 {CLIP} fc1", ""),
    "whisper": (
        "model.decoder.embed_tokens",
        f"model.decoder.layers.0 {CLIP}",
        "model.encoder.layers.0.fc{1,2}",
    ),
    "qwen2_vl": ("model.embed_tokens", f"model.layers.0 {LLAMA}", "visual.blocks.0.mlp.fc{1,2}"),
    "qwen3_vl": (
        "model.language_model.embed_tokens",
        f"model.language_model.layers.0 {LLAMA}",
        "model.visual.blocks.0.mlp.{gate,up,down}_proj model.visual.merger.{gate,up}_proj",
    ),
    "internvl_chat": (
        "language_model.model.tok_embeddings",
        f"language_model.model.layers.0 {INTERN}",
        "vision_model.encoder.layers.0.mlp.fc{1,2}",
    ),
    "deepseek_vl_v2": (
        "language.model.embed_tokens",
        f"language.model.layers.0 {MLA}",
        "vision.blocks.0.mlp.fc{1,2}",
    ),
    "deepseekocr": (
        "model.embed_tokens",
        f"model.layers.0 {LLAMA}",
        "model.sam_model.blocks.0.mlp.fc{1,2} model.vision_model.transformer.layers.0.mlp.fc{1,2}",
    ),
    "glm4v": (
        "transformer.embedding.word_embeddings",
        f"transformer.encoder.layers.0 {GLM}",
        "transformer.vision.transformer.layers.0.mlp.fc{1,2} transformer.vision.linear.gate_proj",
    ),
    "minicpmv": (
        "llm.model.embed_tokens",
        f"llm.model.layers.0 {LLAMA}",
        "vpm.encoder.layers.0.mlp.fc{1,2} resampler.attn.out_proj apm.layers.0.fc1",
    ),
    "kimi_vl": (
        "language_model.model.embed_tokens",
        f"language_model.model.layers.0 {MLA}",
        "vision_tower.encoder.blocks.0.w{qkv,o} vision_tower.encoder.blocks.0.mlp.fc1",
    ),
    "qwen2_audio": (
        "language_model.model.embed_tokens",
        f"language_model.model.layers.0 {LLAMA}",
        "audio_tower.layers.0.fc{1,2}",
    ),
    "qwen3_omni_moe": (
        "thinker.model.embed_tokens",
        f"thinker.model.layers.0 {LLAMA}",
        "thinker.visual.blocks.0.mlp.fc1 thinker.audio_tower.layers.0.fc1 talker.model.layers.0."
        "mlp.up_proj code2wav.pre_transformer.layers.0.mlp.up_proj",
    ),
    "phi4mm": (
        "model.embed_tokens",
        f"model.layers.0 {PHI}",
        "model.embed_tokens_extend.image_embed.img_processor.encoder.layers.0.mlp.fc{1,2}",
    ),
    "a tower without a known word": (
        "model.embed_tokens",
        f"model.layers.0 {LLAMA}",
        "eyes.blocks.0.mlp.fc{1,2} bridge.fc1",
    ),
    "layers that have no Linear": (
        "transformer.wte",
        "transformer.h.0 c_attn",
        "eyes.layers.0.fc1",
    ),
    "two at one depth": ("model.embed_tokens", "model.layers.0 fc1", "model.vision_layers.0.fc1"),
}


def braced(text: str) -> list[str]:
    """Return what a shell makes of a word: a{b,c} is ab and ac."""
    if not (found := re.search(r"{([^}]*)}", text)):
        return [text]
    return [
        name
        for word in found[1].split(",")
        for name in braced(text[: found.start()] + word + text[found.end() :])
    ]


def model(folder: Path, modules: list[str], **config: Any) -> Path:
    folder.mkdir()
    tensors: Tensors = {f"{m}.weight": ones((64, 64), BFLOAT16) for m in modules}
    write(folder / "model.safetensors", tensors)
    write_json(folder / "config.json", {"model_type": "x", "torch_dtype": "bfloat16", **config})
    return folder


def parts_of(name: str) -> tuple[list[str], list[str], list[str]]:
    embedding, layers, others = MODELS[name]
    at, *linears = layers.split()
    inner = [f"{at}.{module}" for linear in linears for module in braced(linear)]
    outer = [module for word in others.split() for module in braced(word)]
    return [embedding], inner, outer


def planned(folder: Path, **options: Any) -> QuantizeReport:
    out = folder.parent / "out"
    return checkpoint.quantize(folder, out, "W8A8_DYNAMIC", dry_run=True, **options)


@pytest.mark.parametrize("name", MODELS)
def test_the_layers_of_the_language_model_are_quantized(name: str, tmp_path: Path) -> None:
    embedding, inner, outer = parts_of(name)
    report = planned(model(tmp_path / "model", [*embedding, *inner, *outer]))
    kept = {entry["name"]: entry["reason"] for entry in report.left_float}
    known = [m for m in inner if kept.get(m) != "not known to be a Linear"]
    assert [layer.name for layer in report.layers] == known
    assert kept.keys() >= set(outer)
    assert report.language_model == [MODELS[name][1].split()[0].removesuffix(".0")]


@pytest.mark.parametrize(
    "others", [[], ["a.vision.blocks.0.mlp.fc1", "image_encoder.layers.0.fc1"]]
)
def test_without_a_token_embedding_names_decide(others: list[str], tmp_path: Path) -> None:
    inner = ["encoder.layer.0.output.dense", "pooler.dense"]
    report = planned(model(tmp_path / "model", [*inner, *others]))
    assert [layer.name for layer in report.layers] == inner
    assert [place["name"] for place in report.outside] == [m.split(".0.")[0] for m in others]
    assert report.language_model == []


def test_a_tower_that_is_asked_for(tmp_path: Path) -> None:
    """It is quantized, and every form of the report says so."""
    modules = [m for some in parts_of("deepseek_vl_v2") for m in some]
    folder = model(tmp_path / "model", modules)
    tower = {"name": "vision.blocks", "reason": "vision or audio tower", "linears": 2}
    assert planned(folder).to_dict()["outside"] == [tower | {"quantized": 0}]
    report = planned(folder, include="vision.*.fc1")
    assert report.to_dict()["outside"] == [tower | {"quantized": 1}]
    (said,) = [
        text for text in report.warnings if text.startswith("vision.blocks (vision or audio")
    ]
    assert said in str(report)
    assert "vision.blocks (vision or audio tower): 1 of its 2 Linears" in report._repr_html_()


GROUPS = [
    ("llama", "q_proj k_proj v_proj"),
    ("llama", "gate_proj up_proj"),
    ("internlm2", "w1 w3"),
    ("qwen", "w1 w2"),
    ("deepseek_v3", "q_a_proj kv_a_proj_with_mqa"),
    ("qwen3_5", "in_proj_qkv in_proj_z"),
    ("qwen3_5", "in_proj_b in_proj_a"),
    ("bert", "query key value"),
    ("qwen2_5_omni", "attn_q_proj attn_k_proj attn_v_proj"),
    ("minimax_m3", "index_q_proj index_k_proj"),
]
ALONE = ["o_proj", "down_proj", "qkv_proj", "in_proj_qkvz", "in_proj_ba"]
LASTS = [*" ".join(parts for _, parts in GROUPS).split(), "w2", *ALONE]


@pytest.mark.parametrize(("model_type", "parts"), GROUPS)
def test_what_one_layer_of_a_consumer_is_made_of(model_type: str, parts: str) -> None:
    """As packed_modules_mapping of vllm-ascend and of vLLM's models has it."""
    modules = [f"layers.0.{last}" for last in dict.fromkeys(LASTS)]
    groups = [sorted(members) for _, members in fused_groups(modules, model_type)]
    assert sorted(f"layers.0.{part}" for part in parts.split()) in groups
    assert not {f"layers.0.{last}" for last in ALONE}.intersection(itertools.chain(*groups))


def test_the_query_of_a_cross_attention_is_a_layer_of_its_own() -> None:
    modules = [f"layers.0.encoder_attn.{m}_proj" for m in "qkvo"]
    assert [members for _, members in fused_groups(modules, "whisper")] == [modules[1:3]]


SPLIT = [
    ("internlm2", {"exclude": "*.w1"}),
    ("internlm2", {"exclude": "*.0.feed_forward.w3"}),
    ("internlm2", {"types": {"*.w3": "W8A16"}}),
    ("deepseek_vl_v2", {"exclude": "*.experts.1.*"}),
    ("qwen3_vl", {"include": "*visual*", "exclude": "*.visual.*.up_proj"}),
]


@pytest.mark.parametrize(("name", "options"), SPLIT)
def test_a_plan_that_splits_a_layer(name: str, options: dict[str, Any], tmp_path: Path) -> None:
    """It is refused, and is none when what the message says is added."""
    embedding, inner, outer = parts_of(name)
    more = [module.replace(".0.", ".1.", 1) for module in (*inner, *outer)]
    folder = model(tmp_path / "model", [*embedding, *inner, *outer, *more], model_type=name)
    with pytest.raises(checkpoint.CheckpointError, match="must have one type") as refused:
        planned(folder, **options)
    globs = re.findall(r"--exclude '([^']*)'", str(refused.value))
    exclude = [*globs, options["exclude"]] if "exclude" in options else globs
    assert planned(folder, **(options | {"exclude": exclude})).layers


@pytest.mark.parametrize("glob", ["*.w2", "*.wqkv", "*.feed_forward.*"])
def test_a_plan_that_splits_none(glob: str, tmp_path: Path) -> None:
    embedding, inner, _ = parts_of("internlm2")
    assert planned(model(tmp_path / "model", [*embedding, *inner]), exclude=glob).layers
