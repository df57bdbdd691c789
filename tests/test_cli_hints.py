"""``npu-quant compare``: what new users take wrongly, and the file and the option it names."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from command_line import DQ, Say
from folders import save_here as save
from golden_files import safetensors

import npu_quant

BF16 = np.dtype(ml_dtypes.bfloat16)
X = np.random.default_rng(0).standard_normal((16, 64)).astype(np.float16)
SMOOTH = np.linspace(0.5, 2, 64).astype(np.float16)
RIGHT = ["y=y.npy", "scale=scale.npy", "input=x.npy", *DQ]
FIRST = ["y=y.npy", "input=x.npy", *DQ]


@pytest.fixture(autouse=True)
def here(here: Path) -> Path:
    """Return the current folder, which has an input and its right outputs."""
    y, scale = npu_quant.npu_dynamic_quant(X)
    save(x=X, y=y, scale=scale)
    return here


class TestFilesOfInputs:
    @pytest.mark.parametrize(
        ("array", "said"),
        [
            (X[0], "has 1 dimension, expected 2 to 8."),
            (X.astype(np.float64), "has dtype float64, expected float16, bfloat16 or float32."),
            (
                X.astype(BF16).view(np.uint16),
                "float32. If it holds the bits of bfloat16, pass --dtype input=bf16.",
            ),
            (
                X.astype(BF16).view(np.int16),
                "float32. If it holds the bits of bfloat16, pass --dtype input=bf16.",
            ),
        ],
    )
    def test_the_file_is_named(self, array: Any, said: str, compared: Say) -> None:
        save(x=array)
        status, out, err = compared(*FIRST)
        assert (status, out, err.count("\n")) == (2, "", 1)
        assert err.startswith("npu-quant compare: x.npy, given as input, has ")
        assert err.endswith(f"{said}\n")
        assert not any(call in err for call in ("np.", ".view", "astype", "reshape"))

    def test_of_raw_outputs_too(self, compared: Say) -> None:
        np.load("y.npy").tofile("y.bin")
        save(x=X.astype(np.float64))
        assert "x.npy, given as input, has dtype float64" in compared("y=y.bin", *FIRST[1:])[2]

    def test_of_optional_ones(self, compared: Say) -> None:
        save(smooth=SMOOTH[:9])
        _, _, err = compared(*FIRST, "smooth_scales=smooth.npy")
        assert "smooth.npy, given as smooth_scales, has shape (9,), expected (64,)" in err


class TestCarriers:
    @pytest.mark.parametrize("dtype", ["float8_e4m3fn", "float8_e5m2", "hifloat8"])
    def test_codes_in_bytes(self, dtype: str, compared: Say) -> None:
        y, scale = npu_quant.npu_dynamic_quant(X, dst_type=dtype)
        save(y=np.asarray(y).view(np.uint8), scale=scale)
        status, out, _ = compared(*RIGHT)
        assert status == 1
        assert out.endswith(f"next: as {dtype} 0 of 1,024 bytes differ: --attr dst_type={dtype}\n")
        assert compared(*RIGHT, "--attr", f"dst_type={dtype}")[0] == 0

    def test_wrong_ones(self, compared: Say) -> None:
        y = np.asarray(npu_quant.npu_dynamic_quant(X, dst_type="hifloat8").y).copy()
        y[3, 5:8] ^= 8
        save(y=y)
        assert "next: as hifloat8 3 of 1,024 bytes differ: --attr" in compared(*FIRST)[1]

    def test_that_are_all_wrong(self, compared: Say) -> None:
        """Nothing tells which they are: int8 seen as bytes would look the same."""
        save(y=np.random.default_rng(1).integers(0, 256, X.shape, np.uint8))
        _, out, _ = compared(*FIRST)
        known = "float8_e4m3fn or float8_e5m2 or hifloat8"
        assert out.endswith(f"next: if they are other codes: --attr dst_type={known}\n")

    def test_packed_int4(self, compared: Say) -> None:
        y = npu_quant.npu_dynamic_quant(X, dst_type="int4").y
        save(y=y)
        assert y.dtype == np.int32
        assert "as int4 0 of 512 bytes differ: --attr dst_type=int4\n" in compared(*FIRST)[1]

    def test_a_dtype_of_its_own(self, compared: Say) -> None:
        codes, scale = np.arange(-8, 8, dtype=np.int8).reshape(2, 8), np.float32([0.5])
        save(codes=codes, scale=scale)
        save(y=npu_quant.npu_anti_quant(codes, scale, dst_dtype=BF16).view(np.uint16))
        words = ["y=y.npy", "x=codes.npy", "scale=scale.npy", "--op", "npu_anti_quant"]
        status, out, _ = compared(*words)
        assert (status, "if y.npy holds the bits of float16: --dtype y=float16\n" in out) == (
            1,
            True,
        )
        status, out, _ = compared(*words, "--dtype", "y=bf16")
        assert (status, "as bfloat16 0 of 32 bytes differ: --attr dst_dtype=bfloat16" in out) == (
            1,
            True,
        )
        assert compared(*words, "--dtype", "y=bf16", "--attr", "dst_dtype=bfloat16")[0] == 0

    def test_no_type_is_named_that_the_operator_has_not(self, compared: Say) -> None:
        save(y=np.load("y.npy").astype(np.float32))
        status, out, _ = compared(*FIRST)
        assert (status, "--attr" in out) == (1, False)

    @pytest.mark.parametrize("carried", ["actual", "golden", "both"])
    def test_bfloat16_in_two_files(self, carried: str, compared: Say) -> None:
        bits, other = X.astype(BF16).view(np.uint16), (X * 2).astype(BF16)
        save(bits=bits, half=X, more=other.view(np.uint16))
        files = {"actual": ["bits", "half"], "golden": ["half", "bits"], "both": ["bits", "more"]}
        status, out, _ = compared(*(f"{name}.npy" for name in files[carried]))
        assert status == 1
        assert "--dtype " in out.splitlines()[-1]
        assert ("bits of" in out) == (carried != "both")

    def test_bytes_in_two_files(self, compared: Say) -> None:
        y = np.asarray(npu_quant.npu_dynamic_quant(X, dst_type="float8_e5m2").y).view(np.uint8)
        save(bytes=y, other=y ^ 1)
        words = ["bytes.npy", "other.npy"]
        _, out, _ = compared(*words)
        assert out.splitlines()[-1].endswith(": --dtype float8_e4m3fn or float8_e5m2")
        assert "stand for" not in compared(*words, "--dtype", "float8_e5m2")[1]


class TestOddShapes:
    """No source is taken for a truth value: one without axes has no length, an empty one is false."""

    def test_without_axes(self, compared: Say) -> None:
        save(one=np.uint16(3), two=np.float16(3))
        for words in (["one.npy", "two.npy"], ["two.npy", "one.npy"], ["y=two.npy", *FIRST[1:]]):
            status, out, err = compared(*words)
            assert (status, err) == (1, ""), words
            assert "differs: actual" in out

    def test_empty_codes_in_bytes(self, compared: Say) -> None:
        save(none=np.zeros((0, 4), np.uint8), input=X[:0, :4])
        words = ["y=none.npy", "input=input.npy", *DQ, "--attr", "dst_type=float8_e5m2"]
        assert "the arrays are empty" in compared(*words)[2]


class TestKeyedFiles:
    def test_all_outputs(self, compared: Say) -> None:
        y, scale = np.load("y.npy"), np.load("scale.npy")
        np.savez("out.npz", scale=scale, y=y)
        np.savez("wrong.npz", scale=scale, y=-y)
        status, out, _ = compared("out.npz", "input=x.npy", *DQ)
        assert status == 0
        assert "actual=out.npz::y, out.npz::scale  golden=computed from x.npy" in out
        assert compared("wrong.npz", "input=x.npy", *DQ)[0] == 1

    def test_of_safetensors(self, compared: Say) -> None:
        y, scale = np.load("y.npy"), np.load("scale.npy")
        entries = {
            "scale": {"dtype": "F32", "shape": [16], "data_offsets": [1024, 1088]},
            "y": {"dtype": "I8", "shape": [16, 64], "data_offsets": [0, 1024]},
        }
        Path("out.safetensors").write_bytes(safetensors(entries, y.tobytes() + scale.tobytes()))
        assert compared("out.safetensors", "input=x.npy", *DQ)[0] == 0

    @pytest.mark.needs("torch")
    def test_of_torch(self, compared: Say) -> None:
        import torch

        arrays = {name: np.load(f"{name}.npy") for name in ("y", "scale")}
        torch.save({name: torch.from_numpy(array) for name, array in arrays.items()}, "out.pt")
        assert compared("out.pt", "input=x.npy", *DQ)[0] == 0

    def test_numbers_of_a_tuple(self, compared: Say) -> None:
        """As torch.save and np.savez store what an operator returns."""
        y, scale = np.load("y.npy"), np.load("scale.npy")
        np.savez("out.npz", y, scale)
        np.savez("both.npz", **{"1": scale, "0": y})
        for word in ("out.npz", "both.npz"):
            assert compared(word, "input=x.npy", *DQ)[0] == 0
        np.savez("three.npz", y, scale, scale)
        assert "three.npz has no name; write" in compared("three.npz", "input=x.npy", *DQ)[2]

    def test_inputs_and_outputs(self, compared: Say) -> None:
        y, scale = npu_quant.npu_dynamic_quant(X, smooth_scales=SMOOTH)
        np.savez("in.npz", input=X, smooth_scales=SMOOTH)
        np.savez("out.npz", y=y, scale=scale)
        np.savez("all.npz", y=y, scale=scale, input=X, smooth_scales=SMOOTH)
        save(y=y)
        for words in (["out.npz", "in.npz"], ["all.npz"], ["y=y.npy", "in.npz"]):
            assert compared(*words, *DQ)[0] == 0, words
        assert compared("out.npz", "input=x.npy", *DQ)[0] == 1  # without the factors

    def test_some_outputs(self, compared: Say) -> None:
        y, scale, offset = npu_quant.npu_dynamic_quant_asymmetric(X)
        np.savez("out.npz", offset=offset, scale=scale)
        op = ["--op", "npu_dynamic_quant_asymmetric"]
        status, out, _ = compared("out.npz", "input=x.npy", *op)
        assert status == 0
        assert "actual=out.npz::scale, out.npz::offset" in out
        np.savez("out.npz", y=y, scale=scale + 1)
        assert compared("out.npz", "input=x.npy", *op)[0] == 1

    def test_what_is_no_ones_is_asked_for(self, compared: Say) -> None:
        y, scale = np.load("y.npy"), np.load("scale.npy")
        np.savez("more.npz", y=y, scale=scale, step=1)
        np.savez("out.npz", y=y, scale=scale)
        for words, said in (
            (["more.npz", "input=x.npy"], "more.npz has no name; write npu-quant compare --op"),
            (["y=more.npz", "input=x.npy"], "has 3 arrays; choose one by its key: y, scale, step"),
            (["out.npz"], "npu_dynamic_quant needs input=FILE"),
            (["out.npz", "x.npy"], "x.npy has no name"),
            (["out.npz", "y=y.npy", "input=x.npy"], "y is given twice: by out.npz::y and by y.npy"),
        ):
            status, out, err = compared(*words, *DQ)
            assert (status, out, err.count("\n")) == (2, "", 1), words
            assert said in err
        assert compared("y=out.npz", "input=x.npy", *DQ, "--key", "y")[0] == 0


class TestOptions:
    @pytest.mark.parametrize(
        ("words", "said"),
        [
            (["--dst_type", "int8"], "--dst_type int8; say --attr dst_type=int8 (see"),
            (["--dst_type=int8"], "--dst_type=int8; say --attr dst_type=int8 (see"),
            (["--dst-type=int8"], "; say --attr dst_type=int8 (see"),
            (["--dst_type"], "; say --attr dst_type=VALUE (see"),
            (["--smooth_scales", "s.npy"], "; say smooth_scales=s.npy (see"),
            (["--input", "input=s.npy"], "--input input=s.npy; say input=s.npy (see"),
            (["--epsilon", "1e-5"], "--epsilon 1e-5 (see"),  # another operator's
            (["--atoll", "1"], "--atoll 1; did you mean --atol? (see"),
            (["--rows", "3"], "--rows 3 (see"),
        ],
    )
    def test_attributes_are_no_options(self, words: list[str], said: str, compared: Say) -> None:
        for place in ([*FIRST, *words], [*FIRST[:2], *words, *DQ]):
            status, out, err = compared(*place)
            assert (status, out, err.count("\n")) == (2, "", 1)
            assert said in err

    def test_before_the_files(self, compared: Say) -> None:
        _, _, err = compared("--dst_type", "int8", *FIRST)
        assert "; say --attr dst_type=int8 (see" in err

    def test_names_that_have_a_module(self, compared: Say) -> None:
        words = [*FIRST[:2], "--op", "npu_quant.npu_dynamic_quant", "--dst_type", "int4"]
        assert "; say --attr dst_type=int4 (see" in compared(*words)[2]

    def test_without_an_operator(self, compared: Say) -> None:
        assert "; say --attr epsilon=1 (see" in compared("y.npy", "x.npy", "--epsilon", "1")[2]

    def test_arrays_are_no_attributes(self, compared: Say) -> None:
        _, _, err = compared(*FIRST, "--attr", "smooth_scales=s.npy")
        assert err.endswith("smooth_scales is an array: smooth_scales=s.npy\n")
        _, _, err = compared(*FIRST, "dst_type=int8")
        assert err.endswith("dst_type is not an array: --attr dst_type=int8\n")
        for words in (["smooth_scales=None"], ["--attr", "smooth_scales=None"]):
            assert compared(*FIRST, *words)[0] == 0


class TestBadFiles:
    """One line, whatever part a file takes."""

    @pytest.fixture(params=["fifo", "folder", "loop", "cut.npz", "damaged.npz", "objects.npy"])
    def bad(self, request: pytest.FixtureRequest, here: Path) -> str:
        for name in ("cut.npz", "damaged.npz"):
            np.savez(name, y=np.load("y.npy"), scale=np.load("scale.npy"))
        whole = (here / "cut.npz").read_bytes()
        (here / "cut.npz").write_bytes(whole[: len(whole) // 2])
        (here / "damaged.npz").write_bytes(whole[:700] + bytes(8) + whole[708:])
        np.save("objects.npy", np.array([1, None], object), allow_pickle=True)
        os.mkfifo("fifo")
        (here / "folder").mkdir()
        (here / "loop").symlink_to("loop")
        return str(request.param)

    @pytest.mark.parametrize(
        "words",
        [
            "{} x.npy",
            "y.npy {}",
            "{} --op npu_dynamic_quant",
            "y={} input=x.npy --op npu_dynamic_quant",
            "y=y.npy input={} --op npu_dynamic_quant",
            "y=y.npy {} --op npu_dynamic_quant",
            "y=y.npy input=x.npy smooth_scales={} --op npu_dynamic_quant",
            "y=y.npy golden.y={} --op npu_dynamic_quant",
        ],
    )
    def test_is_one_line(self, words: str, bad: str, compared: Say) -> None:
        status, out, err = compared(*words.format(bad).split())
        assert (status, out, err.count("\n")) == (2, "", 1)
        assert err.startswith("npu-quant compare: ")
        assert "internal error" not in err
