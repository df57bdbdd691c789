"""Names: what completion shows of the public modules, and what is said of one that is not here."""

from __future__ import annotations

import importlib
import pydoc
import rlcompleter
import subprocess
import sys
from types import ModuleType

import pytest

import npu_quant
from npu_quant import (
    arrays,
    checkpoint,
    dtypes,
    errors,
    files,
    formats,
    golden,
    ops,
    testing,
    torch_npu,
)

PAGES = sorted({getattr(npu_quant, name).__module__ for name in ops.__all__})


PUBLIC = [npu_quant, arrays, checkpoint, dtypes, errors, files, formats, golden, testing, torch_npu]


@pytest.mark.parametrize("module", PUBLIC, ids=lambda m: m.__name__)
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


@pytest.mark.parametrize(
    "name",
    [
        "npu_moe_gating_top_k",
        "npu_moe_re_routing",
        "npu_gemma_rms_norm",
        "npu_rms_norm_dynamic_mx_quant",
    ],
)
def test_an_operator_that_is_not_here(name: str) -> None:
    """The message is short; code that asks for an operator before it calls it works."""
    assert not hasattr(npu_quant, name)
    with pytest.raises(AttributeError) as caught:
        getattr(npu_quant, name)
    assert str(caught.value) == (
        f"module 'npu_quant' has no attribute {name!r}: it is an operator of torch_npu that is not "
        "here (README, Not here)."
    )
    with pytest.raises(ImportError, match=f"cannot import name '{name}' from 'npu_quant'"):
        exec(f"from npu_quant import {name}")


@pytest.mark.parametrize(
    ("name", "meant"),
    [
        ("npu_dynamic_qant", "npu_dynamic_quant"),
        ("npu_dynamic_quant_assymetric", "npu_dynamic_quant_asymmetric"),
        ("npu_quantise", "npu_quantize"),
        ("npu_add_rms_norm_quantize", "npu_add_rms_norm_quant"),
        ("npu_dynamic_mx_quant_dual_axis", "npu_dynamic_mx_quant_with_dual_axis"),
        ("dynamic_quant", "npu_dynamic_quant"),
        ("fake_quantize_per_channel", "fake_quantize_per_channel_affine"),
        ("set_threads", "set_num_threads"),
        ("format", "formats"),
        ("Golden", "golden"),
    ],
)
def test_a_name_that_is_misspelt(name: str, meant: str) -> None:
    with pytest.raises(AttributeError, match=f"{name}'[;.] [Dd]id you mean {meant}\\?"):
        getattr(npu_quant, name)


@pytest.mark.parametrize("name", ["xyz", "__wrapped__", "_core2", "npu", "npu_nothing_like_that"])
def test_any_other_name(name: str) -> None:
    with pytest.raises(AttributeError) as caught:
        getattr(npu_quant, name)
    assert str(caught.value) == f"module 'npu_quant' has no attribute {name!r}"


def test_the_interpreter_suggests_nothing_twice() -> None:
    """Python adds its own suggestion to an AttributeError that has none of ours."""
    code = "import npu_quant; npu_quant.npu_dynamic_qant"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.stderr.count("id you mean") == 1
