"""torch.ops.npu: each operator's schema, bits, fake, graphs and errors, by one table."""

from __future__ import annotations

import inspect
from typing import Any

import numpy as np
import pytest
from cases import CASES
from cases.case import Arguments, Case, Setting, as_tuple
from test_torch_tensors import array_of, check_tensors, tensors, turned

import npu_quant
from npu_quant import dtypes

pytestmark = pytest.mark.needs("torch")

OPERATORS = [
    c for c in CASES if c.operator.__name__ in npu_quant.__all__ and "npu_" in c.operator.__name__
]
every_operator = pytest.mark.parametrize("case", OPERATORS, ids=lambda case: case.name)


@pytest.fixture(autouse=True)
def ops() -> Any:
    """Return torch.ops.npu, with the operators in it."""
    import torch

    from npu_quant.torch_npu import library

    library.register()
    return torch.ops.npu


def as_schema(case: Case, a: Arguments) -> Arguments:
    """Return arguments with tensors for arrays, and torch_npu's numbers for dtypes, or torch's."""
    import torch

    from npu_quant.torch_npu.operators import OPERATORS as SCHEMAS

    a, schema = tensors(a), SCHEMAS[case.operator.__name__]
    for name, value in a.items():
        if name.endswith(("dtype", "_type")) and isinstance(value, (str, np.dtype, type)):
            row = dtypes.resolve(value)
            assert row is not None
            a[name] = 256 + row.acl_code
            if f"ScalarType? {name}" in schema:
                a[name] = getattr(torch, "quint4x2" if row.name == "int4" else row.name)
    return a


def small(case: Case, rng: np.random.Generator, setting: Setting | None = None) -> Arguments:
    """Return arguments of a case's first kind."""
    kind = next(iter(case.kinds.values()))
    return as_schema(case, case.tried(rng, setting or case.outs[0], **kind)[0])


def alike(fake: Any, real: Any) -> None:
    """Fail unless a fake says of a result what there is to know before it is computed."""
    assert (fake.shape, fake.dtype, fake.stride()) == (real.shape, real.dtype, real.stride())


def moved(a: Arguments, device: str) -> Arguments:
    """Return arguments on another device."""
    return {name: v.to(device) if hasattr(v, "data_ptr") else v for name, v in a.items()}


def split(case: Case, a: Arguments) -> tuple[list[Any], Any]:
    """Return a case's tensors, and a function of them that calls the operator."""
    import torch

    operator = getattr(torch.ops.npu, case.operator.__name__)
    names = [name for name, value in a.items() if isinstance(value, torch.Tensor)]
    rest = {name: value for name, value in a.items() if name not in names}

    def call(*given: Any) -> Any:
        return operator(**case.given(dict(zip(names, given, strict=True)) | rest))

    return [a[name] for name in names], call


def test_every_operator_is_there(ops: Any) -> None:
    named = {name for name in npu_quant.__all__ if name.startswith("npu_")}
    assert named == {c.operator.__name__ for c in OPERATORS}
    assert all(getattr(ops, name).default.has_kernel_for_dispatch_key("CPU") for name in named)


@pytest.mark.parametrize("name", [n for n in npu_quant.__all__ if n.startswith("npu_")])
def test_a_schema_is_the_signature_and_a_fake_has_its_defaults(ops: Any, name: str) -> None:
    from npu_quant.torch_npu import fakes

    function = inspect.signature(getattr(npu_quant, name)).parameters
    fake = inspect.signature(getattr(fakes, name.removeprefix("npu_"))).parameters
    ours = [p for p in function.values() if p.name not in ("out", "numerics")]
    schema = getattr(ops, name).default._schema.arguments
    assert [a.name for a in schema] == [p.name for p in ours]
    for a, p in zip(schema, ours, strict=True):
        assert a.kwarg_only == (p.kind is p.KEYWORD_ONLY), p.name
        assert a.has_default_value() == (p.default is not p.empty), p.name
        named = [p, *([fake[p.name]] if p.name in fake else [])]
        if a.has_default_value():
            assert all(q.default == a.default_value for q in named), p.name


@every_operator
def test_bits_and_fakes(case: Case, rng: np.random.Generator, ops: Any) -> None:
    """Of every kind and setting: what a direct call gives, and what meta tensors say of it."""
    operator = getattr(ops, case.operator.__name__)
    for kind in case.kinds.values():
        for setting in (s for s in [*case.outs, *case.layouts] if np.prod(s[0]) < 20_000):
            for plain in case.tried(rng, setting, **kind):
                a = as_schema(case, plain)
                expected = tuple(map(array_of, as_tuple(case.operator(**case.given(a)))))
                results = as_tuple(operator(**case.given(a)))
                check_tensors(results, case, expected)
                for fake, real in zip(
                    as_tuple(operator(**case.given(moved(a, "meta")))), results, strict=True
                ):
                    alike(fake, real)


@every_operator
def test_turned_memory(case: Case, rng: np.random.Generator, ops: Any) -> None:
    """Results are contiguous where arguments are not, and fakes say so."""
    kind = next(iter(case.kinds.values()))
    plain = case.tried(rng, case.outs[0], **kind)[0]
    laid_out = {n: turned(v) if isinstance(v, np.ndarray) else v for n, v in plain.items()}
    a = as_schema(case, laid_out)
    operator = getattr(ops, case.operator.__name__)
    results = as_tuple(operator(**case.given(a)))
    check_tensors(results, case, as_tuple(case.operator(**case.given(plain))))
    for fake, real in zip(as_tuple(operator(**case.given(moved(a, "meta")))), results, strict=True):
        alike(fake, real)


@every_operator
def test_fake_tensors(case: Case, rng: np.random.Generator, ops: Any) -> None:
    from torch._subclasses.fake_tensor import FakeTensor, FakeTensorMode

    a = small(case, rng)
    with FakeTensorMode() as mode:
        fakes = {n: mode.from_tensor(v) if hasattr(v, "data_ptr") else v for n, v in a.items()}
        results = as_tuple(getattr(ops, case.operator.__name__)(**case.given(fakes)))
    for fake, real in zip(
        results, as_tuple(getattr(ops, case.operator.__name__)(**case.given(a))), strict=True
    ):
        assert isinstance(fake, FakeTensor)
        alike(fake, real)


@every_operator
def test_opcheck(case: Case, rng: np.random.Generator, ops: Any) -> None:
    import torch

    a = small(case, rng)
    if "mxscale" in a:  # without NaN, which is not equal to itself
        a["mxscale"].fill_(127)
        a["x"] = a["x"].float().nan_to_num().to(a["x"].dtype)
    if "x1_level1_scale" in a:
        a["x1_level1_scale"].fill_(127)
        a["x2_level1_scale"].fill_(127)
        for name in ("x1_level0_scale", "x2_level0_scale", "bias"):
            a[name] = a[name].nan_to_num(0, 1, -1)
    tests = ["test_autograd_registration", "test_faketensor", "test_aot_dispatch_dynamic"]
    if not any("float8" in str(getattr(value, "dtype", "")) for value in a.values()):
        tests.append("test_schema")  # which multiplies inputs: torch cannot, of float8
    torch.library.opcheck(
        getattr(ops, case.operator.__name__).default, (), case.given(a), test_utils=tests
    )


@every_operator
@pytest.mark.parametrize("dynamic", [False, True])
def test_compiled(case: Case, rng: np.random.Generator, dynamic: bool) -> None:
    """In one graph, also of lengths that change."""
    import torch

    torch._dynamo.reset()
    given, call = split(case, small(case, rng))
    compiled = torch.compile(call, fullgraph=True, dynamic=dynamic, backend="aot_eager")
    for setting in case.outs[:2] if dynamic else case.outs[:1]:
        if setting[1] == case.outs[0][1]:
            given = split(case, small(case, rng, setting))[0]
        expected = tuple(map(array_of, as_tuple(call(*given))))
        check_tensors(as_tuple(compiled(*given)), case, expected)


@pytest.mark.filterwarnings("ignore:`torch.jit.script_method` is deprecated")
def test_inductor(ops: Any) -> None:
    """Fused code around an operator, of lengths that were not there when it was compiled."""
    import torch

    def layer(x: Any) -> Any:
        y, scale = ops.npu_dynamic_quant(torch.relu(x) * 2, dst_type=torch.int8)
        return y.float() * scale.unsqueeze(-1)

    compiled = torch.compile(layer, fullgraph=True, dynamic=True)
    for shape in ((4, 64), (7, 130)):
        x = torch.randn(shape)
        assert torch.equal(compiled(x), layer(x))


@every_operator
def test_exported(case: Case, rng: np.random.Generator, ops: Any) -> None:
    import torch

    given, call = split(case, small(case, rng))

    class Module(torch.nn.Module):
        def forward(self, *given: Any) -> Any:
            return call(*given)

    program = torch.export.export(Module(), tuple(given))
    targets = [str(node.target) for node in program.graph.nodes]
    assert f"npu.{case.operator.__name__}.default" in targets
    expected = tuple(map(array_of, as_tuple(call(*given))))
    check_tensors(as_tuple(program.module()(*given)), case, expected)


@every_operator
def test_what_requires_grad_is_taken(case: Case, rng: np.random.Generator, ops: Any) -> None:
    a = small(case, rng)
    operator = getattr(ops, case.operator.__name__)
    expected = tuple(map(array_of, as_tuple(operator(**case.given(a)))))
    tracked = {n: v.requires_grad_() if is_float(v) else v for n, v in a.items()}
    results = tuple(result.detach() for result in as_tuple(operator(**case.given(tracked))))
    check_tensors(results, case, expected)


def is_float(value: Any) -> bool:
    return hasattr(value, "requires_grad_") and value.is_floating_point()


def test_a_cast_has_a_gradient(ops: Any) -> None:
    import torch

    x = torch.tensor([1.0, 2.5, -3.0], requires_grad=True)
    y = ops.npu_dtype_cast(x, torch.float16)
    (y * torch.tensor([1.0, 2.0, 0.1], dtype=torch.float16)).sum().backward()
    assert x.grad is not None
    assert x.grad.dtype == torch.float32
    assert x.grad.tolist() == [1.0, 2.0, float(np.float16(0.1))]


@pytest.mark.filterwarnings("ignore:`torch.jit.script_method` is deprecated")
@pytest.mark.parametrize("dynamic", [False, True])
def test_in_place(ops: Any, dynamic: bool) -> None:
    """The same tensor comes back, written; in a graph, too, where its rows are then read."""
    import torch

    torch._dynamo.reset()
    given = torch.tensor([1, 0]), torch.ones(2, 1, 4).half(), torch.ones(4)

    def layer(cache: Any) -> Any:
        y = ops.npu_quant_scatter_(cache, *given)
        return y.float() + cache.float()

    cache = torch.zeros(2, 3, 4, dtype=torch.int8)
    assert ops.npu_quant_scatter_(cache, *given) is cache
    assert cache.sum((1, 2)).tolist() == [4, 4]
    for backend in ("aot_eager", "inductor"):
        compiled = torch.compile(layer, fullgraph=True, dynamic=dynamic, backend=backend)
        fresh = torch.zeros(2, 3, 4, dtype=torch.int8)
        assert torch.equal(compiled(fresh), 2 * cache.float())
        assert torch.equal(fresh, cache)


def test_dtypes_of_torch_are_numbers(ops: Any) -> None:
    import torch

    x = torch.tensor([[1.0, -2.0]])
    for dtype in (torch.qint8, torch.int8, 1, 258):
        y = ops.npu_quantize(x, torch.ones(1), None, dtype, -1)
        assert (y.dtype, y.tolist()) == (torch.int8, [[1, -2]])


def test_errors_are_ours(ops: Any) -> None:
    import torch

    with pytest.raises(npu_quant.ParamError, match=r"^npu_dynamic_quant: quant_mode is ") as caught:
        ops.npu_dynamic_quant(torch.ones(2, 8), quant_mode="perrow")
    assert isinstance(caught.value, RuntimeError)
    assert caught.value.code == 161002
    with pytest.raises(
        npu_quant.DTypeError, match=r"^npu_dynamic_quant: input has dtype "
    ) as wrong:
        ops.npu_dynamic_quant(torch.ones(2, 8, dtype=torch.float64))
    assert isinstance(wrong.value, RuntimeError)
    assert wrong.value.code == 161002
    with pytest.raises(npu_quant.ParamError, match=r"^npu_quantize: dtype is 12345, available: "):
        ops.npu_quantize(*torch.ones(2, 2, 8, device="meta"), None, 12345)


def test_one_device_for_all(ops: Any) -> None:
    """A scale that was left on meta would be taken for its memory."""
    import torch

    x = torch.ones(4, 64)
    with pytest.raises(npu_quant.DTypeError, match="tensors are on cpu, meta, expected one device"):
        ops.npu_dynamic_quant(x, smooth_scales=torch.ones(64, device="meta"))
    with pytest.raises(npu_quant.DTypeError, match="tensors are on cpu, meta, expected one device"):
        ops.npu_quantize(x, torch.ones(64, device="meta"), None, 1, -1)


@pytest.mark.parametrize(
    ("name", "shape", "options"),
    [
        ("npu_dynamic_mx_quant", (4, 64), {"axis": 5}),
        ("npu_dynamic_mx_quant", (4, 64), {"block_size": 0}),
        ("npu_dynamic_block_quant", (64,), {}),
        ("npu_dynamic_mx_quant_with_dual_axis", (64,), {}),
    ],
)
def test_fakes_refuse_what_they_cannot_answer(
    ops: Any, name: str, shape: tuple[int, ...], options: dict[str, Any]
) -> None:
    import torch

    for device in ("meta", "cpu"):
        with pytest.raises(npu_quant.ParamError, match=f"^{name}: ") as caught:
            getattr(ops, name)(torch.ones(shape, device=device).half(), **options)
        assert caught.value.code in (161002, 561002)


def test_results_without_elements_have_torch_s_strides(ops: Any) -> None:
    import torch

    y, mxscale = ops.npu_dynamic_mx_quant(torch.randn(0, 64).half())
    assert (y.stride(), mxscale.stride()) == ((32, 1), (2, 2, 1))
    assert mxscale.view(torch.int16).shape == (0, 1, 1)


def test_a_profile_holds_around_calls(ops: Any) -> None:
    import torch

    with npu_quant.numerics("reference"):
        assert ops.npu_dynamic_quant(torch.ones(1, 2))[0].tolist() == [[127, 127]]


def test_layouts(ops: Any) -> None:
    """A cast gives a copy, whose gradient is its own; on a CPU there is one layout."""
    import torch

    x = torch.randn(4, 6).t().requires_grad_()
    for layout in (2, 29, -1):
        y = ops.npu_format_cast(x, layout)
        assert y.is_contiguous()
        assert torch.equal(y, x)
        assert y.data_ptr() != x.data_ptr()
        assert (ops.get_npu_format(y), ops.get_npu_format(x)) == (2, 2)
    y.sum().backward()
    assert x.grad is not None
    assert x.grad.eq(1).all()
    weight = torch.randn(4, 6)
    assert ops.npu_format_cast_(weight, 29) is weight
    torch.library.opcheck(ops.npu_format_cast.default, (weight, 29))
    compiled = torch.compile(
        lambda x: ops.npu_format_cast(x, 29) * 2, fullgraph=True, backend="aot_eager"
    )
    assert torch.equal(compiled(weight), weight * 2)
    assert ops.npu_format_cast(weight.to("meta"), 29).is_meta
    with pytest.raises(
        npu_quant.ParamError, match=r"^acl_format is 51, expected -1 to 50: 2 is ND, 29 NZ."
    ):
        ops.npu_format_cast(weight, 51)
    with pytest.raises(
        npu_quant.ParamError, match="customize_dtype and input_dtype are not available"
    ):
        ops.npu_format_cast(weight, 29, customize_dtype=285)


def test_vmap_falls_back_to_a_loop(ops: Any) -> None:
    import torch

    x = torch.randn(3, 4, 8)
    y, scale = torch.vmap(ops.npu_dynamic_quant)(x)  # torch's warning goes to stderr
    expected = ops.npu_dynamic_quant(x)
    assert torch.equal(y, expected[0])
    assert torch.equal(scale, expected[1])


def test_kernels_of_torch_are_untouched() -> None:
    """Nothing of ours answers for aten, and the names of operators are ours alone."""
    import torch

    dump = torch._C._dispatch_dump("aten::quantize_per_tensor")
    assert "npu_quant" not in dump
