"""Blocks by hand, of every MX operator and of its reference: docs/numerics.md 14."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import mx_loops
import numpy as np
import pytest
from conftest import DTYPES
from witnesses import Array, assert_same_bits

import npu_quant
from npu_quant import _codes, _mx, ops

E4M3, E5M2, E2M1, E1M2 = mx_loops.CODES
A8 = [1, -2.5, 0.1, 7, 0.3, -0.7, 3.3, 500]
A4 = [1, -2.5, 0.1, 7, 0.3, -0.7, 3.3, -5]
GREATEST = float(np.finfo(np.float32).max)


def along(mxscale: Array, axis: int, n: int) -> Array:
    """Return the byte of each element of a matrix, which has n along that axis."""
    blocks = np.moveaxis(mxscale, 1, 0) if axis else mxscale
    blocks = np.moveaxis(blocks, 2, 1).reshape(-1, blocks.shape[1])
    assert len(blocks) == 2 * -(-n // 64)
    assert not blocks[-(-n // 32) :].any()  # of no block
    of_elements = blocks.repeat(32, axis=0)[:n]
    return of_elements.T if axis else of_elements


class Way(NamedTuple):
    """Codes of an operator, and a byte for each of their elements."""

    operator: str
    axis: int
    """Blocks lie along it."""
    call: Callable[..., tuple[Array, Array]]
    is_tiled: bool = False

    def of(self, x: Array, to: str, is_own: bool = True, **how: Any) -> tuple[Array, Array]:
        """Return what codes stand for, by the operator or its reference; and bytes."""
        module = getattr(ops, self.operator.removeprefix("npu_"))
        function = getattr(npu_quant, self.operator) if is_own else module.reference
        y, bytes_ = self.call(function, x, **how, dst_type=to)
        return _codes.decode(y, to), bytes_

    def has(self, scale_alg: int, dst_type_max: float) -> bool:
        return not self.is_tiled or (scale_alg != 1 and dst_type_max in (0, 6, 7))

    def __str__(self) -> str:
        return f"{self.operator}-{self.axis}"


def of_axis(f: Callable[..., Any], x: Array, axis: int, **how: Any) -> tuple[Array, Array]:
    y, mxscale = f(x, axis=axis, **how)
    return y, along(mxscale, axis, x.shape[axis])


def of_both(f: Callable[..., Any], x: Array, axis: int, **how: Any) -> tuple[Array, Array]:
    y1, mxscale1, y2, mxscale2 = f(x, **how)
    return (y1, along(mxscale1, 1, x.shape[1])) if axis else (y2, along(mxscale2, 0, len(x)))


def of_tiles(f: Callable[..., Any], x: Array, axis: int, **how: Any) -> tuple[Array, Array]:
    y, *scales = f(x, **how)
    of_columns, of_rows = (along(scales[1 - axis], axis, x.shape[axis]) for axis in (0, 1))
    assert (of_rows == of_columns).all()
    return y, of_rows


def of_a_group(f: Callable[..., Any], x: Array, axis: int, **how: Any) -> tuple[Array, Array]:
    n = len(x)
    y, mxscale = f(x, np.array([n], np.int32), **how)
    assert len(mxscale) == n // 64 + 1
    return y, along(mxscale[: -(-n // 64)], axis, n)


OPERATORS = [
    ("npu_dynamic_mx_quant", of_axis, (1, 0)),
    ("npu_dynamic_mx_quant_with_dual_axis", of_both, (1, 0)),
    ("npu_dynamic_block_mx_quant", of_tiles, (1,)),
    ("npu_grouped_dynamic_mx_quant", of_a_group, (0,)),
]
WAYS = [
    Way(name, axis, partial(call, axis=axis), call is of_tiles)
    for name, call, axes in OPERATORS
    for axis in axes
]
every_way = pytest.mark.parametrize("way", WAYS, ids=str)
# Elements, format, round_mode, scale_alg, dst_type_max; byte and numbers.
VECTORS: list[tuple[list[float], str, str, int, float, int, list[float]]] = [
    (A8, E4M3, "rint", 0, 0, 127, [1, -2.5, 0.1015625, 7, 0.3125, -0.6875, 3.25, 448]),
    (A8, E4M3, "rint", 1, 0, 128, [0.5, -1.25, 0.05078125, 3.5, 0.15625, -0.34375, 1.625, 256]),
    (A8, E5M2, "rint", 0, 0, 120, [128, -320, 12, 896, 40, -96, 448, 57344]),
    (A8, E5M2, "rint", 1, 0, 121, [64, -160, 6, 448, 20, -48, 224, 32768]),
    (A4, E2M1, "rint", 0, 0, 127, [1, -2, 0, 6, 0.5, -0.5, 3, -4]),
    (A4, E2M1, "round", 0, 0, 127, [1, -3, 0, 6, 0.5, -0.5, 3, -6]),
    (A4, E2M1, "floor", 0, 0, 127, [1, -3, 0, 6, 0, -1, 3, -6]),
    (A4, E2M1, "rint", 2, 0, 128, [0.5, -1, 0, 4, 0, -0.5, 1.5, -2]),
    (A4, E2M1, "rint", 2, 6, 128, [0.5, -1, 0, 4, 0, -0.5, 1.5, -2]),
    (A4, E2M1, "rint", 2, 7, 127, [1, -2, 0, 6, 0.5, -0.5, 3, -4]),
    (A4, E1M2, "rint", 0, 0, 129, [0.25, -0.5, 0, 1.75, 0, -0.25, 0.75, -1.25]),
    # So small that the byte is 0; 2^127 times what is subnormal.
    ([2.0**-120, 2.0**-123], E4M3, "rint", 0, 0, 0, [128, 16]),
    ([2.0**-120, 2.0**-123], E5M2, "rint", 0, 0, 0, [128, 16]),
    ([2.0**-122, 2.0**-130], E4M3, "rint", 0, 0, 0, [32, 0.125]),
    ([2.0**-140, -(2.0**-149)], E4M3, "rint", 0, 0, 0, [0, -0.0]),
    # A product below the least number; floor leaves it.
    ([2.0**127, -(2.0**-100)], E2M1, "floor", 0, 0, 252, [4, -0.0]),
    # 127 of 2^127, whose power is multiplied as the subnormal 2^-127.
    ([GREATEST, 2.0**126], E1M2, "rint", 0, 0, 254, [1.75, 0.5]),
    ([0, -0.0], E4M3, "rint", 0, 0, 0, [0, -0.0]),
    ([0, -0.0], E2M1, "floor", 2, 6, 0, [0, -0.0]),
    # What is rounded to 0 keeps its sign.
    ([1, -(2.0**-30), 2.0**-30, -1], E4M3, "rint", 0, 0, 119, [256, -0.0, 0, -256]),
    ([1, -(2.0**-30), 2.0**-30, -1], E2M1, "rint", 0, 0, 125, [4, -0.0, 0, -4]),
    # Beyond top. By 2, 7 and -6.5 are 3.5, a tie to 4, and -3.25, so -3.
    ([511.9, -511.9], E4M3, "rint", 0, 0, 127, [448, -448]),
    ([7.99, -7.99], E2M1, "rint", 0, 0, 127, [6, -6]),
    ([7.99, -7.99], E2M1, "rint", 2, 8, 127, [6, -6]),
    ([7, -6.5], E2M1, "rint", 2, 6, 128, [4, -3]),
    ([7, -6.5], E2M1, "rint", 2, 7, 127, [6, -6]),
    ([1, np.nan, -1, -0.0], E5M2, "rint", 1, 0, 255, [0, 0, 0, 0]),
    ([np.inf, 1, -1, 0], E2M1, "floor", 2, 7, 255, [0, 0, 0, 0]),
    ([-np.inf, 1, -1, 0], E1M2, "round", 0, 0, 255, [0, 0, 0, 0]),
]
BYTES: list[tuple[str, int, float, list[float], list[int]]] = [
    (E4M3, 0, 0, [1, 448, 449, 57344], [119, 127, 127, 134]),
    (E5M2, 0, 0, [1, 448, 449, 57344], [112, 120, 120, 127]),
    (E2M1, 0, 0, [1, 448, 449, 57344], [125, 133, 133, 140]),
    (E1M2, 0, 0, [1, 448, 449, 57344], [127, 135, 135, 142]),
    (E4M3, 1, 0, [1, 448, 449, 57344], [119, 127, 128, 134]),
    (E5M2, 1, 0, [1, 448, 449, 57344], [112, 120, 121, 127]),
    (E2M1, 2, 6, [1, 1.5, 1.5000001, 1.75, 1.7500001, 7], [125, 125, 126, 126, 126, 128]),
    (E2M1, 2, 7, [1, 1.5, 1.5000001, 1.75, 1.7500001, 7], [125, 125, 125, 125, 126, 127]),
]


# Of codes of 2: the bytes and numbers.
TWOS = {E4M3: (120, -256), E5M2: (113, -32768), E2M1: (126, -4), E1M2: (128, -1)}


def of_every_way(rows: list[Any], arguments: str) -> Any:
    """Parametrize a test by way and row, but for rules that the way has not."""
    at = arguments.split(", ").index("alg")
    pairs = [(way, *row) for way in WAYS for row in rows if way.has(*row[at : at + 2])]
    return pytest.mark.parametrize(f"way, {arguments}", pairs, ids=str)


@pytest.mark.usefixtures("target")
class TestVectors:
    """Worked by hand, or stated by documents."""

    @of_every_way(VECTORS, "elements, to, mode, alg, end, byte, numbers")
    def test_a_block(
        self,
        way: Way,
        elements: list[float],
        to: str,
        mode: str,
        alg: int,
        end: float,
        byte: int,
        numbers: list[float],
    ) -> None:
        """Twice, side by side, of every dtype that holds its elements."""
        twice = np.float32([elements] * 2), np.float32([numbers] * 2)
        exact, expected = twice if way.axis else (a.T for a in twice)
        how = {"round_mode": mode, "scale_alg": alg, "dst_type_max": end}
        for dtype in DTYPES:
            with np.errstate(over="ignore"):
                x = exact.astype(dtype)
            if np.array_equal(x.astype(np.float32), exact, equal_nan=True):
                for is_own in (True, False):
                    y, bytes_ = way.of(x, to, is_own, **how)
                    assert (bytes_ == byte).all()
                    assert_same_bits((y,), (expected,))

    @of_every_way(BYTES, "to, alg, end, amax, expected")
    def test_bytes(
        self, way: Way, to: str, alg: int, end: float, amax: list[float], expected: list[int]
    ) -> None:
        for a, byte in zip(amax, expected, strict=True):
            x, how = np.float32([[a, 0], [0, 0]]), {"scale_alg": alg, "dst_type_max": end}
            assert [way.of(x, to, is_own, **how)[1][0, 0] for is_own in (True, False)] == [byte] * 2
        assert _mx.bytes_of(np.float32(amax), to, alg, end).tolist() == expected

    @every_way
    @pytest.mark.parametrize("to", TWOS)
    def test_what_is_not_finite(self, way: Way, to: str, dtype: np.dtype) -> None:
        """Its block is +0, the finite and the negative ones too; its neighbours are as ever."""
        byte, number = TWOS[to]
        for special in (np.nan, -np.nan, np.inf, -np.inf):
            x = np.full((70, 1280), -2, dtype)
            is_bad = np.zeros(x.shape, bool)
            for row, column in ((33, 32 * 3 + 5), (65, 32 * 39)):
                x[row, column] = special
                rows, columns = (slice(i // 32 * 32, i // 32 * 32 + 32) for i in (row, column))
                if way.is_tiled:
                    is_bad[rows, columns] = True
                else:
                    is_bad[(row, columns) if way.axis else (rows, column)] = True
            y, bytes_ = way.of(x, to)
            assert (bytes_ == np.where(is_bad, 255, byte)).all()
            assert_same_bits((y,), (np.where(is_bad, np.float32(0), np.float32(number)),))

    @every_way
    def test_none_is_0(self, way: Way) -> None:
        x = np.full((2, 2), 7, np.float32)
        for is_own in (True, False):
            found = way.of(x, E2M1, is_own, scale_alg=None, dst_type_max=None)
            assert_same_bits(found, way.of(x, E2M1, is_own))
