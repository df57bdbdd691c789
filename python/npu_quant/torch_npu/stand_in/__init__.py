"""The module that ``import torch_npu`` gives: npu_quant's operators under upstream's names.

``torch_npu.npu_x`` is ``torch.ops.npu.npu_x``. What torch_npu has beside them and npu_quant has not
is there by its name, so that it can be patched, and says so when it is called.
"""

from __future__ import annotations

if __name__ != "torch_npu":
    raise ImportError("npu_quant.torch_npu.install() loads this module, as torch_npu.")

import torch

from npu_quant import __version__ as _of_npu_quant
from npu_quant import dtypes
from npu_quant.torch_npu import operators, upstream
from npu_quant.torch_npu.missing import Missing

from . import npu as npu

__version__ = f"2.13.0+npu_quant{_of_npu_quant}"

float4_e2m1fn_x2, float4_e1m2fn_x2 = dtypes.float4_e2m1fn_x2, dtypes.float4_e1m2fn_x2
globals().update((row.name, 256 + row.acl_code) for row in dtypes.DTYPES)
globals().update((name, Missing(f"torch_npu.{name}")) for name in upstream.MODULES)
for _name in {*upstream.OPERATORS, *(row.name for row in operators.OPERATORS)}:
    globals()[_name] = getattr(torch.ops.npu, _name)
