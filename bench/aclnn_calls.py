"""What a call of the C API costs, both phases: bench/aclnn_calls.cpp."""

from __future__ import annotations

import ctypes
import time
from pathlib import Path

import npu_quant

from .copy_mix import LIBRARY

FUNCTIONS = {
    "aclnnDynamicQuant": "float32",
    "aclnnDynamicBlockQuant": "float32",
    "aclnnAddRmsNormQuant": "float32",
    "aclnnFakeQuantPerTensorAffineCachemask": "float32",
    "aclnnFakeQuantPerChannelAffineCachemask": "float32",
    "aclnnAscendQuant": "float32",
    "aclnnAscendAntiQuant": "int8",
}
"""The functions, and the dtype of their first tensor."""


class AclnnCalls:
    """Calls functions on 1x16 from C, which leaves ctypes out of the figure."""

    def __init__(self) -> None:
        installed = Path(npu_quant.aclnn_prefix()) / "lib64" / "libnpu_quant_aclnn.so"
        ctypes.CDLL(str(installed), mode=ctypes.RTLD_GLOBAL)
        self._library = ctypes.CDLL(str(LIBRARY.with_name("libnpu_quant_aclnn_bench.so")))
        self._library.aclnn_calls.argtypes = [ctypes.c_char_p, ctypes.c_int64]

    def run(self, function: str, repeats: int) -> float:
        """Return the seconds that so many calls took."""
        start = time.perf_counter()
        code = self._library.aclnn_calls(function.encode(), repeats)
        seconds = time.perf_counter() - start
        if code != 0:
            raise RuntimeError(f"bench: {function} returned {code}")
        return seconds
