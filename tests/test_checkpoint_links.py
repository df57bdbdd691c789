"""Folders that others made: nothing outside is changed by links in OUT_DIR, or read unsaid by a model's."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from checkpoints import models
from checkpoints.runs import OPTIONS, SIZES, StoppedError, stopped_after
from test_checkpoint_quantize import files_of

from npu_quant import checkpoint
from npu_quant.checkpoint.place import Place

U = ".npu-quant"
PRECIOUS = b"precious\n" * 10
DESCRIPTION = "quant_model_description.json"

pytest_plugins = ["checkpoints.runs"]


def quantize(source: Path, out: Path) -> checkpoint.QuantizeReport:
    return checkpoint.quantize(source, out, "W8A8_DYNAMIC", workers=2, **OPTIONS)


@pytest.fixture(scope="module")
def half(source: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder that a run left unfinished, with shards that have their names."""
    out = tmp_path_factory.mktemp("half") / "out"
    with pytest.raises(StoppedError):
        checkpoint.quantize(
            source, out, "W8A8_DYNAMIC", workers=1, progress=stopped_after(14), **OPTIONS
        )
    return out


@pytest.fixture
def out(half: Path, tmp_path: Path) -> Path:
    return shutil.copytree(half, tmp_path / "out")


@pytest.fixture
def outside(tmp_path: Path) -> Path:
    """Return a folder of somebody's files, of names that a run uses, too."""
    folder = tmp_path / "outside"
    folder.mkdir()
    for name in ("film.part", "lock", "plan.json", "journal.jsonl", "vocab.txt", "precious"):
        (folder / name).write_bytes(PRECIOUS)
    return folder


def part(out: Path) -> str:
    """Return the part of a shard that has no name yet."""
    left = {f"{path.name}" for path in (out / U).glob("*.safetensors.part")}
    return f"{U}/{min(left)}"


def placed(path: Path, make: Callable[[Path], object]) -> None:
    if path.is_dir():
        shutil.rmtree(path)
    path.unlink(missing_ok=True)
    path.parent.mkdir(exist_ok=True)
    make(path)


# What is put in the place of a file of the run.
THINGS: dict[str, Callable[[Path, Path], object]] = {
    "a link": lambda path, outside: path.symlink_to(outside / "precious"),
    "a hard link": lambda path, outside: path.hardlink_to(outside / "precious"),
    "a link to nothing": lambda path, outside: path.symlink_to(outside / "new"),
    "a link to a link": lambda path, outside: (
        path.with_name("x.lnk").symlink_to(outside / "precious"),
        path.symlink_to("x.lnk"),
    ),
    "a pipe": lambda path, outside: os.mkfifo(path),
    "a device": lambda path, outside: path.symlink_to("/dev/zero"),
    "a folder": lambda path, outside: path.mkdir(),
}
FILES = ("lock", "journal.jsonl", "plan.json", "a part")


@pytest.mark.parametrize("what", THINGS)
@pytest.mark.parametrize("name", FILES)
def test_in_the_place_of_a_file_of_an_unfinished_run(
    name: str, what: str, source: Path, out: Path, outside: Path
) -> None:
    path = out / part(out) if name == "a part" else out / U / name
    placed(path, lambda path: THINGS[what](path, outside))
    before = files_of(outside)
    with pytest.raises((checkpoint.CheckpointError, OSError)) as caught:
        quantize(source, out)
    assert files_of(outside) == before
    if name != "plan.json" or what != "a hard link":  # which has other contents, and is read only
        assert path.name in str(caught.value)


@pytest.mark.parametrize("what", THINGS)
@pytest.mark.parametrize("name", ["config.json", DESCRIPTION, "SHA256SUMS", "assets/vocab.txt"])
def test_in_the_place_of_a_file_of_the_result(
    name: str, what: str, source: Path, out: Path, outside: Path, whole: Path
) -> None:
    """It is replaced itself; a folder is not."""
    placed(out / name, lambda path: THINGS[what](path, outside))
    before = files_of(outside)
    if what == "a folder":
        with pytest.raises(IsADirectoryError):
            quantize(source, out)
    else:
        assert quantize(source, out).passed
        assert (out / name).read_bytes() == (whole / name).read_bytes()
        assert not (out / name).is_symlink()
    assert files_of(outside) == before


@pytest.mark.parametrize("name", [U, "assets", f"{U}.ended", "."])
def test_a_link_in_the_place_of_a_folder(
    name: str, source: Path, out: Path, outside: Path, whole: Path
) -> None:
    placed(out / name, lambda path: path.symlink_to(outside))
    before = files_of(outside)
    if name == f"{U}.ended":  # which is to be removed: the link is
        assert quantize(source, out).passed
        assert files_of(out) == files_of(whole)
    else:
        with pytest.raises(checkpoint.CheckpointError, match="is a link"):
            quantize(source, out)
    assert files_of(outside) == before


def test_a_folder_that_becomes_a_link_meanwhile(tmp_path: Path, outside: Path) -> None:
    place = Place(tmp_path / "out", ("a", "b"))
    place.make()
    with place.opened("x", os.O_WRONLY | os.O_CREAT) as descriptor:
        os.write(descriptor, b"here")
    assert place.read("x", 10) == b"here"
    (tmp_path / "out/a").rename(tmp_path / "out/was")
    (tmp_path / "out/a").symlink_to(outside)
    (outside / "b").mkdir()
    before = files_of(outside)
    for change in (
        lambda: place.remove("x"),
        lambda: place.move("x", place, "y"),
        lambda: place.sync("x"),
        lambda: place.names(),
        lambda: place.make(),
        lambda: place.opened("x", os.O_WRONLY | os.O_CREAT).__enter__(),
    ):
        with pytest.raises(checkpoint.CheckpointError, match="out/a is a link, or no folder"):
            change()
    assert files_of(outside) == before


# ---- Links of the model.


@pytest.fixture
def model(tmp_path: Path) -> Path:
    (tmp_path / "private/notes").mkdir(parents=True)
    (tmp_path / "private/key").write_text("SECRET")
    (tmp_path / "private/notes/a.txt").write_text("SECRET")
    return models.make(tmp_path / "model", "llama", **SIZES)


def leaked(out: Path) -> set[str]:
    return {name for name, held in files_of(out).items() if held == b"SECRET"}


LINKS: dict[str, Callable[[Path], object]] = {
    "beside": lambda model: (model / "key").symlink_to("../private/key"),
    "absolute": lambda model: (model / "key").symlink_to(model.parent / "private/key"),
    "by a link": lambda model: (
        (model / ".key").symlink_to("../private/key"),
        (model / "key").symlink_to(".key"),
    ),
}


@pytest.mark.parametrize("how", LINKS)
def test_a_file_from_outside_is_named(how: str, model: Path, tmp_path: Path) -> None:
    LINKS[how](model)
    report = quantize(model, tmp_path / "out")
    assert leaked(tmp_path / "out") == {"key"}
    (note,) = report.warnings
    assert "links lead out of the model's folder" in note
    assert f"{tmp_path}/private" in note
    assert "made of key there" in note
    assert note in str(report)


@pytest.mark.parametrize("there", ["../private", "../private/notes", "..", "/"])
def test_a_folder_from_outside_is_left_out_and_named(
    there: str, model: Path, tmp_path: Path
) -> None:
    (model / "more").symlink_to(there)
    report = quantize(model, tmp_path / "out")
    assert leaked(tmp_path / "out") == set()
    assert not (tmp_path / "out/more").exists()
    text = "more is a link to a folder outside the model's: what is there is left out"
    assert report.warnings == [text]


def test_a_usual_cache(model: Path, tmp_path: Path, whole: Path) -> None:
    """All files are links to one folder beside; one note says so. Links within are not spoken of."""
    plain = quantize(model, tmp_path / "plain")
    assert plain.warnings == []
    (tmp_path / "blobs").mkdir()
    for number, path in enumerate(sorted(p for p in model.rglob("*") if p.is_file())):
        if not path.is_symlink():
            blob = path.rename(tmp_path / f"blobs/{number}")
            path.symlink_to(os.path.relpath(blob, path.parent))
    report = quantize(model, tmp_path / "out")
    assert files_of(tmp_path / "out") == files_of(tmp_path / "plain")
    (note,) = report.warnings
    assert f"to {tmp_path}/blobs: " in note
    assert "tokenizer.json" in note
    assert "config.json" in note


def test_a_folder_within_is_followed(model: Path, tmp_path: Path) -> None:
    (model / "again").symlink_to("assets")
    assert quantize(model, tmp_path / "out").warnings == []
    assert (tmp_path / "out/again/vocab.txt").read_bytes() == b"a\nb\n"


def test_folders_that_lead_to_many(model: Path, tmp_path: Path) -> None:
    """Two links in each lead to the next: a million million ways to the last."""
    for n in range(40):
        (model / f"d{n}").mkdir()
        for name in "ab":
            (model / f"d{n}/{name}").symlink_to(f"../d{n + 1}")
    (model / "d40").mkdir()
    with pytest.raises(checkpoint.CheckpointError, match="too many links to folders"):
        quantize(model, tmp_path / "out")


@pytest.mark.parametrize("name", ["model.safetensors.index.json", "config.json", "tokenizer.json"])
@pytest.mark.parametrize("what", ["a link to nothing", "a pipe", "a device"])
def test_what_cannot_be_read_is_refused(name: str, what: str, model: Path, tmp_path: Path) -> None:
    placed(model / name, lambda path: THINGS[what](path, tmp_path))
    with pytest.raises(checkpoint.CheckpointError, match=name):
        quantize(model, tmp_path / "out")
    assert not (tmp_path / "out").exists()
