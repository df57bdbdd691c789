"""torch's CPU tensors where arrays go: the same bits, in place, and tensors back."""

from __future__ import annotations

import gc
import subprocess
import sys
import threading
import weakref
from collections.abc import Callable
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from cases import CASES
from cases.case import Arguments, Case, as_tuple
from witnesses import Array

import npu_quant
from npu_quant import DTypeError, ParamError

pytestmark = pytest.mark.needs("torch")

OF_ARRAYS = [case for case in CASES if not case.in_c]
SCRIPT = """
import npu_quant as torch_npu, torch

torch.manual_seed(0)
hidden, weight = torch.randn(4, 256).bfloat16(), torch.ones(256, dtype=torch.bfloat16)
quantized, pertoken_scale = torch_npu.npu_dynamic_quant(hidden)
quantized, pertoken_scale = torch_npu.npu_dynamic_quant(hidden, dst_type=torch.int8)
smoothed = torch_npu.npu_dynamic_quant(hidden, smooth_scales=weight * 2)
blocks, scales = torch_npu.npu_dynamic_block_quant(hidden, dst_type=torch.int8)
scale = torch.full((256,), 0.02)
reciprocals = (1 / scale).bfloat16()
codes = torch_npu.npu_quantize(hidden, reciprocals, None, torch.qint8, -1, False)
codes = torch_npu.npu_quantize(hidden, scale, torch.zeros(256, dtype=torch.int32), torch.qint8, axis=-1)
y1, _, x = torch_npu.npu_add_rms_norm_quant(hidden, hidden, weight, scale, None)
back = torch_npu.npu_anti_quant(codes, scale, dst_dtype=torch.bfloat16)

rows = quantized.float() * pertoken_scale.unsqueeze(-1)
assert (rows - hidden.float()).abs().max() <= pertoken_scale.max() * 0.51
assert (back - hidden.clamp(-2.56, 2.54)).abs().max() < 0.025 and back.dtype == torch.bfloat16
assert torch.equal(x, hidden + hidden) and y1.shape == blocks.shape and scales.shape == (4, 2)
assert not torch.equal(smoothed[1], pertoken_scale)

# Its own: ru_maxrss begins at the peak of the process which started it.
peak = lambda: int(open("/proc/self/status").read().split("VmHWM:")[1].split()[0])  # KiB
wide, before = torch.ones(1, 1 << 15).half().expand(1 << 12, -1), peak()
assert torch_npu.npu_dynamic_quant(wide, out=(None, torch.empty(1 << 12))).scale.all()
assert peak() - before < wide.numel() * 2 / 1024 / 4
"""


def tensor_of(x: Array) -> Any:
    """Return a tensor in the memory of an array, which may not have negative strides."""
    import torch

    if x.dtype.num < 256:
        return torch.from_numpy(x)
    return torch.from_numpy(x.view(f"i{x.itemsize}")).view(getattr(torch, x.dtype.name))


def array_of(tensor: Any) -> Array:
    """Return an array in the memory of a tensor."""
    import torch

    name = str(tensor.dtype).removeprefix("torch.")
    if not hasattr(ml_dtypes, name):
        return np.asarray(tensor.numpy())
    bits = {1: torch.uint8, 2: torch.int16}[tensor.element_size()]
    return np.asarray(tensor.view(bits).numpy().view(name))


def turned(x: Array) -> Array:
    """Return x in memory that is transposed and has gaps, unless it has no axes."""
    if x.ndim == 0:
        return x
    memory = np.zeros(tuple(2 * n for n in x.shape[::-1]), x.dtype).T
    sliced = memory[(slice(None, None, 2),) * x.ndim]
    sliced[...] = x
    return sliced


def tensors(a: Arguments, layout: Callable[[Array], Array] = np.array) -> Arguments:
    """Return arguments with a tensor for each array."""
    return {
        name: tensor_of(layout(value)) if isinstance(value, np.ndarray) else value
        for name, value in a.items()
    }


def check_tensors(actual: tuple[Any, ...], case: Case, expected: tuple[Array, ...]) -> None:
    """Fail unless these are tensors with the bits of arrays."""
    import torch

    assert all(type(tensor) is torch.Tensor for tensor in actual)
    case.same(tuple(map(array_of, actual)), expected)


@pytest.mark.parametrize("case", OF_ARRAYS, ids=lambda case: case.name)
def test_every_operator(case: Case, rng: np.random.Generator) -> None:
    """Of every kind, such as a dtype: in plain and in turned memory, fresh and into out."""
    for kind in case.kinds.values():
        for setting in case.outs[:2]:
            a = case.tried(rng, setting, **kind)[-1]
            expected = as_tuple(case.operator(**case.given(a)))
            for layout in (np.array, turned):
                given = case.given(tensors(a, layout))
                check_tensors(as_tuple(case.operator(**given)), case, expected)
                out = tuple(tensor_of(layout(np.zeros_like(e))) for e in expected)
                results = case.run(tensors(a, layout), out)
                assert all(r is o for r, o in zip(results, out, strict=True))
                check_tensors(results, case, expected)


def test_a_script_of_torch_npu() -> None:
    """It runs after its import is changed, in a Python that imports torch last, and copies nothing."""
    subprocess.run([sys.executable, "-c", SCRIPT], check=True)


class TestMemory:
    def test_results_are_written_in_place_of_out(self) -> None:
        import torch

        x = torch.randn(3, 40)
        memory = torch.zeros(40, 6, dtype=torch.int8)
        y, scale = memory.T[::2], torch.zeros(3)
        result = npu_quant.npu_dynamic_quant(x, out=(y, scale))
        assert result.y is y
        assert result.scale is scale
        assert torch.equal(memory[:, ::2].T, npu_quant.npu_dynamic_quant(x).y)
        assert not memory[:, 1::2].any()

    def test_large_results_are_not_copied(self) -> None:
        """Of 4 MiB on, they lie in pages of the operators' own store."""
        import torch

        x = torch.zeros(1 << 22, dtype=torch.int8).reshape(1, -1)
        one = torch.ones(1)
        for result in (
            npu_quant.npu_quantize(x.float(), one, None, torch.int8),
            npu_quant.npu_anti_quant(x, one, dst_dtype=torch.bfloat16),
        ):
            assert result.data_ptr() % (2 << 20) == 0
            assert torch.equal(result.float(), x.float())

    def test_results_outlive_what_they_came_from(self) -> None:
        import torch

        x = torch.full((4, 8), 3.0)
        y, scale = npu_quant.npu_dynamic_quant(x)
        gone = weakref.ref(x)
        del x
        gc.collect()
        assert gone() is None
        spoiled = [torch.full((4, 8), 7, dtype=torch.int8) for _ in range(100)]
        assert (y == 127).all()
        assert scale.tolist() == [float(np.float32(3) / np.float32(127))] * 4
        del scale, spoiled
        y.fill_(1)

    def test_tensors_may_be_resized_afterwards(self) -> None:
        import torch

        x = torch.ones(2, 3)
        npu_quant.npu_dynamic_quant(x)
        assert x.resize_(50, 60).shape == (50, 60)

    def test_outputs_share_no_memory_with_inputs(self) -> None:
        import torch

        x = torch.ones(2, 4)
        with pytest.raises(ParamError, match="out shares memory with value"):
            npu_quant.dequantize_val(1.0, 0, x.view(torch.int32), out=x)

    @pytest.mark.parametrize("shape", [(0, 4), (3, 0)])
    def test_empty(self, shape: tuple[int, int]) -> None:
        import torch

        y, scale = npu_quant.npu_dynamic_quant(torch.empty(shape))
        assert (y.shape, scale.tolist()) == (shape, [0.0] * shape[0])

    def test_threads(self) -> None:
        """Whole results from many threads at once, each without the GIL."""
        import torch

        x = torch.randn(64, 4096)
        expected, failed = npu_quant.npu_dynamic_quant(x.numpy()), []

        def work() -> None:
            for _ in range(20):
                y, scale = npu_quant.npu_dynamic_quant(x)
                if not (np.array_equal(y, expected.y) and np.array_equal(scale, expected.scale)):
                    failed.append(y)

        threads = [threading.Thread(target=work) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert not failed


class TestMixed:
    """Results are what the first argument is; out may be either."""

    def test_results_are_as_the_first(self) -> None:
        import torch

        x, smooth = np.ones((2, 4), np.float32), np.ones(4, np.float32)
        of_array = npu_quant.npu_dynamic_quant(x, smooth_scales=torch.from_numpy(smooth))
        of_tensor = npu_quant.npu_dynamic_quant(torch.from_numpy(x), smooth_scales=smooth)
        assert [type(r) for r in of_array] == [np.ndarray] * 2
        assert [type(r) for r in of_tensor] == [torch.Tensor] * 2

    def test_out_is_what_was_given(self) -> None:
        import torch

        out = torch.empty(2, 4, dtype=torch.int8), np.empty(2, np.float32)
        for x in (np.ones((2, 4), np.float32), torch.ones(2, 4)):
            result = npu_quant.npu_dynamic_quant(x, out=out)
            assert all(r is o for r, o in zip(result, out, strict=True))
        y = torch.empty(2, 4, dtype=torch.int8)
        assert npu_quant.npu_dynamic_quant(out[1][None], out=(y[:1, :2], None)).scale is None

    def test_quantizers(self) -> None:
        import torch

        quantizer = npu_quant.PerChannelAffineQuantizer(
            torch.tensor([0.5, 2.0]), torch.tensor([0, 3]), 0, torch.qint8
        )
        codes = quantizer.quantize(torch.tensor([[1.0, 99], [1, 5]]))
        assert codes.tolist() == [[2, 127], [3, 5]]
        assert torch.equal(quantizer.dequantize(codes), torch.tensor([[1, 63.5], [0, 4]]))

    def test_tensors_without_axes_are_numbers_too(self) -> None:
        """As for torch's own functions."""
        import torch

        fake = npu_quant.fake_quantize_per_tensor_affine
        x, scale, zero_point = torch.randn(9), torch.tensor(0.1), torch.tensor(3)
        expected = fake(x, 0.1, 3, -128, 127)
        for arguments in ((scale, zero_point), (scale, 3), (0.1, zero_point)):
            assert torch.equal(fake(x, *arguments, -128, 127), expected)
        for arguments in ((scale.reshape(1), 3), (0.1, scale), (scale, None)):
            with pytest.raises(TypeError, match=r"expected (a number|an int)\.$"):
                fake(x, *arguments, -128, 127)
        codes = npu_quant.quantize_val(scale.double(), zero_point, x, torch.qint8)
        assert torch.equal(codes, npu_quant.quantize_val(0.1, 3, x, "qint8"))
        assert npu_quant.quantize_val(1.0, 1, torch.tensor(2.5), "qint8").shape == ()


def requires_grad(torch: Any) -> Any:
    return torch.nn.Parameter(torch.ones(2, 4))


def negated(torch: Any) -> Any:
    return torch._neg_view(torch.ones(2, 4))


def quantized(torch: Any) -> Any:
    return torch.quantize_per_tensor(torch.ones(2, 4), 0.1, 0, torch.qint8)


def traced(torch: Any) -> Any:
    """Return what torch.compile gives to the functions it looks at."""
    from torch._subclasses.fake_tensor import FakeTensorMode

    with FakeTensorMode():
        return torch.ones(2, 4)


REFUSED: dict[str, tuple[Callable[[Any], Any], str]] = {
    "grad": (requires_grad, r"requires grad, .* Pass input\.detach\(\)\."),
    "meta": (lambda torch: torch.ones(2, 4, device="meta"), "is on device meta, expected cpu"),
    "sparse": (
        lambda torch: torch.ones(2, 4).to_sparse(),
        r"has layout torch\.sparse_coo, .* Pass input\.to_dense\(\)\.",
    ),
    "mkldnn": (
        lambda torch: torch.ones(2, 4).to_mkldnn(),
        r"has layout torch\._mkldnn, .*to_dense",
    ),
    "negated": (negated, r"has its negative bit set, .* Pass input\.resolve_neg\(\)\."),
    "quantized": (quantized, r"has dtype torch\.qint8, .* Pass input\.int_repr\(\)"),
    "conjugated": (
        lambda torch: torch.ones(2, 4).cfloat().conj(),
        r"has dtype torch\.complex64, exp",
    ),
    "traced": (traced, r"is a torch.*FakeTensor without elements in memory, exp"),
    "zero": (
        lambda torch: torch._efficientzerotensor((2, 4)),
        r"is a torch\.Tensor without elements in memory",
    ),
}


class TestErrors:
    """What cannot be read in place is named, with torch's way out, and nothing is computed."""

    @pytest.mark.parametrize("name", REFUSED)
    @pytest.mark.filterwarnings("ignore")
    def test_inputs(self, name: str) -> None:
        import torch

        make, text = REFUSED[name]
        with pytest.raises(DTypeError, match="npu_dynamic_quant: input " + text) as caught:
            npu_quant.npu_dynamic_quant(make(torch))
        assert caught.value.code == 161002
        with pytest.raises(DTypeError, match=text.replace("input", "smooth_scales")):
            npu_quant.npu_dynamic_quant(torch.ones(2, 4), smooth_scales=make(torch))
        with pytest.raises(DTypeError, match=text.replace("input", r"out\[y\]")):
            npu_quant.npu_dynamic_quant(torch.ones(2, 4), out=(make(torch), None))

    def test_inside_vmap(self) -> None:
        import torch

        with pytest.raises(DTypeError, match=r"without elements in memory \('Cannot access "):
            torch.func.vmap(npu_quant.npu_dynamic_quant)(torch.ones(2, 3, 4))

    def test_the_checks_of_arrays_are_those_of_tensors(self) -> None:
        import torch

        x = torch.ones(2, 4)
        with pytest.raises(ParamError, match="input has 9 dimensions, expected 2 to 8"):
            npu_quant.npu_dynamic_quant(x.reshape((1,) * 7 + (2, 4)))
        with pytest.raises(
            DTypeError, match="smooth_scales has dtype float16, expected the dtype of input"
        ):
            npu_quant.npu_dynamic_quant(x, smooth_scales=torch.ones(4).half())
        with pytest.raises(DTypeError, match=r"out\[y\] has dtype float32, expected int8"):
            npu_quant.npu_dynamic_quant(x, out=(torch.ones(2, 4), None))

    def test_remedies_are_torchs(self) -> None:
        import torch

        x, ends = torch.ones(2, 4), torch.tensor([2])
        dynamic, halves = npu_quant.npu_dynamic_quant, np.ones(4, np.float16)
        for call, remedy in (
            (lambda: dynamic(x.double()), "Convert it, e.g. with input.to(torch.float32)."),
            (lambda: dynamic(x.to(torch.complex64)), "e.g. with input.to(torch.float32)."),
            (lambda: dynamic(x.short()), "bits of bfloat16, pass input.view(torch.bfloat16)."),
            (
                lambda: dynamic(x, smooth_scales=torch.from_numpy(halves)),
                "Convert it with smooth_scales.to(torch.float32).",
            ),
            (lambda: dynamic(x, smooth_scales=halves), "smooth_scales.astype('float32')."),
            (
                lambda: npu_quant.npu_grouped_dynamic_mx_quant(x, ends),
                "Convert it, e.g. with group_index.to(torch.int32).",
            ),
        ):
            with pytest.raises(DTypeError) as caught:
                call()
            assert str(caught.value).endswith(remedy)

    def test_a_parameter_that_requires_no_grad_is_taken(self) -> None:
        import torch

        weight = torch.nn.Parameter(torch.ones(2, 4), requires_grad=False)
        assert type(npu_quant.npu_dynamic_quant(weight).y) is torch.Tensor
        with torch.inference_mode():
            x = torch.ones(2, 4)
        assert torch.equal(npu_quant.npu_dynamic_quant(x).y, npu_quant.npu_dynamic_quant(weight).y)


@pytest.mark.parametrize("name", ["float8_e4m3fn", "float8_e5m2", "float8_e8m0fnu", "bfloat16"])
def test_golden_takes_what_numpy_lacks(name: str) -> None:
    import torch

    x = torch.tensor([[1.0, 2, 0.5], [4, 8, 0.25]]).to(getattr(torch, name)).T
    array = x.float().numpy().astype(getattr(ml_dtypes, name))
    assert npu_quant.golden.compare(x, array).outputs[0].rung == "identical"


def test_float4_is_taken_as_bytes() -> None:
    """Two codes in each; torch's own type of them is named, and the way to bytes."""
    import torch

    x, float4 = torch.tensor([[1.0, -6, 0.5, 0]]), torch.float4_e2m1fn_x2
    y = npu_quant.npu_dtype_cast(x, float4)
    assert (y.dtype, y.tolist()) == (torch.uint8, [[0xF2, 0x01]])
    assert torch.equal(npu_quant.npu_dtype_cast(y, torch.float32, float4), x)
    with pytest.raises(DTypeError, match=r"self has .*x2, .* Pass self\.view\(torch\.uint8\)\."):
        npu_quant.npu_dtype_cast(y.view(float4), torch.float32)
    scales = npu_quant.npu_dtype_cast(x.abs(), torch.float8_e8m0fnu)
    assert scales.dtype is torch.float8_e8m0fnu
    assert npu_quant.npu_dtype_cast(scales, torch.float32).tolist() == [[1, 8, 0.5, 2.0**-127]]
