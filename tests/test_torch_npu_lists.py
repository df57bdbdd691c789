"""torch.ops.npu.npu_grouped_matmul: lists of ints that say the groups, and a fake of each result."""

from __future__ import annotations

from typing import Any

import pytest

from npu_quant import ParamError

pytestmark = pytest.mark.needs("torch")

SUMS = [[21, 12], [17, 54], [23, 34]]


@pytest.fixture(autouse=True)
def ops() -> Any:
    """Return torch.ops.npu, with the operators in it."""
    import torch

    from npu_quant.torch_npu import library

    library.register()
    return torch.ops.npu


def operands(device: str = "cpu") -> tuple[Any, Any]:
    """Return the rows and the weights of two groups."""
    import torch

    x = torch.tensor([[1, 2], [-3, 4], [5, 6]], dtype=torch.int8, device=device)
    weight = [[[5, -6], [8, 9]], [[1, 2], [3, 4]]]
    return x, torch.tensor(weight, dtype=torch.int8, device=device)


def grouped(x: Any, weight: Any, group_list: Any, **given: Any) -> Any:
    """Return int32 sums, a tensor for each group."""
    import torch

    given = {"group_type": 0, "output_dtype": torch.int32} | given
    return torch.ops.npu.npu_grouped_matmul(x, weight, group_list=group_list, **given)


def test_a_list_of_ints_is_an_overload(ops: Any) -> None:
    """It has the arguments of the other one but tuning_config."""
    overload = ops.npu_grouped_matmul.List
    lists = {a.name: str(a.type) for a in overload._schema.arguments}
    tensors = {a.name: str(a.type) for a in ops.npu_grouped_matmul.default._schema.arguments}
    assert tensors.pop("tuning_config")
    assert lists == tensors | {"group_list": "Optional[List[int]]"}
    x, weight = operands()
    (y,) = grouped([x], [weight], [2, 3], split_item=3)
    assert y.tolist() == SUMS
    assert [y.tolist() for y in grouped([x], [weight], [2, 3])] == [SUMS[:2], SUMS[2:]]
    (y,) = overload([x[:2]], [weight[0]], output_dtype=3)
    assert y.tolist() == SUMS[:2]


@pytest.mark.parametrize(("group_list", "list_type"), [([2, 3], 0), ([2, 1], 1)])
def test_fakes_of_the_rows_that_ints_say(group_list: list[int], list_type: int) -> None:
    x, weight = operands("meta")
    for weights in ([weight], [*weight]):
        first, second = grouped([x], weights, group_list, group_list_type=list_type)
        assert (tuple(first.shape), tuple(second.shape)) == ((2, 2), (1, 2))
    with pytest.raises(ParamError, match=r"group_list has shape \(1,\), expected \(2,\)"):
        grouped([x], [weight], group_list[:1], group_list_type=list_type)


def test_fakes_of_the_rows_that_each_x_has() -> None:
    """With a list beside them, or without; each weight with its own columns."""
    x, weight = operands("meta")
    for group_list in ([2, 3], None):
        first, second = grouped([x[:2], x[2:]], [weight[0], weight[1, :, :1]], group_list)
        assert (tuple(first.shape), tuple(second.shape)) == ((2, 2), (1, 1))


def test_fakes_of_the_rows_that_a_tensor_says() -> None:
    """They are symbols in a graph, which takes any groups; without symbols torch refuses them."""
    import torch
    from torch._subclasses.fake_tensor import DynamicOutputShapeException, FakeTensorMode

    def twice(x: Any, weight: Any, group_list: Any) -> Any:
        first, second = grouped([x], [weight], group_list)
        return first * 2, second * 2

    torch._dynamo.reset()
    compiled = torch.compile(twice, fullgraph=True, backend="aot_eager")
    x, weight = operands()
    for ends in ([2, 3], [1, 1]):
        group_list = torch.tensor(ends)
        with torch._dynamo.config.patch(capture_dynamic_output_shape_ops=True):
            found = compiled(x, weight, group_list)
        expected = twice(x, weight, group_list)
        assert all(torch.equal(y, z) for y, z in zip(found, expected, strict=True))
    with FakeTensorMode() as mode, pytest.raises(DynamicOutputShapeException):
        grouped(*([mode.from_tensor(a)] for a in (x, weight)), mode.from_tensor(group_list))
    with pytest.raises(RuntimeError, match="data-dependent shape"):
        grouped([x.to("meta")], [weight.to("meta")], group_list.to("meta"))
