"""Names: what completion shows of the public modules."""

from __future__ import annotations

import importlib
import pydoc
import rlcompleter
from types import ModuleType

import pytest

import npu_quant
from npu_quant import formats, golden, ops, testing

PAGES = sorted({getattr(npu_quant, name).__module__ for name in ops.__all__})


@pytest.mark.parametrize("module", [npu_quant, formats, golden, testing], ids=lambda m: m.__name__)
def test_completion_shows_what_is_public(module: ModuleType) -> None:
    assert dir(module) == sorted(module.__all__)
    assert all(hasattr(module, name) for name in module.__all__)


def test_completion_shows_operators_and_their_pages() -> None:
    assert set(dir(ops)) == {*ops.__all__, *(page.rpartition(".")[2] for page in PAGES)}
    assert "ops" in dir(npu_quant)


@pytest.mark.parametrize("page", PAGES)
def test_completion_shows_what_is_written_on_a_page(page: str) -> None:
    module = importlib.import_module(page)
    shown = {name for name in dir(module) if not name.startswith("_")}
    assert "reference" in shown
    assert all(getattr(module, name).__module__ == page for name in shown)
    offered = {name for name in ops.__all__ if not name.startswith("_")}
    assert {name for name in offered if getattr(ops, name).__module__ == page} <= shown


def test_completion_at_a_prompt() -> None:
    complete = rlcompleter.Completer({"npu_quant": npu_quant}).attr_matches
    assert {found.rstrip("()") for found in complete("npu_quant.golden.e")} == {
        "npu_quant.golden.explain"
    }
    assert complete("npu_quant.testing.C") == []


def test_help_still_has_the_public_names() -> None:
    for module in (npu_quant, golden):
        page = pydoc.plain(pydoc.render_doc(module))
        assert all(name in page for name in module.__all__ if callable(getattr(module, name)))
