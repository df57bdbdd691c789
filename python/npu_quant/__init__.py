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

from ._command import ending_the_command, require_packages

with ending_the_command():
    require_packages()
    from . import _core  # noqa: F401

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
from .ops import (
    _fake_quantize_per_tensor_affine_cachemask_tensor_qparams,
    dequantize_val,
    fake_quantize_per_channel_affine,
    fake_quantize_per_channel_affine_cachemask,
    fake_quantize_per_channel_affine_cachemask_backward,
    fake_quantize_per_tensor_affine,
    fake_quantize_per_tensor_affine_cachemask,
    fake_quantize_per_tensor_affine_cachemask_backward,
    npu_add_rms_norm,
    npu_add_rms_norm_dynamic_quant,
    npu_add_rms_norm_quant,
    npu_anti_mx_quant,
    npu_anti_quant,
    npu_convert_weight_to_int4pack,
    npu_dequant_bias,
    npu_dequant_swiglu_quant,
    npu_dtype_cast,
    npu_dual_level_quant_matmul,
    npu_dynamic_block_mx_quant,
    npu_dynamic_block_quant,
    npu_dynamic_dual_level_mx_quant,
    npu_dynamic_mx_quant,
    npu_dynamic_mx_quant_with_dual_axis,
    npu_dynamic_quant,
    npu_dynamic_quant_asymmetric,
    npu_group_quant,
    npu_grouped_dynamic_block_quant,
    npu_grouped_dynamic_mx_quant,
    npu_grouped_matmul,
    npu_grouped_matmul_swiglu_quant,
    npu_grouped_matmul_swiglu_quant_v2,
    npu_moe_finalize_routing,
    npu_moe_init_routing_v2,
    npu_moe_token_permute,
    npu_moe_token_unpermute,
    npu_quant_matmul,
    npu_quant_scatter,
    npu_quant_scatter_,
    npu_quantize,
    npu_rms_norm,
    npu_rms_norm_dynamic_quant,
    npu_rms_norm_quant,
    npu_rms_norm_quant_v2,
    npu_swiglu,
    npu_swiglu_group_quant,
    npu_swiglu_quant,
    npu_trans_quant_param,
    npu_weight_quant_batchmatmul,
    quantize_val,
)
from .quantizer import (
    PerChannelAffineQuantizer,
    PerTensorAffineQuantizer,
    QScheme,
    Quantizer,
    ScalarType,
    make_per_channel_affine_quantizer,
    make_per_tensor_affine_quantizer,
    per_channel_affine,
    per_channel_affine_float_qparams,
    per_channel_symmetric,
    per_tensor_affine,
    per_tensor_symmetric,
    qint8,
    qint32,
    quint8,
)

if TYPE_CHECKING:
    from . import checkpoint, formats, golden, ops, testing

__all__ = [  # noqa: RUF022 (its order of qint8 and qint32 is not that of sorted())
    "DTypeError",
    "NpuQuantError",
    "ParamError",
    "PerChannelAffineQuantizer",
    "PerTensorAffineQuantizer",
    "QScheme",
    "Quantizer",
    "ScalarType",
    "__version__",
    "_fake_quantize_per_tensor_affine_cachemask_tensor_qparams",
    "aclnn_prefix",
    "checkpoint",
    "dequantize_val",
    "fake_quantize_per_channel_affine",
    "fake_quantize_per_channel_affine_cachemask",
    "fake_quantize_per_channel_affine_cachemask_backward",
    "fake_quantize_per_tensor_affine",
    "fake_quantize_per_tensor_affine_cachemask",
    "fake_quantize_per_tensor_affine_cachemask_backward",
    "float4_e1m2fn_x2",
    "float4_e2m1fn_x2",
    "float8_e4m3fn",
    "float8_e5m2",
    "float8_e8m0fnu",
    "formats",
    "get_num_threads",
    "golden",
    "hifloat8",
    "info",
    "int4",
    "list_numerics",
    "make_per_channel_affine_quantizer",
    "make_per_tensor_affine_quantizer",
    "npu_add_rms_norm",
    "npu_add_rms_norm_dynamic_quant",
    "npu_add_rms_norm_quant",
    "npu_anti_mx_quant",
    "npu_anti_quant",
    "npu_convert_weight_to_int4pack",
    "npu_dequant_bias",
    "npu_dequant_swiglu_quant",
    "npu_dtype_cast",
    "npu_dual_level_quant_matmul",
    "npu_dynamic_block_mx_quant",
    "npu_dynamic_block_quant",
    "npu_dynamic_dual_level_mx_quant",
    "npu_dynamic_mx_quant",
    "npu_dynamic_mx_quant_with_dual_axis",
    "npu_dynamic_quant",
    "npu_dynamic_quant_asymmetric",
    "npu_group_quant",
    "npu_grouped_dynamic_block_quant",
    "npu_grouped_dynamic_mx_quant",
    "npu_grouped_matmul",
    "npu_grouped_matmul_swiglu_quant",
    "npu_grouped_matmul_swiglu_quant_v2",
    "npu_moe_finalize_routing",
    "npu_moe_init_routing_v2",
    "npu_moe_token_permute",
    "npu_moe_token_unpermute",
    "npu_quant_matmul",
    "npu_quant_scatter",
    "npu_quant_scatter_",
    "npu_quantize",
    "npu_rms_norm",
    "npu_rms_norm_dynamic_quant",
    "npu_rms_norm_quant",
    "npu_rms_norm_quant_v2",
    "npu_swiglu",
    "npu_swiglu_group_quant",
    "npu_swiglu_quant",
    "npu_trans_quant_param",
    "npu_weight_quant_batchmatmul",
    "numerics",
    "ops",
    "per_channel_affine",
    "per_channel_affine_float_qparams",
    "per_channel_symmetric",
    "per_tensor_affine",
    "per_tensor_symmetric",
    "qint32",
    "qint8",
    "quantize_val",
    "quint8",
    "set_num_threads",
    "testing",
]


_LAZY = ("checkpoint", "formats", "golden", "testing")

__dir__ = dir_of(__name__)

if not TYPE_CHECKING:  # to a type checker a name that is not here is a mistake

    def __getattr__(name: str) -> Any:
        """Import what scripts that only compute do not need."""
        if name in _LAZY:
            return importlib.import_module(f"{__name__}.{name}")
        raise missing(name, __all__)
