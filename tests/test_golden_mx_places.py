"""Where MX bytes differ is said by the rows and columns of the input and by blocks, on every axis."""

from __future__ import annotations

import pickle
import re
from typing import Any

import numpy as np
import pytest
from as_line import as_line

import npu_quant
from npu_quant.golden import Comparison, compare

E4M3 = "float8_e4m3fn"
RNG = np.random.default_rng(0)
X = RNG.standard_normal((128, 1000)).astype(np.float16)
"""31 whole blocks of 32 columns and one of 8; 4 blocks of 32 rows."""


def compared(op: str, inputs: dict[str, Any], output: str, *places: Any) -> Comparison:
    """Compare an operator's outputs, of which some bytes are one more, with what it gives."""
    inputs = {"dst_type": E4M3, **inputs}
    given = dict(zip(names(op), getattr(npu_quant, op)(**inputs), strict=True))
    given[output] = given[output].copy()
    for place in places:
        given[output][place] += 1
    return compare(given, op=op, inputs=inputs)


def names(op: str) -> tuple[str, ...]:
    return {
        "npu_dynamic_mx_quant": ("y", "mxscale"),
        "npu_dynamic_mx_quant_with_dual_axis": ("y1", "mxscale1", "y2", "mxscale2"),
        "npu_dynamic_block_mx_quant": ("y", "scale1", "scale2"),
        "npu_grouped_dynamic_mx_quant": ("y", "mxscale"),
    }[op]


def place(comparison: Comparison, output: str) -> str:
    """Return where the report says that they are."""
    found = re.findall(rf"{output}: only in (.+?) \([\d,]+ of ", as_line(comparison))
    return str(found[0])


ALL = slice(None)
MX, DUAL = "npu_dynamic_mx_quant", "npu_dynamic_mx_quant_with_dual_axis"
TILES, GROUPED = "npu_dynamic_block_mx_quant", "npu_grouped_dynamic_mx_quant"
THREE = RNG.standard_normal((4, 64, 96)).astype(np.float16)
GROUPS = {"x": X[:, :64], "group_index": np.array([40, 40, 128], np.int32)}
# Byte [row, pair, lane] of the last axis is block 2 pair + lane; of the axis before it
# byte [pair, column, lane] is that of rows 64 pair + 32 lane to 31 more. The groups have rows 0 to
# 39, none, and 40 to 127: pairs 0; 1; 1, 2 and 3 of which pair 2 begins with row 40.
CASES = [
    (MX, {"input": X}, "mxscale", (100,), "row 100"),
    (MX, {"input": X}, "mxscale", (slice(40, 48),), "rows 40 to 47"),
    (MX, {"input": X}, "mxscale", ([3, 7],), "row 3, row 7"),
    (MX, {"input": X}, "mxscale", (slice(20, 60),), "rows 20 to 59"),
    (MX, {"input": X}, "mxscale", (ALL, 15, 1), "block 31 (columns 992 to 999)"),
    (MX, {"input": X}, "mxscale", (ALL, 1), "blocks 2 to 3 (columns 64 to 127)"),
    (MX, {"input": X}, "mxscale", (ALL, [1, 3], 0), "block 2 (columns 64 to 95), block 6 (columns 192 to 223)"),
    (MX, {"input": X.reshape(-1)[:8000]}, "mxscale", (slice(20, 30),), "blocks 40 to 59 (columns 1280 to 1919)"),
    (MX, {"input": X, "block_size": 64}, "mxscale", (ALL, 7, 1), "block 15 (columns 960 to 999)"),
    (MX, {"input": THREE}, "mxscale", (2, 5), "row 133"),
    (MX, {"input": X, "axis": 0}, "mxscale", (0, ALL, 1), "rows 32 to 63"),
    (MX, {"input": X, "axis": 0}, "mxscale", (ALL, 77), "column 77"),
    (MX, {"input": X[:100], "axis": 0}, "mxscale", (1, ALL, 1), "rows 96 to 99"),
    (MX, {"input": THREE, "axis": -2}, "mxscale", (3, 0, ALL, 1), "rows 224 to 255"),
    (MX, {"input": THREE[:, :40], "axis": -2}, "mxscale", (3, 0, ALL, 1), "rows 152 to 159"),
    (MX, {"input": THREE, "axis": 0}, "mxscale", (0, 9, ALL, 0), "rows [0, 9] to [3, 9]"),
    (DUAL, {"input": X}, "mxscale1", (100,), "row 100"),
    (DUAL, {"input": X}, "mxscale2", (1, ALL, 0), "rows 64 to 95"),
    (DUAL, {"input": X}, "mxscale2", (ALL, slice(40, 48)), "columns 40 to 47"),
    (TILES, {"input": X}, "scale1", (100,), "row 100"),
    (TILES, {"input": X}, "scale1", (ALL, 15, 1), "block 31 (columns 992 to 999)"),
    (TILES, {"input": X}, "scale2", (1, ALL, 1), "rows 96 to 127"),
    (TILES, {"input": X}, "scale2", (ALL, 999), "column 999"),
    (GROUPED, GROUPS, "mxscale", (0, ALL, 1), "rows 32 to 39"),
    (GROUPED, GROUPS, "mxscale", (2, ALL, 0), "rows 40 to 71"),
    (GROUPED, GROUPS, "mxscale", (3, ALL, 0), "rows 104 to 127"),
    (GROUPED, GROUPS, "mxscale", (ALL, 7), "column 7"),
]  # fmt: skip


@pytest.mark.parametrize(("op", "inputs", "output", "places", "named"), CASES)
def test_are_those_of_the_input(
    op: str, inputs: dict[str, Any], output: str, places: Any, named: str
) -> None:
    assert place(compared(op, inputs, output, places), output) == named


def test_a_row_and_a_block() -> None:
    """Enough bytes of one row for its blocks to be told: 8,192 columns are 256 of them."""
    x = RNG.standard_normal((16, 8192)).astype(np.float16)
    found = compared(MX, {"input": x}, "mxscale", (5, slice(64, 128)))
    named = [c.named for c in found.output("mxscale").where.concentrations]  # type: ignore[union-attr]
    assert "row 5, blocks 128 to 255 (columns 4096 to 8191)" in named


def test_every_other_block() -> None:
    x = RNG.standard_normal((16, 2048)).astype(np.float16)
    found = compared(MX, {"input": x}, "mxscale", (ALL, slice(1, None, 4), 1))
    named = [c.named for c in found.output("mxscale").where.concentrations]  # type: ignore[union-attr]
    assert named == ["blocks 3, 11, ... (every 8th)"]


def test_what_is_told_of_the_worst_and_of_the_cause() -> None:
    """It agrees with the place; indexes are the output's own."""
    inputs = {"input": X, "dst_type": E4M3}
    y, mxscale = npu_quant.npu_dynamic_mx_quant(**inputs)
    mxscale = mxscale.copy()
    mxscale[8:72, 3] = 0
    found = compare((y, mxscale), op=MX, inputs=inputs)
    where = found.output("mxscale").where
    assert where is not None
    assert (where.rows, where.of_rows, where.columns, where.of_columns) == (64, 128, 2, 32)
    assert where.axes == ("row", "block")
    assert where.first == 8 * 32 + 6
    assert {e.index[1] for e in found.worst(100, "mxscale")} == {3}
    seen = found.output("mxscale").seen
    assert seen.map is not None
    assert (seen.map.rows, seen.map.columns) == (128, 32)
    row, pair, lane = np.unravel_index(where.worst, mxscale.shape)
    assert where.worst_place.startswith(f"block {2 * pair + lane} of row {row}, columns ")
    cause = "rows 8 to 71, blocks 6 to 7 (columns 192 to 255) are byte 0 everywhere"
    assert f"{cause}: were they ever written?" in found.output("mxscale").causes
    assert pickle.loads(pickle.dumps(found)) == found
    assert "block" in found._repr_html_()


def test_an_axis_that_was_asked_for_is_the_output_s_own() -> None:
    x = RNG.standard_normal((4, 64, 96)).astype(np.float16)
    inputs = {"input": x, "dst_type": E4M3}
    y, mxscale = npu_quant.npu_dynamic_mx_quant(**inputs)
    mxscale = mxscale.copy()
    mxscale[2] += 1
    found = compare((y, mxscale), op=MX, inputs=inputs, axis=0).output("mxscale").where
    assert found is not None
    assert [c.places for c in found.concentrations if c.kind == "axis 0"] == [(2,)]


def test_shifted_blocks_and_moved_ones() -> None:
    x = RNG.standard_normal((64, 2048)).astype(np.float16) * np.exp2(
        RNG.integers(-9, 9, (64, 2048))
    )
    inputs = {"input": x.astype(np.float32), "dst_type": E4M3}
    y, mxscale = npu_quant.npu_dynamic_mx_quant(**inputs)
    shifted = np.roll(mxscale.reshape(64, 64), 1, axis=1).reshape(mxscale.shape)
    causes = compare((y, shifted), op=MX, inputs=inputs).output("mxscale").causes
    assert causes == ("actual is shifted right by 1 block",)
    inputs["axis"] = 0
    y, mxscale = npu_quant.npu_dynamic_mx_quant(**inputs)
    causes = compare((y, mxscale[..., ::-1]), op=MX, inputs=inputs).output("mxscale").causes
    assert causes == ("blocks are in wrong places: 0 holds the golden's 1, 1 holds the golden's 0",)
