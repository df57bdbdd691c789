"""Golden comparison of the other MX operators: two axes, groups of rows, and back to values.

The formulas are in plain NumPy here; none is imported.
"""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest
from mx_formulas import F32, Array, fitted, floored

import npu_quant
from npu_quant.golden import Comparison, compare, explain

E4M3 = ml_dtypes.float8_e4m3fn
DUAL, GROUPED = "npu_dynamic_mx_quant_with_dual_axis", "npu_grouped_dynamic_mx_quant"
ANTI = "npu_anti_mx_quant"
GROUPS = np.array([32, 32, 70, 192], np.int32)


@pytest.fixture
def x(rng: np.random.Generator) -> Array:
    return (rng.standard_normal((192, 128)) * np.exp(rng.standard_normal((192, 128)))).astype(F32)


def along_last(x: Array, rule: Any) -> tuple[Array, Array]:
    """Return codes of float8_e4m3fn and bytes, by blocks of 32 of a last axis of pairs of them."""
    exponent = rule(np.abs(x.astype(np.float64)).reshape(*x.shape[:-1], -1, 32).max(-1))
    v = x / np.repeat(2.0**exponent, 32, axis=-1)
    codes = np.clip(v, -448, 448).astype(E4M3)
    return codes, (exponent + 127).astype(np.uint8).reshape(*x.shape[:-1], -1, 2)


def along_other(x: Array, rule: Any) -> tuple[Array, Array]:
    y, scales = along_last(np.ascontiguousarray(x.T), rule)
    return np.ascontiguousarray(y.T), np.ascontiguousarray(scales.transpose(1, 0, 2))


def dual(actual: Any, x: Array) -> Comparison:
    return compare(actual, op=DUAL, inputs={"input": x, "dst_type": E4M3})


class TestTwoAxes:
    def test_both_by_the_rule_that_was_asked_for(self, x: Array) -> None:
        actual = (*along_last(x, floored), *along_other(x, floored))
        assert dual(actual, x).rung == "identical"

    def test_another_rule_is_named_if_both_have_it(self, x: Array) -> None:
        actual = (*along_last(x, fitted), *along_other(x, fitted))
        comparison = dual(actual, x)
        assert (comparison.rung, comparison.passed) == ("variant", False)
        assert "scale rceil" in [v.name for v in comparison.variants]

    @pytest.mark.parametrize("wrong", [0, 1])
    def test_one_axis_by_another_rule(self, x: Array, wrong: int) -> None:
        rules = [floored, floored]
        rules[wrong] = fitted
        comparison = dual((*along_last(x, rules[0]), *along_other(x, rules[1])), x)
        assert (comparison.rung, comparison.variants) == ("different", ())
        assert comparison.decisive.name == f"mxscale{wrong + 1}"
        assert comparison.output(f"y{wrong + 1}").follows_scale
        assert comparison.output(f"y{2 - wrong}").rung == "identical"
        assert comparison.output(f"mxscale{2 - wrong}").rung == "identical"

    def test_one_output_alone(self, x: Array) -> None:
        y2, scales = along_other(x, fitted)
        actual = {"y2": y2, "mxscale2": scales, "y1": None, "mxscale1": None}
        found = explain(actual, DUAL, {"input": x, "dst_type": E4M3})
        assert "scale rceil" in [v.name for v in found.matches]


def grouped(actual: Any, x: Array, groups: Array = GROUPS, **more: Any) -> Comparison:
    return compare(actual, op=GROUPED, inputs={"x": x, "group_index": groups, **more})


def with_rows_of_none(scales: Array) -> Array:
    """Return bytes of groups that end with row 64, 64 and 192: of 6 pairs 3 have no block."""
    none = np.full((1, scales.shape[1], 2), 77, np.uint8)
    return np.concatenate([scales[:1], none, none, scales[1:], none])


class TestGroups:
    ends = np.array([64, 64, 192], np.int32)

    def test_pairs_of_no_block_are_not_compared(self, x: Array) -> None:
        """As the device leaves them as they were in memory."""
        y, scales = along_other(x, floored)
        actual = y, with_rows_of_none(scales)
        inputs = {"dst_type": E4M3}
        assert grouped(actual, x, self.ends, **inputs).rung == "identical"
        every = {"x": x, "group_index": self.ends, **inputs}
        assert explain(actual, GROUPED, every).matches[0].name == "reference"
        actual[1][3, 7, 1] += 1
        comparison = grouped(actual, x, self.ends, **inputs)
        assert comparison.decisive.name == "mxscale"
        assert comparison.output("mxscale").metrics.mismatches == 1

    def test_a_lane_of_no_block_is_compared(self, x: Array) -> None:
        y, scales = npu_quant.npu_grouped_dynamic_mx_quant(x, GROUPS)
        wrong = scales.copy()
        assert not wrong[0, :, 1].any()
        wrong[0, 3, 1] = 127
        assert grouped((y, wrong), x).output("mxscale").metrics.mismatches == 1

    def test_another_rule_is_named(self, x: Array) -> None:
        y, scales = along_other(x, fitted)
        comparison = grouped((y, with_rows_of_none(scales)), x, self.ends, dst_type=E4M3)
        assert "scale rceil" in [v.name for v in comparison.variants]
        assert not comparison.passed

    def test_blocks_that_do_not_begin_anew(self, x: Array) -> None:
        scales = npu_quant.npu_grouped_dynamic_mx_quant(x, GROUPS)[1]
        across = npu_quant.npu_dynamic_mx_quant(x, axis=0, dst_type="float8_e5m2")[0]
        comparison = grouped((across, scales), x)
        assert comparison.rung == "different"
        assert comparison.output("y").metrics.first >= 32 * 128

    def test_no_rows(self) -> None:
        x, groups = np.zeros((0, 4), F32), np.zeros(2, np.int32)
        y, scales = npu_quant.npu_grouped_dynamic_mx_quant(x, groups)
        assert grouped((y, scales + np.uint8(9)), x, groups).rung == "identical"

    def test_subnormal_blocks_of_the_kernel(self, x: Array) -> None:
        x[:, 3] = 2.0**-128
        inputs = {"dst_type": "float4_e1m2", "scale_alg": 2}
        y, scales = npu_quant.npu_grouped_dynamic_mx_quant(x, GROUPS, **inputs)
        assert (y[:, 1] >> 4).any()
        y[:, 1] &= 15
        found = [v.name for v in grouped((y, scales), x, **inputs).variants]
        assert found == ["y is 0 where the byte is", "y is 0 where amax is subnormal"]


POWERS = 2.0 ** np.arange(-127, 129)
POWERS[255] = np.nan


def anti(actual: Array, **inputs: Any) -> Comparison:
    return compare(actual, op=ANTI, inputs=inputs)


class TestBackToValues:
    """96 rows of 32 columns with blocks of rows: of these 3, whose bytes lie as 2 pairs."""

    @pytest.fixture
    def given(self, rng: np.random.Generator) -> dict[str, Any]:
        codes = rng.integers(0, 0x7E, (96, 32)).astype(np.uint8) | rng.choice(
            np.array([0, 128], np.uint8), (96, 32)
        )
        scales = rng.integers(100, 150, (2, 32, 2)).astype(np.uint8)
        scales[0, :9, 0] = 0, 1, 254, 255, 110, 105, 143, 142, 141
        return {"x": codes.view(E4M3), "mxscale": scales, "axis": 0}

    def product(self, given: dict[str, Any], powers: Array = POWERS) -> Array:
        bytes_ = given["mxscale"].transpose(0, 2, 1).reshape(4, 32)[:3]
        power = np.repeat(powers[bytes_], 32, axis=0)
        with np.errstate(all="ignore"):
            return (given["x"].astype(np.float64) * power).astype(F32)

    @pytest.mark.parametrize("name", ["float32", "float16", "bfloat16"])
    def test_the_operators_own(self, given: dict[str, Any], name: str) -> None:
        given["dst_type"], given["src_type"] = name, E4M3
        with np.errstate(all="ignore"):
            assert anti(self.product(given).astype(name), **given).rung == "identical"

    def test_what_is_named(self, given: dict[str, Any]) -> None:
        given["dst_type"], given["src_type"] = "float16", E4M3
        own, cast = self.product(given), np.float16
        with np.errstate(all="ignore"):
            stored = POWERS.astype(F32).astype(cast).astype(np.float64)
            results = {
                "saturated": np.clip(own, -65504, 65504).astype(cast),
                "subnormals become 0": np.where(np.abs(own) < 2.0**-14, own * 0, own).astype(cast),
                "scale in 16 bits": self.product(given, stored).astype(cast),
                "one more": self.product(given, POWERS * 2).astype(cast),
                "one less": self.product(given, POWERS / 2).astype(cast),
                "x / scale": self.product(given, 1 / POWERS).astype(cast),
                "byte 255 is 2^128": self.product(given, 2.0 ** np.arange(-127, 129)).astype(cast),
                "scale ignored": given["x"].astype(cast),
            }
        for name, actual in results.items():
            comparison = anti(actual, **given)
            assert comparison.variants[0].name == name
            assert not comparison.passed

    def test_byte_0(self, given: dict[str, Any]) -> None:
        given["dst_type"], given["src_type"] = "float32", E4M3
        own = self.product(given, np.append(0, POWERS[1:]))
        own[:32, 3] = np.copysign(np.inf, given["x"][:32, 3].astype(F32))
        found = anti(own, **given)
        assert [v.name for v in found.variants] == ["byte 0 is 0"]

    def test_bytes_in_rows(self, given: dict[str, Any]) -> None:
        given["src_type"] = E4M3
        scales = given["mxscale"]
        given["mxscale"] = np.ascontiguousarray(scales.reshape(2, 2, 32).transpose(0, 2, 1))
        actual = self.product(given).astype(ml_dtypes.bfloat16)
        given["mxscale"] = scales
        assert [v.name for v in anti(actual, **given).variants] == ["bytes in rows"]

    def test_the_high_nibble_first(self, rng: np.random.Generator) -> None:
        x = rng.integers(0, 256, (6, 64)).astype(np.uint8)
        scales = rng.integers(110, 140, (6, 2, 2)).astype(ml_dtypes.float8_e8m0fnu)
        inputs = {"x": x, "mxscale": scales, "src_type": "float4_e2m1", "dst_type": "float32"}
        values = np.array([0, 0.5, 1, 1.5, 2, 3, 4, 6])
        values = np.append(values, -values)
        power = np.repeat(scales.astype(F32).reshape(6, 4), 32, axis=1)
        for order, name in (((x & 15, x >> 4), None), ((x >> 4, x & 15), "high nibble first")):
            own = (values[np.stack(order, -1).reshape(6, 128)] * power).astype(F32)
            comparison = anti(own, **inputs)
            assert comparison.rung == ("identical" if name is None else "variant")
            assert [v.name for v in comparison.variants] == ([] if name is None else [name])

    def test_float16_next_to_a_tie(self) -> None:
        """3 * 2^-25 lies between 2^-24 and 2^-23, whose code is even."""
        codes = np.array([[3, -3, 1, 448]], E4M3)
        inputs = {"x": codes, "mxscale": np.array([[[102, 0]]], np.uint8), "dst_type": 5}
        inputs["src_type"] = 292
        least = F32(2.0**-24)
        golden = np.array([[2 * least, -2 * least, 0, 224 * least]], np.float16)
        assert anti(golden, **inputs).rung == "identical"
        golden[0, 0] = least
        assert anti(golden, **inputs).rung == "tie"
        golden[0, 3] = 223 * least
        assert anti(golden, **inputs).rung == "different"
