"""``--rows``: some rows of arrays, so that a small part of a comparison can be looked at alone."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

from numpy.typing import NDArray

from ..golden.comparison import Comparison, OutputComparison
from ..golden.sources import Source
from .arguments import UsageError, rows_text

Rows = tuple[int, "int | None"]
Shape = tuple[int, ...]


class RowWise(NamedTuple):
    """An operator that works on each row alone."""

    inputs: tuple[str, ...]
    """The inputs that have the rows."""
    one_per_row: tuple[str, ...] = ()
    """The outputs that have one element per row, not a row."""


ROW_WISE = {
    "npu_dynamic_quant": RowWise(("input",), ("scale",)),
    "npu_dynamic_block_quant": RowWise(("x",)),
    "npu_add_rms_norm_quant": RowWise(("x1", "x2")),
}


class RowSlice:
    """Some rows of an array as an array of two axes, or of one that has an element per row."""

    def __init__(self, source: Source, begin: int, end: int, columns: int | None) -> None:
        self.source = source
        self.first_row, self.one_per_row = begin, columns is None
        self.offset = begin * (1 if columns is None else columns)
        self.shape: Shape = (end - begin,) if columns is None else (end - begin, columns)
        plural = "row" if end == begin + 1 else "rows"
        self.name = f"{source.name} {plural} {rows_text(begin, end)}"
        self.path = getattr(source, "path", None)
        self.key = getattr(source, "key", None)

    @property
    def dtype(self) -> Any:
        """The dtype."""
        return self.source.dtype

    def read(self, begin: int, end: int) -> NDArray[Any]:
        """Return elements [begin, end) of the slice."""
        return self.source.read(self.offset + begin, self.offset + end)

    def array(self) -> NDArray[Any]:
        """Return all of the slice."""
        return self.read(0, math.prod(self.shape)).reshape(self.shape)


def lead_of(shape: Shape) -> Shape:
    """Return the axes that rows are counted along: all but the last."""
    return shape[:-1]


def bounds(rows: Rows, lead: Shape, name: str) -> tuple[int, int]:
    """Return the first row and the end.

    Raises:
        UsageError: there are not so many.
    """
    count = math.prod(lead)
    begin, end = rows[0], count if rows[1] is None else rows[1]
    if end > count or begin >= end:
        asked = rows_text(begin, end) if rows[1] is not None else f"{begin}:"
        many = "1 row" if count == 1 else f"{count} rows"
        raise UsageError(f"--rows {asked}: {name} {shape_text(lead)} has {many}.")
    return begin, end


def shape_text(lead: Shape) -> str:
    """Write the axes that rows are counted along, and that there are more."""
    return "(" + ", ".join([*map(str, lead), "..."]) + ")"


def sliced(source: Source, rows: Rows, lead: Shape, *, one_per_row: bool = False) -> RowSlice:
    """Return some rows of an array that has them along the axes `lead`.

    Raises:
        UsageError: it has not, or not so many.
    """
    own = source.shape if one_per_row else lead_of(source.shape)
    if own != lead or (not one_per_row and not source.shape):
        raise UsageError(
            f"--rows: {source.name} has shape {source.shape}, rows of {shape_text(lead)} were "
            "expected. Leave --rows out, and see what differs."
        )
    begin, end = bounds(rows, lead, source.name)
    return RowSlice(source, begin, end, None if one_per_row else source.shape[-1])


def row_wise(op: str) -> RowWise:
    """Return what an operator's rows are.

    Raises:
        UsageError: it does not work on each row alone.
    """
    if op not in ROW_WISE:
        known = ", ".join(ROW_WISE)
        raise UsageError(f"--rows: {op} does not work on each row alone; these do: {known}.")
    return ROW_WISE[op]


def rows_found(comparison: Comparison) -> str | None:
    """Return the rows that differences keep to, as ``--rows`` takes them; None if they do not."""
    if comparison.op is not None and comparison.op not in ROW_WISE:
        return None
    per_row = ROW_WISE[comparison.op].one_per_row if comparison.op is not None else ()
    for output in (comparison.decisive, *comparison.outputs):
        if output.rung != comparison.rung:
            continue  # these rows alone would pass
        found = _rows_of(output, output.name in per_row)
        if found is not None:
            return found
    return None


def _rows_of(output: OutputComparison, one_per_row: bool) -> str | None:
    where = output.where
    if where is None or len(output.shape) < (1 if one_per_row else 2):
        return None
    if one_per_row:
        single = output.metrics is not None and output.metrics.mismatches == 1
        return str(where.first) if single else None
    for found in where.concentrations:
        if found.kind == "row":
            return _span(found.places)
        if found.kind == "rows":
            return rows_text(found.places[0], found.places[-1] + 1)
        if found.kind == "block":
            per_row = -(-output.shape[-1] // 128)
            return _span(tuple(sorted({place // per_row for place in found.places})))
    several = output.metrics is not None and output.metrics.mismatches > 1
    if several and where.rows == 1 < where.of_rows and where.row_bucket == 1:
        return str(where.first // output.shape[-1])
    return None


def _span(places: tuple[int, ...]) -> str:
    """Return neighbouring rows as a range, else the first."""
    if places[-1] - places[0] == len(places) - 1:
        return rows_text(places[0], places[-1] + 1)
    return str(places[0])
