"""The operators that can be compared: the model of each, and the table of its named formulas."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping, Sequence
from typing import Any, overload

from ... import ops
from ...errors import ParamError
from ..read.sources import as_source
from .add_rms_norm_quant import AddRmsNormQuant
from .anti_quant import AntiQuant
from .dynamic_block_quant import DynamicBlockQuant
from .dynamic_quant import DynamicQuant
from .fake_quantize import FakeQuantize, FakeQuantizeOnly
from .model import Model, arguments_of
from .quantize import Quantize
from .quantize_val import QuantizeVal
from .variant import Variant

_OPERATORS: dict[str, tuple[type[Model], str]] = {
    "npu_dynamic_quant": (DynamicQuant, "dynamic_quant"),
    "npu_dynamic_block_quant": (DynamicBlockQuant, "dynamic_block_quant"),
    "npu_add_rms_norm_quant": (AddRmsNormQuant, "add_rms_norm_quant"),
    "npu_quantize": (Quantize, "quantize"),
    "npu_anti_quant": (AntiQuant, "anti_quant"),
    "fake_quantize_per_tensor_affine": (FakeQuantizeOnly, "fake_quantize"),
    "fake_quantize_per_tensor_affine_cachemask": (FakeQuantize, "fake_quantize"),
    "_fake_quantize_per_tensor_affine_cachemask_tensor_qparams": (FakeQuantize, "fake_quantize"),
    "fake_quantize_per_channel_affine": (FakeQuantizeOnly, "fake_quantize"),
    "fake_quantize_per_channel_affine_cachemask": (FakeQuantize, "fake_quantize"),
    "quantize_val": (QuantizeVal, "quantize_val"),
}
"""By name: the model, and the family whose formulas it has."""


def operators() -> list[str]:
    """Return the names of the operators that can be compared."""
    return list(_OPERATORS)


def name_of(op: str | Callable[..., Any]) -> str:
    """Return the name of an operator that can be compared.

    Raises:
        ParamError: none goes by that name.
    """
    name = op if isinstance(op, str) else getattr(op, "__name__", repr(op))
    name = name.rpartition(".")[2]
    if name not in _OPERATORS:
        raise ParamError(f"op is {name!r}, expected one of {', '.join(_OPERATORS)}.")
    return name


def outputs_of(op: str | Callable[..., Any]) -> tuple[str, ...]:
    """Return the names of an operator's outputs, in its order."""
    return _OPERATORS[name_of(op)][0].outputs


def model_of(
    op: str | Callable[..., Any], inputs: Mapping[str, Any], numerics: str | None = None
) -> Model:
    """Return the model of an operator with its inputs.

    Args:
        op: the operator, such as ``npu_quant.npu_dynamic_quant``, or its name.
        inputs: its arguments by name, attributes too, but not ``out`` and ``numerics``. Arrays may
            be torch tensors, and what :func:`npu_quant.golden.load` returns.
        numerics: the arithmetic profile of the golden, by default the current one.

    Raises:
        ParamError: no operator goes by that name, or an input is unknown or missing.
        DTypeError: as the operator.
    """
    name = name_of(op)
    function = getattr(ops, name)
    given = {key: _plain(value, key) for key, value in inputs.items()}
    return _OPERATORS[name][0](function, arguments_of(function, given), numerics)


def _plain(value: Any, name: str) -> Any:
    """Return an input as the operators take it."""
    is_source = hasattr(value, "read") and hasattr(value, "array")
    if is_source or hasattr(value, "detach"):
        return as_source(value, name).array()
    return value


def table_of(op: str) -> Sequence[Variant]:
    """Return all named formulas of an operator, the reference first."""
    module = importlib.import_module(f".formulas_{_OPERATORS[op][1]}", __package__)
    variants: Sequence[Variant] = module.VARIANTS
    return variants


def applicable(model: Model) -> list[Variant]:
    """Return the named formulas that apply to an operator's inputs, the reference first."""
    return [variant.of(model) for variant in table_of(model.op) if variant.applies(model)]


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
        return {name: list(table_of(name)) for name in _OPERATORS}
    return list(table_of(name_of(op)))
