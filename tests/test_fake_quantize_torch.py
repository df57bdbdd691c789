"""Fake quantization against PyTorch: live where torch is installed, else by stored vectors.

The vectors hold what torch 2.13 computed on a CPU; ``python tests/test_fake_quantize_torch.py`` makes them anew.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from test_torch import to_torch
from witnesses import Array, assert_same_but_nan, on_steps

import npu_quant
from npu_quant import _fake_quantize_per_tensor_affine_cachemask_tensor_qparams as with_arrays

VECTORS = Path(__file__).parent / "data/fake_quantize_vectors.npz"
NAMES = ["float16", "bfloat16", "float32"]
KINDS = ["int32", "float32", "float16"]
WIDE = 1 << 20
# scale, zero_point, quant_min, quant_max
PER_TENSOR = [
    (0.1, 0, -128, 127),
    (0.1, 101, 0, 255),
    (1.0, 1, -8, 7),
    (-0.37, 3, -128, 127),
    (0.5, 5, 5, 5),
    (1e-3, -12345, -WIDE, WIDE),
]
SPECIAL_SCALES = [0.0, -0.0, np.inf, -np.inf, np.nan, 1e-45, 2e-39, 6e-39, 1e30, 1e39, -1e-300]
SCALE = np.array([0.1, 1.0, 0.5, -0.37, 0.003, 2.7], np.float32)
ZERO_POINTS = {
    "int32": [0, 1, -8, 7, 3, 5],
    "float32": [0.0, -0.0, 0.5, -2.3, 7.0, 1.5],
    "float16": [0.0, -0.0, 0.5, -2.3, 7.0, 1.5],
}
PER_CHANNEL = [(kind, axis) for kind in KINDS for axis in (0, 1)]


def from_torch(*tensors: Any) -> tuple[Array, ...]:
    """Return arrays with the same bits."""
    import torch

    return tuple(
        t.view(torch.int16).numpy().view(ml_dtypes.bfloat16)
        if t.dtype == torch.bfloat16
        else t.numpy()
        for t in tensors
    )


def aten() -> Any:
    """Return torch's operators."""
    import torch

    return torch.ops.aten


def torch_per_tensor(x: Array, *arguments: Any) -> tuple[Array, ...]:
    """Return torch's output and mask."""
    return from_torch(*aten().fake_quantize_per_tensor_affine_cachemask(to_torch(x), *arguments))


def torch_per_channel(x: Array, scale: Array, zero_point: Array, *rest: Any) -> tuple[Array, ...]:
    """Return torch's output and mask."""
    tensors = to_torch(x), to_torch(scale), to_torch(zero_point)
    return from_torch(*aten().fake_quantize_per_channel_affine_cachemask(*tensors, *rest))


def dtype_of(name: str) -> np.dtype:
    return np.dtype(getattr(ml_dtypes, name, None) or name)


def inputs(name: str, shape: tuple[int, int]) -> Array:
    """Return values around the steps of the scales, ties and specials included."""
    rng = np.random.default_rng(list(name.encode()) + list(shape))
    return on_steps(rng, shape, dtype_of(name), rng.choice(np.abs(SCALE), shape))


def parameters(kind: str, axis: int, x: Array) -> tuple[Array, Array]:
    """Return a scale and a zero point for each channel of x."""
    n = x.shape[axis]
    return np.resize(SCALE, n), np.resize(np.array(ZERO_POINTS[kind], kind), n)


def elsewhere(x: Array, scale: Array, zero_point: Array, axis: int, fused: bool) -> Array:
    """Tell where torch's per-channel kernel differs, as the function's page says.

    q is 2^63 or more; and with float32 zero points, where the CPU fuses the product and the sum, one rounding instead
    of two takes q across a tie.
    """
    s, zp = ((v if axis == 1 else v[:, None]).astype(np.float32) for v in (scale, zero_point))
    v = x.astype(np.float32)
    with np.errstate(all="ignore"):
        inv = np.float32(1) / s
        q = zp + v * inv
        beyond = q >= 2.0**63
        if not fused or zero_point.dtype != np.float32:
            return beyond
        once = np.rint((v.astype(np.float64) * inv.astype(np.float64) + zp).astype(np.float32))
        return beyond | ((once != np.rint(q)) & ~np.isnan(q))


def assert_same_but(
    where: Array, actual: tuple[Array, ...], expected: tuple[Array, ...], most: float = 0.05
) -> None:
    """Fail unless all is the same but for NaN's payload, and for what is named, which is rare."""
    assert np.mean(where) <= most
    kept = [tuple(a[~where] for a in outputs) for outputs in (actual, expected)]
    assert_same_but_nan(*kept)


@pytest.mark.usefixtures("target")
class TestStored:
    """What torch computed once."""

    @pytest.mark.parametrize("case", range(len(PER_TENSOR)))
    @pytest.mark.parametrize("name", NAMES)
    def test_per_tensor(self, name: str, case: int) -> None:
        with np.load(VECTORS) as vectors:
            x, y, mask = (vectors[f"{name}/{key}"] for key in ("x", f"t{case}/y", f"t{case}/mask"))
        x, y = x.view(dtype_of(name)), y.view(dtype_of(name))
        arguments = (x, *PER_TENSOR[case])
        actual = npu_quant.fake_quantize_per_tensor_affine_cachemask(*arguments)
        assert_same_but_nan(actual, (y, mask))
        assert_same_but_nan((npu_quant.fake_quantize_per_tensor_affine(*arguments),), (y,))

    @pytest.mark.parametrize(("kind", "axis"), PER_CHANNEL)
    @pytest.mark.parametrize("name", NAMES)
    def test_per_channel(self, name: str, kind: str, axis: int) -> None:
        case = f"c{kind}{axis}"
        with np.load(VECTORS) as vectors:
            x, y, mask = (vectors[f"{name}/{key}"] for key in ("x", f"{case}/y", f"{case}/mask"))
        x, y = x.view(dtype_of(name)), y.view(dtype_of(name))
        arguments = (x, *parameters(kind, axis, x), axis)
        actual = npu_quant.fake_quantize_per_channel_affine_cachemask(*arguments, -8, 7)
        where = elsewhere(*arguments, fused=False)
        assert_same_but(where, actual, (y, mask))
        plain = npu_quant.fake_quantize_per_channel_affine(*arguments, -8, 7)
        assert_same_but(where, (plain,), (y,))

    @pytest.mark.parametrize("name", NAMES)
    def test_backward(self, name: str) -> None:
        keys = ("x", "t0/mask", "gradient")
        with np.load(VECTORS) as vectors:
            x, mask, gradient = (vectors[f"{name}/{key}"] for key in keys)
        x, gradient = x.view(dtype_of(name)), gradient.view(dtype_of(name))
        for form in ("tensor", "channel"):
            backward = getattr(npu_quant, f"fake_quantize_per_{form}_affine_cachemask_backward")
            assert_same_but_nan((backward(x, mask),), (gradient,))


@pytest.mark.needs("torch")
@pytest.mark.usefixtures("target")
@pytest.mark.parametrize("name", NAMES)
class TestLive:
    """What torch computes here."""

    @pytest.mark.parametrize("shape", [(3, 17), (256, 1000)])
    def test_per_tensor(self, name: str, shape: tuple[int, int]) -> None:
        fake_quantize = aten().fake_quantize_per_tensor_affine
        x = inputs(name, shape)
        for arguments in PER_TENSOR:
            expected = torch_per_tensor(x, *arguments)
            actual = npu_quant.fake_quantize_per_tensor_affine_cachemask(x, *arguments)
            assert_same_but_nan(actual, expected)
            plain = npu_quant.fake_quantize_per_tensor_affine(x, *arguments)
            assert_same_but_nan((plain,), from_torch(fake_quantize(to_torch(x), *arguments)))
            assert_same_but_nan((plain,), expected[:1])

    @pytest.mark.parametrize("scale", SPECIAL_SCALES)
    def test_special_scales(self, name: str, scale: float) -> None:
        x = inputs(name, (40, 100))
        for _, *range_ in PER_TENSOR:
            actual = npu_quant.fake_quantize_per_tensor_affine_cachemask(x, scale, *range_)
            assert_same_but_nan(actual, torch_per_tensor(x, scale, *range_))

    @pytest.mark.parametrize("zero_point", [0, 3, 300, -(1 << 24), 1 << 24])
    @pytest.mark.parametrize("kind", ["float16", "float32"])
    def test_tensor_qparams(self, name: str, kind: str, zero_point: int) -> None:
        form = aten()._fake_quantize_per_tensor_affine_cachemask_tensor_qparams
        plain = aten().fake_quantize_per_tensor_affine.tensor_qparams
        x, scale = inputs(name, (40, 100)), np.array([0.1], kind)
        for zp in (np.array([zero_point]), np.array([zero_point], np.int32)):
            for enabled in (np.array([1], np.uint8), np.array([0.5], np.float32)):
                tensors = [to_torch(a) for a in (x, scale, zp, enabled)]
                expected = from_torch(*form(*tensors, -WIDE, WIDE))
                assert_same_but_nan(with_arrays(x, scale, zp, enabled, -WIDE, WIDE), expected)
            expected = from_torch(plain(*tensors[:3], -WIDE, WIDE))
            actual = npu_quant.fake_quantize_per_tensor_affine(x, scale, zp, -WIDE, WIDE)
            assert_same_but_nan((actual,), expected)

    @pytest.mark.parametrize(("kind", "axis"), PER_CHANNEL)
    @pytest.mark.parametrize("range_", [(-8, 7), (-128, 127), (-8, 255), (-WIDE, WIDE)])
    def test_per_channel(self, name: str, kind: str, axis: int, range_: tuple[int, int]) -> None:
        x = inputs(name, (120, 257))
        arguments = (x, *parameters(kind, axis, x), axis)
        expected = torch_per_channel(*arguments, *range_)
        actual = npu_quant.fake_quantize_per_channel_affine_cachemask(*arguments, *range_)
        assert_same_but(elsewhere(*arguments, fused=True), actual, expected)

    @pytest.mark.parametrize("kind", KINDS)
    def test_special_scales_per_channel(self, name: str, kind: str) -> None:
        scale = np.array([v for v in SPECIAL_SCALES if abs(v) < 1e39 or not np.isfinite(v)], "f4")
        x = inputs(name, (100, len(scale)))
        zero_point = np.resize(np.array(ZERO_POINTS[kind], kind), len(scale))
        where = elsewhere(x, scale, zero_point, 1, fused=True)
        expected = torch_per_channel(x, scale, zero_point, 1, -8, 7)
        actual = npu_quant.fake_quantize_per_channel_affine_cachemask(
            x, scale, zero_point, 1, -8, 7
        )
        assert_same_but(where, actual, expected, most=0.5)  # 1 / scale is inf for some

    def test_backward(self, name: str) -> None:
        grad = inputs(name, (256, 1000))
        mask = np.random.default_rng(3).random(grad.shape) < 0.5
        for form in ("tensor", "channel"):
            function = f"fake_quantize_per_{form}_affine_cachemask_backward"
            expected = from_torch(getattr(aten(), function)(to_torch(grad), to_torch(mask)))
            assert_same_but_nan((getattr(npu_quant, function)(grad, mask),), expected)


@pytest.mark.needs("torch")
@pytest.mark.usefixtures("target")
@pytest.mark.parametrize("name", [name for name in NAMES if name != "float32"])
def test_all_patterns(name: str) -> None:
    x = np.arange(65536, dtype=np.uint16).view(dtype_of(name))
    for arguments in PER_TENSOR:
        actual = npu_quant.fake_quantize_per_tensor_affine_cachemask(x, *arguments)
        assert_same_but_nan(actual, torch_per_tensor(x, *arguments))
    x = x.reshape(256, 256)
    for kind, axis in PER_CHANNEL:
        channels = (x, *parameters(kind, axis, x), axis)
        where = elsewhere(*channels, fused=True)
        actual = npu_quant.fake_quantize_per_channel_affine_cachemask(*channels, -8, 7)
        # A quarter of bfloat16's patterns are numbers above 2^60.
        assert_same_but(where, actual, torch_per_channel(*channels, -8, 7), most=0.3)


@pytest.mark.needs("torch")
class TestWhereTorchDiffers:
    """Each difference that the functions' pages name, and no larger than they say."""

    @pytest.mark.needs("x86-64")  # the overflow is that of x86
    @pytest.mark.parametrize("kind", KINDS)
    def test_per_channel_it_overflows_from_2_63_on(self, kind: str) -> None:
        x = np.array([[np.inf, 2.0**63, 2.0**62, -np.inf, -(2.0**63), np.nan]], np.float32)
        arguments = (x, np.ones(1, np.float32), np.zeros(1, kind), 0, -8, 7)
        ours = npu_quant.fake_quantize_per_channel_affine_cachemask(*arguments)
        theirs = torch_per_channel(*arguments)
        assert ours.output.tolist() == [[7, 7, 7, -8, -8, -8]]
        assert theirs[0].tolist() == [[-8, -8, 7, -8, -8, -8]]
        assert not ours.mask.any()
        assert not theirs[1].any()

    def test_with_float32_zero_points_it_may_round_once(self) -> None:
        """-11.7f * 10 is -117 when rounded, and 141.5 - 117 a tie; not rounded it is just above."""
        x, scale = np.array([[-11.7]], np.float32), np.array([0.1], np.float32)
        for kind in ("float32", "float16"):
            arguments = (x, scale, np.array([141.5], kind), 0, 0, 255)
            ours = npu_quant.fake_quantize_per_channel_affine_cachemask(*arguments).output
            twice, once = np.float32(-11.75), np.float32(-11.65)
            assert ours.tolist() == [[twice]]
            theirs = torch_per_channel(*arguments)[0][0, 0]
            assert abs(theirs - once) < 1e-5 or theirs == twice
            assert kind == "float32" or theirs == twice

    def test_per_channel_it_keeps_integers_beyond_2_24(self) -> None:
        """(1 + 2^24) * 1.5: both forms of ours, and torch per tensor, round the sum to 2^24."""
        x, scale, low = np.array([[1e9]], np.float32), np.array([1.5], np.float32), -(1 << 24)
        arguments = (x, scale, np.array([low], np.int32), 0, low, 1)
        ours = npu_quant.fake_quantize_per_channel_affine_cachemask(*arguments).output
        assert ours.tolist() == [[25165824]]
        assert torch_per_channel(*arguments)[0].tolist() == [[25165826]]
        assert torch_per_tensor(x, 1.5, low, low, 1)[0].tolist() == [[25165824]]

    def test_its_switch_is_on_for_negative_numbers(self) -> None:
        """The documents of the device say: off below 1."""
        form = aten()._fake_quantize_per_tensor_affine_cachemask_tensor_qparams
        x, one = np.array([99.5], np.float32), np.ones(1, np.float32)
        arguments = (x, one, np.zeros(1, np.int32), -one)
        assert with_arrays(*arguments, -8, 7).output.tolist() == [99.5]
        assert from_torch(*form(*map(to_torch, arguments), -8, 7))[0].tolist() == [7]


def main() -> None:
    """Make the stored vectors, with torch's kernels that do not fuse."""
    os.environ["ATEN_CPU_CAPABILITY"] = "default"  # before torch is imported
    arrays: dict[str, Array] = {}
    for name in NAMES:
        x = inputs(name, (6, 64))
        results = {f"t{i}": torch_per_tensor(x, *case) for i, case in enumerate(PER_TENSOR)}
        for kind, axis in PER_CHANNEL:
            channels = (x, *parameters(kind, axis, x), axis)
            results[f"c{kind}{axis}"] = torch_per_channel(*channels, -8, 7)
        arrays[f"{name}/x"] = x
        for case, (y, mask) in results.items():
            arrays |= {f"{name}/{case}/y": y, f"{name}/{case}/mask": mask}
        backward = aten().fake_quantize_per_tensor_affine_cachemask_backward
        tensors = to_torch(x), to_torch(arrays[f"{name}/t0/mask"])
        arrays[f"{name}/gradient"] = from_torch(backward(*tensors))[0]
    raw = {k: a if a.dtype == bool else a.view(f"u{a.itemsize}") for k, a in arrays.items()}
    np.savez_compressed(VECTORS, **raw)


if __name__ == "__main__":
    main()
