"""What checkpoints are judged by: names, order, descriptions and files, by hand."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from checkpoints import ascend_reader, models, modules
from checkpoints.arithmetic import widened
from checkpoints.expected import Expected, configured, expect, shards_of
from checkpoints.models import FAMILIES, make
from checkpoints.tensor_files import BFLOAT16, FLOAT8, header, read, read_json, write

import npu_quant

Q = "model.layers.0.self_attn.q_proj"
MOE = ("qwen3_moe", "mixtral", "qwen3_vl_moe", "qwen3_5_moe", "deepseek_v3")
DESCRIPTION = "quant_model_description.json"


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """Return what makes a model of a family, once."""
    folder = tmp_path_factory.mktemp("models")
    return lambda family: (
        folder / family if (folder / family).exists() else make(folder / family, family)
    )


@pytest.mark.parametrize("family", FAMILIES)
def test_a_model_is_the_same_whenever_it_is_made(family: str, made: Any, tmp_path: Path) -> None:
    again = make(tmp_path / "again", family)
    ours, theirs = (
        {p.relative_to(f): p.read_bytes() for f in [folder] for p in f.rglob("*") if p.is_file()}
        for folder in (made(family), again)
    )
    assert ours == theirs
    assert len(list(again.glob("*.safetensors"))) == 2
    index = read_json(again / "model.safetensors.index.json")
    where = {n: p.name for p in again.glob("*.safetensors") for n in read(p)}
    assert index["weight_map"] == where
    assert index["metadata"]["total_size"] == sum(a.nbytes for a in modules.source(again).values())


def test_a_model_has_every_kind_of_number(made: Any) -> None:
    w = modules.source(made("llama"))[f"{Q}.weight"]
    bits = w.view(np.uint16)
    assert not bits[1].any()
    assert bits[2, 0] == 0x8000
    assert 0 < np.abs(widened(w[3:5])).max() < 2.0**-124
    assert np.isfinite(widened(w)).all()


def test_tensors_are_planned_by_offset_and_files_by_name(made: Any) -> None:
    """The header of the source has them by name: neither is the order of a written file."""
    folder = made("llama")
    first = [*header(folder / "model-00001-of-00002.safetensors")]
    planned = [group[0].name for group in modules.groups(folder)]
    assert first == sorted(first)
    assert planned[:4] == [
        "model.embed_tokens.weight",
        "model.layers.0.input_layernorm.weight",
        "model.layers.0.post_attention_layernorm.weight",
        "model.layers.0.self_attn.q_proj.weight",
    ]
    assert planned[-2:] == ["model.norm.weight", "lm_head.weight"]


class TestW8A8:
    def test_what_becomes_of_a_layer(self, made: Any) -> None:
        e = expect(made("qwen2"), "W8A8_DYNAMIC")
        names = [n for n in e.tensors if n.startswith("model.layers.1.self_attn.k_proj.")]
        found = {n.rpartition(".")[2]: (e.tensors[n].dtype.name, e.tensors[n].shape) for n in names}
        assert found == {
            "weight": ("int8", (36, 72)),
            "weight_scale": ("float32", (36, 1)),
            "weight_offset": ("float32", (36, 1)),
            "bias": ("float32", (36,)),
        }
        source = modules.source(made("qwen2"))
        assert np.array_equal(e.tensors[f"{Q}.bias"], widened(source[f"{Q}.bias"]))
        assert e.tensors["model.norm.weight"].tobytes() == source["model.norm.weight"].tobytes()

    def test_the_description(self, made: Any) -> None:
        """Of a tied model: lm_head has a key and no tensor."""
        e = expect(made("qwen2"), "W8A8_DYNAMIC", exclude=["*layers.1.*"])
        said = e.texts[DESCRIPTION]
        keys = [*said]
        at = keys.index(f"{Q}.weight")
        assert keys[at : at + 4] == [
            f"{Q}.weight",
            f"{Q}.weight_scale",
            f"{Q}.weight_offset",
            "model.layers.0.self_attn.k_proj.weight",
        ]
        assert keys[-6:] == [
            "lm_head.weight",
            "version",
            "model_quant_type",
            "group_size",
            "metadata",
            "optional",
        ]
        assert said[f"{Q}.weight_offset"] == "W8A8_DYNAMIC"
        assert (
            said[f"{Q}.bias"]
            == said["lm_head.weight"]
            == said["model.layers.1.mlp.up_proj.weight"]
            == "FLOAT"
        )
        assert "lm_head.weight" not in e.tensors
        assert (
            said["version"],
            said["model_quant_type"],
            said["group_size"],
            said["optional"],
        ) == ("1.0.0", "W8A8_DYNAMIC", 0, {})
        assert said["metadata"] == {
            "npu_quant": {
                "version": npu_quant.__version__,
                "scheme": "W8A8_DYNAMIC",
                "recipe": "npu_quant-P-127",
            }
        }
        assert {*e.tensors} | {"lm_head.weight"} == {*keys[:-5]}

    def test_compressed_tensors(self, made: Any) -> None:
        e = expect(made("qwen2"), "W8A8_DYNAMIC", "compressed-tensors")
        assert [*e.shards] == ["model.safetensors"]
        assert [*e.texts] == ["config.json"]
        assert f"{Q}.weight_offset" not in e.tensors
        assert e.tensors[f"{Q}.weight_scale"].dtype == BFLOAT16
        assert e.tensors[f"{Q}.bias"].dtype == BFLOAT16
        said = e.texts["config.json"]["quantization_config"]
        assert said["ignore"] == ["lm_head"]
        assert said["config_groups"]["group_0"]["targets"] == ["Linear"]
        ascend = expect(made("qwen2"), "W8A8_DYNAMIC")
        for last, dtype in (("weight", np.int8), ("weight_scale", np.float32)):
            assert np.array_equal(
                e.tensors[f"{Q}.{last}"].astype(dtype), ascend.tensors[f"{Q}.{last}"]
            )

    def test_what_is_ignored(self, made: Any) -> None:
        e = expect(made("qwen2_5_vl"), "W8A8_DYNAMIC", "compressed-tensors", exclude=[Q])
        assert {*e.texts["config.json"]["quantization_config"]["ignore"]} == {
            Q, "lm_head", "visual.blocks.0.attn.qkv", "visual.blocks.0.attn.proj", "visual.blocks.0.mlp.gate_proj",
            "visual.blocks.0.mlp.up_proj", "visual.blocks.0.mlp.down_proj", "visual.merger.mlp.0",
        }  # fmt: skip


class TestModules:
    @pytest.mark.parametrize(
        ("family", "some", "count"),
        [
            ("llama", "model.layers.1.mlp.down_proj", 14),
            ("qwen2_5_vl", "model.layers.1.mlp.down_proj", 14),
            ("mixtral", "model.layers.1.block_sparse_moe.experts.3.w2", 32),
            ("qwen3_vl_moe", "model.language_model.layers.0.mlp.experts.3.gate_proj", 32),
            ("qwen3_5_moe", "model.language_model.layers.0.mlp.shared_expert.up_proj", 34),
            ("deepseek_v3", "model.layers.1.self_attn.kv_a_proj_with_mqa", 26),
        ],
    )
    def test_which_are_quantized(self, family: str, some: str, count: int, made: Any) -> None:
        types = expect(made(family), "W8A8_DYNAMIC").types
        assert some in types
        assert len(types) == count
        never = (
            "visual",
            "mtp",
            "linear_attn",
            "layers.2.",
            "kv_b_proj",
            "gate.",
            "embed",
            "lm_head",
        )
        assert [m for m in types if any(part in f"{m}." for part in never)] == []

    def test_choices(self, made: Any) -> None:
        """The last --type wins, --exclude over all; --include takes in, but for kv_b_proj."""
        types = [("*.mlp.*", "FLOAT"), ("*.0.mlp.up_proj", "W8A16")]
        e = expect(made("llama"), "W8A8_DYNAMIC", types=types, exclude=["*q_proj"])
        assert e.types["model.layers.0.mlp.up_proj"] == "W8A16"
        assert "model.layers.1.mlp.up_proj" not in e.types
        assert Q not in e.types
        include = ["*layers.2.self_attn.*"]
        e = expect(made("deepseek_v3"), "W8A8_DYNAMIC", include=include)
        assert "model.layers.2.self_attn.o_proj" in e.types
        assert "model.layers.2.self_attn.kv_b_proj" not in e.types

    @pytest.mark.parametrize("family", MOE)
    def test_experts_of_int4(self, family: str, made: Any) -> None:
        e = expect(made(family), "W4A8_DYNAMIC")
        down = next(m for m in e.types if m.endswith(("experts.0.down_proj", "experts.0.w2")))
        up = next(m for m in e.types if m.endswith(("experts.0.up_proj", "experts.0.w3")))
        n, k = e.tensors[f"{down}.weight"].shape
        assert (2 * n, 2 * e.tensors[f"{up}.weight"].shape[0]) == (
            e.tensors[f"{up}.weight"].shape[1],
            k,
        )
        assert e.tensors[f"{down}.scale_bias"].shape == (2 * n, 16)
        assert e.tensors[f"{up}.scale_bias"].shape == (k, 1)
        assert {t for m, t in e.types.items() if ".experts." not in m} == {"W8A8_DYNAMIC"}
        said = e.texts[DESCRIPTION]
        assert (said["model_quant_type"], said["group_size"]) == ("W8A8_DYNAMIC", 0)
        assert said["metadata"]["npu_quant"]["recipe"] == "npu_quant-7+npu_quant-P-127"
        groups = expect(made(family), "W4A8_DYNAMIC", "compressed-tensors").texts["config.json"][
            "quantization_config"
        ]["config_groups"]
        assert [g["weights"]["num_bits"] for g in groups.values()] == [8, 4]
        assert groups["group_1"]["input_activations"] == groups["group_0"]["input_activations"]

    @pytest.mark.parametrize(
        ("family", "is_transposed"), [("qwen3_vl_moe", True), ("qwen3_5_moe", False)]
    )
    def test_stacked_experts(self, family: str, is_transposed: bool, made: Any) -> None:
        """The second is excluded, and split all the same."""
        at = "model.language_model.layers.0.mlp.experts"
        source = modules.source(made(family))
        up, down = source[f"{at}.gate_up_proj"][2], source[f"{at}.down_proj"][2]
        up, down = (up.T, down.T) if is_transposed else (up, down)
        e = expect(made(family), "W8A8_DYNAMIC", exclude=["*"])
        assert not e.types
        assert e.tensors[f"{at}.2.gate_proj.weight"].tolist() == up[:48].tolist()
        assert e.tensors[f"{at}.2.up_proj.weight"].tolist() == up[48:].tolist()
        assert e.tensors[f"{at}.2.down_proj.weight"].tolist() == down.tolist()
        assert f"{at}.gate_up_proj" not in e.tensors
        keys = [k for k in e.texts[DESCRIPTION] if k.startswith(at)]
        assert keys[:3] == [
            f"{at}.0.gate_proj.weight",
            f"{at}.0.up_proj.weight",
            f"{at}.1.gate_proj.weight",
        ]

    def test_blocks_of_fp8(self, made: Any) -> None:
        """The last block of both sides is short; FLOAT is rounded to bfloat16, once."""
        source = modules.source(made("deepseek_v3"))
        name = "model.layers.2.self_attn.kv_b_proj.weight"
        code, scale = source[name], source[f"{name}_scale_inv"]
        e = expect(made("deepseek_v3"), "W8A8_DYNAMIC")
        w = widened(code) * scale[0, 0]
        assert (code.dtype, code.shape, scale.shape) == (FLOAT8, (128, 64), (1, 1))
        assert e.tensors[name].tolist() == w.astype(BFLOAT16).tolist()
        assert not [n for n in e.tensors if n.endswith("_scale_inv")]
        code, scale = np.full((130, 129), 2, FLOAT8), np.array([[1, 3], [5, 7]], np.float32)
        w = modules.of_blocks(code, scale, (128, 128))
        assert (w[127, 127], w[127, 128], w[128, 127], w[129, 128]) == (2, 6, 10, 14)


class TestParamsDtype:
    @pytest.mark.parametrize(
        ("source", "scheme", "asked", "expected"),
        [
            ("float32", "W8A16", None, "bfloat16"),
            ("float16", "W8A16", None, "float16"),
            ("float16", "W8A8_MXFP8", None, "float16"),
            ("float16", "W8A8_DYNAMIC", None, "bfloat16"),
            ("bfloat16", "W8A16", "float16", "float16"),
        ],
    )
    def test_which(
        self, source: str, scheme: str, asked: str | None, expected: str, tmp_path: Path
    ) -> None:
        folder = make(tmp_path / "m", "qwen2_5_vl", dtype=source)
        said = expect(folder, scheme, dtype=asked).texts["config.json"]
        assert {
            said["dtype"],
            said["text_config"]["torch_dtype"],
            said["vision_config"]["dtype"],
        } == {expected}

    def test_config(self) -> None:
        """The order of keys stays."""
        inner = {"dtype": "float32", "quantization_config": 1}
        source = {
            "b": [inner],
            "quantization_config": 1,
            "text_config": inner,
            "a": 1,
            "x": inner,
            "torch_dtype": "float32",
        }
        said = configured(source, "bfloat16")
        kept = {"dtype": "bfloat16", "quantization_config": 1}
        assert said == {
            "b": [kept],
            "text_config": {"dtype": "bfloat16"},
            "a": 1,
            "x": kept,
            "torch_dtype": "bfloat16",
        }
        assert [*said] == ["b", "text_config", "a", "x", "torch_dtype"]


class TestFiles:
    def test_a_file_is_closed_before_it_is_too_large(self) -> None:
        groups = [{f"{i}": np.zeros(size, np.int8)} for i, size in enumerate((4, 6, 1, 20, 3))]
        assert [[*file] for file in shards_of(groups, 10)] == [["0", "1"], ["2"], ["3"], ["4"]]

    def test_names_order_and_index(self, made: Any, tmp_path: Path) -> None:
        e = expect(made("llama"), "W8A8_DYNAMIC", shard_size=100_000)
        assert [*e.shards] == [
            "quant_model_weights-00001-of-00002.safetensors",
            "quant_model_weights-00002-of-00002.safetensors",
        ]
        order = [
            (-a.dtype.itemsize, n)
            for n, a in e.shards["quant_model_weights-00001-of-00002.safetensors"].items()
        ]
        assert order == sorted(order)
        index = e.texts["quant_model_weights.safetensors.index.json"]
        assert [*index["weight_map"]] == sorted(e.tensors)
        assert index["metadata"]["total_size"] == sum(a.nbytes for a in e.tensors.values())
        folder = e.write(tmp_path / "out")
        assert {
            n: a.tobytes() for p in folder.glob("*.safetensors") for n, a in read(p).items()
        } == {n: a.tobytes() for n, a in e.tensors.items()}
        assert (
            (folder / "config.json")
            .read_bytes()
            .startswith('{\n  "_name_or_path": "模型",\n'.encode())
        )
        assert (folder / "config.json").read_bytes().endswith(b"}\n")

    def test_what_is_copied(self, made: Any) -> None:
        assert sorted(expect(made("llama"), "W8A16").copied) == [
            "assets/vocab.txt", "chat_template.jinja", "generation_config.json", "original/params.json",
            "tokenizer.json", "tokenizer.model", "tokenizer_config.json", "vocab.txt",
        ]  # fmt: skip

    @pytest.mark.needs("safetensors")
    @pytest.mark.parametrize("scheme", ["W8A8_DYNAMIC", "W8A8_MXFP8"])
    def test_bytes_are_those_of_the_usual_writer(
        self, scheme: str, made: Any, tmp_path: Path
    ) -> None:
        """But for its order of dtypes of one width."""
        from safetensors.numpy import deserialize, save

        e = expect(made("qwen2"), scheme)
        tensors = e.tensors
        write(tmp_path / "ours", tensors)
        ours, theirs = (tmp_path / "ours").read_bytes(), save(tensors, {"format": "pt"})
        assert (ours == theirs) == (scheme == "W8A8_DYNAMIC")
        assert {n: bytes(t["data"]) for n, t in deserialize(ours)} == {
            n: a.tobytes() for n, a in tensors.items()
        }


def cases() -> list[tuple[str, str]]:
    schemes = {family: ["W8A8_DYNAMIC"] for family in FAMILIES}
    for family in FAMILIES:
        schemes[family] += ["W4A8_DYNAMIC"] if family in MOE else ["W8A16"]
        schemes[family] += ["W8A8_MXFP8"]
    return [(family, scheme) for family, found in schemes.items() for scheme in found]


# The most that a weight is off, of its row's amax: half a step, and what rounding a scale adds. Rows of
# subnormals may lose all.
HALF_A_STEP = {"W8A8_DYNAMIC": 0.51 / 127, "W8A16": 0.51 / 127, "W4A8_DYNAMIC": 0.501 / 7}
HALF_A_STEP |= {"W8A8_MXFP8": 1 / 16}


@pytest.mark.parametrize(("family", "scheme"), cases())
def test_a_consumer_reads_the_weights(family: str, scheme: str, made: Any, tmp_path: Path) -> None:
    e: Expected = expect(made(family), scheme, shard_size=200_000)
    read_back = ascend_reader.load(e.write(tmp_path / "out"))
    source = {p.name: p for group in modules.groups(made(family)) for p in group}
    assert {*read_back} == {*source}
    for name, piece in source.items():
        w = widened(piece.array)
        step = 2.0**-8 if piece.is_fp8 else 0
        step = HALF_A_STEP.get(e.types.get(name.removesuffix(".weight"), ""), step)
        most = np.abs(w).max(axis=-1, keepdims=True) * step + 2.0**-125 * (step > 0)
        assert np.all(np.abs(read_back[name] - w) <= most), name


@pytest.mark.parametrize("sizes", [models.LARGE])
def test_the_large_model_has_a_gibibyte(sizes: dict[str, int]) -> None:
    names = FAMILIES["llama"][2](FAMILIES["llama"][1] | sizes)
    assert sum(int(np.prod(shape)) for shape in names.values()) * 2 == pytest.approx(2**30, rel=0.1)
