"""How far orders of a sum of floats may be apart: the bound of its roundings."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

import numpy as np

from ... import _products
from ..measure.layout import evenly
from .model import Array
from .products import Product

Factors = tuple[Array, Array]
"""Rows and a matrix, in float64."""
SURE = 4.0
"""How many times the root of their number independent roundings may add up to: 0.9 is measured."""
CORRELATED = 4.0
"""How many times the error of one order may be that of another, where roundings are alike."""
FEW, SOME, MANY = 4, 8, 64
"""Products, their rows and columns, and the rows of which those are chosen: to try an order on."""


def sum_roundings(depth: int, factors: Callable[[], Iterator[Factors]]) -> float:
    """Return how many ulp of all that is added up orders of a sum of floats may be away.

    Each product and each sum is rounded by half an ulp, in a block once more. Such errors behave as
    independent ones, which grow as the root of their number (Higham and Mary, "A New Approach to
    Probabilistic Rounding Error Analysis", 2019), unless terms are equal or nearly so: what one k
    after another leaves of some elements tells that.

    Args:
        depth: K, how many products are added up.
        factors: some rows of products, and their matrices.
    """
    most, likely = (depth + -(-depth // _products.BLOCK) + 1) / 2, SURE * math.sqrt(depth)
    if most <= likely:
        return most
    given = ((a, b) for a, b in factors() if a.size and b.size)
    own = (_left_of(_chosen(a), _chosen(b.T)) for a, b in given)
    return min(most, max(likely, CORRELATED * max(own, default=0.0)))


def some_of(own: Sequence[Product]) -> Iterator[Factors]:
    """Yield both factors of some products, with some of their rows."""
    there = [product for product in own if product.left.size]
    for i in evenly(len(there), FEW):
        rows = evenly(len(there[i].left), MANY)
        given = tuple(of_row[rows] for of_row in there[i].of_rows)
        yield replace(there[i], left=there[i].left[rows], of_rows=given).factors()


def _chosen(rows: Array) -> Array:
    """Return some rows: those of which the numbers are most alike, and as many others."""
    with np.errstate(all="ignore"):
        alike = np.argsort(np.ptp(rows, 1) / np.abs(rows).max(1))[: SOME // 2]
    return np.asarray(rows[np.append(alike, evenly(len(rows), SOME // 2))])


def _left_of(a: Array, b: Array) -> float:
    """Return the greatest error of one k after another, in ulp of all that is added up.

    Args:
        a: rows of the left factor.
        b: columns of the right one.
    """
    with np.errstate(all="ignore"):
        terms = (a.T[:, :, None] * b.T[:, None]).astype(np.float32)
        both = (np.cumsum(own, 0, np.float32)[-1] for own in (terms, terms[::-1]))
        apart = np.maximum(*(np.abs(total - a @ b.T) for total in both))
        of_all = apart / np.spacing((np.abs(a) @ np.abs(b.T)).astype(np.float32))
    return float(np.nan_to_num(of_all, posinf=0).max(initial=0))
