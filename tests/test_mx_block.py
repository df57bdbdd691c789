"""What the references of the MX operators share: the facts of a block's byte, and casts."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import ml_dtypes
import mx_loops
import numpy as np
import pytest
from witnesses import Array, assert_same_bits

from npu_quant import _codes, _mx

E4M3, E5M2, E2M1, E1M2 = mx_loops.CODES


def greatest(*values: float) -> Array:
    return np.array(values, np.float32)


def test_a_bound_from_below() -> None:
    """The example of aclnnDynamicMxQuantV3; a block of zeros has the bound's byte, too."""
    x = np.array([0, 8, 64, 512], ml_dtypes.bfloat16)
    codes, mxscale = _mx.quantized(x, 0, "rint", E4M3, 1, 0, 0.5)
    assert (codes.view(np.uint8).tolist(), mxscale.tolist()) == ([0, 72, 96, 120], [[128, 0]])
    for amax, byte in ((0, 128), (448, 128), (897, 129), (np.inf, 255)):
        assert _mx.bytes_of(greatest(amax), E4M3, 1, 0, 896.0).tolist() == [byte]
    assert _mx.bytes_of(greatest(0, 1e-3), E4M3, 1, 0, 1e-50).tolist() == [0, 109]


def test_attributes_are_rounded_to_float32() -> None:
    """448.00001 becomes 448, and 6.3 what is next above it."""
    assert _mx.bytes_of(greatest(1), E4M3, 1, 0, 448.00001).tolist() == [127]
    assert _mx.bytes_of(greatest(6.3), E2M1, 2, 6.3).tolist() == [127]


# dst_type_max of both float4, and the formats' own ends.
ENDS = [448, 57344, 6, 7, 8.5, 11.9, 12, 1.75, 1.875, 2, 3.5]


def around_each_binade() -> Array:
    """Return float32 patterns: of each exponent the ends, the middle, and about each of ENDS."""
    of_ends = np.array(ENDS, np.float32).view(np.int32) & 0x7FFFFF
    marks = np.concatenate(([0, 1, 2, 0x3FFFFF, 0x400000, 0x400001, 0x7FFFFF], of_ends))
    mantissas = np.unique(np.concatenate((marks, marks + 1, marks - 1)) & 0x7FFFFF)
    # Of subnormals, half of an end is one to look at, too.
    halves = np.unique(np.concatenate([(of_ends + 0x800000 >> 1) + d for d in (-1, 0, 1)]))
    patterns = np.arange(255)[:, None] << 23 | mantissas
    return np.concatenate((patterns.reshape(-1), halves)).astype(np.uint32)


def byte_by_fields(patterns: Array, alg: int, format: str, end: float) -> Array:
    """Return bytes by integer arithmetic on the fields of float32."""
    a, d = patterns.astype(np.int64), int(np.float32(end).view(np.uint32))
    exponent, mantissa = a >> 23, a & 0x7FFFFF
    if alg == 0:
        emax = {E4M3: 8, E5M2: 15, E2M1: 2, E1M2: 0}[format]
        return np.maximum(exponent - emax, 0)
    b = np.clip(exponent - ((d >> 23) - 127) + (mantissa > (d & 0x7FFFFF)), 0, 254)
    is_beyond = patterns.view(np.float32) > end * 2.0**-127
    return np.where(exponent == 0, is_beyond, b)


@pytest.mark.parametrize(
    ("format", "alg", "end"),
    [(f, 0, 0.0) for f in mx_loops.CODES]
    + [(E4M3, 1, 0.0), (E5M2, 1, 0.0)]
    + [(E2M1, 2, end) for end in (0, 6, 7, 8.5, 11.9, 12)]
    + [(E1M2, 2, end) for end in (0, 1.75, 1.875, 2, 3.5)],
)
def test_integers_give_the_byte_of_real_numbers(format: str, alg: int, end: float) -> None:
    patterns = around_each_binade()
    amax = patterns.view(np.float32)
    found = _mx.bytes_of(amax, format, alg, end)
    fields = byte_by_fields(patterns, alg, format, float(end or mx_loops.CODES[format].top))
    assert (found == fields).all()
    exact = [mx_loops.byte_of(Fraction(a), format, alg, end) for a in amax.tolist()]
    assert found.tolist() == exact


@pytest.mark.parametrize("end", ENDS)
def test_the_documents_division_gives_the_same_byte_but_once(end: float) -> None:
    """S = A / D, or A * (1 / D), its exponent rounded up: not where A is next above D * 2^-127."""
    patterns = around_each_binade()
    amax, end32 = patterns.view(np.float32), np.float32(end)
    found = _mx.bytes_of(amax, E2M1, 2, end)
    for s in (amax / end32, amax * (np.float32(1) / end32)):
        bits = s.view(np.uint32)
        exponent, mantissa = bits >> 23, bits & 0x7FFFFF
        theirs = exponent + ((mantissa > 0) & (exponent > 0) | (mantissa > 0x400000))
        theirs = np.minimum(theirs, 254)
        wrong = amax[found != theirs]
        # Below 2 the ends' multiples are subnormal, and the next one is far enough.
        once = {float(np.nextafter(end32 * np.float32(2.0**-127), np.float32(1)))}
        assert set(wrong.tolist()) == (once if end >= 2 else set())


def cast(v: Array, format: str, mode: str) -> Array:
    """Return the multiples of the step at each number: section 1's words, in float64."""
    a = np.abs(v)
    exponent = np.frexp(a)[1] - 1
    step = {
        E4M3: 2.0 ** (np.maximum(exponent, -6) - 3),
        E5M2: 2.0 ** (np.maximum(exponent, -14) - 2),
        E2M1: np.where(a < 2, 0.5, np.where(a < 4, 1, 2)),
        E1M2: np.full(a.shape, 0.25),
    }[format]
    k = v / step
    whole = {"rint": np.rint(k), "floor": np.floor(k), "round": np.trunc(k + np.copysign(0.5, k))}
    top = float(mx_loops.CODES[format].top)
    y = np.copysign(np.clip(np.abs(whole[mode] * step), 0, top), v)
    return np.where(np.isnan(v), 0, np.where(np.isinf(v), np.copysign(top, v), y))


@pytest.mark.parametrize(
    ("format", "mode"),
    [(E4M3, "rint"), (E5M2, "rint")]
    + [(f, m) for f in (E2M1, E1M2) for m in ("rint", "round", "floor")],
)
@pytest.mark.parametrize("dtype", [np.float16, ml_dtypes.bfloat16])
def test_casts_of_every_16_bit_pattern(format: str, mode: str, dtype: Any) -> None:
    x = np.arange(1 << 16, dtype=np.uint16).view(dtype)
    with np.errstate(all="ignore"):
        y = _codes.decode(_codes.encode(x.astype(np.float32), format, mode), format)
        expected = cast(x.astype(np.float64), format, mode)
    assert_same_bits((y,), (expected.astype(np.float32),))
