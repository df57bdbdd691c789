"""What the models of operators share that quantize a norm by given scales; see norm.py."""

from __future__ import annotations

from .model import Float32
from .norm_rows import NormModel


class NormQuant(NormModel):
    """Codes of a norm, by scales and zero points of its elements."""

    quantizers: tuple[tuple[str, str], ...]
    """The arguments that are scales and zero points, of each output of codes."""

    def prepare(self) -> None:
        """Read the arguments."""
        self.read_norm()
        self.scales = tuple(self.over_gamma(scale) for scale, _ in self.quantizers)
        self.zero_points = tuple(self.over_gamma(zero_point) for _, zero_point in self.quantizers)
        self.div_mode = bool(self.inputs.get("div_mode", True))

    def all_zero_points(self) -> list[Float32]:
        """Return the zero points of all outputs."""
        return [z for z in self.zero_points if z is not None]

    def has_sum(self, output: int) -> bool:
        """Tell whether there is a beta or a zero point."""
        return self.beta is not None or self.zero_points[output] is not None
