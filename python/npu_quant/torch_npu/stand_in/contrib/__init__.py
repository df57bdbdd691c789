"""``torch_npu.contrib``: nothing of it is here, and all of it says so."""

from __future__ import annotations

from typing import Any

from npu_quant.torch_npu.missing import stand_in_for


def __getattr__(name: str) -> Any:
    """Return what stands for a name of upstream's."""
    if name.startswith("_") or name == "transfer_to_npu":  # which is a module
        raise AttributeError(name)
    return stand_in_for(f"torch_npu.contrib.{name}")
