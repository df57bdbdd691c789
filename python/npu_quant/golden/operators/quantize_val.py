"""The model of quantize_val, for arrays."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from ... import dtypes
from .elements import ElementModel, Spread
from .model import Array


class QuantizeVal(ElementModel):
    """quantize_val: the zero point is added after rounding."""

    outputs = ("y",)
    kinds = ("codes",)

    def __init__(
        self, function: Callable[..., Any], inputs: Mapping[str, Any], numerics: str | None
    ) -> None:
        super().__init__(function, inputs, numerics, inputs["value"])
        with np.errstate(all="ignore"):
            self.scale = Spread(inputs["scale"], self.x.shape)
        self.zero_point = Spread(inputs["zero_point"], self.x.shape)
        row = dtypes.resolve(inputs["scalar_type"])
        assert row is not None
        assert row.numpy is not None
        self.limits = np.iinfo(row.numpy)

    def golden(self) -> tuple[Array | None, ...]:
        """Return npu_quant's own codes; those of a number as an array without axes."""
        if self._golden is None:
            codes = self._function(**self.inputs, numerics=self._numerics)
            if not isinstance(codes, np.ndarray):
                row = dtypes.resolve(self.inputs["scalar_type"])
                codes = np.asarray(codes, None if row is None else row.numpy)
            self._golden = (codes,)
        return self._golden
