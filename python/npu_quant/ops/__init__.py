"""The operators, a page each: signature, documentation, and ``reference()`` in plain NumPy."""

from __future__ import annotations

from .add_rms_norm_quant import npu_add_rms_norm_quant
from .anti_quant import npu_anti_quant
from .dynamic_block_quant import npu_dynamic_block_quant
from .dynamic_quant import npu_dynamic_quant
from .fake_quantize_per_channel import (
    fake_quantize_per_channel_affine,
    fake_quantize_per_channel_affine_cachemask,
    fake_quantize_per_channel_affine_cachemask_backward,
)
from .fake_quantize_per_tensor import (
    _fake_quantize_per_tensor_affine_cachemask_tensor_qparams,
    fake_quantize_per_tensor_affine,
    fake_quantize_per_tensor_affine_cachemask,
    fake_quantize_per_tensor_affine_cachemask_backward,
)
from .quantize import npu_quantize
from .quantize_val_functions import dequantize_val, quantize_val

__all__ = [
    "_fake_quantize_per_tensor_affine_cachemask_tensor_qparams",
    "dequantize_val",
    "fake_quantize_per_channel_affine",
    "fake_quantize_per_channel_affine_cachemask",
    "fake_quantize_per_channel_affine_cachemask_backward",
    "fake_quantize_per_tensor_affine",
    "fake_quantize_per_tensor_affine_cachemask",
    "fake_quantize_per_tensor_affine_cachemask_backward",
    "npu_add_rms_norm_quant",
    "npu_anti_quant",
    "npu_dynamic_block_quant",
    "npu_dynamic_quant",
    "npu_quantize",
    "quantize_val",
]
