"""The forms that an operator's inputs may be given in, and names that are nearly right."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from plugin_sessions import Session

import npu_quant
from npu_quant import ParamError
from npu_quant.golden import compare, explain, load
from npu_quant.testing import assert_golden

pytest_plugins = ["pytester", "plugin_sessions"]

Array = NDArray[Any]
OP = "npu_dynamic_quant"


@pytest.fixture
def x(rng: np.random.Generator) -> Array:
    return rng.standard_normal((8, 64)).astype(np.float16)


class TestForms:
    def test_an_array_alone_is_the_first(self, x: Array, tmp_path: Path) -> None:
        y = npu_quant.npu_dynamic_quant(x)
        np.save(tmp_path / "x.npy", x)
        for one in (x, [x], (x,), {"input": x}, load(tmp_path / "x.npy"), [x, None]):
            assert compare(tuple(y), op=OP, inputs=one).rung == "identical"
            assert_golden(y.y, op=OP, inputs=one)
            assert explain(y.y, OP, one).matches[0].name == "reference"

    @pytest.mark.needs("torch")
    def test_a_tensor_alone(self, x: Array) -> None:
        import torch

        y = npu_quant.npu_dynamic_quant(x).y
        assert compare(torch.from_numpy(y), op=OP, inputs=torch.from_numpy(x)).rung == "identical"

    def test_several_are_in_the_operators_order(self, x: Array) -> None:
        smooth = np.linspace(0.5, 2, 64).astype(np.float16)
        y = npu_quant.npu_dynamic_quant(x, smooth_scales=smooth).y
        assert compare(y, op=OP, inputs=(x, smooth)).rung == "identical"
        scales, zeros = np.float32([0.1]), np.int32([3])
        y = npu_quant.npu_quantize(x, scales, zeros, "qint8", 1)
        given = (x, scales, zeros, "qint8", 1)
        assert compare(y, op="npu_quantize", inputs=given).rung == "identical"

    def test_a_failing_test_keeps_them(self, session: Session) -> None:
        result = session(
            "def test_it(npu_golden): npu_golden(WRONG, op='npu_dynamic_quant', inputs=X)"
        )
        result.assert_outcomes(failed=1)
        result.stdout.fnmatch_lines(
            ["*rerun: npu-quant compare --op * y=*::actual.y input=*::inputs.input*"]
        )


@pytest.mark.parametrize(
    ("op", "inputs", "message"),
    [
        ("npu_dynamic_qaunt", "x", "op is 'npu_dynamic_qaunt'; did you mean npu_dynamic_quant?"),
        ("dynamic_quant", "x", "op is 'dynamic_quant'; did you mean npu_dynamic_quant?"),
        ("add", "x", "op is 'add', expected one of npu_dynamic_quant, npu_dynamic_quant_asym"),
        (OP, {"inptu": 1}, "npu_dynamic_quant has no parameter 'inptu' for inputs; did you mean "),
        (OP, {"zzz": 1}, "npu_dynamic_quant has no parameter 'zzz' for inputs. It takes input, "),
        (OP, ["x"] * 9, "npu_dynamic_quant takes input, smooth_scales, "),
        ("npu_quantize", "x", r"npu_quantize needs inputs\['scales'\]. It takes self, scales, "),
    ],
)
def test_what_does_not_fit(op: str, inputs: Any, message: str, x: Array) -> None:
    given = x if inputs == "x" else inputs
    for function in (compare, assert_golden):
        with pytest.raises(ParamError, match=message.replace("?", r"\?")):
            function(x, op=op, inputs=given)
