"""Where differences of some rows lie, as the whole array has them."""

from __future__ import annotations

import dataclasses
import re
from typing import Any

from numpy.typing import NDArray

from ..golden.comparison import Comparison, Concentration, OutputComparison, Where
from ..golden.sources import Source
from .row_slices import RowSlice, Shape

_BLOCK = 128


class Moved:
    """Some rows of an array, whose elements are read by their places in the whole."""

    def __init__(self, rows: Source, offset: int, shape: Shape) -> None:
        self._rows, self._offset = rows, offset
        self.name, self.shape = rows.name, shape

    @property
    def dtype(self) -> Any:
        """The dtype."""
        return self._rows.dtype

    def read(self, begin: int, end: int) -> NDArray[Any]:
        """Return elements [begin, end) of the whole, which lie in these rows."""
        return self._rows.read(begin - self._offset, end - self._offset)

    def array(self) -> NDArray[Any]:
        """Return the rows, as they are."""
        return self._rows.array()


def in_whole(comparison: Comparison) -> Comparison:
    """Return a comparison of some rows with shapes, places and rows as the whole arrays have them.

    It is to be reported and nothing else: its counts stay those of the rows.
    """
    if not any(isinstance(output.actual, RowSlice) for output in comparison.outputs):
        return comparison
    if comparison.rung in ("identical", "tie"):
        return comparison  # no place is named, and what is said of the golden is measured here
    model = comparison.model
    if comparison.passed and all(output.name != "scale" for output in comparison.outputs):
        model = None  # else the report would measure its power, at places that are not there
    return dataclasses.replace(
        comparison, model=model, outputs=tuple(map(_output_in_whole, comparison.outputs))
    )


def _output_in_whole(output: OutputComparison) -> OutputComparison:
    rows, golden = output.actual, output.golden
    if not isinstance(rows, RowSlice) or golden is None:
        return output
    ties, where, shape = output.ties, output.where, rows.source.shape
    if ties is not None and ties.farthest_index is not None:
        ties = dataclasses.replace(ties, farthest_index=ties.farthest_index + rows.offset)
    return dataclasses.replace(
        output,
        shape=shape,
        actual=Moved(rows, rows.offset, shape),
        golden=Moved(golden, rows.offset, shape),
        ties=ties,
        where=None if where is None else _where_in_whole(where, rows),
        notes=tuple(_note_in_whole(note, rows.first_row) for note in output.notes),
    )


def _where_in_whole(where: Where, rows: RowSlice) -> Where:
    moved = [_moved(found, rows) for found in where.concentrations]
    return dataclasses.replace(
        where,
        first=where.first + rows.offset,
        worst=where.worst + rows.offset,
        concentrations=tuple(found for found in moved if found is not None),
    )


def _moved(found: Concentration, rows: RowSlice) -> Concentration | None:
    """Return a concentration with the numbers of the whole; None if they have no name there."""
    by = rows.first_row
    if rows.one_per_row:  # its columns are the rows
        if found.kind not in ("column", "columns") or len(rows.source.shape) != 1:
            return None
    elif found.kind == "block":
        by *= -(-rows.shape[-1] // _BLOCK)
    elif found.kind not in ("row", "rows", "axis 0", "axis -2"):
        return found
    return dataclasses.replace(found, places=tuple(place + by for place in found.places))


def _note_in_whole(note: str, by: int) -> str:
    """Return a sentence with the rows' numbers of the whole, which are all it says of places."""

    def moved(match: re.Match[str]) -> str:
        return re.sub(r"\d+", lambda number: str(int(number[0]) + by), match[0])

    return re.sub(r"\brow \d+|\b\d+ is the golden's \d+", moved, note)
