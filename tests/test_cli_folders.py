"""``npu-quant compare`` of folders: what it prints, its exit status, and what it refuses."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from command_line import DQ, Say
from folders import A, B, changed, save

import npu_quant

# Of the current folder, which has the folders npu and cpu.
pytestmark = pytest.mark.usefixtures("here", "sides")
CALL = "NPU.npu_dynamic_quant.0.forward"


def quantized(here: Path) -> None:
    """Dump an operator's call: the device multiplies by 1 / scale."""
    x = np.random.default_rng(0).standard_normal((64, 1024)).astype(np.float16)
    y, scale = npu_quant.npu_dynamic_quant(x)
    near = np.rint(x.astype(np.float32) * (np.float32(1) / scale)[:, None]).astype(np.int8)
    for side, codes in (("npu", near), ("cpu", y)):
        arrays = {"input.0": x, "output.0": codes, "output.1": scale}
        save(here / side, **{f"{CALL}.{name}": array for name, array in arrays.items()})


def test_folders_that_agree_pass(here: Path, compared: Say) -> None:
    for side in ("npu", "cpu"):
        save(here / side, deep__a=A, deep__b=B)
    status, out, err = compared("npu", "cpu")
    assert (status, err) == (0, "")
    assert out.splitlines() == [
        "OK (identical): 2 arrays: 2 identical",
        "  actual=npu  golden=cpu",
    ]


def test_the_first_that_differs_is_named_and_shown(here: Path, compared: Say) -> None:
    save(here / "npu", a=A, b=changed(B), c=changed(A), more=A)
    save(here / "cpu", a=A, b=B, c=A)
    status, out, err = compared("npu", "cpu")
    assert (status, err) == (1, "")
    lines = out.splitlines()
    assert lines[:12] == [
        "DIFFERENT: 1 array without a partner, 2 of 3 arrays fail, first b: [0]",
        "  actual 0, golden -1 (+100 %) (1 of 6 values)",
        "  actual=npu  golden=cpu",
        "  of 3 arrays: 1 identical, 2 different",
        "  only in actual: more.npy",
        "",
        "array  verdict    found",
        "b      different  [0] actual 0, golden -1 (+100 %) (1 of 6 values)",
        "c      different  may be rounding: each is one step (1 of 12 codes)",
        "",
        "b",
        "  float32 (6,)  actual=npu/b.npy  golden=cpu/b.npy",
    ]
    assert "  rerun: npu-quant compare npu/b.npy cpu/b.npy" in lines
    assert compared("npu/b.npy", "cpu/b.npy")[0] == 1


def test_an_operator_tells_ties(here: Path, compared: Say) -> None:
    quantized(here)
    assert compared("npu", "cpu")[0] == 1
    for word in ("npu_dynamic_quant", f"{CALL}=npu_dynamic_quant", "NPU.*=npu_dynamic_quant"):
        status, out, _ = compared("npu", "cpu", "--op", word)
        assert status == 0, word
        assert out.startswith("OK (tie): 3 arrays: 2 identical, 1 tie\n")
    mapping = here / "mapping.json"
    mapping.write_text(json.dumps({CALL: "npu_dynamic_quant"}))
    assert compared("npu", "cpu", "--mapping", str(mapping))[0] == 0


def test_two_files_with_keys(here: Path, compared: Say) -> None:
    np.savez("npu.npz", y=A, scale=changed(B))
    np.savez("cpu.npz", y=A, scale=B)
    status, out, _ = compared("npu.npz", "cpu.npz")
    assert (status, out.splitlines()[0]) == (
        1,
        "DIFFERENT: 1 of 2 arrays fails, first scale: [0] actual 0, golden -1 (+100",
    )
    _, _, err = compared("npu.npz", "cpu.npz", "--op", "no=npu_dynamic_quant")
    assert "no call with outputs in both folders matches 'no'" in err
    assert compared("npu.npz::y", "cpu.npz::y")[0] == 0
    assert compared("npu.npz", "cpu.npz", "--key", "y")[0] == 0


def test_json_and_html(here: Path, compared: Say) -> None:
    save(here / "npu", a=changed(A))
    save(here / "cpu", a=A)
    status, out, _ = compared("npu", "cpu", "--json", "-", "--html", "report.html")
    assert status == 1
    assert json.loads(out)["first"] == "a"
    assert (here / "report.html").read_text().startswith("<!DOCTYPE html>")
    assert compared("npu", "cpu", "--quiet", "--html", "report.html") == (1, "", "")
    (here / "mine.html").write_text("<!DOCTYPE html><p>not of npu-quant")
    status, _, err = compared("npu", "cpu", "--html", "mine.html")
    assert (status, "would overwrite mine.html, which holds no result" in err) == (2, True)


def test_a_page_of_two_arrays(here: Path, compared: Say) -> None:
    save(here, a=changed(A), b=A)
    assert compared("a.npy", "b.npy", "--html", "report.html")[0] == 1
    assert "1 of 12 codes differs (8.33 %)" in (here / "report.html").read_text()


def test_a_page_of_a_call(here: Path, compared: Say) -> None:
    x = np.arange(12, dtype=np.float16).reshape(3, 4)
    scale = npu_quant.npu_dynamic_quant(x).scale
    save(here, x=x, y=np.trunc(x / scale[:, None]).astype(np.int8), scale=scale)
    words = ["y=y.npy", "scale=scale.npy", "input=x.npy", *DQ, "--html", "report.html"]
    assert compared(*words)[0] == 1
    page = (here / "report.html").read_text()
    assert page.startswith("<!DOCTYPE html>")
    assert "<h1>DIFFERENT: follows npu_dynamic_quant with truncation, byte for byte</h1>" in page
    assert '<main class="fail">' in page
    assert "explain npu_dynamic_quant" not in page
    assert compared(*words, "--explain")[0] == 1
    assert "explain npu_dynamic_quant" in (here / "report.html").read_text()
    words[words.index("report.html")] = "x.npy"
    status, _, err = compared(*words)
    assert (status, "--html would overwrite x.npy, which is read" in err) == (2, True)


def test_all_rows_that_fail_are_printed(here: Path, compared: Say) -> None:
    for side in ("npu", "cpu"):
        arrays = {f"a{n}": changed(A) if n > 7 and side == "npu" else A for n in range(60)}
        save(here / side, **arrays)
    status, out, _ = compared("npu", "cpu")
    assert status == 1
    table = out.split("\n\n")[1].splitlines()
    assert [line.split()[0] for line in table] == ["array", *(f"a{n}" for n in range(8, 60))]
    assert "  of 60 arrays: 8 identical, 52 different\n" in out


WRONG = [
    (["npu", "none"], "none: No such file or directory"),
    (["none", "npu", "--html", "r.html"], "none: No such file or directory"),
    (["npu", "empty"], "empty has no arrays. Nothing compared is not a pass."),
    (["npu", "npu"], "npu would be compared with itself."),
    (["npu", "npu/a.npy"], "npu is a folder, npu/a.npy is a file; give two of a kind."),
    (["npu", "cpu", "--axis", "1"], "--axis is for two arrays, not for folders."),
    (["npu", "cpu", "--key", "y"], "--key is for two arrays, not for folders."),
    (["npu", "cpu", "--explain"], "--explain is for two arrays, not for folders."),
    (
        ["npu", "cpu", "--dtype", "a=bf16"],
        "dtype is for 'a', which is neither an output nor an input",
    ),
    (["npu", "cpu", *["--dtype=fp16", "--dtype=a=bf16"]], "--dtype for folders is DTYPE, for all"),
    (["npu", "cpu", "--shape", "3,4"], "--shape for folders is NAME=SHAPE."),
    (["npu", "cpu", "--atol", "a=1"], "--atol is a number for folders, the same for all arrays."),
    (
        ["npu", "cpu", "--op", "npu_none"],
        "mapping '*.npu_none.*': op is 'npu_none', expected one of",
    ),
    (["npu", "cpu", "--op", "x=npu_quantize"], "no call with outputs in both folders matches 'x'"),
    (["npu", "cpu", "--mapping", "none"], "none: No such file or directory"),
    (["npu", "cpu", "--html", "no/r.html"], "--html no/r.html: No such file or directory"),
    (["npu", "cpu", "--preset", "best"], "preset is 'best', known: exact"),
    (["one", "other"], "refused: every golden is empty or the same value everywhere"),
    (
        ["npu/a.npy", "cpu/a.npy", "--op", "npu_quantize", "--html", "r"],
        "npu/a.npy has no name; write",
    ),
    (["npu", "cpu", "npu"], "3 given"),
]


@pytest.mark.parametrize(("words", "message"), WRONG, ids=lambda v: " ".join(v)[:50])
def test_what_is_wrong_is_one_line_and_status_2(
    here: Path, compared: Say, words: list[str], message: str
) -> None:
    (here / "empty").mkdir()
    for side in ("npu", "cpu"):
        save(here / side, a=A)
    for side in ("one", "other"):
        (here / side).mkdir()
        save(here / side, mask=np.ones(9, bool))
    status, out, err = compared(*words)
    assert (status, out) == (2, "")
    assert err.startswith("npu-quant compare: ")
    assert err.count("\n") == 1
    assert message in err


def test_constants_pass_where_they_are_meant(here: Path, compared: Say) -> None:
    for side in ("npu", "cpu"):
        save(here / side, mask=np.ones(9, bool))
    assert compared("npu", "cpu", "--allow-constant")[0] == 0
