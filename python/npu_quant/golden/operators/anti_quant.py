"""The model of npu_anti_quant."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ... import dtypes
from ..results import TieTest
from .elements import ElementModel, Spread
from .model import Array, value_tie


class AntiQuant(ElementModel):
    """npu_anti_quant: codes back to values of 16 bits."""

    outputs = ("y",)
    kinds = ("values",)
    allowed_because = (
        "up to 3 float32 roundings (x * scale, offset * scale, their sum) before the one to 16 "
        "bits, and 1 of the scale: each at most 1 ulp of the largest term"
    )

    def __init__(
        self, function: Callable[..., Any], inputs: Mapping[str, Any], numerics: str | None
    ) -> None:
        super().__init__(function, inputs, numerics, inputs["x"])
        self.scale = self._spread(inputs["scale"])
        offset = inputs["offset"]
        self.has_zero_point = offset is not None
        if offset is not None:
            self.zero_point = self._spread(offset)
        row = dtypes.resolve("float16" if inputs["dst_dtype"] is None else inputs["dst_dtype"])
        assert row is not None
        assert row.numpy is not None
        self.dtype: np.dtype[Any] = row.numpy

    def _spread(self, values: Array) -> Spread:
        """Spread a parameter over the axis it is for: the last one, or the one before it."""
        shape = self.x.shape
        if values.ndim > 1:
            is_column = values.shape[-1] == 1 and values.size != 1
        else:
            is_column = len(shape) > 1 and values.size not in (1, shape[-1])
        return Spread(values, shape, -2 if is_column else -1)

    def before_rounding(
        self,
        output: int,
        index: NDArray[np.int64],
        actual: Array,
        golden: Array,
        scale: Array | None = None,
    ) -> TieTest:
        """Compute (x + offset) * scale in float64."""
        x = self.elements.take(index).astype(np.float64)
        scales, offset = self.scale.at(index), self.zero_point.at(index)
        with np.errstate(all="ignore"):
            value = (x + offset) * scales
            return value_tie(value, actual, golden, value, x * scales, offset * scales + 0 * x)
