"""The pytest plugin: goldens that a test stores, and compares with later."""

from __future__ import annotations

import os
import shlex
import zipfile
from pathlib import Path
from typing import ClassVar

import ml_dtypes
import numpy as np
import pytest
from numpy.testing import assert_array_equal
from plugin_sessions import Session, arrays_in, text_of

from npu_quant import golden
from npu_quant.pytest_plugin import archive
from npu_quant.pytest_plugin.folders import safe

pytest_plugins = ["pytester", "plugin_sessions"]

STORES = "def test_it(npu_golden): npu_golden.stored(Y)"
FILE = "golden/test_it/test_it/y.npz"


class TestCompare:
    def test_the_first_run_fails_and_stores_nothing(self, session: Session, folder: Path) -> None:
        result = session(STORES, failed=1)
        result.stdout.fnmatch_lines(
            [
                f"E   Failed: npu_golden.stored: {FILE} is not stored yet.",
                "E   When the result is right, store it: pytest --npu-golden-update test_it.py::test_it",
            ]
        )
        assert "golden: 1 comparison: 1 missing" in result.outlines
        assert not (folder / "golden").exists()

    def test_the_command_it_names_stores(self, session: Session, folder: Path) -> None:
        source = "@pytest.mark.parametrize('a', ['b c'])\ndef test_it(npu_golden, a): npu_golden.stored(Y)"
        line = next(x for x in session(source).outlines if "pytest --npu-golden-update" in x)
        words = shlex.split(line.partition(": pytest ")[2])
        assert words == ["--npu-golden-update", "test_it.py::test_it[b c]"]
        session("", *words, passed=1)
        session("", passed=1)

    def test_the_next_run_passes(self, session: Session) -> None:
        session(STORES, "--npu-golden-update", passed=1)
        result = session("", passed=1)
        assert "golden: 1 comparison: 1 identical" in result.outlines

    def test_a_changed_result_fails(self, session: Session, folder: Path) -> None:
        session(STORES, "--npu-golden-update")
        before = (folder / FILE).read_bytes()
        result = session(STORES.replace("Y", "TIE"), failed=1)
        result.stdout.fnmatch_lines([f"E     y int8 (1, 4)*golden={FILE}"])
        assert (folder / FILE).read_bytes() == before

    AGAIN: ClassVar[dict[str, tuple[str, int]]] = {
        "within a tolerance": (STORES.replace("Y", "TIE, atol=1"), 1),
        "beyond a tolerance": (STORES.replace("Y", "WRONG, atol=1"), 0),
        "within the marker's": (
            f"@pytest.mark.npu_golden(atol=1)\n{STORES.replace('Y', 'TIE')}",
            1,
        ),
        "a dict in another order": (STORES.replace("Y", "{'b': SCALE, 'a': Y}"), 1),
    }

    @pytest.mark.parametrize("what", AGAIN)
    def test_what_passes_later(self, session: Session, what: str) -> None:
        source, passed = self.AGAIN[what]
        first = "{'a': Y, 'b': SCALE}" if "dict" in what else "Y"
        session(STORES.replace("Y", first), "--npu-golden-update")
        session(source, passed=passed, failed=1 - passed)

    def test_a_golden_of_other_arrays_fails(self, session: Session) -> None:
        session(STORES.replace("Y", "{'a': Y, 'b': SCALE}"), "--npu-golden-update")
        result = session(STORES.replace("Y", "{'a': Y}"), failed=1)
        result.stdout.fnmatch_lines([f"E * npu_golden.stored: {FILE} has a, b; the result has a."])


class TestUpdate:
    def test_a_new_golden(self, session: Session, folder: Path) -> None:
        result = session(STORES, "--npu-golden-update", passed=1)
        assert "golden: 1 comparison: 1 new" in result.outlines
        result.stdout.fnmatch_lines(
            ["*= golden update =*", "test_it.py::test_it", f"  new {FILE}: y int8 (1, 4)"]
        )
        with np.load(folder / FILE) as stored:
            assert stored.files == ["y"]
            assert stored["y"].dtype == np.int8
            assert stored["y"].tolist() == [[0, 32, -64, 127]]

    def test_a_changed_golden_is_shown(self, session: Session, folder: Path) -> None:
        session(STORES, "--npu-golden-update")
        result = session(STORES.replace("Y", "WRONG"), "--npu-golden-update", passed=1)
        assert "golden: 1 comparison: 1 updated" in result.outlines
        result.stdout.fnmatch_lines(
            [
                "*= golden update =*",
                "test_it.py::test_it",
                f"  updated {FILE}",
                "    * y int8 (1, 4) *",
                "      1 of 4 codes differs *",
            ]
        )
        with np.load(folder / FILE) as stored:
            assert stored["y"].tolist() == [[0, 32, -62, 127]]

    def test_what_a_tolerance_lets_pass_is_stored_all_the_same(
        self, session: Session, folder: Path
    ) -> None:
        session(STORES, "--npu-golden-update")
        session(STORES.replace("Y", "TIE, atol=1"), "--npu-golden-update")
        with np.load(folder / FILE) as stored:
            assert stored["y"].tolist() == [[0, 32, -63, 127]]

    def test_an_equal_golden_is_left_alone(self, session: Session, folder: Path) -> None:
        session(STORES, "--npu-golden-update")
        os.utime(folder / FILE, ns=(10**18, 10**18))
        identity = (folder / FILE).stat()
        result = session("", "--npu-golden-update", passed=1)
        assert "golden: 1 comparison: 1 identical" in result.outlines
        assert "golden update" not in text_of(result)
        now = (folder / FILE).stat()
        assert (now.st_mtime_ns, now.st_ino) == (10**18, identity.st_ino)

    def test_an_array_more_is_an_update(self, session: Session, folder: Path) -> None:
        session("def test_it(npu_golden): npu_golden.stored({'a': Y})", "--npu-golden-update")
        result = session(
            "def test_it(npu_golden): npu_golden.stored({'a': Y, 'b': Y})", "--npu-golden-update"
        )
        result.stdout.fnmatch_lines([f"  updated {FILE}, which has a; the result has a, b"])
        assert list(archive.read(folder / FILE)) == ["a", "b"]

    @pytest.mark.parametrize(
        ("result", "says"),
        [
            ("Y * 0", "allow_constant=True"),
            ("Y[:0]", "empty"),
            ("{'a': Y, 'b': Y[:0]}", "empty"),
            ("{}", "no arrays"),
            ("(None, None)", "no arrays"),
        ],
    )
    def test_what_is_no_golden_is_not_stored(
        self, session: Session, folder: Path, result: str, says: str
    ) -> None:
        run = session(
            f"def test_it(npu_golden): npu_golden.stored({result})", "--npu-golden-update", failed=1
        )
        run.stdout.fnmatch_lines([f"E * npu_golden.stored does not store {FILE}: *{says}*"])
        assert "golden: 1 comparison: 1 refused" in run.outlines
        assert not (folder / "golden").exists()

    @pytest.mark.parametrize("result", ["Y * 0, allow_constant=True", "{'a': Y, 'b': Y * 0}"])
    def test_a_constant_may_be_meant_or_stand_beside_what_varies(
        self, session: Session, result: str
    ) -> None:
        session(
            f"def test_it(npu_golden): npu_golden.stored({result})", "--npu-golden-update", passed=1
        )
        session("", passed=1)

    def test_only_stored_goldens_are_updated(self, session: Session) -> None:
        session("def test_it(npu_golden): npu_golden(WRONG, Y)", "--npu-golden-update", failed=1)

    def test_a_write_that_is_cut_short_leaves_the_old(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        file = tmp_path / "y.npz"
        archive.write(file, {"y": np.arange(4)})
        before = file.read_bytes()

        def fail(*_: object) -> None:
            raise OSError("no room")

        monkeypatch.setattr(archive, "_write_member", fail)
        with pytest.raises(OSError, match="no room"):
            archive.write(file, {"y": np.arange(5)})
        assert file.read_bytes() == before
        assert [p.name for p in tmp_path.iterdir()] == ["y.npz"]


class TestNames:
    def test_a_tuple_by_numbers_by_names_or_by_the_operator(
        self, session: Session, folder: Path
    ) -> None:
        source = """
        def test_it(npu_golden):
            npu_golden.stored((Y, SCALE), name="a")
            npu_golden.stored((Y, SCALE), name="b", names=("codes", "steps"))
            npu_golden.stored((Y, SCALE), name="c", op="npu_dynamic_quant")
            npu_golden.stored((Y,), name="d", op="npu_dynamic_quant")
        """
        session(source, "--npu-golden-update", passed=1)
        session("", passed=1)
        held = {p.stem: list(archive.read(p)) for p in (folder / FILE).parent.iterdir()}
        assert held == {"a": ["0", "1"], "b": ["codes", "steps"], "c": ["y", "scale"], "d": ["y"]}

    def test_a_name_is_used_once(self, session: Session) -> None:
        twice = "def test_it(npu_golden):\n    npu_golden.stored(Y)\n    npu_golden.stored(SCALE)"
        result = session(twice, "--npu-golden-update", failed=1)
        result.stdout.fnmatch_lines(["*ParamError: npu_golden.stored: 'y' was compared before*"])

    @pytest.mark.parametrize("name", ["../y", "", ".y", "a/b", "a b", "-y"])
    def test_a_name_is_one_of_a_file(self, session: Session, folder: Path, name: str) -> None:
        result = session(
            f"def test_it(npu_golden): npu_golden.stored(Y, {name!r})",
            "--npu-golden-update",
            failed=1,
        )
        assert f"ParamError: npu_golden.stored: name is {name!r}, expected" in text_of(result)
        assert arrays_in(folder) == []

    def test_every_test_has_a_folder_of_its_own(self, session: Session, folder: Path) -> None:
        source = """
        @pytest.mark.parametrize("a", ["fp16", "a/b", "a b", "x" * 300, "a::b", "a.b"])
        def test_it(npu_golden, a): npu_golden.stored(Y)

        class TestThem:
            def test_it(self, npu_golden): npu_golden.stored(Y)
        """
        session(source, "--npu-golden-update", passed=7)
        session("", passed=7)
        names = sorted(p.name for p in (folder / "golden/test_it").iterdir())
        assert len(names) == 7
        assert {"TestThem.test_it", "test_it-fp16", "test_it-a.b"} < set(names)
        assert max(map(len, names)) < 120

    @pytest.mark.parametrize(
        ("name", "folder"),
        [
            ("test_rows", "test_rows"),
            ("test_rows[fp16-1]", "test_rows-fp16-1"),
            ("TestA.test_rows[0.5]", "TestA.test_rows-0.5"),
            ("test_rows[a/b]", "test_rows-a_b-"),
            ("test_rows[../..]", "test_rows-.._..-"),
            ("test_rows[ä]", "test_rows-_-"),
        ],
    )
    def test_a_tests_name_as_a_folders(self, name: str, folder: str) -> None:
        made = safe(name)
        assert made.startswith(folder)
        assert len(made) - len(folder) == (8 if folder.endswith("-") else 0)

    def test_beside_the_test_or_where_it_is_told(self, session: Session, folder: Path) -> None:
        session(STORES, "--npu-golden-update", module="sub/test_a")
        session("", "--npu-golden-update", "--npu-golden-dir=else where")
        stored = {str(p.relative_to(folder)) for p in folder.rglob("*.npz")}
        assert stored == {"sub/golden/test_a/test_it/y.npz", "else where/sub/test_a/test_it/y.npz"}
        session("", "--npu-golden-dir=else where", passed=1)
        result = session("", "--npu-golden-dir=no where", failed=1)
        assert (
            "pytest --npu-golden-update --npu-golden-dir 'no where' sub/test_a.py::test_it"
            in text_of(result)
        )


CARRIED = [
    ml_dtypes.bfloat16,
    ml_dtypes.float8_e4m3fn,
    ml_dtypes.float8_e5m2,
    ml_dtypes.float8_e8m0fnu,
    ml_dtypes.int4,
]


class TestArchive:
    @pytest.mark.parametrize("scalar", CARRIED, ids=lambda d: d.__name__)
    def test_every_bit_of_an_ml_dtype(self, tmp_path: Path, scalar: type) -> None:
        dtype = np.dtype(scalar)
        codes = np.arange(256, dtype=np.uint8).repeat(dtype.itemsize).view(f"u{dtype.itemsize}")
        codes = codes & 0xF if dtype == ml_dtypes.int4 else codes
        archive.write(tmp_path / "a.npz", {"y": codes.view(dtype), "n": np.float32([1, 2])})
        held = archive.read(tmp_path / "a.npz")
        assert (held["y"].dtype, held["n"].dtype) == (dtype, np.float32)
        assert held["y"].tobytes() == codes.tobytes()
        with np.load(tmp_path / "a.npz") as plain:
            assert plain["y"].dtype == codes.dtype
            assert_array_equal(plain["y"], codes)
            assert plain["y.dtype"] == dtype.name.encode()

    @pytest.mark.parametrize("scalar", CARRIED[:4], ids=lambda d: d.__name__)
    def test_the_package_reads_it_in_its_dtype(self, tmp_path: Path, scalar: type) -> None:
        archive.write(tmp_path / "a.npz", {"y": np.array([[1, 2], [4, 8]]).astype(scalar)})
        with golden.load(tmp_path / "a.npz") as source:
            assert (source.dtype, source.shape) == (np.dtype(scalar), (2, 2))
            assert source.array().astype(np.float32).tolist() == [[1, 2], [4, 8]]

    @pytest.mark.parametrize(
        "array",
        [
            np.array(3, dtype=np.int8),
            np.zeros((0, 3), dtype=np.float16),
            np.arange(24, dtype=np.int32).reshape(2, 3, 4)[:, ::-1, ::2],
            np.asfortranarray(np.arange(6, dtype=np.float32).reshape(2, 3)),
            np.array([True, False]),
            np.array([np.nan, -0.0, np.inf]),
        ],
    )
    def test_shapes_and_orders(self, tmp_path: Path, array: np.ndarray) -> None:
        archive.write(tmp_path / "a.npz", {"y": array})
        held = archive.read(tmp_path / "a.npz")["y"]
        assert (held.dtype, held.shape) == (array.dtype, array.shape)
        assert held.tobytes() == array.tobytes()

    def test_the_same_arrays_are_the_same_bytes(self, tmp_path: Path) -> None:
        rows = np.arange(6, dtype=np.float32).reshape(2, 3)
        archive.write(tmp_path / "a.npz", {"y": rows, "z": rows.astype(ml_dtypes.bfloat16)})
        other = np.asfortranarray(rows)
        archive.write(tmp_path / "b.npz", {"y": other, "z": other.astype(ml_dtypes.bfloat16)})
        assert (tmp_path / "a.npz").read_bytes() == (tmp_path / "b.npz").read_bytes()
        with zipfile.ZipFile(tmp_path / "a.npz") as members:
            assert {m.date_time for m in members.infolist()} == {(1980, 1, 1, 0, 0, 0)}
        archive.write(tmp_path / "c.npz", {"y": rows + 1, "z": rows.astype(ml_dtypes.bfloat16)})
        assert (tmp_path / "a.npz").read_bytes() != (tmp_path / "c.npz").read_bytes()

    def test_others_may_read_it(self, tmp_path: Path) -> None:
        archive.write(tmp_path / "a.npz", {"y": np.arange(3)})
        (tmp_path / "b").write_bytes(b"")
        modes = {(tmp_path / name).stat().st_mode for name in ("a.npz", "b")}
        assert len(modes) == 1

    @pytest.mark.parametrize("name", ["finfo", "bfloat16", "os", "\xff"])
    def test_a_dtype_that_does_not_fit_is_refused(self, tmp_path: Path, name: str) -> None:
        with zipfile.ZipFile(tmp_path / "a.npz", "w") as members:
            with members.open("y.npy", "w") as member:
                np.save(member, np.arange(3, dtype=np.uint8))
            members.writestr("y.dtype", name.encode("latin1"))
        with pytest.raises(ValueError, match=r"which uint8 does not stand for|is not known"):
            archive.read(tmp_path / "a.npz")

    def test_pickles_are_refused(self, tmp_path: Path) -> None:
        np.savez(tmp_path / "a.npz", y=np.array([{}], dtype=object))
        with pytest.raises(ValueError, match="object, which is pickled"):
            archive.read(tmp_path / "a.npz")
