"""npu-quant quantize and npu-quant check as they are typed: statuses, lines, JSON."""

from __future__ import annotations

import json
import re
import shutil
import sys
from pathlib import Path

import pytest
from checkpoints import models
from checkpoints.spoiling import DESCRIPTION, edit_json

from npu_quant import checkpoint, cli


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """Return a model, and what the command makes of it."""
    root = tmp_path_factory.mktemp("command")
    source, out = models.make(root / "model", "qwen2"), root / "out"
    words = ["quantize", str(source), str(out), "--scheme", "W8A8_DYNAMIC", "--workers", "1"]
    assert cli.main(words) == 0
    return source, out


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def test_options(folders: tuple[Path, Path], capsys: pytest.CaptureFixture[str]) -> None:
    words = [
        "quantize",
        "--scheme",
        "W8A8_DYNAMIC",
        str(folders[0]),
        "out",
        "--exclude",
        "*.0.mlp.*",
    ]
    words += ["--type", "*.1.mlp.*=W8A16", "--shard-size", "100KB", "--json", "-", "--no-verify"]
    assert cli.main([*words, "--dry-run"]) == 0
    dry = json.loads(capsys.readouterr().out)
    assert (dry["dry_run"], Path("out").exists()) == (True, False)
    assert cli.main(words) == 0
    data = json.loads(capsys.readouterr().out)
    assert set(data["types"]) == {"FLOAT", "W8A16", "W8A8_DYNAMIC"}
    assert {entry["reason"] for entry in data["float"]} == {"--exclude *.0.mlp.*"}
    assert len(data["shards"]) > 1
    assert (data["passed"], data["findings"], data["is_finished_before"]) == (True, [], False)


QUANTIZE = [
    (["quantize"], "two folders are expected, MODEL_DIR and OUT_DIR, 0 given"),
    (["quantize", "a", "b", "c", "--scheme", "W8A16"], "MODEL_DIR and OUT_DIR, 3 given"),
    (["quantize", "a", "b"], "--scheme is missing, such as --scheme W8A8_DYNAMIC"),
    (["quantize", "a", "b", "--scheme", "W8A16", "--type", "W8A8"], "'W8A8', expected GLOB=TYPE"),
    (["quantize", "a", "b", "--scheme", "W8A16", "--workers", "0"], "whole number from 1 on"),
    (["quantize", "a", "b", "--scheme", "W8A16"], "a is not a folder"),
    (["quantize", "a", "b", "--shceme", "W8A16"], "did you mean --scheme"),
    (["check"], "one folder is expected, MODEL_DIR, 0 given"),
    (["check", "a", "b"], "one folder is expected, MODEL_DIR, 2 given"),
    (["check", "a"], "a"),
]


@pytest.mark.parametrize(("words", "text"), QUANTIZE, ids=lambda x: " ".join(x)[:40])
def test_wrong_words(words: list[str], text: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(words) == 2
    said = capsys.readouterr()
    assert (said.out, said.err.count("\n")) == ("", 1)
    assert said.err.startswith(f"npu-quant {words[0]}: ")
    assert text in said.err


@pytest.mark.parametrize("command", ["quantize", "check"])
def test_a_scheduler_without_dask(
    command: str,
    folders: tuple[Path, Path],
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(sys.modules, "distributed", None)
    words = {"quantize": [str(folders[0]), "new", "--scheme", "W8A16"], "check": [str(folders[1])]}
    assert cli.main([command, *words[command], "--scheduler", "tcp://127.0.0.1:8786"]) == 2
    assert capsys.readouterr().err == (
        f"npu-quant {command}: a scheduler needs Dask, which is not installed: "
        "pip install npu_quant[dask].\n"
    )
    assert not Path("new").exists()


class TestCheck:
    def test_what_quantize_wrote(
        self, folders: tuple[Path, Path], capsys: pytest.CaptureFixture[str]
    ) -> None:
        source, out = folders
        assert cli.main(["check", str(out)]) == 0
        assert re.match(r"passed: \d+ modules W8A8_DYNAMIC", capsys.readouterr().out)
        assert cli.main(["check", str(out), "--original", str(source), "--json", "c.json"]) == 0
        assert "npu_quant-P-127" in capsys.readouterr().out
        data = json.loads(Path("c.json").read_text())
        keys = "command model format model_type verdict passed findings notes types judged "
        keys += "not_judged recipe layers"
        assert [*data] == keys.split()
        keys = "name type shape judged recipe codes_different scales_different sqnr_db "
        keys += "max_error cosine scale_ratio"
        assert [*data["layers"][0]] == keys.split()
        assert cli.main(["check", str(out), "--json", "c.json"]) == 0  # it is ours to overwrite

    def test_a_lost_key(
        self, folders: tuple[Path, Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        out = Path(shutil.copytree(folders[1], tmp_path / "out"))
        edit_json(out / DESCRIPTION, lambda keys: keys.pop("lm_head.weight"))
        assert cli.main(["check", str(out)]) == 1
        said = capsys.readouterr().out
        assert said.startswith("FAILED: 1 error")
        assert "missing-key" in said

    def test_what_is_not_quantized(
        self, folders: tuple[Path, Path], capsys: pytest.CaptureFixture[str]
    ) -> None:
        assert cli.main(["check", str(folders[0])]) == 2
        assert "not quantized" in capsys.readouterr().err.replace("-", " ")
        (folders[1] / ".npu-quant").mkdir()
        try:
            assert cli.main(["check", str(folders[1])]) == 2
        finally:
            (folders[1] / ".npu-quant").rmdir()
        assert "unfinished" in capsys.readouterr().err


def test_a_name_forges_no_line(folders: tuple[Path, Path], tmp_path: Path) -> None:
    """What stands in a file is told in one line, with no command to the terminal."""
    source, out = (Path(shutil.copytree(f, tmp_path / f.name)) for f in folders)
    name = "x\npassed: \x1b[2J"
    edit_json(source / "config.json", lambda c: c.update(model_type=name))
    edit_json(out / DESCRIPTION, lambda k: k.update({f"{name}.weight": "FLOAT"}))
    written = str(checkpoint.quantize(source, tmp_path / "new", "W8A8_DYNAMIC", dry_run=True))
    found = str(checkpoint.check(out, workers=1))
    for text in (written, found):
        assert r"x\npassed: \x1b[2J" in text
        assert all(line.isprintable() for line in text.splitlines())
        assert not any(line.startswith("passed") for line in text.splitlines())
