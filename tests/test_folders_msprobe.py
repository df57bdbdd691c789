"""compare_folders on msprobe's dumps: order of execution, operators, ties, what follows from them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from folders import A, B, changed, names, save
from msprobe_dumps import Dump

import npu_quant
from npu_quant.errors import ParamError
from npu_quant.golden import FolderComparison, compare_folders

QUANT = "NPU.npu_dynamic_quant.{}.forward"
OPS = {"NPU.npu_dynamic_quant.*": "npu_dynamic_quant"}


def activations(seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).standard_normal((64, 1024)).astype(np.float16)


def as_the_device(x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Quantize by multiplying with 1 / scale: some codes next to a tie are the neighbouring ones."""
    scale = npu_quant.npu_dynamic_quant(x).scale
    y = np.rint(x.astype(np.float32) * (np.float32(1) / scale)[:, None]).astype(np.int8)
    assert 0 < np.count_nonzero(y != npu_quant.npu_dynamic_quant(x).y) < 20
    return y, scale


def wrong_row(x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Quantize row 7 with a scale that is 1 % off."""
    y, scale = npu_quant.npu_dynamic_quant(x)
    scale[7] *= np.float32(0.99)
    y[7] = np.clip(np.rint(x[7].astype(np.float32) / scale[7]), -128, 127)
    return y, scale


@pytest.fixture
def dumps(sides: tuple[Path, Path]) -> tuple[Dump, Dump]:
    """Return two dumps of a process without a rank, whose number is another each time."""
    return Dump(sides[0] / "step0" / "proc4711"), Dump(sides[1] / "step0" / "proc42")


def compared(dumps: tuple[Dump, Dump], **options: Any) -> FolderComparison:
    for dump in dumps:
        dump.write()
    roots = (dump.folder.parent.parent for dump in dumps)
    return compare_folders(*roots, **options)


def rungs(found: FolderComparison) -> dict[str, str]:
    """Return verdicts by the last parts of the names; of what fails with a "!"."""
    return {
        row.name.rpartition("/")[2].replace(".forward", ""): row.rung + "!" * (not row.passed)
        for row in found.rows
    }


class TestOrder:
    def test_is_that_of_dump_json(self, dumps: tuple[Dump, Dump]) -> None:
        for dump in dumps:
            dump.call("Torch.zeta.0.forward", (A,), (B,))
            dump.call("Functional.alpha.0.forward", (B,), (A,))
        found = compared(dumps)
        assert found.passed
        assert names(found) == [
            f"step0/proc/{name}"
            for name in (
                "Torch.zeta.0.forward.input.0",
                "Torch.zeta.0.forward.output.0",
                "Functional.alpha.0.forward.input.0",
                "Functional.alpha.0.forward.output.0",
            )
        ]

    def test_a_module_ends_after_what_it_calls(self, dumps: tuple[Dump, Dump]) -> None:
        """It is listed when it is entered; the first that differs is what it calls."""
        outer, inner = "Module.net.Net.forward.0", "Module.net.fc.Linear.forward.0"
        for dump, last in zip(dumps, (changed(B), B), strict=True):
            dump.call(outer, (A,), ())
            dump.call(inner, (A,), (), outer)
            dump.call("Torch.matmul.0.forward", (A,), (last,), inner)
            dump.call(inner, (), (last,))
            dump.call("Torch.relu.0.forward", (last,), (B,), outer)
            dump.call(outer, (), (B,))
        found = compared(dumps)
        order = [name.rpartition("/")[2] for name in names(found)]
        assert order == [
            f"{outer}.input.0",
            f"{inner}.input.0",
            "Torch.matmul.0.forward.input.0",
            "Torch.matmul.0.forward.output.0",
            f"{inner}.output.0",
            "Torch.relu.0.forward.input.0",
            "Torch.relu.0.forward.output.0",
            f"{outer}.output.0",
        ]
        assert found.first is not None
        assert found.first.name.endswith("Torch.matmul.0.forward.output.0")
        arises = "its input is identical: the difference arises in Torch.matmul.0.forward"
        assert found.origin == arises
        assert found.rows[4].notes == ("the same arrays as " + found.first.name,)

    @pytest.mark.parametrize("call", ["Torch.matmul.0.forward", "Torch.relu.0.forward"])
    def test_an_input_of_one_side_may_be_the_origin(self, dumps: Any, call: str) -> None:
        for dump, last, more in zip(dumps, (changed(B), B), ((A,), ()), strict=True):
            for name in ("Torch.matmul.0.forward", "Torch.relu.0.forward"):
                dump.call(name, (A, *(more if name == call else ())), (last,))
        arises = "its input is identical: the difference arises in Torch.matmul.0.forward"
        assert compared(dumps).origin == (arises if "relu" in call else "")

    def test_steps_and_ranks(self, sides: tuple[Path, Path]) -> None:
        for side in sides:
            for folder in ("step10/rank0", "step9/rank1", "step9/rank0"):
                dump = Dump(side / folder)
                dump.call("Torch.add.0.forward", (A, 2), (B,), alpha=3)
                dump.write()
        found = compare_folders(*sides)
        assert found.passed
        assert [name.rpartition("/")[0] for name in names(found)][::2] == [
            "step9/rank0",
            "step9/rank1",
            "step10/rank0",
        ]

    def test_without_dump_json_it_is_that_of_the_names(self, dumps: tuple[Dump, Dump]) -> None:
        for dump in dumps:
            for number in (10, 9):
                dump.call(f"Torch.add.{number}.forward", (A,), (B,))
            dump.write()
            (dump.folder / "dump.json").unlink()
        found = compare_folders(*(dump.folder for dump in dumps))
        assert [name[:13] for name in names(found)][::2] == ["Torch.add.9.f", "Torch.add.10."]

    @pytest.mark.parametrize("text", ["{", "[1]", '{"data": 3}', "[" * 100_000, "\xff"])
    def test_a_dump_json_that_is_none(self, dumps: tuple[Dump, Dump], text: str) -> None:
        for dump in dumps:
            dump.call("Torch.add.0.forward", (A,), (B,))
            dump.write()
        (dumps[0].folder / "dump.json").write_text(text, encoding="latin-1")
        found = compare_folders(*(dump.folder for dump in dumps))
        assert len(found.rows) == 2
        assert found.passed
        assert "dump.json (" in str(found)


class TestWhatIsNotThere:
    def test_a_file_that_dump_json_lists(self, dumps: tuple[Dump, Dump]) -> None:
        """As where the tool could not save a tensor of the device's own layout."""
        for dump in dumps:
            dump.call("Torch.add.0.forward", (A,), (B,))
        (dumps[0].folder / "dump_tensor_data" / "Torch.add.0.forward.input.0.npy").unlink()
        found = compared(dumps)
        assert [row.passed for row in found.rows] == [False, True]
        assert "is listed in dump.json, but is not there" in (found.rows[0].problem or "")
        for file in (dumps[0].folder / "dump_tensor_data").iterdir():
            file.rename(dumps[0].folder / file.name)
        (dumps[0].folder / "dump_tensor_data").rmdir()
        assert [row.passed for row in compared(dumps).rows] == [False, True]

    def test_names_that_lead_elsewhere_are_not_followed(self, dumps: tuple[Dump, Dump]) -> None:
        for dump in dumps:
            dump.call("Torch.add.0.forward", (A,), (B,))
            save(dump.folder, secret=A)
            output = dump.data["Torch.add.0.forward"]["output"]
            output.append({"type": "torch.Tensor", "data_name": "../secret.npy"})
        found = compared(dumps)
        assert {row.name: row.passed for row in found.rows[2:]} == {
            "step0/proc/../secret": False,
            "step0/proc/secret": True,
        }

    def test_dtypes_that_npy_has_no_name_for(self, dumps: tuple[Dump, Dump]) -> None:
        for dump in dumps:
            dump.call("Torch.add.0.forward", (B.astype(ml_dtypes.bfloat16),), (A,))
        found = compared(dumps)
        assert found.passed
        assert found.rows[0].dtype == "bfloat16"

    def test_statistics_alone_are_refused(self, dumps: tuple[Dump, Dump]) -> None:
        for dump in dumps:
            dump.data["Torch.add.0.forward"] = {"output": [{"type": "torch.Tensor", "Max": 1}]}
        with pytest.raises(ParamError, match="statistics only; dump with the task tensor"):
            compared(dumps)


class TestOperators:
    def test_ties_pass_and_go_on_as_ties(self, dumps: tuple[Dump, Dump]) -> None:
        """A device's ordinary dump: codes next to a tie, and what reads them."""
        x = activations()
        for dump, (y, scale) in zip(
            dumps, (as_the_device(x), npu_quant.npu_dynamic_quant(x)), strict=True
        ):
            dump.call(QUANT.format(0), (x,), (y, scale), dst_type=np.dtype(np.int8))
            dump.call("Torch.view.0.forward", (y,), (y,))
        assert not compared(dumps).passed
        found = compared(dumps, ops=OPS)
        assert found.passed, found
        assert rungs(found) == {
            "NPU.npu_dynamic_quant.0.input.0": "identical",
            "NPU.npu_dynamic_quant.0.output.0": "tie",
            "NPU.npu_dynamic_quant.0.output.1": "identical",
            "Torch.view.0.input.0": "tie",
            "Torch.view.0.output.0": "tie",
        }
        assert found.rows[1].op == "npu_dynamic_quant"
        assert 0 < found.rows[1].margin < 1
        assert str(found).startswith("OK (tie): 5 arrays: 2 identical, 3 tie")

    def test_a_fault_fails_and_is_explained(self, dumps: tuple[Dump, Dump]) -> None:
        x = activations()
        for dump, both in zip(dumps, (wrong_row(x), npu_quant.npu_dynamic_quant(x)), strict=True):
            dump.call(QUANT.format(0), (x,), tuple(both))
        found = compared(dumps, ops=OPS)
        assert [row.passed for row in found.rows] == [True, False, False]
        assert [row.comparison is None for row in found.rows] == [True, False, False]
        assert found.first is not None
        assert "only in row 7" in found.first.report
        assert found.first.found.startswith("the scale of row 7 is wrong by -1 %")
        assert found.origin.endswith("the difference arises in NPU.npu_dynamic_quant.0.forward")

    def test_what_follows_from_its_inputs_is_told_but_does_not_pass(
        self, dumps: tuple[Dump, Dump]
    ) -> None:
        for dump, x in zip(dumps, (changed(activations()), activations()), strict=True):
            dump.call(QUANT.format(0), (x,), tuple(npu_quant.npu_dynamic_quant(x)))
        found = compared(dumps, ops=OPS)
        assert found.rows[0].rung == "different"
        assert found.rows[1].rung == "different"
        assert "it follows from its inputs, which differ" in found.rows[1].notes[0]
        assert found.origin == "it is an input: what changed it is not in the dumps"

    def test_what_follows_from_accepted_inputs_passes_as_they_do(
        self, dumps: tuple[Dump, Dump]
    ) -> None:
        x = activations()
        for dump, y in zip(
            dumps, (as_the_device(x)[0], npu_quant.npu_dynamic_quant(x).y), strict=True
        ):
            half = 2 * y.astype(np.float16)
            y, scale = npu_quant.npu_dynamic_quant(half, smooth_scales=np.full(1024, 3, np.float16))
            dump.call(QUANT.format(0), (half, np.full(1024, 3, np.float16)), (y, scale))
        row = compared(dumps, ops=OPS, atol=2).rows[2]
        assert (row.passed, row.rung, row.differing) == (True, "tolerated", 0)
        assert row.notes == ("it follows from its inputs, which are accepted as tolerated",)

    def test_a_golden_that_is_wrong_itself_is_told(self, dumps: tuple[Dump, Dump]) -> None:
        x = activations()
        for dump, outputs in zip(dumps, (as_the_device(x), wrong_row(x)), strict=True):
            dump.call(QUANT.format(0), (x,), tuple(outputs))
        found = compared(dumps, ops=OPS)
        assert [row.passed for row in found.rows] == [True, False, False]
        assert found.rows[1].problem == (
            "the golden is not what npu_dynamic_quant makes of its inputs; actual is"
        )

    def test_a_golden_without_inputs_is_judged_by_the_actual_ones(
        self, dumps: tuple[Dump, Dump]
    ) -> None:
        x = activations()
        dumps[0].call(QUANT.format(0), (x,), as_the_device(x))
        dumps[1].call(QUANT.format(0), (), tuple(npu_quant.npu_dynamic_quant(x)))
        found = compared(dumps, ops=OPS)
        assert rungs(found)["NPU.npu_dynamic_quant.0.output.0"] == "tie"
        assert [one.file.rpartition("/")[2] for one in found.only_actual] == [
            "NPU.npu_dynamic_quant.0.forward.input.0.npy"
        ]
        assert not found.passed

    def test_other_attributes_are_no_tie(self, dumps: tuple[Dump, Dump]) -> None:
        x = activations()
        smooth = np.linspace(0.5, 1.5, 1024).astype(np.float16)
        for dump, mode in zip(dumps, ("pertoken", "pertensor"), strict=True):
            y, scale = npu_quant.npu_dynamic_quant(x, smooth_scales=smooth)
            y = changed(y) if mode == "pertoken" else y
            dump.call(QUANT.format(0), (x,), (y, scale), smooth_scales=smooth, quant_mode=mode)
        found = compared(dumps, ops=OPS)
        note = "not judged by npu_dynamic_quant: quant_mode differs: actual 'pertoken', golden 'pertensor'."
        assert found.first is not None
        assert found.first.notes == (note,)

    def test_an_operator_that_cannot_be_asked_leaves_the_plain_verdict(
        self, dumps: tuple[Dump, Dump]
    ) -> None:
        x = activations()
        for dump, outputs in zip(
            dumps, (as_the_device(x), npu_quant.npu_dynamic_quant(x)), strict=True
        ):
            dump.call(QUANT.format(0), (x,), tuple(outputs), dst_type=np.dtype(np.int64))
        found = compared(dumps, ops=OPS)
        assert rungs(found)["NPU.npu_dynamic_quant.0.output.0"] == "different!"
        assert "not judged by npu_dynamic_quant: " in found.rows[1].notes[-1]

    def test_a_tolerance_is_not_for_what_the_operator_gives(self, dumps: tuple[Dump, Dump]) -> None:
        """Else one that zeros would keep could pass here."""
        x = activations()
        for dump, outputs in zip(
            dumps, (wrong_row(x), npu_quant.npu_dynamic_quant(x)), strict=True
        ):
            dump.call(QUANT.format(0), (x,), tuple(outputs))
        found = compared(dumps, ops=OPS, atol=300)
        assert [row.passed for row in found.rows] == [True, False, False]
        found = compared(dumps, ops=OPS, atol=2)
        assert [row.passed for row in found.rows] == [True, True, False]
        assert found.rows[1].rung == "tolerated"  # of a scale near 0.02 zeros would keep 2

    def test_gradients_are_not_the_operators(self, dumps: tuple[Dump, Dump]) -> None:
        for dump, y in zip(dumps, (changed(B), B), strict=True):
            dump.call(QUANT.format(0), (activations(),), (A,))
            dump.call(QUANT.format(0).replace("forward", "backward"), (A,), (y,))
        found = compared(dumps, ops=OPS)
        assert [(row.passed, row.notes) for row in found.rows[2:]] == [(True, ()), (False, ())]

    def test_names_alone_say_what_an_input_is(self, sides: tuple[Path, Path]) -> None:
        x = activations()
        smooth = np.ones(1024, np.float16)
        for side, (y, scale) in zip(
            sides, (as_the_device(x), npu_quant.npu_dynamic_quant(x)), strict=True
        ):
            made = {"input.0": x, "kwargs.smooth_scales": smooth, "output.0": y, "output.1": scale}
            save(side, **{f"{QUANT.format(3)}.{name}": array for name, array in made.items()})
        assert not compare_folders(*sides).passed
        found = compare_folders(*sides, ops=OPS)
        assert found.passed, found
        assert found.rows[2].rung == "tie"


class TestMapping:
    def test_names_what_is_what(self, sides: tuple[Path, Path]) -> None:
        x = activations()
        for side, (y, scale) in zip(
            sides, (as_the_device(x), npu_quant.npu_dynamic_quant(x)), strict=True
        ):
            save(side, layer3__x=x, layer3__codes=y, layer3__s=scale)
        rule: dict[str, Any] = {"op": "npu_dynamic_quant", "inputs": {"input": "x"}}
        rule["outputs"] = {"y": "layer3/codes", "scale": "s"}
        found = compare_folders(*sides, mapping={"layer3": rule})
        assert rungs(found) == {"codes": "tie", "s": "identical", "x": "identical"}
        path = sides[0].parent / "mapping.json"
        path.write_text(json.dumps({"layer3": rule}))
        assert compare_folders(*sides, mapping=path).passed
        cut = np.trunc(x.astype(np.float32) / npu_quant.npu_dynamic_quant(x).scale[:, None])
        save(sides[0], layer3__codes=cut.astype(np.int8))
        assert rungs(compare_folders(*sides, mapping={"layer3": rule}))["codes"] == "variant!"
        rule |= {"variant": "truncation", "numerics": "reference"}
        assert rungs(compare_folders(*sides, mapping={"layer3": rule}))["codes"] == "variant"
        rule["attributes"] = {"dst_type": "int64"}
        assert not compare_folders(*sides, mapping={"layer3": rule}).passed

    def test_adds_to_what_the_dump_says(self, dumps: tuple[Dump, Dump]) -> None:
        """Here the operator's results lie in what calls it."""
        x = activations()
        for dump, (y, scale) in zip(
            dumps, (as_the_device(x), npu_quant.npu_dynamic_quant(x)), strict=True
        ):
            dump.call("Module.quant.Quant.forward.0", (x, 3), ())
            dump.call("Torch.keep.0.forward", (), (y, scale))
        rule: dict[str, Any] = {"op": "npu_dynamic_quant"}
        rule["outputs"] = {"y": "Torch.keep.0.forward.output.0"}
        found = compared(dumps, mapping={"Module.quant.Quant.forward.0": rule})
        assert "not judged by npu_dynamic_quant: " in found.rows[1].notes[0]  # it takes no 3
        rule["attributes"] = {"smooth_scales": None}
        found = compared(dumps, mapping={"Module.quant.Quant.forward.0": rule})
        assert [row.rung for row in found.rows] == ["identical", "tie", "identical"]

    @pytest.mark.parametrize(
        ("mapping", "message"),
        [
            ({"a": "npu_none"}, "mapping 'a': op is 'npu_none', expected one of npu_dynamic_quant"),
            ({"a": {"inputs": {}}}, "the mapping of 'a' lacks 'op'; it takes op, inputs"),
            ({"a": {"op": "npu_quantize", "in": {}}}, "the mapping of 'a' has 'in'"),
            ({"a": {"op": "npu_quantize", "inputs": {"z": "x"}}}, "not 'z'"),
            ({"a": {"op": "npu_dynamic_quant", "outputs": {"z": "x"}}}, "has y, scale, not 'z'"),
            ({"a": {"op": "npu_quantize", "inputs": {"self": 3}}}, "inputs is not an object of"),
            ({"a": {"op": "npu_quantize", "attributes": 3}}, "attributes is not an object of"),
            ({"nowhere": "npu_quantize"}, "no call with outputs in both folders matches 'nowhere'"),
            ([1], "mapping is not an object"),
        ],
    )
    def test_is_checked(self, sides: tuple[Path, Path], mapping: Any, message: str) -> None:
        for side in sides:
            save(side, a=A)
        with pytest.raises(ParamError, match=message):
            compare_folders(*sides, mapping=mapping)

    def test_a_file_that_is_no_json(self, sides: tuple[Path, Path]) -> None:
        for side in sides:
            save(side, a=A)
        with pytest.raises(ParamError, match=r"a\.npy is not JSON"):
            compare_folders(*sides, mapping=sides[0] / "a.npy")
        with pytest.raises(FileNotFoundError):
            compare_folders(*sides, mapping="none.json")
