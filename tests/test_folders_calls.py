"""Folders of an operator's calls, whose files go by the names of its outputs and inputs."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from command_line import DQ, Say
from folders import save

import npu_quant
from npu_quant.errors import ParamError
from npu_quant.golden import compare_folders

OP = "npu_dynamic_quant"
BF16 = ml_dtypes.bfloat16


def call_of(seed: int, dtype: Any = np.float16, **attributes: Any) -> dict[str, np.ndarray]:
    """Return the arrays of a call by their names; without attributes a code is at a tie."""
    x = np.random.default_rng(seed).standard_normal((16, 1024)).astype(dtype)
    x[0] = [4, 1, -2, *[0] * 1021]
    y, scale = npu_quant.npu_dynamic_quant(x, **attributes)
    if not attributes:
        assert y[0, 2] == -64  # -63.5 before rounding
        y[0, 2] = -63
    return {"input": x, "y": np.asarray(y), "scale": scale}


def write(folder: Path, raw: bool = False, name: str = "{}", **arrays: np.ndarray) -> None:
    """Write arrays as .npy or without headers."""
    folder.mkdir(parents=True, exist_ok=True)
    for key, array in arrays.items():
        if raw:
            array.tofile(folder / f"{name.format(key)}.bin")
        else:
            np.save(folder / f"{name.format(key)}.npy", array)


@pytest.fixture
def dev(here: Path) -> Path:
    """Return a folder with a call of a subfolder each, of which the second has a wrong scale."""
    for case in range(3):
        arrays = call_of(case)
        if case == 1:
            arrays["scale"][7] *= np.float32(1.01)
        write(here / f"dev/case{case}", **arrays)
    return here / "dev"


class TestOneFolder:
    def test_every_output_is_a_row(self, dev: Path) -> None:
        found = compare_folders(dev, ops=OP)
        assert [row.name for row in found.rows] == [
            f"case{case}/{output}" for case in range(3) for output in ("scale", "y")
        ]
        assert [row.rung for row in found.rows if row.name.endswith("y")] == ["tie"] * 3
        assert [row.name for row in found.failing] == ["case1/scale"]
        assert {row.op for row in found.rows} == {OP}
        assert not found.passed
        assert found.only_actual == ()

    @pytest.mark.parametrize("name", ["{}/{}", "{}_{}", "{}.{}", "{}-{}"])
    def test_a_call_is_a_subfolder_or_a_prefix(self, here: Path, name: str) -> None:
        for case in ("a", "b_c"):
            folder, _, file = name.format(case, "{}").rpartition("/")
            write(here / "dev" / folder, name=file, **call_of(3))
        found = compare_folders(here / "dev", ops=OP)
        assert found.passed
        assert len(found.rows) == 4

    def test_one_call_without_a_name(self, here: Path) -> None:
        write(here / "dev", **call_of(3))
        assert len(compare_folders(here / "dev", ops=OP).rows) == 2

    def test_keys_of_a_file(self, here: Path) -> None:
        (here / "dev").mkdir()
        for case in range(2):
            np.savez(here / f"dev/case{case}.npz", **call_of(case))
        found = compare_folders(here / "dev", ops={"case*": OP})
        assert found.passed
        assert len(found.rows) == 4

    def test_x_is_the_first_input_as_in_aclnn(self, here: Path) -> None:
        arrays = call_of(3)
        write(here / "dev", x=arrays.pop("input"), **arrays)
        assert compare_folders(here / "dev", ops=OP).passed

    def test_attributes_and_a_glob(self, here: Path) -> None:
        write(here / "dev/e4m3", **call_of(0, dst_type="float8_e4m3fn"))
        write(here / "dev/e5m2", **call_of(0, dst_type="float8_e5m2"))
        rules = {
            f"{name}*": {"op": OP, "attributes": {"dst_type": f"float8_{name}{end}"}}
            for name, end in (("e4m3", "fn"), ("e5m2", ""))
        }
        assert compare_folders(here / "dev", mapping=rules).passed
        del rules["e5m2*"]
        found = compare_folders(here / "dev", mapping=rules)
        assert len(found.rows) == 2
        assert [one.file for one in found.only_actual] == [
            f"e5m2/{name}.npy" for name in ("input", "scale", "y")
        ]

    def test_names_of_files_by_a_mapping(self, here: Path) -> None:
        arrays = call_of(3)
        for case in range(2):
            write(here / f"dev/{case}", acts=arrays["input"], codes=arrays["y"])
        rule = {"op": OP, "inputs": {"input": "acts"}, "outputs": {"y": "codes"}}
        found = compare_folders(here / "dev", mapping={"*": rule})
        assert [row.name for row in found.rows] == ["0/codes", "1/codes"]
        assert found.passed

    def test_a_dump_of_msprobe(self, here: Path) -> None:
        arrays = call_of(3)
        call = "NPU.npu_dynamic_quant.0.forward"
        names = {"input": "input.0", "y": "output.0", "scale": "output.1"}
        save(here / "dev", **{f"{call}.{names[n]}": array for n, array in arrays.items()})
        found = compare_folders(here / "dev", ops=OP)
        assert [row.name for row in found.rows] == [f"{call}.output.0", f"{call}.output.1"]
        assert found.passed

    def test_a_limit(self, dev: Path) -> None:
        assert compare_folders(dev, ops=OP, rtol=0.011).passed
        assert not compare_folders(dev, ops=OP, rtol=0.009).passed

    def test_progress(self, dev: Path) -> None:
        told: list[tuple[int, int]] = []
        compare_folders(dev, ops=OP, progress=lambda *at: told.append(at))
        assert told[-1][0] == told[-1][1]


class TestRawFiles:
    @pytest.mark.parametrize("dtype", [np.float16, BF16])
    def test_what_the_operator_does_not_say_is_said_by_name(self, here: Path, dtype: Any) -> None:
        for case in range(2):
            write(here / f"dev/case{case}", raw=True, **call_of(case, dtype))
        said: dict[str, Any] = {"dtype": {"input": np.dtype(dtype).name}}
        said["shape"] = {"input": (16, 1024)}
        found = compare_folders(here / "dev", ops=OP, **said)
        assert found.passed
        assert {row.dtype for row in found.rows} == {"int8", "float32"}
        said["shape"] = {"input": (16, 1023)}
        found = compare_folders(here / "dev", ops=OP, **said)
        assert "has 32768 bytes of elements" in str(found.rows[0].problem)

    def test_by_a_golden_folder(self, here: Path) -> None:
        arrays = call_of(3)
        write(here / "dev/case0", raw=True, **arrays)
        y, scale = npu_quant.npu_dynamic_quant(arrays["input"])
        write(here / "gold/case0", input=arrays["input"], y=y, scale=scale)
        assert not compare_folders(here / "dev", here / "gold").passed
        found = compare_folders(here / "dev", here / "gold", ops=OP)
        assert found.passed
        assert [row.rung for row in found.rows] == ["identical", "identical", "tie"]
        # The golden may be raw, too, and the actual side say what both are.
        assert compare_folders(here / "gold", here / "dev", ops=OP).passed

    def test_nothing_is_guessed(self, here: Path) -> None:
        write(here / "dev", raw=True, **call_of(3))
        found = compare_folders(here / "dev", ops=OP)
        assert not found.passed
        assert all("say its dtype and shape" in str(row.problem) for row in found.rows)


class TestWhatFails:
    def test_a_file_of_no_call(self, dev: Path) -> None:
        np.save(dev / "case0/z.npy", np.arange(3))
        found = compare_folders(dev, ops=OP)
        assert [(one.file, one.note) for one in found.only_actual] == [
            ("case0/z.npy", "is no output or input of a call")
        ]

    def test_outputs_without_an_input(self, dev: Path) -> None:
        (dev / "case2/input.npy").unlink()
        found = compare_folders(dev, ops=OP)
        assert [one.name for one in found.only_actual] == ["case2/scale", "case2/y"]
        assert not found.passed

    def test_a_damaged_file(self, dev: Path) -> None:
        (dev / "case2/y.npy").write_bytes(b"?")
        found = compare_folders(dev, ops=OP)
        assert "y.npy: " in str(found.row("case2/y").problem)
        assert found.row("case0/y").passed

    def test_what_the_operator_refuses(self, dev: Path) -> None:
        np.save(dev / "case2/input.npy", np.zeros((16, 1024)))
        found = compare_folders(dev, ops=OP)
        assert "input has dtype float64" in str(found.row("case2/y").problem)

    @pytest.mark.parametrize(
        ("asked", "message"),
        [
            ({}, "give a golden folder, or ops for the calls in the folder"),
            ({"ops": "npu_quantize"}, r"no call with outputs .* matches '\*\.npu_quantize\.\*'"),
            ({"ops": {"no*": OP}}, r"no call with outputs .* matches 'no\*'"),
            (
                {"ops": OP, "dtype": {"x1": "fp16"}},
                "dtype is for 'x1', which is neither an output nor an inp",
            ),
            (
                {"ops": OP, "shape": {"x1": (3,)}},
                "shape is for 'x1', which is neither an output nor an input",
            ),
            ({"ops": 3}, "ops is not an object of names and operators"),
        ],
    )
    def test_what_is_refused(self, dev: Path, asked: dict[str, Any], message: str) -> None:
        with pytest.raises(ParamError, match=message):
            compare_folders(dev, **asked)


class TestCommandLine:
    def test_one_folder(self, here: Path, compared: Say) -> None:
        for case in range(2):
            arrays = call_of(case, BF16, dst_type="float8_e4m3fn")
            write(here / f"dev/case{case}", raw=True, **arrays)
        words = ["dev", *DQ, "--attr", "dst_type=float8_e4m3fn", "--shape", "input=16,1024"]
        status, out, err = compared(*words, "--dtype", "input=bf16", "--html", "r.html")
        assert (status, err) == (0, "")
        assert out.startswith("OK (identical): 4 arrays: 4 identical\n")
        assert (here / "r.html").read_text().startswith("<!DOCTYPE html>")
        status, out, _ = compared(*words, "--dtype", "input=fp16", "--json", "-")
        assert (status, json.loads(out)["passed"]) == (1, False)

    def test_what_an_operator_refuses_has_no_python_in_it(self, dev: Path, compared: Say) -> None:
        np.save(dev / "case1/input.npy", np.zeros((16, 1024)))
        status, out, _ = compared("dev", *DQ, "--json", "-")
        problems = {row["name"]: row["problem"] for row in json.loads(out)["rows"]}
        said = "npu_dynamic_quant: input has dtype float64, expected float16, bfloat16 or float32."
        assert (status, problems["case1/y"]) == (1, said)
        in_python = str(compare_folders(dev, ops=OP).row("case1/y").problem)
        assert in_python.startswith(f"{said} Convert it, e.g. with input.astype(")

    def test_a_rule_for_some(self, dev: Path, compared: Say) -> None:
        (dev / "case1/scale.npy").unlink()
        for words in (DQ, ["--op", f"case*={DQ[1]}"]):
            assert compared("dev", *words)[0] == 0

    @pytest.mark.parametrize(
        ("words", "message"),
        [
            (["dev"], "give a golden folder, or ops for the calls in the folder"),
            (["dev", *DQ, "--attr", "nope=1"], "npu_dynamic_quant has "),
            (
                ["dev", *DQ, "--dtype", "x1=fp16"],
                "dtype is for 'x1', which is neither an output nor an input",
            ),
            (["dev", *DQ, "--axis", "1"], "--axis is for two arrays, not for folders."),
            (["dev/case0/y.npy", "--mapping", "m"], "--mapping is for folders."),
        ],
    )
    def test_what_is_wrong_is_one_line(
        self, words: list[str], message: str, dev: Path, compared: Say
    ) -> None:
        status, out, err = compared(*words)
        assert (status, out, err.count("\n")) == (2, "", 1)
        assert message in err
