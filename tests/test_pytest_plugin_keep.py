"""The pytest plugin: the arrays of a comparison that failed, and the command that compares them."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Any, ClassVar

import ml_dtypes
import numpy as np
import pytest
from plugin_sessions import Session, arrays_in, command_in, text_of

from npu_quant import cli, npu_dynamic_quant
from npu_quant.commands.arguments import attribute
from npu_quant.pytest_plugin import archive, keeping

pytest_plugins = ["pytester", "plugin_sessions"]

CACHE = ".pytest_cache/d/npu_quant"
FAILS = "def test_it(npu_golden): npu_golden(WRONG, Y)"
PASSES = "def test_it(npu_golden): npu_golden(Y, Y + 0)"
MEANT = "def test_it(npu_golden):\n    with pytest.raises(GoldenMismatch): npu_golden(WRONG, Y)"
ASSERTS = "def test_it(npu_golden): assert False"
OTHER = "\ndef test_other(npu_golden): npu_golden(WRONG, Y)"


def words_in(result: pytest.RunResult) -> list[str]:
    """Return the words of the command that the report of the only failure ends with."""
    program, *words = shlex.split(command_in(result))
    assert program == "npu-quant"
    return words


class TestKeep:
    def test_a_failing_comparison_is_kept(self, session: Session, folder: Path) -> None:
        session(FAILS, failed=1)
        assert arrays_in(folder) == [f"{CACHE}/test_it/test_it/1.npz"]
        held = archive.read(folder / CACHE / "test_it/test_it/1.npz")
        assert {name: array.tolist() for name, array in held.items()} == {
            "actual": [[0, 32, -62, 127]],
            "golden": [[0, 32, -64, 127]],
        }

    def test_with_the_inputs_of_an_operator(self, session: Session, folder: Path) -> None:
        session("def test_it(npu_golden): npu_golden((WRONG, SCALE), **OP)", failed=1)
        held = archive.read(folder / CACHE / "test_it/test_it/1.npz")
        assert {name: array.dtype.name for name, array in held.items()} == {
            "actual.y": "int8",
            "golden.y": "int8",
            "actual.scale": "float32",
            "golden.scale": "float32",
            "inputs.input": "float16",
        }
        assert held["inputs.input"].tolist() == [[0, 1, -2, 4]]

    # The sessions, how the last one ends, and the tests whose arrays are kept then.
    SESSIONS: ClassVar[dict[str, tuple[list[str], dict[str, int], list[str]]]] = {
        "a passing one is not": ([PASSES], {"passed": 1}, []),
        "it goes when the test passes": ([FAILS, PASSES], {"passed": 1}, []),
        "it stays while the test fails otherwise": ([FAILS, ASSERTS], {"failed": 1}, ["test_it"]),
        "that of another test stays": (
            [FAILS + OTHER, PASSES + OTHER],
            {"passed": 1, "failed": 1},
            ["test_other"],
        ),
        "a failure that is meant is not": ([MEANT], {"passed": 1}, []),
    }

    @pytest.mark.parametrize("what", SESSIONS)
    def test_which_are_kept(self, session: Session, folder: Path, what: str) -> None:
        (*before, last), outcomes, tests = self.SESSIONS[what]
        for source in before:
            session(source)
        session(last, **outcomes)
        assert arrays_in(folder) == [f"{CACHE}/test_it/{test}/1.npz" for test in tests]
        # No folder of a module stays without any.
        assert [p.name for p in (folder / CACHE).glob("*")] == (["test_it"] if tests else [])

    def test_several_failures_of_a_test(self, session: Session, folder: Path) -> None:
        both = """
        def test_it(npu_golden):
            for wrong in {}:
                with pytest.raises(GoldenMismatch):
                    npu_golden(wrong, Y)
            assert False
        """
        session(both.format("(TIE, WRONG)"))
        first, second = (archive.read(folder / name)["actual"] for name in arrays_in(folder))
        assert (first[0, 2], second[0, 2]) == (-63, -62)
        session(both.format("(WRONG,)"))
        assert [archive.read(folder / n)["actual"][0, 2] for n in arrays_in(folder)] == [-62]

    @pytest.mark.parametrize(
        ("options", "place"),
        [
            (["--npu-golden-keep=some where"], "some where"),
            (["-p", "no:cacheprovider"], ".pytest_golden"),
        ],
    )
    def test_elsewhere(
        self, session: Session, folder: Path, options: list[str], place: str
    ) -> None:
        result = session(FAILS, *options)
        assert arrays_in(folder) == [f"{place}/test_it/test_it/1.npz"]
        assert words_in(result)[1] == f"{place}/test_it/test_it/1.npz::actual"
        session(PASSES, *options)
        assert arrays_in(folder) == []

    def test_where_it_cannot_be_written_the_failure_is_told(
        self, session: Session, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        def fail(*_: object) -> None:
            raise OSError("no room")

        monkeypatch.setattr(archive, "write", fail)
        result = session(FAILS, failed=1)
        result.stdout.fnmatch_lines(["E   DIFFERENT: *", "E     arrays not kept: no room"])
        assert "rerun" not in text_of(result)
        # A test's `golden` is the fixture, which explains nothing.
        result = session("def test_it(npu_golden): npu_golden(WRONG, **OP)")
        assert "  next: " in text_of(result)

    def test_what_is_too_large_is_not_kept(
        self, session: Session, folder: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(keeping, "MOST_BYTES", 8)
        session(FAILS)
        assert len(arrays_in(folder)) == 1
        monkeypatch.setattr(keeping, "MOST_BYTES", 7)
        result = session(FAILS)
        assert arrays_in(folder) == []
        assert "arrays not kept: 8 bytes, at most 7 are" in text_of(result)


COMPARES = [
    "npu_golden(WRONG, Y)",
    "npu_golden(WRONG, Y, atol=1)",
    "npu_golden(WRONG, Y, preset='off_by_one')",
    "npu_golden((Y, WRONG), (Y + 0, Y))",
    "npu_golden((Y, WRONG), (Y + 0, Y), names=['a', 'b'], atol={'b': 1}, rtol={'a': 1})",
    "npu_golden((WRONG, SCALE), (Y, SCALE + 0), op='npu_dynamic_quant')",
    "npu_golden((WRONG, SCALE), **OP)",
    "npu_golden((WRONG, SCALE), **OP, atol={'y': 1})",
    "npu_golden((WRONG, SCALE), **OP, numerics='reference')",
    "npu_golden((WRONG, SCALE), **OP, variant='x * (1/scale)')",
    "npu_golden(WRONG, **OP)",
    "npu_golden((None, SCALE * 2), **OP)",
]
ATTRIBUTES = [
    "'dst_type': 'int8'",
    "'dst_type': np.int8",
    "'dst_type': np.dtype('int8')",
    "'dst_type': 1",
    "'dst_type': np.int64(1)",
    "'dst_type': None",
    "'quant_mode': 'pertoken'",
    "'dst_type_max': 0.0",
    "'smooth_scales': np.ones(4, np.float16)",
    "'smooth_scales': None",
]
COMPARES += [
    f"npu_golden((WRONG, SCALE), op='npu_dynamic_quant', inputs={{'input': X, {each}}})"
    for each in ATTRIBUTES
]


class TestCommand:
    @pytest.mark.parametrize("call", COMPARES)
    def test_it_finds_the_same(
        self, session: Session, capsys: pytest.CaptureFixture[str], call: str
    ) -> None:
        result = session(f"def test_it(npu_golden): {call}", failed=1)
        words = words_in(result)
        capsys.readouterr()
        assert cli.main(words) == 1
        counts = [line[4:] for line in result.outlines if "differ" in line and line[0] == "E"]
        assert counts
        printed = capsys.readouterr().out
        assert all(line.partition(": ")[2] or line in printed for line in counts)

    @pytest.mark.parametrize("call", COMPARES[6:])
    def test_with_inputs_it_computes_the_golden(self, session: Session, call: str) -> None:
        words = words_in(session(f"def test_it(npu_golden): {call}"))
        assert words[:3] == ["compare", "--op", "npu_dynamic_quant"]
        assert f"input={CACHE}/test_it/test_it/1.npz::inputs.input" in words

    def test_it_passes_once_the_arrays_are_right(self, session: Session, folder: Path) -> None:
        words = words_in(session("def test_it(npu_golden): npu_golden((WRONG, SCALE), **OP)"))
        file = folder / CACHE / "test_it/test_it/1.npz"
        held = archive.read(file)
        archive.write(file, {**held, "actual.y": held["golden.y"]})
        assert cli.main(words) == 0

    @pytest.mark.parametrize("dtype", ["float16", "ml_dtypes.bfloat16", "float32"])
    def test_every_input_type(
        self, session: Session, capsys: pytest.CaptureFixture[str], dtype: str
    ) -> None:
        dtype = dtype if "." in dtype else f"np.{dtype}"
        inputs = f"inputs={{'input': X.astype({dtype})}}"
        result = session(
            f"def test_it(npu_golden): npu_golden(WRONG, op='npu_dynamic_quant', {inputs})"
        )
        assert cli.main(words_in(result)) == 1
        assert "1 of 4 codes differs" in capsys.readouterr().out

    def test_inputs_from_files(
        self, session: Session, folder: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        np.save(folder / "x.npy", np.float16([[0, 1, -2, 4]]))
        result = session("""
            from npu_quant.golden import load

            def test_it(npu_golden):
                npu_golden(WRONG, op='npu_dynamic_quant', inputs={'input': load('x.npy')})
            """)
        words = words_in(result)
        assert f"input={CACHE}/test_it/test_it/1.npz::inputs.input" in words
        assert cli.main(words) == 1
        assert "1 of 4 codes differs" in capsys.readouterr().out

    def test_what_no_command_line_holds_is_compared_as_arrays(
        self, session: Session, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(keeping, "_literal", lambda value: None)
        call = COMPARES[-1].replace("'smooth_scales': None", "'dst_type_max': 0.0")
        words = words_in(session(f"def test_it(npu_golden): {call}"))
        place = f"{CACHE}/test_it/test_it/1.npz"
        assert words == ["compare", f"{place}::actual.y", f"{place}::golden.y"]

    @pytest.mark.parametrize(
        ("value", "text"),
        [
            (1, "1"),
            (-1.5, "-1.5"),
            (1e-6, "1e-06"),
            (True, "True"),
            ("pertoken", "pertoken"),
            ("8", "'8'"),
            ("", "''"),
            (np.float32(0.5), "0.5"),
            (np.int8, "int8"),
            (ml_dtypes.bfloat16, "bfloat16"),
            (float("nan"), None),
            (float("inf"), None),
            ([1], None),
            (object(), None),
        ],
    )
    def test_attributes_as_the_command_line_reads_them(self, value: Any, text: str | None) -> None:
        assert keeping._literal(value) == text
        if text is not None and not isinstance(value, type):
            assert attribute(f"name={text}") == ("name", value)

    def test_the_example_is_the_operators(self) -> None:
        y, scale = npu_dynamic_quant(np.array([[0, 1, -2, 4]], dtype=np.float16))
        assert y.tolist() == [[0, 32, -64, 127]]
        assert scale.tolist() == [np.float32(4) / np.float32(127)]
