"""The pytest plugin: when a golden is stored, what happens to a damaged one, and to subtests."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from plugin_sessions import Session, arrays_in, text_of

from npu_quant.pytest_plugin import archive

pytest_plugins = ["pytester", "plugin_sessions"]

STORES = "def test_it(npu_golden): npu_golden.stored(Y)"
FILE = "golden/test_it/test_it/y.npz"
UPDATE = "--npu-golden-update"
COMMAND = "pytest --npu-golden-update test_it.py::test_it"


class TestWhen:
    @pytest.mark.parametrize(
        "ending",
        ["assert False", "npu_golden(WRONG, Y)", "pytest.skip('later')", "pytest.xfail('yet')"],
    )
    def test_a_test_that_does_not_pass_stores_nothing(
        self, session: Session, folder: Path, ending: str
    ) -> None:
        source = f"def test_it(npu_golden):\n    npu_golden.stored(Y)\n    {ending}"
        result = session(source, UPDATE)
        assert result.parseoutcomes().get("passed", 0) == 0
        assert not (folder / FILE).exists()
        assert f"  not written, the test did not pass: new {FILE}: y int8 (1, 4)" in result.outlines
        assert "1 not written" in text_of(result)

    def test_the_old_one_stays(self, session: Session, folder: Path) -> None:
        session(STORES, UPDATE)
        before = (folder / FILE).read_bytes()
        result = session(
            "def test_it(npu_golden):\n    npu_golden.stored(WRONG)\n    assert False", UPDATE
        )
        assert (folder / FILE).read_bytes() == before
        assert f"  not written, the test did not pass: updated {FILE}" in result.outlines

    def test_what_the_test_does_to_its_array_later_is_not_stored(
        self, session: Session, folder: Path
    ) -> None:
        source = (
            "def test_it(npu_golden):\n    y = Y.copy()\n    npu_golden.stored(y)\n    y[:] = 0"
        )
        session(source, UPDATE, passed=1)
        assert archive.read(folder / FILE)["y"].tolist() == [[0, 32, -64, 127]]

    @pytest.mark.parametrize(("holds", "stored"), [("True", True), ("False", False)])
    def test_in_fixtures_too(
        self, session: Session, folder: Path, holds: str, stored: bool
    ) -> None:
        result = session(
            f"""
            @pytest.fixture
            def around(npu_golden):
                npu_golden.stored(Y, "before")
                yield
                npu_golden.stored(Y, "after")

            def test_it(around): assert {holds}
            """,
            UPDATE,
            passed=int(stored),
            failed=int(not stored),
        )
        names = sorted(p.stem for p in folder.rglob("*.npz"))
        assert names == (["after", "before"] if stored else [])
        label = "2 new" if stored else "2 not written"
        assert f"golden: 2 comparisons: {label}" in result.outlines

    def test_one_that_cannot_be_written_is_an_error(self, session: Session, folder: Path) -> None:
        (folder / "golden").write_text("a file, not a folder")
        result = session(STORES, UPDATE, passed=1, errors=1)
        assert f"npu_golden.stored: {FILE} cannot be written: " in text_of(result)
        assert "golden: 1 comparison: 1 not written" in result.outlines
        assert len(result.outlines) < 30

    def test_of_several_the_others_are_written(self, session: Session, folder: Path) -> None:
        (folder / FILE).mkdir(parents=True)
        source = f"{STORES}; npu_golden.stored(WRONG, 'z')"
        session(source, UPDATE, passed=1, errors=1)
        assert (folder / FILE.replace("y.npz", "z.npz")).is_file()


class TestDamaged:
    def damages(self, folder: Path) -> list[bytes]:
        """Return what may be in place of a stored golden."""
        whole = (folder / FILE).read_bytes()
        at = whole.index(b"\x93NUMPY")
        return [
            b"",
            b"not an archive",
            whole[:-30],
            whole[: at + 60] + b"?" + whole[at + 61 :],
            whole[: at + 129] + b"\x21" + whole[at + 130 :],
        ]

    @pytest.mark.parametrize("which", range(5))
    def test_it_is_told_in_few_lines(self, session: Session, folder: Path, which: int) -> None:
        session(STORES, UPDATE)
        damaged = self.damages(folder)[which]
        (folder / FILE).write_bytes(damaged)
        result = session("", failed=1)
        errors = [line for line in result.outlines if line.startswith("E ")]
        why = "is not a zip archive" if damaged == b"not an archive" else ""
        assert errors[0].startswith(f"E   Failed: npu_golden.stored: {FILE} cannot be read: {why}")
        assert errors[1] == f"E   Restore it, or store what is right now: {COMMAND}"
        assert len(errors) == 2
        assert max(map(len, errors)) < 300
        assert len(result.outlines) < 30
        assert "golden: 1 comparison: 1 unreadable" in result.outlines
        session("", UPDATE, passed=1)
        session("", passed=1)

    def test_no_memory(self, session: Session, monkeypatch: pytest.MonkeyPatch) -> None:
        session(STORES, UPDATE)

        def fail(*_: object, **__: object) -> None:
            raise MemoryError

        monkeypatch.setattr(archive, "load", fail)
        result = session("", failed=1)
        result.stdout.fnmatch_lines([f"E * {FILE} cannot be read: MemoryError*"])

    @pytest.mark.parametrize("place", ["golden", "golden/test_it/test_it"])
    def test_a_file_where_a_folder_should_be(
        self, session: Session, folder: Path, place: str
    ) -> None:
        (folder / place).parent.mkdir(parents=True, exist_ok=True)
        (folder / place).write_text("a file")
        result = session(STORES, failed=1)
        result.stdout.fnmatch_lines([f"E * {FILE} cannot be read: *ot a directory*"])

    def test_a_folder_where_the_file_should_be(self, session: Session, folder: Path) -> None:
        (folder / FILE).mkdir(parents=True)
        assert len(session(STORES, failed=1).outlines) < 40
        assert len(session(STORES, UPDATE, passed=1, errors=1).outlines) < 40

    def test_two_members_of_a_name_are_refused(self, tmp_path: Path) -> None:
        import zipfile

        archive.write(tmp_path / "a.npz", {"y": np.arange(3)})
        with (
            pytest.warns(UserWarning, match="Duplicate"),
            zipfile.ZipFile(tmp_path / "a.npz", "a") as members,
        ):
            members.writestr("y.npy", members.read("y.npy"))
        with pytest.raises(ValueError, match=r"two members named y\.npy"):
            archive.read(tmp_path / "a.npz")


SUBTESTS = """
import unittest

class TestIt(unittest.TestCase):
    @pytest.fixture(autouse=True)
    def given(self, npu_golden): self.npu_golden = npu_golden

    def test_it(self):
        self.npu_golden.stored(Y)
        for result in ({}):
            with self.subTest(result=result):
                self.npu_golden(result, Y)
"""
WITH_FIXTURE = """
def test_it(npu_golden, subtests):
    for result in ({}):
        with subtests.test():
            npu_golden(result, Y)
    npu_golden.stored(Y)
"""


class TestSubtests:
    @pytest.mark.parametrize(
        "source", [SUBTESTS, pytest.param(WITH_FIXTURE, marks=pytest.mark.needs("subtests"))]
    )
    def test_the_arrays_of_one_that_fails_are_kept(
        self, session: Session, folder: Path, source: str
    ) -> None:
        result = session(source.format("TIE, Y + 0, WRONG, Y + 0"), UPDATE)
        kept = sorted(p.name for p in folder.rglob("*.npz"))
        assert kept == ["1.npz", "2.npz"]
        assert "golden: 5 comparisons: 2 identical, 1 not written, 2 different" in result.outlines
        session(source.format("Y + 0,"), UPDATE)
        assert [p.name for p in folder.rglob("*.npz")] == ["y.npz"]

    @pytest.mark.needs("subtests")
    def test_a_failure_after_a_subtest_that_passes(self, session: Session, folder: Path) -> None:
        source = """
        def test_it(npu_golden, subtests):
            npu_golden.stored(Y)
            with subtests.test():
                npu_golden(Y + 0, Y)
            assert False
        """
        session(source, UPDATE)
        assert arrays_in(folder) == []

    def test_those_of_a_test_that_another_plugin_fails_later(
        self, session: Session, folder: Path, pytester: pytest.Pytester
    ) -> None:
        pytester.makeconftest(
            """
            import pytest

            @pytest.hookimpl(hookwrapper=True, tryfirst=True)
            def pytest_runtest_makereport(item, call):
                report = (yield).get_result()
                if call.when == "call":
                    report.outcome = "failed"
                    report.longrepr = "checked"
            """
        )
        session(
            "def test_it(npu_golden):\n    with pytest.raises(GoldenMismatch): npu_golden(WRONG, Y)"
        )
        assert [p.name for p in folder.rglob("*.npz")] == ["1.npz"]
