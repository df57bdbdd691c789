"""Examples in the documentation run, links lead somewhere, and generated parts are fresh."""

from __future__ import annotations

import doctest
import importlib
import os
import pkgutil
import re
import runpy
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import npu_quant

ROOT = Path(__file__).resolve().parent.parent
PAGES = sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/*.md"), *ROOT.glob("examples/**/*.md")])
MODULES = sorted(
    m.name
    for m in pkgutil.walk_packages(npu_quant.__path__, "npu_quant.")
    if not m.name.endswith("_core") and ".stand_in" not in m.name  # which is torch_npu's modules
)


def needing(name: str) -> Any:
    """Return a module's name as a parameter, where it cannot be imported without torch: skipped."""
    is_ours = name.startswith("npu_quant.torch_npu.") and not name.endswith((".__main__", ".socs"))
    return pytest.param(name, marks=[pytest.mark.needs("torch")] * is_ours)


@pytest.mark.parametrize("name", ["npu_quant", *map(needing, MODULES)])
def test_docstring_examples(name: str) -> None:
    assert doctest.testmod(importlib.import_module(name)).failed == 0


def test_examples_exist() -> None:
    """The check above would pass on nothing at all."""
    for name in npu_quant.ops.__all__:
        module = sys.modules[getattr(npu_quant, name).__module__]
        assert doctest.testmod(module).attempted >= 4


WITH_EXAMPLES = ["README.md"]
WITH_EXAMPLES += [f"docs/{name}.md" for name in ("golden", "numerics", "golden_variants", "w8a8")]


@pytest.mark.parametrize("name", WITH_EXAMPLES)
def test_examples_of_pages(name: str) -> None:
    result = doctest.testfile(str(ROOT / name), module_relative=False)
    assert result.attempted >= 4
    assert result.failed == 0


@pytest.mark.parametrize("name", ["README.md", "docs/golden.md"])
def test_shell_examples_print_what_they_say(name: str, tmp_path: Path) -> None:
    """A new user's first comparison: copied from the page, run in an empty folder."""
    page = (ROOT / name).read_text()
    found = re.search(r"```sh\n(python - .*?)```\n\n```text\n(.*?)```", page, re.S)
    assert found is not None
    path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    done = subprocess.run(
        ["bash", "-c", found[1]],
        cwd=tmp_path,
        env={**os.environ, "PATH": path},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.stdout, done.stderr, done.returncode) == (found[2], "", 1)


@pytest.mark.parametrize("tool", ["operator_table", "operator_stub", "operator_types"])
def test_what_is_generated_is_fresh(tool: str) -> None:
    """README's table of operators, and their stubs."""
    done = subprocess.run(
        [sys.executable, ROOT / f"tools/{tool}.py", "--check"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout


def test_a_stale_stub_is_renewed() -> None:
    tool = runpy.run_path(str(ROOT / "tools/operator_stub.py"))
    text = tool["STUB"].read_text()
    for stale in (text.replace("    dst_type: object,\n", ""), text.partition(tool["BEGIN"])[0]):
        assert stale != text
        assert tool["renewed"](stale) == text


@pytest.mark.parametrize("page", PAGES, ids=lambda p: p.name)
def test_links_lead_somewhere(page: Path) -> None:
    for target in re.findall(r"\]\((?!https?:)([^)#]+)", page.read_text()):
        assert (page.parent / target).exists(), target


def test_numerics_has_the_sections_the_code_cites() -> None:
    sections = set(
        re.findall(r"^## (\d+)\.", (ROOT / "docs/numerics.md").read_text(), re.MULTILINE)
    )
    sources = [
        p
        for d in ("csrc", "python")
        for p in (ROOT / d).rglob("*.*")
        if p.suffix in (".h", ".cpp", ".py")
    ]
    cited = {n for p in sources for n in re.findall(r"docs/numerics\.md (\d+)", p.read_text())}
    assert cited
    assert cited <= sections
