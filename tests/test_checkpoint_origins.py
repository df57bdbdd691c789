"""What of a folder is the model, and what FP8 weights stand for, by any scale in use."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from checkpoints import ascend_reader, models
from checkpoints.arithmetic import int8, widened
from checkpoints.tensor_files import (
    BFLOAT16,
    E5M2,
    E8M0,
    FLOAT8,
    Array,
    Tensors,
    read,
    write,
    write_json,
)

from npu_quant import checkpoint
from npu_quant.checkpoint import matrices

ANOTHER: Tensors = {"layers.0.attention.wo.weight": np.ones((72, 72), BFLOAT16)}
BESIDE = [
    "consolidated.safetensors",
    "consolidated-00001-of-00002.safetensors",
    "adapter_model.safetensors",
    "optimizer.safetensors",
    "model.fp16.safetensors",
    "vae/diffusion_pytorch_model.safetensors",
]


@pytest.mark.parametrize("shards", [1, 2])
def test_other_weights_are_named_and_left(shards: int, tmp_path: Path) -> None:
    """They are neither merged nor copied; `check` reads the original in the same way."""
    source, out = models.make(tmp_path / "model", "llama", shards=shards), tmp_path / "out"
    (source / "vae").mkdir()
    for name in BESIDE:
        write(source / name, ANOTHER)
    report = checkpoint.quantize(source, out, "W8A8_DYNAMIC", workers=1)
    left = sorted([*BESIDE, "original/consolidated.00.pth"])
    assert report.to_dict()["left_files"] == report.left_files == left
    assert left[0] in str(report)
    assert left[0] in report._repr_html_()
    assert not [path for path in out.rglob("*") if path.name in BESIDE]
    assert (
        not ANOTHER.keys() & json.loads((out / "quant_model_description.json").read_text()).keys()
    )
    checked = checkpoint.check(out, source, 1)
    assert checked.findings == []
    assert left[0] in "".join(checked.notes)


def test_the_original_is_read_as_the_model_was(tmp_path: Path) -> None:
    """What a result has of another file of the original is not of the model."""
    source, out = models.make(tmp_path / "model", "llama", shards=1), tmp_path / "out"
    whole = source / "model.safetensors"
    whole.rename(source / "a.safetensors")
    write_json(
        source / "model.safetensors.index.json",
        {"weight_map": dict.fromkeys(read(source / "a.safetensors"), "a.safetensors")
         | dict.fromkeys(ANOTHER, "consolidated.safetensors")},
    )  # fmt: skip
    write(source / "consolidated.safetensors", ANOTHER)
    checkpoint.quantize(source, out, "W8A8_DYNAMIC", workers=1)
    assert checkpoint.check(out, source, 1).passed
    (source / "model.safetensors.index.json").unlink()
    (source / "a.safetensors").rename(whole)
    found = {(f.rule, f.name) for f in checkpoint.check(out, source, 1).findings}
    assert ("extra-tensor", *ANOTHER) in found


@pytest.mark.parametrize("name", ["weights.safetensors", "model-00001-of-00001.safetensors"])
def test_the_only_file_is_the_model(name: str, tmp_path: Path) -> None:
    source = models.make(tmp_path / "model", "llama", shards=1)
    (source / "model.safetensors").rename(source / name)
    assert checkpoint.quantize(source, tmp_path / "out", "W8A8_DYNAMIC", dry_run=True).layers


@pytest.mark.parametrize("name", ["adapter_model.safetensors", "consolidated.safetensors"])
def test_a_result_that_has_other_weights(name: str, tmp_path: Path) -> None:
    source, out = models.make(tmp_path / "model", "llama"), tmp_path / "out"
    checkpoint.quantize(source, out, "W8A8_DYNAMIC", format="compressed-tensors", workers=1)
    (out / "SHA256SUMS").unlink()
    write(out / name, ANOTHER)
    found = [(f.severity, f.rule, f.name) for f in checkpoint.check(out, None, 1).findings]
    assert found == [("error", "stray-weights", name)]


N, K = 70, 80
FP8 = {"quant_method": "fp8", "activation_scheme": "static"}


def compressed(**weights: Any) -> dict[str, Any]:
    group = {"weights": {"num_bits": 8, "type": "float", "symmetric": True, **weights}}
    return {"quant_method": "compressed-tensors", "config_groups": {"group_0": group}}


# Of each scale: its name, its shape, rows and columns of a block, and quantization_config.
SCALES: list[tuple[str, tuple[int, ...], tuple[int, int], dict[str, Any]]] = [
    *(
        (name, shape, (N, K) if shape in ((), (1,), (1, 1)) else (1, K), FP8)
        for name in ("weight_scale_inv", "weight_scale", "scale", "scale_inv")
        for shape in ((), (1,), (1, 1), (N,), (N, 1))
    ),
    ("weight_scale", (N, 1), (1, K), {"quant_method": "fbgemm_fp8"}),
    ("weight_scale", (), (N, K), {"quant_method": "modelopt", "quant_algo": "FP8"}),
    ("weight_scale", (N, 3), (1, 32), {"quant_method": "modelopt", "quant_algo": "MXFP8"}),
    ("weight_scale", (N, 1), (1, K), compressed(strategy="channel")),
    ("weight_scale", (3, 2), (32, 64), compressed(block_structure=[32, 64])),
    ("weight_scale", (N, 2), (1, 64), compressed(group_size=64)),
    ("scale", (3, 2), (32, 64), FP8 | {"weight_block_size": [32, 64]}),
    ("weight_scale_inv", (1, 1), (128, 128), FP8),
]


@pytest.mark.parametrize("band", [320, matrices.BAND_BYTES])
@pytest.mark.parametrize(("name", "shape", "block", "config"), SCALES)
def test_fp8_by_any_scale(
    name: str,
    shape: tuple[int, ...],
    block: tuple[int, int],
    config: dict[str, Any],
    band: int,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A weight is float32(code) * float32(scale), once rounded; FLOAT ones become bfloat16."""
    monkeypatch.setattr(matrices, "BAND_BYTES", band)  # 4 rows, and all of them
    check_scale(tmp_path, name, shape, block, config, np.dtype(np.float32), FLOAT8)


@pytest.mark.parametrize("dtype", [BFLOAT16, np.dtype(np.float16), E8M0, np.dtype(np.uint8)])
@pytest.mark.parametrize(("shape", "block"), [((N, 1), (1, K)), ((N, 3), (1, 32)), ((), (N, K))])
def test_fp8_scales_of_other_dtypes(
    dtype: np.dtype, shape: tuple[int, ...], block: tuple[int, int], tmp_path: Path
) -> None:
    check_scale(tmp_path, "weight_scale", shape, block, FP8, dtype, FLOAT8)


@pytest.mark.parametrize(("shape", "block"), [((N, 1), (1, K)), ((1, 1), (128, 128))])
def test_fp8_of_five_exponents(
    shape: tuple[int, ...], block: tuple[int, int], tmp_path: Path
) -> None:
    check_scale(tmp_path, "weight_scale_inv", shape, block, FP8, np.dtype(np.float32), E5M2)


def check_scale(
    folder: Path,
    name: str,
    shape: tuple[int, ...],
    block: tuple[int, int],
    config: dict[str, Any],
    dtype: np.dtype,
    codes: np.dtype,
) -> None:
    rng = np.random.default_rng(0)
    code = (8 * rng.standard_normal((N, K))).astype(codes)
    power = rng.integers(118, 126, shape).astype(np.uint8)
    if dtype in (E8M0, np.uint8):
        scale, factor = power.view(dtype), np.ldexp(np.float32(1), power.astype(np.int32) - 127)
    else:
        scale = np.asarray(rng.random(shape) + 0.1).astype(dtype)
        factor = widened(scale)
    w = widened(code) * spread(factor, block)
    modules = ("a.q_proj", "a.kv_b_proj")
    tensors: Tensors = {f"{module}.weight": code for module in modules}
    tensors |= {f"{module}.{name}": scale for module in modules}
    tensors |= {
        "a.q_proj.input_scale": np.ones((), np.float32),
        "a.k_scale": np.ones((), np.float32),
    }
    source, out = folder / "model", folder / "out"
    source.mkdir()
    write(source / "model.safetensors", tensors)
    known = {"model_type": "llama", "torch_dtype": "bfloat16", "tie_word_embeddings": True}
    write_json(source / "config.json", known | {"quantization_config": config})
    write_json(source / "hf_quant_config.json", {"quantization": {"quant_algo": "FP8"}})
    report = checkpoint.quantize(source, out, "W8A8_DYNAMIC", workers=1)
    assert sorted(report.left_tensors) == ["a.k_scale", "a.q_proj.input_scale"]
    assert "a.k_scale" in str(report)
    assert report.left_files == ["hf_quant_config.json"]
    assert not (out / "hf_quant_config.json").exists()
    q, s = int8(w, BFLOAT16)
    found = ascend_reader.load(out)
    assert np.array_equal(found["a.q_proj.weight"], widened(q) * s)
    assert np.array_equal(found["a.kv_b_proj.weight"], w.astype(BFLOAT16))
    assert checkpoint.check(out, source, 1).findings == []


def spread(factor: Array, block: tuple[int, int]) -> Array:
    """Return a factor for each weight."""
    wide = factor.reshape(-(-N // block[0]), -(-K // block[1]))
    return np.repeat(np.repeat(wide, block[0], 0)[:N], block[1], 1)[:, :K]


def test_a_scale_of_0_of_zeros(tmp_path: Path) -> None:
    (source := tmp_path / "model").mkdir()
    weight: Tensors = {"a.q_proj.weight": np.zeros((N, K), FLOAT8)}
    scale: Tensors = {"a.q_proj.weight_scale": np.zeros((N, 1), np.float32)}
    write(source / "model.safetensors", weight | scale)
    write_json(source / "config.json", {"model_type": "llama", "quantization_config": FP8})
    (layer,) = checkpoint.quantize(source, tmp_path / "out", "W8A8_DYNAMIC", workers=1).layers
    assert layer.zero_rows == N


def test_scales_of_modules_that_are_no_fp8(tmp_path: Path) -> None:
    (source := tmp_path / "model").mkdir()
    held: Tensors = {"a.q_proj.weight": np.ones((N, K), BFLOAT16)}
    held |= {"a.norm.scale": np.ones(K, np.float32), "a.k_scale": np.ones(1, np.float32)}
    write(source / "model.safetensors", held)
    write_json(source / "config.json", {"model_type": "llama", "tie_word_embeddings": True})
    report = checkpoint.quantize(source, tmp_path / "out", "W8A8_DYNAMIC", workers=1)
    assert report.left_tensors == []
    assert {"a.norm.scale", "a.k_scale"} <= ascend_reader.load(tmp_path / "out").keys()
