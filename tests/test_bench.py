"""The bench: where its arrays lie, what it keeps of a run, and what it says has changed."""

from __future__ import annotations

from pathlib import Path

import pytest
from bench import arrays, machine
from bench.calls import Call
from bench.cases import Record
from bench.harness import Quartiles
from bench.history import Change, History, Ratios, ratios_of
from bench.report import Report

OLD: Ratios = {
    "op float16 8x16 aligned 1T": {
        "copy": Quartiles(0.5, 0.49, 0.51),
        "torch": Quartiles(2.0, 1.9, 2.1),
    },
    "op float16 1x16 aligned": {"overhead": Quartiles(0.5, 0.49, 0.51)},
}
SLOWER: Ratios = {
    "op float16 8x16 aligned 1T": {"copy": Quartiles(0.41239, 0.4, 0.42)},
    "op float16 9x16 aligned 1T": {"copy": Quartiles(1.0, 1.0, 1.0)},
}


@pytest.fixture
def history(tmp_path: Path) -> History:
    path = tmp_path / "some-cpu.json"
    History.read(path).record({"target": "avx512"}, OLD)
    return History.read(path)


@pytest.mark.parametrize("dtype", ["int8", "float16", "bfloat16", "float32"])
def test_arrays_begin_where_their_place_says(dtype: str) -> None:
    itemsize = arrays.dtype_named(dtype).itemsize
    starts = [arrays.empty((3, 5), dtype, place).ctypes.data % 64 for place in arrays.PLACES]
    assert dict(zip(arrays.PLACES, starts, strict=True)) == {
        "aligned": 0,
        "numpy": 16,
        "sliced": itemsize,
    }


class TestHistory:
    def test_what_is_kept_is_read(self, history: History) -> None:
        assert history.ratios == OLD
        assert history.machine["target"] == "avx512"
        assert {"date", "commit"} < set(history.machine)

    def test_what_a_run_leaves_out_stays(self, history: History) -> None:
        history.record({"target": "avx2"}, SLOWER)
        after = History.read(history.path)
        assert after.machine["target"] == "avx2"
        assert after.ratios == {
            **OLD,
            "op float16 8x16 aligned 1T": {
                "copy": Quartiles(0.412, 0.4, 0.42),
                "torch": Quartiles(2.0, 1.9, 2.1),
            },
            "op float16 9x16 aligned 1T": {"copy": Quartiles(1.0, 1.0, 1.0)},
        }

    def test_a_record_is_a_line_and_they_are_sorted(self, history: History) -> None:
        lines = [line for line in history.path.read_text().splitlines() if '"op ' in line]
        assert lines == [
            '  "op float16 1x16 aligned": {"overhead": [0.5, 0.49, 0.51]},',
            '  "op float16 8x16 aligned 1T": {"copy": [0.5, 0.49, 0.51], "torch": [2.0, 1.9, 2.1]}',
        ]

    def test_greater_is_faster_for_calls_too(self) -> None:
        seconds = Quartiles(1.0, 1.0, 1.0)
        ratios = dict.fromkeys(("copy", "numpy", "torch", "onnxruntime"), seconds)
        record = Record("op", "int8", "2x3", "sliced", 2, 12, "plain", 2, {}, ratios)
        ratio = Quartiles(2.0, 1.0, 4.0)
        call = Call("C", "add", "op", "int8", "1x16", "numpy", seconds, seconds, ratio)
        assert ratios_of([record], [call]) == {
            "op int8 2x3 sliced 2T": {"copy": seconds, "torch": seconds},
            "op int8 1x16 numpy": {"C": Quartiles(0.5, 0.25, 1.0)},
        }


class TestChanges:
    @pytest.mark.parametrize(
        ("old", "new", "is_noticed", "is_clear"),
        [
            ((1.0, 0.99, 1.01), (0.96, 0.95, 0.97), True, True),
            ((1.0, 0.99, 1.01), (1.04, 1.03, 1.05), True, True),
            ((1.0, 0.99, 1.01), (0.98, 0.97, 0.985), False, False),  # less than 3 %
            (
                (1.0, 0.95, 1.05),
                (0.96, 0.959, 0.961),
                True,
                False,
            ),  # the old quartiles hold the new
            ((1.0, 0.99, 1.01), (0.96, 0.90, 1.02), True, False),  # the new ones hold the old
        ],
    )
    def test_beyond_3_percent_and_both_quartile_ranges(
        self, old: tuple[float, ...], new: tuple[float, ...], is_noticed: bool, is_clear: bool
    ) -> None:
        change = Change("op", "copy", Quartiles(*old), Quartiles(*new))
        assert (change.is_noticed, change.is_clear) == (is_noticed, is_clear)

    def test_the_worst_is_first(self, history: History) -> None:
        faster = {"op float16 1x16 aligned": {"overhead": Quartiles(0.6, 0.6, 0.6)}}
        changes = history.changes(faster | SLOWER)
        assert [change.of for change in changes] == ["copy", "overhead"]
        assert [change.gain for change in changes] == pytest.approx([-0.175, 0.2], abs=1e-3)

    def test_the_last_line_counts(
        self, history: History, capsys: pytest.CaptureFixture[str]
    ) -> None:
        Report().changes(history, OLD | SLOWER)
        assert capsys.readouterr().out.splitlines()[-1] == "1 of 2 rows slower than 3 %, 0 faster"

    def test_without_a_file(self, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
        Report().changes(History.read(tmp_path / "some-cpu.json"), SLOWER)
        said = " ".join(capsys.readouterr().out.split())
        assert said.startswith("There is no bench/history/some-cpu.json")
        assert said.endswith("make bench BENCH=--record")


CPUINFO = {"vendor_id": "AuthenticAMD", "cpu family": "25", "model": "17"}


class TestCpuKind:
    @pytest.mark.parametrize(
        ("vendor", "kind"),
        [
            ("AuthenticAMD", "amd-family25-model17"),
            ("GenuineIntel", "intel-family25-model17"),
            ("HygonGenuine", "hygongenuine-family25-model17"),
        ],
    )
    def test_vendor_family_and_model(
        self, monkeypatch: pytest.MonkeyPatch, vendor: str, kind: str
    ) -> None:
        monkeypatch.setattr(machine, "_cpuinfo", lambda: CPUINFO | {"vendor_id": vendor})
        assert machine.cpu_kind() == kind

    def test_elsewhere_it_says_what_is_missing(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(machine, "_cpuinfo", dict)
        with pytest.raises(SystemExit, match=r"/proc/cpuinfo .* no 'vendor_id'"):
            machine.cpu_kind()
