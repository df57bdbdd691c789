"""The house rules of files: who opens those that others made, and who changes what is written."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

from test_codebase import ROOT, tree

# Rooms that read files which others made, and what opens files there: each by one function.
READERS = ("files", "checkpoint", "golden", "nn", "pytest_plugin", "commands")
OPENERS = {
    "files/opening.py": "the one",
    "files/common.py": "a descriptor of it",
    "checkpoint/place.py": "folders",
    "golden/report/reports.py": "files of this package",
    "pytest_plugin/archive.py": "a file that must be new",
    "commands/console.py": "what is written where the user says",
    "commands/outputs.py": "what would be overwritten there",
    "commands/info.py": "a file of the kernel",
    "files/mapped.py": "a file of the kernel",
}
_OPENING = {"read_text", "read_bytes", "write_text", "write_bytes", "touch", "fromfile", "tofile"}
_OPENING |= {"memmap", "loadtxt", "genfromtxt", "mmap", "copyfile", "copy", "copytree", "copy2"}


def opened_in(path: Path) -> Iterator[str]:
    """Yield the calls in a file that open others; methods of our own sources are no such."""
    for node in ast.walk(tree(path)):
        if not isinstance(node, ast.Call):
            continue
        if isinstance(node.func, ast.Name) and node.func.id == "open":
            yield "open"
        if isinstance(node.func, ast.Attribute):
            on, name = node.func.value, node.func.attr
            where = on.id if isinstance(on, ast.Name) else ""
            if (where, name) in {("os", "open"), ("io", "open"), ("json", "load"), ("np", "load")}:
                yield f"{where}.{name}"
            if (
                name in _OPENING
                and where not in ("copy", "self")
                and not (name == "copy" and where != "shutil")
            ):
                yield name


def test_files_that_others_made_are_opened_by_one_function() -> None:
    """A pipe must not hang, a device must not fill the memory: nothing else opens files."""
    room = ROOT / "python/npu_quant"
    found = {
        str(path.relative_to(room)): [*opened_in(path)]
        for name in READERS
        for path in sorted((room / name).rglob("*.py"))
    }
    assert {file for file, calls in found.items() if calls} == set(OPENERS)


def test_folders_that_are_written_are_changed_by_one_module() -> None:
    """Elsewhere in checkpoint/ nothing makes, moves or removes a file: a link might be followed."""
    changing = {"mkdir", "makedirs", "unlink", "remove", "rename", "replace", "rmtree", "rmdir"}
    changing |= {"symlink", "link", "symlink_to", "hardlink_to", "chmod", "chown", "truncate"}
    found = {
        (path.name, f"{node.func.value.id}.{node.func.attr}")
        for path in sorted((ROOT / "python/npu_quant/checkpoint").glob("*.py"))
        for node in ast.walk(tree(path))
        if isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and isinstance(node.func.value, ast.Name)
        and node.func.value.id in ("os", "shutil", "path", "folder", "out")
        and node.func.attr in changing
    }
    assert {file for file, _ in found} <= {"place.py"}
