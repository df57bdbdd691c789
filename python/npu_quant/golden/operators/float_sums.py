"""How far orders of a sum of floats may be apart: the bound of its roundings, of each element."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ... import _products
from .model import Array, Float64
from .products import Product

HALF_ULP = 2.0**-24
"""Of float32, the most that a rounding moves a number of 1 or more, as a fraction of it."""
SURE = 6 / 3**0.5
"""How many half ulp of partial sums likely add up to, times the root of their number: six times the
standard deviation of what is rounded off, which is uniform."""
FLOOR = 4.0
"""How many half ulp of all that is added up any order may leave: partial sums may be elsewhere."""
PIECES, BITS = 32, 5
"""Along k; how many bits their numbers have."""
SAMPLED = 256
"""Products along k of which it is told how many are equal."""


@np.errstate(all="ignore")
def left_by(product: Product) -> Float64:
    """Return how far from the exact sums any order of a product may be, for each element.

    An addition rounds by half an ulp of its partial sum. Such errors behave as independent ones,
    which grow as the root of their number (Higham and Mary, "A New Approach to Probabilistic
    Rounding Error Analysis", 2019), and those of equal terms as their number. So partial sums are
    what matters: those from either end, and those of every 2nd, 4th, ... 32nd term, as vector
    units have them. Where signs are mixed, they are far less than the sum of all magnitudes.

    Where an element is not finite, it says nothing.
    """
    a, b = product.factors()
    if product.groups is not None:
        ways = [[piece.astype(np.float64) for piece in product.groups(product.numbers)]]
        count, whole = np.full((1, 1), len(ways[0])), np.abs(ways[0]).sum(0)
    else:
        ways = [[a[:, k] @ b[k] for k in way] for way in _ways_along(len(b))]
        # A product with 0 rounds nothing.
        there = [np.count_nonzero(some, 1) for some in (a, b.T)]
        count, whole = np.minimum.outer(*there), np.abs(a) @ np.abs(b)
    if not len(b):
        return np.zeros((len(a), b.shape[1]))
    most = (count + -(-count // _products.BLOCK) + 2) * whole
    squares = np.maximum.reduce([_mean_square(way) for way in ways])
    alike = np.maximum(1, count * np.multiply.outer(_alike(a), _alike(b.T)))
    likely = np.maximum(SURE * np.sqrt(count * alike * squares), FLOOR * whole)
    return np.asarray(HALF_ULP * np.minimum(most, likely))


def as_large(left: Float64, allowed: float) -> Float64:
    """Return numbers so large that what is left is as much as so many ulp of them explain."""
    return left / (HALF_ULP * max(1.0, allowed))


def _ways_along(depth: int) -> list[list[slice]]:
    """Return ways to cut k into pieces: next to each other; and far apart, the even ones first."""
    size = -(-depth // PIECES)
    along = [slice(k, k + size) for k in range(0, depth, max(1, size))]
    reversed_bits = (int(f"{i:0{BITS}b}"[::-1], 2) for i in range(PIECES))
    return [along, [slice(i, None, PIECES) for i in reversed_bits]]


def _mean_square(pieces: Sequence[Float64]) -> Float64:
    """Return that of the partial sums of pieces, of the larger ones from either end."""
    before = np.cumsum(pieces, 0)
    behind = before[-1] - before
    return np.asarray(np.maximum(before**2, behind**2).mean(0))


def _alike(rows: Array) -> Float64:
    """Return how likely two numbers of each row are equal, tried on some: zeros round nothing."""
    chosen = np.random.default_rng(0).permutation(rows.shape[1])[:SAMPLED]
    own = np.sort(np.where(rows[:, chosen] == 0, np.nan, rows[:, chosen]), 1)
    begins, at = np.ones_like(own, bool), np.arange(own.shape[1])
    begins[:, 1:] = own[:, 1:] != own[:, :-1]
    equal = (at - np.maximum.accumulate(np.where(begins, at, 0), 1)).sum(1)
    there = np.count_nonzero(own == own, 1)
    return np.asarray(equal / np.maximum(1, there * (there - 1) / 2))
