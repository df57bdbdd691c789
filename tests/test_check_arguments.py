"""Arguments of wrong kinds to quantize and check, and what reports show at a prompt."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from checkpoints.models import make

from npu_quant.checkpoint import (
    CheckedLayer,
    CheckpointError,
    CheckReport,
    Finding,
    QuantizeReport,
    check,
    quantize,
)

PATH = "expected the path of a folder, a str or a pathlib.Path"
GLOBS = "expected a glob, or several in a list; [] for none."
PAIRS = "expected a dict of globs and types, or a list of pairs of them."
PAIR = "expected a glob and a type, such as ('*.mlp.*', 'FLOAT')."
QUANTIZE: list[tuple[dict[str, Any], str]] = [
    ({"model_dir": 5}, f"model_dir is 5, {PATH}."),
    ({"model_dir": None}, f"model_dir is None, {PATH}."),
    ({"model_dir": b"m"}, f"model_dir is a bytes, {PATH}; os.fsdecode makes a str of it."),
    ({"out_dir": b"o"}, f"out_dir is a bytes, {PATH}; os.fsdecode makes a str of it."),
    ({"scheme": 8}, "scheme is 8, expected a str, such as 'W8A8_DYNAMIC'."),
    ({"format": None}, "format is None, expected a str, such as 'ascend'."),
    ({"exclude": None}, f"exclude is None, {GLOBS}"),
    ({"exclude": b"*"}, f"exclude is a bytes, {GLOBS}"),
    ({"exclude": {"*": "FLOAT"}}, f"exclude is a dict, {GLOBS}"),
    ({"exclude": ["*", 5]}, "exclude[1] is 5, expected a str, such as '*.mlp.*'."),
    ({"include": 5}, f"include is 5, {GLOBS}"),
    ({"types": None}, f"types is None, {PAIRS}"),
    ({"types": "*=FLOAT"}, f"types is '*=FLOAT', {PAIRS}"),
    ({"types": ["a"]}, f"types[0] is 'a', {PAIR}"),
    ({"types": ["ab"]}, f"types[0] is 'ab', {PAIR}"),
    ({"types": [("*", "FLOAT"), ("*", "FLOAT", "x")]}, f"types[1] is a tuple, {PAIR}"),
    ({"types": {"*": 8}}, f"types[0] is a tuple, {PAIR}"),
    ({"dtype": np.float16}, "dtype is a type, expected a str, such as 'bfloat16'."),
    ({"mx_scale": 0}, "mx_scale is 0, expected a str, such as 'up'."),
    ({"shard_size": 4e9}, "shard_size is 4000000000.0, expected bytes: an int, or such as '4GiB'."),
    ({"shard_size": None}, "shard_size is None, expected bytes: an int, or such as '4GiB'."),
    ({"workers": "a"}, "workers is 'a', expected an int from 1 on, or None."),
    ({"workers": 2.0}, "workers is 2.0, expected an int from 1 on, or None."),
    ({"workers": True}, "workers is True, expected an int from 1 on, or None."),
    ({"scheduler": 8786}, "scheduler is 8786, expected a str, such as 'tcp://host:8786'."),
    ({"dry_run": "no"}, "dry_run is 'no', expected True or False."),
    ({"verify": 0}, "verify is 0, expected True or False."),
    ({"progress": True}, "progress is True, expected a function of (done, total), or None."),
]


@pytest.mark.parametrize(("wrong", "text"), QUANTIZE, ids=[text[:30] for _, text in QUANTIZE])
def test_what_quantize_takes(wrong: dict[str, Any], text: str) -> None:
    right: dict[str, Any] = {"model_dir": "m", "out_dir": "o", "scheme": "W8A16"}
    with pytest.raises(TypeError, match=f"^{re.escape(f'quantize: {text}')}$"):
        quantize(**right | wrong)


CHECK: list[tuple[dict[str, Any], str]] = [
    ({"model_dir": 5}, f"model_dir is 5, {PATH}."),
    ({"original": b"x"}, f"original is a bytes, {PATH}; os.fsdecode makes a str of it."),
    ({"original": False}, f"original is False, {PATH}."),
    ({"workers": "a"}, "workers is 'a', expected an int from 1 on, or None."),
    ({"progress": 1}, "progress is 1, expected a function of (done, total), or None."),
    ({"scheduler": b"x"}, "scheduler is a bytes, expected a str, such as 'tcp://host:8786'."),
]


@pytest.mark.parametrize(("wrong", "text"), CHECK, ids=[text[:30] for _, text in CHECK])
def test_what_check_takes(wrong: dict[str, Any], text: str) -> None:
    with pytest.raises(TypeError, match=f"^{re.escape(f'check: {text}')}$"):
        check(**{"model_dir": "m"} | wrong)


EMPTY: list[tuple[Callable[[], object], str]] = [
    (lambda: check(""), "check: model_dir is an empty path."),
    (lambda: quantize("", "o", "W8A16"), "quantize: model_dir is an empty path."),
    (lambda: quantize("m", "", "W8A16"), "quantize: out_dir is an empty path."),
]


@pytest.mark.parametrize(("call", "text"), EMPTY, ids=[text for _, text in EMPTY])
def test_an_empty_path(call: Callable[[], object], text: str) -> None:
    """It would be the working directory."""
    with pytest.raises(CheckpointError, match=f"^{re.escape(text)}$"):
        call()


def test_a_hubs_name() -> None:
    text = "^Qwen/Qwen2-7B is not a folder: to take a model from a hub, download it first, and name"
    with pytest.raises(CheckpointError, match=text):
        quantize("Qwen/Qwen2-7B", "o", "W8A16")


MEANT = [("W8A8", "W8A8_DYNAMIC"), ("w4a8", "W4A8_DYNAMIC"), ("mxfp8", "W8A8_MXFP8")]


@pytest.mark.parametrize(("scheme", "meant"), MEANT)
def test_a_part_of_a_schemes_name(scheme: str, meant: str) -> None:
    with pytest.raises(CheckpointError, match=rf"; did you mean {meant}\?$"):
        quantize("m", "o", scheme)


def test_too_few_letters_mean_no_scheme() -> None:
    with pytest.raises(CheckpointError, match=r"available: [^;]*$"):
        quantize("m", "o", "W8")


def test_numbers_of_numpy_and_other_paths(tmp_path: Path) -> None:
    source = make(tmp_path / "source", "llama")
    report = quantize(
        str(source),
        tmp_path / "out",
        "W8A16",
        exclude=iter(["*.0.*"]),
        types=[["*.1.mlp.*", "FLOAT"]],
        shard_size=np.int64(1 << 30),
        workers=np.int64(1),
    )
    assert report.types == {"W8A16": 4, "FLOAT": 10}


LAYER = CheckedLayer("m.experts.0.up_proj", "W8A8_DYNAMIC", (2048, 7168))


def test_reports_are_short_at_a_prompt(tmp_path: Path) -> None:
    """They have the first line of the text, of any number of layers and findings."""
    types = {"W8A8_DYNAMIC": 45_000}
    good = CheckReport("m", "ascend", "x", [], types, {}, [LAYER] * 45_000)
    assert repr(good) == "<CheckReport passed: 45,000 modules W8A8_DYNAMIC>"
    errors = [Finding("error", "index", "n", "x")] * 45_000 + [Finding("warning", "meta", "n", "x")]
    bad = CheckReport("m", "ascend", "x", errors, types, {}, [LAYER] * 45_000)
    assert repr(bad) == "<CheckReport FAILED: 45,000 errors, 1 warning>"
    source = make(tmp_path / "source", "llama")
    made = quantize(source, tmp_path / "out", "W8A16", dry_run=True)
    assert isinstance(made, QuantizeReport)
    start = r"<QuantizeReport would quantize llama to W8A16 \(ascend\): \d+\.\d+ KiB become "
    assert re.fullmatch(rf"{start}\d+\.\d+ KiB; nothing was written>", repr(made))
    made.model_type = "x" * 10_000
    assert len(repr(made)) < 400


def test_reports_are_pages_and_shown_in_notebooks() -> None:
    """They say what the text says, and nothing in a name is obeyed."""
    finding = Finding("error", "index", "<script>", "is missing")
    report = CheckReport("m", "ascend", "x", [finding], {}, {}, [], notes=["a & b"])
    assert str(report) == "FAILED: 1 error\n  note: a & b\n  error: index: <script>: is missing"
    page, fragment = report.to_html(), report._repr_html_()
    for item in ("note: a &amp; b", "error: index: &lt;script&gt;: is missing"):
        assert f"<li>{item}</li>" in page
        assert f"<li>{item}</li>" in fragment
    assert "<h1>FAILED: 1 error</h1>" in page
    assert ">FAILED</span> 1 error</p>" in fragment


def test_the_text_of_long_names_and_many_types_is_short() -> None:
    name = "x" * 100_000
    layer = CheckedLayer(name, "W8A16", (1, 1), sqnr_db=1.0)
    types = {f"{name}{n}": 1 for n in range(1000)}
    recipe: dict[str, str | None] = dict.fromkeys(types)
    findings = [Finding("error", "index", name, "is not there")]
    report = CheckReport("m", "ascend", "x", findings, types, recipe, [layer])
    assert len(str(report)) < 5_000
