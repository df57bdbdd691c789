"""The pytest plugin: results of which one output fails, is missing, or is one too many."""

from __future__ import annotations

from pathlib import Path

import pytest
from plugin_sessions import Session, text_of

from npu_quant.pytest_plugin import archive

pytest_plugins = ["pytester", "plugin_sessions"]

KEPT = ".pytest_cache/d/npu_quant/test_it/test_it/1.npz"

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
        result = session(
            OF_128 + "def test_it(npu_golden): npu_golden(of_128(X), **OP, atol={'y': 1})", failed=1
        )
        tolerated, variant, *_, counts = (line for line in table_of(result) if line[0] != " ")
        assert tolerated.split()[:4] == ["ok", "tolerated", "y", "of"]
        assert variant.split()[:4] == ["FAIL", "variant", "scale", "of"]
        assert counts == "golden: 1 comparison: 1 variant (not accepted)"

    def test_that_is_meant_to(self, session: Session) -> None:
        result = session(
            OF_128
            + """
            def test_it(npu_golden):
                with pytest.raises(GoldenMismatch):
                    npu_golden(of_128(X), **OP, atol={'y': 1})
            """.replace("\n            ", "\n"),
            "--npu-golden-summary",
            passed=1,
        )
        states = [line.split()[0] for line in table_of(result)[:-1] if line[0] != " "]
        assert states == ["ok", "xfail"]


class TestMissing:
    @pytest.mark.parametrize(
        ("call", "line", "differ"),
        [
            (
                "npu_golden(Y, (Y + 0, SCALE))",
                "missing from actual: 1",
                "missing: only the golden has it",
            ),
            ("npu_golden((Y, SCALE), Y + 0)", "extra in actual: 1", "extra: only actual has it"),
            (
                "npu_golden((Y,), **OP)",
                "missing from actual: scale",
                "missing: only the golden has it",
            ),
        ],
    )
    def test_it_fails(
        self, session: Session, pytester: pytest.Pytester, call: str, line: str, differ: str
    ) -> None:
        result = session(f"def test_it(npu_golden): {call}", failed=1)
        assert f"E   DIFFERENT: {line}" in result.outlines
        assert "E     next: write None for an output that is not to be compared" in result.outlines
        assert "rerun:" not in text_of(result)  # no command line could miss it
        *rows, counts = (line for line in table_of(result) if line[0] != " ")
        fail, ok = sorted(rows)
        assert ok.split()[:2] == ["ok", "identical"]
        assert fail.split()[:2] == ["FAIL", "different"]
        assert differ in fail
        assert counts == "golden: 1 comparison: 1 different"
        assert len(archive.read(pytester.path / KEPT)) in (3, 4)

    def test_none_is_written(self, session: Session) -> None:
        result = session(
            """
            def test_it(npu_golden):
                npu_golden((Y, None), (Y + 0, SCALE))
                npu_golden((Y, None), **OP)
                npu_golden(Y, **OP)
            """,
            passed=1,
        )
        assert "golden: 3 comparisons: 3 identical" in result.outlines


class TestStored:
    RESULT = "def test_it(npu_golden): npu_golden.stored({}, 'q', names=('y', 'scale'))"

    @pytest.mark.parametrize(
        ("before", "now", "lists"),
        [
            ("(Y, SCALE)", "(Y,)", "has y, scale; the result has y."),
            ("(Y, SCALE)", "Y", "has y, scale; the result has y."),
            ("(Y, SCALE)", "(Y, None)", "has y, scale; the result has y."),
            ("(Y, SCALE)", "{'scale': SCALE}", "has y, scale; the result has scale."),
            ("(Y,)", "(Y, SCALE)", "has y; the result has y, scale."),
        ],
    )
    def test_it_has_the_arrays_that_were_stored(
        self, session: Session, pytester: pytest.Pytester, before: str, now: str, lists: str
    ) -> None:
        session(self.RESULT.format(before), "--npu-golden-update", passed=1)
        assert list(Path(pytester.path).rglob("q.npz"))
        session(self.RESULT.format(before), passed=1)
        result = session(self.RESULT.format(now), failed=1)
        assert lists in text_of(result)
        assert "golden: 1 comparison: 1 missing" in result.outlines
