"""The pytest plugin: what a failure says in a line, and what it adds to other assertions."""

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
    "the cause": ("golden((ZERO, SS), **OPS)", "y: probably: row 3 is 0 everywhere*"),
    "the cause of the output that shows one": (
        "s = SS.copy(); s[3] *= 2; y = YS.copy(); y[3] = 0; golden((y, s), **OPS)",
        "y: probably: row 3 is 0*",
    ),
    "the place": ("y = YS.copy(); y[3, ::2] ^= 1; golden(y, YS)", "only in row 3; 32 of 2,048 c*"),
    "the formula": (
        "y = np.trunc(XS.astype('f') / SS[:, None]).astype(np.int8); golden(y, **OPS)",
        'y: identical to "truncation"; *',
    ),
    "the dtype": (
        "golden(YS.astype(np.int32), **OPS)",
        "y was int32: compared as int8, losslessly; *",
    ),
    "the shape": (
        "golden((YS[:4], SS), **OPS)",
        "y: shape differs: actual (4, 64), golden (32, 64)*",
    ),
    "what is missing": ("golden((YS,), **OPS)", "missing from actual: scale"),
    "that it may be rounding": ("golden(TIE, Y)", "may be rounding; 1 of 4 codes differs"),
    "how many": ("golden(WRONG, Y)", "1 of 4 codes differs"),
    "how many, of assert_golden": (
        "npu_quant.testing.assert_golden(WRONG, Y)",
        "1 of 4 codes differs",
    ),
}


class TestSummary:
    @pytest.mark.parametrize("what", SUMMARIES)
    def test_it_has(self, session: Session, what: str) -> None:
        call, said = SUMMARIES[what]
        result = session(f"{ARRAYS}\ndef test_it(golden):\n    {call}", failed=1)
        (line,) = (line for line in result.outlines if line.startswith("FAILED "))
        assert fnmatchcase(line, f"FAILED test_it.py::test_it - GoldenMismatch: {said}")

    def test_the_failure_itself_has_the_report(self, session: Session) -> None:
        text = text_of(session("def test_it(golden): golden(WRONG, Y)", "--tb=line"))
        assert "GoldenMismatch: int8 (1, 4)  actual=array  golden=array" in text
        assert "worst [0, 2] actual -62, golden -64" in text


def test_a_stored_golden_that_differs_says_how_to_store(session: Session) -> None:
    session("def test_it(golden): golden.stored(Y)", "--golden-update", passed=1)
    result = session("def test_it(golden): golden.stored(WRONG)", failed=1)
    end = "store it: pytest --golden-update test_it.py::test_it"
    result.stdout.fnmatch_lines([f"E *when the result is right and the golden is not, {end}"])
    session("def test_it(golden): golden(WRONG, Y)").stdout.no_fnmatch_line("*golden-update*")


HEADING = "*- npu_quant golden comparison -*"


@pytest.fixture
def torch_of_assert_close() -> None:
    """Import what assert_close imports: pytester forgets what comes after it, and torch registers itself only once."""
    import torch.distributed.tensor  # noqa: F401


class TestOtherAssertions:
    @pytest.mark.parametrize(
        "call",
        [
            "assert_array_equal(ZERO, YS)",
            "assert_equal(ZERO, YS)",
            "assert_equal({'y': ZERO}, {'y': YS})",
            "assert_allclose(ZERO, YS, rtol=1e-3)",
            "assert_array_almost_equal(ZERO, desired=YS)",
            "assert_array_almost_equal_nulp(ZERO.astype('f'), YS.astype('f'))",
        ],
    )
    def test_of_numpy_have_a_section(self, session: Session, call: str) -> None:
        result = session(f"{ARRAYS}\ndef test_it(): np.testing.{call}", failed=1)
        says = ["*probably: row 3 is 0 everywhere*", "*codes differ*", "*only in row 3*"]
        if "'f'" in call:
            says[1] = "*values differ*"
        result.stdout.fnmatch_lines([HEADING, *says])

    def test_limits_may_be_scalars_of_numpy(self, session: Session) -> None:
        limits = "rtol=np.float32(0), atol=np.int64(1)"
        result = session(f"{ARRAYS}\ndef test_it(): np.testing.assert_allclose(ZERO, YS, {limits})")
        result.stdout.fnmatch_lines(["*atol=1, rtol=0 exceeded*"])

    @pytest.mark.needs("torch")
    @pytest.mark.filterwarnings("ignore")
    @pytest.mark.usefixtures("torch_of_assert_close")
    def test_of_torch_have_one(self, session: Session) -> None:
        call = "torch.testing.assert_close(torch.from_numpy(ZERO), torch.from_numpy(YS)"
        result = session(
            f"{ARRAYS}\nimport torch\ndef test_it(): {call})\n"
            f"def test_limits(): {call}, rtol=0.0, atol=1.0)",
            failed=2,
        )
        result.stdout.fnmatch_lines([HEADING, "*only in row 3*", HEADING, "*only in row 3*"])
        assert text_of(result).count("atol=1, rtol=0 exceeded: 127 of what it allows") == 1

    @pytest.mark.parametrize(
        "call",
        [
            "np.testing.assert_array_equal(YS, YS)",
            "np.testing.assert_equal(1, 2)",
            "np.testing.assert_equal('a', 'b')",
            "np.testing.assert_allclose(np.nan, [np.nan, np.nan], equal_nan=False)",
            "np.testing.assert_array_less(YS, ZERO)",
            "np.testing.assert_raises(ValueError, int, '1')",
            "pytest.fail('no')",
            "1 / 0",
        ],
    )
    def test_but_not_what_it_says_nothing_of(self, session: Session, call: str) -> None:
        result = session(f"{ARRAYS}\ndef test_it():\n    {call}\n    assert False", failed=1)
        result.stdout.no_fnmatch_line(HEADING)

    def test_nor_where_npu_quant_cannot_be_imported(self, session: Session) -> None:
        result = session(
            f"{ARRAYS}\nimport sys\n\ndef test_it(monkeypatch):\n"
            "    monkeypatch.setitem(sys.modules, 'npu_quant.golden', None)\n"
            "    np.testing.assert_array_equal(ZERO, YS)",
            failed=1,
        )
        result.stdout.no_fnmatch_line(HEADING)
        result.stdout.fnmatch_lines(["E *Arrays are not equal*"])

    def test_nor_where_the_failure_is_expected(self, session: Session) -> None:
        test = "def test_it(): np.testing.assert_array_equal(ZERO, YS)"
        result = session(f"{ARRAYS}\n@pytest.mark.xfail\n{test}", xfailed=1)
        result.stdout.no_fnmatch_line(HEADING)
