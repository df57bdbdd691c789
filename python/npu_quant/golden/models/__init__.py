"""What stands behind each operator's outputs: one model per operator, in one module per family."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from ... import ops
from ...errors import ParamError
from ..arguments import as_source
from .add_rms_norm_quant import AddRmsNormQuant
from .anti_quant import AntiQuant
from .base import Model, Part, TieTest, arguments_of
from .dynamic_block_quant import DynamicBlockQuant
from .dynamic_quant import DynamicQuant
from .fake_quantize import FakeQuantize, FakeQuantizeOnly
from .quantize import Quantize
from .quantize_val import QuantizeVal

__all__ = ["Model", "Part", "TieTest", "model_of", "name_of", "operators", "outputs_of"]

_MODELS: dict[str, type[Model]] = {
    "npu_dynamic_quant": DynamicQuant,
    "npu_dynamic_block_quant": DynamicBlockQuant,
    "npu_add_rms_norm_quant": AddRmsNormQuant,
    "npu_quantize": Quantize,
    "npu_anti_quant": AntiQuant,
    "fake_quantize_per_tensor_affine": FakeQuantizeOnly,
    "fake_quantize_per_tensor_affine_cachemask": FakeQuantize,
    "_fake_quantize_per_tensor_affine_cachemask_tensor_qparams": FakeQuantize,
    "fake_quantize_per_channel_affine": FakeQuantizeOnly,
    "fake_quantize_per_channel_affine_cachemask": FakeQuantize,
    "quantize_val": QuantizeVal,
}


def operators() -> list[str]:
    """Return the names of the operators that have a model."""
    return list(_MODELS)


def name_of(op: str | Callable[..., Any]) -> str:
    """Return the name of an operator that has a model.

    Raises:
        ParamError: no model goes by that name.
    """
    name = op if isinstance(op, str) else getattr(op, "__name__", repr(op))
    name = name.rpartition(".")[2]
    if name not in _MODELS:
        raise ParamError(f"op is {name!r}, expected one of {', '.join(_MODELS)}.")
    return name


def outputs_of(op: str | Callable[..., Any]) -> tuple[str, ...]:
    """Return the names of an operator's outputs, in its order."""
    return _MODELS[name_of(op)].outputs


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
        ParamError: no model goes by that name, or an input is unknown or missing.
        DTypeError: as the operator.
    """
    name = name_of(op)
    function = getattr(ops, name)
    given = {key: _plain(value, key) for key, value in inputs.items()}
    return _MODELS[name](function, arguments_of(function, given), numerics)


def _plain(value: Any, name: str) -> Any:
    """Return an input as the operators take it."""
    is_source = hasattr(value, "read") and hasattr(value, "array")
    if is_source or hasattr(value, "detach"):
        return as_source(value, name).array()
    return value
