"""The pytest plugin: results of which one output fails."""

from __future__ import annotations

import pytest
from plugin_sessions import Session

pytest_plugins = ["pytester", "plugin_sessions"]

# All scales 0.78 % off, with the codes that go with them.
OF_128 = """
def of_128(x):
    x = x.astype(np.float32)
    scale = np.abs(x).max(axis=1) / np.float32(128)
    return np.clip(np.rint(x / scale[:, None]), -128, 127).astype(np.int8), scale

X = np.random.default_rng(7).standard_normal((64, 256)).astype(np.float16)
OP = {"op": "npu_dynamic_quant", "inputs": {"input": X}}
"""


def table_of(result: pytest.RunResult) -> list[str]:
    """Return the lines of the table of comparisons, and the line of counts."""
    lines = result.outlines
    begin = next(i for i, line in enumerate(lines) if "= golden comparisons =" in line)
    end = next(i for i, line in enumerate(lines) if line.startswith("golden: "))
    return lines[begin + 2 : end + 1]


class TestOneFails:
    def test_what_one_output_tolerates_does_not_hide_the_other(self, session: Session) -> None:
        result = session(OF_128 + "def test_it(golden): golden(of_128(X), **OP, atol={'y': 1})")
        result.assert_outcomes(failed=1)
        tolerated, variant, counts = table_of(result)
        assert tolerated.split()[:4] == ["ok", "tolerated", "1.00", "of"]
        assert variant.split()[:6] == ["FAIL", "variant", "inf", "64", "of", "64"]
        assert counts == "golden: 1 comparison: 1 variant (not accepted)"

    def test_that_is_meant_to(self, session: Session) -> None:
        result = session(
            OF_128
            + """
            def test_it(golden):
                with pytest.raises(GoldenMismatch):
                    golden(of_128(X), **OP, atol={'y': 1})
            """.replace("\n            ", "\n"),
            "--golden-summary",
        )
        result.assert_outcomes(passed=1)
        assert [line.split()[0] for line in table_of(result)[:2]] == ["ok", "xfail"]
