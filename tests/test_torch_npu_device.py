"""npu_quant.torch_npu as programs, as pytest loads it, and what it refuses: processes of their own."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

HERE = Path(__file__).parent
ROOT = HERE.parent
MODULE = (sys.executable, "-m", "npu_quant.torch_npu")
PLUGIN = (sys.executable, "-m", "pytest", "-q", "-W", "error", "-p", "npu_quant.torch_npu_plugin")
with_torch = pytest.mark.needs("torch")


def run(*command: str, at: Path | None = None, status: int = 0) -> str:
    """Run a command; return what it prints, with what it says on stderr."""
    environment = {**os.environ, "PYTHONWARNINGS": "ignore"}
    environment.pop("PYTEST_ADDOPTS", None)
    done = subprocess.run(
        command, capture_output=True, text=True, cwd=at, env=environment, check=False
    )
    assert done.returncode == status, done.stdout + done.stderr
    return done.stdout + done.stderr


@with_torch
@pytest.mark.parametrize(
    ("facts", "options"), [("installed", ()), ("device", ("--simulate", "Ascend910B1"))]
)
def test_facts(facts: str, options: tuple[str, ...]) -> None:
    """By the command that runs a module: pytest, here."""
    file = str(HERE / "simulated" / f"{facts}.py")
    said = run(
        *MODULE, *options, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-W", "error", file
    )
    assert " passed" in said


@with_torch
def test_a_script(tmp_path: Path) -> None:
    """It has its own name, arguments and folder, and what it imports finds torch_npu."""
    (tmp_path / "beside.py").write_text(
        "import torch_npu\nname = torch_npu.npu.get_device_name()\n"
    )
    script = tmp_path / "script.py"
    script.write_text(
        "import sys, beside\nprint(__name__, sys.argv[1:], beside.name)\nprint(__file__.startswith('/'))\nsys.exit(3)\n"
    )
    said = run(*MODULE, "--simulate", "Ascend950", str(script), "--simulate", "me", "-m", status=3)
    assert said == "__main__ ['--simulate', 'me', '-m'] Ascend950\nTrue\n"


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("nowhere.py",), "error: there is no file nowhere.py."),
        ((), "the following arguments are required"),
        (("--simulate", "A100", "-m", "this"), "error: soc is 'A100', available: "),
    ],
    ids=["no file", "no program", "no such chip"],
)
def test_what_the_command_refuses(words: tuple[str, ...], said: str) -> None:
    assert said in run(*MODULE, *words, status=2)


@with_torch
@pytest.mark.parametrize("way", ["-p", "ini", "conftest"])
def test_pytest(way: str, tmp_path: Path) -> None:
    """It acts before conftest.py files, but where it is one that names it."""
    options = ["--npu-simulate", "Ascend910B1"] if way == "-p" else []
    if way == "ini":
        (tmp_path / "pytest.ini").write_text("[pytest]\nnpu_simulate = Ascend910B1\n")
    first = "import torch_npu, torch\nX = torch.ones(1, 8).npu()\n"
    if way == "conftest":
        first = "pytest_plugins = ['npu_quant.torch_npu_plugin']\n"
    (tmp_path / "conftest.py").write_text(first)
    (tmp_path / "test_it.py").write_text(
        textwrap.dedent("""
        import torch, torch_npu

        def test_it():
            y, scale = torch_npu.npu_dynamic_quant(torch.ones(1, 8))
            assert y.eq(127).all()
        """)
    )
    command = PLUGIN if way != "conftest" else PLUGIN[:-2]
    assert "1 passed" in run(*command, *options, at=tmp_path)


@with_torch
def test_a_conftest_may_put_a_mock_in_its_place(tmp_path: Path) -> None:
    (tmp_path / "conftest.py").write_text(
        "import sys, types\nsys.modules['torch_npu'] = types.ModuleType('torch_npu')\n"
    )
    (tmp_path / "test_it.py").write_text(
        "import torch, torch_npu\n\ndef test_it():\n    assert not hasattr(torch_npu, '__file__')\n"
        "    assert torch.ops.npu.npu_dynamic_quant(torch.ones(1, 2))[0].eq(127).all()\n"
    )
    assert "1 passed" in run(*PLUGIN, at=tmp_path)


@with_torch
def test_pytest_refuses_a_chip_that_there_is_not(tmp_path: Path) -> None:
    assert "ERROR: soc is 'A100', available: " in run(
        *PLUGIN, "--npu-simulate", "A100", at=tmp_path, status=4
    )


def block(page: str, language: str, first: str) -> str:
    """Return a block of code of a page, by how it begins."""
    found = re.search(rf"```{language}\n({first}.*?)```", (ROOT / page).read_text(), re.S)
    assert found is not None
    return found[1]


@with_torch
def test_the_page() -> None:
    run(sys.executable, "-m", "doctest", str(ROOT / "docs/torch.md"))


@with_torch
def test_the_readme(tmp_path: Path) -> None:
    """Its tests of W8A8 pass, copied into an empty folder."""
    script = block("README.md", "sh", "cat > test_w8a8.py").replace(
        "pytest -q", f"{sys.executable} -m pytest -q"
    )
    assert "1 passed" in run("bash", "-c", script, at=tmp_path)


@with_torch
def test_the_example() -> None:
    """It prints what the page says, but for the decibels of this machine's kernels of torch."""
    words = block("docs/torch.md", "sh", "python -m").split()
    said = run(sys.executable, *words[1:], at=ROOT)
    said = re.sub(r"^W\d{4} .*\n", "", said, flags=re.M)  # torch's own warnings
    shown = block("docs/torch.md", "text", "device: ")
    number = re.compile(r"\d+\.\d")
    assert number.sub("", said) == number.sub("", shown)
    pairs = zip(number.findall(said), number.findall(shown), strict=True)
    assert all(abs(float(here) - float(there)) < 1 for here, there in pairs)


ALONE = """
import sys
import npu_quant, npu_quant.torch_npu
assert not {"torch", "torch_npu"} & set(sys.modules)
"""
REAL = """
import sys
from pathlib import Path
Path("torch_npu.py").write_text("")
sys.path.insert(0, "")
import npu_quant.torch_npu
try:
    npu_quant.torch_npu.install()
except ImportError as error:
    print(error)
assert "torch_npu" not in sys.modules
sys.modules["torch_npu"] = object()
npu_quant.torch_npu.simulate("Ascend910B1")
"""
NO_TORCH = """
import sys
sys.modules["torch"] = None
import npu_quant.torch_npu
npu_quant.torch_npu.install()
"""


def test_importing_it_imports_no_torch() -> None:
    run(sys.executable, "-c", ALONE)


def test_a_real_torch_npu_is_never_shadowed(tmp_path: Path) -> None:
    said = run(sys.executable, "-c", REAL, at=tmp_path, status=1)
    assert said.count("torch_npu is there already, and npu_quant does not take its place.") == 2
    assert "It is no file: leave out what puts a mock there" in said


def test_without_torch() -> None:
    said = run(sys.executable, "-c", NO_TORCH, status=1)
    assert "ImportError: npu_quant.torch_npu needs torch: pip install torch" in said
