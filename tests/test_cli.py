"""The command line: statuses, errors of one line, help."""

from __future__ import annotations

import importlib
import re
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from command_line import DQ, TRUNCATED, X, Y
from folders import save_here as save

import npu_quant
from npu_quant import cli, golden
from npu_quant.commands import compare, info

COMMANDS = ["compare", "inspect", "info"]


@pytest.fixture
def here(here: Path) -> Path:
    """Return the current folder, which has some arrays and some files that are none."""
    save(x=X, y=Y, same=Y, truncated=TRUNCATED)
    np.save("off.npy", Y + np.array([[0, 2, 0, -3], [0, 0, 0, 0]], np.int8))
    np.savez("two.npz", a=Y, b=Y)
    (here / "folder").mkdir()
    (here / "cut.npy").write_bytes((here / "y.npy").read_bytes()[:-3])
    (here / "bad.npz").write_bytes(b"PK\x03\x04 and no more")
    (here / "empty").write_bytes(b"")
    return here


WRONG = [
    (["compare"], r"two files are compared, actual and golden, 0 given"),
    (["compare", "y.npy"], r"two files are compared, actual and golden, 1 given"),
    (["compare", "y.npy", "y.npy", "y.npy"], r"3 given. With inputs: --op NAME"),
    (["compare", "y.npy", "-"], r"two files are compared, actual and golden, '-' given"),
    (["compare", "y.npy", "none.npy"], r"none\.npy: cannot be opened: No such file"),
    (["compare", "", "y.npy"], r"'': cannot be opened: No such file"),
    (["compare", "folder", "y.npy"], r"folder is a folder, y\.npy is a file; give two"),
    (["compare", "cut.npy", "y.npy"], r"cut\.npy: has 5 bytes of elements"),
    (["compare", "bad.npz", "y.npy"], r"bad\.npz: is not a zip archive"),
    (["compare", "empty", "y.npy"], r"empty: has 0 bytes of elements"),
    (["compare", "y.npy", "empty"], r"empty: has no header: say its dtype and shape"),
    (["compare", "two.npz", "y.npy"], r"two\.npz: has 2 arrays; choose one by its key: a, b"),
    (["compare", "two.npz::c", "y.npy"], r"two\.npz: has no array 'c'"),
    (["compare", "y.npy", "y.npy"], r"y\.npy is given as actual and as golden"),
    (["compare", "y.npy", "./y.npy"], r"y\.npy is given as actual and as golden"),
    (["compare", "off.npy", "y.npy", "--bogus"], r"unrecognized arguments: --bogus"),
    (["compare", "off.npy", "y.npy", "--at", "1"], r"unrecognized arguments: --at"),
    (["compare", "off.npy", "y.npy", "--atol"], r"--atol: expected one argument"),
    (["compare", "off.npy", "y.npy", "--atol", "one"], r"--atol: 'one', expected a number"),
    (["compare", "off.npy", "y.npy", "--atol", "-1"], r"--atol: '-1', expected a number from 0"),
    (["compare", "off.npy", "y.npy", "--rtol", "nan"], r"--rtol: 'nan', expected a number"),
    (["compare", "off.npy", "y.npy", "--atol", "y=1"], r"--atol y=: no output has that name"),
    (["compare", "off.npy", "y.npy", "--atol", "1", "--atol", "2"], r"--atol is given twice"),
    (["compare", "off.npy", "y.npy", "--preset", "best"], r"preset is 'best', known: exact, "),
    (["compare", "off.npy", "y.npy", "--preset", "exact", "--atol", "1"], r"leave atol and rtol"),
    (["compare", "off.npy", "y.npy", "--preset", "cann"], r"preset cann says nothing about int8"),
    (["compare", "off.npy", "y.npy", "--axis", "2"], r"axis is 2"),
    (["compare", "off.npy", "y.npy", "--axis", "x"], r"--axis: invalid int value: 'x'"),
    (["compare", "off.npy", "y.npy", "--shape", "2,x"], r"--shape: '2,x', expected whole numbers"),
    (["compare", "off.npy", "y.npy", "--dtype", "bf16"], r"--dtype is of no use"),
    (["compare", "off.npy", "y.npy", "--dtype", "y=int8"], r"--dtype y=: no file has that name"),
    (["compare", "off.npy", "y.npy", *["--dtype=bf16"] * 2], r"--dtype is given twice"),
    (["compare", "off.npy", "y.npy", "--shape", "2,4"], r"--shape is of no use"),
    (["compare", "off.npy", "y.npy", "--key", "a"], r"--key is of no use"),
    (["compare", "off.npy", "y.npy", "--explain"], r"--explain needs --op"),
    (["compare", "off.npy", "y.npy", "--variant", "f16"], r"--variant needs --op"),
    (["compare", "off.npy", "y.npy", "--attr", "a=1"], r"--attr needs --op"),
    (["compare", "off.npy", "y.npy", "--golden", "y.npy"], r"--golden needs --op"),
    (
        ["compare", "off.npy", "y.npy", "--op", "quant"],
        r"--op quant: no such operator; known: npu_dyn",
    ),
    (
        ["compare", "off.npy", "y.npy", "--json", "x.npy"],
        r"overwrite x\.npy, which holds no result of",
    ),
    (["compare", "off.npy", "y.npy", "--json", "no/a.json"], r"no/a\.json: No such file"),
    (["compare", "x.npy", *DQ], r"takes the actual y, scale .* and then input; 1 file is given"),
    (["compare", "y.npy", "y.npy", "y.npy", "x.npy", *DQ], r"4 files are given"),
    (["compare", "-", "-", "x.npy", *DQ], r"no actual output is given"),
    (["compare", "x.npy", "x.npy", *DQ], r"x\.npy is given as y and as input"),
    (["compare", "y.npy", "y.npy", "x.npy", *DQ], r"y\.npy is given as y and as scale"),
    (["compare", "y.npy", "-", *DQ], r"input is None, expected a numpy\.ndarray"),
    (["compare", "y.npy", "same.npy", *DQ], r"same\.npy, taken for input, has dtype int8, exp"),
    (["compare", "y.npy", "x.npy", *DQ, "--attr", "nope=1"], r"no parameter 'nope'"),
    (["compare", "y.npy", "x.npy", *DQ, "--attr", "dst_type=9"], r"dst_type is 9"),
    (["compare", "y.npy", "x.npy", *DQ, "--attr", "quant_mode=9"], r"quant_mode is an int, expect"),
    (
        ["compare", "y.npy", "x.npy", *DQ, "--attr", "quant_mode"],
        r"'quant_mode', expected NAME=VAL",
    ),
    (["compare", "y.npy", "x.npy", *DQ, "--attr", "out=1"], r"--attr out= cannot be given"),
    (["compare", "y.npy", "x.npy", *DQ, "--attr", "a=1", "--attr", "a=2"], r"a= is given twice"),
    (["compare", "y.npy", "x.npy", *DQ, "--input", "a=y.npy", "--attr", "a=2"], r"and by --attr"),
    (["compare", "y.npy", "x.npy", *DQ, "--numerics", "fast"], r"fast.*available: reference"),
    (
        ["compare", "off.npy", "x.npy", *DQ, "--variant", "best"],
        r"variant is 'best', which npu_dyn",
    ),
    (["compare", "y.npy", *DQ, "--golden", "same.npy", "--explain"], r"--explain is for a golden"),
    (["compare", "y.npy", *DQ, *["--golden", "same.npy"] * 3], r"3 --golden files are given"),
    (
        ["compare", "y.npy", "x.npy", "--op", "fake_quantize_per_tensor_affine"],
        r"needs --attr scale=VALUE or --input scale=FILE",
    ),
    (["inspect"], r"the following arguments are required: FILE"),
    (["inspect", "none.npy"], r"none\.npy: cannot be opened: No such file"),
    (["inspect", "folder"], r"folder: is a directory"),
    (["inspect", "cut.npy"], r"cut\.npy: has 5 bytes of elements"),
    (["info", "more"], r"unrecognized arguments: more"),
    (["info", "--json", "y.npy"], r"overwrite y\.npy"),
]


@pytest.mark.parametrize(
    ("words", "message"), WRONG, ids=lambda v: " ".join(v)[:60] if isinstance(v, list) else ""
)
def test_what_is_wrong_is_one_line_and_status_2(
    words: list[str], message: str, here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    before = {path: path.read_bytes() for path in here.rglob("*") if path.is_file()}
    assert cli.main(words) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err.count("\n") == 1
    assert err.endswith("\n")
    assert err.startswith(f"npu-quant {words[0]}: ")
    assert re.search(message, err), err
    assert {path: path.read_bytes() for path in here.rglob("*") if path.is_file()} == before


RIGHT = [
    (["compare", "same.npy", "y.npy"], 0),
    (["compare", "off.npy", "y.npy"], 1),
    (["compare", "off.npy", "y.npy", "--atol", "3"], 0),
    (["compare", "off.npy", "y.npy", "--atol", "2"], 1),
    (["compare", "x.npy", "y.npy"], 1),
    (["compare", "two.npz::a", "y.npy"], 0),
    (["compare", "y.npy", "x.npy", *DQ], 0),
    (["compare", "off.npy", "x.npy", *DQ], 1),
    (["compare", "truncated.npy", "x.npy", *DQ], 1),
    (["compare", "truncated.npy", "x.npy", *DQ, "--variant", "truncation"], 0),
    (["compare", "--op", "npu_dynamic_quant", "y.npy", "--quiet", "x.npy"], 0),
    (["inspect", "x.npy", "two.npz", "empty"], 0),
    (["info"], 0),
]


@pytest.mark.parametrize(
    ("words", "status"), RIGHT, ids=lambda v: " ".join(v) if isinstance(v, list) else str(v)
)
@pytest.mark.usefixtures("here")
def test_statuses(words: list[str], status: int, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(words) == status
    out, err = capsys.readouterr()
    assert err == ""
    assert ("--quiet" in words) == (out == "")


@pytest.mark.parametrize("words", [[], ["compares"], ["--bogus"], ["--", "info"], ["-x", "info"]])
def test_without_a_command_there_is_one_line(
    words: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.main(words) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert re.fullmatch(r"npu-quant: .*\(see npu-quant --help\)\n", err)


def test_version_and_help(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["--version"]) == 0
    assert capsys.readouterr().out.strip() == npu_quant.__version__
    assert cli.main(["--help"]) == 0
    page = capsys.readouterr().out
    assert all(re.search(rf"^ +{name}$|^ +{name} ", page, re.MULTILINE) for name in cli.COMMANDS)


@pytest.mark.parametrize("name", COMMANDS)
def test_help_pages_name_every_default(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    parser = importlib.import_module(f"npu_quant.commands.{name}").parser()
    options = [action for action in parser._actions if action.option_strings[:1] != ["-h"]]
    options = [action for action in options if action.option_strings]
    assert cli.main([name, "--help"]) == 0
    page = capsys.readouterr().out
    assert page.startswith(f"usage: npu-quant {name} ")
    assert len(options) >= 1
    for action in options:
        assert re.search(r"\(default: [^)]+\)", action.help), action.option_strings
        assert action.option_strings[0] in page


@pytest.mark.parametrize("name", ["", *cli.COMMANDS])
@pytest.mark.parametrize("columns", [80, 120])
def test_help_pages_keep_to_the_terminal(
    name: str, columns: int, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Sentences are filled to its width; names of operators are never taken apart."""
    monkeypatch.setenv("COLUMNS", str(columns))
    assert cli.main([*name.split(), "--help"]) == 0
    page = capsys.readouterr().out
    assert max(map(len, page.splitlines())) <= columns
    if name == "compare":
        assert max(map(len, page.partition("positional")[0].splitlines())) > columns - 20
        assert all(re.search(rf"(?<!\w){op}(?!\w)", page) for op in golden.list_variants())


def test_compare_has_four_examples() -> None:
    page = compare.parser().format_help().partition("examples:\n")[2]
    assert len(re.findall(r"^  npu-quant compare ", page, re.MULTILINE)) == 4


class TestWhatGoesWrongInside:
    @pytest.fixture
    def failing(self, monkeypatch: pytest.MonkeyPatch) -> Callable[[BaseException], int]:
        def fail(error: BaseException) -> int:
            def machine() -> None:
                raise error

            monkeypatch.setattr(info, "machine", machine)
            return cli.main(["info"])

        return fail

    CASES = (
        (KeyboardInterrupt(), 130, "interrupted"),
        (MemoryError(), 2, "not enough memory"),
        (MemoryError("Unable to allocate 8 EiB"), 2, "not enough memory: Unable to allocate 8 EiB"),
        (OSError(28, "No space left on device"), 2, "No space left on device"),
        (FileNotFoundError(2, "No such file", "a\nb"), 2, "a b: No such file"),
        (npu_quant.ParamError("no"), 2, "no"),
        (npu_quant.DTypeError("no"), 2, "no"),
        (ValueError("two\nlines and \x1b[31mred"), 2, r"two lines and \x1b[31mred"),
        (
            ZeroDivisionError("by 0"),
            2,
            "internal error: ZeroDivisionError: by 0. Please report it, with what npu-quant info "
            "prints.",
        ),
        (TypeError("no"), 2, "internal error: TypeError: no. Please report it, with what npu-quant "
        "info prints."),
        (TypeError("npu_quantize: axis is a str"), 2, "npu_quantize: axis is a str"),
    )  # fmt: skip

    @pytest.mark.parametrize(("error", "status", "line"), CASES, ids=lambda v: repr(v)[:40])
    def test_it_is_one_line(
        self,
        error: BaseException,
        status: int,
        line: str,
        failing: Callable[[BaseException], int],
        capsys: pytest.CaptureFixture[str],
        monkeypatch: pytest.MonkeyPatch,
    ) -> None:
        monkeypatch.delenv("NPU_QUANT_TRACEBACK", raising=False)
        assert failing(error) == status
        assert capsys.readouterr() == ("", f"npu-quant info: {line}\n")

    def test_a_traceback_is_to_be_asked_for(
        self,
        failing: Callable[[BaseException], int],
        capsys: pytest.CaptureFixture[str],
        monkeypatch: pytest.MonkeyPatch,
    ) -> None:
        monkeypatch.setenv("NPU_QUANT_TRACEBACK", "1")
        assert failing(ZeroDivisionError("by 0")) == 2
        err = capsys.readouterr().err
        assert err.startswith("npu-quant info: internal error: ")
        assert "\nTraceback (most recent call last):\n" in err
        assert err.endswith("ZeroDivisionError: by 0\n")
