"""``torch_npu.testing.common_utils``: tests of certain chips, and tensors to test with."""

from __future__ import annotations

import unittest
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import torch


class SupportedDevices:
    """Skips a test on other chips: those whose names do not begin with any of these."""

    def __init__(self, supported_devices: Sequence[str]) -> None:
        self._names = tuple(supported_devices)

    def __call__(self, test: Callable[..., Any]) -> Callable[..., Any]:
        """Decorate a test."""
        is_there = torch.npu.is_available() and torch.npu.get_device_name().startswith(self._names)
        return unittest.skipUnless(is_there, f"needs one of {', '.join(self._names)}")(test)


def create_common_tensor(
    item: Sequence[Any],
    minValue: float,
    maxValue: float,
    device: Any = None,
) -> tuple[Any, Any]:
    """Return random numbers of ``[dtype, format, shape]``, on the CPU and on the NPU."""
    dtype, _, shape = item
    made = torch.from_numpy(np.random.uniform(minValue, maxValue, shape).astype(dtype))
    return made, made.clone().to("npu" if device is None else device)
