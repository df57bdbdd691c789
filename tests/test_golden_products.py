"""Products as a device may have them: ties of another order, rows of none, noise, several results."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from golden_wrongs import BF16, gated_experts, grouped_products
from golden_wrongs.grouped_products import DUAL, GROUPED, Made, backwards

import npu_quant
from npu_quant.golden import Comparison, compare, list_variants, load
from npu_quant.testing import GoldenRefused, assert_golden

# Of a formula's name: what a device gives by it, whose sums no formula with a name has.
DEVICES: dict[str, tuple[str, Callable[[str], Made], str]] = {
    "floats": (GROUPED, partial(grouped_products.of_floats, add=backwards), "float bias ignored"),
    "weights": (
        GROUPED,
        partial(grouped_products.of_weights, dtype=BF16, add=backwards),
        "offset subtracted",
    ),
    "mx": (GROUPED, partial(grouped_products.of_mx, add=backwards), ""),
    "levels": (
        DUAL,
        partial(grouped_products.of_levels, add=backwards),
        "sums of 512 k in bf16",
    ),
    "gated": (
        gated_experts.SECOND,
        partial(gated_experts.of_mx, add=backwards),
        "other half activated",
    ),
}
SHOWN = ("floats", "weights", "mx", "levels")
every_device = pytest.mark.parametrize("device", DEVICES)


def of(device: str, name: str = "reference") -> tuple[str, dict[str, Any], Any]:
    op, make, _ = DEVICES[device]
    return op, *make(name)


def causes(comparison: Comparison) -> list[Any]:
    return [cause for output in comparison.outputs for cause in output.causes]


@every_device
def test_another_order_is_a_tie(device: str) -> None:
    """Results of 16 bits hide most of it, codes perhaps all, those of float32 nothing."""
    op, inputs, actual = of(device)
    comparison = compare(actual, op=op, inputs=inputs)
    assert comparison.rung == ("tie" if device in SHOWN else "identical")
    assert causes(comparison) == []
    assert all(variant.benign for variant in comparison.variants)


@every_device
def test_a_formula_is_named_on_top_of_ties(device: str) -> None:
    name = DEVICES[device][2]
    if name:
        op, inputs, actual = of(device, name)
        comparison = compare(actual, op=op, inputs=inputs)
        assert not comparison.passed
        named = name.replace("offset", "antiquant_offset") if device == "weights" else name
        found = [variant.name.split(", ") for variant in comparison.variants]
        assert all(named in steps for steps in found)  # with a sum that comes nearer, perhaps
        assert found


@every_device
def test_noise_has_no_name(device: str) -> None:
    """One element in twenty is another one's: no formula makes them."""
    op, inputs, actual = of(device)
    rng, (y, *others) = np.random.default_rng(11), actual
    noisy = np.where(rng.random(y.shape) < 0.05, rng.permutation(y.reshape(-1)).reshape(y.shape), y)
    comparison = compare((noisy, *others), op=op, inputs=inputs)
    assert not comparison.passed
    assert comparison.variants == ()
    assert causes(comparison) == []


@pytest.mark.parametrize(
    ("op", "make"),
    [
        (GROUPED, partial(grouped_products.of_sums, "reference")),
        (GROUPED, partial(grouped_products.of_int8, "reference", np.float16)),
        (gated_experts.SECOND, partial(gated_experts.of_mx, "reference")),
        (gated_experts.OP, gated_experts.of_int8),
    ],
)
def test_rows_behind_the_last_group_are_not_compared(op: str, make: Callable[[], Made]) -> None:
    """Devices leave there what was there before; a row of a group counts."""
    inputs, (y, *others) = make()
    end, dirty = int(inputs["group_list"][-1]), np.array(y)
    dirty[end:].view(np.uint8)[...] = 0x35
    assert len(dirty) > end
    comparison = compare((dirty, *others), op=op, inputs=inputs)
    assert comparison.rung == "identical"
    y = comparison.outputs[0]
    assert y.rows_compared == end
    assert y.metrics is not None
    assert y.metrics.count == end * y.shape[1]
    assert y.shape == dirty.shape
    assert f"rows {end} to {len(dirty) - 1} are of no group: not compared" in str(comparison)
    dirty[end - 1].view(np.uint8)[...] = 0x35
    assert not compare((dirty, *others), op=op, inputs=inputs).passed


@pytest.mark.parametrize("op", [GROUPED, gated_experts.OP])
def test_where_no_row_is_of_a_group_nothing_is_compared(op: str) -> None:
    """A list of zeros is a fault of a dump: whatever there is would pass."""
    make = (
        partial(grouped_products.of_sums, "reference") if op == GROUPED else gated_experts.of_int8
    )
    inputs, actual = make()
    inputs["group_list"] = np.zeros_like(inputs["group_list"])
    comparison = compare(actual, op=op, inputs=inputs)
    assert "all rows are of no group" in str(comparison.refusal)
    with pytest.raises(GoldenRefused, match="all rows are of no group"):
        assert_golden(actual, op=op, inputs=inputs)


def test_the_last_row_of_none() -> None:
    inputs, (y,) = grouped_products.of_sums("reference")
    inputs["x"], y = [inputs["x"][0][:38]], y[:38] + 0
    y[37] = 5
    assert "row 37 is of no group: not compared" in str(compare(y, op=GROUPED, inputs=inputs))
    y[36] = 5
    found = str(compare(y, op=GROUPED, inputs=inputs))
    assert "row 37 is of no group: not compared" in found
    assert "24 of 888 values" in found


def test_all_rows_of_groups_are_no_place() -> None:
    """That nothing differs behind them is no finding."""
    inputs, (y,) = grouped_products.of_sums("reference")
    wrong = np.random.default_rng(5).permutation(y.reshape(-1)).reshape(y.shape)
    found = str(compare(wrong, op=GROUPED, inputs=inputs))
    assert "only in rows" not in found
    assert "rows 37 to 39 are of no group: not compared" in found


@pytest.mark.parametrize("op", [GROUPED, gated_experts.SECOND])
def test_rows_that_a_misread_list_gives_to_no_weight_are_not_held_against_it(op: str) -> None:
    """Of counts taken for ends most rows are never written: what was there before is there."""
    name = "group_list as ends"
    if op == GROUPED:
        inputs, (y, *others) = grouped_products.of_int8(name, np.float16)
    else:
        inputs, (y, *others) = gated_experts.of_lists(name)
    counts = inputs["group_list"]
    left = slice(int(np.maximum(np.diff(counts, prepend=0), 0).sum()), int(counts.sum()))
    for output in (y, *others):
        output[left].view(np.uint8)[...] = 0x35
    comparison = compare((y, *others), op=op, inputs=inputs)
    assert not comparison.passed
    assert [variant.name for variant in comparison.variants] == [name]
    count = left.stop - left.start
    assert comparison.variants[0].unwritten == count
    assert f"but for {count} rows that it never writes" in " ".join(str(comparison).split())


def test_where_only_rows_that_are_not_written_differ_a_misread_list_is_no_cause() -> None:
    inputs, (y,) = grouped_products.of_sums("reference")
    inputs |= {"group_list": np.array([13, 7, 13]), "group_list_type": 1}
    y = np.array(npu_quant.npu_grouped_matmul(**inputs)[0])
    y[13:33] = np.random.default_rng(3).permutation(y[13:33].reshape(-1)).reshape(20, -1)
    assert compare(y, op=GROUPED, inputs=inputs).variants == ()


def several() -> tuple[dict[str, Any], list[Any]]:
    """Return arguments of three products, the last without rows, and their results."""
    rng = np.random.default_rng(20240607)
    shapes = [(3, 5, 40), (4, 9), (0, 7)], [(40, 8), (9, 6), (7, 8)]
    x, weight = ([rng.standard_normal(s).astype(np.float32) for s in own] for own in shapes)
    results = [np.array(y) for y in npu_quant.npu_grouped_matmul(x, weight)]
    return {"x": x, "weight": weight, "split_item": 0}, results


def test_each_of_several_results_has_a_name() -> None:
    inputs, results = several()
    comparison = compare(results, op=GROUPED, inputs=inputs)
    assert comparison.rung == "identical"
    assert [output.name for output in comparison.outputs] == ["y0", "y1", "y2"]
    results[1][2, 3] += 1
    comparison = compare(results, op=GROUPED, inputs=inputs)
    assert [output.rung for output in comparison.outputs] == ["identical", "different", "identical"]


def test_a_formula_is_named_of_several_results() -> None:
    inputs, results = several()
    x, weight = inputs["x"], inputs["weight"]
    first = grouped_products.pieces(x[0].reshape(15, 40), weight[0], 16).reshape(3, 5, 8)
    wrong = [first, grouped_products.pieces(x[1], weight[1], 16), results[2]]
    comparison = compare(wrong, op=GROUPED, inputs=inputs)
    assert [variant.name for variant in comparison.variants] == ["16 k at a time"]


def test_results_of_one_x_and_a_list() -> None:
    x, weight = np.arange(24, dtype=np.int8).reshape(6, 4), np.ones((2, 4, 3), np.int8)
    inputs = {"x": [x], "weight": [weight], "group_list": [2, 5], "group_type": 0}
    inputs |= {"output_dtype": "int32"}
    results = [np.repeat(x[rows].sum(1, np.int32)[:, None], 3, 1) for rows in ([0, 1], [2, 3, 4])]
    assert compare(results, op=GROUPED, inputs=inputs).rung == "identical"


@pytest.mark.parametrize("kind", [list, tuple])
def test_files_in_lists(kind: Any, tmp_path: Path) -> None:
    """A list's arrays are taken as an array alone is."""
    inputs, (y,) = grouped_products.of_int8("reference", np.float16)
    arrays = ("x", "weight", "scale", "per_token_scale", "bias")
    for name in arrays:
        np.save(tmp_path / f"{name}.npy", inputs[name][0])
    files = {name: kind([load(tmp_path / f"{name}.npy")]) for name in arrays}
    assert compare(y, op=GROUPED, inputs=inputs | files).rung == "identical"


def test_formulas_of_a_list_are_told_apart() -> None:
    """What long ones begin with alike is left out."""
    table = repr(list_variants(GROUPED))
    assert "… offset, group_list holding ends\n" in table
    formulas = [line.split("  ")[-1] for line in table.splitlines()[1:]]
    assert len(set(formulas)) >= len(formulas) - 2
