"""Chips by the names that CANN gives them, and torch_npu's numbers for them."""

from __future__ import annotations

from typing import NamedTuple

from ..errors import ParamError


class Soc(NamedTuple):
    """A chip."""

    name: str
    version: int


# The numbers of SocVersion (torch_npu/csrc/core/npu/NpuVariables.h of Ascend/pytorch). A series is
# the beginning of its chips' names; "Ascend910B" is not the chip that had this name before them.
_VERSIONS = {
    "Ascend910A": 102,
    "Ascend310P1": 200,
    "Ascend310P2": 201,
    "Ascend310P3": 202,
    "Ascend310P4": 203,
    "Ascend910B1": 220,
    "Ascend910B2": 221,
    "Ascend910B2C": 222,
    "Ascend910B3": 223,
    "Ascend910B4": 224,
    "Ascend910B4-1": 225,
    "Ascend310B1": 240,
    "Ascend310B2": 241,
    "Ascend310B3": 242,
    "Ascend310B4": 243,
    "Ascend910_9391": 250,
    "Ascend910_9392": 251,
    "Ascend910_9381": 252,
    "Ascend910_9382": 253,
    "Ascend910_9372": 254,
    "Ascend910_9362": 255,
    "Ascend950": 260,
}
_SERIES = ("Ascend310P", "Ascend910B", "Ascend310B", "Ascend910_93")
_simulated: Soc | None = None


def named(name: str) -> Soc:
    """Return the chip of a name, or of a series: that of its first chip."""
    if name.startswith(("Ascend950PR", "Ascend950DT")):
        return Soc(name, _VERSIONS["Ascend950"])
    first = next((chip for chip in _VERSIONS if name in _SERIES and chip.startswith(name)), name)
    if first not in _VERSIONS:
        known = ", ".join([*_SERIES, *_VERSIONS])
        raise ParamError(f"soc is {name[:60]!r}, available: {known}.")
    return Soc(name, _VERSIONS[first])


def simulated() -> Soc | None:
    """Return the chip that is simulated."""
    return _simulated


def set_simulated(soc: Soc) -> None:
    """Have a chip simulated."""
    global _simulated
    _simulated = soc
