"""The module that ``import torch_npu`` gives: npu_quant's operators under upstream's names.

``torch_npu.npu_x`` is ``torch.ops.npu.npu_x``. What torch_npu has beside them and npu_quant has not
is there by its name, so that it can be patched, and says so when it is called.
"""

from __future__ import annotations

if __name__ != "torch_npu":
    raise ImportError("npu_quant.torch_npu.install() loads this module, as torch_npu.")

import sys
from typing import Any

import torch

from npu_quant import __version__ as _of_npu_quant
from npu_quant import dtypes as _dtypes
from npu_quant.torch_npu import missing as _missing
from npu_quant.torch_npu import operators as _operators
from npu_quant.torch_npu import upstream as _upstream

from . import contrib as contrib
from . import npu as npu

__all__ = [*_operators.OPERATORS]
__version__ = f"2.13.0+npu_quant{_of_npu_quant}"

float4_e2m1fn_x2, float4_e1m2fn_x2 = _dtypes.float4_e2m1fn_x2, _dtypes.float4_e1m2fn_x2
globals().update((row.name, 256 + row.acl_code) for row in _dtypes.DTYPES)
globals().update((name, getattr(torch.ops.npu, name)) for name in __all__)
for _name in _upstream.MODULES:
    sys.modules[f"torch_npu.{_name}"] = _missing.MissingModule(f"torch_npu.{_name}")
    globals()[_name] = sys.modules[f"torch_npu.{_name}"]


def __getattr__(name: str) -> Any:
    """Return what torch.ops.npu has by now of a name of upstream's."""
    if name not in _upstream.OPERATORS:
        raise AttributeError(f"module 'torch_npu' has no attribute {name!r}", name=name)
    return getattr(torch.ops.npu, name)
