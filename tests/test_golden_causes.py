"""What is counted of faults beside a device's ordinary ties: what rounding does not explain.

The faults themselves are rows of tests/planted.
"""

from __future__ import annotations

import numpy as np
from as_line import as_line
from planted import Comparison, devices
from planted.faults import codes, zero
from planted.places import ROWS

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
