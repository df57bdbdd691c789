"""What a checkpoint's report says of a layer's error: the formula, element by element.

v = code * scale and e = w - v, each rounded to float32, where e is NaN 0, where it is infinite the
greatest float32. Squares are exact in float64; element i of a row is added to lane i % 16, the upper
half of the lanes to the lower again and again, rows one after the other.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import ml_dtypes
import numpy as np
import pytest

import npu_quant
from npu_quant import _core
from npu_quant.checkpoint.weights import Error
from npu_quant.errors import DTypeError, ParamError

F32 = np.float32
E4M3 = ml_dtypes.float8_e4m3fn
BFLOAT16 = np.dtype(ml_dtypes.bfloat16)
SHAPES = [(1, 1), (3, 15), (5, 16), (4, 33), (3, 64), (2, 127), (7, 200), (3, 4097)]


class Given(NamedTuple):
    w: Any
    codes: Any
    scale: Any


def given(shape: tuple[int, int], dtype: Any, kind: str, rng: np.random.Generator) -> Given:
    """Return ordinary weights, a row of zeros among them, with any codes and scales."""
    rows, n = shape
    w = rng.standard_normal(shape, F32).astype(dtype)
    w[rows // 2] = 0
    if kind == "int8":
        codes = rng.integers(-128, 128, shape, np.int8)
        return Given(w, codes, rng.uniform(0.001, 0.02, (rows, 1)).astype(F32))
    codes = rng.integers(-126, 127, shape, np.int8)  # no NaN
    codes = np.where(codes < 0, -128 - codes, codes).astype(np.int8).view(E4M3)
    return Given(w, codes, rng.integers(115, 122, (rows, -(-n // 32)), np.uint8))


def values_of(g: Given) -> Any:
    """Return v."""
    scale = g.scale
    if scale.dtype == np.uint8:
        with np.errstate(over="ignore"):
            by_block = np.ldexp(F32(1), scale.astype(np.int32) - 127)
        scale = np.repeat(by_block, 32, axis=1)[:, : g.w.shape[1]]
    with np.errstate(all="ignore"):
        return g.codes.astype(F32) * scale


def differences_of(g: Given) -> Any:
    """Return e."""
    with np.errstate(all="ignore"):
        return np.nan_to_num(g.w.astype(F32) - values_of(g))


def square_sum(x: Any) -> float:
    """Return the sum of a matrix's squares, added in the order that is promised."""
    rows, n = x.shape
    squares = np.zeros((rows, -(-n // 16) * 16))
    squares[:, :n] = x.astype(np.float64) ** 2
    total = 0.0
    for row in squares.reshape(rows, -1, 16):
        lanes = np.add.accumulate(row, axis=0)[-1]
        while len(lanes) > 1:
            half = len(lanes) // 2
            lanes = lanes[:half] + lanes[half:]
        total += float(lanes[0])
    return total


def expected(g: Given) -> list[float]:
    e = differences_of(g)
    w = g.w.astype(F32)
    sums = [square_sum(x) for x in (w, e, values_of(g))]
    return [*sums[:2], float(np.abs(e).max()), float(np.count_nonzero(~w.any(axis=1))), sums[2]]


def found(g: Given, step: int | None = None) -> list[float]:
    sums = np.zeros(5)
    for at in range(0, len(g.w), step or max(1, len(g.w))):
        _core.weight_error(*(a[at : at + step] if step else a for a in g), sums)
    few = np.zeros(4)
    _core.weight_error(*g, few)
    assert few.tolist() == sums[:4].tolist()
    return sums.tolist()


@pytest.mark.parametrize("kind", ["int8", "mxfp8"])
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_is_the_formula(
    shape: tuple[int, int], dtype: Any, kind: str, target: str, rng: np.random.Generator
) -> None:
    g = given(shape, dtype, kind, rng)
    assert found(g) == expected(g)


@pytest.mark.parametrize("kind", ["int8", "mxfp8"])
def test_sums_are_right(kind: str, rng: np.random.Generator) -> None:
    """Against sums that are rounded once: each of the additions in a row may lose 2^-53 of it."""
    g = given((9, 1000), np.float32, kind, rng)
    exact = [math.fsum((x.astype(np.float64) ** 2).flat) for x in (g.w, differences_of(g))]
    assert found(g)[:2] == pytest.approx(exact, rel=(1000 / 16 + 4 + 9) * 2.0**-53)


@pytest.mark.parametrize("kind", ["int8", "mxfp8"])
@pytest.mark.usefixtures("threads")
def test_neither_threads_nor_bands_matter(kind: str, target: str, rng: np.random.Generator) -> None:
    g = given((301, 4101), BFLOAT16, kind, rng)
    npu_quant.set_num_threads(1)
    once = found(g)
    assert [found(g, step) for step in (1, 2, 100)] == [once] * 3
    npu_quant.set_num_threads(3)
    assert found(g) == once


def test_by_hand(target: str) -> None:
    """3 - 2 * 1.5 = 0, -1 - 1 * 1.5 = -2.5; 2^-9 and 448 by 2^-1 and 2: 1 - 2^-10, 900 - 896."""
    ints = Given(np.array([[3, -1]], F32), np.array([[2, 1]], np.int8), np.array([[1.5]], F32))
    assert found(ints) == [10, 6.25, 2.5, 0, 11.25]
    w, codes = np.zeros((1, 33), F32), np.zeros((1, 33), E4M3)
    w[0, 0], w[0, 32], codes[0, 0], codes[0, 32] = 1, 900, 2.0**-9, 448
    blocks = Given(w, codes, np.array([[126, 128]], np.uint8))
    e = 1 - 2.0**-10
    assert found(blocks) == [1 + 900**2, e * e + 16, 4, 0, 2.0**-20 + 896**2]


class TestExtremes:
    """What codes and scales of a foreign checkpoint may stand for; weights are finite."""

    MOST = float(np.finfo(F32).max)

    @pytest.mark.parametrize("n", [16, 65])
    @pytest.mark.parametrize("scale", [3e38, math.inf])
    def test_codes_beyond_float32(self, scale: float, n: int, target: str) -> None:
        w, codes = np.ones((2, n), F32), np.full((2, n), 2, np.int8)
        codes[:, 0] = -2
        g = Given(w, codes, np.array([[0.5], [scale]], F32))
        assert found(g) == expected(g)
        assert found(g)[1] == 4 + n * self.MOST**2
        assert found(g)[2:] == [self.MOST, 0, math.inf]

    @pytest.mark.parametrize("n", [16, 65])
    def test_values_that_are_no_number(self, n: int, target: str) -> None:
        """Zero by an infinite scale, a scale of NaN, the NaN of e4m3: nothing is known of e."""
        w = np.full((1, n), 5, F32)
        zeros = np.zeros((1, n), np.int8)
        nan = np.full((1, n), 0x7F, np.uint8).view(E4M3)
        for codes, scale in ((zeros, math.inf), (zeros, math.nan)):
            weight, error, greatest, _, values = found(Given(w, codes, np.array([[scale]], F32)))
            assert (weight, error, greatest) == (25 * n, 0, 0)
            assert math.isnan(values)
        g = Given(w, nan, np.full((1, -(-n // 32)), 127, np.uint8))
        assert found(g)[:2] == [25 * n, 0]

    def test_every_code_and_every_power(self, target: str) -> None:
        """A row per byte of E8M0, 2^-127 to 2^127, and 255, which is infinity as 2^128 is."""
        every = np.arange(256, dtype=np.uint8)
        numbers = every[every & 127 != 127]
        codes = np.tile(numbers, (256, 1)).view(E4M3)
        scale = np.repeat(every[:, None], -(-len(numbers) // 32), axis=1)
        w = np.ones(codes.shape, F32)
        for row in range(255):
            g = Given(*(a[row : row + 1] for a in (w, codes, scale)))
            assert found(g) == expected(g)
        last = Given(*(a[255:] for a in (w, codes, scale)))
        assert found(last)[:2] == expected(last)[:2]

    def test_subnormal_weights_are_not_zero(self, dtype: Any, target: str) -> None:
        w = np.zeros((3, 40), dtype)
        w[1, 39] = ml_dtypes.finfo(dtype).smallest_subnormal
        w[2] = -0.0
        g = Given(w, np.zeros((3, 40), np.int8), np.ones((3, 1), F32))
        assert found(g) == expected(g)
        assert found(g)[3] == 2


def test_nothing(target: str) -> None:
    for shape in ((0, 8), (3, 0)):
        g = Given(np.zeros(shape, F32), np.zeros(shape, np.int8), np.ones((shape[0], 1), F32))
        assert found(g) == [0, 0, 0, shape[0], 0]


@pytest.mark.parametrize(
    ("change", "error", "text"),
    [
        ({"w": np.zeros((2, 4))}, DTypeError, "w has dtype float64"),
        ({"w": np.zeros(8, F32)}, ParamError, "w has 1 dimension"),
        ({"w": np.zeros((4, 2), F32).T}, ParamError, "w is not contiguous"),
        ({"codes": np.zeros((2, 4), np.int16)}, DTypeError, "codes has dtype int16"),
        ({"codes": np.zeros((2, 5), np.int8)}, ParamError, r"codes has shape \(2, 5\)"),
        ({"codes": np.zeros((2, 8), np.int8)[:, ::2]}, ParamError, "codes is not contiguous"),
        ({"scale": np.ones((2, 1))}, DTypeError, "scale has dtype float64"),
        ({"scale": np.ones(2, F32)}, ParamError, "scale has 1 dimension"),
        ({"scale": np.ones((2, 2), F32)}, ParamError, r"scale has shape \(2, 2\)"),
        ({"codes": np.zeros((2, 4), E4M3)}, DTypeError, "scale has dtype float32"),
    ],
)
def test_what_is_refused(change: dict[str, Any], error: type[Exception], text: str) -> None:
    g = Given(np.zeros((2, 4), F32), np.zeros((2, 4), np.int8), np.ones((2, 1), F32))
    with pytest.raises(error, match=text):
        found(g._replace(**change))


@pytest.mark.parametrize(
    "sums", [np.zeros(3), np.zeros(6), np.zeros(5, F32), np.broadcast_to(0.0, 4)], ids=str
)
def test_sums_that_cannot_be_added_to(sums: Any) -> None:
    with pytest.raises(npu_quant.errors.NpuQuantError, match="weight_error: sums "):
        _core.weight_error(
            np.zeros((2, 4), F32), np.zeros((2, 4), np.int8), np.ones((2, 1), F32), sums
        )


@pytest.mark.parametrize(
    ("weight", "error", "values", "cosine"),
    [
        (4, 0, 4, 1),
        (4, 4, 4, 0.5),
        (4, 16, 4, -1),
        (0, 4, 4, None),
        (4, 4, 0, None),
        (1e200, 0, 1e200, None),  # the product is infinite
        (math.nan, 0, 1, None),
    ],
)
def test_cosine(weight: float, error: float, values: float, cosine: float | None) -> None:
    """(|w|^2 + |v|^2 - |w - v|^2) / 2 is w v."""
    assert Error(np.array([weight, error, 0, 0, values])).cosine == cosine


@pytest.mark.parametrize("worst", [0, 1])
def test_what_pieces_lose_adds_up(worst: int) -> None:
    """The greatest error is that of either piece."""
    codes, scale = np.ones((1, 4), np.int8), np.ones((1, 1), np.float32)
    pieces = [Error(), Error()]
    for i, piece in enumerate(pieces):
        piece.include(np.full((1, 4), 3.0 if i == worst else 1.5, np.float32), codes, scale)
    total = Error()
    for piece in pieces:
        total.add(piece)
    assert total.greatest == 2
    assert total.sums.tolist() == [4 * (9 + 2.25), 4 * (4 + 0.25), 2, 0]
