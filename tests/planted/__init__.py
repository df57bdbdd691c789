"""Faults planted on top of a device's ordinary ties, with the cause and the place to be named.

What is expected was written from what each fault is, before anything found it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from npu_quant.golden import Comparison, compare

Array = NDArray[Any]
Outputs = dict[str, Array]
Verdict = Literal["right", "place only", "half", "silent", "wrong"]


@dataclass(frozen=True)
class Device:
    """A call of an operator, and what a device gives for it: not quite the golden's bytes."""

    op: str | None
    inputs: Mapping[str, Any]
    outputs: Outputs
    """The device's, an element for each code."""
    v: Array
    """The device's numbers before rounding, of the first output."""
    encode: Callable[[Array], Array]
    golden: Outputs = field(default_factory=dict)
    """Where no operator computes it."""

    def compare(self, changed: Outputs) -> Comparison:
        """Compare the device's outputs, of which some are others."""
        outputs = self.outputs | changed
        if self.op is None:
            return compare(outputs, self.golden)
        return compare(outputs, op=self.op, inputs=self.inputs)


Fault = Callable[[Device], Outputs]


@dataclass(frozen=True)
class Kind:
    """A kind of fault."""

    device: Callable[[], Device]
    name: str
    fault: Fault
    cause: str
    """What a cause must say, as a regular expression."""
    place: str = ""
    """What the report must say of the place; "" where it is everywhere."""
    is_named: bool = True
    """Whether the report says both today."""

    def __str__(self) -> str:
        return f"{self.device.__name__}: {self.name}"

    def compare(self) -> Comparison:
        device = self.device()
        with np.errstate(all="ignore"):
            changed = self.fault(device)
        return device.compare(changed)


def said(comparison: Comparison) -> list[str]:
    """Return what is named: causes, and the formula that gives all but what lies at its ties."""
    causes = [cause for output in comparison.outputs for cause in output.causes]
    names = [variant.name for variant in comparison.variants if variant.explains]
    return causes + [f"formula {name}" for name in names[:1]]


def verdict_of(kind: Kind, comparison: Comparison) -> Verdict:
    """Return how well the report names a fault."""
    named = said(comparison)
    is_placed = bool(re.search(kind.place, str(comparison)))
    if any(not re.search(kind.cause, text) for text in named):
        return "wrong"
    if named:
        return "right" if is_placed else "half"
    return "place only" if kind.place and is_placed else "silent"
