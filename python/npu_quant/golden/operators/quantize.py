"""The model of npu_quantize."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ... import dtypes
from .elements import ElementModel, Float64, Spread


class Quantize(ElementModel):
    """npu_quantize: the zero point is added before rounding."""

    outputs = ("y",)
    kinds = ("codes",)

    def __init__(
        self, function: Callable[..., Any], inputs: Mapping[str, Any], numerics: str | None
    ) -> None:
        super().__init__(function, inputs, numerics, inputs["self"])
        self.div_mode = bool(inputs["div_mode"])
        axis = int(inputs["axis"])
        if not self.div_mode and axis > -1:
            axis = -1
        shape = self.x.shape
        self.scale = Spread(inputs["scales"], shape, axis)
        zero_points = inputs["zero_points"]
        self.has_zero_point = zero_points is not None
        if zero_points is not None:
            self.zero_point = Spread(zero_points, shape, axis)
        row = dtypes.resolve(inputs["dtype"])
        assert row is not None
        assert row.numpy is not None
        self.limits = np.iinfo(row.numpy)

    def terms(self, index: NDArray[np.int64]) -> tuple[Float64, Float64]:
        """Return x / scale (div_mode=False: x * scale) and the zero point, in float64."""
        if self.div_mode:
            return super().terms(index)
        with np.errstate(all="ignore"):
            product = self.elements.take(index).astype(np.float64) * self.scale.at(index)
        return product, np.broadcast_to(self.zero_point.at(index), index.shape).astype(np.float64)
