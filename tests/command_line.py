"""What the tests of the command share: what runs it, the words of an operator, and its example."""

from __future__ import annotations

from typing import Protocol

import numpy as np

DQ = ["--op", "npu_dynamic_quant"]

# The example of npu_dynamic_quant's page, with one row more.
X = np.array([[0, 1, -2, 4], [3, -1.5, 0.75, -3]], np.float16)
Y = np.array([[0, 32, -64, 127], [127, -64, 32, -127]], np.int8)
SCALE = np.array([4, 3], np.float32) / np.float32(127)
# What truncation makes of it.
TRUNCATED = np.array([[0, 31, -63, 127], [127, -63, 31, -127]], np.int8)


class Say(Protocol):
    """Runs `npu-quant`, or `npu-quant compare`."""

    def __call__(self, *words: str) -> tuple[int, str, str]:
        """Run it in this process; return its status, stdout and stderr."""
        ...
