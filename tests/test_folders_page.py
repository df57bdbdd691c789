"""The page of a comparison of folders: escaped, whole, and looked at in a real browser."""

from __future__ import annotations

import os
import pickle
import re
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pytest
from browser import Browser
from folders import A, B, changed, save
from golden_files import npy
from msprobe_dumps import Dump

import npu_quant
from npu_quant.golden import FolderComparison, compare_folders
from npu_quant.golden.report.folder import MOST_PICTURED

# A name that would run, were it not escaped; a path cannot have a slash.
HOSTILE = "<img src=x onerror=alert(1)>&\"'<script>alert(2)<"
NUMBERS = [5, 300, 40, 2, 7]


class Reader(HTMLParser):
    """What a page has: its tags, its rows, and what it leads to."""

    VOID = ("meta", "link", "input", "br", "hr", "img")

    def __init__(self, page: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.open: list[str] = []
        self.links: list[str] = []
        self.ids: list[str] = []
        self.feed(page)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.links += [value or "" for name, value in attrs if name in ("href", "src")]
        self.ids += [value or "" for name, value in attrs if name == "id"]
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.handle_starttag(tag, attrs)
        if tag not in self.VOID:
            self.open.pop()

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


@pytest.fixture
def found(sides: tuple[Path, Path]) -> FolderComparison:
    """Return a comparison with all that a page shows, and long and hostile names."""
    x = np.random.default_rng(0).standard_normal((64, 1024)).astype(np.float16)
    y, scale = npu_quant.npu_dynamic_quant(x)
    near = np.rint(x.astype(np.float32) * (np.float32(1) / scale)[:, None]).astype(np.int8)
    for side, codes in zip(sides, (near, y), strict=True):
        dump = Dump(side / "step0" / "rank0")
        dump.call("NPU.npu_dynamic_quant.0.forward", (x,), (codes, scale))
        dump.write()
        for i, n in enumerate(NUMBERS):
            values = np.arange(1000, dtype=np.int16)
            values[:n] += side is sides[0]
            save(side, **{f"m{i}": values})
        save(side, axes=np.arange(49152, dtype=np.uint16).reshape(1, 2, 3, 1, 2, 4096))
        save(side, long=B, **{"long_" + "name" * 30: changed(B) if side is sides[0] else B})
        (side / f"{HOSTILE}.npy").write_bytes(npy(changed(A) if side is sides[0] else A))
        (side / "damaged.npy").write_bytes(b"nothing")
    save(sides[0], more=A)
    os.symlink("more.npy", sides[0] / f"{HOSTILE}2.npy")
    return compare_folders(*sides, ops={"NPU.*": "npu_dynamic_quant"})


def test_is_one_whole_page(found: FolderComparison) -> None:
    page = found.to_html()
    read = Reader(page)
    assert len(set(read.ids)) == len(read.ids)
    assert all(link.startswith("#r") or link == "data:," for link in read.links)
    assert {link[1:] for link in read.links if link.startswith("#")} <= set(read.ids)
    assert "img" not in read.tags
    assert read.tags.count("script") == 1
    assert not re.search(r"https?://(?!www\.w3\.org/2000/svg)", page)
    assert read.tags.count("details") == len(found.failing)
    assert read.tags.count("tr") >= len(found.rows) + 1
    assert read.tags.count("svg") > 5


def test_a_pass_has_a_page_too(sides: tuple[Path, Path]) -> None:
    for side in sides:
        save(side, a=A)
    page = compare_folders(*sides).to_html()
    assert Reader(page).tags.count("details") == 0
    assert "<h1>OK (identical): 1 array: 1 identical</h1>" in page


def test_very_many_are_not_all_drawn(sides: tuple[Path, Path]) -> None:
    for side in sides:
        for i in range(MOST_PICTURED + 3):
            save(side, **{f"a{i}": changed(A) if side is sides[0] else A})
    page = compare_folders(*sides).to_html()
    assert page.count(">DIFFERENT</span>") == MOST_PICTURED
    assert page.count("<pre>") == 3
    assert "<pre>DIFFERENT: may be rounding: each is one step (1 of 12 codes)\n" in page
    assert "\n  1 of 12 codes differs (8.33 %)" in page
    assert "\N{REPLACEMENT CHARACTER}" not in page


def test_files_that_are_gone_or_changed_change_nothing(sides: tuple[Path, Path]) -> None:
    save(sides[0], a=changed(A))
    save(sides[1], a=A)
    found = compare_folders(*sides)
    page, text, data = found.to_html(), str(found), found.to_dict()
    (sides[0] / "a.npy").unlink()
    save(sides[1], a=changed(changed(A)))
    for one in (found, pickle.loads(pickle.dumps(found))):
        assert (one.to_html(), str(one), one.to_dict()) == (page, text, data)
        assert one == found


@pytest.fixture(scope="module")
def chromium(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    with Browser(tmp_path_factory.mktemp("profile")) as started:
        yield started


@pytest.fixture
def page(found: FolderComparison, tmp_path: Path) -> Path:
    """The page in a file."""
    path = tmp_path / "report.html"
    path.write_text(found.to_html())
    return path


COLUMN = """[...document.querySelectorAll("table.rows tbody tr")]
  .filter(row => !row.hidden).map(row => row.cells[{}].textContent.split(" ")[0].replaceAll(",", ""))"""
CLICK = 'document.querySelectorAll("table.rows th button")[{}].click()'


@pytest.mark.needs("chromium")
@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
@pytest.mark.parametrize("width", [400, 901, 1400])
def test_in_a_browser(page: Path, chromium: Browser, width: int, dark: bool) -> None:
    """Nothing runs over, nothing is complained of, nothing leaves the page, all is to be read."""
    chromium.show(page, width, dark=dark)
    chromium.run('for (const one of document.querySelectorAll("details")) one.open = true')
    assert chromium.run("innerWidth") == width
    assert chromium.run("document.documentElement.scrollWidth") == width
    cut = """[...document.querySelectorAll("table.rows td, h1, summary")]
      .filter(e => e.getBoundingClientRect().right > innerWidth).length"""
    assert chromium.run(cut) == 0
    ground, ink = (
        chromium.run(f"getComputedStyle(document.body).{name}")
        for name in ("backgroundColor", "color")
    )
    assert contrast(ground, ink) > 7
    assert luminance(ground) < 0.1 if dark else luminance(ground) > 0.8
    assert chromium.complaints() == []
    assert chromium.requests() == [page.as_uri()]


@pytest.mark.needs("chromium")
def test_the_table_sorts_and_filters(
    found: FolderComparison, page: Path, chromium: Browser
) -> None:
    chromium.show(page, 1400, dark=False)
    order = chromium.run(COLUMN.format(0))
    assert order == [str(i + 1) for i in range(len(found.rows))]
    measured = [str(row.differing) for row in found.rows if row.metrics is not None]
    none = [""] * (len(found.rows) - len(measured))
    chromium.run(CLICK.format(5))
    assert chromium.run(COLUMN.format(5)) == sorted(measured, key=int) + none
    chromium.run(CLICK.format(5))
    assert chromium.run(COLUMN.format(5)) == sorted(measured, key=int, reverse=True) + none
    assert chromium.run('document.querySelector("[aria-sort]").textContent') == "differing"
    chromium.run(CLICK.format(6))
    margins = [float(m) for m in chromium.run(COLUMN.format(6)) if m]
    assert margins == sorted(margins)
    chromium.run(CLICK.format(0))
    assert chromium.run(COLUMN.format(0)) == order
    chromium.run('document.querySelector("#failing").click()')
    failing = [str(i + 1) for i, row in enumerate(found.rows) if not row.passed]
    assert chromium.run(COLUMN.format(0)) == failing
    chromium.run('words.value = "M3"; words.dispatchEvent(new Event("input"))')
    assert len(chromium.run(COLUMN.format(0))) == 1
    assert chromium.run("count.textContent") == f"1 of {len(found.rows)}"
    assert chromium.complaints() == []


@pytest.mark.needs("chromium")
def test_a_link_opens_what_it_leads_to(
    found: FolderComparison, page: Path, chromium: Browser
) -> None:
    chromium.show(page, 1400, dark=False)
    state = '[...document.querySelectorAll("details")].map(one => one.open)'
    assert chromium.run(state) == [True] + [False] * (len(found.failing) - 1)
    chromium.run('[...document.querySelectorAll("td a")].at(-1).click()')
    chromium.run("new Promise(done => setTimeout(done, 50))")
    assert chromium.run(state)[-1] is True
    names = chromium.run('[...document.querySelectorAll("td.name")].map(e => e.textContent)')
    assert names == [row.name for row in found.rows]


def luminance(colour: str) -> float:
    """Return the relative luminance of a colour as CSS computes it (WCAG 2)."""
    parts = [int(n) / 255 for n in re.findall(r"\d+", colour)[:3]]
    linear = [c / 12.92 if c <= 0.03928 else ((c + 0.055) / 1.055) ** 2.4 for c in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(one: str, other: str) -> float:
    low, high = sorted((luminance(one), luminance(other)))
    return (high + 0.05) / (low + 0.05)
