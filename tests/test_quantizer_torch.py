"""The quantizers against PyTorch's: live where torch is installed, else by stored vectors.

torch says that its quantized tensors will go. The vectors hold what torch 2.13 computed on a CPU (x86-64);
``python tests/test_quantizer_torch.py`` makes them anew.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest
from test_torch import to_torch
from witnesses import Array, assert_same_bits, assert_same_but_nan, on_steps

from npu_quant import (
    PerChannelAffineQuantizer,
    PerTensorAffineQuantizer,
    fake_quantize_per_tensor_affine,
    quantize_val,
)

VECTORS = Path(__file__).parent / "data/quantizer_vectors.npz"
TYPES = ["qint8", "quint8", "qint32"]
# scale, zero_point
PER_TENSOR = [(0.1, 0), (0.1, 101), (1.0, 1), (0.37, 3), (2.7, 100)]
SPECIAL_SCALES = [0.0, np.inf, np.nan, 1e-45, 2e-39, 6e-39, 1e30, 1e39, -0.5]
SCALES = np.array([0.1, 1.0, 0.5, 0.37, 0.003, 2.7], np.float32)
CHANNEL_ZERO_POINTS = np.array([0, 1, 101, 7, 3, 5])
CASES = [(name, i) for name in TYPES for i in range(len(PER_TENSOR))]
CHANNELS = [(name, axis) for name in TYPES for axis in (0, 1)]


class Quantized(NamedTuple):
    """What torch returns: codes, and what it makes of them."""

    codes: Array
    values: Array


@contextmanager
def quiet_torch() -> Iterator[Any]:
    """Give torch, whose warnings about the end of these functions are known."""
    import torch

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield torch


def torch_per_tensor(x: Array, scale: float, zero_point: int, name: str) -> Quantized:
    with quiet_torch() as torch:
        q = torch.quantize_per_tensor(to_torch(x), scale, zero_point, getattr(torch, name))
        return Quantized(q.int_repr().numpy(), q.dequantize().numpy())


def torch_per_channel(
    x: Array, scales: Array, zero_points: Array, axis: int, name: str
) -> Quantized:
    with quiet_torch() as torch:
        tensors = to_torch(x), to_torch(scales), to_torch(zero_points)
        q = torch.quantize_per_channel(*tensors, axis, getattr(torch, name))
        return Quantized(q.int_repr().numpy(), q.dequantize().numpy())


def inputs(shape: tuple[int, int]) -> Array:
    """Return values around the steps of the scales, ties and specials included."""
    rng = np.random.default_rng(list(shape))
    return on_steps(rng, shape, np.dtype(np.float32), rng.choice(SCALES, shape))


def channels(x: Array, axis: int, name: str) -> PerChannelAffineQuantizer:
    """Return a quantizer for the channels of x."""
    n = x.shape[axis]
    return PerChannelAffineQuantizer(
        np.resize(SCALES, n), np.resize(CHANNEL_ZERO_POINTS, n), axis, name
    )


def next_to_a_tie(x: Array, scale: Array | float, zero_point: Array | int) -> Array:
    """Tell where torch, which adds the zero point before it rounds, may differ, as the page says.

    At ties, and where the sum's rounding, or that of the product, which it may leave out, takes it across one: so many
    units in the last place of the larger number.
    """
    with np.errstate(all="ignore"):
        v = x * (np.float32(1) / np.asarray(scale, np.float32))
        unit = np.spacing(np.maximum(np.abs(v), np.abs(np.asarray(zero_point, np.float32))))
        return np.isnan(v) | (np.abs(np.abs(v - np.floor(v)) - 0.5) <= 2 * unit)


def exact_in_float32(q: Array) -> Array:
    """Tell which codes torch's per-channel dequantize(), which subtracts in float32, does not round."""
    return np.abs(q.astype(np.int64)) < 1 << 24


def along(values: Array, axis: int) -> Array:
    return values if axis == 1 else values[:, None]


def assert_same_but_next_to_ties(actual: Array, theirs: Array, named: Array) -> None:
    """Fail unless codes are the same where nothing is named."""
    assert (actual.dtype, actual.shape) == (theirs.dtype, theirs.shape)
    wrong = np.argwhere((actual != theirs) & ~named)
    assert len(wrong) == 0, f"{len(wrong)} of {actual.size} differ, first at {wrong[0]}"


@pytest.mark.usefixtures("target")
class TestStored:
    """What torch computed once."""

    @pytest.mark.parametrize(("name", "case"), CASES)
    def test_per_tensor(self, name: str, case: int) -> None:
        with np.load(VECTORS) as vectors:
            x, q, y = (vectors[key] for key in ("x", f"{name}/t{case}/q", f"{name}/t{case}/y"))
        quantizer = PerTensorAffineQuantizer(*PER_TENSOR[case], name)
        named = next_to_a_tie(x, *PER_TENSOR[case])
        assert_same_but_next_to_ties(quantizer.quantize(x), q, named)
        assert 0.02 < named.mean() < 0.2
        assert_same_bits((quantizer.dequantize(q),), (y,))

    @pytest.mark.parametrize(("name", "axis"), CHANNELS)
    def test_per_channel(self, name: str, axis: int) -> None:
        with np.load(VECTORS) as vectors:
            x, q, y = (vectors[key] for key in ("x", f"{name}/c{axis}/q", f"{name}/c{axis}/y"))
        quantizer = channels(x, axis, name)
        named = next_to_a_tie(
            x, along(quantizer.scales(), axis), along(quantizer.zero_points(), axis)
        )
        assert_same_but_next_to_ties(quantizer.quantize(x), q, named)
        small = exact_in_float32(q)
        assert_same_bits((quantizer.dequantize(q)[small],), (y[small],))


@pytest.mark.needs("torch")
@pytest.mark.usefixtures("target")
class TestLive:
    """What torch computes here."""

    @pytest.mark.parametrize(("name", "case"), CASES)
    @pytest.mark.parametrize("shape", [(3, 17), (256, 1000)])
    def test_per_tensor(self, name: str, case: int, shape: tuple[int, int]) -> None:
        x, quantizer = inputs(shape), PerTensorAffineQuantizer(*PER_TENSOR[case], name)
        theirs = torch_per_tensor(x, *PER_TENSOR[case], name)
        named = next_to_a_tie(x, *PER_TENSOR[case])
        assert_same_but_next_to_ties(quantizer.quantize(x), theirs.codes, named)
        assert_same_bits((quantizer.dequantize(theirs.codes),), (theirs.values,))

    @pytest.mark.parametrize("name", TYPES)
    def test_random_values_meet_no_tie(self, name: str) -> None:
        """A million values: all but some 10^-5 are the same whatever comes first."""
        x = np.random.default_rng(5).standard_normal((1000, 1000)).astype(np.float32) * 3
        for scale, zero_point in PER_TENSOR:
            theirs = torch_per_tensor(x, scale, zero_point, name).codes
            differs = quantize_val(scale, zero_point, x, name) != theirs
            assert differs.mean() < 1e-4
            assert zero_point != 0 or not differs.any()

    @pytest.mark.parametrize("scale", SPECIAL_SCALES)
    @pytest.mark.parametrize("name", TYPES)
    def test_special_scales(self, name: str, scale: float) -> None:
        x, quantizer = inputs((40, 100)), PerTensorAffineQuantizer(scale, 3, name)
        theirs = torch_per_tensor(x, scale, 3, name)
        assert_same_but_next_to_ties(
            quantizer.quantize(x), theirs.codes, next_to_a_tie(x, scale, 3)
        )
        assert_same_but_nan((quantizer.dequantize(theirs.codes),), (theirs.values,))

    @pytest.mark.parametrize(("name", "axis"), CHANNELS)
    @pytest.mark.parametrize("shape", [(6, 17), (120, 257)])
    def test_per_channel(self, name: str, axis: int, shape: tuple[int, int]) -> None:
        x = inputs(shape)
        quantizer = channels(x, axis, name)
        parameters = quantizer.scales().astype(np.float32), quantizer.zero_points()
        theirs = torch_per_channel(x, *parameters, axis, name)
        named = next_to_a_tie(x, *(along(p, axis) for p in parameters))
        assert_same_but_next_to_ties(quantizer.quantize(x), theirs.codes, named)
        small = exact_in_float32(theirs.codes)
        assert_same_bits((quantizer.dequantize(theirs.codes)[small],), (theirs.values[small],))

    def test_all_codes_come_back_the_same(self) -> None:
        for name in TYPES[:2]:
            low, high = (-128, 127) if name == "qint8" else (0, 255)
            for scale, zero_point in PER_TENSOR:
                q = np.arange(low, high + 1)
                x = ((q - zero_point) * scale).astype(np.float32)
                theirs = torch_per_tensor(x, scale, zero_point, name)
                assert theirs.codes.tolist() == q.tolist()
                quantizer = PerTensorAffineQuantizer(scale, zero_point, name)
                assert_same_bits((quantizer.quantize(x),), (theirs.codes,))
                assert_same_bits((quantizer.dequantize(theirs.codes),), (theirs.values,))

    def test_names_are_torchs(self) -> None:
        quantizer = PerTensorAffineQuantizer(0.1, 3, "qint8")
        with quiet_torch() as torch:
            q = torch.quantize_per_tensor(torch.zeros(2), 0.1, 3, torch.qint8)
            assert str(q.qscheme()) == f"torch.{quantizer.qscheme()}"
            assert str(q.dtype) == f"torch.{quantizer.scalar_type()}"
            assert q.q_scale() == quantizer.scale()
            assert q.q_zero_point() == quantizer.zero_point()
            for name in TYPES:
                dtype = getattr(torch, name)
                assert str(PerTensorAffineQuantizer(1, 0, dtype).scalar_type()) == name


@pytest.mark.needs("torch", "x86-64")  # elsewhere torch rounds otherwise
class TestWhereTorchDiffers:
    """Each difference that the functions' pages name."""

    def test_at_ties_with_an_odd_zero_point(self) -> None:
        x = np.array([0.5, 1.5, 2.5, -0.5], np.float32)
        for name in TYPES:
            assert torch_per_tensor(x, 1.0, 1, name).codes.tolist() == [2, 2, 4, 0]
            one = np.ones(4, np.float32), np.ones(4, np.int64)
            assert torch_per_channel(x, *one, 0, name).codes.tolist() == [2, 2, 4, 0]
            assert quantize_val(1.0, 1, x, name).tolist() == [1, 3, 3, 1]
        with quiet_torch() as torch:
            theirs = torch.fake_quantize_per_tensor_affine(to_torch(x), 1.0, 1, -128, 127)
        ours = fake_quantize_per_tensor_affine(x, 1.0, 1, -128, 127)
        assert theirs.tolist() == ours.tolist() == [0, 2, 2, 0]

    def test_next_to_ties(self) -> None:
        """1.5000001 + 1 is 2.5 in float32."""
        x = np.array([np.nextafter(np.float32(1.5), np.float32(2))])
        for name in TYPES:
            assert torch_per_tensor(x, 1.0, 1, name).codes.tolist() == [2]
            assert quantize_val(1.0, 1, x, name).tolist() == [3]

    def test_nan(self) -> None:
        x = np.array([np.nan], np.float32)
        most = {"qint8": 127, "quint8": 255, "qint32": -(2**31)}
        least = {"qint8": -128, "quint8": 0, "qint32": -(2**31)}
        for name in TYPES:
            assert torch_per_tensor(x, 1.0, 1, name).codes.tolist() == [most[name]]
            assert quantize_val(1.0, 1, x, name) == [least[name]]

    def test_per_channel_it_multiplies_by_scales_in_float64(self) -> None:
        """0.1 is no number of float32; quantize_val's document rounds it to one."""
        q = np.arange(-128, 128, dtype=np.int8)
        scales, zero_points = np.full(256, 0.1), np.zeros(256, np.int64)
        x = (q * 0.1).astype(np.float32)
        theirs = torch_per_channel(x, scales, zero_points, 0, "qint8")
        ours = PerChannelAffineQuantizer(scales, zero_points, 0, "qint8").dequantize(q)
        assert theirs.codes.tolist() == q.tolist()
        assert_same_bits((theirs.values,), (x,))
        assert_same_bits((ours,), (q.astype(np.float32) * np.float32(0.1),))
        assert (ours != x).any()

    def test_per_channel_it_subtracts_in_float32(self) -> None:
        """-2^31 - 1 wraps in int32, as the document prints it, and is -2^31 in float32."""
        x, one = np.array([-3e9], np.float32), np.ones(1, np.int64)
        theirs = torch_per_channel(x, one.astype(np.float32), one, 0, "qint32")
        assert theirs.codes.tolist() == [-(2**31)]
        assert theirs.values.tolist() == [-(2.0**31)]
        ours = PerChannelAffineQuantizer(one.astype(np.float32), one, 0, "qint32")
        assert ours.dequantize(theirs.codes).tolist() == [2.0**31]
        assert torch_per_tensor(x, 1.0, 1, "qint32").values.tolist() == [2.0**31]


def main() -> None:
    """Make the stored vectors."""
    x = inputs((6, 48))
    arrays: dict[str, Array] = {"x": x}
    for name in TYPES:
        results = {f"t{i}": torch_per_tensor(x, *p, name) for i, p in enumerate(PER_TENSOR)}
        for axis in (0, 1):
            quantizer = channels(x, axis, name)
            parameters = quantizer.scales().astype(np.float32), quantizer.zero_points()
            results[f"c{axis}"] = torch_per_channel(x, *parameters, axis, name)
        for case, (q, y) in results.items():
            arrays |= {f"{name}/{case}/q": q, f"{name}/{case}/y": y}
    np.savez_compressed(VECTORS, **arrays)


if __name__ == "__main__":
    main()
