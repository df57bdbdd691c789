"""The operators' C functions, called from Python on NumPy memory."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
from witnesses import Array

import npu_quant

LIB64 = Path(npu_quant.aclnn_prefix()) / "lib64"
RUNTIME = ctypes.CDLL(str(LIB64 / "libascendcl.so"))
OPERATORS = ctypes.CDLL(str(LIB64 / "libopapi_nn.so"))
RUNTIME.aclGetRecentErrMsg.restype = ctypes.c_char_p
RUNTIME.aclCreateTensor.restype = ctypes.c_void_p
RUNTIME.aclCreateTensorList.restype = ctypes.c_void_p

ACL_FORMAT_ND = 2
INT8, FLOAT16, BF16, FLOAT8_E4M3FN = 2, 1, 27, 36
ACL_DTYPES = {
    np.dtype(np.float32): 0,
    np.dtype(np.float16): FLOAT16,
    np.dtype(np.int8): INT8,
    np.dtype(np.int32): 3,
    np.dtype(np.uint8): 4,
    np.dtype(np.int64): 9,
    np.dtype(np.bool_): 12,
    np.dtype(ml_dtypes.bfloat16): BF16,
    np.dtype(ml_dtypes.float8_e4m3fn): FLOAT8_E4M3FN,
    np.dtype(ml_dtypes.float8_e8m0fnu): 37,
}
KINDS: dict[str, Any] = {
    "T": ctypes.c_void_p,
    "L": ctypes.c_void_p,
    "a": ctypes.c_void_p,
    "s": ctypes.c_char_p,
    "i": ctypes.c_int64,
    "w": ctypes.c_int32,
    "d": ctypes.c_double,
    "f": ctypes.c_float,
    "b": ctypes.c_bool,
}
# The kinds of phase 1's parameters, but for the last two; T is a tensor, L a list of them, a an
# array that is NULL.
PROTOTYPES = {
    "aclnnDynamicQuant": "TTTT",
    "aclnnDynamicQuantV2": "TTTiTTT",
    "aclnnDynamicQuantV3": "TTTibsTTT",
    "aclnnDynamicQuantV4": "TTTibsfTTT",
    "aclnnDynamicBlockQuant": "TdsiiiTT",
    "aclnnDynamicBlockQuantV2": "TdsiiidTT",
    "aclnnDynamicMxQuant": "TisiiiTT",
    "aclnnDynamicMxQuantV2": "TisiiidTT",
    "aclnnDynamicMxQuantV3": "TisiiiddTT",
    "aclnnDynamicDualLevelMxQuant": "TTsiiTTT",
    "aclnnDynamicMxQuantWithDualAxis": "TsiiTTTT",
    "aclnnDynamicMxQuantWithDualAxisV2": "TsiidTTTT",
    "aclnnAddRmsNormQuant": "TTTTTTTidbTTT",
    "aclnnAddRmsNormQuantV2": "TTTTTTTTidbTTTT",
    "aclnnFakeQuantPerTensorAffineCachemask": "TTTfiiTT",
    "aclnnFakeQuantPerChannelAffineCachemask": "TTTiiiTT",
    "aclnnAscendQuant": "TTTbswT",
    "aclnnAscendQuantV3": "TTTbswwT",
    "aclnnAscendAntiQuant": "TTTibT",
    "aclnnAntiMxQuant": "TTiiT",
    "aclnnGroupQuant": "TTTTwT",
    "aclnnDequantBias": "TTTTiT",
    "aclnnInplaceQuantScatter": "TTTTTiii",
    "aclnnInplaceQuantScatterV2": "TTTTTiiis",
    "aclnnQuantMatmulV4": "TTTTTTbbT",
    "aclnnQuantMatmulV5": "TTTTTTTTTbbiT",
    "aclnnTransQuantParamV2": "TTT",
    "aclnnTransQuantParamV3": "TTiT",
    "aclnnWeightQuantBatchMatmulV2": "TTTTTTTiT",
    "aclnnWeightQuantBatchMatmulV3": "TTTTTTTiiT",
    "aclnnConvertWeightToINT4Pack": "TT",
    "aclnnSwiGlu": "TiT",
    "aclnnSwigluGroupQuant": "TTTTiiibddbTTT",
    "aclnnSwiGluQuant": "TTTTbsTT",
    "aclnnSwiGluQuantV2": "TTTTbsiiTT",
    "aclnnDequantSwigluQuant": "TTTTTTTbsTT",
    "aclnnDequantSwigluQuantV2": "TTTTTTTbsisiidddTT",
    "aclnnGroupedMatmulV4": "LLLLLLLLTLLLiiiiLLL",
    "aclnnGroupedMatmulV5": "LLLLLLLLTLLLiiiiaLLL",
    "aclnnGroupedMatmulSwigluQuant": "TTTTTTTTTT",
    "aclnnGroupedMatmulSwigluQuantV2": "TLLLTTTTiiiiaTT",
}


def create_tensor(a: Array) -> ctypes.c_void_p:
    """Describe an array, whose strides must be whole elements."""
    assert all(stride % a.itemsize == 0 for stride in a.strides)
    dims = (ctypes.c_int64 * a.ndim)(*a.shape)
    strides = (ctypes.c_int64 * a.ndim)(*(stride // a.itemsize for stride in a.strides))
    rank, dtype, address = ctypes.c_uint64(a.ndim), ACL_DTYPES[a.dtype], a.ctypes.data
    handle = RUNTIME.aclCreateTensor(
        *(dims, rank, dtype, strides, ctypes.c_int64(0), ACL_FORMAT_ND),
        *(dims, rank, ctypes.c_void_p(address)),
    )
    assert handle is not None
    return ctypes.c_void_p(handle)


def create_list(arrays: Sequence[Array]) -> ctypes.c_void_p:
    """Describe arrays; the list owns what describes them."""
    handles = (ctypes.c_void_p * len(arrays))(*(create_tensor(a).value for a in arrays))
    return ctypes.c_void_p(RUNTIME.aclCreateTensorList(handles, ctypes.c_uint64(len(arrays))))


def argument_of(kind: str, value: Any) -> Any:
    """Return what a function gets: arrays as tensors, lists of them as lists."""
    if isinstance(value, np.ndarray):
        return create_tensor(value)
    return create_list(value) if isinstance(value, list) else KINDS[kind](value)


@contextmanager
def device() -> Iterator[ctypes.c_void_p]:
    """Set the device; give a stream of it."""
    stream = ctypes.c_void_p()
    assert RUNTIME.aclrtSetDevice(0) == 0
    assert RUNTIME.aclrtCreateStream(ctypes.byref(stream)) == 0
    try:
        yield stream
    finally:
        assert RUNTIME.aclrtDestroyStream(stream) == 0
        assert RUNTIME.aclrtResetDevice(0) == 0


def status_of(name: str, *arguments: object) -> int:
    """Run both phases and wait; return the first status that is not 0. Arrays are tensors."""
    kinds = PROTOTYPES[name]
    phase1: Callable[..., int] = getattr(OPERATORS, name + "GetWorkspaceSize")
    phase2: Callable[..., int] = getattr(OPERATORS, name)
    values = [argument_of(*each) for each in zip(kinds, arguments, strict=True)]
    size, executor = ctypes.c_uint64(), ctypes.c_void_p()
    with device() as stream:
        status = phase1(*values, ctypes.byref(size), ctypes.byref(executor))
        status = status or phase2(None, size, executor, stream)
        status = status or RUNTIME.aclrtSynchronizeStream(stream)
    for kind, value in zip(kinds, values, strict=True):
        assert kind != "T" or RUNTIME.aclDestroyTensor(value) == 0
        assert kind != "L" or RUNTIME.aclDestroyTensorList(value) == 0
    return status


def recent_message() -> str:
    """Return what the functions last said on this thread."""
    return (RUNTIME.aclGetRecentErrMsg() or b"").decode()


def call(name: str, *arguments: object) -> None:
    """Run both phases, which must succeed."""
    status = status_of(name, *arguments)
    assert status == 0, f"{status}: {recent_message()}"
