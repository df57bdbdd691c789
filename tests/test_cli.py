"""The command line: statuses, errors of one line, help."""

from __future__ import annotations

import importlib
import re
import shlex
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from command_line import DQ, SCALE, TRUNCATED, X, Y
from folders import save_here as save

import npu_quant
from npu_quant import cli, golden
from npu_quant.commands import compare, info

COMMANDS = ["compare", "inspect", "info"]


@pytest.fixture
def here(here: Path) -> Path:
    """Return the current folder, which has some arrays and some files that are none."""
    save(x=X, y=Y, scale=SCALE, same=Y, truncated=TRUNCATED)
    np.save("off.npy", Y + np.array([[0, 2, 0, -3], [0, 0, 0, 0]], np.int8))
    np.savez("two.npz", a=Y, b=Y)
    (here / "folder").mkdir()
    (here / "cut.npy").write_bytes((here / "y.npy").read_bytes()[:-3])
    (here / "bad.npz").write_bytes(b"PK\x03\x04 and no more")
    (here / "empty").write_bytes(b"")
    return here


OFF = ["compare", "off.npy", "y.npy"]
RIGHT_FILES = ["compare", *DQ, "y=y.npy", "input=x.npy"]
FORM = r"npu-quant compare --op npu_dynamic_quant y=FILE scale=FILE input=FILE \[smooth_scales=F"

WRONG = [
    (["compare"], r"two files are compared, actual and golden, 0 given; files of an operator go b"),
    (["compare", "y.npy"], r"two files are compared, actual and golden, 1 given"),
    (["compare", "y.npy", "y.npy", "y.npy"], r"3 given; .*: --op NAME y=FILE input=FILE"),
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
    ([*OFF, "--bogus"], r"unrecognized arguments: --bogus"),
    ([*OFF, "--at", "1"], r"unrecognized arguments: --at"),
    ([*OFF, "--atol"], r"--atol: expected one argument"),
    ([*OFF, "--atol", "one"], r"--atol: 'one', expected a number"),
    ([*OFF, "--atol", "-1"], r"--atol: '-1', expected a number of 0"),
    ([*OFF, "--rtol", "nan"], r"--rtol: 'nan', expected a number"),
    ([*OFF, "--atol", "y=1"], r"atol is for 'y', the outputs are one without a name"),
    ([*OFF, "--atol", "1", "--atol", "2"], r"--atol is given twice"),
    ([*OFF, "--atol", "1", "--atol", "y=2"], r"--atol is given for all outputs and for y"),
    ([*OFF, "--preset", "best"], r"preset is 'best', known: exact, "),
    ([*OFF, "--preset", "exact", "--atol", "1"], r"leave atol and rtol"),
    ([*OFF, "--preset", "cann"], r"preset cann has no rule for int8"),
    ([*OFF, "--axis", "2"], r"axis is 2"),
    ([*OFF, "--axis", "x"], r"--axis: invalid int value: 'x'"),
    ([*OFF, "--shape", "2,x"], r"--shape: '2,x', expected whole numbers"),
    ([*OFF, "--dtype", "bf16"], r"--dtype has no effect: no file needs it"),
    ([*OFF, "--dtype", "actual=bf16"], r"--dtype actual= has no effect: off\.npy names its own"),
    ([*OFF, "--dtype", "y=int8"], r"--dtype y=: no file has that name; known: actual, golden"),
    ([*OFF, *["--dtype=bf16"] * 2], r"--dtype is given twice"),
    ([*OFF, "--shape", "2,4"], r"--shape has no effect"),
    ([*OFF, "--shape", "golden=2,4"], r"--shape golden= has no effect: y\.npy names its own"),
    ([*OFF, "--key", "a"], r"--key has no effect"),
    ([*OFF, "--explain"], r"--explain needs --op and its inputs"),
    ([*OFF, "--variant", "f16"], r"--variant needs --op"),
    ([*OFF, "--attr", "a=1"], r"--attr needs --op"),
    ([*OFF, "--mapping", "a"], r"a: No such file"),
    (["compare", "off.npy", "--mapping", "a"], r"--mapping is for folders"),
    ([*OFF, *DQ, *DQ], r"--op is given twice"),
    ([*OFF, "--op", "quant"], r"op is 'quant', expected one of npu_dyn.*npu-quant compare --help"),
    ([*OFF, "--json", "x.npy"], r"overwrite x\.npy, which holds no result of"),
    ([*OFF, "--json", "no/a.json"], r"no/a\.json: No such file"),
    (["compare", *DQ], rf"no output to judge is given; write {FORM}"),
    (["compare", *DQ, "input=x.npy"], rf"no output to judge is given; write {FORM}"),
    (["compare", *DQ, "y=None", "input=x.npy"], r"no output to judge is given"),
    (["compare", *DQ, "y=y.npy"], rf"npu_dynamic_quant needs input=FILE; write {FORM}"),
    (["compare", *DQ, "x.npy"], rf"x\.npy has no name; write {FORM}"),
    (["compare", *DQ, "y.npy", "x.npy"], rf"y\.npy has no name; write {FORM}"),
    (["compare", *DQ, *["y.npy"] * 4], r"y\.npy has no name; write"),
    (["compare", *DQ, "y=y.npy", "x.npy"], r"x\.npy has no name; write"),
    (
        ["compare", *DQ, "y=y.npy", "y=x.npy"],
        r"y is given twice: by y\.npy and by x\.npy; a golden is golden\.y=",
    ),
    *(
        (
            ["compare", "--op", "npu_grouped_matmul", f"{word}=y.npy", "x=x.npy"],
            rf"{name} as a list of several arrays only in Python",
        )
        for word, name in (("y0", "y"), ("weight[0]", "weight"))
    ),
    (["compare", *DQ, "y=y.npy", "inptu=x.npy"], r"no output or input 'inptu'; did you mean input"),
    (["compare", *DQ, "y=y.npy", "a=x.npy"], r"no output or input 'a'; it has y, scale, input, sm"),
    (["compare", *DQ, "y=y.npy", "golden.x=y.npy"], r"has no output 'x'; it has y, scale\."),
    (["compare", *DQ, "y=x.npy", "input=x.npy"], r"x\.npy is given as y and as input"),
    (["compare", *DQ, "y=y.npy", "scale=y.npy", "input=x.npy"], r"given as y and as scale"),
    (["compare", *DQ, "y=y.npy", "input=None"], r"input is None, expected a numpy\.ndarray"),
    (
        ["compare", *DQ, "y=y.npy", "input=same.npy"],
        r"same\.npy, given as input, has dtype int8, e",
    ),
    ([*RIGHT_FILES, "--attr", "nope=1"], r"no attribute 'nope'"),
    ([*RIGHT_FILES, "--attr", "dst_type=9"], r"--attr dst_type is 9, available: int8"),
    ([*RIGHT_FILES, "--attr", "quant_mode=9"], r"quant_mode is an int, expect"),
    ([*RIGHT_FILES, "--attr", "quant_mode"], r"'quant_mode', expected NAME=VAL"),
    ([*RIGHT_FILES, "--attr", "out=1"], r"no attribute 'out'"),
    ([*RIGHT_FILES, "--attr", "a=1", "--attr", "a=2"], r"--attr a= is given twice"),
    ([*RIGHT_FILES, "--attr", "input=None"], r"input is given by a file and by --attr"),
    ([*RIGHT_FILES, "--numerics", "fast"], r"fast.*available: reference"),
    (
        [*RIGHT_FILES, "--variant", "best"],
        r"'best', which npu_dynamic_quant does .*--explain ranks",
    ),
    ([*RIGHT_FILES, "--dtype", "x=int8"], r"--dtype x=: no file has that name; known: y, input"),
    ([*RIGHT_FILES, "--atol", "z=1"], r"atol is for 'z', the outputs are y, scale"),
    ([*RIGHT_FILES, "golden.y=same.npy"], r"with golden\.NAME=FILE nothing is computed: leave in"),
    (
        ["compare", *DQ, "y=y.npy", "golden.y=same.npy", "--explain"],
        r"--explain needs --op and its inputs",
    ),
    (
        ["compare", "--op", "fake_quantize_per_tensor_affine", "output=y.npy", "self=x.npy"],
        r"needs --attr scale=VALUE or scale=FILE; write",
    ),
    (
        ["compare", "--op", "npu_quantize", "y=y.npy", "self=x.npy", "scales=same.npy"],
        r"needs zero_points=FILE or zero_points=None; write",
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
    (RIGHT_FILES, 0),
    (["compare", "y.npy", "scale.npy", "x.npy", *DQ], 0),
    (["compare", *DQ, "y=off.npy", "input=x.npy"], 1),
    (["compare", *DQ, "y=truncated.npy", "input=x.npy"], 1),
    (["compare", *DQ, "y=truncated.npy", "input=x.npy", "--variant", "truncation"], 0),
    (["compare", "--op", "npu_dynamic_quant", "y=y.npy", "--quiet", "input=x.npy"], 0),
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
    folder, targets = Path(npu_quant.__file__).parent, ", ".join(npu_quant.info()["targets"])
    said = capsys.readouterr().out
    assert said == f"npu_quant {npu_quant.__version__} from {folder} ({targets})\n"
    assert cli.main(["--help"]) == 0
    page = capsys.readouterr().out
    assert all(re.search(rf"^ +{name}$|^ +{name} ", page, re.MULTILINE) for name in cli.COMMANDS)


@pytest.mark.parametrize("name", COMMANDS)
def test_help_pages_name_every_option(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    parser = importlib.import_module(f"npu_quant.commands.{name}").parser()
    options = [action for action in parser._actions if action.option_strings[:1] != ["-h"]]
    options = [action for action in options if action.option_strings]
    assert cli.main([name, "--help"]) == 0
    page = capsys.readouterr().out
    assert page.startswith(f"usage: npu-quant {name} ")
    assert len(options) >= 1
    for action in options:
        assert action.help, action.option_strings
        assert action.default in (None, False), "a default of its own is to be named"
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


def test_the_examples_of_compare_run(
    here: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The first one, by name, stands where the page begins."""
    save(s=SCALE, npu=np.maximum(Y, -126) - np.int8(1), golden=Y)
    (here / "dev").mkdir()
    np.savez("dev/case0.npz", input=X, y=Y, scale=SCALE)
    for side in ("npu_dump", "cpu_dump"):
        (here / side).mkdir()
        for name, array in (("input.0", X), ("output.0", Y), ("output.1", SCALE)):
            np.save(here / side / f"NPU.npu_dynamic_quant.0.forward.{name}.npy", array)
    monkeypatch.setenv("COLUMNS", "80")
    page = compare.parser().format_help()
    examples = re.findall(r"^  npu-quant (compare .*)", page, re.MULTILINE)
    assert len(examples) == 4
    assert page.index(examples[0]) < 200
    assert "y=y.npy" in examples[0]
    for words in examples:
        assert cli.main(shlex.split(words)) == 0, words
        assert capsys.readouterr().out.startswith("OK ")


@pytest.mark.usefixtures("here")
@pytest.mark.parametrize("words", [OFF, [*OFF, "--preset", "best"]])
def test_python_has_its_own_words_before_and_after(
    words: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    def said() -> str:
        return str(golden.compare(np.int8([1, 2]), np.int8([1, 3])))

    before = said()
    assert "give op= and inputs= to learn" in before
    assert cli.main(words) > 0
    assert "give op=" not in capsys.readouterr().out
    assert said() == before


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
