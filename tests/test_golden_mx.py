"""Golden comparison of npu_dynamic_mx_quant: which rule for the scale, which rounding.

The formulas are those of mx_formulas.py, in plain NumPy.
"""

from __future__ import annotations

from collections.abc import Callable

import ml_dtypes
import numpy as np
import pytest
from mx_formulas import (
    BF16,
    F32,
    FORMATS,
    OP,
    ROWS,
    Array,
    N,
    amax_of,
    away,
    compared,
    encoded,
    even,
    floor_log2,
    numbers,
    quantized,
    told,
    up_to,
    whole,
)

import npu_quant
from npu_quant.golden import compare, explain


@pytest.fixture(params=FORMATS)
def name(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def test_the_formulas_here_are_the_operators(name: str) -> None:
    x = numbers()
    y, mxscale = npu_quant.npu_dynamic_mx_quant(x, dst_type=name)
    own = quantized(x, name, told(x, name))
    assert own[0].tobytes() == y.tobytes()
    assert own[1].tobytes() == mxscale.tobytes()


class TestShapes:
    @pytest.mark.parametrize("axis", [0, 1, 2])
    @pytest.mark.parametrize("block_size", [32, 64])
    def test_any_axis_with_blocks_that_are_not_full(
        self, name: str, axis: int, block_size: int
    ) -> None:
        shape = [(98, 7, 34), (7, 98, 34), (7, 7, 98)][axis]
        x = np.random.default_rng(1).standard_normal(shape).astype(np.float16)
        x[5, 3, 7], x[4], x[6, 6, 6] = np.inf, 0, np.nan
        more = {"axis": axis, "block_size": block_size}
        y, mxscale = npu_quant.npu_dynamic_mx_quant(x, dst_type=name, **more)
        comparison = compared((y.copy(), mxscale), x, name, **more)
        assert comparison.rung == "identical"
        found = explain((y, mxscale), OP, {"input": x, "dst_type": name, **more})
        assert found.matches[0].name == "reference"
        # The wrong byte of one block is seen, and follows into its codes alone.
        wrong = mxscale.copy()
        where = [(0, 3, 5, 0), (3, 0, 5, 0), (3, 5, 0, 0)][axis]
        wrong[where] += 1
        comparison = compared((y, wrong), x, name, **more)
        assert comparison.decisive.name == "mxscale"
        assert comparison.output("y").rung == "identical"
        place = {
            0: f"[0, 3, 5] to [{block_size - 1}, 3, 5]",
            1: f"rows {3 * 98} to {3 * 98 + block_size - 1} of column 5",
            2: f"block 0 of row {3 * 7 + 5}, columns 0 to {block_size - 1}",
        }[axis]
        assert f"[{', '.join(map(str, where))}] ({place}) actual" in str(comparison)

    def test_an_empty_array(self) -> None:
        x = np.zeros((4, 0), F32)
        y, mxscale = npu_quant.npu_dynamic_mx_quant(x)
        assert compare((y, mxscale.copy()), op=OP, inputs=x).rung == "identical"

    def test_float4_is_compared_by_element_and_may_be_unpacked(self) -> None:
        x = numbers()
        y, mxscale = npu_quant.npu_dynamic_mx_quant(x)
        codes = np.stack((y & 15, y >> 4), -1).reshape(x.shape)
        for given in (y, codes, codes.view(ml_dtypes.float4_e2m1fn)):
            comparison = compare((given, mxscale), op=OP, inputs=x)
            assert comparison.rung == "identical"
            assert comparison.output("y").shape == x.shape
        wrong = y.copy()
        wrong[3, 5] ^= 0x70
        where = compare((wrong, mxscale), op=OP, inputs=x).output("y").where
        assert where is not None
        assert where.first == 3 * N + 11

    def test_scales_of_another_dtype(self) -> None:
        x = numbers()
        y, mxscale = npu_quant.npu_dynamic_mx_quant(x)
        comparison = compare((y, mxscale.view(ml_dtypes.float8_e8m0fnu)), op=OP, inputs=x)
        assert comparison.rung == "identical"


RULES: dict[str, Callable[[Array, str], Array]] = {
    "scale rceil": lambda a, name: up_to(a, FORMATS[name][2]),
    "scale ceil": lambda a, name: np.ceil(np.log2(a)) - FORMATS[name][0],
    "scale even": lambda a, name: even(a, FORMATS[name][1]) - FORMATS[name][0],
    "scale nearest": lambda a, name: np.rint(np.log2(a)) - FORMATS[name][0],
    "scale from 1.75 on up": lambda a, name: floor_log2(a * 8 / 7) - FORMATS[name][0],
    "scale floor of bf16 log2": lambda a, name: (
        np.floor(np.log2(a).astype(BF16).astype(np.float64)) - FORMATS[name][0]
    ),
    "scale floor of amax * 8/7": lambda a, name: floor_log2(a * 8 / 7 + 9.6e-7) - FORMATS[name][0],
    "scale rceil of amax / 7": lambda a, name: up_to(a, 7),
    "emax ignored": lambda a, name: floor_log2(a),
    "one more": lambda a, name: floor_log2(a) - FORMATS[name][0] + 1,
    "one less": lambda a, name: floor_log2(a) - FORMATS[name][0] - 1,
}
"""Of amax, in float64: the exponent E."""
ONLY = {
    "scale from 1.75 on up": ("float8_e4m3fn", "float8_e5m2", "float4_e1m2"),
    "scale floor of amax * 8/7": ("float4_e2m1", "float4_e1m2"),
    "scale rceil of amax / 7": ("float4_e2m1",),
    "emax ignored": ("float8_e4m3fn", "float8_e5m2", "float4_e2m1"),
}


@pytest.mark.parametrize(
    ("rule", "name"), [(rule, name) for rule in RULES for name in ONLY.get(rule, FORMATS)]
)
class TestRules:
    def test_it_is_named_and_passes_only_by_its_name(self, rule: str, name: str) -> None:
        x = numbers()
        actual = quantized(x, name, RULES[rule](amax_of(x), name))
        comparison = compared(actual, x, name)
        assert (comparison.rung, comparison.passed) == ("variant", False)
        assert rule in [v.name for v in comparison.variants]
        assert not any(v.benign for v in comparison.variants)
        assert comparison.output("y").follows_scale
        inputs = {"input": x, "dst_type": name}
        assert compare(actual, op=OP, inputs=inputs, variant=rule).passed

    def test_with_another_rounding_both_are_named(self, rule: str, name: str) -> None:
        x = numbers()
        for mode, to_whole in (("round_mode round", away), ("truncation", np.trunc)):
            actual = quantized(x, name, RULES[rule](amax_of(x), name), to_whole)
            found = explain(actual, OP, {"input": x, "dst_type": name})
            assert f"{rule}, {mode}" in [v.name for v in found.matches]


def test_rules_differ_on_these_numbers() -> None:
    """Else a name would say nothing."""
    a = amax_of(numbers())
    for name in FORMATS:
        found = {
            rule: np.asarray(f(a, name)).tobytes()
            for rule, f in RULES.items()
            if name in ONLY.get(rule, FORMATS)
        }
        same = len(found) - len(set(found.values()))
        assert same <= (name == "float4_e2m1") + (name == "float4_e1m2")


class TestRoundings:
    @pytest.mark.parametrize(
        ("mode", "to_whole"),
        [
            ("round_mode round", away),
            ("round_mode floor", np.floor),
            ("truncation", np.trunc),
            ("ceil", np.ceil),
        ],
    )
    def test_another_rounding_is_named(
        self, name: str, mode: str, to_whole: Callable[[Array], Array]
    ) -> None:
        """Other ties are the same function where it is not an attribute which one is meant."""
        x = numbers()
        actual = quantized(x, name, told(x, name), to_whole)
        comparison = compared(actual, x, name)
        is_tie = mode == "round_mode round" and name[:6] == "float8"
        assert comparison.rung == ("tie" if is_tie else "variant")
        assert comparison.passed == is_tie
        assert mode in [v.name for v in comparison.variants]

    @pytest.mark.parametrize("name", ["float4_e2m1", "float4_e1m2"])
    def test_the_rounding_that_was_asked_for(self, name: str) -> None:
        x = numbers()
        modes = {"rint": np.rint, "round": away, "floor": np.floor}
        for asked in modes:
            for done, to_whole in modes.items():
                actual = quantized(x, name, told(x, name), to_whole)
                comparison = compared(actual, x, name, round_mode=asked)
                assert comparison.passed == (asked == done)
                if asked != done:
                    assert f"round_mode {done}" in [v.name for v in comparison.variants]

    def test_one_code_on_the_wrong_side_is_different(self) -> None:
        x = np.zeros((1, 32), F32)
        x[0, :4] = 4, 2.5, 2.4375, -0.25  # 2.5 is between 2 and 3, -0.25 between -0.5 and -0
        y, mxscale = npu_quant.npu_dynamic_mx_quant(x)
        codes = [6, 4, 4, 8]
        assert [y[0, 0] & 15, y[0, 0] >> 4, y[0, 1] & 15, y[0, 1] >> 4] == codes
        rungs = {(1, 5): "tie", (1, 3): "different", (2, 5): "different", (3, 9): "tie"}
        for (place, code), rung in rungs.items():
            wrong = [*codes[:place], code, *codes[place + 1 :]]
            actual = y.copy()
            actual[0, :2] = wrong[0] | wrong[1] << 4, wrong[2] | wrong[3] << 4
            assert compare((actual, mxscale), op=OP, inputs=x).rung == rung
        assert compare((actual, mxscale), op=OP, inputs=x).margin == 0

    def test_floor_has_no_ties(self) -> None:
        x = np.zeros((1, 32), F32)
        x[0, :4] = 4, 3, 2.9375, -0.25
        inputs = {"input": x, "round_mode": "floor"}
        y, mxscale = npu_quant.npu_dynamic_mx_quant(**inputs)
        codes = [6, 5, 4, 9]
        assert [y[0, 0] & 15, y[0, 0] >> 4, y[0, 1] & 15, y[0, 1] >> 4] == codes
        for place, code in ((1, 4), (1, 6), (2, 5), (2, 3), (3, 8), (3, 10)):
            wrong = [*codes[:place], code, *codes[place + 1 :]]
            actual = y.copy()
            actual[0, :2] = wrong[0] | wrong[1] << 4, wrong[2] | wrong[3] << 4
            assert not compare((actual, mxscale), op=OP, inputs=inputs).passed

    @pytest.mark.parametrize("name", ["float8_e4m3fn", "float8_e5m2"])
    def test_no_saturation(self, name: str) -> None:
        x = numbers()
        exponent = told(x, name)
        v = x.astype(np.float64) / np.repeat(2.0**exponent, 32, axis=1)
        scales = (exponent + 127).astype(np.uint8).reshape(ROWS, -1, 2)
        comparison = compared((v.astype(F32).astype(name), scales), x, name)
        assert comparison.variants[0].name == "no saturation"
        assert not comparison.passed

    def test_bf16_products_of_float32(self, name: str) -> None:
        x = (numbers(np.float64) * (1 + 1 / 300)).astype(F32)
        exponent = told(x, name)
        v = x.astype(np.float64) / np.repeat(2.0**exponent, 32, axis=1)
        kept = v.astype(BF16).astype(np.float64)
        y = encoded(whole(kept, name, np.rint), name)
        scales = (exponent + 127).astype(np.uint8).reshape(ROWS, -1, 2)
        comparison = compared((y, scales), x, name)
        assert comparison.variants[0].name == "bf16 products"
        assert not comparison.passed
