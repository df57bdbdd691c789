"""A bound is proved from below, too: for each operator that adds up floats the smallest faults."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import ml_dtypes
import numpy as np
import pytest

from npu_quant import formats
from npu_quant.golden import Comparison, compare

F32, F16, BF16 = np.float32, np.float16, ml_dtypes.bfloat16
E4M3 = ml_dtypes.float8_e4m3fn
Array = Any
ROWS, K, COLUMNS = 16, 10752, 32
TILE = 512
GROUPED, WEIGHTS = "npu_grouped_matmul", "npu_weight_quant_batchmatmul"
QUANT, DUAL = "npu_quant_matmul", "npu_dual_level_quant_matmul"


class Case(NamedTuple):
    """A product: an operator with its arguments, and both factors as the numbers that they are."""

    op: str
    inputs: dict[str, Any]
    left: Array
    right: Array
    dtype: Any = F16
    size: int = 16
    """How many k the device adds up exactly: of groups one."""

    def sums(self, left: Array | None = None, right: Array | None = None) -> Array:
        """Return the sums as a device has them: of some k exact, and then in float32."""
        a = (self.left if left is None else left).astype(float)
        b = (self.right if right is None else right).astype(float)
        total = np.zeros((len(a), b.shape[1]), F32)
        for k in range(0, b.shape[0], self.size):
            own = slice(k, k + self.size)
            total = total + (a[:, own] @ b[own]).astype(F32)
        return total

    def compare(self, sums: Array) -> Comparison:
        return self.compare_values(sums.astype(self.dtype))

    def compare_values(self, y: Array) -> Comparison:
        return compare([y] if self.op == GROUPED else y, op=self.op, inputs=self.inputs)


def normal(rng: Any, *shape: int) -> Array:
    return rng.standard_normal(shape).astype(F32)


def floats(dtype: Any) -> Case:
    rng = np.random.default_rng(1)
    x, w = normal(rng, ROWS, K).astype(dtype), (normal(rng, K, COLUMNS) / 50).astype(dtype)
    return Case(GROUPED, {"x": [x], "weight": [w]}, x, w, dtype)


def values_of(codes: Array, scale: Array, dtype: Any) -> Array:
    return (codes.astype(F32) * scale.astype(F32)).astype(dtype)


def of_weights(op: str, dtype: Any) -> Case:
    rng = np.random.default_rng(2)
    x, codes = normal(rng, ROWS, K).astype(dtype), rng.integers(-127, 128, (K, COLUMNS))
    scale = rng.uniform(1e-4, 3e-4, COLUMNS).astype(dtype)
    given = {"weight": codes.astype(np.int8), "antiquant_scale": scale, "x": x}
    if op == GROUPED:
        given = {name: [array] for name, array in given.items()}
    return Case(op, given, x, values_of(codes, scale, dtype), dtype)


def float8() -> Case:
    rng = np.random.default_rng(3)
    x, w = (normal(rng, *shape).astype(E4M3) for shape in ((ROWS, K), (K, COLUMNS)))
    scale = F32(rng.uniform(0.01, 0.02, COLUMNS))
    own = {"x1": x, "x2": w, "scale": scale, "output_dtype": "float16"}
    return Case(QUANT, own, x, w.astype(float) * scale)


def mx() -> Case:
    rng = np.random.default_rng(4)
    x, w = (normal(rng, *shape).astype(E4M3) for shape in ((ROWS, K), (K, COLUMNS)))
    rows = rng.integers(120, 123, (ROWS, K // 64, 2), np.uint8)
    columns = rng.integers(124, 127, (K // 64, COLUMNS, 2), np.uint8)
    left = x.astype(float) * np.repeat(2.0 ** (rows.reshape(ROWS, -1) - 127.0), 32, 1)
    powers = 2.0 ** (columns.swapaxes(1, 2).reshape(-1, COLUMNS) - 127.0)
    own = {"x1": x, "x2": w, "scale": columns, "pertoken_scale": rows, "output_dtype": "float16"}
    return Case(QUANT, own, left, w.astype(float) * np.repeat(powers, 32, 0))


CASES: dict[str, Callable[[], Case]] = {
    "floats": lambda: floats(F16),
    "floats of bfloat16": lambda: floats(BF16),
    "weights": lambda: of_weights(WEIGHTS, F16),
    "weights of bfloat16": lambda: of_weights(WEIGHTS, BF16),
    "weights of groups": lambda: of_weights(GROUPED, F16),
    "float8": float8,
    "MX": mx,
}
every_case = pytest.mark.parametrize("name", CASES)


def step_up(y: Array, where: Any) -> Array:
    """Return results of 16 bits, some of them a step farther from 0."""
    wrong = y.copy()
    wrong.view(np.uint16)[where] += 1
    return wrong


def toward_zero(v: Array, dtype: Any) -> Array:
    """Return numbers cut to 16 bits."""
    y = v.astype(dtype)
    y.view(np.uint16)[np.abs(y.astype(float)) > np.abs(v)] -= 1
    return y


def without_one(case: Case) -> Array:
    """Leave out the greatest k of a row."""
    left = case.left.astype(float)
    left[2, np.abs(left[2]).argmax()] = 0
    return case.sums(left)


FAULTS: dict[str, Callable[[Case], Array]] = {
    "cast toward zero": lambda case: toward_zero(case.sums(), case.dtype),
    "a column one step up": lambda case: step_up(case.sums().astype(case.dtype), np.s_[:, 3]),
    "a row one step up": lambda case: step_up(case.sums().astype(case.dtype), 3),
    "a k left out of a row": without_one,
    "the last tile left out": lambda case: case.sums(case.left[:, :-TILE], case.right[:-TILE]),
}


@every_case
def test_the_device_passes(name: str) -> None:
    case = CASES[name]()
    assert case.compare(case.sums()).passed
    backwards = case.sums(case.left[:, ::-1], case.right[::-1])
    assert case.compare(backwards).passed


@every_case
@pytest.mark.parametrize("fault", FAULTS)
def test_no_fault_hides_in_the_bound(name: str, fault: str) -> None:
    case = CASES[name]()
    assert not case.compare(FAULTS[fault](case)).passed


@pytest.mark.parametrize("size", [2e-4, 8e-5])
@pytest.mark.parametrize("dtype", [F16, BF16])
def test_a_small_bias_is_not_left_out(size: float, dtype: Any) -> None:
    case = floats(dtype)
    bias = np.full(COLUMNS, size, F16 if dtype == F16 else F32)
    case.inputs["bias"] = [bias]
    assert case.compare(case.sums() + bias.astype(F32)).passed
    assert not case.compare(case.sums()).passed


@pytest.mark.parametrize("op", [GROUPED, WEIGHTS])
@pytest.mark.parametrize("dtype", [F16, BF16])
def test_weights_are_rounded_and_scales_exact(op: str, dtype: Any) -> None:
    case = of_weights(op, dtype)
    codes, scale = (case.inputs[name] for name in ("weight", "antiquant_scale"))
    if op == GROUPED:
        codes, scale = codes[0], scale[0]
    kept = case.sums(right=codes.astype(F32) * scale.astype(F32))
    assert not case.compare(kept).passed
    wrong = scale.copy()
    wrong.view(np.uint16)[:16] += 1
    assert not case.compare(case.sums(right=values_of(codes, wrong, dtype))).passed


def test_a_row_of_equal_terms_hides_no_column() -> None:
    """The roundings of equal terms add up: in their element, not in all of their column."""
    case = floats(F16)
    case.left[0], case.right[:, 0] = 1.1, 0.0123
    y = case.sums().astype(F16)
    assert case.compare_values(y).passed
    for column in (0, 5):
        assert not case.compare_values(step_up(y, np.s_[:, column])).passed


def test_groups_of_int4() -> None:
    """Sums of groups are exact: what is added up are these."""
    rng = np.random.default_rng(5)
    x, w = rng.integers(-8, 8, (ROWS, K)), rng.integers(-8, 8, (K, COLUMNS))
    scale = F32(rng.uniform(0.01, 0.02, (K // 256, COLUMNS)))
    packed = [formats.pack_int4(a.astype(np.int8)) for a in (x, w)]
    own = {"x1": packed[0], "x2": packed[1], "scale": scale, "output_dtype": "float16"}
    own |= {"pertoken_scale": np.ones(ROWS, F32), "group_sizes": [1, 1, 256]}
    case = Case(QUANT, own, x, w * np.repeat(scale.astype(float), 256, 0), F16, 256)
    assert case.compare(case.sums()).passed
    for fault in ("cast toward zero", "a column one step up", "the last tile left out"):
        assert not case.compare(FAULTS[fault](case)).passed
    one = scale.copy()
    one[3] *= F32(1 + 2e-3)
    assert not case.compare(case.sums(right=w * np.repeat(one.astype(float), 256, 0))).passed
