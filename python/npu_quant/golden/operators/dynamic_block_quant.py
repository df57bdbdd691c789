"""npu_dynamic_block_quant and npu_grouped_dynamic_block_quant."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from . import steps
from .dynamic_quant import (
    BY_INVERSE_AMAX,
    FORM,
    MULTIPLIER,
    NARROW_REPORTED,
    TIMES_INVERSE,
    formulas,
    in_groups,
    scale_step,
    with_values,
)
from .edges import grouped_edges, zero_where_none
from .formula import Other, Variant
from .grouped_tiles import GroupedTiling
from .groups import INPUTS, PER_TENSOR, per_row
from .model import Array
from .tiles import GroupedModel, Tiling, bounded

KERNELS = "hicann/ops-nn quant/dynamic_block_quant/op_kernel"
PAGE = "the page of torch_npu.npu_dynamic_block_quant, unlike its example"


class DynamicBlockQuant(GroupedModel):
    """npu_dynamic_block_quant: a group is a block of some columns of one row or several."""

    def prepare(self) -> None:
        """Read the arguments."""
        sizes = (int(self.inputs[name]) for name in ("row_block_size", "col_block_size"))
        self.read(self.inputs["x"], "block", *sizes)
        self.min_scale = np.float32(self.inputs["min_scale"])


class Grouped(DynamicBlockQuant):
    """npu_grouped_dynamic_block_quant: blocks begin anew in each group of rows."""

    def blocks(self, height: int, width: int) -> Tiling:
        """Return the blocks of each group, in each matrix."""
        matrices = 1 if self.x.ndim == 2 else len(self.x)
        edges = grouped_edges(self.inputs["group_list"], height, matrices)
        self.edges = edges
        return GroupedTiling(self, edges, height, width)

    def ignores(self, output: int) -> bool:
        """Tell whether there are scales of no block: the device leaves them as they were."""
        return self.kinds[output] == "scale" and not np.all(np.diff(self.edges))

    def as_elements(self, output: int, array: Array) -> Array:
        """Return an output as an array of elements, with 0 for scales of no block."""
        elements = super().as_elements(output, array)
        if self.kinds[output] != "scale":
            return elements
        return zero_where_none(elements, self.edges, self.x.ndim - 2)


def is_bounded(model: GroupedModel) -> bool:
    """Tell whether there is a min_scale."""
    return bool(model.min_scale > 0)


PER_ROW = Other("per row", "max |x| of the row", per_row, "npu_dynamic_quant")
PRINTED = scale_step("as the page prints it", "127 / amax", PAGE, benign=False)
UNBOUNDED = Other(
    "min_scale ignored", "{scale}", lambda scale, least: scale, steps.MISTAKE, is_bounded
)
INFINITE = Other(
    "inf beyond min_scale",
    "{scale}, but inf where amax is",
    lambda scale, least: np.where(np.isinf(scale), scale, bounded(scale, least)),
    "hicann/ops-nn quant/dynamic_block_quant, grouped_dynamic_block_quant: op_kernel",
    is_bounded,
)
FLOORED = Other(
    "scale at least min_scale",
    "max({scale}, min_scale)",
    lambda scale, least: np.maximum(scale, least),
    "the name read literally",
    is_bounded,
)
PAGE_MULTIPLIER = replace(MULTIPLIER, source=PAGE)
ASCEND910B = FORM.formula(scale=TIMES_INVERSE, quotient=BY_INVERSE_AMAX)

REFERENCE = FORM.formula()
VARIANTS: tuple[Variant, ...] = (
    REFERENCE.row(source="docs/numerics.md 2"),
    ASCEND910B.row(
        "ascend910b", f"{KERNELS}/dynamic_block_quant.h:217, 347-435", profile="ascend910b"
    ),
    # The 950 divides, as the reference does: the same bits but where its division is 1 ulp off.
    REFERENCE.row(
        "ascend950",
        f"{KERNELS}/arch35/dynamic_block_quant_single_row_kernel.h",
        profile="ascend950",
    ),
    *FORM.rows(formulas(), (ASCEND910B,)),
    FORM.formula(scale=PRINTED).row(
        summary="scale = min(127 / amax, 1 / min_scale), y = rint(x / scale)"
    ),
    FORM.formula(reported=PAGE_MULTIPLIER).row(),
    FORM.formula(reported=PAGE_MULTIPLIER, quotient=BY_INVERSE_AMAX).row(source=PAGE),
    *FORM.rows(FORM.formula(bound=bound) for bound in (UNBOUNDED, FLOORED, INFINITE)),
    *FORM.rows(FORM.formula(reported=step) for step in NARROW_REPORTED),
    *FORM.rows(in_groups(PER_ROW, PER_TENSOR)),
    *FORM.rows(with_values(BY_INVERSE_AMAX, *INPUTS)),
)
