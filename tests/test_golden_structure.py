"""What only one side has fails a comparison, unless None is written for it."""

from __future__ import annotations

import json
import math
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from as_line import as_line
from command_line import Say
from numpy.typing import NDArray

from npu_quant import (
    ParamError,
    fake_quantize_per_tensor_affine_cachemask,
    npu_dynamic_quant,
)
from npu_quant.golden import compare
from npu_quant.golden.api import run
from npu_quant.golden.judge.request import Request
from npu_quant.golden.operators.fake_quantize import FakeQuantize
from npu_quant.testing import GoldenMismatch, assert_golden

Array = NDArray[Any]
OP = "npu_dynamic_quant"
A, B, C = (np.arange(n, n + 4, dtype=np.int8) for n in (0, 10, 20))


def copy(*arrays: Array) -> tuple[Array, ...]:
    return tuple(array.copy() for array in arrays)


# actual, golden, names, and what is missing, extra and not compared. All that are compared agree.
STRUCTURES: list[tuple[Any, Any, Any, str, str, str]] = [
    (A, (A, B), None, "1", "", ""),
    ((A, B), A, None, "", "1", ""),
    (A, (A,), None, "", "", ""),
    ((A,), A, None, "", "", ""),
    ((A,), (A, B), None, "1", "", ""),
    ((A,), (A, B, C), None, "1 2", "", ""),
    ([A, B], (A,), None, "", "1", ""),
    ((), (A,), None, "0", "", ""),
    ((A,), (), None, "", "0", ""),
    ((A, None), (A, B), None, "", "", "1"),
    ((A, B), (A, None), None, "", "", "1"),
    ((A, None), (A, None), None, "", "", ""),
    ((A, None), (A,), None, "", "", ""),
    ((None, B), (A, B), None, "", "", "0"),
    ((A, None), (A, B, C), None, "2", "", "1"),
    ({"y": A}, {"y": A, "scale": B}, None, "scale", "", ""),
    ({"y": A, "scale": B}, {"y": A}, None, "", "scale", ""),
    ({"y": A, "s": B}, {"y": A, "scale": B}, None, "scale", "s", ""),
    ({"z": A}, {"y": A}, None, "y", "z", ""),
    ({}, {"y": A}, None, "y", "", ""),
    ({"y": A, "scale": None}, {"y": A, "scale": B}, None, "", "", "scale"),
    ({"y": A, "scale": B}, {"y": A, "scale": None}, None, "", "", "scale"),
    ({"y": A, "scale": None}, {"y": A}, None, "", "", ""),
    ({"scale": B, "y": A}, {"y": A, "scale": B}, None, "", "", ""),
    ({"y": A}, (A,), None, "0", "y", ""),
    ({"0": A}, (A, B), None, "1", "", ""),
    ((A,), (A, B), ("y", "scale"), "scale", "", ""),
    ((A, B), (A,), ("y", "scale"), "", "scale", ""),
    ((A,), (A,), ("y", "scale"), "", "", ""),
    (A, {"y": A, "scale": B}, ("y", "scale"), "scale", "", ""),
    ({"scale": B}, (A, B), ("y", "scale"), "y", "", ""),
    ({"scale": B, "y": None}, (A, B), ("y", "scale"), "", "", "y"),
]


def twin(golden: Any) -> Any:
    """Return other arrays of the same values, since what is compared with itself is refused."""
    if isinstance(golden, dict):
        return {name: twin(value) for name, value in golden.items()}
    if isinstance(golden, (tuple, list)):
        return type(golden)(twin(value) for value in golden)
    return None if golden is None else golden.copy()


class TestMissingAndExtra:
    @pytest.mark.parametrize(
        ("actual", "golden", "names", "missing", "extra", "not_compared"), STRUCTURES
    )
    def test_they_differ_unless_they_are_none(
        self, actual: Any, golden: Any, names: Any, missing: str, extra: str, not_compared: str
    ) -> None:
        golden = twin(golden)
        comparison = compare(actual, golden, names=names)
        lists = comparison.missing, comparison.extra, comparison.not_compared
        assert [" ".join(listed) for listed in lists] == [missing, extra, not_compared]
        wrong = {*missing.split(), *extra.split()}
        for one in comparison.outputs:
            assert (one.rung, one.passed) == (
                ("different", False) if one.name in wrong else ("identical", True)
            )
        data = comparison.to_dict()
        for key in ("missing", "extra", "not_compared"):
            assert data[key] == list(getattr(comparison, key))
        if not wrong:
            text = str(assert_golden(actual, golden, names=names))
            assert ("not compared: " + not_compared in text) == bool(not_compared)
            return
        with pytest.raises(GoldenMismatch) as caught:
            assert_golden(actual, golden, names=names)
        for what, listed in (("missing from", missing), ("extra in", extra)):
            said = f"{what} actual: {', '.join(listed.split())}"
            assert (said in as_line(caught.value).partition(".")[0]) == bool(listed)
        assert str(caught.value).endswith("write None for an output that is not to be compared")
        assert (caught.value.comparison.margin, caught.value.comparison.rung) == (
            math.inf,
            "different",
        )

    def test_an_array_without_a_name(self) -> None:
        comparison = compare(A, {"y": A})
        assert (comparison.missing, comparison.extra) == (("y",), ("",))
        assert "extra in actual: an array without a name\n" in str(comparison)

    def test_what_is_there_is_measured_all_the_same(self) -> None:
        comparison = compare({"y": A + 1, "z": B}, {"y": A, "scale": C}, atol=1)
        assert [(o.name, o.rung) for o in comparison.outputs] == [
            ("y", "tolerated"),
            ("z", "different"),
            ("scale", "different"),
        ]
        assert [o.dtype for o in comparison.outputs] == [np.int8] * 3
        assert "y: atol=1" in str(comparison)
        assert "extra: only actual has it" in comparison._repr_html_()
        assert comparison.worst(output="scale") == []

    def test_no_preset_or_limit_makes_up_for_it(self) -> None:
        for more in ({"atol": {"b": 999}}, {"preset": "off_by_one"}, {"atol": 999, "rtol": 9}):
            assert not compare({"a": A}, twin({"a": A, "b": B}), **more).passed

    def test_of_many_some_are_named(self) -> None:
        arrays = {f"n{i}": A for i in range(30)}
        text = str(compare({"n0": A}, twin(arrays)))
        assert "missing from actual: n1, n2, n3, n4, n5, n6, n7, n8 and 21 more\n" in text
        assert len(text.splitlines()) <= 12

    def test_an_axis_is_looked_for_in_what_is_there(self) -> None:
        for actual, golden in [((A,), (A + 1, B)), ((A + 1, B), (A,)), ((), (A,))]:
            assert not run(actual, golden, Request(axis=0)).passed
            with pytest.raises(ParamError, match="axis is 1, the arrays have rank 1"):
                run(actual, golden, Request(axis=1))

    def test_where_nothing_is_left_nothing_passes(self) -> None:
        for actual, golden in [((), ()), ({"a": None}, {"a": A}), ((A, None), (None, A))]:
            with pytest.raises(ParamError, match="no array can be compared"):
                compare(actual, golden)


X = np.array([[127, 0.5, 1.5, -2.5, 3.25, 8.75, -20.75]], np.float32)
Y, SCALE = npu_dynamic_quant(X)
FAKE = {
    "self": np.linspace(-1, 1, 64, dtype=np.float32),
    "scale": 0.01,
    "zero_point": 0,
    "quant_min": -128,
    "quant_max": 127,
}


class TestComputed:
    def test_an_array_alone_is_the_first_output(self) -> None:
        for actual in (Y, (Y, None), {"y": Y, "scale": None}):
            comparison = assert_golden(actual, op=OP, inputs={"input": X})
            assert [o.rung for o in comparison.outputs] == ["identical"]
            assert comparison.not_compared == ("scale",)

    @pytest.mark.parametrize("actual", [(Y,), [Y], {"y": Y}])
    def test_a_tuple_has_all(self, actual: Any) -> None:
        comparison = compare(actual, op=OP, inputs={"input": X})
        assert [o.rung for o in comparison.outputs] == ["identical", "different"]
        assert (comparison.rung, comparison.passed) == ("different", False)
        assert comparison.missing == ("scale",)
        with pytest.raises(GoldenMismatch, match="missing from actual: scale"):
            assert_golden(actual, op=OP, inputs={"input": X}, atol={"scale": 9})

    def test_of_a_golden_that_is_given_an_array_alone_is_all(self) -> None:
        comparison = compare(Y, (Y, SCALE), op=OP)
        assert comparison.missing == ("scale",)
        assert assert_golden((Y, None), (Y.copy(), SCALE.copy()), op=OP).passed
        assert compare((Y, SCALE), Y, op=OP).extra == ("scale",)

    def test_what_the_operator_does_not_give(self, monkeypatch: pytest.MonkeyPatch) -> None:
        result, mask = fake_quantize_per_tensor_affine_cachemask(**FAKE)
        monkeypatch.setattr(FakeQuantize, "golden", lambda self: (result, None))
        of = partial(compare, op="fake_quantize_per_tensor_affine_cachemask", inputs=FAKE)
        assert of((result, mask)).extra == ("mask",)
        for actual in ((result, None), (result,), result):
            assert (of(actual).rung, of(actual).not_compared) == ("identical", ())

    def test_what_the_report_of_a_pass_leaves_open(self) -> None:
        op = fake_quantize_per_tensor_affine_cachemask
        assert "\n  not compared: mask" in str(compare(op(**FAKE)[0], op=op, inputs=FAKE))


class TestCommandLine:
    @pytest.fixture
    def say(self, say: Say, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Say:
        """Return what runs `npu-quant compare` where there are files."""
        monkeypatch.chdir(tmp_path)
        np.save("x.npy", X)
        np.save("y.npy", Y)
        np.save("scale.npy", SCALE)
        np.savez("golden.npz", y=Y, scale=SCALE)
        return partial(say, "compare", "--op", OP)

    BOTH = ("golden.y=golden.npz::y", "golden.scale=golden.npz::scale")

    @pytest.mark.parametrize(
        ("words", "line"),
        [
            (("y=y.npy", *BOTH), "missing from actual: scale"),
            (("y=y.npy", "scale=scale.npy", BOTH[0]), "extra in actual: scale"),
        ],
    )
    def test_goldens_and_actual_files_go_together(
        self, say: Say, words: tuple[str, ...], line: str
    ) -> None:
        status, out, err = say(*words)
        assert (status, err) == (1, "")
        assert out.startswith(f"DIFFERENT: {line}\n")
        assert out.endswith("next: leave out an output that is not to be compared\n")

    @pytest.mark.parametrize(
        "words",
        [
            ("y=y.npy", "scale=None", *BOTH),
            ("y=y.npy", "scale=scale.npy", BOTH[0], "golden.scale=None"),
        ],
    )
    def test_none_is_said(self, say: Say, words: tuple[str, ...]) -> None:
        status, out, _ = say(*words)
        assert (status, "not compared: scale" in out) == (0, True)

    def test_nothing_is_left(self, say: Say) -> None:
        status, _, err = say("y=y.npy", "golden.scale=scale.npy", "scale=None", "golden.y=None")
        assert (status, "no array can be compared" in err) == (2, True)

    @pytest.mark.parametrize("more", [(), ("scale=None",)])
    def test_of_a_computed_golden_what_no_file_is_named_for(
        self, say: Say, more: tuple[str, ...]
    ) -> None:
        status, out, _ = say("y=y.npy", "input=x.npy", *more, "--json", "-")
        data = json.loads(out)
        assert (status, data["passed"], data["margin"]) == (0, True, 0)
        assert (data["not_compared"], data["missing"], data["extra"]) == (["scale"], [], [])
