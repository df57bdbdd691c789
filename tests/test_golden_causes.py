"""What is counted of faults beside ordinary ties, what rounding does not explain; and few scales.

The faults themselves are rows of tests/planted.
"""

from __future__ import annotations

import numpy as np
import pytest
from as_line import as_line
from planted import Comparison, devices
from planted.faults import codes, zero
from planted.places import ROWS

import npu_quant
from npu_quant.golden import compare


def said(comparison: Comparison) -> str:
    """Return all notes and causes."""
    return " ".join(
        note for output in comparison.outputs for note in (*output.notes, *output.causes)
    )


def test_ties_are_not_counted_where_they_are_known() -> None:
    """Each difference in the rows but those of codes next to 0 that are ties themselves."""
    own = devices.int8()
    comparison = own.compare(codes(zero, ROWS)(own))
    where = comparison.where
    assert where is not None
    assert where.counts == "unexplained"
    first = where.concentrations[0]
    assert (first.kind, first.places) == ("rows", (100, 227))
    assert first.held == first.of == np.count_nonzero(own.outputs["y"][ROWS])
    assert where.rows > 128
    text = as_line(comparison)
    assert f"({first.held:,} of {first.of:,} that rounding does not explain; by chance" in text


def test_steps_tell_where_no_tie_is_known() -> None:
    """A row among more ties than it has elements."""
    golden, rng = devices.two_int8().golden["y"], np.random.default_rng(6)
    ties = rng.random(golden.shape) < 0.008  # 2,048
    actual = np.where(ties, golden - np.sign(golden), golden)
    actual[7] = 0
    where = compare(actual, golden).where
    assert where is not None
    assert where.counts == "far"
    assert (where.concentrations[0].kind, where.concentrations[0].places) == ("row", (7,))
    assert "that are more than one step off; by chance" in as_line(compare(actual, golden))


def test_another_shape_alone_is_no_swapped_axes() -> None:
    for make in (devices.int8, devices.two_int8, devices.e4m3, devices.hif8):
        own = make()
        name, first = next(iter(own.outputs.items()))
        text = as_line(own.compare({name: first.reshape(first.shape[::-1])}))
        assert "shape differs" in text
        assert "swapped" not in text


def test_what_differs_in_one_element_is_not_everywhere() -> None:
    """Of a large array some are looked at."""
    golden = devices.large().golden["y"]
    almost = golden * 0
    almost[4000, 1000] = 1
    assert "everywhere" not in said(compare(almost, golden))


class TestFewScales:
    @pytest.mark.parametrize("count", [1, 4, 5])
    def test_of_four_at_most(self, count: int) -> None:
        own = devices.int8()
        scale = own.outputs["scale"].copy()
        scale[17 : 17 + 9 * count : 9] *= np.float32(1.03)
        named = " and ".join(f"[{17 + 9 * i}]" for i in range(count))
        text = f"a factor of 1.03 (+3 %) in scale{'s' * (count > 1)} {named}"
        found = own.compare({"scale": scale}).output("scale").causes
        assert found == ((text,) if count <= 4 else ())

    def test_not_where_codes_are_wrong_too(self) -> None:
        own = devices.int8()
        scale, y = own.outputs["scale"].copy(), own.outputs["y"].copy()
        scale[17] *= np.float32(1.03)
        y[40, ::9] = 77
        assert own.compare({"scale": scale, "y": y}).output("scale").causes == ()


class TestBools:
    """A byte that is neither 0 nor 1 counts as True, and is another byte."""

    @pytest.mark.parametrize("byte", [2, 0x80, 255])
    @pytest.mark.parametrize("count", [1, 20, 4096])
    def test_the_byte_is_said(self, byte: int, count: int) -> None:
        golden = np.ones((32, 128), np.bool_)
        golden[::2, ::3] = False
        actual = golden.copy()
        actual.view(np.uint8).reshape(-1)[np.flatnonzero(golden)[:count]] = byte
        for sides, pair in (
            ((actual, golden), f"{byte} for 1"),
            ((golden, actual), f"1 for {byte}"),
        ):
            output = compare(*sides).decisive
            assert output.rung == "different"
            assert [note.rpartition(": ")[2] for note in output.notes] == [pair]

    def test_equal_bytes_and_exchanged_values_have_no_note(self) -> None:
        golden = np.arange(64) % 3 == 0
        odd = golden.copy()
        odd.view(np.uint8)[golden] = 2
        assert compare(odd, odd.copy()).rung == "identical"
        assert compare(~golden, golden).decisive.notes == ()


class TestWhatIsNext:
    """A formula is offered where one is near; else what is known."""

    @pytest.mark.parametrize("share", [0.001, 0.1])
    def test_single_steps(self, share: float) -> None:
        own, rng = devices.int8(), np.random.default_rng(3)
        y = own.outputs["y"]
        at = (rng.random(y.shape) < share) & (np.abs(y) < 127)
        steps = rng.integers(0, 2, y.shape) * 2 - 1
        text = as_line(own.compare({"y": (y + at * steps).astype(np.int8)}))
        assert "explain(" not in text
        assert "no formula is near, and they form no pattern: run it twice" in text

    def test_steps_up(self) -> None:
        own = devices.int8()
        y, scale = npu_quant.npu_dynamic_quant(**own.inputs)
        at = (np.random.default_rng(3).random(y.shape) < 0.001) & (y < 127)
        text = as_line(own.compare({"y": (y + at).astype(np.int8), "scale": scale}))
        assert "no formula is near, all are one step up, and they form no pattern" in text

    def test_a_formula_beside_another_fault(self) -> None:
        own, rng = devices.int8(), np.random.default_rng(3)
        y = np.trunc(own.v).clip(-128, 127).astype(np.int8)
        at = rng.random(y.shape) < 0.1
        y[at] = rng.integers(-128, 128, np.count_nonzero(at))
        assert "next: npu_quant.golden.explain(" in as_line(own.compare({"y": y}))
