"""compare_folders: which arrays go together, in which order, what fails, and what is refused."""

from __future__ import annotations

import json
import pickle
import zipfile
from pathlib import Path

import numpy as np
import pytest
from as_line import as_line
from folders import A, B, changed, names, save
from golden_files import archive, npy, put, safetensors, storage, tensor, torch_file

from npu_quant import golden
from npu_quant.errors import ParamError
from npu_quant.golden import compare_folders
from npu_quant.golden.folders import rows


class TestVerdicts:
    def test_the_same_arrays_pass(self, sides: tuple[Path, Path]) -> None:
        for side in sides:
            save(side, a=A, deep__b=B)
        found = compare_folders(*sides)
        assert found.passed
        assert found.first is None
        assert found.refusal is None
        assert [(row.rung, row.count, row.differing, row.margin) for row in found.rows] == [
            ("identical", 12, 0, 0.0),
            ("identical", 6, 0, 0.0),
        ]
        head, *files = str(found).splitlines()
        assert head == "OK (identical): 2 arrays: 2 identical"
        assert " ".join("".join(files).split()) == f"actual={sides[0]} golden={sides[1]}"

    def test_one_element_fails_and_is_named(self, sides: tuple[Path, Path]) -> None:
        save(sides[0], a=A, b=changed(B), c=changed(A))
        save(sides[1], a=A, b=B, c=A)
        found = compare_folders(*sides)
        assert not found.passed
        assert found.first is not None
        assert found.first.name == "b"
        assert [row.name for row in found.failing] == ["b", "c"]
        assert found.first.worst == pytest.approx(1)
        head, table, more = str(found).split("\n\n")
        assert as_line(head).startswith(
            "DIFFERENT: 2 of 3 arrays fail, first b: [0] actual 0, golden -1 (+100 %) (1 of 6 values) "
        )
        assert head.splitlines()[-1] == "  of 3 arrays: 1 identical, 2 different"
        assert [line.split(maxsplit=2) for line in table.splitlines()] == [
            ["array", "verdict", "found"],
            ["b", "different", "[0] actual 0, golden -1 (+100 %) (1 of 6 values)"],
            ["c", "different", "may be rounding: each is one step (1 of 12 codes)"],
        ]
        assert more.splitlines()[0] == "b"
        assert "1 of 6 values differs" in more
        assert "1 of 6 values differs" in found.first.report
        assert "rerun: npu-quant compare " in found.first.report

    def test_the_command_that_compares_again_is_one_line(self, sides: tuple[Path, Path]) -> None:
        save(sides[0], **{"b\nc": changed(B)})
        save(sides[1], **{"b\nc": B})
        (row,) = compare_folders(*sides).rows
        commands = [line for line in row.report.splitlines() if "rerun: " in line]
        assert [command.count(r"/b\nc.npy'") for command in commands] == [2]

    def test_limits_are_those_of_compare(self, sides: tuple[Path, Path]) -> None:
        x = np.arange(1000, dtype=np.int8)
        save(sides[0], x=changed(x))
        save(sides[1], x=x)
        for limits, passed in [
            ({"atol": 1}, True),
            ({"atol": 0.5}, False),
            ({"preset": "off_by_one"}, True),
            ({"preset": "exact"}, False),
        ]:
            found = compare_folders(*sides, **limits)
            assert found.passed == passed, limits
            assert found.rows[0].rung == ("tolerated" if passed else "different")
        with pytest.raises(ParamError, match="expected a number of 0 or more"):
            compare_folders(*sides, atol=-1)
        with pytest.raises(ParamError, match="atol and rtol are numbers"):
            compare_folders(*sides, atol={"x": 1})  # type: ignore[arg-type]

    def test_a_preset_holds_for_what_it_speaks_of(self, sides: tuple[Path, Path]) -> None:
        """CANN's standard excludes integers: these have to be the same."""
        x = np.linspace(1, 2, 1000, dtype=np.float16)
        near = x.copy()
        near[7] = np.nextafter(near[7], np.float16(3))
        save(sides[0], x=near, y=A)
        save(sides[1], x=x, y=A)
        assert [row.rung for row in compare_folders(*sides, preset="cann").rows] == [
            "tolerated",
            "identical",
        ]
        save(sides[0], y=changed(A))
        assert [row.passed for row in compare_folders(*sides, preset="cann").rows] == [True, False]

    def test_a_tolerance_that_zeros_would_keep_does_not_pass(
        self, sides: tuple[Path, Path]
    ) -> None:
        save(sides[0], a=changed(A), b=B)
        save(sides[1], a=A, b=B)
        found = compare_folders(*sides, atol=100)
        assert [row.passed for row in found.rows] == [False, True]
        assert "would also accept all zeros" in (found.rows[0].problem or "")

    def test_shapes_and_dtypes_that_differ_are_rows(self, sides: tuple[Path, Path]) -> None:
        save(sides[0], a=A, b=A, c=A)
        save(sides[1], a=A.astype(np.uint8), b=A.reshape(4, 3), c=A)
        found = compare_folders(*sides)
        assert [row.passed for row in found.rows] == [False, False, True]
        assert found.rows[0].problem == "dtype differs: actual int8, golden uint8"
        assert "shape differs: actual (3, 4), golden (4, 3)" in (found.rows[1].problem or "")

    def test_nan_against_a_number_is_infinitely_far(self, sides: tuple[Path, Path]) -> None:
        save(sides[0], b=np.where(B == 1, np.nan, B))
        save(sides[1], b=B)
        assert compare_folders(*sides).rows[0].worst == np.inf


class TestPairs:
    def test_what_has_no_partner_fails(self, sides: tuple[Path, Path]) -> None:
        save(sides[0], a=A, more=A)
        save(sides[1], a=A, lost=A, other__lost=A)
        found = compare_folders(*sides)
        assert not found.passed
        assert names(found) == ["a"]
        assert [one.name for one in found.only_actual] == ["more"]
        assert [one.name for one in found.only_golden] == ["lost", "other/lost"]
        assert str(found).startswith("DIFFERENT: 3 arrays without a partner\n")
        assert "  only in the golden: lost.npy, other/lost.npy" in str(found).splitlines()

    def test_names_that_differ_in_case_are_pointed_at(self, sides: tuple[Path, Path]) -> None:
        save(sides[0], a=A, Y=A)
        save(sides[1], a=A, y=A)
        found = compare_folders(*sides)
        assert not found.passed
        assert found.only_actual[0].note == "the other has y.npy: upper and lower case differ"

    def test_formats_go_together(self, sides: tuple[Path, Path]) -> None:
        save(sides[0], x=A, y=A, z=A)
        data = torch_file(
            tensor((3, 4), count=12, kind="torch.CharStorage", strides=(4, 1)), {"0": A.tobytes()}
        )
        put(sides[1] / "x.pt", data)
        put(sides[1] / "y.npz", archive({"only.npy": npy(A)}))
        entry = {"dtype": "I8", "shape": [3, 4], "data_offsets": [0, 12]}
        put(sides[1] / "z.safetensors", safetensors({"only": entry}, A.tobytes()))
        found = compare_folders(*sides)
        assert found.passed, found
        assert [(row.actual, row.golden) for row in found.rows] == [
            ("x.npy", "x.pt"),
            ("y.npy", "y.npz::only"),
            ("z.npy", "z.safetensors::only"),
        ]

    def test_keys_go_together(self, sides: tuple[Path, Path]) -> None:
        for side, last in zip(sides, (changed(A), A), strict=True):
            np.savez(side / "w.npz", layer10=last, layer9=A, **{"only" + side.name: A})
        found = compare_folders(*sides)
        assert names(found) == ["w::layer9", "w::layer10"]
        assert [row.passed for row in found.rows] == [True, False]
        assert [one.file for one in found.only_actual] == ["w.npz::onlynpu"]

    def test_two_files_go_by_their_keys(self, sides: tuple[Path, Path]) -> None:
        np.savez(sides[0] / "npu.npz", y=A, scale=B)
        np.savez_compressed(sides[1] / "golden.npz", scale=B, y=changed(A))
        found = compare_folders(sides[0] / "npu.npz", sides[1] / "golden.npz")
        assert names(found) == ["scale", "y"]
        assert [row.passed for row in found.rows] == [True, False]

    def test_two_files_of_one_array(self, sides: tuple[Path, Path]) -> None:
        save(sides[0], some=A)
        np.savez(sides[1] / "other.npz", key=A)
        assert compare_folders(sides[0] / "some.npy", sides[1] / "other.npz").passed

    def test_the_same_suffix_goes_before_another(self, sides: tuple[Path, Path]) -> None:
        for side in sides:
            save(side, x=A)
            np.savez(side / "x.npz", B)
        found = compare_folders(*sides)
        assert found.passed
        assert len(found.rows) == 2

    def test_two_of_one_name_are_refused(self, sides: tuple[Path, Path]) -> None:
        save(sides[0], x=A)
        np.savez(sides[0] / "x.npz", x=A, y=A)
        put(sides[0] / "x.pt", torch_file(storage("torch.CharStorage", "0", 1)))
        np.savez(sides[1] / "x.npz", x=A, y=A)
        np.savez(sides[1] / "deep.npz", x=A)
        found = compare_folders(*sides)  # x.npy has no partner, which is no question of names
        assert names(found) == ["x::x", "x::y"]
        (sides[0] / "x.npz").unlink()
        (sides[1] / "x.npz").unlink()
        np.savez(sides[1] / "x.npz", A)
        with pytest.raises(ParamError, match=r"x\.npy and x\.pt have the same name, 'x'"):
            compare_folders(*sides)

    def test_the_same_key_twice_is_unreadable(self, sides: tuple[Path, Path]) -> None:
        save(sides[0], a=A)
        save(sides[1], a=A)
        put(sides[0] / "w.npz", archive({"y.npy": npy(A)}))
        with (
            zipfile.ZipFile(sides[0] / "w.npz", "a") as target,
            pytest.warns(match="Duplicate name"),
        ):
            target.writestr("y.npy", npy(A))
        np.savez(sides[1] / "w.npz", y=A)
        found = compare_folders(*sides)
        assert not found.passed
        assert "two members named y.npy" in str(found)

    def test_numbers_of_any_length_are_ordered(self, sides: tuple[Path, Path]) -> None:
        keys = ["a10", "a" + "9" * 5000, "a9", "a009b", "a1" + "0" * 5000]
        for side in sides:
            put(side / "w.npz", archive({f"{key}.npy": npy(A) for key in keys}))
        order = [name.removeprefix("w::") for name in names(compare_folders(*sides))]
        assert order == ["a9", "a009b", "a10", keys[1], keys[4]]

    def test_numbers_in_names_are_numbers(self, sides: tuple[Path, Path]) -> None:
        for side in sides:
            save(side, **{f"step{n}__{m}_y": A for n in (10, 9) for m in (2, 11)}, first=A)
        assert names(compare_folders(*sides)) == [
            "first",
            "step9/2_y",
            "step9/11_y",
            "step10/2_y",
            "step10/11_y",
        ]


def test_progress_is_told_up_to_all_of_it(sides: tuple[Path, Path]) -> None:
    for side in sides:
        save(side, a=A, b=B)
        np.savez(side / "w.npz", x=A, y=A)
    told: list[tuple[int, int]] = []
    compare_folders(*sides, progress=lambda *both: told.append(both))
    done = [part for part, _ in told]
    assert done == sorted(done)
    assert told[-1][0] == told[-1][1] == sum(f.stat().st_size for f in sides[0].iterdir())


def test_data_is_what_json_takes(sides: tuple[Path, Path]) -> None:
    save(sides[0], a=changed(A), b=np.array([np.nan]), more=A)
    save(sides[1], a=A, b=np.array([1.0]))
    data = json.loads(json.dumps(compare_folders(*sides).to_dict(), allow_nan=False))
    assert (data["passed"], data["first"], data["schema_version"]) == (False, "a", 1)
    assert data["rows"][0]["metrics"]["mismatches"] == 1
    assert data["rows"][0]["margin"] == "inf"
    assert data["only_actual"] == [{"name": "more", "file": "more.npy", "note": ""}]
    assert data["rows"][1]["report"].startswith(
        "DIFFERENT: [0] actual NaN, golden 1 (1 of 1 value)\n"
    )


def test_a_row_that_fails_has_its_comparison_for_a_closer_look(sides: tuple[Path, Path]) -> None:
    save(sides[0], a=changed(A))
    save(sides[1], a=A)
    found = compare_folders(*sides)
    comparison = found.row("a").comparison
    assert isinstance(comparison, golden.Comparison)
    assert [e.index for e in comparison.worst()] == [(0, 0)]
    with pytest.raises(KeyError):
        found.row("b")
    assert pickle.loads(pickle.dumps(found)) == found
    assert repr(found) == "<FolderComparison of 1 arrays: 1 differ>"


def test_of_very_many_rows_that_fail_the_first_are_kept_whole(
    sides: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rows, "MOST_KEPT", 2)
    for name in "abcd":
        save(sides[0], **{name: A if name == "a" else changed(A)})
        save(sides[1], **{name: A})
    found = compare_folders(*sides)
    assert [row.comparison is None for row in found.rows] == [True, False, False, True]
    assert found.to_html().count("<pre>DIFFERENT") == 1
