"""Dtypes that differ: what loses no value by it is compared, told, and still does not pass."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from as_line import as_line
from numpy.typing import DTypeLike, NDArray

import npu_quant
from npu_quant import DTypeError
from npu_quant.golden import Comparison, compare, compare_folders, explain, load
from npu_quant.testing import GoldenMismatch, assert_golden

Array = NDArray[Any]
F32 = np.float32
OP = "npu_dynamic_quant"


@pytest.fixture
def x(rng: np.random.Generator) -> Array:
    return rng.standard_normal((64, 1024)).astype(np.float16)


def quantized(x: Array, **attributes: Any) -> tuple[Array, Array]:
    y, scale = npu_quant.npu_dynamic_quant(x, **attributes)
    return y, scale


def by_reciprocal(x: Array) -> Array:
    scale = quantized(x)[1]
    v = x.astype(F32) * (F32(1) / scale)[:, None]
    return np.clip(np.rint(v), -128, 127).astype(np.int8)


def of(actual: Any, x: Array, **more: Any) -> Comparison:
    found = compare(actual, op=OP, inputs={"input": x}, **more)
    assert not found.passed  # another dtype is a difference, whatever the values
    return found


def values(comparison: Comparison, name: str = "y") -> tuple[str, str | None, str]:
    output = comparison.output(name)
    assert (output.rung, output.passed) == ("different", False)
    assert output.problem is not None
    assert output.problem.startswith("dtype differs: actual ")
    assert output.notes[0] in as_line(comparison)
    return output.dtype.name, output.rung_of_values, output.notes[0]


class TestCodes:
    @pytest.mark.parametrize("dtype", [np.int16, np.int32, np.int64, np.float16, F32, np.float64])
    def test_of_a_wider_dtype_are_compared_as_int8(self, x: Array, dtype: DTypeLike) -> None:
        name = np.dtype(dtype).name
        says = f"y was {name}: compared as int8, losslessly; as int8 it is identical"
        found = of(quantized(x)[0].astype(dtype), x)
        assert values(found) == ("int8", "identical", says)
        assert f"dtype differs: actual {name}, golden int8" in as_line(found)
        assert "give y as int8, if the dtype is not what is tested" in as_line(found)

    def test_that_rounding_explains_are_a_tie(self, x: Array) -> None:
        found = of(by_reciprocal(x).astype(np.int32), x)
        assert values(found)[:2] == ("int8", "tie")
        assert found.outputs[0].ties is not None
        assert "as int8 it is a tie" in as_line(found)
        assert "rounding: each is one step" in as_line(found)

    def test_that_another_formula_gives_name_it(self, x: Array) -> None:
        v = x.astype(F32) / quantized(x)[1][:, None]
        found = of(np.trunc(v), x)  # float32, with many a -0
        assert values(found)[:2] == ("int8", "variant")
        assert 'identical to: "truncation"' in as_line(found)

    def test_that_are_wrong_are_located(self, x: Array) -> None:
        wrong = quantized(x)[0].astype(np.int32)
        wrong[7] = 0
        found = of(wrong, x)
        assert values(found)[:2] == ("int8", "different")
        assert "only in row 7" in as_line(found)
        assert "row 7 is 0 everywhere" in as_line(found)

    def test_a_tolerance_says_so_and_does_not_pass(self, x: Array) -> None:
        wrong = quantized(x)[0].astype(np.int32)
        wrong[7, 7] += 1 if wrong[7, 7] < 0 else -1
        assert values(of(wrong, x, atol={"y": 1}))[:2] == ("int8", "tolerated")
        with pytest.raises(GoldenMismatch, match=r"as int8 it is\s+tolerated"):
            assert_golden(wrong, op=OP, inputs={"input": x}, atol=1)

    def test_that_do_not_fit_widen_the_golden(self, x: Array) -> None:
        wrong = quantized(x)[0].astype(np.int32)
        wrong[7, 7] = 200
        found = of(wrong, x)
        says = "y was int32, which int8 does not hold: compared as int32, losslessly; "
        assert values(found) == ("int32", "different", says + "it is different")
        assert found.outputs[0].ties is None  # 128 of int32 is no step from 127 of int8
        assert "worst [7, 7] actual 200, golden" in as_line(found)

    def test_that_are_beyond_int8_are_no_rounding(self, x: Array) -> None:
        wrong = quantized(x)[0].astype(np.int32)
        wrong[0, np.argmax(wrong[0])] = 128
        found = of(wrong, x)
        assert values(found)[:2] == ("int32", "different")
        assert "rounding" not in as_line(found)

    def test_that_were_never_rounded(self, x: Array) -> None:
        found = of(x.astype(F32) / quantized(x)[1][:, None], x)
        assert values(found)[:2] == ("float32", "different")

    @pytest.mark.parametrize("bad", [np.nan, np.inf, -0.5, 127.5])
    def test_no_float_is_lost(self, bad: float, x: Array) -> None:
        floats = quantized(x)[0].astype(F32)
        floats[0, 0] = bad
        assert values(of(floats, x))[:2] == ("float32", "different")

    def test_with_an_offset_of_128(self, x: Array) -> None:
        y = quantized(x)[0]
        found = of((y.astype(np.int16) + 128).astype(np.uint8), x)
        says = "y was uint8: minus 128 compared as int8; as int8 it is identical"
        assert values(found) == ("int8", "identical", says)
        back = compare(y, (y.astype(np.int16) + 128).astype(np.uint8))
        assert back.outputs[0].notes[0] == (
            "actual was int8: plus 128 compared as uint8; as uint8 it is identical"
        )

    def test_as_bytes(self, x: Array) -> None:
        says = "y was uint8: its bytes compared as int8; as int8 it is identical"
        assert values(of(quantized(x)[0].view(np.uint8), x)) == ("int8", "identical", says)

    def test_unrelated_bytes_are_numbers(self, x: Array, rng: np.random.Generator) -> None:
        random = rng.integers(0, 256, x.shape).astype(np.uint8)
        assert values(of(random, x))[:2] == ("int16", "different")

    @pytest.mark.parametrize(
        ("dtype", "of_values"),
        [(np.int32, F32), (np.int16, np.float16), (np.int16, ml_dtypes.bfloat16)],
    )
    def test_small_integers_are_no_bytes_of_floats(
        self, dtype: DTypeLike, of_values: DTypeLike, rng: np.random.Generator
    ) -> None:
        """As such they would lie next to 0, which is nearer a golden near 0 than they are."""
        golden = rng.standard_normal((64, 128))
        codes = np.rint(30 * golden).astype(dtype)
        found = compare(codes, golden.astype(of_values))
        assert "compared as" in as_line(found)
        assert "its bytes" not in as_line(found)

    @pytest.mark.parametrize("value", [0, np.nan])
    def test_bytes_of_floats_of_which_some_are_wrong(
        self, value: float, rng: np.random.Generator
    ) -> None:
        golden = rng.standard_normal((64, 128)).astype(F32)
        actual = golden.copy()
        actual[3] = value
        assert "its bytes compared as float32" in as_line(compare(actual.view(np.int32), golden))

    @pytest.mark.parametrize("yes", [255, -1])
    def test_a_mask_has_no_other_bytes(self, yes: int, rng: np.random.Generator) -> None:
        """NumPy takes any byte for True: of a mask of other bytes it finds no difference."""
        golden = rng.random((16, 32)) < 0.5
        actual = (golden * yes).astype(np.uint8 if yes > 0 else np.int8)
        assert "its bytes" not in as_line(compare(actual, golden))

    @pytest.mark.parametrize("dtype", [np.int16, np.int32, F32])
    def test_of_int4(self, x: Array, dtype: DTypeLike) -> None:
        packed = quantized(x, dst_type="int4")[0]
        inputs = {"input": x, "dst_type": "int4"}
        plain = npu_quant.formats.unpack_int4(packed)
        found = compare(plain.astype(dtype), op=OP, inputs=inputs)
        assert values(found)[:2] == ("int8", "identical")
        assert "compared as int4, losslessly; as int4 it is identical" in as_line(found)

    @pytest.mark.parametrize("name", ["float8_e4m3fn", "float8_e5m2", "hifloat8"])
    def test_of_small_floats_as_their_numbers(self, x: Array, name: str) -> None:
        y = quantized(x, dst_type=name)[0]
        numbers = npu_quant.formats.decode(y, name)
        found = compare(numbers.astype(F32), op=OP, inputs={"input": x, "dst_type": name})
        assert values(found)[1:] == (
            "identical",
            f"y was float32: compared as {name}, losslessly; as {name} it is identical",
        )
        off = numbers.astype(F32)
        off[0, 0] = 1.01
        found = compare(off, op=OP, inputs={"input": x, "dst_type": name})
        assert values(found)[:2] == ("float32", "different")

    @pytest.mark.parametrize("dtype", [np.int8, np.int16, np.int32])
    def test_of_hifloat8_as_integers(self, x: Array, dtype: DTypeLike) -> None:
        y = quantized(x, dst_type="hifloat8")[0]
        found = compare(y.astype(dtype), op=OP, inputs={"input": x, "dst_type": "hifloat8"})
        assert values(found)[:2] == ("uint8", "identical")


class TestScales:
    @pytest.mark.parametrize("dtype", [np.float16, ml_dtypes.bfloat16])
    def test_of_16_bits_are_compared_as_float32(self, x: Array, dtype: DTypeLike) -> None:
        y, scale = quantized(x)
        found = of((y, scale.astype(dtype)), x)
        assert found.output("y").rung == "identical"
        dtype_name, rung, note = values(found, "scale")
        assert (dtype_name, found.output("scale").metrics is None) == ("float32", False)
        assert rung in ("different", "variant")
        name = np.dtype(dtype).name
        assert note.startswith(f"scale was {name}: compared as float32, losslessly; as float32 it")
        assert "64 scales differ, by up to" in as_line(found)

    def test_of_a_bfloat16_formula_name_it(self, x: Array) -> None:
        y, scale = quantized(x)
        found = of((y, scale.astype(ml_dtypes.bfloat16)), x)
        assert values(found, "scale")[1] == "variant"
        assert "bf16 scale" in as_line(found)

    def test_that_are_exact_in_a_wide_dtype(self, x: Array) -> None:
        y, scale = quantized(x)
        found = of((y, scale.astype(np.float64)), x)
        assert values(found, "scale")[:2] == ("float32", "identical")
        assert "give scale as float32" in as_line(found)

    def test_that_a_wide_dtype_has_more_exactly(self, x: Array) -> None:
        y, scale = quantized(x)
        found = of((y, scale.astype(np.float64) * (1 + 1e-12)), x)
        assert values(found, "scale")[:2] == ("float64", "different")

    def test_codes_follow_from_them(self, x: Array) -> None:
        scale = quantized(x)[1].astype(np.float16)
        v = x.astype(F32) / scale.astype(F32)[:, None]
        y = np.clip(np.rint(v), -128, 127).astype(np.int8)
        assert of((y, scale), x).output("y").follows_scale is True


class TestTwoArrays:
    @pytest.mark.parametrize(
        ("actual", "golden", "dtype"),
        [
            (np.uint8([0, 1, 1]), np.array([False, True, True]), "bool"),
            (np.float16([1, 2.5, np.nan]), np.array([1, 2.5, np.nan]), "float64"),
            (np.array([1, 2], ">i2"), np.int16([1, 2]), "int16"),
            (np.float32([1, 3]), np.array([1, 3], ml_dtypes.bfloat16), "bfloat16"),
            (np.array([1, -3], ml_dtypes.bfloat16).view(np.uint16),
             np.array([1, -3], ml_dtypes.bfloat16), "bfloat16"),
        ],
    )  # fmt: skip
    def test_of_equal_values(self, actual: Array, golden: Array, dtype: str) -> None:
        found = compare(actual, golden)
        assert values(found, "")[:2] == (dtype, "identical")
        assert found.outputs[0].notes[0].startswith("actual was ")

    def test_that_neither_dtype_holds_meet_in_a_third(self) -> None:
        half, brain = np.float16([0.1, 2]), np.array([1e30, 2], ml_dtypes.bfloat16)
        found = compare(half, brain)
        assert values(found, "")[:2] == ("float32", "different")
        assert found.outputs[0].metrics is not None
        assert found.outputs[0].metrics.mismatches == 1

    def test_that_no_dtype_holds_are_not_compared(self) -> None:
        found = compare(np.int64([2**62 + 1]), np.float32([0.5]))
        assert found.outputs[0].metrics is None
        assert "dtype differs: actual int64, golden float32" in as_line(found)

    def test_of_other_shapes_are_not_compared(self) -> None:
        found = compare(np.int32([1, 2]), np.int8([1]))
        assert (found.outputs[0].metrics, found.outputs[0].notes) == (None, ())

    def test_without_elements(self) -> None:
        found = compare(np.zeros((0, 4), np.int32), np.zeros((0, 4), np.int8))
        assert values(found, "")[:2] == ("int8", "identical")

    def test_strides(self) -> None:
        golden = np.arange(-60, 60, dtype=np.int8).reshape(4, 30).T
        for actual in (golden.astype(np.int32), golden.view(np.uint8) ^ 0x80):
            assert values(compare(actual, golden), "")[1] == "identical"

    def test_a_preset_is_heeded(self) -> None:
        found = compare(np.float64([1, 2]), np.float32([1, 2]), preset="cann")
        assert values(found, "")[1] == "identical"


SMALL = ("bfloat16", "float8_e4m3fn", "float8_e5m2", "float8_e8m0fnu", "float4_e2m1fn", "int4")
DTYPES = [np.dtype(code) for code in "?bBhHiIqQefd"] + [np.dtype(">i2"), np.dtype(">f4")]
DTYPES += [np.dtype(getattr(ml_dtypes, name)) for name in SMALL]


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_no_pair_of_dtypes_passes_or_fails_to_compare(
    dtype: np.dtype, rng: np.random.Generator
) -> None:
    for other in DTYPES:
        if other == dtype:
            continue
        bits = [
            rng.integers(0, 2 if d.kind == "b" else 256, 40 * d.itemsize) for d in (dtype, other)
        ]
        unrelated = [b.astype(np.uint8).view(d) for b, d in zip(bits, (dtype, other), strict=True)]
        powers = rng.integers(
            1, 2 if "b" in (dtype.kind, other.kind) else 3, 40
        )  # of all but e8m0, no 0
        equal = [powers.astype(d) for d in (dtype, other)]
        for sides, rungs in ((unrelated, ("different", None)), (equal, ("identical",))):
            found = compare(*sides)
            assert not found.passed
            assert found.outputs[0].rung_of_values in rungs
            assert len(str(found).splitlines()) <= 12


class TestReports:
    def test_all_say_so(self, x: Array, tmp_path: Path) -> None:
        y = quantized(x)[0]
        found = of(y.astype(np.int32), x)
        note = found.outputs[0].notes[0]
        data = json.loads(json.dumps(found.to_dict()))["outputs"][0]
        assert (data["rung"], data["rung_of_values"]) == ("different", "identical")
        assert (data["notes"], data["dtype"]) == ([note], "int8")
        assert "<li>dtype differs: actual int32, golden int8</li>" in found._repr_html_()
        assert f">{note}</td>" in found._repr_html_()
        for side, array in (("npu", y.astype(np.int32)), ("cpu", y)):
            (tmp_path / side).mkdir()
            np.save(tmp_path / side / "y.npy", array)
        row = compare_folders(tmp_path / "npu", tmp_path / "cpu").rows[0]
        assert (row.rung, row.passed, row.problem) == ("different", False, found.outputs[0].problem)
        assert row.found == note.replace("y was", "actual was")

    def test_explain_takes_another_dtype(self, x: Array) -> None:
        y = by_reciprocal(x)
        names = [match.name for match in explain(y, OP, {"input": x}).matches]
        assert [m.name for m in explain(y.astype(F32), OP, {"input": x}).matches] == names
        assert names
        with pytest.raises(DTypeError):
            explain(y + F32(0.5), OP, {"input": x})

    def test_files_are_read_in_pieces(self, tmp_path: Path, rng: np.random.Generator) -> None:
        golden = rng.integers(-128, 128, (9000, 1024)).astype(np.int8)
        actual = golden.astype(np.int32)
        for name, array in (("a", actual), ("g", golden)):
            np.save(tmp_path / f"{name}.npy", array)
        source = load(tmp_path / "a.npy")
        longest = 0
        read = source.read

        def watched(begin: int, end: int) -> Array:
            nonlocal longest
            longest = max(longest, end - begin)
            return read(begin, end)

        source.read = watched  # type: ignore[method-assign]
        found = compare(source, load(tmp_path / "g.npy"))
        assert values(found, "")[1] == "identical"
        assert 0 < longest < golden.size
