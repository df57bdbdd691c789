"""The rows of the tables of named formulas are what they were: names, sources and results."""

from __future__ import annotations

import json
from collections import Counter

import pytest
import variant_rows

from npu_quant.golden import list_variants


@pytest.fixture(scope="module")
def found() -> list[list[str]]:
    return variant_rows.rows()


@pytest.fixture(scope="module")
def kept() -> list[list[str]]:
    table: list[list[str]] = json.loads(variant_rows.TABLE.read_text())
    return table


def test_rows_are_what_they_were(found: list[list[str]], kept: list[list[str]]) -> None:
    """If this is meant: python tests/variant_rows.py, and look at what has changed."""
    for ours, theirs in zip(found, kept, strict=True):
        assert ours == theirs


def test_every_row_was_computed(kept: list[list[str]]) -> None:
    assert Counter(row[0] for row in kept) == {o: len(v) for o, v in list_variants().items()}


def test_the_data_tell_most_formulas_apart(kept: list[list[str]]) -> None:
    """But for those that zero points, or data for one operator of several, make equal."""
    results = Counter((row[0], row[4]) for row in kept)
    assert len(results) > 0.85 * len(kept)
