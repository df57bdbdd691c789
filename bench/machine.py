"""What the figures depend on: the CPU, the build, the versions."""

from __future__ import annotations

import os
import platform
import subprocess
from pathlib import Path
from typing import Any

import numpy as np

import npu_quant

from .cases import Bench

VENDORS = {"AuthenticAMD": "amd", "GenuineIntel": "intel"}


def facts(bench: Bench) -> dict[str, str]:
    """In the order in which they are printed."""
    info = npu_quant.info()
    return {
        "cpu": f"{os.cpu_count()} x {_cpuinfo().get('model name', platform.machine())}",
        **_caches(),
        "target": info["target"],
        "prefetch": info.get("prefetch", "-"),
        "npu_quant": info["version"],
        "compiler": info["compiler"],
        "python": platform.python_version(),
        "numpy": np.__version__,
        "torch": _version(bench.torch),
        "onnxruntime": _version(bench.onnxruntime),
        "rounds": str(bench.plan.rounds),
    }


def cpu_kind() -> str:
    """Vendor, family and model, such as amd-family25-model17."""
    cpuinfo = _cpuinfo()
    try:
        vendor, family, model = (cpuinfo[key] for key in ("vendor_id", "cpu family", "model"))
    except KeyError as error:
        raise SystemExit(
            f"bench: --record and --compare keep a file per kind of CPU, which /proc/cpuinfo is to "
            f"name, and it has no {error} here"
        ) from None
    return f"{VENDORS.get(vendor, vendor.lower())}-family{family}-model{model}"


def commit() -> str:
    """That of HEAD."""
    command = ["git", "rev-parse", "--short=12", "HEAD"]
    try:
        done = subprocess.run(command, capture_output=True, text=True, cwd=Path(__file__).parent)
    except OSError:  # there is no git
        return "-"
    return done.stdout.strip() or "-"


def _cpuinfo() -> dict[str, str]:
    """What Linux says of the first CPU; nothing elsewhere."""
    try:
        first = Path("/proc/cpuinfo").read_text().partition("\n\n")[0]
    except OSError:
        return {}
    fields = (line.partition(":") for line in first.splitlines())
    return {key.strip(): value.strip() for key, _, value in fields}


def _caches() -> dict[str, str]:
    """The sizes of L2 and L3, as Linux writes them."""
    sizes = {"L2": "-", "L3": "-"}
    for cache in Path("/sys/devices/system/cpu/cpu0/cache").glob("index*"):
        level = "L" + (cache / "level").read_text().strip()
        if level in sizes:
            sizes[level] = (cache / "size").read_text().strip()
    return sizes


def _version(peer: Any) -> str:
    return "-" if peer is None else peer.__version__
