"""What the tests of notebook pages share: comparisons, and reading their tables and pictures."""

import re
from typing import Any
from xml.etree import ElementTree

import numpy as np

import npu_quant
from npu_quant import golden
from npu_quant.golden.api import Comparison

SVG = "{http://www.w3.org/2000/svg}"
# -2 / (4 / 127) is -63.5, a tie: -64 by the documents, -63 where ties go up.
X = np.array([[0, 1, -2, 4]], np.float16)
GOLDEN = np.array([[0, 32, -64, 127]], np.int8)
TIE = np.array([[0, 32, -63, 127]], np.int8)


def element(comparison: Comparison) -> ElementTree.Element:
    """Return the fragment, which is well-formed XML too."""
    return ElementTree.fromstring(comparison._repr_html_())


def texts(root: ElementTree.Element, tag: str) -> list[str]:
    return ["".join(found.itertext()) for found in root.iter(tag)]


def table(root: ElementTree.Element, head: str) -> list[list[str]]:
    """Return the rows of the table whose first column has that name."""
    for found in root.iter("table"):
        if texts(found, "th")[0] == head:
            return [texts(row, "td") for row in found.iter("tr")][1:]
    raise KeyError(head)


def pictures(root: ElementTree.Element) -> list[ElementTree.Element]:
    return [found for found in root.iter(f"{SVG}svg") if found.get("role") == "img"]


def titled(root: ElementTree.Element, words: str) -> ElementTree.Element:
    """Return the picture with such a title."""
    (found,) = (p for p in pictures(root) if words in (p.findtext(f"{SVG}title") or ""))
    return found


def bars(picture: ElementTree.Element) -> dict[str, tuple[str, float]]:
    """Return the number on each bar of a histogram and its height, by its name."""
    labels = [t.text or "" for t in picture.iter(f"{SVG}text")]
    heights = [float(r.get("height") or 0) for r in picture.iter(f"{SVG}rect")]
    numbers = zip(labels[::2], heights, strict=True)
    return dict(zip(labels[1::2], numbers, strict=True))


def cells(picture: ElementTree.Element) -> list[tuple[int, int]]:
    """Return the cells (row, column) that a map draws."""
    found = []
    for path in picture.iter(f"{SVG}path"):
        for x, y, run in re.findall(r"M(\d+) (\d+)h(\d+)", path.get("d") or ""):
            found += [(int(y), int(x) + i) for i in range(int(run))]
    return sorted(found)


def by_op(actual: Any, x: Any = X, **options: Any) -> Comparison:
    return golden.compare(actual, op="npu_dynamic_quant", inputs={"input": x}, **options)


def activations(rows: int = 40, columns: int = 256) -> np.ndarray:
    return np.random.default_rng(1).standard_normal((rows, columns)).astype(np.float16)


def quotients(x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    scale = npu_quant.npu_dynamic_quant(x).scale
    return x.astype(np.float32) / scale[:, None], scale


def half_precision() -> Comparison:
    x = activations()
    q, scale = quotients(x)
    return by_op((np.rint(q.astype(np.float16)).astype(np.int8), scale), x)


def wrong_row(row: int = 7) -> Comparison:
    """One row's scale is 1 % too large."""
    x = activations()
    q, scale = quotients(x)
    q[row] /= np.float32(1.01)
    scale[row] *= np.float32(1.01)
    return by_op((np.rint(q).astype(np.int8), scale), x)
