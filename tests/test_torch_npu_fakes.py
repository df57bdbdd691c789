"""Fakes judge what needs no values as the operator does: of each argument, spoiled in every way."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from cases.case import Arguments, Case
from test_torch_npu import every_operator, moved, ops, small

import npu_quant

__all__ = ["ops"]
pytestmark = pytest.mark.needs("torch")


def spoiled(a: Arguments) -> Iterator[tuple[str, Any]]:
    """Yield arguments, and what is given in their place: other dtypes, ranks, lengths, values."""
    import torch

    for name, value in a.items():
        if isinstance(value, torch.Tensor):
            yield name, value.to(torch.complex64) if value.dtype.itemsize > 1 else value.bool()
            yield name, value[(None,) * 9]
            if value.ndim:
                yield name, value[..., :0]
                yield name, torch.cat([value, value], -1)
        elif isinstance(value, bool):
            continue
        elif isinstance(value, (int, float, str)):
            yield name, "none of them" if isinstance(value, str) else type(value)(-7777)


def refusal(operator: Any, a: Arguments) -> tuple[type, str] | None:
    """Return how a call ends."""
    try:
        operator(**a)
    except (npu_quant.errors.NpuQuantError, TypeError) as error:
        return type(error), str(error).replace("_: ", ": ", 1)  # checked as what gives a copy
    return None


@every_operator
def test_fakes_refuse_what_needs_no_values(case: Case, rng: np.random.Generator, ops: Any) -> None:
    import torch

    operator = getattr(ops, case.operator.__name__)
    a = small(case, rng)
    tried = 0
    for name, value in spoiled(a):
        wrong = a | {name: value}
        expected = refusal(operator, case.given(wrong))
        said = refusal(operator, case.given(moved(wrong, "meta")))
        holds_places = isinstance(value, torch.Tensor) and not value.is_floating_point()
        if said is None and holds_places:  # what is wrong of it may be its values
            continue
        assert said == expected, (name, value)
        tried += expected is not None
    assert tried > 1


def test_symbols_are_judged_by_the_call_that_is_traced(ops: Any) -> None:
    """Dynamic lengths, too; a graph that is traced is one that runs."""
    import torch

    def routed(x: Any, experts: Any) -> Any:
        return ops.npu_moe_init_routing_v2(x, experts, active_num=4, expert_num=4, x_dtype=285)

    x, experts = torch.randn(3, 8), torch.tensor([[0, 1], [2, 3], [1, 0]], dtype=torch.int32)
    for options in ({}, {"dynamic": True}):
        torch._dynamo.reset()
        with pytest.raises(Exception, match="x_dtype is int4, expected None, or int4 with quant_m"):
            torch.compile(routed, backend="eager", fullgraph=True, **options)(x, experts)

    def scaled(x: Any, smooth: Any) -> Any:
        return ops.npu_dynamic_quant(x, smooth_scales=smooth)[0]

    compiled = torch.compile(scaled, backend="eager", fullgraph=True, dynamic=True)
    for n in (8, 16, 24):
        x, smooth = torch.randn(2, n), torch.randn(n)
        assert torch.equal(compiled(x, smooth), scaled(x, smooth))
    with pytest.raises(Exception, match=r"smooth_scales has shape \(9,\), expected \(8,\)"):
        compiled(torch.ones(2, 8), torch.ones(9))


def test_lengths_that_nothing_tells_are_judged_where_they_are_known(ops: Any) -> None:
    import torch

    def kept(x: Any, mask: Any) -> Any:
        return ops.npu_dynamic_quant(x[mask])[0]

    with torch._dynamo.config.patch(capture_dynamic_output_shape_ops=True):
        compiled = torch.compile(kept, backend="eager", fullgraph=True)
        mask = torch.tensor([True, False, True])
        assert torch.equal(compiled(torch.eye(3), mask), kept(torch.eye(3), mask))


def test_a_cast_has_a_derivative_for_torch_func(ops: Any) -> None:
    """Also of batches, of batches of gradients, and of no gradient at all."""
    import torch

    def total(x: Any) -> Any:
        return (ops.npu_dtype_cast(x, 5).float() * x).sum()

    x = torch.randn(3, 4)
    expected = ops.npu_dtype_cast(x, 5).float() + x.half()  # of float16, as its gradient is
    tracked = x.clone().requires_grad_()
    total(tracked).backward()
    for found in (
        tracked.grad,
        torch.func.grad(total)(x),
        torch.func.vjp(total, x)[1](torch.ones(()))[0],
        torch.func.jacrev(total)(x),
    ):
        assert torch.equal(found, expected)
    with pytest.warns(UserWarning, match="batching rule"):  # torch's own loop over a batch
        assert torch.equal(torch.func.vmap(torch.func.grad(total))(x), expected)
    with torch.no_grad():
        assert not ops.npu_dtype_cast(tracked, 5).requires_grad
