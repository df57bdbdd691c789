"""A subinterpreter is refused in words, by the module; the main interpreter works before and after."""

from __future__ import annotations

import subprocess
import sys

import pytest

PROGRAM = """
import os, sys
try:
    import _interpreters as interpreters
except ImportError:
    import _xxsubinterpreters as interpreters

INSIDE = '''
import os, sys
try:
    import npu_quant
except ImportError as error:
    os.write({fd}, str(error).encode())
assert "numpy" not in sys.modules
'''

def refusal():
    end, fd = os.pipe()
    interpreter = interpreters.create()
    interpreters.run_string(interpreter, INSIDE.format(fd=fd))
    interpreters.destroy(interpreter)
    os.close(fd)
    return os.read(end, 1000).decode()

def work():
    import numpy as np, npu_quant
    y, scale = npu_quant.npu_dynamic_quant(np.array([[0, 1, -2, 4]], dtype=np.float16))
    assert y.tolist() == [[0, 32, -64, 127]]

for step in sys.argv[1:]:
    print({"refusal": refusal, "work": work}[step]())
"""
REFUSAL = (
    "npu_quant: this is a subinterpreter, expected the main interpreter. Use threads, or "
    "processes (multiprocessing)."
)


@pytest.mark.parametrize(
    "steps", [["refusal", "refusal", "work"], ["work", "refusal", "work", "refusal"]]
)
def test_a_subinterpreter_is_refused(steps: list[str]) -> None:
    command = [sys.executable, "-W", "ignore::DeprecationWarning", "-c", PROGRAM, *steps]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.splitlines() == [REFUSAL if s == "refusal" else "None" for s in steps]
