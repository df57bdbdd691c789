"""The operators in torch's dispatcher: ``torch.ops.npu``, on the CPU, and as fakes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch._functorch.utils import enable_single_level_autograd_function

import npu_quant

from ..errors import DTypeError, NpuQuantError, ParamError
from . import fakes
from .checks import check
from .missing import name_operators
from .operators import COMPOSITES, SCHEMAS

_library: Any = None  # what is registered lives as long as this


def register() -> None:
    """Define every operator, once in a process."""
    global _library
    if _library is not None:
        return
    _library = torch.library.Library("npu", "FRAGMENT")
    for name, schema in SCHEMAS.items():
        operator = name.partition(".")[0]
        _library.define(schema)
        _library.impl(name, _kernel(getattr(npu_quant, operator)), "CPU")
        torch.library.register_fake(f"npu::{name}", _fake(operator), lib=_library)
        if name.endswith("_"):
            getattr(torch.ops.npu, name).default.py_functionalize_impl(_without_writing(name))
    for schema, function in COMPOSITES.items():
        _library.define(schema)
        _library.impl(schema.partition("(")[0], function, "CompositeImplicitAutograd")
    _library.impl("npu_dtype_cast", _cast, "Autograd")
    name_operators()


def _kernel(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return what the dispatcher calls, below autograd: what requires grad is taken as it is."""

    def kernel(*args: Any, **kwargs: Any) -> Any:
        return function(*map(_plain, args), **{name: _plain(v) for name, v in kwargs.items()})

    return kernel


def _without_writing(name: str) -> Callable[..., Any]:
    """Return what graphs have of an operator that writes into its first argument.

    It is the operator that gives a copy, and what is in the argument afterwards.
    """

    def functional(ctx: Any, written: Any, *args: Any, **kwargs: Any) -> Any:
        operator = getattr(torch.ops.npu, name.removesuffix("_"))
        given, by_name = ctx.unwrap_tensors((written, *args)), ctx.unwrap_tensors(kwargs)
        with ctx.redispatch_to_next():
            result = operator(*given, **by_name)
        ctx.replace(written, result)
        ctx.commit_update(written)
        ctx.sync(written)
        return written

    return functional


def _fake(name: str) -> Callable[..., Any]:
    """Return a fake that refuses what the operator does, and tensors of which some have elements.

    An operator that writes into an argument is checked as the one that gives a copy.
    """
    answer = getattr(fakes, name.removeprefix("npu_"))
    operator = getattr(npu_quant, name.removesuffix("_"))

    def fake(*args: Any, **kwargs: Any) -> Any:
        given = [v for v in (*args, *kwargs.values()) if isinstance(v, torch.Tensor)]
        if len({tensor.device.type for tensor in given}) > 1:
            devices = ", ".join(str(tensor.device) for tensor in given)
            text = f"{name}: tensors are on {devices}, expected one device for all."
            raise DTypeError(text)
        check(operator, args, kwargs)
        try:
            return answer(*args, **kwargs)
        except NpuQuantError:
            raise
        except (IndexError, ValueError, ZeroDivisionError) as error:
            text = f"{name}: shapes and attributes do not fit together ({error})."
            raise ParamError(text) from None

    return fake


def _plain(value: Any) -> Any:
    if isinstance(value, (list, tuple)):
        return [*map(_plain, value)]
    is_tracked = isinstance(value, torch.Tensor) and value.requires_grad
    return value.detach() if is_tracked else value


class _Cast(torch.autograd.function._SingleLevelFunction):
    """A cast, whose derivative is the gradient, cast back.

    What ``torch.library.register_autograd`` makes does not work under torch.func, whose transforms
    call a kernel of Autograd for one level at a time.
    """

    @staticmethod
    def forward(tensor: Any, dtype: int, input_dtype: int | None) -> Any:
        with torch._C._AutoDispatchBelowAutograd():
            return torch.ops.npu.npu_dtype_cast(tensor, dtype, input_dtype)

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Any) -> None:
        ctx.dtype = inputs[0].dtype

    @staticmethod
    def backward(ctx: Any, grad: Any) -> tuple[Any, None, None]:
        return grad.to(ctx.dtype), None, None


def _cast(tensor: Any, dtype: int, input_dtype: int | None = None) -> Any:
    with enable_single_level_autograd_function():
        return _Cast.apply(tensor, dtype, input_dtype)
