"""The examples run, show what they promise, and hold what they say."""

import base64
import io
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import nbformat
import numpy as np
import pytest
from exhaustive import every
from PIL import Image

EXAMPLES = Path(__file__).resolve().parents[1] / "examples"
NOTEBOOKS = sorted(EXAMPLES.glob("*.ipynb"))
DATA = EXAMPLES / "data"
MEGABYTE = 2**20
VERDICT = "identical to the NumPy reference, bit for bit: "
CASES = 27
# Executes a notebook in a process of its own: jupyter's sockets and event loops end with it.
EXECUTE = """
import sys

import nbformat
from jupyter_client.kernelspec import KernelSpecManager
from jupyter_client.manager import AsyncKernelManager
from nbclient import NotebookClient

source, *folders = sys.argv[1:]
for folder in folders:
    notebook = nbformat.read(source, as_version=4)
    # Without kernel folders, "python3" is ipykernel under this very interpreter.
    kernel = AsyncKernelManager(kernel_spec_manager=KernelSpecManager(kernel_dirs=[]))
    where = {"metadata": {"path": folder}}
    NotebookClient(notebook, km=kernel, timeout=120, resources=where).execute()
    nbformat.write(notebook, folder + "/fresh.ipynb")
"""
# A first output that is one too large, which the demo must notice.
WRONG_FORMULA = """
import importlib
import sys

folder, *modules = sys.argv[1:]


def wrong(right):
    def reference(*args, **kwargs):
        first, *others = right(*args, **kwargs)
        return (first + 1, *others)

    return reference


for module in modules:
    ops = importlib.import_module("npu_quant.ops." + module)
    ops.reference = wrong(ops.reference)
sys.path.insert(0, folder)
import demo

demo.CALLS = demo.NUMPY_CALLS = 3
sys.exit(demo.main())
"""


def run(*arguments: str, cwd: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, *arguments],
        cwd=cwd,
        env=os.environ | {"PYTHONIOENCODING": "utf-8"} | environment,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        encoding="utf-8",
        timeout=120,
        check=False,
    )


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    """The examples in a folder whose name has a space, so that no run writes into the project."""
    folder = tmp_path / "a copy" / "examples"
    shutil.copytree(EXAMPLES, folder, ignore=shutil.ignore_patterns("__pycache__", ".*"))
    return folder


@pytest.mark.exhaustive  # `make demo` has just run it, and fails where it does
def test_demo(copy: Path, tmp_path: Path) -> None:
    """The second time on a terminal without Unicode."""
    picture, pages = copy.parent / "build" / "demo" / "block_scales.png", []
    for environment in ({}, {"PYTHONIOENCODING": "ascii"}):
        done = run(str(copy / "demo.py"), cwd=tmp_path, NO_COLOR="1", COLUMNS="40", **environment)
        assert done.returncode == 0, done.stderr
        assert "Warning" not in done.stderr
        lines = done.stdout.splitlines()
        assert lines[-1] == VERDICT + "yes"
        assert "\x1b" not in done.stdout
        assert max(map(len, lines[: lines.index("")])) <= 100
        assert sum(line.endswith("yes") for line in lines) == CASES + 1
        assert str(picture.relative_to(tmp_path)) in done.stdout
        assert picture.read_bytes().startswith(b"\x89PNG")
        assert picture.stat().st_size > 10_000
        pages.append(done.stdout)
    assert pages[1].isascii()
    check_against_the_data_page(pages[0].splitlines())


@pytest.mark.exhaustive
def test_whole_model(copy: Path, tmp_path: Path) -> None:
    """With the matrix in data/, and without a package that has the whole model."""
    done = run(str(copy / "whole_model.py"), cwd=tmp_path, NO_COLOR="1")
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    lines = [line.split() for line in done.stdout.splitlines()]
    schemes = next(line[2:] for line in lines if line[:2] == ["layer", "shape"])
    row = next(line for line in lines if line[:1] == ["encoder.layer.0.output.dense"])
    decibels = dict(zip(schemes, row[-4:], strict=True))
    page = (DATA / "README.md").read_text(encoding="utf-8")
    assert f"| `layer0_ffn_down_weight` | {decibels['W8A8_DYNAMIC']} (" in page
    assert decibels["W8A16"] == decibels["W8A8_DYNAMIC"]
    # int4 has 7 steps where int8 has 127: 25 dB, less where most weights are below half a step.
    lost = float(decibels["W8A8_DYNAMIC"]) - float(decibels["W4A8_DYNAMIC"])
    assert 12 < lost < 20 * np.log10(127 / 7)
    assert 30 < float(decibels["W8A8_MXFP8"]) < 33
    passed = [line for line in done.stdout.splitlines() if line.startswith("npu-quant check, ")]
    assert len(passed) == 4
    assert all(": passed: " in line for line in passed)
    picture = copy.parent / "build" / "demo" / "whole_model.png"
    assert picture.read_bytes().startswith(b"\x89PNG")


def check_against_the_data_page(lines: list[str]) -> None:
    page = (DATA / "README.md").read_text(encoding="utf-8")
    for name in ("layer0_ffn_gelu", "layer3_norm_output", "layer3_residual_x1"):
        promised = re.search(
            rf"^\| `{name}\w*` \| ([\d.]+) \(.*?\) \| ([\d.]+)", page, re.MULTILINE
        )
        assert promised, name
        rows = [line.split() for line in lines if line.startswith(name) and " int8 " in line]
        assert [row[-3] for row in rows] == list(promised.groups())
    for operator in ("channel_affine_cachemask", "npu_add_rms_norm_quant"):
        (line,) = (line for line in lines if operator in line)
        assert f"{line.split()[-3]} dB" in page


def test_demo_fails_where_bits_differ(copy: Path) -> None:
    wrong = {
        "dynamic_quant": "npu_dynamic_quant on layer0_ffn_gelu",
        "fake_quantize_per_channel": "fake_quantize_per_channel_affine_cachemask on",
        "add_rms_norm_quant": "npu_add_rms_norm_quant on layer3 x1 + x2",
    }
    done = run("-c", WRONG_FORMULA, str(copy), *wrong, cwd=copy)
    assert done.returncode == 1
    verdict = done.stdout[done.stdout.index(VERDICT) :]
    assert verdict.startswith(VERDICT + "no")
    assert [row for row in wrong.values() if row not in " ".join(verdict.split())] == []
    assert "npu_dynamic_block_quant on" not in verdict


def shown(cell: nbformat.NotebookNode) -> list[str]:
    """Return what a cell printed, and the tables and pictures it showed as HTML."""
    printed = "".join(out.text for out in cell.outputs if out.output_type == "stream")
    pages = [out.data.get("text/html", "") for out in cell.outputs if "data" in out]
    return [printed, *pages]


notebooks = pytest.mark.parametrize("notebook", NOTEBOOKS, ids=lambda path: path.stem)


def test_there_are_five_notebooks() -> None:
    stems = ["compare", "formats", "quickstart", "w8a8_layer", "w8a8_moe"]
    assert [path.stem for path in NOTEBOOKS] == stems


@notebooks
def test_notebook(notebook: Path, copy: Path, tmp_path: Path) -> None:
    """Its kernel may start at the top of the project, or in the folder of the examples."""
    folders, private = [copy.parent, copy][:: every(2)], str(tmp_path / "jupyter")
    names = ("IPYTHONDIR", "JUPYTER_CONFIG_DIR", "JUPYTER_DATA_DIR", "JUPYTER_RUNTIME_DIR")
    arguments = ("-c", EXECUTE, str(notebook), *map(str, folders))
    done = run(*arguments, cwd=tmp_path, **dict.fromkeys(names, private))
    assert done.returncode == 0, done.stderr
    stored = nbformat.read(notebook, as_version=4)
    for folder in folders:
        fresh = nbformat.read(folder / "fresh.ipynb", as_version=4)
        for new, old in zip(fresh.cells, stored.cells, strict=True):
            if new.cell_type == "code":
                assert shown(new) == shown(old), f"cell {old.id}: run the notebook again and save"


def is_transparent(png: str) -> bool:
    """Say whether a picture's corners show the page, which may be a dark one."""
    picture = np.asarray(Image.open(io.BytesIO(base64.b64decode(png))).convert("RGBA"))
    return picture[:: len(picture) - 1, :: len(picture[0]) - 1, 3].tolist() == [[0, 0], [0, 0]]


@notebooks
def test_notebook_is_stored_executed(notebook: Path) -> None:
    stored = nbformat.read(notebook, as_version=4)
    nbformat.validate(stored)
    cells = [cell for cell in stored.cells if cell.cell_type == "code"]
    outputs = [output for cell in cells for output in cell.outputs]
    assert [cell.execution_count for cell in cells] == [*range(1, len(cells) + 1)]
    assert all(cell.outputs for cell in cells)
    assert {output.output_type for output in outputs} <= {
        "stream",
        "display_data",
        "execute_result",
    }
    assert any({"image/png", "text/html"} & set(output.get("data", {})) for output in outputs)
    pictures = [output for output in outputs if "image/png" in output.get("data", {})]
    assert all(picture.metadata["image/png"]["alt"] for picture in pictures)
    assert all(is_transparent(picture.data["image/png"]) for picture in pictures)
    assert not any(output.get("name") == "stderr" for output in outputs)


@notebooks
def test_notebook_holds_nothing_of_the_machine(notebook: Path) -> None:
    text = notebook.read_text(encoding="utf-8")
    stored = nbformat.reads(text, as_version=4)
    assert len(text) < MEGABYTE / 2
    assert stored.metadata.kernelspec.name == "python3"
    assert not any(cell.metadata for cell in stored.cells)
    assert not re.search(r"/home/|/root/|/tmp/|site-packages", text)


def test_the_comparison_says_in_words_what_it_shows() -> None:
    """The story's numbers are those of its cells, and the page of the bug has its pictures."""
    stored = nbformat.read(EXAMPLES / "compare.ipynb", as_version=4)
    told = "".join(cell.source for cell in stored.cells if cell.cell_type == "markdown")
    pages = {cell.id: "".join(shown(cell)) for cell in stored.cells if cell.cell_type == "code"}
    numbers = re.findall(r"\d+,\d{3}", told)
    assert {"150,528", "144,690"} <= set(numbers)
    assert all(any(number in page for page in pages.values()) for number in numbers)
    assert "\n  y: 3 of 150,528 codes differ" in pages["tie"]
    assert ">DIFFERENT</span>" in pages["bug"]
    assert "◂ 7" in pages["bug"]
    rungs = [line.split()[-1] for line in pages["blind"].splitlines()[1:]]
    assert rungs == ["tie", "different", "different"]
    assert re.findall(r"pass +pass", pages["blind"]) == ["pass        pass"] * 3
    assert pages["accept"].startswith("variant True\nDIFFERENT")
    assert ": exactly 'bf16 scale' (" in pages["explain"].splitlines()[0]
    assert pages["files"].endswith("exit status 1\n")


@pytest.mark.parametrize(("name", "least"), [("formats", 30), ("w8a8_layer", 15), ("w8a8_moe", 7)])
def test_a_story_is_told_by_the_numbers_shown(name: str, least: int) -> None:
    """Every number with a point in the sentences is one that a cell has printed."""
    stored = nbformat.read(EXAMPLES / f"{name}.ipynb", as_version=4)
    told = "".join(cell.source for cell in stored.cells if cell.cell_type == "markdown")
    printed = "".join(shown(cell)[0] for cell in stored.cells if cell.cell_type == "code")
    numbers = set(re.findall(r"\d+\.\d+", told))
    assert len(numbers) >= least
    assert numbers <= set(re.findall(r"\d+\.\d+", printed))


@pytest.mark.parametrize(
    ("name", "section", "others"),
    [
        ("w8a8_layer", "Where the error comes from", {"52.9"}),  # of the story of the formats
        ("w8a8_moe", "Experts", set()),
    ],
)
def test_a_page_has_the_numbers_of_its_notebook(name: str, section: str, others: set[str]) -> None:
    page = (EXAMPLES.parent / "docs" / "w8a8.md").read_text(encoding="utf-8")
    told = page.partition(f"## {section}")[2].partition("\n## ")[0]
    stored = nbformat.read(EXAMPLES / f"{name}.ipynb", as_version=4)
    printed = "".join(shown(cell)[0] for cell in stored.cells if cell.cell_type == "code")
    numbers = set(re.findall(r"\d+\.\d+", told))
    assert numbers
    assert numbers - set(re.findall(r"\d+\.\d+", printed)) == others


def test_data_is_small_and_documented() -> None:
    files = [path for path in DATA.iterdir() if path.is_file()]
    assert sum(path.stat().st_size for path in files) <= 2 * MEGABYTE
    page = (DATA / "README.md").read_text(encoding="utf-8")
    with np.load(DATA / "minilm.npz") as stored:
        missing = [key for key in stored.files if f"| `{key}` |" not in page]
    assert not missing
