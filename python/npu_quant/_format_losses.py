"""An array in every format and group: what each of them loses, by the operators."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from . import _codes
from ._decibels import decibels, worst
from ._kinds import check, told
from ._shown import NoTruth, ShortRepr
from .errors import ParamError
from .ops import (
    npu_anti_mx_quant,
    npu_dtype_cast,
    npu_dynamic_block_quant,
    npu_dynamic_mx_quant,
    npu_dynamic_quant,
)

_REFERENCE = "reference"
_ROWS, _COLUMNS = 256, 4096
"""Of a tile, in which errors are added up: whole blocks of every group. Fewer rows are longer."""

_Arguments = dict[str, Any]
_SCALED: dict[str, _Arguments] = {
    "int8": {},
    "float8_e4m3fn": {},
    "float8_e5m2": {},
    "hifloat8": {},
    "hifloat8 to 15": {"dst_type": "hifloat8", "dst_type_max": 15},
    "int4": {},
}
_MX: dict[str, _Arguments] = {
    "float8_e4m3fn": {},
    "float8_e5m2": {},
    "float4_e2m1": {},
    "float4_e1m2": {},
}
_MX_FITTED: dict[str, _Arguments] = {
    "float8_e4m3fn": {"scale_alg": 1},
    "float8_e5m2": {"scale_alg": 1},
    "float4_e2m1": {"scale_alg": 2, "dst_type_max": 7},
}


class _Sharing(NamedTuple):
    operator: Callable[..., Any]
    arguments: _Arguments
    rows: int
    """How many share it; 0 for all of them."""
    columns: int
    formats: dict[str, _Arguments] = _SCALED


_GROUPS = {
    "pertensor": _Sharing(npu_dynamic_quant, {"quant_mode": "pertensor"}, 0, 0),
    "perchannel": _Sharing(npu_dynamic_quant, {"quant_mode": "perchannel"}, 0, 1),
    "pertoken": _Sharing(npu_dynamic_quant, {}, 1, 0),
    "128 x 128": _Sharing(npu_dynamic_block_quant, {"row_block_size": 128}, 128, 128),
    "1 x 128": _Sharing(npu_dynamic_block_quant, {}, 1, 128),
    "mx": _Sharing(npu_dynamic_mx_quant, {}, 1, 32, _MX),
    "mx fitted": _Sharing(npu_dynamic_mx_quant, {}, 1, 32, _MX_FITTED),
}
GROUPS = tuple(_GROUPS)
_FORMATS = tuple(dict.fromkeys((*_SCALED, *_MX)))


@dataclass(frozen=True, repr=False)
class FormatLoss(NoTruth, ShortRepr):
    """What a format loses with a scale for each group."""

    _ask = "ask for .sqnr_db"
    format: str
    group: str
    call: str
    """The operator's call that gives these codes."""
    sqnr_db: float
    """20 log10(norm(x) / norm(x - what the codes stand for)): inf where nothing is lost, NaN where
    something is not finite. Of rows likewise."""
    bytes_per_element: float
    """Of codes and scales."""
    rows_db: NDArray[np.float64] = field(compare=False, repr=False)
    """Of each row along the last axis: of x's shape without it."""

    def worst(self, k: int = 10) -> list[tuple[tuple[int, ...], float]]:
        """Return the k rows that lose most, each with its dB, the worst first."""
        return worst(self.rows_db, k)

    @property
    def worst_row(self) -> str:
        """The worst row and its dB, in words."""
        row, db = self.worst(1)[0]
        return f"{list(row)} {db:.1f} dB"

    def __str__(self) -> str:
        row = f"worst row {self.worst_row}, " if self.rows_db.ndim else ""
        size = f"{self.bytes_per_element:.4g} bytes an element"
        return f"{self.format} {self.group}: {self.sqnr_db:.1f} dB, {row}{size}"


_Tile = tuple[slice, slice]


class _Quantized:
    def __init__(self, x: NDArray[Any], group: _Sharing, arguments: _Arguments) -> None:
        self._group, self._format = group, _codes.row_of(arguments["dst_type"]).name
        self._each = _per_element(self._format)
        self._sizes = group.rows or x.shape[0], group.columns or x.shape[1]
        self._y, scale = group.operator(x, **arguments, numerics=_REFERENCE)
        self.size = self._y.nbytes + scale.nbytes
        if group.formats is _SCALED:
            counts = [-(-n // size) for n, size in zip(x.shape, self._sizes, strict=True)]
            scale = scale.reshape(counts)
        self._scale = scale

    def values(self, tile: _Tile) -> NDArray[np.float32]:
        """Return what the codes of a tile stand for."""
        rows, columns = tile
        y = self._y[rows, columns.start // self._each : columns.stop // self._each]
        if self._group.formats is not _SCALED:
            pairs = self._scale[rows, columns.start // 64 : columns.stop // 64]
            back: NDArray[np.float32] = npu_anti_mx_quant(
                y, pairs, dst_type="float32", src_type=self._format, numerics=_REFERENCE
            )
            return back
        if self._format == "int8":
            numbers = y.astype(np.float32)
        else:
            numbers = npu_dtype_cast(y, np.float32, self._format, numerics=_REFERENCE)
        places = [
            (part.start + np.arange(n)) // size if count > 1 else np.zeros(1, np.intp)
            for part, n, size, count in zip(
                tile, numbers.shape, self._sizes, self._scale.shape, strict=True
            )
        ]
        return np.asarray(numbers * self._scale[np.ix_(*places)])


def chosen(
    formats: Sequence[str] | None, groups: Sequence[str] | None
) -> tuple[Sequence[str], Sequence[str]]:
    """Return the formats and groups that were asked for.

    Raises:
        ParamError: there is no such name.
    """
    asked = ("formats", formats, _FORMATS), ("groups", groups, GROUPS)
    for argument, names, known in asked:
        check("formats.compare", argument, names, list | tuple | None, "a list of names")
        for name in names or ():
            if name not in known:
                raise ParamError(f"{argument} has {told(name)}, available: {', '.join(known)}.")
    return _FORMATS if formats is None else formats, GROUPS if groups is None else groups


def losses_of(
    x: NDArray[Any], formats: Sequence[str], groups: Sequence[str]
) -> Iterator[FormatLoss]:
    """Yield what formats lose of an array, where there is such a call."""
    matrix = x.reshape(-1, x.shape[-1])
    signal = _squares(matrix, lambda tile: matrix[tile].astype(np.float32))
    for format in formats:
        for name in groups:
            group = _GROUPS[name]
            arguments = _arguments(format, group)
            if arguments is None or x.shape[-1] % _per_element(arguments["dst_type"]):
                continue
            noise, size = _noise(matrix, group, arguments)
            words = ", ".join(f"{key}={value!r}" for key, value in arguments.items())
            yield FormatLoss(
                format,
                name,
                f"{group.operator.__name__}(x, {words})",
                float(decibels(np.sqrt(signal.sum()), np.sqrt(noise.sum()))),
                size / x.size,
                decibels(np.sqrt(signal), np.sqrt(noise)).reshape(x.shape[:-1]),
            )


def _noise(
    x: NDArray[Any], group: _Sharing, arguments: _Arguments
) -> tuple[NDArray[np.float64], int]:
    """Return the squares of each row's errors, and how many bytes codes and scales have."""
    codes = _Quantized(x, group, arguments)
    return _squares(x, lambda tile: x[tile] - codes.values(tile)), codes.size


def _arguments(format: str, group: _Sharing) -> _Arguments | None:
    """Return how a group's operator is asked for a format; None where it has it not."""
    if format not in group.formats:
        return None
    arguments = {"dst_type": format, **group.formats[format], **group.arguments}
    is_away = group.operator is npu_dynamic_block_quant and arguments["dst_type"] == "hifloat8"
    return arguments | {"round_mode": "round"} if is_away else arguments


def _per_element(format: str) -> int:
    """Return how many codes an element holds."""
    row = _codes.row_of(format)
    return 8 * row.carrier.itemsize // row.bits


def _squares(x: NDArray[Any], values_of: Callable[[_Tile], NDArray[Any]]) -> NDArray[np.float64]:
    """Return the sum of squares of each row, of values that are had a tile at a time."""
    sums, rows = np.zeros(len(x)), min(_ROWS, len(x))
    columns = _COLUMNS * (_ROWS // rows)
    for row in range(0, x.shape[0], rows):
        for column in range(0, x.shape[1], columns):
            tile = slice(row, row + rows), slice(column, column + columns)
            with np.errstate(all="ignore"):
                values = values_of(tile)
                sums[tile[0]] += np.einsum("ij,ij->i", values, values, dtype=np.float64)
    return sums
