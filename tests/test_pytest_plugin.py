"""The pytest plugin: the fixture, the marker and the summary."""

from __future__ import annotations

import json
import re
from typing import ClassVar

import pytest
from plugin_sessions import HEADER, Session, text_of

pytest_plugins = ["pytester", "plugin_sessions"]


class TestFixture:
    CALLS: ClassVar[dict[str, tuple[str, str, list[str]]]] = {
        "a given golden that is equal": ("npu_golden(Y, Y.copy())", "identical", []),
        "a given golden that differs": (
            "npu_golden(TIE, Y)",
            "different",
            [
                "E   DIFFERENT: may be rounding: each is one step (1 of 4 codes)",
                "FAILED test_it.py::test_it - DIFFERENT: may be rounding: each is*",
            ],
        ),
        "rounding, by a computed one": ("npu_golden((TIE, SCALE), **OP)", "tie", []),
        "a bug, by a computed one": (
            "npu_golden((WRONG, SCALE), **OP)",
            "different",
            ["E   DIFFERENT: *", "E     npu_dynamic_quant y int8 (1, 4)*"],
        ),
        "within a tolerance": ("npu_golden(TIE, Y, atol=1)", "tolerated", []),
        "beyond a tolerance": ("npu_golden(WRONG, Y, atol=1)", "different", []),
        "a constant that is meant": (
            "npu_golden(Y * 0, Y * 0, allow_constant=True)",
            "identical",
            [],
        ),
        "what it returns": ("assert npu_golden(TIE, **OP).rung == 'tie'", "tie", []),
    }

    @pytest.mark.parametrize("what", CALLS)
    def test_it_compares(self, session: Session, what: str) -> None:
        call, rung, says = self.CALLS[what]
        failed = int(rung == "different")
        result = session(f"def test_it(npu_golden): {call}", passed=1 - failed, failed=failed)
        assert f"golden: 1 comparison: 1 {rung}" in result.outlines
        assert ("golden comparisons" in text_of(result)) is bool(failed)
        result.stdout.fnmatch_lines(says)

    def test_the_report_fits_in_a_terminal(self, session: Session) -> None:
        """But for the command, which is to be copied whole."""
        result = session("def test_it(npu_golden):\n    npu_golden((WRONG, SCALE), **OP)")
        lines = [line for line in result.outlines if "rerun: npu-quant compare" not in line]
        assert len(lines) == len(result.outlines) - 1
        assert max(map(len, lines)) == 100

    @pytest.mark.parametrize(
        ("call", "says"),
        [
            ("npu_golden(Y, Y)", "the same array"),
            ("npu_golden(Y[:0], Y[:0].copy())", "empty"),
            ("npu_golden(Y * 0, Y * 0)", "allow_constant=True"),
            ("npu_golden(TIE, Y, atol=300)", "would also accept"),
        ],
    )
    def test_what_could_only_pass_is_refused(self, session: Session, call: str, says: str) -> None:
        result = session(f"def test_it(npu_golden): {call}", failed=1)
        result.stdout.fnmatch_lines([f"E *GoldenRefused: npu_golden refuses: *{says}*"])
        assert "golden: 1 comparison: 1 refused" in result.outlines

    def test_an_unknown_argument_is_an_error(self, session: Session) -> None:
        result = session("def test_it(npu_golden): npu_golden(Y, Y.copy(), tolerance=1)", failed=1)
        result.stdout.fnmatch_lines(
            ["*ParamError: npu_golden: there is no tolerance; expected op, *"]
        )

    def test_the_plugins_own_frames_are_not_shown(self, session: Session) -> None:
        result = session("def test_it(npu_golden): npu_golden(TIE, Y)")
        assert "fixture.py" not in text_of(result)
        assert "test_it.py:14: GoldenMismatch" in result.outlines

    @pytest.mark.parametrize(
        "call",
        [
            "npu_golden(Y)",
            "npu_golden('a', Y)",
            "npu_golden(Y, Y, tolerance=1)",
            "npu_golden(Y, Y, preset='best')",
            "npu_golden(Y, op='npu_dynamic_quant', inputs={'input': X.astype(int)})",
            "npu_golden.stored(Y, '../y')",
            "npu_golden.stored('a')",
        ],
    )
    def test_nor_where_an_argument_is_wrong(self, session: Session, call: str) -> None:
        result = session(f"def test_it(npu_golden): {call}", failed=1)
        places = [line for line in result.outlines if re.match(r"\S+\.py:\d+: ", line)]
        assert places in [["test_it.py:14: ParamError"], ["test_it.py:14: DTypeError"]]

    def test_a_comparison_in_a_fixture_is_recorded(self, session: Session) -> None:
        result = session(
            """
            @pytest.fixture
            def result(npu_golden):
                npu_golden(TIE, Y, atol=1)

            def test_it(result, npu_golden):
                npu_golden(Y, Y.copy())
            """,
            passed=1,
        )
        assert "golden: 2 comparisons: 1 identical, 1 tolerated" in result.outlines


class TestMarker:
    def test_it_gives_defaults(self, session: Session) -> None:
        session(
            """
            @pytest.mark.npu_golden(op="npu_dynamic_quant", inputs={"input": X})
            def test_it(npu_golden): npu_golden((TIE, SCALE))
            """,
            passed=1,
        )

    def test_without_it_there_are_none(self, session: Session) -> None:
        result = session("def test_it(npu_golden): npu_golden((TIE, SCALE))", failed=1)
        result.stdout.fnmatch_lines(["*ParamError: give a golden, or op and inputs*"])

    @pytest.mark.parametrize(
        ("marks", "call", "passed"),
        [
            ("atol=2", "npu_golden(WRONG, Y)", 1),
            ("atol=2", "npu_golden(WRONG, Y, atol=1)", 0),
            ("atol=1", "npu_golden(WRONG, Y, atol=2)", 1),
            ("atol=2", "npu_golden(WRONG, Y, atol=None)", 0),
            ("atol=1", "npu_golden(TIE, Y, preset='exact')", 0),
            ("preset='exact'", "npu_golden(TIE, Y, atol=1)", 1),
            ("preset='off_by_one'", "npu_golden(TIE, Y)", 1),
            ("preset='off_by_one'", "npu_golden(WRONG, Y)", 0),
            # What computes a golden has no part where one is given, but for the outputs' names.
            (
                "op='npu_dynamic_quant', inputs={'input': X}",
                "npu_golden((Y, SCALE), (TIE, SCALE))",
                0,
            ),
            ("op='npu_dynamic_quant', variant='trunc'", "npu_golden(TIE, Y, atol={'y': 1})", 1),
            ("op='npu_dynamic_quant'", "npu_golden([TIE], [Y], names=['z'], atol={'z': 1})", 1),
            ("names=['z']", "npu_golden(TIE, **OP)", 1),
        ],
    )
    def test_what_the_test_says_wins(
        self, session: Session, marks: str, call: str, passed: int
    ) -> None:
        result = session(
            f"@pytest.mark.npu_golden({marks})\ndef test_it(npu_golden): {call}",
            passed=passed,
            failed=1 - passed,
        )
        assert "ParamError" not in text_of(result)

    @pytest.mark.parametrize(("inner", "passed"), [(2, 1), (1, 0)])
    def test_the_closest_wins(self, session: Session, inner: int, passed: int) -> None:
        session(
            f"""
            pytestmark = pytest.mark.npu_golden(atol={3 - inner}, rtol=0)

            @pytest.mark.npu_golden(atol={inner})
            def test_it(npu_golden): npu_golden(WRONG, Y)
            """,
            passed=passed,
            failed=1 - passed,
        )

    @pytest.mark.parametrize(
        ("marks", "says"),
        [
            (
                "'npu_dynamic_quant'",
                "@pytest.mark.npu_golden('npu_dynamic_quant',): arguments are given",
            ),
            ("tolerance=1", "@pytest.mark.npu_golden: there is no tolerance; expected op, inputs"),
        ],
    )
    def test_a_wrong_marker_is_an_error(self, session: Session, marks: str, says: str) -> None:
        result = session(
            f"@pytest.mark.npu_golden({marks})\ndef test_it(npu_golden): npu_golden(Y, Y.copy())",
            errors=1,
        )
        assert says in text_of(result)

    def test_it_is_registered(self, session: Session) -> None:
        assert "@pytest.mark.npu_golden(op=None, " in text_of(session("", "--markers"))

    def test_another_is_not(self, session: Session) -> None:
        session("@pytest.mark.goldem(atol=1)\ndef test_it(npu_golden): pass", errors=1)


# The tie's margin is what the rounding of the golden scale does to -63.5: float32(4 / 127) is too
# small by 3.7e-9 of it, 63.5 * 3.7e-9 is 0.062 ulp (of 2**-18), and that is 0.0155 of 4 ulp.
MIXED = """
def test_identical(npu_golden): npu_golden(Y, Y.copy())
def test_tie(npu_golden): npu_golden((TIE, SCALE), **OP)
def test_tolerated(npu_golden): npu_golden(np.array([90, 12, 50]), np.array([90, 10, 50]), atol=8)
"""
FAILING = "def test_different(npu_golden): npu_golden(WRONG, Y, atol=1)\n"
TABLE = "= golden comparisons ="


class TestSummary:
    def test_nothing_is_said_where_nothing_is_compared(self, session: Session) -> None:
        assert "golden" not in text_of(session("def test_it(): pass"))
        assert "golden" not in text_of(
            session("def test_it(npu_golden): pass", "--npu-golden-summary")
        )

    def test_one_line_where_all_pass(self, session: Session) -> None:
        result = session(MIXED)
        assert "golden: 3 comparisons: 1 identical, 1 tie, 1 tolerated" in result.outlines
        assert TABLE not in text_of(result)

    def test_the_table_on_demand(self, session: Session, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("COLUMNS", "140")
        result = session(MIXED, "--npu-golden-summary")
        tolerated = "1 of 3 values differs, by 0.25 times what atol=8, rtol=0 allows"
        tie = "1 of 4 codes differs, each within 0.06 ulp of a tie"
        assert result.outlines[2:8] == [
            "    verdict    output of test                 found",
            f"ok  tolerated  test_it.py::test_tolerated     {tolerated}",
            f"ok  tie        y of test_it.py::test_tie      {tie}",
            "ok  identical  scale of test_it.py::test_tie  all 1 scale",
            "ok  identical  test_it.py::test_identical     all 4 codes",
            "golden: 3 comparisons: 1 identical, 1 tie, 1 tolerated",
        ]

    def test_the_table_where_one_fails(self, session: Session) -> None:
        result = session(MIXED + FAILING)
        assert TABLE in text_of(result)
        found = "[0, 2] actual -62, golden -64"
        assert f"FAIL  different  test_it.py::test_different     {found}" in result.outlines
        assert (
            "golden: 4 comparisons: 1 identical, 1 tie, 1 tolerated, 1 different" in result.outlines
        )

    @pytest.mark.parametrize(("ending", "label"), [("", " (expected)"), ("assert False", "")])
    def test_a_failure_that_is_caught(self, session: Session, ending: str, label: str) -> None:
        """It is meant, and none, but for a test that fails later."""
        result = session(
            f"""
            def test_it(npu_golden):
                with pytest.raises(GoldenMismatch):
                    npu_golden(WRONG, Y)
                {ending}
            """,
            passed=int(not ending),
            failed=int(bool(ending)),
        )
        assert f"golden: 1 comparison: 1 different{label}" in result.outlines
        assert (TABLE in text_of(result)) is bool(ending)

    TRUNCATED = """
    def test_it(npu_golden):
        npu_golden(np.trunc(X.astype(np.float32) / SCALE).astype(np.int8), **OP, variant={})
    """

    @pytest.mark.parametrize(
        ("variant", "row", "label"),
        [
            ("'truncation'", "ok  variant", ""),
            ("None", "FAIL  variant", " (not accepted)"),
        ],
    )
    def test_a_variant(self, session: Session, variant: str, row: str, label: str) -> None:
        failed = int(variant == "None")
        source = self.TRUNCATED.format(variant)
        result = session(source, "--npu-golden-summary", passed=1 - failed, failed=failed)
        found = "follows npu_dynamic_quant with truncation, byte for byte"
        assert f"{row}  y of test_it.py::test_it  {found}" in result.outlines
        assert f"golden: 1 comparison: 1 variant{label}" in result.outlines

    def test_many_rows_are_cut_unless_asked_for(self, session: Session) -> None:
        many = "@pytest.mark.parametrize('i', range(60))\ndef test_many(npu_golden, i): npu_golden(Y, Y + 0)\n"
        result = session(many + FAILING)
        assert "and 21 more: --npu-golden-summary lists all" in result.outlines
        result = session("", "--npu-golden-summary")
        assert sum(line.startswith("ok  ") for line in result.outlines) == 60
        assert "more: --npu-golden-summary" not in text_of(result)

    def table(self, result: pytest.RunResult) -> list[str]:
        return text_of(result).split(TABLE)[1].split("golden: ")[0].splitlines()[2:]

    def test_lines_fit_in_a_terminal(self, session: Session) -> None:
        name = "n" * 200
        result = session(
            f"""
            @pytest.mark.npu_golden(op="npu_dynamic_quant")
            def test_{name}(npu_golden): npu_golden.stored((Y, SCALE), name="a" * 60)
            def test_tie_{name}(npu_golden): npu_golden((TIE, SCALE), **OP)
            """,
            "--npu-golden-summary",
        )
        table = self.table(result)
        assert max(map(len, table)) <= 100
        assert [line.split()[0] for line in table if line[0] != " "] == ["FAIL", "ok", "ok"]
        assert "".join(table).count("n") >= 3 * 200

    def test_long_columns_leave_room_for_the_test(self, session: Session) -> None:
        name = "rows_of_many_shapes_and_of_every_data_type"
        result = session(
            f"""
            def test_{name}(npu_golden):
                many = np.zeros((1,) * 13, np.int8) + Y
                npu_golden((many[..., :2], Y * 1), (many, Y), names=("codes", "y"), atol=123456789,
                       rtol=1.23456e-5)
            """
        )
        table = self.table(result)
        assert max(map(len, table)) <= 100
        failed, passed = (line for line in table if line[0] != " ")
        assert " codes of " in failed
        assert " shape differs" in failed
        assert " y of " in passed

    def test_colours_are_for_terminals(self, session: Session) -> None:
        assert "\x1b[" not in text_of(session(FAILING))
        coloured = text_of(session("", "--color=yes"))
        assert "\x1b[31mFAIL\x1b[0m" in coloured

    def test_it_survives_being_sent_between_processes(
        self, session: Session, pytester: pytest.Pytester
    ) -> None:
        """As pytest-xdist sends reports: as text."""
        pytester.makepyfile(test_it=HEADER + MIXED)
        recorder = pytester.inline_run("-p", "npu_quant")
        reports = [r for r in recorder.getreports("pytest_runtest_logreport") if r.when == "call"]
        assert len(reports) == 3
        for report in reports:
            sent = json.loads(json.dumps(report._to_json()))
            received = pytest.TestReport._from_json(sent)
            assert received.npu_quant_golden == report.npu_quant_golden

    def test_it_works_with_several_processes(self, session: Session) -> None:
        result = session(MIXED + FAILING, "-p", "xdist", "-n", "2")
        assert TABLE in text_of(result)
        assert (
            "golden: 4 comparisons: 1 identical, 1 tie, 1 tolerated, 1 different" in result.outlines
        )
