from contextvars import ContextVar
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

_Result = TypeVar("_Result", bound=tuple[Any, ...])

numerics_default: ContextVar[str]

def version() -> str: ...
def target() -> str: ...
def targets() -> list[str]: ...
def prefetch() -> str: ...
def streaming() -> str: ...
def set_target(name: str, /) -> bool: ...
def set_prefetch(name: str, /) -> bool: ...
def set_streaming(name: str, /) -> bool: ...
def set_shares_small_work(shares: bool, /) -> None: ...
def compiler() -> str: ...
def check_numerics(name: object) -> None: ...
def list_numerics() -> list[str]: ...
def formats() -> list[tuple[str, str, int, tuple[int, ...], str, int, float, float]]: ...
def get_num_threads() -> int: ...
def set_num_threads(n: object) -> None: ...
def compare(
    actual: NDArray[Any],
    golden: NDArray[Any],
    is_nan: NDArray[np.bool_] | None,
    first: int,
    columns: int,
    row_counts: NDArray[np.int64],
    row_shift: int,
    column_counts: NDArray[np.int64],
    column_shift: int,
    counts: NDArray[np.uint64],
    sums: NDArray[np.float64] | None,
    /,
) -> None: ...
def weight_error(
    w: NDArray[Any], codes: NDArray[Any], scale: NDArray[Any], sums: NDArray[np.float64], /
) -> None: ...
def is_tensor(value: object, /) -> bool: ...
def array_of(tensor: object, op: str, argument: str, /) -> NDArray[Any]: ...
def npu_dynamic_quant(
    result_type: type[_Result],
    input: object,
    smooth_scales: object,
    group_index: object,
    dst_type: object,
    quant_mode: object,
    dst_type_max: object,
    out: object,
    numerics: object,
    /,
) -> _Result: ...
def npu_dynamic_quant_asymmetric(
    result_type: type[_Result],
    input: object,
    smooth_scales: object,
    group_index: object,
    dst_type: object,
    quant_mode: object,
    dst_type_max: object,
    out: object,
    numerics: object,
    /,
) -> _Result: ...
def npu_dynamic_block_quant(
    result_type: type[_Result],
    x: object,
    min_scale: object,
    round_mode: object,
    dst_type: object,
    row_block_size: object,
    col_block_size: object,
    dst_type_max: object,
    out: object,
    numerics: object,
    /,
) -> _Result: ...
def npu_grouped_dynamic_block_quant(
    result_type: type[_Result],
    x: object,
    group_list: object,
    min_scale: object,
    round_mode: object,
    dst_type: object,
    row_block_size: object,
    col_block_size: object,
    group_list_type: object,
    dst_type_max: object,
    out: object,
    numerics: object,
    /,
) -> _Result: ...
def npu_dynamic_mx_quant(
    result_type: type[_Result],
    input: object,
    axis: object,
    round_mode: object,
    dst_type: object,
    block_size: object,
    scale_alg: object,
    dst_type_max: object,
    max_low_bound: object,
    out: object,
    numerics: object,
    /,
) -> _Result: ...
def npu_dynamic_mx_quant_with_dual_axis(
    result_type: type[_Result],
    input: object,
    round_mode: object,
    dst_type: object,
    scale_alg: object,
    dst_type_max: object,
    out: object,
    numerics: object,
    /,
) -> _Result: ...
def npu_dynamic_block_mx_quant(
    result_type: type[_Result],
    input: object,
    round_mode: object,
    dst_type: object,
    scale_alg: object,
    dst_type_max: object,
    out: object,
    numerics: object,
    /,
) -> _Result: ...
def npu_grouped_dynamic_mx_quant(
    result_type: type[_Result],
    x: object,
    group_index: object,
    round_mode: object,
    dst_type: object,
    blocksize: object,
    scale_alg: object,
    dst_type_max: object,
    out: object,
    numerics: object,
    /,
) -> _Result: ...
def npu_add_rms_norm_quant(
    result_type: type[_Result],
    x1: object,
    x2: object,
    gamma: object,
    scales1: object,
    zero_points1: object,
    beta: object,
    scales2: object,
    zero_points2: object,
    axis: object,
    epsilon: object,
    div_mode: object,
    dst_type: object,
    out: object,
    numerics: object,
    /,
) -> _Result: ...
def npu_quantize(
    self: object,
    scales: object,
    zero_points: object,
    dtype: object,
    axis: object,
    div_mode: object,
    out: object,
    numerics: object,
    /,
) -> NDArray[Any]: ...
def npu_anti_quant(
    x: object,
    scale: object,
    offset: object,
    dst_dtype: object,
    src_dtype: object,
    out: object,
    numerics: object,
    /,
) -> NDArray[Any]: ...
def npu_anti_mx_quant(
    x: object,
    mxscale: object,
    axis: object,
    dst_type: object,
    src_type: object,
    out: object,
    numerics: object,
    /,
) -> NDArray[Any]: ...
def npu_dtype_cast(
    self: object, dtype: object, input_dtype: object, out: object, numerics: object, /
) -> NDArray[Any]: ...
def npu_trans_quant_param(
    scale: object, offset: object, round_mode: object, out: object, numerics: object, /
) -> NDArray[np.int64]: ...
def npu_convert_weight_to_int4pack(
    weight: object, inner_k_tiles: object, out: object, numerics: object, /
) -> NDArray[Any]: ...
def quantize_val(
    scale: object,
    zero_point: object,
    value: object,
    scalar_type: object,
    out: object,
    numerics: object,
    /,
) -> int | NDArray[Any]: ...
def dequantize_val(
    scale: object,
    zero_point: object,
    value: object,
    out: object,
    numerics: object,
    /,
) -> float | NDArray[np.float32]: ...

class Quantizer:
    def __init__(self, *args: object, **kwargs: object) -> None: ...
    def scalar_type(self) -> int: ...
    def qscheme(self) -> int: ...
    def equal_to(self, other: Quantizer) -> bool: ...
    def quantize(self, x: object, out: object, numerics: object, /) -> NDArray[Any]: ...
    def dequantize(self, q: object, out: object, numerics: object, /) -> NDArray[np.float32]: ...

class PerTensorAffineQuantizer(Quantizer):
    def __init__(self, scale: object, zero_point: object, scalar_type: object) -> None: ...
    def scale(self) -> float: ...
    def zero_point(self) -> int: ...

class PerChannelAffineQuantizer(Quantizer):
    def __init__(
        self, scales: object, zero_points: object, axis: object, scalar_type: object
    ) -> None: ...
    def scales(self) -> NDArray[np.float64]: ...
    def zero_points(self) -> NDArray[np.int64]: ...
    def axis(self) -> int: ...

def fake_quantize_per_tensor_affine_cachemask(
    result_type: type[_Result],
    self: object,
    scale: object,
    zero_point: object,
    quant_min: object,
    quant_max: object,
    out: object,
    numerics: object,
    /,
) -> _Result: ...
def _fake_quantize_per_tensor_affine_cachemask_tensor_qparams(
    result_type: type[_Result],
    self: object,
    scale: object,
    zero_point: object,
    fake_quant_enabled: object,
    quant_min: object,
    quant_max: object,
    out: object,
    numerics: object,
    /,
) -> _Result: ...
def fake_quantize_per_tensor_affine(
    self: object,
    scale: object,
    zero_point: object,
    quant_min: object,
    quant_max: object,
    out: object,
    numerics: object,
    /,
) -> NDArray[Any]: ...
def fake_quantize_per_tensor_affine_cachemask_backward(
    grad: object,
    mask: object,
    out: object,
    numerics: object,
    /,
) -> NDArray[Any]: ...
def fake_quantize_per_channel_affine_cachemask(
    result_type: type[_Result],
    self: object,
    scale: object,
    zero_point: object,
    axis: object,
    quant_min: object,
    quant_max: object,
    out: object,
    numerics: object,
    /,
) -> _Result: ...
def fake_quantize_per_channel_affine(
    self: object,
    scale: object,
    zero_point: object,
    axis: object,
    quant_min: object,
    quant_max: object,
    out: object,
    numerics: object,
    /,
) -> NDArray[Any]: ...
def fake_quantize_per_channel_affine_cachemask_backward(
    grad: object,
    mask: object,
    out: object,
    numerics: object,
    /,
) -> NDArray[Any]: ...
