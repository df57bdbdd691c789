"""The pytest plugin: what a failure says in a line."""

from __future__ import annotations

from fnmatch import fnmatchcase

import pytest
from plugin_sessions import Session, text_of

pytest_plugins = ["pytester", "plugin_sessions"]

# Rows of 64 columns, of which one is zero, or wrong by a factor; int8 codes in int32; and so on.
ARRAYS = """
XS = np.random.default_rng(0).standard_normal((32, 64)).astype(np.float16)
YS, SS = npu_quant.npu_dynamic_quant(XS)
ZERO = YS.copy()
ZERO[3] = 0
OPS = {"op": "npu_dynamic_quant", "inputs": {"input": XS}}
"""


SUMMARIES = {
    "the cause": ("npu_golden((ZERO, SS), **OPS)", "row 3 is 0 everywhere*"),
    "the cause of the output that shows one": (
        "s = SS.copy(); s[3] *= 2; y = YS.copy(); y[3] = 0; npu_golden((y, s), **OPS)",
        "row 3 is 0*",
    ),
    "the place": (
        "y = YS.copy(); y[3, ::2] += (np.arange(32) * 37 % 11 + 1).astype(np.int8); npu_golden(y, YS)",
        "only in row 3 (32 of 32 diff*",
    ),
    "the formula": (
        "y = np.trunc(XS.astype('f') / SS[:, None]).astype(np.int8); npu_golden(y, **OPS)",
        "follows npu_dynamic_quant with truncation, byte*",
    ),
    "the dtype": (
        "npu_golden(YS.astype(np.int32), **OPS)",
        "y was int32: compared as int8, losslessly; *",
    ),
    "the shape": (
        "npu_golden((YS[:4], SS), **OPS)",
        "shape differs: actual (4, 64), golden (32, 64) (y)",
    ),
    "what is missing": ("npu_golden((YS,), **OPS)", "missing from actual: scale"),
    "that it may be rounding": (
        "npu_golden(TIE, Y)",
        "may be rounding: each is one step (1 of 4 codes)",
    ),
    "the element": ("npu_golden(WRONG, Y)", "[[]0, 2] actual -62, golden -64 (1 of 4 codes)"),
    "the element, of assert_golden": (
        "npu_quant.testing.assert_golden(WRONG, Y)",
        "[[]0, 2] actual -62, golden -64 (1 of 4 codes)",
    ),
}


class TestSummary:
    @pytest.mark.parametrize("what", SUMMARIES)
    def test_it_has(self, session: Session, what: str) -> None:
        call, said = SUMMARIES[what]
        result = session(f"{ARRAYS}\ndef test_it(npu_golden):\n    {call}", failed=1)
        (line,) = (line for line in result.outlines if line.startswith("FAILED "))
        assert fnmatchcase(line, f"FAILED test_it.py::test_it - DIFFERENT: {said}")

    def test_the_failure_itself_has_the_report(self, session: Session) -> None:
        text = text_of(session("def test_it(npu_golden): npu_golden(WRONG, Y)", "--tb=line"))
        assert "DIFFERENT: [0, 2] actual -62, golden -64 (1 of 4 codes)" in text
        assert "int8 (1, 4)  actual=array  golden=array" in text


def test_a_stored_golden_that_differs_says_how_to_store(session: Session) -> None:
    session("def test_it(npu_golden): npu_golden.stored(Y)", "--npu-golden-update", passed=1)
    result = session("def test_it(npu_golden): npu_golden.stored(WRONG)", failed=1)
    end = "store it: pytest --npu-golden-update test_it.py::test_it"
    result.stdout.fnmatch_lines([f"E *when the result is right and the golden is not, {end}"])
    session("def test_it(npu_golden): npu_golden(WRONG, Y)").stdout.no_fnmatch_line(
        "*golden-update*"
    )
