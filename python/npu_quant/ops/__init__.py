"""The operators, a page each: signature, documentation, and ``reference()`` in plain NumPy."""

from __future__ import annotations

from .dynamic_block_quant import npu_dynamic_block_quant
from .dynamic_quant import npu_dynamic_quant

__all__ = ["npu_dynamic_block_quant", "npu_dynamic_quant"]
