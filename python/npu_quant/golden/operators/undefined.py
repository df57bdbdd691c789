"""What operators leave undefined of their outputs: a row of a table each, beside its document.

A device leaves in such elements what its memory held before, and npu_quant writes 0 there. They are
data of an operator, by its inputs; a comparison leaves them out and says so. What no row names is
compared, padding that a document calls 0 among it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .edges import counts_of, grouped_edges

Inputs = Mapping[str, Any]
"""All arguments of an operator by name, with its defaults."""
Rows = NDArray[np.bool_]
"""Of some first axes of an output: True where all that lies there is undefined."""


@dataclass(frozen=True, eq=False)
class Region:
    """What is undefined of an output with some inputs."""

    rows: Rows
    why: str
    """What these rows are, such as "of no group"; of a whole output what it is."""

    @property
    def is_whole(self) -> bool:
        """Whether the operator does not give this output at all: its shape means nothing either."""
        return self.rows.ndim == 0

    @cached_property
    def flat(self) -> Rows:
        """The rows in C order."""
        return self.rows.reshape(-1)

    @cached_property
    def count(self) -> int:
        """How many rows are defined."""
        return int(np.count_nonzero(~self.flat))

    @cached_property
    def is_tail(self) -> bool:
        """Whether it is all that lies behind the defined rows, which places do not change then."""
        return bool(self.flat[self.count :].all())

    @property
    def words(self) -> str:
        """The rows in words; "" for the whole output."""
        if self.is_whole:
            return ""
        first, last = np.flatnonzero(self.flat)[[0, -1]].tolist()
        total = len(self.flat) - self.count
        if last - first + 1 > total:
            return f"{total:,} of {len(self.flat):,} rows"
        return f"row {first:,}" if total == 1 else f"rows {first:,} to {last:,}"

    def kept(self, array: NDArray[Any]) -> NDArray[Any]:
        """Return the defined rows of an array, one axis in the place of those that count rows."""
        own = array.reshape(len(self.flat), *array.shape[self.rows.ndim :])
        return own[: self.count] if self.is_tail else own[~self.flat]

    def filled(self, array: NDArray[Any], golden: NDArray[Any]) -> NDArray[Any]:
        """Return an array with golden's elements where it is undefined, if it has its shape."""
        if array.shape != golden.shape:
            return array
        own: NDArray[Any] = array.copy()
        with np.errstate(all="ignore"):
            own[self.rows] = golden[self.rows].astype(own.dtype)
        return own


@dataclass(frozen=True, eq=False)
class Undefined:
    """A row of the table."""

    op: str
    outputs: str
    """Names of outputs, with spaces between them."""
    where: Callable[[Inputs], Any]
    """Of the inputs: the rows that are undefined; True for all of an output, False for nothing."""
    why: str
    source: str

    def region(self, inputs: Inputs) -> Region | None:
        """Return what is undefined with some inputs; None where nothing is."""
        rows = np.asarray(self.where(inputs), bool)
        return Region(rows, self.why) if rows.any() else None


def behind(count: Any, *shape: int) -> Rows:
    """Return all rows but so many first ones."""
    return np.asarray(np.arange(math.prod(shape)).reshape(shape) >= count)


def in_groups(group_list: Any, list_type: int | None = 0) -> int:
    """Return how many rows the groups of a list have together."""
    return int(counts_of(np.asarray(group_list), list_type or 0).sum())


def behind_counts(inputs: Inputs) -> Any:
    """Return the rows of x behind those that group_index counts."""
    counts, x = inputs["group_index"], inputs["x"]
    return counts is not None and behind(in_groups(counts, 1), *x.shape[:-1])


def behind_list(inputs: Inputs) -> Any:
    """Return the rows of one x behind the groups of group_list, where results are one array."""
    x, own = inputs["x"], inputs["group_list"]
    if own is None or inputs.get("group_type") == 2 or inputs.get("split_item", 2) not in (2, 3):
        return False
    rows = x if isinstance(x, np.ndarray) else x[0]
    return behind(in_groups(own, inputs.get("group_list_type", 0)), len(rows))


def experts_of(inputs: Inputs) -> NDArray[Any]:
    """Return the experts of expert_idx that are in the range."""
    experts, own = inputs["expert_idx"], inputs["active_expert_range"]
    start, end = (0, inputs["expert_num"]) if own is None or not len(own) else own
    return np.asarray(experts[(experts >= start) & (experts < end)])


def behind_slots(inputs: Inputs) -> Any:
    """Return the slots that no row goes to, where they are the last ones."""
    slots, most = inputs["expert_idx"].size, inputs["active_num"]
    slots = min(most, slots) if most > 0 else slots
    return inputs["drop_pad_mode"] == 0 and behind(len(experts_of(inputs)), slots)


def behind_pairs(inputs: Inputs) -> Any:
    """Return the pairs of an expert and its count behind the pair of zeros that ends them."""
    pairs = len(np.unique(experts_of(inputs)))
    return inputs["expert_tokens_num_type"] == 2 and behind(pairs + 1, inputs["expert_num"])


def without_blocks(ends: Any, height: int, *matrices: int) -> Rows:
    """Return the rows of scales that are of no block, in each matrix."""
    count = math.prod(matrices)
    is_empty: Rows = np.diff(grouped_edges(ends, height, count)) == 0
    return is_empty.reshape(*matrices, len(is_empty) // max(1, count))


def is_off(branch: int) -> Callable[[Inputs], bool]:
    """Return whether a norm does not quantize for one of its two branches."""

    def test(inputs: Inputs) -> bool:
        mask = inputs["output_mask"]
        both = all(inputs[f"smooth_scale{k}"] is not None for k in (1, 2))
        return not ((True, both) if mask is None else mask)[branch]

    return test


def written_twice(inputs: Inputs) -> Rows:
    """Return where more than one slab of updates goes."""
    cache, new = inputs["self"], inputs["updates"]
    place = int(inputs["axis"]) % cache.ndim
    times = np.zeros(cache.shape[: place + 1], np.int64)
    for i, index in enumerate(inputs["indices"].tolist()):
        b, p = index if isinstance(index, list) else (i, index)
        times[b, ..., p : p + new.shape[place]] += 1
    return np.asarray(times > 1)


PLUGIN = "Ascend/op-plugin docs/zh/custom_APIs/torch_npu"
ROUTING = f"{PLUGIN}/torch_npu-npu_moe_init_routing_v2.md"
GATED = "cann/ops-transformer gmm/grouped_matmul_swiglu_quant/docs/aclnnGroupedMatmulSwigluQuant.md"
NORM = "hicann/ops-nn norm"
DEQUANT, BLOCKS = "npu_dequant_swiglu_quant", "npu_swiglu_group_quant"
EXPERTS, SECOND = "npu_grouped_matmul_swiglu_quant", "npu_grouped_matmul_swiglu_quant_v2"
ROUTED = "npu_moe_init_routing_v2"

TABLE = (
    Undefined("npu_grouped_matmul", "y", behind_list, "of no group", GATED),
    Undefined(EXPERTS, "y scale", behind_list, "of no group", GATED),
    Undefined(EXPERTS, "offset", lambda i: True, "reserved", GATED),
    Undefined(SECOND, "y scale", behind_list, "of no group", GATED),
    Undefined(
        DEQUANT,
        "scale",
        lambda i: i["quant_mode"] == 0,
        "not computed with quant_mode 0",
        "hicann/ops-nn quant/dequant_swiglu_quant/docs/aclnnDequantSwigluQuantV2.md",
    ),
    Undefined(DEQUANT, "y scale", behind_counts, "of no group", f"{PLUGIN}/torch_npu-{DEQUANT}.md"),
    Undefined(
        BLOCKS,
        "origin",
        lambda i: not i["output_origin"],
        "not computed without output_origin",
        "Ascend/op-plugin op_plugin/ops/opapi/SwigluGroupQuantKernelNpuOpApi.cpp: empty",
    ),
    Undefined(
        BLOCKS,
        "y scale origin",
        behind_counts,
        "of no group",
        "hicann/ops-nn activation/swiglu_group_quant/README.md: the first real_bs rows",
    ),
    Undefined(
        ROUTED,
        "expanded_scale",
        lambda i: i["quant_mode"] == 0,
        "not computed with quant_mode 0",
        ROUTING,
    ),
    Undefined(
        ROUTED,
        "expanded_scale",
        lambda i: i["quant_mode"] == -1 and i["scale"] is None,
        "undefined without scale",
        ROUTING,
    ),
    Undefined(ROUTED, "expanded_x expanded_scale", behind_slots, "of no expert", ROUTING),
    Undefined(
        ROUTED,
        "expanded_row_idx",
        lambda i: i["row_idx_type"] == 1 and behind(len(experts_of(i)), i["expert_idx"].size),
        "of no expert",
        ROUTING,
    ),
    Undefined(
        ROUTED,
        "expert_tokens_count_or_cumsum",
        lambda i: not i["expert_tokens_num_flag"],
        "not computed without expert_tokens_num_flag",
        ROUTING,
    ),
    Undefined(
        ROUTED,
        "expert_tokens_count_or_cumsum",
        behind_pairs,
        "behind the pair of zeros that ends the list",
        f"{ROUTING}; what test/test_custom_ops/test_{ROUTED}.py compares",
    ),
    Undefined(
        "npu_grouped_dynamic_mx_quant",
        "mxscale",
        lambda i: without_blocks(i["group_index"], 2 * i["blocksize"]),
        "of no block",
        "hicann/ops-nn quant/grouped_dynamic_mx_quant/op_kernel",
    ),
    Undefined(
        "npu_grouped_dynamic_block_quant",
        "scale",
        lambda i: without_blocks(i["group_list"], i["row_block_size"], *i["x"].shape[:-2]),
        "of no block",
        "hicann/ops-nn quant/grouped_dynamic_block_quant/op_kernel",
    ),
    Undefined(
        "npu_add_rms_norm_quant",
        "y2",
        lambda i: i["scales2"] is None,
        "not computed without scales2",
        f"{NORM}/add_rms_norm_quant/op_kernel",
    ),
    Undefined(
        "npu_add_rms_norm_dynamic_quant",
        "y1 scale1",
        is_off(0),
        "of a branch that is off",
        f"{NORM}/add_rms_norm_dynamic_quant/docs/aclnnAddRmsNormDynamicQuantV2.md",
    ),
    Undefined(
        "npu_add_rms_norm_dynamic_quant",
        "y2 scale2",
        is_off(1),
        "of a branch that is off",
        f"{NORM}/add_rms_norm_dynamic_quant/docs/aclnnAddRmsNormDynamicQuantV2.md",
    ),
    *(
        Undefined(
            op,
            "y",
            written_twice,
            "written by more than one update",
            f"{PLUGIN}/torch_npu-{op}.md",
        )
        for op in ("npu_quant_scatter", "npu_quant_scatter_")
    ),
)
"""Of several rows for an output the first one counts that leaves anything undefined."""
