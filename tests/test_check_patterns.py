"""The names and patterns of compressed-tensors: what they fit, which are refused, how long it takes."""

from __future__ import annotations

import re
import time
from pathlib import Path
from typing import Any

import pytest
from checkpoints.expected import expect
from checkpoints.models import make
from checkpoints.spoiling import edit_json
from hypothesis import given, settings
from hypothesis import strategies as st

from npu_quant.checkpoint import Finding, check, compressed_layers
from npu_quant.checkpoint.compressed_layers import fitting

GATE = "model.layers.10.mlp.gate"
UP = "model.layers.1.mlp.experts.17.up_proj"
TOWER = "model.visual.blocks.0.attn.qkv"
# What tools that write checkpoints have in `ignore` and `targets`, and what of the three it fits.
WRITTEN = [
    (GATE, {GATE}),
    ("mlp.gate", set()),
    ("re:.*mlp.gate$", {GATE}),
    (r"re:.*mlp\.gate", {GATE}),
    ("re:mlp.gate", set()),
    ("re:model", {GATE, UP, TOWER}),
    ("re:", {GATE, UP, TOWER}),
    (r"re:.*\.experts\.\d+\.(gate_proj|up_proj|down_proj|w1|w2|w3)$", {UP}),
    (r"re:.*\.experts\.\d\.(gate_proj|up_proj)$", set()),
    (r"re:.*\.experts\.[0-9]+\.(?:gate|up)_proj", {UP}),
    ("re:.*visual.*", {TOWER}),
    ("re:visual.*", set()),
    (r"re:(model\.)?visual\..*", {TOWER}),
    ("re:.*(visual|gate)", {GATE, TOWER}),
    (r"re:^model\.layers\.(0|1|2)\..*", {UP}),
    ("re:model.layers.1.*", {GATE, UP}),
    (r"re:.*layers\.\d{2}\.", {GATE}),
    (r"re:.*layers\.\d{1,2}\.mlp", {GATE, UP}),
    (r"re:.*layers\.\d{3,}\.", set()),
    (r"re:.*layers\.[^1]", set()),
    (r"re:(?P<at>\w+)\.l.*?e$", {GATE}),
    (r"re:.*q_?kv$", {TOWER}),
    ("re:.*mlp|.*attn$", {GATE, UP}),
    ("re:$", set()),
    ("re:.*gate^", set()),
    (r"re:(?!model\.visual)", {GATE, UP}),
    (r"re:.*\.(\d)\d*\..*\.\1", {UP}),
]


@pytest.mark.parametrize(("pattern", "expected"), WRITTEN)
def test_what_a_pattern_fits(pattern: str, expected: set[str]) -> None:
    assert fitting([pattern], [GATE, UP, TOWER]) == ({pattern: expected}, {})


@pytest.mark.filterwarnings("ignore:Possible")  # of sets, which Python may have some day
@settings(max_examples=15, deadline=None)
@given(
    st.lists(st.text("ab.1|()*+?[]\\\\{,}^$", max_size=8).map("re:".__add__), max_size=9),
    st.lists(st.text("ab.1\ud800\n", max_size=6), max_size=8),
)
def test_patterns_fit_what_pythons_fit(patterns: list[str], names: list[str]) -> None:
    """Or are refused where Python refuses them."""
    fits, faults = fitting(patterns, names)
    for pattern in patterns:
        try:
            expression = re.compile(pattern.removeprefix("re:"))
        except re.error:
            assert faults[pattern].startswith("is no regular expression: ")
        else:
            assert fits[pattern] == {name for name in names if expression.match(name)}


FOREVER = ["(([a-z._0-9])+)+$X", "(a|a)" * 60 + "X", "a?" * 100 + "a" * 190, "(.*)*" * 9 + "X"]
REFUSED = ["((((..", "(" * 5000 + ")" * 5000, "a)", "*a", "[z-a]", "a{4294967296}", "\\"]


@pytest.mark.parametrize("expression", FOREVER)
def test_no_expression_takes_for_ever(expression: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The others fit what they do without it."""
    monkeypatch.setattr(compressed_layers, "SECONDS", 0.2)
    slow = f"re:{expression}"
    name = "a" * 190
    fits, faults = fitting([slow, "re:a", slow, "re:b"], [name])
    assert faults == {slow: "takes too long to try"}
    assert (fits["re:a"], fits["re:b"]) == ({name}, set())


@pytest.mark.parametrize("expression", REFUSED, ids=lambda x: x[:20])
def test_what_python_refuses(expression: str) -> None:
    fits, faults = fitting([f"re:{expression}", "re:model", "model"], ["model"])
    assert [*faults] == [f"re:{expression}"]
    assert faults[f"re:{expression}"].startswith("is no regular expression: ")
    assert fits["re:model"] == fits["model"] == {"model"}


def test_all_together_take_no_longer_than_they_may(monkeypatch: pytest.MonkeyPatch) -> None:
    """What comes before is tried."""
    monkeypatch.setattr(compressed_layers, "MOST_SECONDS", 1)
    slow = [f"re:(a|a){{{n}}}X" for n in range(60, 90)]
    fits, faults = fitting(["re:a", *slow, "re:aa"], ["a" * 100])
    assert fits["re:a"] == {"a" * 100}
    assert [*faults] == [*slow, "re:aa"]
    assert faults["re:aa"] == "takes too long to try, or one before it"


def test_as_many_modules_as_models_have() -> None:
    modules = [f"model.layers.{n}.mlp.experts.{e}.up_proj" for n in range(60) for e in range(256)]
    began = time.monotonic()
    fits, faults = fitting([*modules[::2], r"re:.*experts[.]255[.]", "re:x"], modules)
    assert time.monotonic() - began < 30
    assert faults == {}
    assert len(fits[r"re:.*experts[.]255[.]"]) == 60
    assert all(fits[name] == {name} for name in modules[::2])


@pytest.mark.parametrize(("lists", "what", "text"), [
    ({"ignore": ["re:(a+)+$X", "re:((("]}, "re:((( of ignore", "is no regular expression: missing )"),
    ({"targets": ["Linear", "re:*"]}, "re:* of targets", "is no regular expression: nothing to repeat"),
])  # fmt: skip
def test_what_a_check_says(lists: dict[str, Any], what: str, text: str, tmp_path: Path) -> None:
    """Nobody knows then which modules are named: what follows from that is no finding."""
    folder = expect(make(tmp_path / "source", "llama"), "W8A8_DYNAMIC", "compressed-tensors")
    out = folder.write(tmp_path / "out")

    def change(config: Any) -> None:
        said = config["quantization_config"]
        said |= {key: lists[key] for key in lists if key == "ignore"}
        said["config_groups"]["group_0"] |= {key: lists[key] for key in lists if key == "targets"}

    edit_json(out / "config.json", change)
    found = check(out, None, 1).findings
    assert {(f.severity, f.rule) for f in found} == {("error", "pattern")}
    (last,) = [f for f in found if f.text.startswith(what)]
    assert last == Finding("error", "pattern", "config.json", last.text)
    assert text in last.text
    assert last.text.endswith("vLLM tries it on every layer, and stops or hangs")
