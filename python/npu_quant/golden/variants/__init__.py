"""Named formulas: what outputs may follow to the bit instead of the reference.

One readable table per family of operators. ``list_variants`` shows them, ``matching_variants``
finds those that give an operator's actual outputs.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Sequence
from typing import Any, overload

from ...errors import ParamError
from .matching import matching_variants
from .variant import Variant

__all__ = ["Variant", "list_variants", "matching_variants", "table_of"]

_FAMILIES = {
    "npu_dynamic_quant": "dynamic_quant",
    "npu_dynamic_block_quant": "dynamic_block_quant",
    "npu_add_rms_norm_quant": "add_rms_norm_quant",
    "npu_quantize": "quantize",
    "npu_anti_quant": "anti_quant",
    "fake_quantize_per_tensor_affine": "fake_quantize",
    "fake_quantize_per_tensor_affine_cachemask": "fake_quantize",
    "_fake_quantize_per_tensor_affine_cachemask_tensor_qparams": "fake_quantize",
    "fake_quantize_per_channel_affine": "fake_quantize",
    "fake_quantize_per_channel_affine_cachemask": "fake_quantize",
    "quantize_val": "quantize_val",
}


def table_of(op: str) -> Sequence[Variant]:
    """Return all named formulas of an operator, the reference first."""
    variants: Sequence[Variant] = importlib.import_module(f".{_FAMILIES[op]}", __name__).VARIANTS
    return variants


@overload
def list_variants(op: str | Callable[..., Any]) -> list[Variant]: ...
@overload
def list_variants(op: None = None) -> dict[str, list[Variant]]: ...
def list_variants(
    op: str | Callable[..., Any] | None = None,
) -> list[Variant] | dict[str, list[Variant]]:
    """Return the named formulas of an operator, the reference first.

    Args:
        op: the operator or its name; None for a dict of all operators.

    Raises:
        ParamError: no operator with named formulas goes by that name.

    Example:
        >>> import npu_quant
        >>> variants = npu_quant.golden.list_variants("npu_dynamic_quant")
        >>> variants[0].name, variants[0].benign
        ('reference', True)
    """
    if op is None:
        return {name: list(table_of(name)) for name in _FAMILIES}
    name = op if isinstance(op, str) else getattr(op, "__name__", repr(op))
    name = name.rpartition(".")[2]
    if name not in _FAMILIES:
        raise ParamError(f"op is {name!r}, expected one of {', '.join(_FAMILIES)}.")
    return list(table_of(name))
