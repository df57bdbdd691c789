"""What a comparison with an operator takes of memory: at most 2.5 times its inputs and outputs."""

from __future__ import annotations

import subprocess
import sys

import pytest

CHILD = """
import sys
from pathlib import Path
import numpy as np
import npu_quant
from npu_quant.golden import compare

KIND, ROWS = sys.argv[1], int(sys.argv[2])
OP, F32 = "npu_dynamic_quant", np.float32

def resident(which):
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) << 10 for line in lines if line.startswith(which))

def call(rows):
    x, rng = np.empty((rows, 4096), np.float16), np.random.default_rng(0)
    for some in np.array_split(x, max(1, rows // 256)):
        some[...] = rng.standard_normal(some.shape, F32)
    return x, *npu_quant.npu_dynamic_quant(x)

def device(x, y, scale):
    rng, pieces = np.random.default_rng(1), max(1, len(x) // 256)
    for v, codes, s in zip(*(np.array_split(a, pieces) for a in (x, y, scale[:, None]))):
        if KIND == "truncation":
            codes[...] = np.trunc(v.astype(F32) / s)
        if KIND == "tie":  # of half of the rows, as devices multiply
            codes[::2] = np.rint(v[::2].astype(F32) * (F32(1) / s[::2]))
        if KIND == "different":
            codes.reshape(-1)[rng.integers(0, codes.size, codes.size // 1000)] ^= 5
    return y, scale

def measured(rows):
    before = resident("VmRSS")
    x, y, scale = call(rows)
    y, scale = device(x, y, scale)
    Path("/proc/self/clear_refs").write_text("5")  # the peak begins anew
    comparison = compare((y, scale), op=OP, inputs={"input": x})
    return comparison, (resident("VmHWM") - before) / (x.nbytes + y.nbytes + scale.nbytes)

measured(16)  # imports what is imported late
comparison, ratio = measured(ROWS)
print(comparison.rung, *[v.name for v in comparison.variants[:1]], ratio)
"""


@pytest.mark.parametrize(
    ("kind", "found"),
    [
        ("none", "identical"),
        ("tie", "tie"),
        ("different", "different"),
        ("truncation", "variant truncation"),
    ],
)
def test_of_a_comparison(kind: str, found: str) -> None:
    command = [sys.executable, "-W", "ignore", "-c", CHILD, kind, "8192"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    said, ratio = done.stdout.rsplit(maxsplit=1)
    assert said == found
    assert float(ratio) <= 2.5
