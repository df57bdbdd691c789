"""formats.compare: an array in every format and group, against the calls that it names."""

from __future__ import annotations

import json
import tracemalloc
from typing import Any
from xml.etree import ElementTree

import ml_dtypes
import numpy as np
import pytest

import npu_quant
from npu_quant import DTypeError, ParamError, _format_losses, formats
from npu_quant.formats import FormatComparison, FormatLoss

Array = np.ndarray[Any, Any]
SVG = "{http://www.w3.org/2000/svg}"
SHARE = {"128 x 128": (128, 128), "1 x 128": (1, 128)}


def restored(x: Array, one: FormatLoss) -> Array:
    """Do what the call says, and go back by loops over groups."""
    operators = {name: getattr(npu_quant, name) for name in npu_quant.ops.__all__}
    y, scale = eval(one.call, {**operators, "x": x})
    if one.group.startswith("mx"):
        return npu_quant.npu_anti_mx_quant(y, scale, dst_type="float32", src_type=one.format)
    numbers = formats.decode(y, one.format.removesuffix(" to 15"))
    m, n = x.shape
    rows, columns = {
        "pertensor": (m, n),
        "pertoken": (1, n),
        "perchannel": (m, 1),
        **SHARE,
    }[one.group]
    result, scales = np.empty((m, n), np.float32), iter(scale.reshape(-1))
    for i in range(0, m, rows):
        for j in range(0, n, columns):
            block = np.s_[i : i + rows, j : j + columns]
            result[block] = numbers[block] * next(scales)
    return result


def db(x: Array, restored: Array) -> float:
    x, restored = x.astype(np.float64), restored.astype(np.float64)
    return float(20 * np.log10(np.linalg.norm(x) / np.linalg.norm(x - restored)))


def numbers(shape: tuple[int, ...], rng: np.random.Generator) -> Array:
    x = rng.standard_normal(shape).astype(np.float32)
    x[..., 3] *= 30  # a channel far above the rest
    return x


@pytest.mark.parametrize("dtype", [np.float16, ml_dtypes.bfloat16, np.float32])
def test_each_is_what_its_call_loses(dtype: Any, rng: np.random.Generator) -> None:
    x = numbers((130, 200), rng).astype(dtype)
    found = formats.compare(x)
    ways = {(one.format, one.group) for one in found.losses}
    assert len(ways) == len(found.losses) == 6 * 5 + 4 + 3
    for one in found.losses:
        back = restored(x, one)
        assert one.sqnr_db == pytest.approx(db(x, back), abs=1e-3), one
        for row in (0, 77, 129):
            assert one.rows_db[row] == pytest.approx(db(x[row], back[row]), abs=1e-3), one


def test_tiles_of_any_size_give_the_same(
    rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch
) -> None:
    x = numbers((300, 640), rng)
    expected = formats.compare(x)
    monkeypatch.setattr(_format_losses, "_ROWS", 128)
    monkeypatch.setattr(_format_losses, "_COLUMNS", 128)
    for one, other in zip(formats.compare(x).losses, expected.losses, strict=True):
        assert np.allclose(one.rows_db, other.rows_db, rtol=1e-9)


def test_bytes_are_those_of_codes_and_scales() -> None:
    x = np.ones((256, 256), np.float32)
    size = {(one.format, one.group): one.bytes_per_element for one in formats.compare(x).losses}
    assert size["int8", "pertoken"] == 1 + 4 / 256
    assert size["int8", "pertensor"] == 1 + 4 / 256**2
    assert size["int4", "1 x 128"] == 0.5 + 4 / 128
    assert size["float8_e4m3fn", "128 x 128"] == 1 + 4 / 128**2
    assert size["float4_e2m1", "mx"] == 0.5 + 1 / 32


def test_rows_of_any_rank_and_strides(rng: np.random.Generator) -> None:
    x = numbers((6, 4, 64), rng)
    found = formats.compare(x, formats=["int8"], groups=["pertoken"]).losses[0]
    assert found.rows_db.shape == (6, 4)
    place, least = found.worst(1)[0]
    assert found.rows_db[place] == least == found.rows_db.min()
    turned = formats.compare(np.asfortranarray(x)[::-1], formats=["int8"], groups=["pertoken"])
    assert np.array_equal(turned.losses[0].rows_db, found.rows_db[::-1])
    alone = formats.compare(x[0, 0], formats=["int8"], groups=["pertoken"]).losses[0]
    assert alone.rows_db.shape == ()
    assert alone.worst() == [((), alone.sqnr_db)]
    assert "row" not in str(alone)
    assert "worst row [" in str(found)


def test_rows_out_of_the_ordinary() -> None:
    x = np.array([[0, 0], [1, 1], [np.inf, 1], [np.nan, 1]], np.float32)
    found = formats.compare(x, formats=["int8"], groups=["pertoken"]).losses[0]
    assert found.rows_db[:2].tolist() == [np.inf, np.inf]
    assert np.isnan(found.rows_db[2:]).all()
    assert np.isnan(found.sqnr_db)
    assert {place for place, _ in found.worst(2)} == {(2,), (3,)}
    ElementTree.fromstring(formats.compare(x).to_svg())


def test_formats_that_an_axis_cannot_hold_are_left_out() -> None:
    found = {one.format for one in formats.compare(np.ones((2, 9), np.float16)).losses}
    assert found == {
        *("int8", "float8_e4m3fn", "float8_e5m2", "hifloat8", "hifloat8 to 15"),
    }


def test_the_current_profile_changes_nothing(rng: np.random.Generator) -> None:
    x = numbers((4, 64), rng)
    expected = formats.compare(x)
    with npu_quant.numerics("ascend910b"):
        assert formats.compare(x) == expected


def test_memory_is_that_of_one_format(rng: np.random.Generator) -> None:
    x = numbers((4096, 1024), rng).astype(np.float16)
    tracemalloc.start()
    formats.compare(x)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 3 * x.nbytes  # the codes, and tiles in float32 and float64


@pytest.mark.needs("torch")
def test_tensors() -> None:
    import torch

    x = torch.linspace(-3, 3, 256).reshape(4, 64).to(torch.bfloat16)
    array = x.float().numpy().astype(ml_dtypes.bfloat16)
    assert formats.compare(x) == formats.compare(array)


class TestShown:
    @pytest.fixture
    def found(self) -> FormatComparison:
        return formats.compare(np.linspace(-1, 2, 128 * 16, dtype=np.float32).reshape(16, 128))

    def test_text(self, found: FormatComparison) -> None:
        lines = str(found).splitlines()
        assert lines[0] == "SQNR in dB of float32 (16, 128)"
        heads = lines[1].split("  ")
        assert [head for head in heads if head.strip()] == list(_format_losses.GROUPS)
        row = next(line for line in lines if line.startswith("float4_e1m2"))
        assert row.split()[1:] == ["-"] * 5 + [
            f"{found.loss('float4_e1m2', 'mx').sqnr_db:.1f}",
            "-",
        ]
        assert max(map(len, lines)) <= 100
        assert len(lines) == 2 + 8 + 1 + 8

    def test_reprs_are_short(self, found: FormatComparison) -> None:
        assert repr(found).startswith("<FormatComparison float32 (16, 128): 37 ways; ")
        assert len(repr(found)) < 200
        assert len(repr(found.losses[0])) < 400

    def test_a_way_that_was_not_compared(self, found: FormatComparison) -> None:
        with pytest.raises(KeyError):
            found.loss("int8", "mx")

    def test_data_is_json(self, found: FormatComparison) -> None:
        data = json.loads(json.dumps(found.to_dict(), allow_nan=False))
        assert data["shape"] == [16, 128]
        assert len(data["losses"]) == 37
        first = data["losses"][0]
        assert first["sqnr_db"] == found.losses[0].sqnr_db
        assert first["worst_rows"][0] == [
            list(found.losses[0].worst(1)[0][0]),
            first["worst_rows"][0][1],
        ]
        zeros = formats.compare(np.zeros((1, 8), np.float32)).to_dict()
        assert json.loads(json.dumps(zeros, allow_nan=False))["losses"][0]["sqnr_db"] == "inf"

    def test_the_picture_has_a_dot_for_each(self, found: FormatComparison) -> None:
        svg = ElementTree.fromstring(found.to_svg())
        title = svg.find(f"{SVG}title")
        assert title is not None
        assert title.text == "SQNR in dB of float32 (16, 128) by format and group"
        titles = [g.findtext(f"{SVG}title") for g in svg.iter(f"{SVG}g")]
        assert titles == [str(one) for one in found.losses]
        width = float(svg.get("width") or 0)
        assert all(0 < float(dot.get("cx") or 0) < width for dot in svg.iter(f"{SVG}circle"))
        assert "currentColor" in found.to_svg()
        assert not {"black", "white", "#000", "#fff"} & set(found.to_svg().split('"'))

    def test_the_page_of_a_notebook(self, found: FormatComparison) -> None:
        page = ElementTree.fromstring(f"<div>{found._repr_html_()}</div>")
        rows = list(page.iter("tr"))
        assert len(rows) == 1 + 37
        assert rows[1][0].text == "int8"
        assert rows[1][-1].text == found.losses[0].call


@pytest.mark.parametrize(
    ("call", "error", "text"),
    [
        (lambda: formats.compare([1.0]), DTypeError, "x is not a numpy.ndarray, expected floats"),  # type: ignore[arg-type]
        (lambda: formats.compare(np.ma.ones(3)), DTypeError, "x is not a numpy.ndarray"),
        (lambda: formats.compare(np.ones(3)), DTypeError, "x has dtype float64, expected float16"),
        (lambda: formats.compare(np.float32(3)), DTypeError, "x is not a numpy.ndarray"),  # type: ignore[arg-type]
        (lambda: formats.compare(np.ones((), "f4")), ParamError, r"x has shape \(\), expected one element or more"),
        (lambda: formats.compare(np.ones((2, 0), "f4")), ParamError, r"x has shape \(2, 0\)"),
        (lambda: formats.compare(np.ones(8, "f4"), formats="int8"), TypeError, "formats is 'int8'"),
        (lambda: formats.compare(np.ones(8, "f4"), formats=["int9"]), ParamError, "formats has 'int9', available: int8"),
        (lambda: formats.compare(np.ones(8, "f4"), groups=["row"]), ParamError, "groups has 'row', available: pertensor"),
    ],
)  # fmt: skip
def test_errors(call: Any, error: type[Exception], text: str) -> None:
    with pytest.raises(error, match=text):
        call()
