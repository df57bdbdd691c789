"""What the tools that renew a part of a file have in common: rewrite it, or check it."""

from __future__ import annotations

import argparse
import inspect
from collections.abc import Callable
from pathlib import Path


def main(path: Path, renewed: Callable[[str], str]) -> int:
    """Rewrite a file as its text renewed; with --check say whether it is stale."""
    tool = Path(inspect.getfile(renewed)).name
    parser = argparse.ArgumentParser(description=f"Renew {path.name}.")
    parser.add_argument("--check", action="store_true", help="change nothing, exit 1 if stale")
    check = parser.parse_args().check
    text = path.read_text()
    if renewed(text) == text:
        return 0
    if check:
        print(f"{path.name} is stale; run python tools/{tool}")
        return 1
    path.write_text(renewed(text))
    return 0
