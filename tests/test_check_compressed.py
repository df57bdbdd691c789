"""compressed-tensors is read as vllm-ascend reads it: which type each group is, of which layers, and what its tensors are.

The decisions are those of vllm_ascend/quantization/compressed_tensors_config.py at 182b75ea, of
should_ignore_layer and find_matched_target of vLLM 0.27.1, and of QuantizationArgs of
compressed-tensors 0.17, which vLLM 0.27.1 asks for.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from checkpoints.compressed_models import (
    ATTENTION,
    CHANNEL,
    EXPERTS,
    FLOAT,
    FP8,
    GOOD,
    GROUPED,
    LINEARS,
    NO_ATTENTION,
    STATIC,
    TENSOR,
    TOKEN,
    W4A8,
    W4A16,
    W8A8,
    A,
    M,
    Model,
    floats,
    fp8,
    group,
    int8,
    packed,
    tensors_of,
)
from checkpoints.tensor_files import BFLOAT16

from npu_quant.checkpoint import check
from npu_quant.checkpoint.compressed_groups import GroupError, read_group, type_of

NO = "unknown"
FOUR, BLOCK = {"num_bits": 4}, {"strategy": "block", "block_structure": [128, 128]}
ASYMMETRIC, DYNAMIC, FIXED = {"symmetric": False}, {"dynamic": True}, {"dynamic": False}
FORMS = [
    # weights, inputs, format, the type of Linears, of experts
    (CHANNEL, TOKEN, "int-quantized", "W8A8_DYNAMIC", "W8A8_DYNAMIC"),
    (CHANNEL, TOKEN, "naive-quantized", "W8A8_DYNAMIC", "W8A8_DYNAMIC"),
    (CHANNEL, TOKEN, "pack-quantized", NO, NO),
    (CHANNEL, TOKEN, "mixed-precision", NO, NO),
    (CHANNEL, TOKEN, None, NO, NO),
    (
        CHANNEL | {"strategy": "CHANNEL", "type": "INT"},
        TOKEN,
        "int-quantized",
        *["W8A8_DYNAMIC"] * 2,
    ),
    (CHANNEL | {"strategy": None, "group_size": -1}, TOKEN, "int-quantized", *["W8A8_DYNAMIC"] * 2),
    (CHANNEL | ASYMMETRIC, TOKEN, "int-quantized", NO, NO),
    (CHANNEL, TOKEN | ASYMMETRIC, "int-quantized", NO, NO),
    (CHANNEL, TENSOR | DYNAMIC, "int-quantized", NO, NO),
    (CHANNEL, TOKEN | FOUR, "int-quantized", NO, NO),
    (CHANNEL, None, "int-quantized", NO, NO),
    (TENSOR, TOKEN, "int-quantized", NO, NO),
    (GROUPED | {"num_bits": 8}, TOKEN, "int-quantized", NO, NO),
    (CHANNEL, TENSOR, "int-quantized", "W8A8", NO),
    (CHANNEL, {}, "int-quantized", "W8A8", NO),
    (CHANNEL, TENSOR | ASYMMETRIC, "int-quantized", NO, NO),
    (TENSOR, TENSOR, "int-quantized", NO, NO),
    (CHANNEL | FLOAT, TOKEN | FLOAT, "float-quantized", *["W8A8FP8_DYNAMIC"] * 2),
    (CHANNEL | FLOAT, TOKEN, "float-quantized", *["W8A8_DYNAMIC"] * 2),
    (CHANNEL | FLOAT, TENSOR | FLOAT, "float-quantized", "W8A8", NO),
    (TENSOR | FLOAT, TENSOR | FLOAT, "float-quantized", NO, NO),
    (
        CHANNEL | FLOAT | BLOCK,
        GROUPED | FLOAT | DYNAMIC | {"num_bits": 8},
        "float-quantized",
        NO,
        NO,
    ),
    (CHANNEL | FOUR, TOKEN, "int-quantized", NO, "W4A8_DYNAMIC"),
    (GROUPED, TOKEN, "int-quantized", NO, NO),
    (GROUPED, None, "pack-quantized", NO, "W4A16"),
    (GROUPED, TOKEN, "pack-quantized", NO, "W4A16"),
    (GROUPED, None, "int-quantized", NO, "W4A16"),
    (GROUPED | ASYMMETRIC, None, "pack-quantized", NO, "W4A16"),
    (GROUPED | FLOAT, None, "pack-quantized", NO, NO),
    (CHANNEL | FOUR, None, "pack-quantized", NO, NO),
    (
        GROUPED | FLOAT | {"strategy": "tensor_group"},
        GROUPED | FLOAT | {"strategy": "tensor_group", "dynamic": "local"},
        "nvfp4-pack-quantized",
        NO,
        NO,
    ),
]


@pytest.mark.parametrize(("weights", "inputs", "format", "linears", "experts"), FORMS)
def test_the_type_of_a_form(
    weights: Any, inputs: Any, format: str | None, linears: str, experts: str
) -> None:
    """A group's own format counts more than the model's."""
    given = group(weights, inputs)
    own = read_group("g", given | {"format": format or "dense"}, "int-quantized")
    for read in (read_group("g", given, format), own):
        types = [type_of(read, layers) for layers in ("Linears", "experts")]
        assert [type for type, _ in types] == [linears, experts]
        assert all(bool(why) == (type == NO) for type, why in types)


REFUSED = [
    None,
    [],
    CHANNEL | {"scale_bits": 8},
    CHANNEL | {"num_bits": "many"},
    CHANNEL | {"num_bits": 6, **FLOAT},
    CHANNEL | {"strategy": "row"},
    CHANNEL | {"type": None},
    CHANNEL | {"symmetric": 2},
    CHANNEL | {"group_size": 32},
    CHANNEL | {"group_size": -2},
    CHANNEL | {"dynamic": True},
    CHANNEL | {"dynamic": "local"},
    CHANNEL | {"actorder": "group"},
    CHANNEL | {"block_structure": [128, 128]},
    CHANNEL | {"strategy": "block"},
    CHANNEL | {"strategy": None, "group_size": 0},
    GROUPED | {"group_size": None},
    GROUPED | {"actorder": "columns"},
    TOKEN | FIXED,
]


@pytest.mark.parametrize("side", REFUSED)
def test_what_no_consumer_can_read(side: Any, tmp_path: Path) -> None:
    with pytest.raises(GroupError):
        read_group("g", group(side, TOKEN), "int-quantized")
    report = check(W8A8._replace(groups={"g": group(side, TOKEN)}).write(tmp_path / "m"))
    assert [(f.rule, f.severity) for f in report.findings] == [("config", "error")]


# ---- Whole models.


@pytest.mark.parametrize("type", GOOD)
def test_a_good_model_passes(type: str, tmp_path: Path) -> None:
    report = check(GOOD[type].write(tmp_path / "m"))
    assert report.findings == []
    assert report.verdict == "passed"
    assert report.types[type] == (6 if GOOD[type] in (W4A8, W4A16) else 7)


HARMLESS: dict[str, Any] = {
    "quantization_status": "compressed",
    "global_compression_ratio": 1.5,
    "kv_cache_scheme": None,
    "sparsity_config": {"format": "dense", "sparsity_structure": "2:4"},
    "transform_config": {
        "config_groups": {
            "R1": {
                "type": "hadamard",
                "apply": [{"targets": ["Linear"], "location": "weight_input"}],
            }
        }
    },
    "version": "0.17.0",
    "quant_method": "compressed_tensors",
}
ROTATED = {"config_groups": {"R4": {"apply": [{"targets": ["Linear"], "location": "input"}]}}}
BY_NAME = {"group_0": group(CHANNEL, TOKEN, *LINEARS)}
BY_CLASS = {"g": group(CHANNEL, TOKEN, "QKVParallelLinear", "Merged", "RowParallelLinear")}
FLOAT_QKV = tensors_of((floats, ATTENTION[:3]), (int8, LINEARS[3:]))
SPARSE = {"format": "sparse-24-bitmask", "targets": ["Linear"]}
SCALES = np.full((64, 2), 0.01, BFLOAT16)


def less(model: Model, *names: str) -> Model:
    kept = {name: a for name, a in model.tensors.items() if name not in names}
    return model._replace(tensors=kept)


def with_(model: Model, name: str, a: Any) -> Model:
    return model._replace(tensors=model.tensors | {name: a})


Q, E = f"{A}.q_proj", EXPERTS[1]
SIXTY_FOUR = tensors_of((floats, ATTENTION), (packed, EXPERTS)) | {
    f"{e}.weight_scale": SCALES for e in EXPERTS
}
MODELS: list[tuple[Model, set[tuple[str, str]]]] = [
    # what is there, and the rules and severities that find something
    (W8A8._replace(more=HARMLESS), set()),
    (W8A8._replace(groups=BY_NAME), set()),
    (W8A8._replace(groups=BY_CLASS), set()),
    (
        W8A8._replace(groups=W8A8.groups | {"x": group(CHANNEL | ASYMMETRIC, TOKEN, "re:vis")}),
        set(),
    ),
    (W8A8._replace(ignore=["lm_head", "re:.*visual.*", "model.layers.9.mlp.up_proj"]), set()),
    (W8A8._replace(tensors=FLOAT_QKV, ignore=["lm_head", f"{A}.qkv_proj"]), set()),
    (W8A8._replace(tensors=FLOAT_QKV, ignore=["lm_head", "re:.*[qkv]_proj$"]), set()),
    (FP8._replace(groups={"g": group(CHANNEL | FLOAT, TOKEN | FLOAT)}), set()),
    (W4A16._replace(groups={"g": group(GROUPED | {"actorder": "weight"}, None)}), set()),
    # what the groups ask for, and vllm-ascend does not do
    (W8A8._replace(groups={"g": group(CHANNEL | ASYMMETRIC, TOKEN)}), {("unknown-type", "error")}),
    (W8A8._replace(format="mixed-precision"), {("unknown-type", "error")}),
    (W8A8._replace(groups={"W8A8": ["Linear"]}), {("config", "error"), ("dtype", "error")}),
    (W8A8._replace(groups=W8A8.groups | {"x": group(TENSOR, TOKEN)}), {("unknown-type", "error")}),
    (W8A8._replace(more={"transform_config": ROTATED}), {("unread", "error")}),
    (W8A8._replace(more={"transform_config": {"rotations": 1}}), {("unread", "error")}),
    (W8A8._replace(more={"sparsity_config": SPARSE}), {("unread", "error")}),
    (W8A8._replace(more={"kv_cache_scheme": TENSOR}), {("unread", "warning")}),
    (W8A8._replace(more={"smoothing": {"alpha": 0.5}}), {("unread", "warning")}),
    (
        W8A8._replace(groups={"g": group(CHANNEL, TOKEN, output_activations=TENSOR)}),
        {("unread", "warning")},
    ),
    (
        with_(W4A16, f"{E}.weight_zero_point", np.zeros((8, 4), np.int32))._replace(
            groups={"g": group(GROUPED | ASYMMETRIC, None)}
        ),
        {("unread", "error"), ("leftover", "error")},
    ),
    (
        W4A16._replace(groups={"g": group(GROUPED | {"actorder": "group"}, None)}),
        {("unread", "error")},
    ),
    (
        W4A16._replace(tensors=SIXTY_FOUR, groups={"g": group(GROUPED | {"group_size": 64}, None)}),
        {("unread", "error"), ("shape", "error")},
    ),
    (
        W4A16._replace(
            tensors=SIXTY_FOUR,
            groups={"g": group(GROUPED | {"group_size": 64}, None)},
            more={"group_size": 64},
        ),
        set(),
    ),
    # who is of which group
    (W8A8._replace(ignore=["lm_head", f"{A}.q_proj"]), {("mixed-group", "error")}),
    (W8A8._replace(tensors=FLOAT_QKV, ignore=["lm_head", Q]), {("mixed-group", "error")}),
    (W8A8._replace(ignore=["lm_head", f"{A}.o_proj"]), {("dtype", "error")}),
    (W8A8._replace(tensors=FLOAT_QKV, ignore=["lm_head", A, "Linear"]), {("ignore", "error")}),
    (W8A8._replace(ignore=[]), {("ignore", "warning")}),
    (W8A8._replace(groups={"g": group(CHANNEL, TOKEN, "re:.*(gate|up|[vo]|down)_proj")}), set()),
    (
        W8A8._replace(
            groups={"g": group(CHANNEL, TOKEN, f"{A}.k_proj", "re:.*mlp", "re:.*o_proj")}
        ),
        {("dtype", "error")},
    ),
    (
        W4A8._replace(ignore=["lm_head", f"{M}.experts.0.gate_proj"]),
        {("dtype", "error")},
    ),
    (
        W4A8._replace(
            groups=W4A8.groups | {"group_1": group(CHANNEL | FOUR, TOKEN, "re:.*up_proj")}
        ),
        {("dtype", "error")},
    ),
    (
        W8A8._replace(
            tensors=tensors_of((int8, [*ATTENTION, *EXPERTS[:3]]), (floats, EXPERTS[3:]))
        ),
        {("ignore", "error"), ("mixed-group", "error")},
    ),
    # what its tensors are
    (less(STATIC, f"{Q}.input_scale"), {("missing-tensor", "error")}),
    (with_(STATIC, f"{Q}.input_scale", np.array(0.02, BFLOAT16)), set()),
    (with_(STATIC, f"{Q}.input_scale", np.full(2, 0.02, BFLOAT16)), {("shape", "error")}),
    (with_(STATIC, f"{Q}.input_scale", np.full(1, 0.04, BFLOAT16)), {("static", "error")}),
    (with_(STATIC, f"{Q}.input_zero_point", np.zeros(1, np.int8)), {("leftover", "error")}),
    (with_(W8A8, f"{Q}.weight", fp8(Q)[f"{Q}.weight"]), {("dtype", "error")}),
    (with_(FP8, f"{Q}.weight", int8(Q)[f"{Q}.weight"]), {("dtype", "error")}),
    (with_(W4A8, f"{E}.weight", int8(E)[f"{E}.weight"]), {("int4", "error")}),
    (less(W4A16, f"{E}.weight_scale"), {("missing-tensor", "error")}),
    (with_(W4A16, f"{E}.weight_scale", np.zeros((64, 4), BFLOAT16)), {("scale", "error")}),
    (with_(W4A16, f"{E}.weight_packed", np.zeros((64, 16), np.int64)), {("dtype", "error")}),
    (
        W4A16._replace(tensors=W4A8.tensors, ignore=NO_ATTENTION),
        {("dtype", "error"), ("missing-tensor", "error"), ("shape", "error")},
    ),
]


@pytest.mark.parametrize(("model", "rules"), MODELS)
def test_what_is_found(model: Model, rules: set[tuple[str, str]], tmp_path: Path) -> None:
    report = check(model.write(tmp_path / "m"))
    assert {(f.rule, f.severity) for f in report.findings} == rules
    assert report.passed == all(severity == "warning" for _, severity in rules)


@pytest.mark.parametrize("groups", [{}, W8A8.groups])
def test_a_model_of_floats_is_not_judged(groups: Any, tmp_path: Path) -> None:
    """Such as one of zeros that are stored (2:4, dense), or one whose Linears are all ignored."""
    model = Model(tensors_of((floats, LINEARS)), groups, ["re:.*"], "dense")
    report = check(model.write(tmp_path / "m"))
    assert report.verdict == "not judged"
    assert {f.severity for f in report.findings} <= {"warning"}
