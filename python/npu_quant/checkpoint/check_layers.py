"""Codes and scales against the original weight: which recipe made them, and what differs."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import ml_dtypes
import numpy as np
from numpy.typing import NDArray

from .. import _codes
from ..files.safetensors import NUMPY
from . import check_static
from .compressed_groups import PACKED
from .folder import Tensor
from .matrices import Matrix, bytes_of
from .quantized import QuantizedModel
from .recipes import Codes, Scales, Weight, exponents_of, without_minus_0
from .schemes import TYPES
from .weights import GREATEST, Error, Rule

_E4M3 = np.dtype(ml_dtypes.float8_e4m3fn)
SEARCHED, SYMMETRIC = "searched", "searched, symmetric"
"""Codes by the scales that are there, whatever made these."""
NARROW = "|bf16"
"""What ends the names of recipes that had an FP8 source through bfloat16."""


class Band(NamedTuple):
    """Rows of a weight, and the codes and scales that a module has of them."""

    begin: int
    weight: Weight
    codes: Codes
    scales: Scales
    slack: NDArray[np.float32] | None = None
    """How far scales may be off that follow of rounded products."""


class Rows(NamedTuple):
    """Rows of a module that one task compares."""

    module: str
    begin: int
    end: int
    size: int


@dataclass
class Count:
    """How many rows a recipe does not explain."""

    rows: int = 0
    codes: int = 0
    scales: int = 0
    first: tuple[int, int] | None = None

    def see(self, different: NDArray[np.bool_], fits: NDArray[np.bool_], begin: int) -> None:
        """Take in where codes differ, and which scales fit, of rows from `begin` on."""
        rows = different.any(axis=1) | ~fits.all(axis=1)
        if rows.any() and self.first is None:
            row = int(rows.argmax())
            self.first = begin + row, int(different[row].argmax())
        self.rows += int(np.count_nonzero(rows))
        self.codes += int(np.count_nonzero(different))
        self.scales += int(np.count_nonzero(~fits))

    def add(self, other: Count) -> None:
        """Take in what a later piece has."""
        self.rows, self.codes = self.rows + other.rows, self.codes + other.codes
        self.scales += other.scales
        self.first = self.first or other.first


@dataclass
class Compared:
    """What the rows of a module were compared with."""

    counts: dict[str, Count] = field(default_factory=dict)
    error: Error = field(default_factory=lambda: Error(np.zeros(5)))
    nonfinite: int = 0
    """How many values of the original are NaN or infinite; their rows are not compared."""
    ratio: tuple[float, float] = (math.inf, 0.0)
    """The least and the greatest scale / amax, of rows or blocks that are not zero."""
    rows: int = 0
    """How many there were."""

    def count(self, name: str) -> Count:
        """Return what is counted by a name."""
        return self.counts.setdefault(name, Count())

    def add(self, other: Compared) -> None:
        """Take in a later piece; a formula that was not found in each piece is left out."""
        if not self.rows:
            self.counts = {name: Count() for name in other.counts}
        self.counts = {n: count for n, count in self.counts.items() if n in other.counts}
        for name, count in self.counts.items():
            count.add(other.counts[name])
        self.rows += other.rows
        self.error.add(other.error)
        self.nonfinite += other.nonfinite
        self.ratio = min(self.ratio[0], other.ratio[0]), max(self.ratio[1], other.ratio[1])


def codes_of(model: QuantizedModel, module: str) -> str | None:
    """Return what a module's codes are, if its scales and codes can be compared."""
    type, weight = model.types[module], model.part(module, "weight")
    if weight is None or 0 in weight.shape:
        return None
    if check_static.is_static(model, module):
        return "int8" if check_static.has_scale(model, module) else None
    scale = model.part(module, "weight_scale")
    if scale is None or 0 in scale.shape:
        return None
    return TYPES[type].codes if type in TYPES else "int8" if type == "W8A8" else None


def shape_of(model: QuantizedModel, module: str) -> tuple[int, int]:
    """Return (N, K) of a quantized module."""
    weight = model.matrix(module)
    assert weight is not None
    n, k = weight.shape
    if weight.name.endswith(".weight_packed"):
        return n, k * PACKED
    is_packed = model.is_ascend and model.types[module] == "W4A8_DYNAMIC"
    return (2 * n if is_packed else n), k


def compare_rows(model: QuantizedModel, original: Path, matrix: Matrix, task: Rows) -> Compared:
    """Compare rows in bands with every recipe that is not yet excluded.

    If the first band is by none, formulas that made it are searched, and compared with the rest.
    """
    total, allowed = Compared(), allowed_rows(matrix.shape[0])
    codes = codes_of(model, task.module)
    assert codes is not None
    formulas: dict[str, list[str]] = {}
    for begin, end, values in matrix.bands(original, task.begin, task.end):
        w = values.copy()
        stored, scale, slack = _stored(model, task.module, codes, begin, end)
        finite = np.isfinite(w.astype(np.float32))
        unknown = ~finite.all(axis=1)
        # As zero rows, of which any scale is right.
        w[unknown], stored[unknown], scale[unknown] = 0, 0, 1
        total.rows += len(w)
        total.nonfinite += int((~finite).sum())
        total.error.include(w, stored, scale)
        is_mx = codes == "mxfp8"
        q, s = (without_minus_0(stored), exponents_of(scale)) if is_mx else (stored, scale)
        weights = _variants(w, matrix, codes, model)
        _see_ratio(total, weights[""].amax, np.ldexp(np.float32(1), s) if is_mx else s)
        for variant, weight in weights.items():
            band = Band(begin, weight, q, s, slack)
            _see_nearest(total, band, codes, variant)
            for name in [*weight.recipes, *formulas.get(variant, [])]:
                _see_recipe(total.count(name + variant), name, band, allowed)
        if begin == task.begin and min(count.rows for count in total.counts.values()) > allowed:
            for variant, weight in weights.items():
                formulas[variant] = weight.formulas(stored.view(q.dtype), s)
                band = Band(begin, weight, q, s, slack)
                for name in formulas[variant]:
                    _see_recipe(total.count(name + variant), name, band, allowed)
    return total


def _see_nearest(total: Compared, band: Band, codes: str, variant: str) -> None:
    """Count what differs from the codes by the scales that are there."""
    nearest = band.weight.nearest(band.scales)
    is_number = band.scales == band.scales
    different = _differ(band, nearest)
    total.count(SEARCHED + variant).see(different, is_number, band.begin)
    if codes in GREATEST:  # of which some quantizers give none beyond
        symmetric = np.maximum(nearest, -GREATEST[codes])
        different = _differ(band, symmetric)
        total.count(SYMMETRIC + variant).see(different, is_number, band.begin)


def _differ(band: Band, nearest: NDArray[Any]) -> NDArray[np.bool_]:
    """Return which codes are not the nearest, for any scales that differ by no more than slack."""
    different = nearest != band.codes
    if band.slack is not None:
        quotient = band.weight.w.astype(np.float32) / band.scales
        quotient = np.clip(quotient, nearest - 0.5, nearest + 0.5)  # at the ends of int8
        off = np.abs(quotient - band.codes)
        different &= ~(off <= 0.5 + band.slack / np.abs(band.scales) * np.abs(quotient))
    return np.asarray(different)


def _see_recipe(count: Count, name: str, band: Band, allowed: int) -> None:
    """Count what differs from a recipe; only the scales of one that is excluded."""
    weight = band.weight
    made = weight.scales(name)
    fits = (made == band.scales) | (weight.amax == 0)
    if band.slack is not None:
        fits |= np.abs(made - band.scales) <= band.slack
    is_out = count.rows + np.count_nonzero(~fits.all(axis=1)) > allowed
    codes = band.codes if is_out else weight.codes(name)
    count.see(codes != band.codes, fits, band.begin)


def allowed_rows(n: int) -> int:
    """Return how many rows of a module may differ from the recipe that it is judged by."""
    return max(2, n // 100)


def _variants(
    w: NDArray[Any], matrix: Matrix, codes: str, model: QuantizedModel
) -> dict[str, Weight]:
    """Return the rows as recipes may have had them; the second of FP8 went through bfloat16."""
    rule = Rule(model.format, model.params)
    own = {"": Weight(w, codes, rule)}
    if matrix.is_blocked:
        narrow = w.astype(ml_dtypes.bfloat16)
        narrow[~np.isfinite(narrow.astype(np.float32))] = 0  # beyond it: no recipe has such rows
        own[NARROW] = Weight(narrow, codes, rule)
    return own


def _stored(
    model: QuantizedModel, module: str, codes: str, begin: int, end: int
) -> tuple[Any, Any, Any]:
    """Return codes, int8 or float8_e4m3fn, scales, float32 of rows or E8M0 of blocks, and slack."""
    weight = model.tensors[f"{module}.weight"]
    rows, k = end - begin, weight.shape[1]
    if check_static.is_static(model, module):
        s, slack = check_static.scales_of(model, module)
        slack = slack if slack is None else slack[begin:end]
        return _int8(model, weight, begin, rows), s[begin:end].copy(), slack
    scale = model.tensors[f"{module}.weight_scale"]
    across = scale.shape[1]
    size = across * NUMPY[scale.kind].itemsize
    raw = bytes_of(model.folder, scale, begin * size, rows * size)
    if codes == "mxfp8":
        q = bytes_of(model.folder, weight, begin * k, rows * k).view(_E4M3)
        return q.reshape(rows, k), raw.reshape(rows, across), None
    s = raw.view(NUMPY[scale.kind]).astype(np.float32).reshape(rows, across)
    if codes == "int4" and model.is_ascend:
        packed = bytes_of(model.folder, weight, begin // 2 * k, rows // 2 * k).view(np.int8)
        return np.ascontiguousarray(_codes.int4_of(packed.reshape(-1, k).T).T), s, None
    return _int8(model, weight, begin, rows), s, None


def _int8(model: QuantizedModel, weight: Tensor, begin: int, rows: int) -> NDArray[np.int8]:
    k = weight.shape[1]
    return bytes_of(model.folder, weight, begin * k, rows * k).view(np.int8).reshape(rows, k)


def _see_ratio(total: Compared, amax: NDArray[np.float32], scale: Any) -> None:
    ratio = (scale / amax)[(amax > 0) & np.isfinite(scale)]
    least, most = float(ratio.min(initial=math.inf)), float(ratio.max(initial=0))
    total.ratio = min(total.ratio[0], least), max(total.ratio[1], most)
