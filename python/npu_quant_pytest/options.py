"""The plugin's options, which give way to another's of the same name.

``--golden-dir`` is ``--npu-golden-dir`` where a plugin or a conftest.py has one already. In an ini
file it is ``npu_golden_dir``; what the command line says comes first.
"""

from __future__ import annotations

import argparse
from typing import Any, Literal

import pytest

_OPTIONS: dict[str, dict[str, Any]] = {
    "dir": {
        "metavar": "DIR",
        "help": "where golden.stored finds its files, from rootdir; default: golden/ beside the "
        "test",
    },
    "update": {
        "action": "store_true",
        "help": "golden.stored stores what passing tests give now, and the summary shows what "
        "changed",
    },
    "keep": {
        "metavar": "DIR",
        "help": "where arrays of failing comparisons are kept, from rootdir; default: pytest's "
        "cache",
    },
    "summary": {
        "action": "store_true",
        "help": "list every comparison with its rung and margin, also when all pass",
    },
}
_NAMES: pytest.StashKey[dict[str, str]] = pytest.StashKey()
"""Of a config: the options as the command line has them."""


def add(parser: pytest.Parser, config: pytest.Config) -> None:
    """Add the options, each by the first of its two names that nothing else has."""
    if _NAMES in config.stash:
        return
    config.stash[_NAMES] = names = {}
    group = parser.getgroup("npu_quant", "comparison with goldens (npu_quant)")
    for option, attributes in _OPTIONS.items():
        if option != "update":  # what stores goldens is said each time
            kind: Literal["bool", "string"] = "bool" if "action" in attributes else "string"
            parser.addini(_dest(option), attributes["help"], kind, default=None)
        for name in (f"--golden-{option}", f"--npu-golden-{option}"):
            if name in _taken(parser):
                continue
            try:
                group.addoption(name, dest=_dest(option), **attributes)
            except (ValueError, argparse.ArgumentError):
                continue
            names[option] = name
            break


def _taken(parser: pytest.Parser) -> set[str]:
    """Return the names of all options; a pytest before 9 complains of two alike too late."""
    groups = [*getattr(parser, "_groups", ()), getattr(parser, "_anonymous", None)]
    return {
        name
        for group in groups
        for option in getattr(group, "options", ())
        for name in option.names()
    }


def _dest(option: str) -> str:
    return f"npu_golden_{option}"


def value_of(config: pytest.Config, option: str) -> Any:
    """Return what an option is, by the command line or an ini file; None or False for neither."""
    given = config.getoption(_dest(option), None)
    kind = bool if "action" in _OPTIONS[option] else str
    # Another plugin may have put something of its own there.
    if not isinstance(given, kind) or not given:
        given = config.getini(_dest(option)) if option != "update" else None
    return given if isinstance(given, kind) and given else (False if kind is bool else None)


def name_of(config: pytest.Config, option: str) -> str:
    """Return what the command line calls an option, such as ``--golden-update``."""
    return config.stash.get(_NAMES, {}).get(option, f"--golden-{option}")
