"""Static W8A8 as msmodelslim writes it: what is sound is judged by all, and passes."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from checkpoints.expected import expect
from checkpoints.faults import K, O, Q
from checkpoints.models import make
from checkpoints.spoiling import add, as_static, edit_json, remove, replace, tensor
from checkpoints.tensor_files import BFLOAT16, Array

from npu_quant.checkpoint import CheckReport, check

ATTENTION = "model.layers.1.self_attn"
LINEARS = [f"{ATTENTION}.{x}_proj" for x in "qkvo"]


def ordinary(root: Path, scheme: str = "W8A8_DYNAMIC") -> tuple[Path, Path]:
    """Return a model without rows of subnormal numbers, whose products are 0, and what it becomes."""
    source = make(root / "source", "llama")

    def change(a: Array) -> Array:
        a[3:5] = a[5:7]
        return a

    replace(source, ".*_proj[.]weight", change)
    return source, expect(source, scheme).write(root / "quantized")


def static(folder: Path, **how: Any) -> None:
    for module in LINEARS:
        as_static(folder, module, **how)
    remove(folder, re.escape(ATTENTION) + r"\..*\.weight_(scale|offset)")


def errors(report: CheckReport) -> list[tuple[str, str]]:
    return [(f.rule, f.name) for f in report.findings if f.severity == "error"]


@pytest.mark.parametrize("has_original", [False, True])
@pytest.mark.parametrize("dtype", [np.float32, BFLOAT16, np.float16])
@pytest.mark.parametrize(("step", "offset"), [(0.03125, 3), (0.0217, -128), (1.7, 0)])
def test_what_is_sound_passes(
    step: float, offset: int, dtype: Any, has_original: bool, tmp_path: Path
) -> None:
    """Whichever dtype the products were made in."""
    source, folder = ordinary(tmp_path)
    static(folder, step=step, offset=offset, dtype=dtype)
    report = check(folder, source if has_original else None, 1)
    assert (report.findings, report.verdict) == ([], "passed")
    of_static = [layer for layer in report.layers if layer.type == "W8A8"]
    assert len(of_static) == 4
    for layer in of_static:
        assert layer.judged == ("codes", "scales", "shapes")[not has_original :]
        assert layer.codes_different == (0 if has_original else None)


def of_int64(folder: Path, high: int) -> None:
    """Make a float16 model of it: deq_scale has the bits of a float32 in its low half."""
    edit_json(folder / "config.json", lambda c: c.update(torch_dtype="float16"))
    low = lambda a: a.view(np.uint32).astype(np.int64)  # noqa: E731
    replace(folder, ".*[.]deq_scale", lambda a: low(a) | high)


@pytest.mark.parametrize("high", [0, 1 << 46, 1 << 62])
def test_int64_has_a_float32_in_its_low_half(high: int, tmp_path: Path) -> None:
    """Operators set bits above it."""
    source, folder = ordinary(tmp_path, "W8A16")
    for module in (Q, K, *LINEARS):
        as_static(folder, module)
    of_int64(folder, high)
    assert {f.rule for f in check(folder, source, 1).findings} <= {"mixed-group"}
    replace(folder, re.escape(Q) + "[.]deq_scale", lambda a: a & -(1 << 32))
    found = [f.name for f in check(folder, None, 1).findings if f.rule == "scale"]
    assert found == [f"{Q}.deq_scale"]


@pytest.mark.parametrize(
    "change",
    [
        lambda f: replace(f, ".*[.]input_(scale|offset)", lambda a: a.reshape(())),
        lambda f: replace(f, ".*[.]input_offset", lambda a: a.astype(np.int8)),
        lambda f: replace(f, ".*[.]input_scale", lambda a: a.astype(BFLOAT16)),
    ],
    ids=["scalars", "int8", "bfloat16"],
)
def test_other_forms_of_inputs(change: Any, tmp_path: Path) -> None:
    source, folder = ordinary(tmp_path)
    static(folder)
    change(folder)
    assert check(folder, source, 1).findings == []


@pytest.mark.parametrize("type", ["W8A8S", "W8A8_MIX"])
def test_types_with_the_same_tensors(type: str, tmp_path: Path) -> None:
    source, folder = ordinary(tmp_path)
    as_static(folder, O, type)
    assert check(folder, source, 1).findings == []
    remove(folder, re.escape(O) + r"\.weight_(scale|offset)")
    missing = [f"{O}.weight_scale", f"{O}.weight_offset"] if type == "W8A8_MIX" else []
    assert [name for _, name in errors(check(folder, source, 1))] == missing


@pytest.mark.parametrize(
    ("value", "params"), [(1e-42, "bfloat16"), (1e-6, "float16"), (1e5, "float16")]
)
def test_scales_of_inputs_as_consumers_read_them(value: float, params: str, tmp_path: Path) -> None:
    """In the params dtype they, or what vllm-ascend multiplies by, 1 / scale, become infinite."""
    _, folder = ordinary(tmp_path)
    as_static(folder, O, step=value)
    edit_json(folder / "config.json", lambda c: c.update(torch_dtype=params))
    found = [f.name for f in check(folder, None, 1).findings if f.rule == "scale"]
    assert f"{O}.input_scale" in found


def bias_of(rows: int) -> Array:
    return np.random.default_rng(5).normal(size=rows).astype(BFLOAT16)


@pytest.mark.parametrize("dtype", [np.float32, BFLOAT16])
def test_a_bias_is_in_quant_bias(dtype: Any, tmp_path: Path) -> None:
    """And is judged by the folder's bias, else by the original's."""
    source, folder = ordinary(tmp_path)
    as_static(folder, O, bias=bias_of(72), dtype=dtype)
    assert check(folder, None, 1).findings == []
    add(source, {f"{O}.bias": bias_of(72)})
    assert check(folder, source, 1).findings == []
    remove(folder, re.escape(O) + "[.]bias")
    assert check(folder, source, 1).findings == []
    replace(folder, re.escape(O) + "[.]quant_bias", lambda a: a + 1000)
    assert errors(check(folder, source, 1)) == [("quant-bias", f"{O}.quant_bias")]


@pytest.mark.parametrize(
    ("model_type", "severity"), [("llama", "error"), ("qwen2", "warning")], ids=["llama", "qwen2"]
)
def test_a_bias_that_nobody_has(model_type: str, severity: str, tmp_path: Path) -> None:
    """Of a model without biases it is an error; else it may be in quant_bias alone."""
    _, folder = ordinary(tmp_path)
    edit_json(folder / "config.json", lambda c: c.update(model_type=model_type))
    as_static(folder, Q, bias=bias_of(72))
    remove(folder, re.escape(Q) + "[.]bias")
    found = [(f.severity, f.rule, f.name) for f in check(folder, None, 1).findings]
    assert (severity, "quant-bias", f"{Q}.quant_bias") in found


@pytest.mark.parametrize("change", [np.zeros_like, np.negative], ids=["zeros", "sign"])
def test_sums_are_missed_whatever_the_bias(change: Any, tmp_path: Path) -> None:
    """A bias has nothing to do with the sums of codes."""
    _, folder = ordinary(tmp_path)
    edit_json(folder / "config.json", lambda c: c.update(model_type="qwen2"))
    as_static(folder, O)
    replace(folder, re.escape(O) + "[.]quant_bias", change)
    assert errors(check(folder, None, 1)) == [("quant-bias", f"{O}.quant_bias")]


def test_a_bias_of_moved_outliers(tmp_path: Path) -> None:
    """It is no tensor of the original's; consumers add it."""
    source, folder = ordinary(tmp_path)
    as_static(folder, O, bias=bias_of(72))
    add(folder, {"model.layers.0.input_layernorm.bias": np.zeros(72, np.float32)})
    found = [(f.severity, f.rule) for f in check(folder, source, 1).findings]
    assert found == [("warning", "extra-tensor")] * 2


@pytest.mark.parametrize("part", ["input_scale", "input_offset"])
def test_fused_linears_have_one_activation(part: str, tmp_path: Path) -> None:
    """A difference that the params dtype does not see is none; other Linears may differ."""
    _, folder = ordinary(tmp_path)
    static(folder)
    as_static_alone = {"step": 0.5} if part == "input_scale" else {"offset": 4}
    replace(folder, f"{ATTENTION}.k_proj.input_scale", lambda a: a * np.float32(1 + 1e-6))
    assert check(folder, None, 1).findings == []
    k = f"{ATTENTION}.k_proj"
    add(folder, {f"{k}.weight_scale": tensor(folder, f"{k}.deq_scale")[:, None] * 32})
    as_static(folder, k, **as_static_alone)
    (found,) = check(folder, None, 1).findings
    assert (found.rule, part in found.text) == ("static", True)
    assert "k_proj" in found.name
