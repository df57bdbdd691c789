"""What rounding explains and what it does not, operator by operator."""

from __future__ import annotations

from typing import Any

import golden_wrongs
import numpy as np
import pytest
from golden_wrongs import BF16, F32, codes
from test_golden_variants import few_bits

import npu_quant
from npu_quant.golden import compare
from npu_quant.golden.operators import operators, outputs_of
from npu_quant.testing import GoldenMismatch, assert_golden


def test_every_operator_can_be_compared() -> None:
    assert set(npu_quant.ops.__all__) == set(operators())


@pytest.mark.parametrize(
    ("op", "inputs"),
    [
        ("npu_dtype_cast", {"self": F32([[1.3, -2.6]]), "dtype": "float16"}),
        ("npu_dtype_cast", {"self": F32([[1.3, -2.6]]), "dtype": "float8_e4m3fn"}),
        ("dequantize_val", {"scale": 0.3, "zero_point": 2, "value": np.int8([3, -4])}),
        ("dequantize_val", {"scale": 0.3, "zero_point": 2, "value": 3}),
        (
            "fake_quantize_per_tensor_affine_cachemask_backward",
            {"grad": F32([1, 2]), "mask": np.array([True, False])},
        ),
    ],
    ids=str,
)
def test_an_operator_without_a_page_is_compared_all_the_same(op: str, inputs: Any) -> None:
    """Its golden is computed; of rounding nothing is known."""
    golden = np.asarray(getattr(npu_quant, op)(**inputs))
    assert assert_golden(golden.copy(), op=op, inputs=inputs).rung == "identical"
    wrong = golden.copy()
    wrong.reshape(-1).view(np.uint8)[0] ^= 1
    comparison = compare(wrong, op=op, inputs=inputs)
    assert (comparison.rung, comparison.op) == ("different", op)
    assert comparison.output(outputs_of(op)[0]).metrics.mismatches == 1
    assert npu_quant.golden.explain(golden, op, inputs).matches[0].name == "reference"


# What is moved by a twentieth: codes change, and the scales of blocks, which are the golden's here.
MOVED = {
    "npu_dynamic_block_quant": "x",
    "npu_quantize": "self",
    "quantize_val": "value",
    "npu_add_rms_norm_quant": "gamma",
    "npu_rms_norm_quant": "gamma",
    "npu_rms_norm_quant_v2": "gamma",
    "fake_quantize_per_tensor_affine_cachemask": "self",
    "fake_quantize_per_channel_affine_cachemask": "self",
}


def inputs_of(op: str, dtype: Any) -> dict[str, Any]:
    """Return the inputs of an operator's first row of wrongs, or some like them."""
    if op == "npu_dynamic_block_quant":
        return {"x": few_bits(7, (128, 256), dtype)}
    if op == "fake_quantize_per_tensor_affine_cachemask":
        tensor = {"self": few_bits(7, (128, 256), dtype), "scale": 0.037, "zero_point": 3}
        return tensor | {"quant_min": -128, "quant_max": 127}
    inputs = next(wrong for wrong in golden_wrongs.every() if wrong.op == op).make()[0]
    narrow = ("self", "value", "x", "x1", "x2", "gamma", "beta")
    return {key: v.astype(dtype) if key in narrow else v for key, v in inputs.items()}


@pytest.mark.parametrize("dtype", [np.float16, BF16], ids=["float16", "bfloat16"])
@pytest.mark.parametrize("op", MOVED)
def test_what_another_input_gives_is_different_but_for_a_tolerance(op: str, dtype: Any) -> None:
    inputs, key = inputs_of(op, dtype), MOVED[op]
    asked: dict[str, Any] = {"op": op, "inputs": inputs}
    function = getattr(npu_quant, op)
    golden = function(**inputs)
    golden = golden if isinstance(golden, tuple) else (golden,)
    assert assert_golden(tuple(np.array(g) for g in golden), **asked).rung == "identical"
    other = function(**inputs | {key: inputs[key] + dtype(0.05)})
    wrong = (other if isinstance(other, tuple) else (other,))[0], *golden[1:]
    comparison = compare(wrong, **asked)
    assert comparison.rung == "different", str(comparison)
    assert "not rounding" in str(comparison)
    with pytest.raises(GoldenMismatch):
        assert_golden(wrong, **asked)
    loose = {name: 1000.0 for name in outputs_of(op) if name not in ("scale", "x", "rstd")}
    comparison = compare(wrong, **asked, atol=loose)
    assert (comparison.rung, comparison.passed) == ("tolerated", True), str(comparison)


def test_blocks_that_are_truncated_pass_only_by_name() -> None:
    x = few_bits(7, (128, 256), np.float16)
    v = x.astype(F32).reshape(128, 2, 128)
    scale = np.abs(v).max(axis=-1) / F32(127)
    actual = codes(v / scale[..., None], np.trunc).reshape(128, 256), scale
    asked: dict[str, Any] = {"op": "npu_dynamic_block_quant", "inputs": {"x": x}}
    comparison = compare(actual, **asked)
    assert (comparison.rung, comparison.passed) == ("variant", False), str(comparison)
    assert "truncation" in [v.name for v in comparison.variants]
    assert compare(actual, **asked, variant="truncation").passed


def test_another_epsilon_is_no_tie_however_generous_the_bound_of_a_sum() -> None:
    rng = np.random.default_rng(11)
    x1, x2 = (rng.standard_normal((64, 4096)).astype(F32) for _ in "ab")
    inputs = {
        "x1": x1,
        "x2": x2,
        "gamma": np.ones(4096, F32),
        "scales1": np.array([0.02], F32),
        "zero_points1": None,
    }
    wrong = npu_quant.npu_add_rms_norm_quant(**inputs, epsilon=1e-5)
    comparison = compare(wrong, op="npu_add_rms_norm_quant", inputs=inputs)
    ties = comparison.output("y1").ties
    assert ties is not None
    assert ties.farthest <= ties.allowed
    assert (comparison.rung, comparison.passed) == ("variant", False)
    assert [v.name for v in comparison.variants] == ["epsilon 1e-5"]
    assert "another formula's bytes" in str(comparison)
