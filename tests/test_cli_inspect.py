"""``npu-quant inspect`` and ``info``: statistics, tables."""

from __future__ import annotations

import json
import re
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from command_line import Say

import npu_quant
from npu_quant.commands import info, inspect
from npu_quant.commands.statistics import BINS, statistics_of
from npu_quant.golden import sources
from npu_quant.golden.sources import ArraySource

pytestmark = pytest.mark.usefixtures("here")

BF16, E4M3, E5M2 = ml_dtypes.bfloat16, ml_dtypes.float8_e4m3fn, ml_dtypes.float8_e5m2


class TestStatistics:
    NAN, INF = float("nan"), float("inf")
    VALUES = (NAN, INF, INF, -INF, 0.0, -0.0, 1.0, 2.0, -8.0, -8.0)

    @pytest.mark.parametrize("dtype", [np.float16, BF16, np.float32, np.float64, E5M2])
    def test_floats(self, dtype: Any) -> None:
        s = statistics_of(ArraySource(np.array(self.VALUES, dtype)))
        assert (s.count, s.nan, s.inf, s.minus_inf, s.zeros) == (10, 1, 2, 1, 2)
        assert (s.minimum, s.maximum) == (-8, 2)
        assert s.mean == pytest.approx(-13 / 6, rel=1e-12)
        assert s.deviation == pytest.approx((133 / 6 - (13 / 6) ** 2) ** 0.5, rel=1e-12)
        assert (s.at_least, s.at_greatest) == (0, 0)
        assert len(s.histogram) == BINS
        # Bins of 10 / 48 from -8: 0 is in bin 38, 1 in bin 43, 2 in the last.
        assert {i: n for i, n in enumerate(s.histogram) if n} == {0: 2, 38: 2, 43: 1, 47: 1}

    @pytest.mark.parametrize("dtype", [np.int8, np.int16, np.int32, np.int64])
    def test_integers(self, dtype: Any) -> None:
        top = np.iinfo(dtype).max
        s = statistics_of(ArraySource(np.array([-top - 1, -top, 0, 5, top, top], dtype)))
        assert s.limits == (-float(top), float(top))
        assert (s.at_least, s.at_greatest, s.zeros) == (2, 2, 1)
        assert (s.minimum, s.maximum) == (float(-top - 1), float(top))
        assert sum(s.histogram) == 6
        s = statistics_of(ArraySource(np.array([3, 3, 5], dtype)))
        assert s.histogram == (2, 0, 1)
        assert (s.at_least, s.at_greatest) == (0, 0)

    def test_bins_of_integers_hold_equally_many(self) -> None:
        every = np.arange(-127, 128).astype(np.int8)
        counts = statistics_of(ArraySource(every)).histogram
        assert counts == (6,) * 42 + (3,)

    def test_limits_of_floats(self) -> None:
        for dtype, top in [(np.float16, 65504), (E4M3, 448), (E5M2, 57344)]:
            s = statistics_of(ArraySource(np.array([-top, -top, top, 1], dtype)))
            assert (s.limits, s.at_least, s.at_greatest) == ((-top, top), 2, 1), dtype

    def test_the_whole_range_of_a_dtype_has_a_histogram(self) -> None:
        for dtype in (np.float64, np.float32, np.float16):
            top = np.finfo(dtype).max
            s = statistics_of(ArraySource(np.array([-top, 0, top], dtype)))
            assert {i: n for i, n in enumerate(s.histogram) if n} == {0: 1, 24: 1, 47: 1}

    def test_few(self) -> None:
        s = statistics_of(ArraySource(np.array([True, False, True])))
        assert (s.zeros, s.mean, s.histogram) == (1, 2 / 3, (1, 2))
        s = statistics_of(ArraySource(np.float32(3)))
        assert (s.count, s.minimum, s.maximum, s.deviation, s.histogram) == (1, 3, 3, 0, (1,))
        for empty in (np.zeros((0, 4), np.float32), np.zeros((4, 0), np.int8)):
            s = statistics_of(ArraySource(empty))
            assert (s.count, s.zeros, s.histogram) == (0, 0, ())
        s = statistics_of(ArraySource(np.full(3, np.nan, np.float32)))
        assert (s.nan, s.histogram, np.isnan([s.minimum, s.mean]).all()) == (3, (), True)

    @pytest.mark.parametrize("dtype", [np.int8, np.float16, BF16, np.float32, np.int64])
    def test_by_blocks(self, dtype: Any, monkeypatch: pytest.MonkeyPatch) -> None:
        array = (np.random.default_rng(0).standard_normal(10_007) * 20).astype(dtype)
        whole = statistics_of(ArraySource(array))
        monkeypatch.setattr(sources, "BLOCK_BYTES", 1000)
        seen: list[tuple[int, int]] = []
        parts = statistics_of(ArraySource(array), lambda done, total: seen.append((done, total)))
        assert parts.histogram == whole.histogram
        assert (parts.minimum, parts.maximum, parts.zeros) == (
            whole.minimum,
            whole.maximum,
            whole.zeros,
        )
        assert parts.mean == pytest.approx(array.astype(np.float64).mean(), rel=1e-9)
        assert len(seen) > 5
        assert seen[-1][0] == seen[-1][1]
        assert seen == sorted(seen)


class TestInspect:
    def test_an_array(self, say: Say) -> None:
        np.save("x.npy", np.array([[np.nan, np.inf, 0, 1], [2, 65504, -65504, 0]], np.float16))
        status, out, err = say("inspect", "x.npy")
        assert (status, err) == (0, "")
        assert out.splitlines()[0] == "x.npy  float16 (2, 4)  16 bytes"
        assert out.splitlines()[1].startswith("  range -65504 to 65504  mean 0.5  ")
        assert out.splitlines()[2] == "  NaN: 1  inf: 1  -inf: 0  zero: 2 (25 %)"
        limits = "  at the dtype's limits: 1 (12.5 %) at -65504, 1 (12.5 %) at 65504"
        assert out.splitlines()[3] == limits
        assert re.fullmatch(r"  -65504 \|[ ▁▂▃▄▅▆▇█]{48}\| 65504", out.splitlines()[4])

    def test_every_array_of_a_file_or_one(self, say: Say) -> None:
        np.savez("two.npz", a=np.int8([1, 2]), b=np.zeros((0, 3), np.float32))
        _, out, _ = say("inspect", "two.npz")
        assert "two.npz::a  int8 (2,)  2 bytes" in out
        assert "two.npz::b  float32 (0, 3)  0 bytes\n  it is empty" in out
        for words in (["two.npz::a"], ["two.npz", "--key", "a"]):
            _, out, _ = say("inspect", *words)
            assert out.startswith("two.npz::a ")
            assert "::b" not in out

    def test_one_bad_file_does_not_hide_the_others(self, say: Say) -> None:
        np.save("y.npy", np.int8([1]))
        status, out, err = say("inspect", "none.npy", "y.npy", "none.npz")
        assert status == 2
        assert out.startswith("y.npy  int8 (1,)")
        assert [line.split(": ")[:2] for line in err.splitlines()] == [
            ["npu-quant inspect", "none.npy"],
            ["npu-quant inspect", "none.npz"],
        ]

    def test_dtypes_that_files_do_not_say(self, say: Say) -> None:
        np.save("x.npy", np.array([1.5, -2], BF16).view("u2"))
        assert "x.npy  bfloat16 (2,)" in say("inspect", "x.npy", "--dtype", "bf16")[1]
        assert "x.npy  uint16 (2,)" in say("inspect", "x.npy")[1]
        np.array([1.5, -2], BF16).tofile("x.bin")
        _, out, _ = say("inspect", "x.bin", "--dtype", "bf16")
        assert out.startswith("x.bin  bfloat16 (2,)  4 bytes\n  range -2 to 1.5  mean -0.25")
        _, out, _ = say("inspect", "x.bin", "--dtype", "bf16", "--shape", "2,1")
        assert out.startswith("x.bin  bfloat16 (2, 1)")
        assert say("inspect", "x.bin", "--dtype", "bf16", "--shape", "3")[0] == 2
        np.uint8([0x21, 0x8F]).tofile("q.bin")
        _, out, _ = say("inspect", "q.bin", "--dtype", "int4")
        assert out.startswith("q.bin  int8 (4,)  4 bytes\n  range -8 to 2")
        np.save("h.npy", np.float16([1]))
        status, out, err = say("inspect", "h.npy", "--dtype", "bf16")
        assert (status, err) == (2, "npu-quant inspect: --dtype has no effect: no file needs it.\n")

    def test_raw_files_are_told_by_their_size(self, say: Say) -> None:
        np.zeros((64, 1024), BF16).tofile("x.bin")
        status, out, _ = say("inspect", "x.bin")
        assert (status, out.splitlines()[0]) == (0, "x.bin  raw, 131,072 bytes")
        assert "131072 bytes are 131072 of int8, 65536 of float16 or bfloat16, 32768 of" in out
        assert "compare needs --dtype and --shape" in out
        _, out, _ = say("inspect", "x.bin", "--json", "-")
        assert json.loads(out)["arrays"] == [{"file": "x.bin", "bytes": 131072}]
        _, out, _ = say("inspect", "x.bin", "--shape", "64,1024")
        assert "131072 bytes for the shape (64, 1024) fit float16 or bfloat16" in out
        _, out, _ = say("inspect", "x.bin", "--shape", "64,3")
        assert "for the shape (64, 3) fit no dtype" in out

    def test_json(self, say: Say) -> None:
        np.save("x.npy", np.float32([np.nan, 1, 3]))
        np.save("n.npy", np.float32([np.nan]))
        status, out, err = say("inspect", "x.npy", "n.npy", "--json", "-")
        data = json.loads(out, parse_constant=pytest.fail)
        assert (status, err, data["schema_version"]) == (0, "", 1)
        first, second = data["arrays"]
        assert (first["file"], first["dtype"], first["shape"]) == ("x.npy", "float32", [3])
        assert (first["nan"], first["minimum"], first["mean"], first["bytes"]) == (1, 1, 2, 12)
        assert (second["minimum"], second["histogram"]) == ("NaN", [])

    def test_bars(self) -> None:
        assert inspect.bars([0, 1, 4, 8, 1000], unicode=True) == " ▁▁▁█"
        assert inspect.bars([0, 500, 1000], unicode=False) == " =@"


class TestInfo:
    def test_table(self, say: Say) -> None:
        status, out, err = say("info")
        assert (status, err) == (0, "")
        facts = {line.split()[0]: line.split(maxsplit=1)[1] for line in out.splitlines() if
                 not line.startswith(" ")}  # fmt: skip
        assert facts["npu_quant"] == npu_quant.__version__
        assert facts["numpy"] == np.__version__
        assert facts["ml_dtypes"] == ml_dtypes.__version__
        assert facts["target"] == npu_quant.info()["target"]
        assert facts["cpu"]
        assert all(len(line) <= 100 for line in out.splitlines())
        assert set(npu_quant.info()) - {"version"} < set(facts)

    def test_json(self, say: Say, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("OMP_NUM_THREADS", "3")
        data = json.loads(say("info", "--json", "-")[1])
        assert data["schema_version"] == 1
        assert data["features"] == npu_quant.info()["features"]
        assert data["environment"]["OMP_NUM_THREADS"] == "3"
        assert "HOME" not in data["environment"]

    def test_a_system_that_does_not_name_its_cpu(self, monkeypatch: pytest.MonkeyPatch) -> None:
        def missing(*_: object, **__: object) -> None:
            raise FileNotFoundError

        monkeypatch.setattr("builtins.open", missing)
        assert info.cpu_model()


class TestBytesThatStandForFloats:
    @pytest.mark.parametrize(
        ("carrier", "option"),
        [(np.uint16, "--dtype bf16"), (np.uint8, "--dtype float8_e4m3fn or float8_e5m2")],
    )
    def test_the_option_is_named(self, carrier: Any, option: str, say: Say) -> None:
        np.save("bits.npy", np.arange(6, dtype=carrier))
        _, out, _ = say("inspect", "bits.npy")
        assert out.endswith(f"\n  if the bytes stand for floats: {option}\n")
        assert "stand for" not in say("inspect", "bits.npy", *option.split()[:2])[1]

    def test_of_no_others(self, say: Say) -> None:
        np.save("codes.npy", np.arange(6, dtype=np.int8))
        assert "stand for" not in say("inspect", "codes.npy")[1]
