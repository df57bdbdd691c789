"""What the build refuses and knows when it is configured, before anything is compiled."""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent


def configure(folder: Path, *options: str, **environment: str) -> subprocess.CompletedProcess[str]:
    command = ["cmake", "-S", str(ROOT), "-B", str(folder), "-DNPU_QUANT_PYTHON=OFF", *options]
    return subprocess.run(
        command, capture_output=True, text=True, check=False, env=os.environ | environment
    )


def test_without_a_compiler_it_says_what_to_install(tmp_path: Path) -> None:
    done = configure(tmp_path, CXX="no-g++ -m64")
    assert done.returncode != 0
    assert "There is no C++ compiler (no-g++).  npu_quant needs g++ 12 or later" in done.stderr
    assert "\n    apt-get install g++\n" in done.stderr


def test_without_headers_it_says_what_to_install(tmp_path: Path) -> None:
    python = [f"-DPython_{name}={tmp_path}" for name in ("ROOT_DIR", "INCLUDE_DIR")]
    done = configure(
        tmp_path, "-DNPU_QUANT_PYTHON=ON", f"-DPython_EXECUTABLE={sys.executable}", *python
    )
    assert done.returncode != 0
    assert "\n    apt-get install python3-dev\n" in done.stderr


@pytest.mark.parametrize(
    ("variable", "flags"),
    [
        ("CMAKE_CXX_FLAGS", "-ffast-math"),
        ("CMAKE_CXX_FLAGS_RELEASE", "-Ofast"),
        ("CMAKE_EXE_LINKER_FLAGS", "-Wl,-O1 -ffast-math"),
        ("CMAKE_SHARED_LINKER_FLAGS", "-funsafe-math-optimizations"),
        ("CMAKE_MODULE_LINKER_FLAGS_RELEASE", "-ffast-math"),
    ],
)
def test_flags_that_change_numbers_are_refused(tmp_path: Path, variable: str, flags: str) -> None:
    done = configure(tmp_path, f"-D{variable}={flags}")
    assert done.returncode != 0
    assert f"take -ffast-math and its kind out of {variable}." in " ".join(done.stderr.split())


def test_the_version_is_that_of_the_package(tmp_path: Path) -> None:
    done = configure(tmp_path, "-DCMAKE_CXX_FLAGS=-O2", "-DCMAKE_SHARED_LINKER_FLAGS=-Wl,-O1")
    assert done.returncode == 0, done.stderr
    version = re.search('^version = "(.*)"$', (ROOT / "pyproject.toml").read_text(), re.MULTILINE)
    assert version is not None
    package = (tmp_path / "csrc" / "aclnn" / "npu_quant.pc").read_text()
    assert f"Version: {version[1]}\n" in package


@pytest.mark.needs("clang")
def test_clang_warns_of_nothing(tmp_path: Path) -> None:
    options = [f"-D{name}=ON" for name in ("CMAKE_EXPORT_COMPILE_COMMANDS", "NPU_QUANT_WERROR")]
    done = configure(tmp_path, "-DCMAKE_CXX_COMPILER=clang++", *options)
    assert done.returncode == 0, done.stderr
    calls = json.loads((tmp_path / "compile_commands.json").read_text())
    assert len(calls) > 10

    def warnings_of(call: dict[str, str]) -> str:
        words = shlex.split(call["command"])
        words[words.index("-o") : words.index("-o") + 2] = ["-fsyntax-only"]
        done = subprocess.run(
            words, cwd=call["directory"], capture_output=True, text=True, check=False
        )
        return done.stderr

    with ThreadPoolExecutor(os.cpu_count()) as pool:
        assert set(pool.map(warnings_of, calls)) == {""}
