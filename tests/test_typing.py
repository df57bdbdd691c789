"""What type checkers say of programs that use npu_quant: nothing of right ones, an error of wrong."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent

# Every line that ends in "# wrong" is to be an error, and no other.
NUMPY = """
import ml_dtypes
import numpy as np
import numpy.typing as npt

import npu_quant
from npu_quant import formats, golden
from npu_quant.testing import GoldenFixture, assert_golden

x = np.zeros((2, 8), np.float16)
y, scale = npu_quant.npu_dynamic_quant(x, dst_type="int8")
npu_quant.npu_dynamic_quant(x, dst_type=None)
npu_quant.npu_dynamic_quant(x, dst_type=1)
npu_quant.npu_dynamic_quant(x, dst_type=npu_quant.hifloat8)
npu_quant.npu_dynamic_quant(x, dst_type=np.int8)
npu_quant.npu_dynamic_quant(x, dst_type=np.dtype("int8"))
npu_quant.npu_dynamic_quant(x, dst_type=ml_dtypes.float8_e4m3fn)
npu_quant.npu_dynamic_quant(x, dst_type=np.dtype(ml_dtypes.float8_e4m3fn))
npu_quant.npu_dynamic_quant(x, dst_type=1.5)  # wrong
npu_quant.npu_dynamic_quant(x, quant_mode=1)  # wrong
npu_quant.npu_dynamic_quant("x")  # wrong
npu_quant.npu_dynamic_qant(x)  # wrong
npu_quant.npu_quant_matmul(x)  # wrong
formats.decode(formats.encode(x, ml_dtypes.float8_e5m2), "float8_e5m2")

comparison = golden.compare(y, op="npu_dynamic_quant", inputs={"input": x})
rung: golden.Rung = comparison.rung
worst: golden.Rung = max(o.rung for o in comparison.outputs)
if comparison.rung == "tie" or comparison.outputs[0].rung == "different":
    assert_golden(y, y)
if comparison.rung == "ties":  # wrong
    pass
if golden.compare_folders("npu", "cpu").rows[0].rung == "equal":  # wrong
    pass
names = [variant.name for variant in golden.list_variants("npu_dynamic_quant")]
variants: list[golden.Variant] = golden.list_variants("npu_dynamic_quant")
source: golden.FileSource = golden.load("y.npy")
found = golden.explain(y, op="npu_dynamic_quant", inputs={"input": x})
ranked: tuple[golden.VariantResult, ...] = found.ranked
refusal: str | None = golden.compare(y, y, allow_constant=True).refusal
golden.compare(y, y, allow_constant="yes")  # wrong
golden.compare(y, y, preset="offbyone")  # wrong
assert_golden(y, y, preset="off_by_one")
assert_golden(y, y, preset="sqnr=40")
golden.compare(y, op="npu_dynamic_qant", inputs={"input": x})  # wrong
golden.compare(y, op=npu_quant.npu_dynamic_quant, inputs={"input": x})
codes: npt.NDArray[np.int8] = y
packed: npt.NDArray[np.int32] = formats.pack_int4(y)
either: npu_quant.ops.dynamic_quant.DynamicQuantResult = npu_quant.npu_dynamic_quant(x)
products: list[npt.NDArray[np.int32]] = npu_quant.npu_grouped_matmul([y], [y])
tensor: str = y  # wrong
lost: formats.FormatLoss = formats.compare(x, formats=["int8"]).loss("int8", "pertoken")
db: float = golden.loss(x, x).sqnr_db + lost.sqnr_db
formats.compare(x, formats=8)  # wrong
golden.list_variant("npu_dynamic_quant")  # wrong


def test(npu_golden: GoldenFixture) -> None:
    npu_golden(y, op="npu_dynamic_quant", inputs={"input": x}).rung
    npu_golden.stored(y, name="y").passed
    npu_golden.store(y)  # wrong
    npu_golden(y, y, alow_constant=True)  # wrong
    npu_golden(y, y, atol={"y": 1}, preset=None, allow_constant=True)
"""

TORCH = """import torch

import npu_quant

x = torch.zeros(2, 8, dtype=torch.bfloat16)
npu_quant.npu_dynamic_quant(x, dst_type=torch.int8)
npu_quant.npu_dynamic_quant(x, dst_type=torch.float8_e4m3fn, out=(x, None))
npu_quant.npu_dynamic_quant(x, dst_type=torch.strided)  # wrong
npu_quant.formats.decode(npu_quant.formats.encode(x, torch.float8_e5m2), torch.float8_e5m2)
npu_quant.make_per_tensor_affine_quantizer(0.5, 0, torch.qint8)
npu_quant.testing.assert_golden(x, x)
y: torch.Tensor = npu_quant.npu_dynamic_quant(x).y
codes, scale = npu_quant.npu_dynamic_quant(x, dst_type=torch.int8)
total = (codes.to(torch.float32) * scale.unsqueeze(-1)).sum().item()
whole: torch.Tensor = npu_quant.npu_quantize(x, scale, None, torch.qint8)
sums: list[torch.Tensor] = npu_quant.npu_grouped_matmul([codes], [codes.T], output_dtype=3)
back: torch.Tensor = npu_quant.formats.unpack_int4(npu_quant.formats.pack_int4(codes))
y.astype("int8")  # wrong
npu_quant.npu_dynamic_quant(x.numpy()).y.unsqueeze(0)  # wrong
"""


@pytest.mark.needs("mypy")
@pytest.mark.parametrize(
    "program",
    [NUMPY, pytest.param(TORCH, marks=pytest.mark.needs("torch"))],
    ids=["numpy", "torch"],
)
def test_mypy_finds_the_wrong_lines(program: str, tmp_path: Path) -> None:
    (tmp_path / "program.py").write_text(program)
    done = subprocess.run(
        [
            sys.executable,
            "-m",
            "mypy",
            "--strict",
            "--cache-dir",
            ROOT / "build/mypy",
            "program.py",
        ],
        cwd=tmp_path,
        env={**os.environ, "MYPYPATH": str(ROOT / "python")},
        capture_output=True,
        text=True,
        check=False,
    )
    wrong = [i for i, line in enumerate(program.splitlines(), 1) if line.endswith("# wrong")]
    found = re.findall(r"^(\S+?):(\d+): error", done.stdout, re.MULTILINE)
    assert found == [("program.py", str(i)) for i in wrong], done.stdout + done.stderr
