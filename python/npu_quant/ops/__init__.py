"""The operators, a page each: signature, documentation, and ``reference()`` in plain NumPy.

``out`` may be an earlier result; after Ctrl-C it holds some new elements and some old ones. If
there is no memory for the results, the operator raises MemoryError. An operator whose name ends
with "_" has no ``out``: it writes into its first argument, and returns it.

Everything the pages say about arrays also holds for torch's CPU tensors of the same dtypes.
Operators read and write tensors in place:

* Results are tensors if the first argument is one, else arrays; the other arguments may be either.
  Arrays and tensors in ``out`` are returned as they are.
* A tensor without axes also serves as a number, as in torch.
* A tensor is refused (DTypeError, with what to pass instead) if it requires grad, whatever
  ``torch.no_grad()`` says; if it is on another device, sparse, quantized or has a pending negation;
  or if it stands for other tensors, as under ``torch.func.vmap``. torch.compile breaks its graph at
  an operator, which then runs as usual.
"""

from __future__ import annotations

import sys

from .._names import dir_of
from .add_rms_norm import npu_add_rms_norm
from .add_rms_norm_dynamic_quant import npu_add_rms_norm_dynamic_quant
from .add_rms_norm_quant import npu_add_rms_norm_quant
from .anti_mx_quant import npu_anti_mx_quant
from .anti_quant import npu_anti_quant
from .convert_weight_to_int4pack import npu_convert_weight_to_int4pack
from .dequant_bias import npu_dequant_bias
from .dequant_swiglu_quant import npu_dequant_swiglu_quant
from .dtype_cast import npu_dtype_cast
from .dual_level_quant_matmul import npu_dual_level_quant_matmul
from .dynamic_block_mx_quant import npu_dynamic_block_mx_quant
from .dynamic_block_quant import npu_dynamic_block_quant
from .dynamic_dual_level_mx_quant import npu_dynamic_dual_level_mx_quant
from .dynamic_mx_quant import npu_dynamic_mx_quant
from .dynamic_mx_quant_with_dual_axis import npu_dynamic_mx_quant_with_dual_axis
from .dynamic_quant import npu_dynamic_quant
from .dynamic_quant_asymmetric import npu_dynamic_quant_asymmetric
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
from .group_quant import npu_group_quant
from .grouped_dynamic_block_quant import npu_grouped_dynamic_block_quant
from .grouped_dynamic_mx_quant import npu_grouped_dynamic_mx_quant
from .grouped_matmul import npu_grouped_matmul
from .grouped_matmul_swiglu_quant import npu_grouped_matmul_swiglu_quant
from .grouped_matmul_swiglu_quant_v2 import npu_grouped_matmul_swiglu_quant_v2
from .moe_finalize_routing import npu_moe_finalize_routing
from .moe_init_routing_v2 import npu_moe_init_routing_v2
from .moe_token_permute import npu_moe_token_permute
from .moe_token_unpermute import npu_moe_token_unpermute
from .quant_matmul import npu_quant_matmul
from .quant_scatter import npu_quant_scatter, npu_quant_scatter_
from .quantize import npu_quantize
from .quantize_val_functions import dequantize_val, quantize_val
from .rms_norm import npu_rms_norm
from .rms_norm_dynamic_quant import npu_rms_norm_dynamic_quant
from .rms_norm_quant import npu_rms_norm_quant
from .rms_norm_quant_v2 import npu_rms_norm_quant_v2
from .swiglu import npu_swiglu
from .swiglu_group_quant import npu_swiglu_group_quant
from .swiglu_quant import npu_swiglu_quant
from .trans_quant_param import npu_trans_quant_param
from .weight_quant_batchmatmul import npu_weight_quant_batchmatmul

__all__ = [
    "_fake_quantize_per_tensor_affine_cachemask_tensor_qparams",
    "dequantize_val",
    "fake_quantize_per_channel_affine",
    "fake_quantize_per_channel_affine_cachemask",
    "fake_quantize_per_channel_affine_cachemask_backward",
    "fake_quantize_per_tensor_affine",
    "fake_quantize_per_tensor_affine_cachemask",
    "fake_quantize_per_tensor_affine_cachemask_backward",
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
    "quantize_val",
]

_PAGES = [name for name in globals() if f"{__name__}.{name}" in sys.modules]
__dir__ = dir_of(__name__, *_PAGES)
for _page in _PAGES:
    vars(globals()[_page])["__dir__"] = dir_of(f"{__name__}.{_page}")
