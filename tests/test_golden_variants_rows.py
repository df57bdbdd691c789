"""Formulas by name: they give what they gave, are found by what they give, and say what they are."""

from __future__ import annotations

import json
from collections import Counter

import exhaustive
import numpy as np
import pytest
import variant_rows
from test_golden_named import matching

import npu_quant
from npu_quant import ParamError
from npu_quant.golden import list_variants
from npu_quant.golden.operators import model_of

KEPT: list[list[str]] = json.loads(variant_rows.TABLE.read_text())
"""Operator, name, then a checksum of the results with each dtype.

2,312 of the rows are those of 1,751 formulas that were written down one by one, before they were
searched; the names of 31 more were profiles and another operator, which are called now.
"""
ALL = exhaustive.every(2) == 1


def is_tried(index: int, sums: list[str], dtype: int) -> bool:
    """Of the dtypes that a row applies to, `make test` tries it with one, each with others."""
    applies = [i for i, text in enumerate(sums) if text != "-"] or [0]
    return ALL or dtype == applies[index % len(applies)]


@pytest.mark.parametrize("op", variant_rows.calls(np.float16))
class TestKept:
    """If a change is meant: python tests/variant_rows.py, and look at what has changed."""

    @pytest.mark.parametrize("dtype", range(3), ids=lambda i: np.dtype(variant_rows.DTYPES[i]).name)
    def test_rows_give_what_they_gave(self, op: str, dtype: int) -> None:
        kept = [row for row in KEPT if row[0] == op]
        tried = [row for i, row in enumerate(kept) if is_tried(i, row[2:], dtype)]
        assert tried
        formulas = [variant_rows.formula_of(op, row[1]) for row in tried]
        found = variant_rows.sums(op, variant_rows.DTYPES[dtype], formulas)
        for row, sum_ in zip(tried, found, strict=True):
            assert sum_ == row[2 + dtype], row[1]

    @pytest.mark.parametrize("dtype", range(3), ids=lambda i: np.dtype(variant_rows.DTYPES[i]).name)
    def test_rows_are_found(self, op: str, dtype: int) -> None:
        """By what they give of one call: byte for byte, and benign if any that gives it is."""
        names = [row[1] for row in KEPT if row[0] == op]
        step = 1 if ALL else 23
        own = variant_rows.calls(variant_rows.DTYPES[dtype])[op]
        for i, name in [*enumerate(names)][dtype::step]:
            formula, model = variant_rows.formula_of(op, name), model_of(op, own[i % len(own)])
            outputs = variant_rows.made(formula, model.parts())[: len(model.outputs)]
            is_cited = formula.variant(model).name == name or not name.startswith("ascend")
            if not (formula.applies(model) and is_cited) or any(o is None for o in outputs):
                continue
            golden = model.golden()
            shaped = [
                None if g is None else o.reshape(g.shape)
                for o, g in zip(outputs, golden, strict=True)
            ]
            found = matching(model, tuple(shaped))
            assert found, (name, own[i % len(own)].keys())
            if formula.is_benign(model):
                assert found[0].benign, name


def test_every_listed_formula_has_a_row() -> None:
    kept = [(row[0], row[1]) for row in KEPT]
    assert variant_rows.every_name() == kept
    assert {op for op, own in list_variants().items() if len(own) > 1} == {op for op, _ in kept}


def test_the_data_tell_most_formulas_apart() -> None:
    """But for those that zero points, or data for one operator of several, make equal."""
    results = Counter((row[0], *row[2:]) for row in KEPT)
    assert len(results) > 0.85 * len(KEPT)


class TestListed:
    @pytest.mark.parametrize("op", list_variants())
    def test_names_are_unique_and_rows_complete(self, op: str) -> None:
        variants = list_variants(op)
        names = [v.name for v in variants if not v.name.startswith("ascend")]
        assert len(set(names)) == len(names)  # a device's formula may depend on the dtype
        assert (variants[0].name, variants[0].benign) == ("reference", True)
        for variant in variants:
            assert variant.name
            assert variant.summary
            assert variant.source
            assert isinstance(variant.benign, bool)
            assert len(variant.name) <= 100
            if variant.name in names:
                assert variant_rows.formula_of(op, variant.name).variant() == variant

    def test_an_unknown_operator(self) -> None:
        with pytest.raises(ParamError, match="op is 'npu_foo', expected one of npu_dynamic_quant"):
            list_variants("npu_foo")
        assert list_variants(npu_quant.npu_quantize) == list_variants("npu_quantize")

    def test_the_names_that_users_type(self) -> None:
        names = {variant.name for variant in list_variants("npu_dynamic_quant")}
        assert {"bf16 scale", "fp16 quotient", "truncation", "x * (127/amax)"} <= names
