"""``npu-quant compare``: which file is what, verdicts, raw files, keys, JSON."""

from __future__ import annotations

import json
import os
from itertools import permutations
from pathlib import Path

import ml_dtypes
import numpy as np
import pytest
from command_line import DQ, Say
from folders import save_here as save

import npu_quant
from npu_quant.commands import arguments
from npu_quant.golden.operators import operator_of, outputs_of

# The example of npu_dynamic_quant's page, with one row more: a row of ties of y * 2.
X = np.array([[0, 1, -2, 4], [3, -1.5, 0.75, -3], [0.5, 127, -1.5, 2.5]], np.float16)
Y = np.array([[0, 32, -64, 127], [127, -64, 32, -127], [0, 127, -2, 2]], np.int8)
SCALE = np.array([4, 3, 127], np.float32) / np.float32(127)


OP = " ".join(DQ)


def changed(array: np.ndarray, index: tuple[int, ...], value: float) -> np.ndarray:
    """Return an array of which one element is another."""
    result = array.copy()
    result[index] = value
    return result


def full(value: int) -> np.ndarray:
    return np.full((3, 4), value, np.int8)


@pytest.fixture(autouse=True)
def here(here: Path) -> Path:
    """Return the current folder: an input, its right outputs, and outputs that are wrong somehow."""
    save(x=X, y=Y, scale=SCALE, same=Y, scale2=SCALE, minus=-Y, wrong_scale=changed(SCALE, (1,), 1))
    # -2 / (4 / 127) is -63.5, a tie; 1 / (4 / 127) is 31.75.
    save(tie=changed(Y, (0, 2), -63), no_tie=changed(Y, (0, 1), 31))
    save(cut=np.trunc(X.astype(np.float32) / SCALE[:, None]).astype(np.int8))
    save(one=changed(Y, (0, 1), 33), two=changed(Y, (0, 1), 34), three=changed(Y, (0, 1), 35))
    save(far=changed(Y, (0, 1), -35), constant=full(5), also=full(5), other=full(6))
    save(none=np.zeros((0, 4), np.int8), nothing=np.zeros((0, 4), np.int8))
    (here / "link.npy").symlink_to("y.npy")
    os.link("y.npy", "hard.npy")
    return here


def check(said: tuple[int, str, str], status: int, text: str) -> None:
    """Check a status, and what is said: of 2 in a line on stderr, of others on stdout."""
    got, out, err = said
    silent, loud = (out, err) if status == 2 else (err, out)
    assert (got, silent) == (status, "")
    assert text in loud
    assert status != 2 or err.count("\n") == 1


VERDICTS = {
    "identical": (
        f"y scale x {OP}",
        0,
        "OK (identical): all 12 codes (y), all 3 scales (scale)\n"
        "  npu_dynamic_quant y int8 (3, 4), scale float32 (3,)\n"
        "  actual=y.npy, scale.npy  golden=computed from x.npy\n",
    ),
    "a tie passes": (
        f"tie scale x {OP}",
        0,
        "OK (tie): 1 of 12 codes differs, each within ",
    ),
    "its neighbour does not": (f"no_tie scale x {OP}", 1, "DIFFERENT: "),
    "without the operator no tie is claimed": (
        "tie y",
        1,
        "give --op and its inputs by name to learn whether it is rounding",
    ),
    "a variant": (f"y=cut input=x {OP}", 1, '--variant "truncation"'),
    "the variant that is named": (
        f"y=cut input=x {OP} --variant truncation",
        0,
        "OK (variant): follows npu_dynamic_quant with truncation",
    ),
    "another is named": (f"y=cut input=x {OP} --variant reference", 1, "DIFFERENT"),
    "by 3 of 3": (f"y=three input=x {OP} --atol 3", 0, "OK (tolerated)"),
    "by 3 of 2": (f"y=three input=x {OP} --atol 2", 1, "DIFFERENT"),
    "by 3 of an output's 3": (f"y=three input=x {OP} --atol y=3", 0, "OK (tolerated)"),
    "by 3 of another output's": (f"y=three input=x {OP} --atol scale=3", 1, "DIFFERENT"),
    "by 3 of both outputs'": (
        f"y=three input=x {OP} --atol y=3 --atol scale=0",
        0,
        "OK (tolerated)",
    ),
    "by 3 of 32, of 10 %": (f"y=three input=x {OP} --rtol 0.1", 0, "OK (tolerated)"),
    "by 3 of 32, of 9 %": (f"y=three input=x {OP} --rtol 0.09", 1, "DIFFERENT"),
    "by one": ("one y --preset off_by_one", 0, "OK (tolerated)"),
    "by two": ("two y --preset off_by_one", 1, "DIFFERENT"),
    "by one, which exact does not let pass": ("one y --preset exact", 1, "DIFFERENT"),
    "a link": ("link y", 2, "link.npy is given as actual and as golden"),
    "a hard link": ("hard y", 2, "hard.npy is given as actual and as golden"),
    "a constant": ("constant also", 2, "or say --allow-constant."),
    "a constant that is meant": ("constant also --allow-constant", 0, "OK (identical)"),
    "no elements": ("none nothing", 2, "refused: actual: the arrays are empty"),
    "a tolerance of more than there is": ("three y --atol 300", 2, "refused: actual: atol=300"),
    "another constant fails": ("constant other", 1, "DIFFERENT"),
    "a failure outranks a refusal": ("far y --atol 60", 1, "DIFFERENT"),
    "the second output": (f"scale=scale input=x {OP}", 0, "OK (identical)"),
    "the first output": (f"y=y input=x {OP}", 0, "OK (identical)"),
    "the first output and none": (f"y=y scale=None input=x {OP}", 0, "OK (identical)"),
    "a second output that is wrong": (f"scale=wrong_scale input=x {OP}", 1, "DIFFERENT"),
    "all files in order": (f"y scale x {OP}", 0, "OK (identical)"),
    "goldens from files": (
        f"y=y scale=scale {OP} golden.y=same golden.scale=scale2",
        0,
        "OK (identical): all 12 codes (y), all 3 scales (scale)\n"
        "  npu_dynamic_quant y int8 (3, 4), scale float32 (3,)\n"
        "  actual=y.npy, scale.npy  golden=same.npy, scale2.npy",
    ),
    "another than the golden of a file": (
        f"y=no_tie scale=scale {OP} golden.y=same golden.scale=scale2",
        1,
        "DIFFERENT",
    ),
    "a golden too few": (f"y=y scale=scale {OP} golden.y=same", 1, "extra in actual: scale"),
    "formulas are next": (
        f"y=minus input=x {OP}",
        1,
        "rerun: npu-quant compare y=minus.npy input=x.npy --op npu_dynamic_quant --explain\n",
    ),
}


def in_files(words: str) -> list[str]:
    """Return the words, of which those that name a saved array name its file."""
    files = {name.stem for name in Path().glob("*.npy")}
    return [f"{word}.npy" if word.rpartition("=")[2] in files else word for word in words.split()]


@pytest.mark.parametrize("what", VERDICTS)
def test_verdicts(compared: Say, what: str) -> None:
    words, status, text = VERDICTS[what]
    check(compared(*in_files(words)), status, text)


class TestWhichFileIsWhat:
    def test_optional_inputs(self, compared: Say) -> None:
        save(smooth=np.array([2, 1, 1, 0.5], np.float16))
        save(smoothed=np.array([[0, 64, -127, 127]], np.int8))
        save(row=X[:1])
        words = [*DQ, "y=smoothed.npy", "input=row.npy"]
        assert compared(*words)[0] == 1
        status, out, _ = compared(*words, "smooth_scales=smooth.npy")
        assert status == 0
        assert "golden=computed from row.npy, smooth.npy" in out

    def test_names_stand_in_any_order(self, compared: Say) -> None:
        for words in permutations(("y=y.npy", "scale=scale.npy", "input=x.npy")):
            assert compared(*words, *DQ)[0] == 0

    def test_files_with_an_equals_sign(self, compared: Say) -> None:
        save(**{"a=b": Y})
        assert compared(*DQ, "y=a=b.npy", "input=x.npy")[0] == 0
        assert compared("a=b.npy", "y.npy")[0] == 0

    def test_the_norm(self, compared: Say) -> None:
        """The example of npu_add_rms_norm_quant's page."""
        save(x1=np.array([[1, 2, 3, 4]], np.float16), x2=np.array([[0.5, -1, 0.25, 1]], np.float16))
        save(gamma=np.array([1, 0.5, 2, 1.5], np.float16))
        save(scales1=np.array([0.1, 0.05, 0.1, 0.02], np.float32))
        save(zero_points1=np.array([0, 3, -5, 10], np.int32))
        save(y1=np.array([[5, 6, 16, 127]], np.int8), sum=np.array([[1.5, 1, 3.25, 5]], np.float16))
        names = ("x1", "x2", "gamma", "scales1", "zero_points1")
        inputs = [f"{name}={name}.npy" for name in names]
        norm = ["--op", "npu_add_rms_norm_quant"]
        assert compared("y1=y1.npy", "x=sum.npy", *inputs, *norm)[0] == 0
        assert compared("y1=y1.npy", *inputs, *norm, "--attr", "epsilon=1000")[0] == 1
        without = [*inputs[:4], "zero_points1=None", *norm]
        assert compared("y1=y1.npy", *without)[0] == 1
        save(offset=np.array([[5, 3, 21, 120]], np.int8))
        assert compared("y1=offset.npy", *without)[0] == 0

    @pytest.mark.parametrize(
        ("op", "names"),
        [
            ("npu_dynamic_quant", ["input"]),
            ("npu_dynamic_block_quant", ["x"]),
            ("npu_add_rms_norm_quant", ["x1", "x2", "gamma", "scales1", "zero_points1"]),
            ("npu_quantize", ["self", "scales", "zero_points"]),
            ("npu_anti_quant", ["x", "scale"]),
            ("fake_quantize_per_tensor_affine", ["self"]),
            ("fake_quantize_per_channel_affine", ["self", "scale", "zero_point"]),
            ("quantize_val", ["value"]),
        ],
    )
    def test_the_arrays_an_operator_needs(self, op: str, names: list[str]) -> None:
        assert list(operator_of(op).arrays) == names

    def test_attributes_are_literals_or_words(self, compared: Say) -> None:
        words = ["y=codes.npy", "value=value.npy", "--op", "quantize_val"]
        save(value=np.float32([0.5, 1.25]), codes=np.int8([2, 5]))
        given = ["--attr", "scale=0.25", "--attr", "zero_point=0", "--attr", "scalar_type=qint8"]
        assert outputs_of("quantize_val")
        assert compared(*words, *given)[0] == 0
        assert compared(*words, *given[:-1], "scalar_type='qint8'")[0] == 0
        assert compared(*words, "--attr", "scale=0.5", *given[2:])[0] == 1


class TestFilesThatSayLittle:
    def test_raw_actual_files_are_like_their_golden(self, compared: Say) -> None:
        Y.tofile("y.bin")
        SCALE.tofile("scale.bin")
        words = ["y=y.bin", "scale=scale.bin", "input=x.npy", *DQ]
        assert compared("y.bin", "y.npy")[0] == 0
        assert compared(*words)[0] == 0
        (-Y).tofile("y.bin")
        assert compared("y.bin", "y.npy")[0] == 1
        assert compared(*words)[0] == 1
        Y[:2].tofile("y.bin")
        check(compared(*words), 2, "y.bin: has 8 bytes of elements; int8 (3, 4) has 12")
        status, out, _ = compared(*words, "--shape", "y=2,4")
        assert (status, "shape differs: actual (2, 4), golden (3, 4)" in out) == (1, True)

    def test_raw_inputs_are_described(self, compared: Say) -> None:
        X.astype(ml_dtypes.bfloat16).tofile("x.bin")
        Y.tofile("y.bin")
        words = ["y=y.bin", "scale=scale.npy", "input=x.bin", *DQ]
        for name in ("", "input="):
            for dtype, status in (("bf16", 0), ("bfloat16", 0), ("fp16", 1)):
                said = ["--dtype", name + dtype, "--shape", f"{name}3,4"]
                assert compared(*words, *said)[0] == status
        assert compared(*words, "--dtype", "bf16", "--shape", "3x4")[0] == 0
        check(
            compared(*words), 2, "x.bin: has no header: say its dtype and shape (--dtype, --shape)"
        )
        assert compared(*words, "--dtype", "bf16", "--shape", "3,5")[0] == 2
        check(
            compared(*DQ, "y=y.bin", "input=x.npy", "--dtype", "int8"), 2, "--dtype has no effect"
        )

    @pytest.mark.parametrize("carrier", ["V2", "u2", "i2"])
    def test_bfloat16_that_numpy_saved_as_something_else(self, compared: Say, carrier: str) -> None:
        save(x=X.astype(ml_dtypes.bfloat16).view(carrier))
        words = ["y=y.npy", "scale=scale.npy", "input=x.npy", *DQ]
        assert compared(*words)[0] == (0 if carrier == "V2" else 2)
        assert compared(*words, "--dtype", "bf16")[0] == 0
        assert compared(*words, "--dtype", "input=bf16")[0] == 0

    @pytest.mark.parametrize("name", ["float8_e4m3fn", "float8_e5m2"])
    @pytest.mark.parametrize("scale", ["u1", ml_dtypes.float8_e8m0fnu])
    def test_float8_that_numpy_saved_without_its_dtype(
        self, compared: Say, name: str, scale: str
    ) -> None:
        x = X.astype(ml_dtypes.bfloat16)
        y, mxscale = npu_quant.npu_dynamic_mx_quant(x, dst_type=name)
        back = npu_quant.npu_anti_mx_quant(y, mxscale, src_type=name)
        save(x=x, y=y, mxscale=mxscale.view(scale), back=back)
        words = ["y=y.npy", "mxscale=mxscale.npy", "input=x.npy", "--op", "npu_dynamic_mx_quant"]
        words += ["--attr", f"dst_type={name}"]
        assert compared(*words)[0] == 0
        assert compared(*words, "--dtype", "y=" + name, "--dtype", "input=bf16")[0] == 0
        check(compared(*words, "--dtype", "z=bf16"), 2, "z=: no file has that name; known: y, mx")
        words = ["y=back.npy", "x=y.npy", "mxscale=mxscale.npy", "--op", "npu_anti_mx_quant"]
        words += ["--attr", f"src_type={name}"]
        assert compared(*words)[0] == 0
        words += ["--dtype", f"x={name}", "--dtype", "mxscale=float8_e8m0"]
        assert compared(*words)[0] == 0
        check(compared(*words, "--dtype", f"x={name}"), 2, "--dtype x= is given twice")
        words += ["--dtype", "y=fp16"]
        check(compared(*words), 2, "--dtype y= has no effect: back.npy names its own")

    def test_float8_of_bfloat16_needs_no_dtype(self, compared: Say) -> None:
        """NumPy saves the one as V1 and the other as V2; the operator says what both are."""
        x = X.astype(ml_dtypes.bfloat16)
        y, scale = npu_quant.npu_dynamic_quant(x, dst_type="float8_e4m3fn")
        save(x=x, y=y, scale=scale)
        words = [*DQ, "y=y.npy", "scale=scale.npy", "input=x.npy"]
        assert compared(*words, "--attr", "dst_type=float8_e4m3fn")[0] == 0
        save(y=np.asarray(y)[::-1])
        assert compared(*words, "--attr", "dst_type=float8_e4m3fn")[0] == 1

    def test_what_was_saved_as_bytes_is_not_any_codes(self, compared: Say) -> None:
        y, scale = npu_quant.npu_dynamic_quant(X, dst_type=ml_dtypes.float8_e4m3fn)
        save(y=y, scale=scale)
        for name in ("int8", "float8_e5m2"):
            words = ["y=y.npy", "scale=scale.npy", "input=x.npy", *DQ, "--attr", f"dst_type={name}"]
            check(
                compared(*words),
                2,
                "y.npy: has V1, as float8 is saved by NumPy: say which with --dtype",
            )
            given = ["--dtype", "y=float8_e4m3fn"]
            check(compared(*words, *given), 1, f"actual float8_e4m3fn, golden {name}")

    def test_a_file_that_says_its_dtype_keeps_it(self, compared: Say) -> None:
        """Beside one that does not: float16 has as many bytes as bfloat16."""
        bf16 = X.astype(ml_dtypes.bfloat16)
        save(half=X, carried=bf16.view("u2"))
        status, out, _ = compared("half.npy", "carried.npy", "--dtype", "bf16")
        assert (status, "dtype differs: actual float16, golden bfloat16" in out) == (1, True)

    def test_keys(self, compared: Say) -> None:
        np.savez("all.npz", x=X, y=Y, scale=SCALE)
        np.savez("one.npz", y=Y)
        assert compared("y=all.npz::y", "scale=all.npz::scale", "input=all.npz::x", *DQ)[0] == 0
        assert compared("all.npz", "y.npy", "--key", "y")[0] == 0
        assert compared("one.npz", "y.npy")[0] == 0
        assert compared("all.npz", "y.npy", "--key", "x")[0] == 1
        status, _, err = compared("all.npz::y", "all.npz::y")
        assert (status, "all.npz::y is given as actual and as golden" in err) == (2, True)
        os.rename("y.npy", "odd::name.npy")
        assert compared("all.npz::y", "odd::name.npy")[0] == 0


class TestJson:
    def test_on_stdout_there_is_nothing_else(self, compared: Say) -> None:
        save(wrong=changed(Y, (0, 1), 35))
        status, out, err = compared("wrong.npy", "scale.npy", "x.npy", *DQ, "--json", "-")
        data = json.loads(out, parse_constant=pytest.fail)
        assert (status, err, data["schema_version"]) == (1, "", 1)
        assert (data["op"], data["rung"], data["passed"]) == (
            "npu_dynamic_quant",
            "different",
            False,
        )
        y, scale = data["outputs"]
        assert (y["name"], y["rung"], y["shape"], y["dtype"]) == ("y", "different", [3, 4], "int8")
        assert y["metrics"]["mismatches"] == 1
        assert y["metrics"]["max_abs"] == 3
        assert scale["rung"] == "identical"
        assert "explanation" not in data

    def test_in_a_file_beside_the_report(self, compared: Say, here: Path) -> None:
        status, out, _ = compared("y=y.npy", "input=x.npy", *DQ, "--json", "result.json")
        assert status == 0
        assert out.startswith("OK (identical)")
        assert json.loads((here / "result.json").read_text())["passed"] is True
        assert compared("y=y.npy", "input=x.npy", *DQ, "--json", "result.json")[0] == 0  # again

    def test_numbers_that_json_lacks(self, compared: Say) -> None:
        save(a=np.float32([np.nan, np.inf, 1]), b=np.float32([-np.inf, np.nan, 1]))
        status, out, _ = compared("a.npy", "b.npy", "--json", "-")
        assert (status, json.loads(out, parse_constant=pytest.fail)["rung"]) == (1, "different")

    def test_quiet(self, compared: Say, here: Path) -> None:
        assert compared("y=y.npy", "input=x.npy", *DQ, "--quiet", "--json", "result.json") == (
            0,
            "",
            "",
        )
        assert (here / "result.json").exists()

    def test_explain(self, compared: Say) -> None:
        save(cut=np.trunc(X.astype(np.float32) / SCALE[:, None]).astype(np.int8))
        status, out, _ = compared("y=cut.npy", "input=x.npy", *DQ, "--explain")
        report, _, ranking = out.partition("\n\n")
        assert status == 1
        assert report.startswith("DIFFERENT")
        assert "truncation" in ranking.splitlines()[0]
        _, out, _ = compared("y=cut.npy", "input=x.npy", *DQ, "--explain", "--json", "-")
        assert "explanation" in json.loads(out)


@pytest.mark.parametrize(
    ("text", "shape"),
    [("32,2048", (32, 2048)), ("32x2048", (32, 2048)), ("(7,)", (7,)), ("7", (7,)), ("", ())],
)
def test_shapes(text: str, shape: tuple[int, ...]) -> None:
    assert arguments.shape(text) == shape


@pytest.mark.parametrize("text", ["a", "-1", "3,,4", "3,-4", "1.5", "x", "3 4", "9" * 20])
def test_what_is_no_shape(text: str) -> None:
    with pytest.raises(ValueError, match="expected whole numbers, such as 32,2048"):
        arguments.shape(text)


@pytest.mark.parametrize(("beyond", "status", "text"), [(2, 0, "OK (tolerated)"), (3, 1, "DIFF")])
def test_a_preset_by_its_chinese_name(compared: Say, beyond: int, status: int, text: str) -> None:
    """Two of 2000 elements are one in a thousand, three are more."""
    golden = np.arange(1000, 3000, dtype=np.float32)
    save(golden=golden, npu=np.where(np.arange(2000) < beyond, golden + 9, golden))
    check(compared("npu.npy", "golden.npy", "--preset", "双千分之一"), status, text)
