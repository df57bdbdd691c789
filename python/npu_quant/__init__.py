"""Ascend's quantization operators on a CPU: torch_npu's signatures, NumPy arrays, exact bits.

    >>> import numpy as np, npu_quant
    >>> x = np.array([[0, 1, -2, 4]], dtype=np.float16)
    >>> y, scale = npu_quant.npu_dynamic_quant(x)
    >>> y
    array([[  0,  32, -64, 127]], dtype=int8)

Where arrays are taken, so are torch's CPU tensors, ``out`` included; results are tensors if the
first argument is one. torch is never imported here (:mod:`npu_quant.ops` says more).

The arithmetic is written down in docs/numerics.md; ``npu_quant.ops.<op>.reference`` is the same in
plain NumPy.

PYTEST_DONT_REWRITE
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from ._command import ending_the_command

with ending_the_command():
    from . import _core  # noqa: F401

from . import ops, quantizer
from ._aclnn import aclnn_prefix
from ._names import dir_of, missing
from ._runtime import __version__, get_num_threads, info, list_numerics, numerics, set_num_threads
from .dtypes import (
    float4_e1m2fn_x2,
    float4_e2m1fn_x2,
    float8_e4m3fn,
    float8_e5m2,
    float8_e8m0fnu,
    hifloat8,
    int4,
)
from .errors import DTypeError, NpuQuantError, ParamError
from .ops import *  # noqa: F403 (an operator is named in ops/__init__.py alone)
from .quantizer import *  # noqa: F403

if TYPE_CHECKING:
    from . import checkpoint, formats, golden, testing

__all__ = ["DTypeError", "NpuQuantError", "ParamError", "__version__", "aclnn_prefix"]
__all__ += ["checkpoint", "formats", "golden", "ops", "testing"]
__all__ += ["float4_e1m2fn_x2", "float4_e2m1fn_x2", "float8_e4m3fn", "float8_e5m2"]
__all__ += ["float8_e8m0fnu", "hifloat8", "int4"]
__all__ += ["get_num_threads", "info", "list_numerics", "numerics", "set_num_threads"]
__all__ += ops.__all__
__all__ += quantizer.__all__

_LAZY = ("checkpoint", "formats", "golden", "testing")

__dir__ = dir_of(__name__)

if not TYPE_CHECKING:  # to a type checker a name that is not here is a mistake

    def __getattr__(name: str) -> Any:
        """Import what scripts that only compute do not need."""
        if name in _LAZY:
            return importlib.import_module(f"{__name__}.{name}")
        raise missing(name, __all__)
