"""README.zh-CN.md says what README.md says, and the glossary has a Chinese word for every term."""

from __future__ import annotations

import re
import runpy
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parent.parent
BLOCK = re.compile(r"^```.*?^```$|(?:^ {4}[^\n]*\n)+", re.MULTILINE | re.DOTALL)
HEADING = re.compile(r"^(#+) (.*)$", re.MULTILINE)
OTHER = ("README.md", "README.zh-CN.md")


def read(name: str) -> str:
    return (ROOT / name).read_text(encoding="utf-8")


def prose(text: str) -> str:
    """Return a page without its blocks of code, in which a # begins a comment."""
    return BLOCK.sub("", text)


def anchor(heading: str) -> str:
    """Return the anchor that a heading has where the page is shown."""
    return re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")


def targets(text: str) -> list[str]:
    """Return where links lead, in order: an anchor as the number of its heading."""
    anchors = {"#" + anchor(name): f"heading {n}" for n, (_, name) in enumerate(headings(text))}
    found = re.findall(r"\]\(([^)]+)\)", prose(text))
    return [anchors.get(t, "the other page" if t in OTHER else t) for t in found]


def headings(text: str) -> list[tuple[str, str]]:
    return HEADING.findall(prose(text))


def names(text: str) -> list[str]:
    """Return what is set in code within lines."""
    return re.findall(r"`([^`\n]+)`", text)


def rows(text: str) -> list[list[str]]:
    """Return the rows of tables: how many bars and which names each has."""
    lines = prose(text).splitlines()
    return [[str(line.count("|")), *names(line)] for line in lines if line.startswith("|")]


def differences(english: str, chinese: str) -> list[str]:
    """Return in what the pages are out of step."""
    pages = (english, chinese)
    parts = {
        "levels of headings": [[level for level, _ in headings(page)] for page in pages],
        "blocks of code": [BLOCK.findall(page) for page in pages],
        "links": [targets(page) for page in pages],
        "rows of tables": [rows(page) for page in pages],
        "names in lines": [Counter(names(prose(page))) for page in pages],
    }
    found = [what for what, (here, there) in parts.items() if here != there]
    lost = [target for page in pages for target in targets(page) if target.startswith("#")]
    return found + [f"{target} leads nowhere" for target in lost]


def test_both_pages_are_in_step() -> None:
    assert differences(read("README.md"), read("README.zh-CN.md")) == []


def test_they_link_to_each_other_at_once() -> None:
    assert read("README.md").splitlines()[2] == "English | [简体中文](README.zh-CN.md)"
    assert read("README.zh-CN.md").splitlines()[2] == "[English](README.md) | 简体中文"


ENGLISH = """# Name

English | [中文](README.zh-CN.md)

It adds, as [below](#how-it-adds) and in [a page](docs/a.md). Call `add`.

## How it adds?

```python
# Not a heading.
>>> 1 + 1
```

| operator | what |
|---|---|
| `add` | adds `a` to `b` |

    make test
"""
CHINESE = """# Name

[English](README.md) | 中文

它做加法，见[下文](#怎样-相加)和[另一页](docs/a.md)。调用 `add`。

## 怎样 相加？

```python
# Not a heading.
>>> 1 + 1
```

| 算子 | 功能 |
|---|---|
| `add` | 将 `a` 加到 `b` |

    make test
"""


def test_pages_in_two_languages_are_in_step() -> None:
    assert differences(ENGLISH, CHINESE) == []
    assert targets(CHINESE) == ["the other page", "heading 1", "docs/a.md"]


@pytest.mark.parametrize(
    ("old", "new", "found"),
    [
        ("## 怎样", "### 怎样", ["levels of headings"]),
        ("    make test", "## 更多\n\n    make test", ["levels of headings"]),
        (">>> 1 + 1", ">>> 1 + 2", ["blocks of code"]),
        ("# Not a heading.", "# 不是标题。", ["blocks of code"]),
        ("    make test", "    make demo", ["blocks of code"]),
        ("    make test\n", "", ["blocks of code"]),
        ("docs/a.md", "docs/b.md", ["links"]),
        (
            "[下文](#怎样-相加)和[另一页](docs/a.md)",
            "[另一页](docs/a.md)和[下文](#怎样-相加)",
            ["links"],
        ),
        ("[下文](#怎样-相加)", "[下文](#name)", ["links"]),
        ("[下文](#怎样-相加)", "[下文](#相加)", ["links", "#相加 leads nowhere"]),
        ("和[另一页](docs/a.md)", "", ["links"]),
        ("| `add` | 将", "| `sub` | 将", ["rows of tables", "names in lines"]),
        ("`a` 加到 `b` |", "`a` 加到 `b` | 多一列 |", ["rows of tables"]),
        ("|---|---|\n", "|---|---|\n| | |\n", ["rows of tables"]),
        ("调用 `add`。", "", ["names in lines"]),
    ],
)
def test_what_is_out_of_step_is_found(old: str, new: str, found: list[str]) -> None:
    assert CHINESE.count(old) == 1
    assert differences(ENGLISH, CHINESE.replace(old, new)) == found


def without_chinese(glossary: str) -> list[str]:
    """Return the terms of a glossary that have no Chinese word."""
    cells = [line.strip("|").split("|") for line in glossary.splitlines() if line.startswith("| ")]
    return [row[0].strip() for row in cells if not re.search(r"\w", row[1])]


def test_every_term_has_a_chinese_word() -> None:
    glossary = read("docs/glossary.md")
    assert glossary.count("\n| term | 中文 |") >= 6
    assert without_chinese(glossary) == []
    assert without_chinese("| term | 中文 |\n|---|---|\n| a | 甲 | A. |\n| b | | B. |\n") == ["b"]
    assert "(docs/glossary.md)" in read("README.zh-CN.md")


@pytest.fixture
def tool(monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    monkeypatch.syspath_prepend(str(ROOT / "tools"))
    return runpy.run_path(str(ROOT / "tools/operator_table.py"))


def test_an_operator_without_chinese_words_is_refused(tool: dict[str, Any]) -> None:
    words = dict(tool["WORDS"])
    assert words.keys() == tool["ROWS"].keys()
    del words["npu_swiglu"]
    with pytest.raises(SystemExit, match="npu_swiglu has no words in tools/operator_words_zh"):
        tool["table"](tool["HEADINGS_ZH"], words)


def test_words_of_no_operator_are_refused(
    tool: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(tool["WORDS"], "npu_none", "无")
    with pytest.raises(SystemExit, match=r"operator_words_zh\.py has no rows: npu_none"):
        tool["renewed_zh"](read("README.zh-CN.md"))


def test_a_stale_table_is_renewed(tool: dict[str, Any]) -> None:
    page = read("README.zh-CN.md")
    stale = page.replace(tool["WORDS"]["npu_swiglu"], "")
    assert stale != page
    assert tool["renewed_zh"](stale) == page
