"""What `make wheels` makes wheels of, and for whom; making them is left to it."""

from __future__ import annotations

import subprocess
import sys
import tarfile
from pathlib import Path

import pytest
from tools import wheels

ROOT = Path(__file__).resolve().parent.parent


@pytest.fixture
def python(tmp_path: Path) -> Path:
    """Return a folder of what looks like a Python, and says what it is told to."""
    said = {
        "first": "echo 3.10; echo /first",
        "second": "echo 3.10; echo /second",
        "newer": "echo 3.13; echo /newer",
        "headless": "echo unfit; echo /headless",
        "shim": "echo 3.12; echo /shim; exit 127",
        "ancient": "echo 3.9; echo /ancient",
        "silent": "exit 1",
    }
    for name, words in said.items():
        (tmp_path / name).write_text(f"#!/bin/sh\n{words}\n")
        (tmp_path / name).chmod(0o755)
    return tmp_path


def test_the_first_python_of_each_version_is_taken(python: Path) -> None:
    names = ["silent", "newer", "shim", "headless", "first", "ancient", "second"]
    found = wheels.pythons(str(python / name) for name in names)
    assert list(found.items()) == [("3.10", "/first"), ("3.13", "/newer")]


def test_this_python_is_one() -> None:
    version = "{}.{}".format(*sys.version_info)
    assert wheels.pythons([sys.executable]) == {version: sys.executable}


def test_versions_are_those_the_package_speaks_of() -> None:
    text = (ROOT / "pyproject.toml").read_text()
    assert all(
        f'"Programming Language :: Python :: {version}"' in text for version in wheels.VERSIONS
    )
    assert all(f'"cp{version.replace(".", "")}-*"' in text for version in wheels.VERSIONS)
    assert f'requires-python = ">={wheels.VERSIONS[0]}"' in text


def test_the_sdist_has_all_sources_and_no_more(tmp_path: Path) -> None:
    name = wheels.run(sys.executable, "-c", wheels.SDIST, tmp_path)
    with tarfile.open(tmp_path / name) as archive:
        there = {member.partition("/")[2] for member in archive.getnames()} - {"PKG-INFO"}
    tracked = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    left_out = (".ci/", "bench/", "examples/", "tests/")
    assert there == {path for path in tracked.stdout.splitlines() if not path.startswith(left_out)}
