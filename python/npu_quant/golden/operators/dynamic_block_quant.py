"""npu_dynamic_block_quant and npu_grouped_dynamic_block_quant."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from . import groups, steps
from .codes import Codes
from .dynamic_quant import BOUND, MULTIPLIER, QUOTIENTS, REPORTED, SCALES, scale_step
from .edges import Edges, grouped_edges
from .formula import Form, Other, Rounded
from .tiles import GroupedModel, bounded

PAGE = "the page of torch_npu.npu_dynamic_block_quant, unlike its example"


def is_bounded(model: GroupedModel) -> bool:
    """Tell whether there is a min_scale."""
    return bool(model.min_scale > 0)


PER_ROW = Other("per row", "max |x| of the row", groups.per_row, "npu_dynamic_quant")
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
SLOTS = {
    "values": (groups.AS_GIVEN, PER_ROW, groups.PER_TENSOR, groups.FINITE_ONLY, *groups.INPUTS),
    "scale": (*SCALES, PRINTED),
    "bound": (BOUND, UNBOUNDED, FLOORED, INFINITE),
    "reported": (REPORTED[0], replace(MULTIPLIER, source=PAGE), *REPORTED[2:]),
    "quotient": QUOTIENTS,
} | groups.ENDS


class DynamicBlockQuant(GroupedModel):
    """npu_dynamic_block_quant: a group is a block of some columns of one row or several."""

    form = Form(
        SLOTS,
        groups.text,
        (Codes(groups.operands), Rounded(groups.scales)),
        "docs/numerics.md 2",
    )

    def prepare(self) -> None:
        """Read the arguments."""
        sizes = (int(self.inputs[name]) for name in ("row_block_size", "col_block_size"))
        self.read(self.inputs["x"], "block", *sizes)
        self.min_scale = np.float32(self.inputs["min_scale"])


class Grouped(DynamicBlockQuant):
    """npu_grouped_dynamic_block_quant: blocks begin anew in each group of rows."""

    def edges(self, mode: str, height: int = 1) -> Edges:
        """Return those of the blocks of each group, in each matrix."""
        if mode != "block":
            return super().edges(mode, height)
        matrices = 1 if self.x.ndim == 2 else len(self.x)
        return grouped_edges(self.inputs["group_list"], height, matrices)
