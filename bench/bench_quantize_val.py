"""quantize_val and dequantize_val on arrays, as a PerTensorAffineQuantizer's methods."""

from __future__ import annotations

from typing import Any

import numpy as np

from npu_quant import PerTensorAffineQuantizer
from npu_quant.ops.quantize_val_functions import reference, reference_dequantize

from .operators import Linear, Operator

_SCALE, _ZERO_POINT = 0.03, 3
_QUANTIZER = PerTensorAffineQuantizer(_SCALE, _ZERO_POINT, "qint8")


def _quantize_eager(torch: Any, x: Any, y: Any) -> Any:
    return torch.quantize_per_tensor(x, _SCALE, _ZERO_POINT, torch.qint8)


def _quantize_compiled(torch: Any, x: Any, y: Any) -> None:
    """The fastest form found: goes through int32, writes to a given output."""
    q = (x * float(1 / np.float32(_SCALE))).round() + _ZERO_POINT
    y.copy_(q.clamp(-128, 127).to(torch.int32).to(torch.int8))


def _dequantize_eager(torch: Any, q: Any, x: Any) -> None:
    x.copy_(q)
    x.sub_(_ZERO_POINT).mul_(_SCALE)


def _dequantize_compiled(torch: Any, q: Any, x: Any) -> None:
    x.copy_((q.to(torch.int32) - _ZERO_POINT).float() * _SCALE)


OPERATORS = (
    Operator(
        name="quantize_val",
        call=_QUANTIZER.quantize,
        reference=lambda x: reference(_SCALE, _ZERO_POINT, x, "qint8"),
        outputs=lambda size, dtype: ((size, "int8"),),
        eager=_quantize_eager,
        compiled=_quantize_compiled,
        linear=Linear("QuantizeLinear", _SCALE, _ZERO_POINT),
        dtypes=("float32",),
        peers_do_all=("float32",),
        of_copy_in_memory={"float32": 0.90},
    ),
    Operator(
        name="dequantize_val",
        call=_QUANTIZER.dequantize,
        reference=lambda q: reference_dequantize(_SCALE, _ZERO_POINT, q),
        outputs=lambda size, dtype: ((size, "float32"),),
        eager=_dequantize_eager,
        compiled=_dequantize_compiled,
        linear=Linear("DequantizeLinear", _SCALE, _ZERO_POINT),
        dtypes=("int8",),
        peers_do_all=("int8",),
        tolerance=1e-6,
        of_copy_in_memory={"int8": 0.90},
    ),
)
