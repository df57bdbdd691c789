"""What only a process of its own can show of the C API: its end, no memory, no threads, forks."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

import npu_quant

PREFIX = Path(npu_quant.aclnn_prefix())
SOURCES = Path(__file__).with_name("data") / "aclnn"
# Memory that has been given back holds no longer what it did; work is shared by threads anywhere.
ENVIRONMENT = {k: v for k, v in os.environ.items() if not k.startswith("LD_")} | {
    "MALLOC_PERTURB_": "165",
    "NPU_QUANT_NUM_THREADS": "4",
}
SECONDS = 120


def run(*command: str | Path) -> None:
    """Run a command that succeeds and says nothing."""
    done = subprocess.run(
        command, capture_output=True, text=True, env=ENVIRONMENT, timeout=SECONDS, check=False
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def build(name: str, folder: Path) -> Path:
    """Compile and link one of the programs."""
    lib64, program = PREFIX / "lib64", folder / name
    flags = ["-std=c++17", "-O1", "-g", "-Wall", "-Wextra", "-Werror", "-pthread"]
    libraries = ["-lopapi_nn", "-lascendcl", "-lnnopbase"]
    flags += [f"-I{PREFIX}/include", f"-L{lib64}", f"-Wl,--as-needed,-rpath,{lib64}"]
    run("g++", *flags, SOURCES / f"{name}.cpp", "-o", program, *libraries)
    return program


def test_every_program_is_listed() -> None:
    assert sorted(PROGRAMS) == sorted(path.stem for path in SOURCES.glob("*.cpp"))


PROGRAMS = ["fork_while_running", "forks", "late_calls", "memory_comes_back"]
PROGRAMS += ["no_key", "no_memory_in_a_thread", "no_threads"]


@pytest.mark.parametrize("program", PROGRAMS)
def test_ends_well(program: str, tmp_path: Path) -> None:
    run(build(program, tmp_path))
