"""``npu-quant info``: what computes here."""

from __future__ import annotations

import os
import platform
from collections.abc import Sequence
from typing import Any

import ml_dtypes
import numpy as np

from .. import info
from .._table import Column, Row, Table
from .arguments import Parser, add_json
from .console import width
from .outputs import check_outputs, write_result

DESCRIPTION = """\
Print versions, CPU, instruction set, threads and settings, to paste into a bug report. The output
holds no names of files or users."""

SCHEMA_VERSION = 1


def parser() -> Parser:
    """Return the parser of the arguments."""
    result = Parser("info", DESCRIPTION)
    add_json(result)
    return result


def run(words: Sequence[str]) -> int:
    """Print what computes here."""
    arguments = parser().parse_args(words)
    check_outputs(arguments)
    facts = machine()
    rows = [Row((name, _text_of(value))) for name, value in facts.items()]
    table = Table((Column(""), Column("")), rows)
    write_result(
        arguments, lambda: table.text(width()), lambda: {"schema_version": SCHEMA_VERSION, **facts}
    )
    return 0


def machine() -> dict[str, Any]:
    """Return what :func:`npu_quant.info` says, and what it runs on."""
    facts = info()
    return {
        "npu_quant": facts.pop("version"),
        **facts,
        "python": f"{platform.python_implementation()} {platform.python_version()}",
        "numpy": np.__version__,
        "ml_dtypes": ml_dtypes.__version__,
        "system": f"{platform.system()} {platform.release()} {platform.machine()}",
        "libc": " ".join(platform.libc_ver()).strip() or "unknown",
        "cpu": cpu_model(),
        "cpus": f"{len(os.sched_getaffinity(0))} of {os.cpu_count()}",
        "environment": {
            name: value
            for name, value in sorted(os.environ.items())
            if name.startswith("NPU_QUANT_") or name == "OMP_NUM_THREADS"
        },
    }


def cpu_model() -> str:
    """Return the CPU's name as the system has it."""
    try:
        with open("/proc/cpuinfo", encoding="utf-8", errors="replace") as file:
            lines = [line.partition(":") for line in file]
    except OSError:
        lines = []
    named = {name.strip(): value.strip() for name, _, value in lines}
    return named.get("model name") or platform.processor() or "unknown"


def _text_of(value: Any) -> str:
    if isinstance(value, dict):
        return ", ".join(f"{name}={each}" for name, each in value.items()) or "none set"
    return ", ".join(map(str, value)) if isinstance(value, list) else str(value)
