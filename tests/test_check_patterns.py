"""The names and patterns of compressed-tensors: what they fit, which are refused, how long it takes."""

from __future__ import annotations

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from npu_quant.checkpoint.patterns import MOST_STEPS, Patterns

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
]


@pytest.mark.parametrize(("pattern", "fitting"), WRITTEN)
def test_what_a_pattern_fits(pattern: str, fitting: set[str]) -> None:
    patterns = Patterns([(pattern, 0)])
    assert patterns.faults == []
    assert {m for m in (GATE, UP, TOWER) if patterns.first(m) is not None} == fitting


def test_the_first_list_that_fits() -> None:
    """By their numbers, whether by name or by pattern, and wherever in the name it is known."""
    patterns = Patterns([("re:.*gate$", 1), ("re:model", 2), (UP, 3), (TOWER, 0), (TOWER, 4)])
    assert [patterns.first(m) for m in (GATE, UP, TOWER, "x")] == [1, 2, 0, None]


LETTERS = st.sampled_from(["a", "b", ".", r"\.", "[ab]", "[^a]", r"\w", r"\d", "1"])
PARTS = st.recursive(
    LETTERS | st.sampled_from(["^", "$", ""]),
    lambda some: st.one_of(
        st.lists(some, max_size=4).map("".join),
        st.lists(some, min_size=2, max_size=3).map(lambda s: f"({'|'.join(s)})"),
        st.tuples(LETTERS, st.sampled_from(["*", "+", "?", "*?", "{2}", "{,2}", "{1,2}"])).map(
            "".join
        ),
        some.map(lambda s: f"(?:{s})?"),
    ),
    max_leaves=8,
)


@settings(max_examples=300, deadline=None)
@given(st.lists(PARTS, max_size=3), st.lists(st.text("ab.1", max_size=6), max_size=8))
def test_patterns_fit_what_pythons_fit(expressions: list[str], names: list[str]) -> None:
    patterns = Patterns((f"re:{e}", n) for n, e in enumerate(expressions))
    assert patterns.faults == []
    for name in names:
        numbers = [n for n, e in enumerate(expressions) if re.match(e, name)]
        assert patterns.first(name) == min(numbers, default=None)


FAULTS = [
    ("(([a-z._0-9])+)+$X", "error", "repeats what is repeated without end"),
    (r"(\d+\.){2,}", "error", "repeats what is repeated without end"),
    ("((((..", "error", "has a ( without a )"),
    ("(" * 21 + ")" * 21, "error", "nests deeper than 20 groups"),
    ("a)", "error", "has a ) without a ("),
    ("*a", "error", "has * after nothing that can be repeated"),
    ("a|+", "error", "has + after nothing"),
    ("^*", "error", "has * after nothing"),
    ("a{2}{3}", "error", "has {3} after nothing"),
    ("a{3,2}", "error", "has {3,2}: at least 3, but at most 2"),
    ("[z-a]", "error", "has [z-a]: bad character range z-a"),
    ("[a-z", "error", "does not end after ["),
    ("a\\", "error", "does not end after \\"),
    ("a{999}{999}", "error", "has {999} after nothing"),
    ("(a|b){667}", "warning", "has {667}: more than 2,000 letters in all"),
    ("((a{40}){40}){40}", "warning", "has {40}: more than 2,000 letters"),
    ("a{4294967296}", "warning", "has {42"),
    ("(?!model)", "warning", "has (?!"),
    (r"(a)\1", "warning", r"has \1"),
    ("[a&&b]", "warning", "has [a&"),
    ("a" * 501, "warning", "has more than 500 letters"),
]


@pytest.mark.parametrize(("expression", "severity", "text"), FAULTS, ids=lambda x: str(x)[:20])
def test_what_is_refused(expression: str, severity: str, text: str) -> None:
    """It fits nothing, and the others fit what they do without it."""
    patterns = Patterns([(f"re:{expression}", 0), ("re:model", 1)])
    (fault,) = patterns.faults
    assert (fault.severity, fault.pattern) == (severity, f"re:{expression}")
    assert fault.text.startswith(text)
    assert patterns.first("model") == 1


def test_what_is_allowed_at_most() -> None:
    for expression in ["(" * 20 + ")" * 20, "a{999}", "((a{20}){20}){4}", "a" * 500]:
        assert Patterns([(f"re:{expression}", 0)]).faults == []


def test_too_many_patterns() -> None:
    """What comes first is tried."""
    some = [*(f"re:{n}a{{990}}" for n in range(30)), GATE]
    patterns = Patterns((pattern, 0) for pattern in some)
    assert {(f.severity, f.text) for f in patterns.faults} == {("warning", "is one of too many")}
    assert [f.pattern for f in patterns.faults] == some[20:30]
    assert patterns.first("9" + "a" * 990) == patterns.first(GATE) == 0


def test_a_long_list_takes_no_longer() -> None:
    """A name is looked up; letters that were met before take no step."""
    modules = [f"model.layers.{n}.mlp.experts.{e}.up_proj" for n in range(60) for e in range(256)]
    patterns = Patterns([*((m, 0) for m in modules[::2]), ("re:.*experts.255[.]", 0), ("re:x", 0)])
    assert [patterns.first(m) is not None for m in modules] == [
        e % 2 == 0 or e == 255 for n in range(60) for e in range(256)
    ]
    before = patterns._left
    assert before > MOST_STEPS // 2
    assert sum(patterns.first(m) is not None for m in modules) == 60 * 129
    assert patterns._left == before


@pytest.mark.parametrize("expression", ["(a|a)" * 60 + "X", ".*a" * 100 + "X", "a?" * 200 + "X"])
def test_no_expression_takes_for_ever(expression: str) -> None:
    """Python's re would try the ways to match them one after the other: more than 2^60."""
    patterns = Patterns([(f"re:{expression}", 0)])
    assert patterns.first("a" * 1000) is None
    assert not patterns.gave_up


def test_too_much_is_given_up() -> None:
    some = [f"re:.*a.{{{n % 100}}}b{n}" for n in range(500)]
    patterns = Patterns((pattern, 0) for pattern in some)
    name = "".join("ab"[(n * n // 7) % 2] for n in range(100_000))
    patterns.first(name)
    assert patterns.gave_up
    assert patterns.first(name) is None
