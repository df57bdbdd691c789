"""The quantizers: what they know, what they compute, and how they compare, print, copy and pickle."""

from __future__ import annotations

import copy
import pickle
from typing import Any

import numpy as np
import pytest
from cases.quantize_val import SCALES_OF_CHANNELS, TYPES, ZERO_POINTS_OF_CHANNELS
from hypothesis import given, settings
from hypothesis import strategies as st
from witnesses import (
    assert_same_bits,
    on_steps,
)

import npu_quant
from npu_quant import (
    PerChannelAffineQuantizer,
    PerTensorAffineQuantizer,
    QScheme,
    Quantizer,
    ScalarType,
    dequantize_val,
    quantize_val,
)
from npu_quant.ops.quantize_val_functions import reference, reference_dequantize


@pytest.fixture(params=list(TYPES))
def name(request: pytest.FixtureRequest) -> str:
    """Run the test with each type of codes."""
    return request.param


class TestEnums:
    """PyTorch's names and numbers."""

    def test_qscheme(self) -> None:
        names = "per_tensor_affine per_channel_affine per_tensor_symmetric per_channel_symmetric "
        names += "per_channel_affine_float_qparams"
        assert [str(s) for s in QScheme] == names.split()
        assert [s.value for s in QScheme] == [0, 1, 2, 3, 4]
        assert all(getattr(npu_quant, s.name) is s for s in QScheme)

    def test_scalar_type(self) -> None:
        assert [str(t) for t in ScalarType] == ["qint8", "quint8", "qint32"]
        assert [int(t) for t in ScalarType] == [12, 13, 14]
        assert all(getattr(npu_quant, t.name) is t for t in ScalarType)
        assert f"{npu_quant.qint8} {npu_quant.quint8:>8}" == "qint8   quint8"

    def test_a_scalar_type_is_a_dtype_everywhere(self) -> None:
        x, scale = np.array([1.6], np.float32), np.ones(1, np.float32)
        for t in ScalarType:
            y = npu_quant.npu_quantize(x, scale, None, t, axis=0)
            assert (y.dtype, y.tolist()) == (TYPES[t.name], [2])


class TestPerTensor:
    """The document's four methods, and the two that work."""

    def test_four_methods(self, name: str) -> None:
        q = PerTensorAffineQuantizer(0.1, 10, name)
        assert q.qscheme() is npu_quant.per_tensor_affine
        assert (type(q.scale()), q.scale()) == (float, 0.1)
        assert (type(q.zero_point()), q.zero_point()) == (int, 10)
        assert q.scalar_type() is ScalarType[name]

    @pytest.mark.parametrize(
        "way", ["qint8", 12, "torch.qint8", np.int8, "int8", 1, np.dtype("i1"), ScalarType.qint8]
    )
    def test_ways_of_naming_the_type(self, way: Any) -> None:
        assert PerTensorAffineQuantizer(1, 0, way).scalar_type() is npu_quant.qint8

    def test_scale_is_kept_in_double(self) -> None:
        for scale in (1e300, 1e-300, np.float64(0.1), 3, np.inf, -0.0):
            assert PerTensorAffineQuantizer(scale, 0, "qint8").scale() == scale
        assert np.isnan(PerTensorAffineQuantizer(np.nan, 0, "qint8").scale())

    @pytest.mark.parametrize(
        ("name", "least", "most"),
        [("qint8", -128, 127), ("quint8", 0, 255), ("qint32", -(2**31), 2**31 - 1)],
    )
    def test_zero_points_are_codes(self, name: str, least: int, most: int) -> None:
        for zero_point in (least, most, np.int64(most)):
            assert PerTensorAffineQuantizer(1, zero_point, name).zero_point() == zero_point
        for zero_point in (least - 1, most + 1, 2**63, -(2**63)):
            with pytest.raises(
                npu_quant.ParamError,
                match=f"zero_point is .*, expected {least} to {most} \\({name}\\)",
            ):
                PerTensorAffineQuantizer(1, zero_point, name)

    @pytest.mark.usefixtures("target")
    def test_it_is_quantize_val(self, rng: np.random.Generator, dtype: np.dtype, name: str) -> None:
        x = on_steps(rng, (5, 300), dtype)
        for scale, zero_point in zip(
            SCALES_OF_CHANNELS.tolist(), ZERO_POINTS_OF_CHANNELS.tolist(), strict=True
        ):
            quantizer = PerTensorAffineQuantizer(scale, zero_point, name)
            q = quantizer.quantize(x)
            assert_same_bits((q,), (quantize_val(scale, zero_point, x, name),))
            assert_same_bits((quantizer.dequantize(q),), (dequantize_val(scale, zero_point, q),))

    def test_out(self, rng: np.random.Generator, name: str) -> None:
        quantizer = PerTensorAffineQuantizer(0.1, 3, name)
        x = on_steps(rng, (5, 70), np.dtype(np.float16))
        q, y = np.empty(x.shape, TYPES[name]), np.empty(x.shape, np.float32)
        assert quantizer.quantize(x, out=q, numerics="reference") is q
        assert quantizer.dequantize(q, out=y, numerics="reference") is y
        assert_same_bits((q, y), (reference(0.1, 3, x, name), reference_dequantize(0.1, 3, q)))


@pytest.mark.usefixtures("target")
class TestPerChannel:
    """Each channel as a quantizer of its own would do it."""

    def test_methods(self, name: str) -> None:
        scales, zero_points = np.array([0.1, 2], np.float32), np.array([3, 4], np.int32)
        q = PerChannelAffineQuantizer(scales, zero_points, -1, name)
        assert q.qscheme() is npu_quant.per_channel_affine
        assert q.scalar_type() is ScalarType[name]
        assert_same_bits((q.scales(),), (scales.astype(np.float64),))
        assert_same_bits((q.zero_points(),), (zero_points.astype(np.int64),))
        assert q.axis() == -1

    def test_parameters_may_lie_anyhow(self) -> None:
        frozen = np.array([0.1, 0.2, 0.3])
        frozen.flags.writeable = False
        plain = PerChannelAffineQuantizer(frozen, np.array([1, 2, 3]), 0, "qint8")
        for scales in (
            np.array([0.3, 0.2, 0.1])[::-1],
            np.array([0.1, 9, 0.2, 9, 0.3])[::2],
            frozen,
        ):
            for zero_points in (
                np.array([3, 2, 1])[::-1],
                np.array([1, 9, 2, 9, 3], np.int32)[::2],
            ):
                assert PerChannelAffineQuantizer(scales, zero_points, 0, "qint8") == plain

    def test_parameters_are_its_own(self) -> None:
        scales, zero_points = np.array([0.5]), np.array([1])
        q = PerChannelAffineQuantizer(scales, zero_points, 0, "qint8")
        scales[0] = zero_points[0] = q.scales()[0] = q.zero_points()[0] = 9
        assert (q.scales().tolist(), q.zero_points().tolist()) == ([0.5], [1])


QUANTIZERS = [
    PerTensorAffineQuantizer(0.1, 10, "qint8"),
    PerTensorAffineQuantizer(0.1, 10, "quint8"),
    PerTensorAffineQuantizer(0.1, 11, "qint8"),
    PerTensorAffineQuantizer(1 / 3, 10, "qint8"),
    PerChannelAffineQuantizer(np.array([0.1]), np.array([10]), 0, "qint8"),
    PerChannelAffineQuantizer(np.array([0.1]), np.array([10]), 0, "quint8"),
    PerChannelAffineQuantizer(np.array([0.1]), np.array([11]), 0, "qint8"),
    PerChannelAffineQuantizer(np.array([1 / 3]), np.array([10]), 0, "qint8"),
    PerChannelAffineQuantizer(np.array([0.1]), np.array([10]), 1, "qint8"),
    PerChannelAffineQuantizer(np.array([0.1, 0.1]), np.array([10, 10]), 0, "qint8"),
]


@pytest.mark.parametrize("i", range(len(QUANTIZERS)))
class TestObjects:
    """Equality, hashes, copies."""

    def test_equal_to_itself_alone(self, i: int) -> None:
        for j, other in enumerate(QUANTIZERS):
            assert (QUANTIZERS[i] == other) == (i == j)
        assert QUANTIZERS[i] != "PerTensorAffineQuantizer"

    def test_copies(self, i: int) -> None:
        q = QUANTIZERS[i]
        for same in (copy.copy(q), copy.deepcopy(q), pickle.loads(pickle.dumps(q))):
            assert same is not q
            assert same == q
            assert hash(same) == hash(q)
            assert repr(same) == repr(q)
            assert type(same) is type(q)

    def test_repr(self, i: int) -> None:
        """It can be evaluated, given the names in it."""
        names = vars(npu_quant) | {"PerChannelAffineQuantizer": from_lists}
        assert eval(repr(QUANTIZERS[i]), dict(names)) == QUANTIZERS[i]

    def test_it_is_a_quantizer(self, i: int) -> None:
        assert isinstance(QUANTIZERS[i], Quantizer)


def from_lists(
    scales: list[float], zero_points: list[int], axis: int, scalar_type: Any
) -> Quantizer:
    return PerChannelAffineQuantizer(np.array(scales), np.array(zero_points), axis, scalar_type)


def test_repr_in_full() -> None:
    assert (
        repr(QUANTIZERS[1])
        == "PerTensorAffineQuantizer(scale=0.1, zero_point=10, scalar_type=quint8)"
    )
    many = PerChannelAffineQuantizer(np.full(1000, 0.5), np.arange(1000) % 100, -1, "qint8")
    assert repr(many) == (
        "PerChannelAffineQuantizer(scales=[0.5, 0.5, 0.5, ..., 0.5, 0.5, 0.5], zero_points=[0, 1, 2, ..., 97, 98, 99], "
        "axis=-1, scalar_type=qint8)"
    )


def test_the_base_is_abstract() -> None:
    with pytest.raises(TypeError, match="abstract"):
        Quantizer()  # type: ignore[abstract]


def test_the_makers_make_them() -> None:
    made = npu_quant.make_per_tensor_affine_quantizer(0.1, 10, "qint8")
    assert made == QUANTIZERS[0]
    channels = npu_quant.make_per_channel_affine_quantizer(
        np.array([0.1]), np.array([10]), 0, "qint8"
    )
    assert channels == QUANTIZERS[4]


@settings(max_examples=60, deadline=None)
@given(
    st.integers(0, 2**32 - 1), st.integers(1, 40), st.integers(1, 40), st.sampled_from(list(TYPES))
)
def test_channels_are_apart(seed: int, rows: int, columns: int, name: str) -> None:
    """A channel's codes are those of its own quantizer, and moving channels moves codes."""
    rng = np.random.default_rng(seed)
    scales, zero_points = rng.uniform(-2, 2, rows), rng.integers(0, 128, rows)
    x = np.asarray(rng.standard_normal((rows, columns)) * 50).astype(np.float32)
    q = PerChannelAffineQuantizer(scales, zero_points, 0, name).quantize(x)
    for i in range(rows):
        one = PerTensorAffineQuantizer(scales[i], zero_points[i], name)
        assert_same_bits((one.quantize(x[i]),), (q[i],))
    order = rng.permutation(rows)
    moved = PerChannelAffineQuantizer(scales[order], zero_points[order], 0, name)
    assert_same_bits((moved.quantize(x[order]),), (q[order],))
