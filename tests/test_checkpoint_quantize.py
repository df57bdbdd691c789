"""npu_quant.checkpoint.quantize: every byte of what it writes, from the specification alone."""

from __future__ import annotations

import hashlib
import itertools
import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from checkpoints import ascend_reader, expected, models, modules, tensor_files

from npu_quant import checkpoint
from npu_quant.checkpoint import weights

ASCEND = ["W8A8_DYNAMIC", "W8A16", "W8A8_MXFP8", "W4A8_DYNAMIC"]
KINDS = [*((s, "ascend") for s in ASCEND)]
KINDS += [(s, "compressed-tensors") for s in ("W8A8_DYNAMIC", "W4A8_DYNAMIC")]
SPARSE = {"qwen3_moe", "mixtral", "qwen3_vl_moe", "qwen3_5_moe", "deepseek_v3"}


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Return a model of each family."""
    root = tmp_path_factory.mktemp("models")
    return {family: models.make(root / family, family, shards=3) for family in models.FAMILIES}


def files_of(folder: Path) -> dict[str, bytes]:
    return {str(p.relative_to(folder)): p.read_bytes() for p in folder.rglob("*") if p.is_file()}


def check_same(out: Path, want: expected.Expected, root: Path) -> None:
    """Compare two folders, byte for byte; what npu_quant.json says has tests of its own."""
    theirs = files_of(want.write(root / "expected"))
    ours = files_of(out)
    theirs["npu_quant.json"] = ours["npu_quant.json"]
    hashes = {name: hashlib.sha256(data).hexdigest() for name, data in theirs.items()}
    lines = [f"{hashes[name]}  {name}\n" for name in sorted(hashes)]
    theirs["SHA256SUMS"] = "".join(lines).encode()
    assert sorted(ours) == sorted(theirs)
    assert [name for name in ours if ours[name] != theirs[name]] == []


def is_possible(family: str, scheme: str) -> bool:
    """Say whether consumers read such a model."""
    return scheme != ("W8A16" if family in SPARSE else "W4A8_DYNAMIC")


@pytest.mark.parametrize(("scheme", "format"), KINDS)
@pytest.mark.parametrize("family", models.FAMILIES)
def test_every_byte(
    family: str, scheme: str, format: str, folders: dict[str, Path], tmp_path: Path
) -> None:
    source, out = folders[family], tmp_path / "out"
    if not is_possible(family, scheme):
        with pytest.raises(checkpoint.CheckpointError, match=r"experts"):
            checkpoint.quantize(source, out, scheme, format=format)
        assert not out.exists()
        return
    report = checkpoint.quantize(source, out, scheme, format=format, workers=1)
    want = expected.expect(source, scheme, format)
    check_same(out, want, tmp_path)
    assert report.passed
    assert {layer.name: layer.type for layer in report.layers} == want.types


OPTIONS: list[tuple[str, str, str, dict[str, Any]]] = [
    ("llama", "W8A8_MXFP8", "ascend", {"mx_scale": "floor"}),
    ("llama", "W8A8_DYNAMIC", "ascend", {"shard_size": 60_000}),
    ("llama", "W8A8_DYNAMIC", "compressed-tensors", {"shard_size": 60_000}),
    ("llama", "W8A8_DYNAMIC", "compressed-tensors", {"dtype": "float16"}),
    ("llama", "W8A16", "ascend", {"dtype": "float16"}),
    ("qwen2", "W8A8_DYNAMIC", "ascend", {"exclude": ["*.mlp.*"]}),
    ("qwen2", "W8A8_DYNAMIC", "ascend", {"exclude": ["*.self_attn.*"]}),  # whose biases stay, too
    ("qwen2", "W8A8_DYNAMIC", "ascend", {"types": [("*.mlp.*", "W8A16")]}),
    ("qwen2", "W8A8_DYNAMIC", "ascend", {"types": [("*.mlp.*", "W8A16"), ("*.0.mlp*", "FLOAT")]}),
    ("qwen2_5_vl", "W8A8_DYNAMIC", "ascend", {"include": ["visual.*"]}),
    ("deepseek_v3", "W8A8_DYNAMIC", "ascend", {"exclude": ["*.self_attn.*"]}),
    ("qwen3_vl_moe", "W8A8_DYNAMIC", "ascend", {"exclude": ["*.experts.*"]}),
]


@pytest.mark.parametrize(("family", "scheme", "format", "options"), OPTIONS)
def test_every_byte_with_options(
    family: str,
    scheme: str,
    format: str,
    options: dict[str, Any],
    folders: dict[str, Path],
    tmp_path: Path,
) -> None:
    source, out = folders[family], tmp_path / "out"
    report = checkpoint.quantize(source, out, scheme, format=format, workers=1, **options)
    assert report.passed
    is_refused = scheme == "W8A8_DYNAMIC" and options.get("dtype") == "float16"
    assert is_refused == any("refuses float16 scales" in warning for warning in report.warnings)
    check_same(out, expected.expect(source, scheme, format, **options), tmp_path)


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
@pytest.mark.parametrize("scheme", ["W8A8_DYNAMIC", "W8A8_MXFP8", "W4A8_DYNAMIC"])
def test_every_byte_of_other_dtypes(dtype: str, scheme: str, tmp_path: Path) -> None:
    source = models.make(tmp_path / "model", "qwen3_moe", dtype=dtype, shards=1)
    checkpoint.quantize(source, tmp_path / "out", scheme, workers=1)
    check_same(tmp_path / "out", expected.expect(source, scheme), tmp_path)


def test_any_number_of_workers_gives_the_same_bytes(
    folders: dict[str, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("npu_quant.checkpoint.matrices.PIECE_BYTES", 3000)  # so that there are many
    monkeypatch.setattr("npu_quant.checkpoint.matrices.BAND_BYTES", 1000)
    outs = [tmp_path / f"out{workers}" for workers in (1, 2, 3)]
    reports = [
        checkpoint.quantize(folders["deepseek_v3"], out, "W8A8_MXFP8", workers=n, shard_size="1MB")
        for n, out in enumerate(outs, 1)
    ]
    assert files_of(outs[0]) == files_of(outs[1]) == files_of(outs[2])
    assert reports[0].layers == reports[1].layers == reports[2].layers
    assert len(reports[0].shards) > 1


class TestReport:
    def test_errors_are_those_of_the_reader(self, folders: dict[str, Path], tmp_path: Path) -> None:
        out = tmp_path / "out"
        report = checkpoint.quantize(folders["llama"], out, "W8A8_DYNAMIC", workers=1)
        written, source = ascend_reader.load(out), modules.source(folders["llama"])
        for layer in report.layers:
            w = np.asarray(source[f"{layer.name}.weight"], np.float64)
            off = w - written[f"{layer.name}.weight"].astype(np.float64)
            sqnr = 10 * np.log10((w**2).sum() / (off**2).sum())
            assert layer.sqnr_db == pytest.approx(sqnr, abs=1e-4)
            assert layer.max_error == pytest.approx(np.abs(off).max(), rel=1e-6)
            assert layer.zero_rows == np.count_nonzero(~w.any(axis=1))

    def test_as_json(self, folders: dict[str, Path], tmp_path: Path) -> None:
        out = tmp_path / "out"
        report = checkpoint.quantize(folders["qwen2"], out, "W8A8_DYNAMIC", workers=1)
        data = json.loads(json.dumps(report.to_dict()))
        keys = "command scheme format model_type params_dtype dry_run source_bytes written_bytes "
        keys += "types float layers shards resumed resumed_bytes warnings "
        keys += "language_model outside left_files left_tensors "
        keys += "passed findings is_finished_before seconds peak_rss_bytes"
        assert [*data] == keys.split()
        assert [*data["layers"][0]] == [
            "name",
            "type",
            "shape",
            "zero_rows",
            "sqnr_db",
            "max_error",
        ]
        assert data["written_bytes"] == sum(
            (out / s["file"]).stat().st_size for s in data["shards"]
        )
        assert data["command"] == "quantize"

    def test_as_text(self, folders: dict[str, Path], tmp_path: Path) -> None:
        text = str(checkpoint.quantize(folders["qwen2"], tmp_path / "out", "W8A8_DYNAMIC"))
        lines = text.splitlines()
        assert re.fullmatch(
            r"quantized qwen2 to W8A8_DYNAMIC \(ascend\): [\d.]+ KiB become [\d.]+ KiB in [\d.]+ s",
            lines[0],
        )
        assert re.fullmatch(r"W8A8_DYNAMIC: \d+ modules, [\d,]+ weights", lines[1])
        what = "not read and not copied, weights of something else"
        assert lines[2] == f"{what}: original/consolidated.00.pth"
        assert lines[3] == "the worst layers, by their signal to noise:"
        decibels = [float(found) for found in re.findall(r"([\d.]+) dB", text)]
        assert decibels == sorted(decibels)
        assert len(decibels) == 5

    def test_dry_run_writes_nothing(self, folders: dict[str, Path], tmp_path: Path) -> None:
        out = tmp_path / "out"
        dry = checkpoint.quantize(folders["deepseek_v3"], out, "W8A8_DYNAMIC", dry_run=True)
        assert not out.exists()
        data = dry.to_dict()
        assert not {"seconds", "peak_rss_bytes"} & set(data)
        assert "kv_b_proj" in str(dry)
        assert "draft layer" in str(dry)
        real = checkpoint.quantize(folders["deepseek_v3"], out, "W8A8_DYNAMIC", workers=1)
        assert [s["bytes"] for s in real.shards] == [s["bytes"] for s in dry.shards]
        assert [x.name for x in real.layers] == [x.name for x in dry.layers]

    def test_of_zeros_and_of_what_is_exact(self, tmp_path: Path) -> None:
        source = models.make(tmp_path / "model", "llama", shards=1)
        name = "model.layers.0.self_attn.q_proj.weight"
        exact = np.full((64, 64), 127, np.float32) * np.where(np.arange(64) % 2, 1, -1)

        def change(tensors: tensor_files.Tensors) -> None:
            tensors[name] = exact[: tensors[name].shape[0], : tensors[name].shape[1]].astype(
                tensors[name].dtype
            )
            other = name.replace("q_proj", "k_proj")
            tensors[other] = np.zeros_like(tensors[other])

        tensor_files.change(source / "model.safetensors", change)
        report = checkpoint.quantize(source, tmp_path / "out", "W8A8_DYNAMIC", workers=1)
        by_name = {layer.name: layer for layer in report.layers}
        assert by_name[name.removesuffix(".weight")].sqnr_db == 1e9
        zeros = by_name[name.removesuffix(".weight").replace("q_proj", "k_proj")]
        assert zeros.sqnr_db is None
        assert zeros.zero_rows == zeros.shape[0]


def test_a_file_may_be_just_full(folders: dict[str, Path], tmp_path: Path) -> None:
    source, out = folders["llama"], tmp_path / "out"
    checkpoint.quantize(source, out, "W8A8_DYNAMIC")
    index = json.loads((out / "quant_model_weights.safetensors.index.json").read_bytes())
    size = index["metadata"]["total_size"]
    for shard_size, count in ((size, 1), (size - 1, 2)):
        planned = checkpoint.quantize(
            source, tmp_path / "none", "W8A8_DYNAMIC", shard_size=shard_size, dry_run=True
        )
        assert len(planned.shards) == count


def test_no_code_is_beyond_minus_127() -> None:
    """255 / 127 of the least bfloat16 is 2.008 of it: the scale is 2, and -127.5 goes to -128."""
    least = 2.0**-133
    w = np.array([[255 * least, -255 * least, 2 * least, 0]], np.float32)
    q, scale, _ = weights.codes_of(w, "int8", weights.Rule("ascend", "bfloat16"))
    assert scale.tolist() == [2 * least]
    assert q.tolist() == [[127, -127, 1, 0]]


def test_progress_ends_at_the_sources_bytes(folders: dict[str, Path], tmp_path: Path) -> None:
    told: list[tuple[int, int]] = []
    checkpoint.quantize(
        folders["llama"],
        tmp_path / "out",
        "W8A8_DYNAMIC",
        workers=2,
        progress=lambda *at: told.append(at),
    )
    assert all(a[0] <= b[0] for a, b in itertools.pairwise(told))
    assert told[-1][0] == told[-1][1] > 0


def test_drafts_of_an_unknown_number_of_layers(tmp_path: Path) -> None:
    """No layer is known to be one; what has `mtp` in its name would be."""
    source = models.make(tmp_path / "model", "deepseek_v3")
    config = tensor_files.read_json(source / "config.json")
    del config["num_hidden_layers"]
    tensor_files.write_json(source / "config.json", config)
    report = checkpoint.quantize(source, tmp_path / "out", "W8A8_DYNAMIC", dry_run=True)
    assert {entry["reason"] for entry in report.left_float} == {
        "kv_b_proj: vllm-ascend wants it unquantized",
        "eh_proj: vLLM has a plain nn.Linear for it",
        "not known to be a Linear",
    }


TOPS: list[dict[str, Any]] = [{}, {"torch_dtype": None}, {"dtype": None}]
TOPS += [{"text_config": {"dtype": "bfloat16"}}, {"rope_scaling": {"dtype": "float16"}}]


@pytest.mark.parametrize("format", ["ascend", "compressed-tensors"])
@pytest.mark.parametrize("top", TOPS)
def test_a_config_that_says_no_dtype(top: dict[str, Any], format: str, tmp_path: Path) -> None:
    """Consumers would guess; its top, where they look first, gets the dtype of the scales."""
    source, out = models.make(tmp_path / "model", "llama"), tmp_path / "out"
    config = tensor_files.read_json(source / "config.json")
    del config["torch_dtype"]
    tensor_files.write_json(source / "config.json", config | top)
    report = checkpoint.quantize(source, out, "W8A8_DYNAMIC", format=format, workers=1)
    said = "config.json says no torch_dtype, it will say bfloat16: scales are read in it"
    assert report.warnings == [said]
    check_same(out, expected.expect(source, "W8A8_DYNAMIC", format), tmp_path)
    written = tensor_files.read_json(out / "config.json")
    assert "bfloat16" in (written.get("torch_dtype"), written.get("dtype"))
    assert checkpoint.check(out, source, 1).findings == []


def one_layer(folder: Path, tensors: tensor_files.Tensors, config: Any = ()) -> Path:
    folder.mkdir()
    known = {"model_type": "llama", "tie_word_embeddings": True, "torch_dtype": "bfloat16"}
    tensor_files.write_json(folder / "config.json", known | dict(config))
    tensor_files.write(folder / "model.safetensors", tensors)
    return folder


@pytest.mark.parametrize("scheme", ["W8A8_DYNAMIC", "W8A16", "W8A8_MXFP8"])
@pytest.mark.parametrize("dtype", [tensor_files.BFLOAT16, np.dtype(np.float32)])
def test_the_greatest_floats(scheme: str, dtype: Any, tmp_path: Path) -> None:
    """In e4m3 they become 2^128, which float32 has not."""
    greatest = np.float32(2**127 * (2 - 2.0 ** (-7 if dtype.itemsize == 2 else -23)))
    weight = np.full((2, 32), greatest).astype(dtype)
    source = one_layer(tmp_path / "model", {"a.q_proj.weight": weight})
    report = checkpoint.quantize(source, tmp_path / "out", scheme, workers=1)
    assert json.dumps(report.to_dict(), allow_nan=False)
    check_same(tmp_path / "out", expected.expect(source, scheme, "ascend"), tmp_path)


def blocks_of(folder: Path, code: float, scales: list[float], config: Any = ()) -> Path:
    """Write FP8 blocks of 1 x 32, all of one code, that stay FLOAT: kv_b_proj."""
    tensors = {
        "a.kv_b_proj.weight": np.full((len(scales), 32), code, tensor_files.FLOAT8),
        "a.kv_b_proj.weight_scale_inv": np.array(scales, np.float32)[:, None],
        "a.q_proj.weight": np.ones((2, 32), tensor_files.BFLOAT16),
    }
    blocks = {"quant_method": "fp8", "weight_block_size": [1, 32]}
    return one_layer(folder, tensors, {"quantization_config": blocks} | dict(config))


@pytest.mark.parametrize(
    ("options", "config", "params", "remedy"),
    [
        ({"dtype": "float16"}, {}, "float16", "use --dtype bfloat16, which is another plan"),
        ({}, {"torch_dtype": "float16"}, "float16", "use --dtype bfloat16, which is another plan"),
        ({}, {}, "bfloat16", "mend the scales of its blocks"),
    ],
)
def test_a_float_weight_beyond_the_params_dtype(
    options: dict[str, Any], config: dict[str, Any], params: str, remedy: str, tmp_path: Path
) -> None:
    """448 * scale is finite in float32; in P it is the greatest number in row 1, and none in 2."""
    greatest, less = (
        (65504.0, 448.0) if params == "float16" else (2.0**128 - 2.0**120, 1.5 * 2.0**119)
    )
    last = (greatest + less) / 448
    kept = blocks_of(tmp_path / "kept", 448, [1, greatest / 448], config)
    checkpoint.quantize(kept, tmp_path / "out", "W8A16", workers=1, **options)
    assert checkpoint.check(tmp_path / "out", kept, 1).findings == []
    source = blocks_of(tmp_path / "model", 448, [1, greatest / 448, last], config)
    text = rf"^a\.kv_b_proj\.weight has 32 values beyond {params}, the first at \[2, 0\]: {remedy}"
    with pytest.raises(checkpoint.CheckpointError, match=text):
        checkpoint.quantize(source, tmp_path / "other", "W8A16", workers=1, **options)


@pytest.mark.parametrize(("code", "scale"), [(np.nan, 1), (448, 3e38)])
def test_float_weights_that_are_no_numbers_stay_so(
    code: float, scale: float, tmp_path: Path
) -> None:
    source = blocks_of(tmp_path / "model", code, [scale])
    checkpoint.quantize(source, tmp_path / "out", "W8A16", dtype="float16", workers=1)
    with np.errstate(over="ignore", invalid="ignore"):
        want = np.full((1, 32), np.float32(code) * np.float32(scale)).astype(np.float16)
    found = ascend_reader.load(tmp_path / "out")["a.kv_b_proj.weight"]
    assert np.array_equal(found, want, equal_nan=True)


def test_a_scale_beyond_float16(tmp_path: Path) -> None:
    tensors: tensor_files.Tensors = {"a.q_proj.weight": np.full((2, 32), 1e7, np.float32)}
    source = one_layer(tmp_path / "model", tensors)
    text = r"^a\.q_proj\.weight: a scale is beyond float16: use --dtype bfloat16"
    with pytest.raises(checkpoint.CheckpointError, match=text):
        checkpoint.quantize(source, tmp_path / "out", "W8A16", dtype="float16", workers=1)


def test_an_fp8_block_greater_than_the_weight(tmp_path: Path) -> None:
    tensors = {
        "a.q_proj.weight": np.full((8, 32), 2, tensor_files.FLOAT8),
        "a.q_proj.weight_scale_inv": np.full((1, 1), 0.5, np.float32),
    }
    config = {"quant_method": "fp8", "weight_block_size": [1 << 40, 1 << 40]}
    source = one_layer(tmp_path / "model", tensors, {"quantization_config": config})
    checkpoint.quantize(source, tmp_path / "out", "W8A16", workers=1)
    read = ascend_reader.load(tmp_path / "out")["a.q_proj.weight"]
    assert np.allclose(read, 1, rtol=2.0**-8)  # which rounding the scale to bfloat16 moves
