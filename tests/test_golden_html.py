"""A comparison in a notebook: well-formed, escaped, bounded, and its pictures draw the numbers."""

import dataclasses
import re
from collections.abc import Callable
from fractions import Fraction
from functools import partial
from html.parser import HTMLParser
from typing import Any
from xml.etree import ElementTree

import ml_dtypes
import numpy as np
import pytest
from as_line import as_line
from pictures import (
    GOLDEN,
    SVG,
    TIE,
    X,
    activations,
    by_op,
    element,
    half_precision,
    pictures,
    quotients,
    table,
    texts,
    wrong_row,
)

from npu_quant import golden
from npu_quant.golden.api import Comparison
from npu_quant.golden.report import reports

LIMIT = 100_000
# Of the tie: -2 by the scale, 4 / 127 in float32, and its distance from -63.5 in ulp, 2**-18 there.
BEFORE = Fraction(-2) / Fraction(float(np.float32(4) / np.float32(127)))
FROM_TIE = abs(BEFORE + Fraction(127, 2)) * 2**18

RUNGS: dict[str, tuple[str, Callable[[], Comparison]]] = {
    "identical": ("OK (identical)", lambda: by_op(GOLDEN)),
    "tie": ("OK (tie)", lambda: by_op(TIE)),
    "variant": ("DIFFERENT", half_precision),
    "tolerated": ("OK (tolerated)", lambda: golden.compare(TIE, GOLDEN, atol=1)),
    "different": ("DIFFERENT", wrong_row),
}
ARRAYS: dict[str, tuple[Any, Any]] = {
    "0-D": (np.int8(3), np.int8(4)),
    "1-D": (np.arange(300, dtype=np.int16), np.arange(300, dtype=np.int16) // 2),
    "3-D": (np.zeros((3, 5, 7), np.int32), np.broadcast_to(np.eye(5, 7, dtype=np.int32), (3, 5, 7))),
    "empty": (np.zeros((0, 4), np.int8), np.zeros((0, 4), np.int8)),
    "float64": (np.array([1.0, np.nan, np.inf]), np.array([1.0, 2.0, -np.inf])),
    "bfloat16": (np.ones((2, 3), ml_dtypes.bfloat16), np.full((2, 3), 1.5, ml_dtypes.bfloat16)),
    "float8": (np.ones(9, ml_dtypes.float8_e4m3fn), np.zeros(9, ml_dtypes.float8_e4m3fn)),
    "bool": (np.array([True, False]), np.array([True, True])),
    "int64": (np.array([-(2**63)]), np.array([2**63 - 1])),
    "dtype": (np.zeros(3, np.int8), np.zeros(3, np.uint8)),
    "shape": (np.zeros(3, np.int8), np.zeros((3, 1), np.int8)),
}  # fmt: skip


EVERY = {name: make for name, (_, make) in RUNGS.items()} | {
    name: partial(golden.compare, *arrays) for name, arrays in ARRAYS.items()
}
TAGS = {"div", "p", "span", "b", "code", "ul", "li", "table", "thead", "tbody", "tr", "th", "td"}
TAGS |= {"svg", "title", "text", "rect", "path"}


class Nesting(HTMLParser):
    """Tags as a browser sees them; raises where one closes another."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.attributes: list[tuple[str, str, str]] = []
        self.feed(text)
        self.close()
        assert self.open == []

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.attributes += [(tag, name, value or "") for name, value in attrs]

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.handle_startendtag(tag, attrs)
        self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


@pytest.mark.parametrize("name", EVERY)
def test_is_a_fragment_that_needs_nothing_else(name: str) -> None:
    comparison = EVERY[name]()
    text = comparison._repr_html_()
    parsed = Nesting(text)
    assert {e.tag.removeprefix(SVG) for e in ElementTree.fromstring(text).iter()} <= TAGS
    assert {tag for tag, _, _ in parsed.attributes} <= TAGS
    names = {name for _, name, _ in parsed.attributes}
    assert not names & {"id", "class", "src", "href", "onload", "onclick"}
    assert "url(" not in text
    assert len(text) < LIMIT
    assert (">DIFFERENT</span>" in text) != comparison.passed


def test_nesting_notices_what_is_not_closed() -> None:
    with pytest.raises(AssertionError):
        Nesting("<div><p></div>")
    with pytest.raises(AssertionError):
        Nesting("<div>")


@pytest.mark.parametrize("rung", RUNGS)
def test_it_tells_what_the_text_tells(rung: str) -> None:
    verdict, make = RUNGS[rung]
    root = element(make())
    assert texts(root, "span") == [verdict]
    said = [texts(root, "p")[0].replace(verdict, f"{verdict}:"), *texts(root, "li")]
    assert " ".join(" ".join(said).split()) == as_line(make())


def test_a_variant_that_was_named_passes_as_what_it_is() -> None:
    x = activations()
    q, scale = quotients(x)
    actual = np.rint(q.astype(np.float16)).astype(np.int8), scale
    root = element(by_op(actual, x, variant="fp16 quotient"))
    assert texts(root, "span") == ["OK (variant)"]
    assert "follows npu_dynamic_quant with fp16 quotient, byte for byte" in texts(root, "p")[0]
    matching = {row[0]: row[1] for row in table(root, "follows")}
    assert matching["fp16 quotient"] == "another function"


def test_outputs_are_listed() -> None:
    rows = table(element(by_op((TIE, None))), "output")
    found = f"1 of 4 codes differs, each within {float(FROM_TIE):.2f} ulp of a tie"
    assert rows == [["y", "int8", "(1, 4)", "tie", found]]
    rows = table(element(golden.compare({"a": GOLDEN, "b": X}, {"a": TIE, "b": X})), "output")
    assert rows == [
        ["a", "int8", "(1, 4)", "different", "may be rounding: each is one step"],
        ["b", "float16", "(1, 4)", "identical", "all 4 values"],
    ]


def test_arrays_that_cannot_be_compared_say_why() -> None:
    for name, words in (("dtype", "actual was int8: compared as"), ("shape", "shape differs")):
        root = element(golden.compare(*ARRAYS[name]))
        (row,) = table(root, "output")
        assert row[4].startswith(words)
        assert pictures(root) == []


def test_what_is_identical_is_short() -> None:
    text = by_op(GOLDEN)._repr_html_()
    assert len(text) < 2000
    assert "<svg" not in text
    assert "<svg" in by_op(TIE)._repr_html_()


def test_the_worst_elements_say_how_near_the_tie_is() -> None:
    rows = table(element(by_op(TIE)), "index")
    assert rows == [["[0, 2]", "-63", "-64", f"{float(BEFORE):.9g}", f"{float(FROM_TIE):.2f}"]]
    rows = table(element(golden.compare(TIE, GOLDEN)), "index")
    assert rows == [["[0, 2]", "-63", "-64"]]


def test_ten_worst_elements_at_most() -> None:
    assert (
        len(table(element(golden.compare(np.zeros(50, np.int8), np.ones(50, np.int8))), "index"))
        == 10
    )


HOSTILE = [
    "<script>alert(1)</script>.npy",
    "\"><img src=x onerror='alert(1)'>&amp;.npy",
    "line\nbreak\x00\x1b[31m\u202egnp.npy",
    "not utf-8 \udcff.npy",
    "long" * 1000,
]


@pytest.mark.parametrize("name", HOSTILE)
def test_names_are_shown_and_never_obeyed(name: str) -> None:
    comparison = golden.compare({name: TIE}, {name: GOLDEN})
    hostile = dataclasses.replace(comparison, op=name, actual_name=name, golden_name=name)
    text = hostile._repr_html_()
    text.encode()
    assert Nesting(text).attributes
    plain = dataclasses.replace(comparison, op="op")._repr_html_()
    assert re.findall("<[a-z]+", text).count("<img") == 0
    assert "<script" not in text.lower()
    assert len(text) < len(plain) + 20_000
    root = ElementTree.fromstring(text)
    said = texts(root, "li")
    assert all(line.isprintable() and 0 < len(line) <= 500 for line in said)
    start = re.match(r"[ -~]*", name[:118])
    assert start
    assert start[0] in " ".join(said)


def test_size_is_bounded_and_pictures_give_way(monkeypatch: pytest.MonkeyPatch) -> None:
    """Maps that are as long as maps can be: no two neighbouring cells have the same shade."""
    counts = (np.indices((64, 64)).sum(axis=0) % 2 * 30 + 1).reshape(-1)
    wanted = np.zeros((64, 64 * 32), np.int8)
    actual = (np.arange(32) < np.repeat(counts, 32).reshape(-1, 32)).astype(np.int8)
    one = golden.compare(actual.reshape(wanted.shape), wanted)
    outputs = [dataclasses.replace(one.outputs[0], name=f"{i}&" * 60) for i in range(200)]
    many = dataclasses.replace(one, outputs=tuple(outputs), decisive=outputs[0])
    text = many._repr_html_()
    assert 60_000 < len(text) < LIMIT
    root = ElementTree.fromstring(text)
    assert len(table(root, "output")) == 20
    assert "and 180 more outputs, none worse" in texts(root, "p")
    with_pictures = len(pictures(root))
    monkeypatch.setattr(reports, "MOST_CHARACTERS", 40_000)
    assert len(pictures(element(many))) < with_pictures


def test_the_worst_of_many_outputs_are_listed() -> None:
    arrays = {f"a{i}": GOLDEN for i in range(21)}
    root = element(golden.compare(arrays | {"a20": TIE}, arrays))
    assert [row[0] for row in table(root, "output")][:2] == ["a20", "a0"]
    assert texts(root, "p")[1:] == ["and 1 more output, none worse"]
    del arrays["a0"]
    root = element(golden.compare(arrays | {"a20": TIE}, arrays))
    assert [row[0] for row in table(root, "output")] == list(arrays)
    assert len(texts(root, "p")) == 1


def test_three_outputs_are_drawn() -> None:
    arrays = dict.fromkeys("abcd", GOLDEN)
    wrong = dict.fromkeys("abcd", TIE)
    four, three = golden.compare(wrong, arrays), golden.compare(wrong | {"d": GOLDEN}, arrays)
    assert [len(pictures(element(c))) for c in (four, three)] == [6, 6]
    assert texts(element(four), "p")[1:] == ["not drawn: 1 more output"]
    assert len(texts(element(three), "p")) == 1


def test_colours_suit_light_and_dark_pages() -> None:
    root = element(wrong_row())
    assert {t.get("fill") for t in root.iter(f"{SVG}text")} == {"currentColor"}
    styles = " ".join(e.get("style") or "" for e in root.iter())
    assert not re.search(r"(?<!-)\bcolor:|#[0-9a-f]{3}|background:(?!rgba)", styles)
