"""The model of npu_dynamic_block_quant."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from .dynamic_quant import GroupedModel

BLOCK = 128


class DynamicBlockQuant(GroupedModel):
    """npu_dynamic_block_quant: a group is a block of 128 elements of a row."""

    def __init__(
        self, function: Callable[..., Any], inputs: Mapping[str, Any], numerics: str | None
    ) -> None:
        super().__init__(function, inputs, numerics, inputs["x"], BLOCK)
        self.min_scale = np.float32(inputs["min_scale"])
