"""Where stored goldens and kept arrays of a test are, and the commands that lead there."""

from __future__ import annotations

import contextlib
import hashlib
import os
import re
from dataclasses import dataclass
from pathlib import Path

import pytest

from npu_quant_pytest import options
from npu_quant_pytest.ledger import KEPT

from .._shell import joined
from ..errors import ParamError

__tracebackhide__ = True

_LONGEST = 100
# The first - of a folder's name is where a test's parameters begin.
_PLAIN = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.+=,]*(\[[^\]]*\])?")
_DIGEST = re.compile(r"[-\[][0-9a-f]{8}$")


def safe(name: str) -> str:
    """Return a test's name as that of a folder; two tests never have the same.

    ``test_rows[fp16]`` becomes ``test_rows-fp16``. Where a character had to go, it was too long, or
    it might be what another name becomes, a digest of the name is added.
    """
    plain = re.sub(r"\[(.*)\]$", r"-\1", name, flags=re.DOTALL)
    kept = re.sub(r"[^A-Za-z0-9_.+=,-]", "_", plain)[:_LONGEST]
    if kept == plain and _PLAIN.fullmatch(name) and not _DIGEST.search(name.removesuffix("]")):
        return kept
    return f"{kept}-{digest_of(name)}"


def digest_of(name: str) -> str:
    """Return a few characters that only this name has."""
    return hashlib.sha256(name.encode(errors="surrogatepass")).hexdigest()[:8]


@dataclass(frozen=True)
class Folders:
    """The folders of one test."""

    stored: Path
    """Of its stored goldens."""
    kept: Path
    """Of the arrays of its failing comparisons."""
    update_command: str
    start: Path
    """Where pytest was started, which paths are shown from."""
    updating: bool = False

    @classmethod
    def of(cls, item: pytest.Item) -> Folders:
        """Return the folders of a test, and remember which to clear when it passes."""
        config = item.config
        # Not the parts of its id, where a parameter may hold colons too.
        parts = [node.name for node in item.listchain() if isinstance(node, pytest.Class)]
        parts.append(item.name)
        folder = Path(item.path.stem, safe(".".join(parts)))
        base = config.rootpath
        below = item.path.parent.relative_to(base) if item.path.is_relative_to(base) else Path()
        chosen = options.value_of(config, "dir")
        stored = item.path.parent / "golden" if chosen is None else base / chosen / below
        start = config.invocation_params.dir
        place = "::".join([os.path.relpath(item.path, start), *parts])
        command = ["pytest", "--npu-golden-update"]
        command += [] if chosen is None else ["--npu-golden-dir", chosen]
        folders = cls(
            stored=stored / folder,
            kept=_keep(config) / below / folder,
            update_command=joined([*command, place]),
            start=start,
            updating=bool(options.value_of(config, "update")),
        )
        item.stash[KEPT] = folders.kept
        return folders

    def stored_file(self, name: str) -> Path:
        """Return the file of a stored golden.

        Raises:
            ParamError: its name is not fit for a file's.
        """
        if not re.fullmatch(r"[A-Za-z0-9_][A-Za-z0-9_.+=,-]*", name):
            raise ParamError(
                f"npu_golden.stored: name is {name!r}, expected letters, digits and _.-+=,"
            )
        return self.stored / f"{name}.npz"

    def shown(self, path: Path) -> str:
        """Return a path as messages write it: from where pytest was started, if that is shorter."""
        relative = os.path.relpath(path, self.start)
        return min(relative, str(path), key=len)


def _keep(config: pytest.Config) -> Path:
    chosen: str | None = options.value_of(config, "keep")
    if chosen is not None:
        return config.rootpath / chosen
    # pytest's cache can be switched off, or be where nothing can be written.
    cache = getattr(config, "cache", None)
    with contextlib.suppress(OSError):
        if cache is not None:
            return Path(cache.mkdir("npu_quant"))
    return config.rootpath / ".pytest_golden"
