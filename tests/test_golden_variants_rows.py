"""The rows of the tables of named formulas are what they were: names, sources and results."""

from __future__ import annotations

import json
from collections import Counter

import exhaustive
import numpy as np
import pytest
import variant_rows

import npu_quant
from npu_quant import ParamError
from npu_quant.golden import list_variants

KEPT: list[list[str]] = json.loads(variant_rows.TABLE.read_text())
"""Operator, name, source, a checksum of the words; then of the results with each dtype."""


def is_tried(index: int, sums: list[str], dtype: int) -> bool:
    """Of the dtypes that a row applies to, `make test` tries it with one, each with others."""
    applies = [i for i, text in enumerate(sums) if text != "-"] or [0]
    return exhaustive.every(len(sums)) == 1 or dtype == applies[index % len(applies)]


@pytest.mark.parametrize("op", list_variants())
class TestKept:
    """If a change is meant: python tests/variant_rows.py, and look at what has changed."""

    def test_rows_say_what_they_said(self, op: str) -> None:
        kept = [row[:4] for row in KEPT if row[0] == op]
        assert [variant_rows.words(op, variant) for variant in list_variants(op)] == kept

    @pytest.mark.parametrize("dtype", range(3), ids=lambda i: np.dtype(variant_rows.DTYPES[i]).name)
    def test_rows_give_what_they_gave(self, op: str, dtype: int) -> None:
        kept = [row[4:] for row in KEPT if row[0] == op]
        tried = [i for i, sums in enumerate(kept) if is_tried(i, sums, dtype)]
        assert tried
        variants = list_variants(op)
        found = variant_rows.sums(op, variant_rows.DTYPES[dtype], [variants[i] for i in tried])
        for i, sum_ in zip(tried, found, strict=True):
            assert sum_ == kept[i][dtype], variants[i].name


def test_every_row_was_computed() -> None:
    assert Counter(row[0] for row in KEPT) == {o: len(v) for o, v in list_variants().items()}


def test_the_data_tell_most_formulas_apart() -> None:
    """But for those that zero points, or data for one operator of several, make equal."""
    results = Counter((row[0], *row[4:]) for row in KEPT)
    assert len(results) > 0.85 * len(KEPT)


class TestTables:
    @pytest.mark.parametrize("op", list_variants())
    def test_names_are_unique_and_rows_complete(self, op: str) -> None:
        variants = list_variants(op)
        names = [(v.name, v.applies) for v in variants]
        assert len({name for name, _ in names}) >= len(names) - 3  # a profile by dtype
        assert (variants[0].name, variants[0].benign) == ("reference", True)
        for variant in variants:
            assert variant.name
            assert variant.summary
            assert variant.source
            assert isinstance(variant.benign, bool)
            assert (variant.benign_if is None) == (variant.benign_when == "")
            assert len(variant.name) <= 100

    @pytest.mark.parametrize("op", list_variants())
    def test_profiles_are_benign_and_have_their_names(self, op: str) -> None:
        for variant in list_variants(op):
            assert (variant.profile is not None) == variant.name.startswith("ascend")
            if variant.profile is not None:
                assert variant.name.startswith(variant.profile)
                assert variant.benign

    def test_an_unknown_operator(self) -> None:
        with pytest.raises(ParamError, match="op is 'npu_foo', expected one of npu_dynamic_quant"):
            list_variants("npu_foo")
        assert list_variants(npu_quant.npu_quantize) == list_variants("npu_quantize")

    def test_the_names_that_users_type(self) -> None:
        names = {variant.name for variant in list_variants("npu_dynamic_quant")}
        assert {"bf16 scale", "fp16 quotient", "truncation", "ascend910b (S1)"} <= names
