"""A variant: a formula with a name, that an NPU's or a script's outputs may follow to the bit."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from numpy.typing import NDArray

Formula = Callable[[Any], "NDArray[Any] | None"]
"""From a part of the work to that range of an output; None where it does not fit the output."""

Glance = Callable[[Any, "Callable[[int], NDArray[Any] | None]"], bool]
"""From a part, and its actual elements by output, to whether a formula can have made them."""


def always(model: Any) -> bool:
    """Apply to whatever inputs."""
    return True


@dataclass(frozen=True, repr=False)
class Variant:
    """A named formula for all outputs of an operator."""

    name: str
    benign: bool
    """Whether it is the same formula over the real numbers: another order of operations or of a
    sum, another rule for ties, a device's profile. Other variants compute something else."""
    summary: str
    """The formula, in a line."""
    source: str
    """Where it is met."""
    formulas: tuple[Formula, ...]
    """One for each output."""
    applies: Callable[[Any], bool] = always
    """Whether it means anything for a model with these inputs."""
    benign_if: Callable[[Any], bool] | None = None
    """For what depends on the inputs: whether it is benign with these."""
    benign_when: str = ""
    """The same in words."""
    glance: Glance | None = None
    """For what needs all of the inputs before it can compute any: a test that does not."""
    steps: tuple[str, ...] = ()
    """The steps in which it differs from the reference, where it is made of such."""

    def __repr__(self) -> str:
        return f"<Variant {self.name!r}: {self.summary}>"

    def of(self, model: Any) -> Variant:
        """Return the variant with `benign` as it is for a model's inputs."""
        if self.benign_if is None:
            return self
        return dataclasses.replace(self, benign=self.benign_if(model), benign_if=None)
