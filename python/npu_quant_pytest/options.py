"""The plugin's options: ``--npu-golden-dir``, in an ini file ``npu_golden_dir``, and so on."""

from __future__ import annotations

from typing import Any, Literal

import pytest

_OPTIONS: dict[str, dict[str, Any]] = {
    "dir": {
        "metavar": "DIR",
        "help": "where npu_golden.stored finds its files, from rootdir; default: golden/ beside "
        "the test",
    },
    "update": {
        "action": "store_true",
        "help": "npu_golden.stored stores what passing tests give now, and the summary shows what "
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


def add(parser: pytest.Parser) -> None:
    """Add the options; what stores goldens is said each time, in no ini file."""
    group = parser.getgroup("npu_quant", "comparison with goldens (npu_quant)")
    for option, attributes in _OPTIONS.items():
        group.addoption(f"--npu-golden-{option}", **attributes)
        if option != "update":
            kind: Literal["bool", "string"] = "bool" if "action" in attributes else "string"
            parser.addini(f"npu_golden_{option}", attributes["help"], kind, default=None)


def value_of(config: pytest.Config, option: str) -> Any:
    """Return an option, by the command line or else an ini file; None where neither has it."""
    name = f"npu_golden_{option}"
    return config.getoption(name) or (option != "update" and config.getini(name)) or None
