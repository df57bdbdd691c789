"""Folders that strangers made: pipes, devices, nesting, chains and numbers; and names that count."""

from __future__ import annotations

import itertools
import json
import os
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from as_line import as_line
from folders import A, B, changed, names, save
from golden_files import put
from hypothesis import given
from hypothesis import strategies as st
from msprobe_dumps import Dump

from npu_quant.errors import ParamError
from npu_quant.files import FileError, dumps
from npu_quant.golden import compare_folders

CALL = "NPU.f.0.forward"
SPECIAL: dict[str, Callable[[Path], object]] = {
    "a pipe": lambda path: os.mkfifo(path),
    "a link to a pipe": lambda path: (os.mkfifo(f"{path}.p"), path.symlink_to(f"{path}.p")),
    "a device": lambda path: path.symlink_to("/dev/zero"),
    "a folder": lambda path: path.mkdir(),
    "what is too large": lambda path: (path.touch(), os.truncate(path, 300 << 20)),
}
SMALL = ("dump.json", "construct.json", "stack.json", "y.json", "y.bin.json")


@pytest.mark.parametrize("what", SPECIAL)
@pytest.mark.parametrize("name", [*SMALL, "y.bin", "w.npy", "w.npz", "w.pt", "w.safetensors"])
def test_in_the_place_of_any_file(name: str, what: str, sides: tuple[Path, Path]) -> None:
    """The others are compared; of the file itself something is said."""
    for side in sides:
        save(side, good=A)
        put(side / "y.bin", B.tobytes())
        if name == "construct.json":
            put(side / "dump.json", json.dumps({"data": {CALL: {"output": []}}}).encode())
        (side / name).unlink(missing_ok=True)
        SPECIAL[what](side / name)
    found = compare_folders(*sides, dtype="float32")
    rows = {row.name: row.passed for row in found.rows}
    assert {file for file, passed in rows.items() if passed} == {"good"}  # nobody says y's shape
    assert name in as_line(found) or what == "a folder"


@pytest.mark.parametrize("what", SPECIAL)
def test_a_mapping(what: str, sides: tuple[Path, Path], tmp_path: Path) -> None:
    for side in sides:
        save(side, a=A)
    SPECIAL[what](tmp_path / "m.json")
    with pytest.raises((OSError, ParamError), match=r"m\.json"):
        compare_folders(*sides, mapping=tmp_path / "m.json")


BAD_SHAPES = "[1e400] [NaN] [-1] [6.0] [true] ['6'] [[6]] 6 '6' null {} [99999999999999999999] [5]"
BAD_SHAPES += f" [{'1,' * 40}6] [{'9' * 5000}] [4611686018427387904,4611686018427387904] [0]"


@pytest.mark.parametrize("shape", BAD_SHAPES.replace("'", '"').split())
def test_a_shape_beside_raw_elements(shape: str, sides: tuple[Path, Path]) -> None:
    for side in sides:
        save(side, good=A)
        put(side / "y.bin", B.tobytes())
        put(side / "y.json", b'{"dtype": "float32", "shape": %s}' % shape.encode())
    rows = {row.name: row for row in compare_folders(*sides, dtype="float32").rows}
    assert rows["good"].passed
    assert not rows["y"].passed
    assert rows["y"].problem


@pytest.mark.parametrize("dtype", ["5", "null", "{}", '["float32"]', '"nonsense"', '"\\ud800"'])
def test_a_dtype_beside_raw_elements(dtype: str, sides: tuple[Path, Path]) -> None:
    for side in sides:
        save(side, good=A)
        put(side / "y.bin", B.tobytes())
        put(side / "y.json", b'{"dtype": %s, "shape": [6]}' % dtype.encode())
    passed = {row.name: row.passed for row in compare_folders(*sides, dtype="float32").rows}
    assert passed == {"good": True, "y": False}


def nested(depth: int, begin: str, end: str) -> str:
    return begin * depth + "1" + end * depth


@pytest.mark.parametrize("where", ["input_args", "input_kwargs", "output", "parameters"])
@pytest.mark.parametrize("ends", [("[", "]"), ('{"a":', "}"), ('{"value":[', "]}")])
@pytest.mark.parametrize("depth", [40, 60, 300, 450, 600, 900, 5000])
def test_arguments_that_nest(
    depth: int, ends: tuple[str, str], where: str, sides: tuple[Path, Path]
) -> None:
    """Where json reads them the calls are known; deeper the file is passed over, and said to be."""
    for side in sides:
        dump = Dump(side)
        dump.call(CALL, (A,), (B,))
        dump.data["Torch.other.0.forward"] = {where: ["here"]}
        dump.write()
        text = (side / "dump.json").read_text().replace('"here"', nested(depth, *ends))
        (side / "dump.json").write_text(text)
    found = compare_folders(*sides, ops={CALL: "npu_quantize"})
    assert found.passed
    assert len(found.rows) == 2
    is_read = not any("dump.json (nests too deeply)" in one for one in found.passed_over)
    assert is_read or depth * len(ends[0].replace('"value":', "").replace('"a":', "")) > 450


@given(
    st.lists(st.sampled_from("abcdefgh"), unique=True),
    st.dictionaries(st.sampled_from("abcdefghuv"), st.sampled_from("abcdefghuv")),
)
def test_the_last_call_within_each(calls: list[str], parents: dict[str, str]) -> None:
    """As the definition has it: a call is within each of its callers, round circles too."""
    expected = {}
    for name in calls:
        within = set()
        for other in calls:
            above: str | None = other
            seen = set()
            while above is not None and above not in seen:
                seen.add(above)
                above = parents.get(above)
            if name in seen:
                within.add(other)
        expected[name] = max(map(calls.index, within))
    found = dumps._ends(calls, parents)
    assert {name: found[name] for name in calls} == expected


@pytest.mark.parametrize("shape", ["chain", "reverse", "circle", "star"])
def test_a_hundred_thousand_callers(shape: str) -> None:
    """Each is looked at once: a walk from each to the first would take an hour."""
    calls = [f"m{n}" for n in range(100_000)]
    parents = {
        "chain": dict(zip(calls[1:], calls, strict=False)),
        "reverse": dict(itertools.pairwise(calls)),
        "circle": dict(zip(calls, [*calls[1:], calls[0]], strict=True)),
        "star": dict.fromkeys(calls, calls[0]),
    }[shape]
    begin = time.process_time()
    assert len(dumps._ends(calls, parents)) == len(calls)
    assert time.process_time() - begin < 10


def test_folders_that_lead_to_many(sides: tuple[Path, Path]) -> None:
    for side in sides:
        for n in range(40):
            (side / f"d{n}").mkdir()
            for name in "ab":
                (side / f"d{n}/{name}").symlink_to(f"../d{n + 1}")
        save(side, d40__x=A)
    with pytest.raises(FileError, match="too many links to folders"):
        compare_folders(*sides)


# ---- What counts.

ONE_PROCESS = ("rank", "rank0", "rank3", "proc11100", "pid_7", "device0")
DATA = "dump_tensor_data"


@pytest.mark.parametrize("below", ["", DATA])
@pytest.mark.parametrize("theirs", ONE_PROCESS)
@pytest.mark.parametrize("ours", ONE_PROCESS)
def test_one_process_on_each_side(
    ours: str, theirs: str, below: str, sides: tuple[Path, Path]
) -> None:
    for side, folder in zip(sides, (ours, theirs), strict=True):
        for step in ("step0", "step1"):
            at = side / step / folder / below
            at.mkdir(parents=True)
            np.save(at / "NPU.f.0.forward.output.0.npy", A)
    found = compare_folders(*sides)
    assert found.passed
    assert len(found.rows) == 2
    shown = "proc" if ours.startswith("proc") else ours
    at = "/".join(filter(None, ("step0", shown, below)))
    assert names(found)[0] == f"{at.removesuffix(f'/{DATA}')}/NPU.f.0.forward.output.0"


def test_what_is_said_of_calls_holds_for_both(sides: tuple[Path, Path]) -> None:
    """The golden's dump.json is found under the actual's name of its folder."""
    for side, folder in zip(sides, ("rank0", "proc4711"), strict=True):
        dump = Dump(side / folder)
        dump.call("Torch.z.0.forward", (A,), (B,))
        dump.call("Torch.a.0.forward", (B,), (A,))
        dump.write()
    found = compare_folders(*sides)
    assert found.passed
    assert [name.rpartition("/")[2] for name in names(found)][::2] == [
        "Torch.z.0.forward.input.0",
        "Torch.a.0.forward.input.0",
    ]
    assert not found.only_golden


@pytest.mark.parametrize(
    ("ours", "theirs"),
    [
        (["rank0", "rank1"], ["rank"]),
        (["rank"], ["rank0", "rank1"]),
        (["rank0", "proc5"], ["rank"]),
        (["rank0", "rank1"], ["rank2", "rank3"]),
        (["layer0"], ["layer1"]),
        (["rank0"], ["step0"]),
        (["ranking"], ["rank0"]),
    ],
)
def test_what_does_not_go_together(
    ours: list[str], theirs: list[str], sides: tuple[Path, Path]
) -> None:
    for side, some in zip(sides, (ours, theirs), strict=True):
        for folder in some:
            save(side, **{f"{folder}__x": A})
        save(side, both=A)
    found = compare_folders(*sides)
    assert names(found) == ["both"]
    assert not found.passed


def sglang(index: int, name: str = "x", rank: int = 0, step: int = 0) -> str:
    return f"step={step}___rank={rank}___dump_index={index}___name={name}___layer_id=2.npy"


OP = "NPU.npu_dynamic_quant.{}.forward.output.{}.npy"
MODULE = "Module.net.fc.Linear.forward.{}.output.0.npy"
COUNTED: list[tuple[list[str], list[str], int]] = [
    ([sglang(3)], [sglang(7)], 1),
    ([sglang(3), sglang(4, "y")], [sglang(9), sglang(8, "y")], 2),
    ([sglang(3)], [sglang(7, rank=2)], 1),
    ([sglang(3)], [sglang(7, step=5)], 1),
    ([sglang(3), sglang(3, rank=1)], [sglang(7), sglang(8, rank=1)], 2),
    ([OP.format(0, 0)], [OP.format(4, 0)], 1),
    ([MODULE.format(0)], [MODULE.format(2)], 1),
    ([sglang(3)], [sglang(7, "y")], 0),
    ([sglang(3), sglang(5)], [sglang(7)], 0),
    ([sglang(3), sglang(5)], [sglang(3), sglang(7)], 1),
    ([OP.format(0, 0)], [OP.format(0, 1)], 0),
    (["layer=1.npy"], ["layer=2.npy"], 0),
    (["y.1.npy"], ["y.2.npy"], 0),
]


@pytest.mark.parametrize(("ours", "theirs", "count"), COUNTED)
def test_names_of_files_that_count(
    ours: list[str], theirs: list[str], count: int, sides: tuple[Path, Path]
) -> None:
    for side, some in zip(sides, (ours, theirs), strict=True):
        save(side, both=A)
        for name in some:
            np.save(side / name, B)
    found = compare_folders(*sides)
    assert len(found.rows) == count + 1
    assert all(row.passed for row in found.rows)
    assert found.passed is (len(ours) == len(theirs) == count)


def test_names_that_would_move_the_cursor(sides: tuple[Path, Path]) -> None:
    """What dump.json and folders say is shown on one line, with escapes."""
    call = "NPU.\x1b[31mnpu_quantize\n.0.forward"
    record = {
        "input_args": [{"data_name": "x.npy"}],
        "output": [{"data_name": "y.npy"}, {"data_name": "\x1b[2J\ud800\n.npy"}],
    }
    for side, y in zip(sides, (A, changed(A)), strict=True):
        folder = side / "r\x1bank"
        folder.mkdir()
        save(folder, x=B, y=y)
        (folder / "dump.json").write_text(json.dumps({"data": {call: record}}))
    found = compare_folders(*sides)
    assert r"the difference arises in NPU.\x1b[31mnpu_quantize\n.0.forward" in as_line(found)
    assert all(line.isprintable() for line in str(found).splitlines())
    assert "\x1b" not in found.to_html()
    with pytest.raises(ParamError) as caught:
        compare_folders(*sides, ops={"none": "npu_quantize"})
    assert str(caught.value).isprintable()
