"""Ascend's quantization operators on a CPU: torch_npu's signatures, NumPy arrays, exact bits.

    >>> import numpy as np, npu_quant
    >>> x = np.array([[0, 1, -2, 4]], dtype=np.float16)
    >>> y, scale = npu_quant.npu_dynamic_quant(x)
    >>> y
    array([[  0,  32, -64, 127]], dtype=int8)

The arithmetic is written down in docs/numerics.md; ``npu_quant.ops.<op>.reference`` is the same in
plain NumPy.
"""

from __future__ import annotations

from ._runtime import __version__, get_num_threads, info, list_numerics, numerics, set_num_threads
from .errors import DTypeError, ParamError
from .ops import npu_dynamic_block_quant, npu_dynamic_quant

__all__ = [
    "DTypeError",
    "ParamError",
    "__version__",
    "get_num_threads",
    "info",
    "list_numerics",
    "npu_dynamic_block_quant",
    "npu_dynamic_quant",
    "numerics",
    "set_num_threads",
]
