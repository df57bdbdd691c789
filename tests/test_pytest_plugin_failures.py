"""The pytest plugin: what it adds to the report of an assertion about arrays."""

from __future__ import annotations

import pytest
from plugin_sessions import Session, text_of

from npu_quant.golden import compare
from npu_quant.pytest_plugin import failures

pytest_plugins = ["pytester", "plugin_sessions"]

TITLE = "- golden comparison -"
FOUND = "  1 of 4 codes differs (25 %); steps -1: 0  +1: 0  beyond: 1"


def section_of(result: pytest.RunResult) -> list[str]:
    """Return the lines of the section in the report of the only failure."""
    _, title, rest = text_of(result).partition(TITLE)
    assert title
    return rest.split("\n===")[0].splitlines()[1:]


SHOWN = [
    "assert np.array_equal(WRONG, Y)",
    "assert np.array_equal(WRONG, Y), 'they differ'",
    "assert np.array_equal(a1=WRONG, a2=Y)",
    "assert np.array_equiv(WRONG, Y)",
    "assert np.allclose(WRONG, Y)",
    "assert (WRONG == Y).all()",
    "assert np.all(WRONG == Y)",
    "assert not (WRONG != Y).any()",
    "assert not np.any(WRONG != Y)",
    "assert WRONG.shape == Y.shape and (WRONG == Y).all()",
    "assert np.array_equal(Y, Y) and np.array_equal(WRONG, Y)",
    "np.testing.assert_array_equal(WRONG, Y)",
    "np.testing.assert_equal(WRONG, Y)",
    "np.testing.assert_allclose(WRONG, Y, rtol=0, atol=1)",
    "np.testing.assert_array_equal(actual=WRONG, desired=Y)",
    "assert np.array_equal(\n        WRONG,\n        Y,\n    )",
    "if True:\n        with np.errstate(all='ignore'):\n            assert np.array_equal(WRONG, Y)",
]


class TestForms:
    @pytest.mark.parametrize("statement", SHOWN)
    def test_the_arrays_are_compared(self, session: Session, statement: str) -> None:
        result = session(f"def test_it():\n    {statement}")
        result.assert_outcomes(failed=1)
        lines = section_of(result)
        assert lines[0] == "int8 (1, 4)  actual=WRONG  golden=Y"
        assert FOUND in lines
        assert not any("next:" in line or "GoldenMismatch" in line for line in lines)
        assert max(map(len, lines)) <= 100
        assert text_of(result).count("1 of 4 codes differs") == 1

    @pytest.mark.parametrize(("left", "times"), [("SCALE", 1), ("2 * SCALE", 1), ("pair[0]", 1)])
    def test_one_element_is_told_of_once(self, session: Session, left: str, times: int) -> None:
        given = "pair, y = (3 * SCALE,), 4 * SCALE"
        result = session(f"def test_it():\n    {given}\n    assert ({left} == y).all()")
        result.assert_outcomes(failed=1)
        assert text_of(result).count("1 of 1") == times

    @pytest.mark.parametrize(
        "statement",
        [
            "assert not np.array_equal(Y, Y)",
            "assert not (Y == Y).all()",
            "assert (Y != Y).any()",
            "assert (Y == Y).sum() == 3",
            "assert WRONG.sum() == Y.sum()",
            "assert np.array_equal(WRONG[:, ::2], Y[:, ::2])",
            "assert np.array_equal(np.abs(WRONG), Y)",
            "assert all(np.array_equal(a, b) for a, b in [(WRONG, Y)])",
            "assert any([np.array_equal(a, b) for a, b in [(WRONG, Y)]])",
            "assert 'a' == 'b'",
            "assert np.array_equal('a', 'b')",
            "assert np.array_equal(1, 2)",
            "raise AssertionError('np.array_equal(WRONG, Y)')",
            "raise ValueError('np.array_equal(WRONG, Y)')",
            "np.array_equal(WRONG, Y); assert False",
            "assert np.array_equal(*[WRONG, Y])",
        ],
    )
    def test_others_are_left_alone(self, session: Session, statement: str) -> None:
        result = session(f"def test_it():\n    a = b = Y\n    {statement}")
        result.assert_outcomes(failed=1)
        assert "golden comparison" not in text_of(result)

    def test_one_that_passes_has_no_report(self, session: Session) -> None:
        result = session("def test_it(): assert np.array_equal(Y, Y)")
        result.assert_outcomes(passed=1)
        assert "golden comparison" not in text_of(result)

    @pytest.mark.needs("torch")
    def test_torch(self, session: Session) -> None:
        result = session(
            """
            import torch

            def test_it():
                a, b = torch.from_numpy(WRONG), torch.from_numpy(Y)
                torch.testing.assert_close(a, b)
            """
        )
        result.assert_outcomes(failed=1)
        assert FOUND in section_of(result)

    @pytest.mark.parametrize(("left", "says"), [("WRONG", FOUND), ("Y + 0", None)])
    def test_an_equality_without_a_truth_value(
        self, session: Session, left: str, says: str | None
    ) -> None:
        result = session(f"def test_it():\n    y = {left}\n    assert y == Y")
        result.assert_outcomes(failed=1)
        lines = section_of(result)
        assert (says in lines) == (says is not None)
        assert lines[-1] == (
            "a == b of arrays has no truth value: write golden(y, Y) or np.array_equal(y, Y)"
        )

    def test_a_tuple_without_a_truth_value(self, session: Session) -> None:
        lines = section_of(session("def test_it(): assert (SCALE, WRONG) == (SCALE, Y)"))
        assert "  1: 1 of 4 codes differs (25 %); steps -1: 0  +1: 0  beyond: 1" in lines

    def test_another_error_of_that_text_is_left_alone(self, session: Session) -> None:
        result = session("def test_it():\n    if WRONG == Y: pass")
        result.assert_outcomes(failed=1)
        assert "golden comparison" not in text_of(result)

    def test_a_golden_mismatch_has_its_report_already(self, session: Session) -> None:
        result = session("def test_it(golden): golden(WRONG, Y)")
        assert text_of(result).count("1 of 4 codes differs") == 1


class TestLookup:
    @pytest.mark.parametrize(
        ("given", "name"),
        [
            ("import types; o = types.SimpleNamespace(y=WRONG)", "o.y"),
            ("import collections; o = collections.namedtuple('O', 'y')(WRONG)", "o.y"),
            ("o = {'y': [0, WRONG]}", "o['y'][1]"),
            ("o = (0, (WRONG,))", "o[-1][0]"),
            ("o = np.array([Y[0], WRONG[0]])[:, None]", "o[1]"),
            ("y = WRONG.tolist()", "y"),
        ],
    )
    def test_what_names_hold(self, session: Session, given: str, name: str) -> None:
        result = session(f"def test_it():\n    {given}\n    assert np.array_equal({name}, Y)")
        lines = section_of(result)
        assert lines[0] == f"int8 (1, 4)  actual={name}  golden=Y"
        assert FOUND in lines

    def test_where_the_assertion_is(self, session: Session) -> None:
        result = session(
            """
            def check(a, b):
                assert np.array_equal(a, b)

            def test_it():
                a = b = 0
                check(WRONG, Y)
            """
        )
        assert FOUND in section_of(result)

    @pytest.mark.parametrize("expression", ["o.y", "o[0]", "o()", "o.f()"])
    def test_nothing_of_the_tests_is_run_again(self, session: Session, expression: str) -> None:
        result = session(
            f"""
            calls = 0

            class Once:
                def result(self, *_):
                    global calls
                    calls += 1
                    return WRONG

                y = property(result)
                f = __call__ = __getitem__ = result

            def test_it():
                o = Once()
                assert np.array_equal({expression}, Y)

            def test_count():
                assert calls == 1
            """
        )
        result.assert_outcomes(failed=1, passed=1)
        assert "golden comparison" not in text_of(result)

    def test_a_literal(self, session: Session) -> None:
        result = session(
            "def test_it(): assert WRONG.tolist() and (WRONG == [[0, 32, -64, 127]]).all()"
        )
        assert FOUND in section_of(result)


class TestAlike:
    """What an assertion takes for equal is not reported as different."""

    def first(self, session: Session, statement: str) -> str:
        return section_of(session(f"def test_it():\n    {statement}"))[0]

    def test_values_are_compared_in_the_actual_dtype(self, session: Session) -> None:
        wide = "wide = Y.astype(np.int64)\n    assert np.array_equal(WRONG, wide)"
        assert self.first(session, wide) == "int8 (1, 4)  actual=WRONG  golden=wide"

    def test_or_in_the_wider_one(self, session: Session) -> None:
        wide = "wide = Y.astype(np.int64) + 1000\n    assert np.array_equal(WRONG, wide)"
        assert self.first(session, wide) == "int64 (1, 4)  actual=WRONG  golden=wide"

    def test_shapes_are_broadcast_where_the_assertion_does(self, session: Session) -> None:
        row = "row = Y[0]\n    assert (WRONG == row).all()"
        assert self.first(session, row) == "int8 (1, 4)  actual=WRONG  golden=row"

    def test_and_told_where_it_does_not(self, session: Session) -> None:
        row = "row = Y[0]\n    assert np.array_equal(WRONG, row)"
        lines = section_of(session(f"def test_it():\n    {row}"))
        assert lines[1].startswith("  shape differs: actual (1, 4), golden (4,)")

    def test_nan(self, session: Session) -> None:
        nan = "x = np.array([1, np.nan])\n    assert (x == x).all()"
        assert self.first(session, nan).startswith("the same bits; == does not hold where both")


class TestExplanation:
    """Of ``assert left == right`` where it has a truth value."""

    @pytest.mark.parametrize(
        ("left", "right", "kinds"),
        [
            ("Y[0, :1]", "Y[0, 1:2]", "ndarray == ndarray"),
            ("(Y[0, :1], 1 * SCALE)", "(Y[0, 1:2], 2 * SCALE)", "tuple == tuple"),
            ("{'y': Y[0, :1]}", "{'y': Y[0, 1:2]}", "dict == dict"),
            ("[Y[0, :1]]", "[Y[0, 1:2]]", "list == list"),
        ],
    )
    def test_arrays_of_one_element(
        self, session: Session, left: str, right: str, kinds: str
    ) -> None:
        result = session(f"def test_it(): assert {left} == {right}")
        result.assert_outcomes(failed=1)
        assert f"E   assert {kinds}" in result.outlines
        result.stdout.fnmatch_lines(["E * 1 of 1 code differs (100 %)*"])
        assert TITLE not in text_of(result)

    @pytest.mark.parametrize(
        "expression",
        [
            "'a' == 'b'",
            "[1] == [2]",
            "(1, 2) == (1, 3)",
            "{} == {1: 2}",
            "SCALE < 0",
            "SCALE == 'a'",
        ],
    )
    def test_others_are_pytests(self, session: Session, expression: str) -> None:
        expected = text_of(session(f"def test_it(): assert {expression}", "-p", "no:npu_quant"))
        assert "int8" not in expected
        assert "code differs" not in expected
        assert failures.lines_of([1], [2]) is None

    def test_arrays_that_do_not_pair(self) -> None:
        import numpy as np

        one = np.zeros(1)
        text = "\n".join(failures.lines_of((one,), (one, one + 1)) or [])
        assert "missing from actual: 1" in text
        assert "next:" not in text
        assert failures.lines_of((one, one), (one, one + 1)) is not None


class TestRobustness:
    @pytest.mark.parametrize("place", ["_explained", "_report", "lookup", "pairs_of"])
    def test_a_mistake_in_the_plugin_does_not_spoil_a_report(
        self, session: Session, monkeypatch: pytest.MonkeyPatch, place: str
    ) -> None:
        def fail(*_: object, **__: object) -> None:
            raise RuntimeError("a mistake")

        monkeypatch.setattr(failures, place, fail)
        result = session("def test_it(): assert np.array_equal(WRONG, Y)")
        result.assert_outcomes(failed=1)
        assert "a mistake" not in text_of(result)
        assert "golden comparison" not in text_of(result)
        result = session("def test_it(): assert Y[0, :1] == Y[0, 1:2]")
        result.assert_outcomes(failed=1)
        assert "a mistake" not in text_of(result)

    def test_source_that_is_not_there(self, session: Session) -> None:
        result = session("def test_it(): exec('assert np.array_equal(WRONG, Y)')")
        result.assert_outcomes(failed=1)
        assert "golden comparison" not in text_of(result)

    def test_it_warns_of_nothing(self, session: Session) -> None:
        huge = (
            "a = np.array([3e38, 1], np.float32)\n    assert np.array_equal(a, np.float32(0) - a)"
        )
        result = session(f"def test_it():\n    {huge}")
        result.assert_outcomes(failed=1)
        assert "Warning" not in text_of(result)

    def test_a_failure_that_is_expected_has_no_section(self, session: Session) -> None:
        result = session(
            "@pytest.mark.xfail\ndef test_it(): assert np.array_equal(WRONG, Y)", "-rx"
        )
        result.assert_outcomes(xfailed=1)
        assert "golden comparison" not in text_of(result)

    def test_it_is_in_junits_report(self, session: Session, pytester: pytest.Pytester) -> None:
        session("def test_it(): assert np.array_equal(WRONG, Y)", "--junitxml=it.xml")
        assert FOUND.strip() in (pytester.path / "it.xml").read_text()

    def test_what_it_says_is_what_compare_says(self, session: Session) -> None:
        import numpy as np

        wrong, y = np.int8([[0, 32, -62, 127]]), np.int8([[0, 32, -64, 127]])
        assert FOUND in str(compare(wrong, y)).splitlines()
