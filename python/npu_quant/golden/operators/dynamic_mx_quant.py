"""The models of the operators that quantize to MX; their formulas are in mx.py."""

from __future__ import annotations

import numpy as np

from .blocks import BlockModel, Blocks
from .edges import grouped_edges
from .mx import FORM


class DynamicMxQuant(BlockModel):
    """npu_dynamic_mx_quant."""

    form = FORM

    def prepare(self) -> None:
        """Read the arguments."""
        inputs = self.inputs
        self.read(inputs[self.operator.arrays[0]], *self.all_blocks())
        self.alg = int(inputs["scale_alg"] or 0)
        top = self.format.limits[1]
        self.emax = float(np.floor(np.log2(top)))
        given = inputs["dst_type_max"] or top
        self.greatest = np.float32(given if self.alg else top)
        """What the amax of a block may become, but with scale_alg 0."""
        self.least = np.float32(inputs.get("max_low_bound", 0))
        below = float(self.format.neighbours(self.format.nearest(np.array([top])))[0][0])
        self.half_step = (top - below) / 2 / 2**self.emax
        """Half of the steps between codes from 1 to 2, where these are as fine as at the top."""

    def all_blocks(self) -> tuple[Blocks, ...]:
        """Return how the input lies in blocks."""
        inputs = self.inputs
        return (Blocks.along(inputs["input"].shape, inputs["axis"], inputs["block_size"]),)


class WithDualAxis(DynamicMxQuant):
    """npu_dynamic_mx_quant_with_dual_axis."""

    def all_blocks(self) -> tuple[Blocks, ...]:
        """Return how the input lies in blocks of the last axis, and of the one before it."""
        last, other = (Blocks.along(self.inputs["input"].shape, axis, 32) for axis in (-1, -2))
        return last, other


class Grouped(DynamicMxQuant):
    """npu_grouped_dynamic_mx_quant."""

    def all_blocks(self) -> tuple[Blocks, ...]:
        """Return how the rows of each group lie in blocks."""
        x, ends, block = (self.inputs[name] for name in ("x", "group_index", "blocksize"))
        return (Blocks(block, x.shape[1], grouped_edges(ends, 2 * block)),)
