"""What rounding explains of codes around an offset, by formulas written once more here."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import pytest
from as_line import as_line
from numpy.typing import NDArray

import npu_quant
from npu_quant.golden import Comparison, compare, explain
from npu_quant.golden.operators import model_of
from npu_quant.testing import assert_golden

Array = NDArray[Any]
F32 = np.float32
OP = "npu_dynamic_quant_asymmetric"
GOAL = {
    "int8": (127, 255),
    "int4": (7, 15),
    "float8_e4m3fn": (448, 896),
    "hifloat8": (32768, 65536),
}


class Given(NamedTuple):
    """Rows and the terms of their quantization."""

    x: Array
    name: str = "int8"

    @property
    def v(self) -> Array:
        return self.x.astype(F32)

    @property
    def hi(self) -> Array:
        return np.asarray(self.v.max(axis=-1, keepdims=True))

    @property
    def range(self) -> Array:
        return np.asarray(self.hi - self.v.min(axis=-1, keepdims=True))

    @property
    def most(self) -> Any:
        return F32(GOAL[self.name][0])

    @property
    def reach(self) -> Any:
        return F32(GOAL[self.name][1])

    @property
    def scale(self) -> Array:
        return np.asarray(np.maximum(self.range / self.reach, F32(1e-12)))

    def outputs(self, q: Array, scale: Array, offset: Array) -> tuple[Array, Array, Array]:
        if self.name == "int8":
            with np.errstate(invalid="ignore"):
                y = np.where(np.isnan(q), 0, np.clip(np.rint(q), -128, 127)).astype(np.int8)
        else:
            y = npu_quant.formats.encode(q, self.name)
        return y, scale[..., 0], offset[..., 0]

    def by(self, scale: Array, hi: Array | None = None) -> tuple[Array, Array, Array]:
        offset = self.most - (self.hi if hi is None else hi) / scale
        return self.outputs(self.v / scale + offset, scale, offset)

    def compare(self, actual: Any, **more: Any) -> Comparison:
        return compare(actual, op=OP, inputs={"input": self.x, "dst_type": self.name}, **more)


def normal(seed: int = 7, rows: int = 256, mean: float = 0.0) -> Array:
    rng = np.random.default_rng(seed)
    return (rng.standard_normal((rows, 1024)) + mean).astype(F32)


@pytest.fixture(scope="module", params=GOAL)
def given(request: pytest.FixtureRequest) -> Given:
    """Rows of random numbers, the first of a sixth of a step: many lie on ties, but for rounding."""
    x, reach = normal(), GOAL[request.param][1]
    x[:64] = np.random.default_rng(8).integers(0, 6 * reach, (64, 1024), endpoint=True)
    x[:64, :2] = 0, 6 * reach
    x[:64] = (x[:64] - 3 * reach) * normal(rows=64)[:, :1]
    return Given(x, request.param)


def rungs(comparison: Comparison) -> list[str]:
    return [output.rung for output in comparison.outputs]


class TestTable:
    """docs/golden.md 2: each case of the symmetric table once more."""

    def test_the_formulas_here_are_the_operators(self, given: Given) -> None:
        theirs = npu_quant.npu_dynamic_quant_asymmetric(given.x, dst_type=given.name)
        assert [a.tobytes() for a in given.by(given.scale)] == [a.tobytes() for a in theirs]

    def test_a_reciprocal_is_a_tie(self, given: Given) -> None:
        offset = given.most - given.hi / given.scale
        actual = given.outputs(given.v * (1 / given.scale) + offset, given.scale, offset)
        comparison = given.compare(actual)
        assert rungs(comparison) == ["tie", "identical", "identical"]
        assert comparison.variants[0].name == "x * (1/scale)"
        assert comparison.margin < 3 / 8

    def test_another_way_to_the_scale_is_a_tie_in_all(self, given: Given) -> None:
        scale = given.range * (1 / given.reach)
        comparison = given.compare(given.by(scale))
        if given.name == "hifloat8":  # a power of two
            assert comparison.rung == "identical"
            return
        assert rungs(comparison) == ["tie"] * 3
        word = f"{given.reach:g}"
        assert comparison.variants[0].name == f"scale range * (1/{word})"
        offset = comparison.output("offset").ties
        assert offset is not None
        assert (offset.allowed, comparison.output("y").ties.allowed) == (5, 8)  # type: ignore[union-attr]
        assert 0 < offset.farthest < 5

    @pytest.mark.parametrize("name", ["rint(offset)", "fp16 scale", "fp16 quotient"])
    def test_another_function_is_a_variant(self, given: Given, name: str) -> None:
        scale = given.scale
        if name == "fp16 scale":
            scale = scale.astype(np.float16).astype(F32)
        offset = given.most - given.hi / scale
        offset = np.rint(offset) if name == "rint(offset)" else offset
        q = given.v / scale
        q = (q.astype(np.float16).astype(F32) if name == "fp16 quotient" else q) + offset
        comparison = given.compare(given.outputs(q, scale, offset))
        assert (comparison.rung, comparison.passed) == ("variant", False)
        assert name in [v.name for v in comparison.variants]

    def test_a_wrong_scale_is_different(self, given: Given) -> None:
        for factor in (1 + 2**-20, 0.98, 1.05):
            scale = given.scale.copy()
            scale[70] *= F32(factor)
            comparison = given.compare(given.by(scale))
            assert comparison.rung == "different"
            assert comparison.decisive.name == "scale"
        assert comparison.output("y").follows_scale
        assert "only in row 70" in as_line(comparison)
        alone = given.compare((given.by(scale)[0], None, None))
        assert alone.rung == "different"
        assert "power:" not in as_line(given.compare((given.by(given.scale)[0], None, None)))

    def test_a_wrong_offset_is_different(self, given: Given) -> None:
        y, scale, offset = given.by(given.scale)
        wrong = offset.copy()
        wrong[3] += F32(16) * np.spacing(max(given.most, abs(given.most - offset[3])))
        assert rungs(given.compare((y, scale, wrong))) == ["identical", "identical", "different"]
        near = offset.copy()
        near[3] += np.spacing(offset[3])
        assert rungs(given.compare((y, scale, near)))[2] == "tie"

    def test_one_code_on_the_wrong_side_is_different(self, given: Given) -> None:
        y, scale, offset = given.by(given.scale)
        wrong = y.copy()
        wrong.view(np.uint8)[5, 9] ^= 1
        comparison = given.compare((wrong, scale, offset))
        assert rungs(comparison) == ["different", "identical", "identical"]


def test_no_epsilon() -> None:
    """The 950 has none: a group of zeros has an offset that is NaN."""
    x = normal(rows=4)
    x[1] = 0
    x[2] = 3
    given = Given(x)
    with np.errstate(all="ignore"):
        actual = given.by(given.range / F32(255))
    found = given.compare(actual)
    assert found.variants[0].name == "no epsilon"
    assert not found.passed
    usual = explain(given.by(given.scale), OP, {"input": normal(rows=4)})
    assert "no epsilon" not in [r.name for r in usual.ranked]


def test_zero_in_the_range() -> None:
    given = Given(normal(mean=9.0))
    hi, lo = given.hi, np.minimum(given.v.min(axis=-1, keepdims=True), F32(0))
    found = given.compare(given.by((hi - lo) / F32(255)))
    assert found.variants[0].name == "0 in the range"
    assert not found.passed
    around = explain(Given(normal()).by(Given(normal()).scale), OP, {"input": normal()})
    assert "0 in the range" not in [r.name for r in around.ranked]


def test_hybrid() -> None:
    """The sum is rounded so, not the quotient: by a scale of 1 and an offset of 0, 16 becomes 20."""
    x = F32([[32768, 16, 20, -32768]])
    y, scale, offset = Given(x, "hifloat8").by(F32([[1]]))
    assert (y.view(np.uint8).tolist(), offset.tolist()) == ([[0x6E, 0x40, 0x41, 0xEE]], [0])
    other = np.array([[0x6E, 0x41, 0x42, 0xEE]], np.uint8)
    found = explain((other, scale, offset), OP, {"input": x, "dst_type": "hifloat8"})
    assert found.matches[0].name == "hybrid"
    assert not found.matches[0].benign


def test_offset_next_to_zero_is_judged_by_what_it_is_a_difference_of() -> None:
    """hi / scale is 127 but for rounding: an ulp of the offset says nothing."""
    x = np.array([[127, -128, 0, 1]], F32)
    y, scale, offset = npu_quant.npu_dynamic_quant_asymmetric(x)
    assert offset.tolist() == [0]
    other = np.array([2.0**-17], F32)  # an ulp of 127, and 2 ** 24 steps or more from 0
    found = compare((y, scale, other), op=OP, inputs={"input": x})
    ties = found.output("offset").ties
    assert ties is not None
    assert (found.rung, ties.farthest) == ("tie", pytest.approx(1, abs=1e-6))
    beyond = compare((y, scale, other * F32(6)), op=OP, inputs={"input": x})
    assert beyond.output("offset").rung == "different"


def constant(row: int) -> Array:
    """Return rows of which one, or all if it is -1, have one value each."""
    x = np.random.default_rng(3).standard_normal((64, 96)).astype(np.float16)
    x[row if row >= 0 else slice(None)] = x[row if row >= 0 else slice(None), ..., :1]
    return x


def test_codes_of_a_constant_row_may_be_any_but_are_all_the_same() -> None:
    x = constant(5)
    y, *others = npu_quant.npu_dynamic_quant_asymmetric(x)
    other = y.copy()
    other[5] = -100
    found = compare((other, *others), op=OP, inputs={"input": x})
    assert (found.rung, found.refusal) == ("tie", None)
    ties = found.output("y").ties
    assert ties is not None
    assert (ties.ill_conditioned, ties.contradicting) == (96, 0)
    assert "ill-conditioned: 96" in as_line(found)


@pytest.mark.parametrize("row", [5, -1])
@pytest.mark.parametrize("where", [np.s_[5, 7], np.s_[5, :40], np.s_[5], np.s_[:]])
def test_random_codes_of_constant_rows_are_no_rounding(row: int, where: Any) -> None:
    x = constant(row)
    y, *others = npu_quant.npu_dynamic_quant_asymmetric(x)
    other = y.copy()
    some = np.random.default_rng(1).integers(-128, 128, np.shape(y[where])).astype(np.int8)
    other[where] = np.where(some == y[where], some ^ 1, some)
    found = compare((other, *others), op=OP, inputs={"input": x})
    assert found.rung == "different"
    alone = compare((other, None, None), op=OP, inputs={"input": x})
    assert alone.rung == "different"


def test_what_could_only_pass_is_refused() -> None:
    """All numbers are beyond any code's range: codes that are the same in each row say nothing."""
    x = constant(-1)
    y, *others = npu_quant.npu_dynamic_quant_asymmetric(x)
    other = np.random.default_rng(1).integers(-128, 128, (64, 1)).astype(np.int8)
    outputs = (np.broadcast_to(other, y.shape), *others)
    found = compare(outputs, op=OP, inputs={"input": x})
    assert "would explain any code" in (found.refusal or "")
    with pytest.raises(ValueError, match="would explain any code"):
        assert_golden(outputs, op=OP, inputs={"input": x})
    assert assert_golden((y, *others), op=OP, inputs={"input": x}).rung == "identical"


def test_a_narrow_row_is_well_conditioned() -> None:
    narrow = np.array([[1000, 999, 998, 997]], np.float16)
    y, scale, offset = npu_quant.npu_dynamic_quant_asymmetric(narrow)
    y = y + np.array([[0, 1, 0, 0]], np.int8)
    found = compare((y, scale, offset), op=OP, inputs={"input": narrow})
    assert found.rung == "different"
    assert found.output("y").ties.ill_conditioned == 0  # type: ignore[union-attr]


def test_steps_beside_a_great_offset() -> None:
    """Codes of floats next to 0, of numbers near 2 ** 20 of their range: steps are many."""
    rng = np.random.default_rng(4)
    given = Given((300 + rng.random((64, 512))).astype(F32), "float8_e4m3fn")
    offset = given.most - given.hi / given.scale
    actual = given.outputs(given.v * (1 / given.scale) + offset, given.scale, offset)
    comparison = given.compare(actual)
    metrics = comparison.output("y").metrics
    assert metrics is not None
    assert metrics.max_steps > 1
    assert comparison.rung == "tie"


def test_what_lies_before_rounding() -> None:
    x = np.array([[-1, 0, 1, 3]], np.float16)
    model = model_of(OP, {"input": x})
    assert [model.allowed_for(i) for i in range(3)] == [8, 8, 5]
    zero = np.zeros(1, np.int8)
    test = model.before_rounding(0, np.array([1]), zero, zero + np.int8(1))
    scale = float(model.golden()[1][0])  # type: ignore[index]
    assert test.value == [-3 / scale + 127]
    assert test.tie == [0.5]
    assert test.magnitude == [3 / scale]
    offset = model.before_rounding(2, np.array([0]), F32([-64.25]), F32([-64]))
    assert offset.value == [127 - 3 / scale]
    assert offset.magnitude == [3 / scale]
    scales = model.before_rounding(1, np.array([0]), F32([1]), F32([1]))
    assert scales.value == [np.float64(4) / 255]


MODES: list[dict[str, Any]] = [
    {"quant_mode": "pertensor"},
    {"quant_mode": "perchannel"},
    {"smooth_scales": (2, 96), "group_index": np.array([20, 48], np.int32)},
    {
        "smooth_scales": (2, 96),
        "group_index": np.array([0, 48], np.int32),
        "quant_mode": "pertensor",
    },
    {"smooth_scales": (16,), "quant_mode": "perchannel"},
]


@pytest.mark.parametrize("op", ["npu_dynamic_quant", OP])
@pytest.mark.parametrize("mode", MODES, ids=lambda m: "-".join(map(str, m)))
def test_every_mode(op: str, mode: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    """The reference gives all bytes, in parts of any size; a reciprocal is a tie."""
    rng = np.random.default_rng(3)
    inputs = {
        "input": rng.standard_normal((3, 16, 96)).astype(np.float16) + np.float16(0.25)
    } | mode
    if "smooth_scales" in mode:
        inputs["smooth_scales"] = rng.uniform(0.5, 2, mode["smooth_scales"]).astype(np.float16)
    outputs = getattr(npu_quant, op)(**inputs)
    for part in (1 << 17, 1000, 96):
        monkeypatch.setattr("npu_quant.golden.operators.model.PART", part)
        found = explain(outputs, op, inputs)
        assert (found.ranked[0].name, found.ranked[0].total) == ("reference", 0)
    alone = compare(outputs[0], op=op, inputs=inputs)
    has_rows = op != OP and "quant_mode" not in mode
    assert ("power: scale was not compared: " in as_line(alone)) == has_rows
    wrong = outputs[0].copy()
    wrong[2, 5, 7] += 3
    comparison = compare((wrong, *outputs[1:]), op=op, inputs=inputs)
    assert comparison.rung == "different"
    assert comparison.worst()[0].index == (2, 5, 7)


def test_a_mode_is_named_where_another_was_meant() -> None:
    x = np.random.default_rng(3).standard_normal((40, 40)).astype(np.float16)
    for op in ("npu_dynamic_quant", OP):
        for mode, name in (("pertensor", "per tensor"), ("perchannel", "per column")):
            y, *_ = getattr(npu_quant, op)(x, quant_mode=mode)
            assert name in [m.name for m in explain(y, op, {"input": x}).matches]
        y, *_ = getattr(npu_quant, op)(x)
        found = explain(y, op, {"input": x, "quant_mode": "perchannel"})
        assert "per token" in [m.name for m in found.matches]
        assert "per column" not in [r.name for r in found.ranked]
