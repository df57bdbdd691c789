"""The C functions give the bytes of the Python operators, and of the formula where these stop short."""

from __future__ import annotations

import itertools
from collections.abc import Callable

import ml_dtypes
import numpy as np
import pytest
from aclnn_calls import ACL_DTYPES, INT8, call
from witnesses import (
    Array,
    assert_same_bits,
    assert_same_but_nan,
    normal,
    on_steps,
    with_specials,
)

import npu_quant

BFLOAT16 = np.dtype(ml_dtypes.bfloat16)
FLOATS = [np.dtype(np.float16), BFLOAT16, np.dtype(np.float32)]
SHAPES = [(1, 1), (5, 17), (3, 64), (2, 3, 129), (7, 200), (1, 1000), (0, 4), (3, 0)]


def tokens(rng: np.random.Generator, shape: tuple[int, ...], dtype: np.dtype) -> Array:
    """Return rows of values, some out of the ordinary."""
    x = normal(rng, shape, dtype)
    return with_specials(rng, x) if x.size > 8 else x


def positive(rng: np.random.Generator, n: int, dtype: np.dtype) -> Array:
    return np.exp(rng.uniform(-3, 3, n)).astype(dtype)


def garbage(shape: tuple[int, ...], dtype: object) -> Array:
    """Return memory for a result, of which every byte is to be written."""
    return np.full(shape, 85, np.dtype(dtype))


def dynamic_quant(version: int, x: Array, smooth: Array | None) -> tuple[Array, Array]:
    y, scale = garbage(x.shape, np.int8), garbage(x.shape[:-1], np.float32)
    call(*dynamic_quant_arguments(version, x, smooth, y, scale))
    return y, scale


def dynamic_quant_arguments(
    version: int, x: Array, smooth: Array | None, y: Array, scale: Array
) -> list[object]:
    modes = [[], [None, INT8], [None, INT8, True, b"pertoken"], [None, INT8, True, b"pertoken", 0]]
    name = "aclnnDynamicQuant" + ("" if version == 1 else f"V{version}")
    offset = [] if version == 1 else [None]
    return [name, x, smooth, *modes[version - 1], y, scale, *offset]


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("version", [1, 2, 3, 4])
def test_dynamic_quant(
    version: int, shape: tuple[int, ...], dtype: np.dtype, rng: np.random.Generator
) -> None:
    x, smooth = tokens(rng, shape, dtype), positive(rng, shape[-1], dtype)
    assert_same_bits(dynamic_quant(version, x, None), npu_quant.npu_dynamic_quant(x))
    expected = npu_quant.npu_dynamic_quant(x, smooth_scales=smooth)
    assert_same_bits(dynamic_quant(version, x, smooth), expected)


@pytest.mark.parametrize("shape", [*SHAPES, (0, 2, 300), (2, 0, 5)])
@pytest.mark.parametrize("min_scale", [0.0, 0.5, 1e-3, 1e-300])
def test_dynamic_block_quant(
    min_scale: float, shape: tuple[int, ...], dtype: np.dtype, rng: np.random.Generator
) -> None:
    x = tokens(rng, shape, dtype)
    expected = npu_quant.npu_dynamic_block_quant(x, min_scale=min_scale)
    for version, maximum in (("", []), ("V2", [0.0])):
        y, scale = (garbage(e.shape, e.dtype) for e in expected)
        arguments = (x, min_scale, b"rint", INT8, 1, 128, *maximum, y, scale)
        call("aclnnDynamicBlockQuant" + version, *arguments)
        assert_same_bits((y, scale), expected)


# Per case: x's shape, how many of its axes are gamma's, scales, zero points.
NORMS = [
    ((4, 100), 1, np.float32, np.int32),
    ((1, 1), 1, None, None),
    ((3, 2, 65), 2, None, np.float32),
    ((2, 5, 64), 1, np.float32, None),
    ((129,), 1, np.float32, np.int32),
    ((0, 6), 1, np.float32, np.int32),
]


def norm_inputs(
    rng: np.random.Generator, dtype: np.dtype, case: tuple[tuple[int, ...], int, object, object]
) -> list[Array]:
    """Return x1, x2, gamma, scales1, scales2, zero_points1, zero_points2, beta."""
    shape, axes, *others = case
    scales_dtype, zero_dtype = (np.dtype(d) if d is not None else dtype for d in others)
    weights = shape[-axes:]
    x1, x2 = tokens(rng, shape, dtype), normal(rng, shape, dtype)
    gamma, beta = (rng.standard_normal(weights).astype(dtype) for _ in range(2))
    scales = [(positive(rng, shape[-1], scales_dtype) / 100).astype(scales_dtype) for _ in range(2)]
    zeros = [rng.integers(-50, 50, weights).astype(zero_dtype) for _ in range(2)]
    return [x1, x2, gamma, *scales, *zeros, beta]


@pytest.mark.parametrize("div_mode", [True, False])
@pytest.mark.parametrize("case", NORMS, ids=str)
def test_add_rms_norm_quant(
    case: tuple[tuple[int, ...], int, object, object],
    div_mode: bool,
    dtype: np.dtype,
    rng: np.random.Generator,
) -> None:
    x1, x2, gamma, scales1, scales2, zeros1, zeros2, beta = norm_inputs(rng, dtype, case)
    for second, zeros, bias in itertools.product((None, scales2), (None, zeros1), (None, beta)):
        expected = npu_quant.npu_add_rms_norm_quant(
            *(x1, x2, gamma, scales1, zeros, bias, second, zeros2),
            epsilon=1e-5,
            div_mode=div_mode,
        )
        inputs = (x1, x2, gamma, scales1, second, zeros, zeros2)
        for version in (1, 2) if bias is None else (2,):
            outputs = [garbage(e.shape, e.dtype) for e in expected]
            name, more = ("", ()) if version == 1 else ("V2", (bias,))
            norm = () if version == 1 else (None,)
            attributes = (-1, 1e-5, div_mode)
            call("aclnnAddRmsNormQuant" + name, *inputs, *more, *attributes, *outputs, *norm)
            assert_same_but_nan(tuple(outputs), expected)


def sum64(v: Array) -> Array:
    """Add the last axis in 64 lanes, then the lanes in halves."""
    lanes = np.zeros((*v.shape[:-1], 64), np.float32)
    for begin in range(0, v.shape[-1], 64):
        part = v[..., begin : begin + 64]
        lanes[..., : part.shape[-1]] += part
    for h in (32, 16, 8, 4, 2, 1):
        lanes = lanes[..., :h] + lanes[..., h : 2 * h]
    return lanes


@pytest.mark.parametrize("case", NORMS, ids=str)
def test_the_norm_itself(
    case: tuple[tuple[int, ...], int, object, object], dtype: np.dtype, rng: np.random.Generator
) -> None:
    x1, x2, gamma, scales1, _, _, _, beta = norm_inputs(rng, dtype, case)
    lead = x1.ndim - gamma.ndim
    with np.errstate(all="ignore"):
        s = x1.astype(np.float32) + x2.astype(np.float32)
        rows = s.reshape(*s.shape[:lead], -1) if s.size > 0 else s
        mean = sum64(rows * rows) / np.float32(max(gamma.size, 1))
        rstd = np.float32(1) / np.sqrt(mean + np.float32(1e-6))
        t = (rows * rstd).reshape(s.shape) * gamma.astype(np.float32)
        norms = {False: t.astype(dtype), True: (t + beta.astype(np.float32)).astype(dtype)}
    for with_beta, expected in norms.items():
        outputs = [garbage(x1.shape, d) for d in (np.int8, np.int8, dtype)]
        inputs = (x1, x2, gamma, scales1, None, None, None, beta if with_beta else None)
        for x_out in (None, garbage(x1.shape, dtype)):
            arguments = (*inputs, -1, 1e-6, True, *outputs[:2], x_out, outputs[2])
            call("aclnnAddRmsNormQuantV2", *arguments)
            assert_same_but_nan((outputs[2],), (expected,))


def fake_quant(
    self: Array, scale: Array, zero_point: Array, quant_range: tuple[int, int], dtype: np.dtype
) -> tuple[Array, Array]:
    """Compute with float32's arithmetic; round once to dtype."""
    with np.errstate(all="ignore"):
        s, zero = scale.astype(np.float32), zero_point.astype(np.float32)
        q = zero + np.rint(self.astype(np.float32) * (np.float32(1) / s))
        low, high = map(np.float32, quant_range)
        c = np.where(np.isnan(q), low, np.clip(q, low, high))
        return np.asarray((c - zero) * s).astype(dtype), np.asarray((low <= q) & (q <= high))


@pytest.mark.parametrize("shape", [(), (1,), (0, 3), (5, 17), (2, 3, 129), (1000,)])
@pytest.mark.parametrize("quant_range", [(-128, 127), (0, 255), (-8, 7)])
def test_fake_quant_per_tensor(
    shape: tuple[int, ...],
    quant_range: tuple[int, int],
    dtype: np.dtype,
    rng: np.random.Generator,
) -> None:
    self = (
        on_steps(rng, shape or (1,), dtype).reshape(shape)
        if 0 not in shape
        else np.zeros(shape, dtype)
    )
    for scale, zero, enabled in itertools.product((0.1, 0.25, 3.0), (0, 7, -200), (0.0, 0.9, 1.0)):
        scales, zeros = np.array([scale], np.float32), np.array(zero, np.int32)
        expected = npu_quant._fake_quantize_per_tensor_affine_cachemask_tensor_qparams(
            self, scales, zeros, np.array([enabled], np.float32), *quant_range
        )
        out, mask = garbage(shape, dtype), np.zeros(shape, np.bool_)
        arguments = (self, scales, zeros, enabled, *quant_range, out, mask)
        call("aclnnFakeQuantPerTensorAffineCachemask", *arguments)
        assert_same_but_nan((out, mask), expected)


@pytest.mark.parametrize(
    ("shape", "axis"),
    [((5, 17), 1), ((5, 17), -2), ((2, 3, 129), 1), ((9,), 0), ((0, 3), 1), ((1, 1), 0)],
)
def test_fake_quant_per_channel(
    shape: tuple[int, ...], axis: int, dtype: np.dtype, rng: np.random.Generator
) -> None:
    self = on_steps(rng, shape, dtype) if 0 not in shape else np.zeros(shape, dtype)
    scale = positive(rng, shape[axis], np.dtype(np.float32))
    zero_point = rng.integers(-100, 100, shape[axis]).astype(np.int32)
    expected = npu_quant.fake_quantize_per_channel_affine_cachemask(
        self, scale, zero_point, axis, -128, 127
    )
    out, mask = garbage(shape, dtype), np.zeros(shape, np.bool_)
    arguments = (self, scale, zero_point, axis, -128, 127, out, mask)
    call("aclnnFakeQuantPerChannelAffineCachemask", *arguments)
    assert_same_but_nan((out, mask), expected)


@pytest.mark.parametrize("mix", list(itertools.product(FLOATS, FLOATS, FLOATS)), ids=str)
def test_fake_quant_of_mixed_dtypes(
    mix: tuple[np.dtype, np.dtype, np.dtype], rng: np.random.Generator
) -> None:
    self = on_steps(rng, (6, 33), mix[0])
    scale, zero = positive(rng, 33, mix[1]), rng.integers(-100, 100, 33).astype(np.int32)
    out, mask = garbage(self.shape, mix[2]), np.zeros(self.shape, np.bool_)
    call("aclnnFakeQuantPerChannelAffineCachemask", self, scale, zero, 1, -128, 127, out, mask)
    expected = fake_quant(self, scale, zero, (-128, 127), mix[2])
    assert_same_but_nan((out, mask), expected)
    one, first = scale[:1], zero[:1]
    call("aclnnFakeQuantPerTensorAffineCachemask", self, one, first, 1.0, -128, 127, out, mask)
    assert_same_but_nan((out, mask), fake_quant(self, one, first, (-128, 127), mix[2]))
    call("aclnnFakeQuantPerTensorAffineCachemask", self, one, first, 0.0, -128, 127, out, mask)
    with np.errstate(all="ignore"):
        assert_same_but_nan((out, mask), (self.astype(mix[2]), np.ones(self.shape, np.bool_)))


ROUNDED: dict[str, Callable[[Array], Array]] = {
    "round": np.rint,
    "floor": np.floor,
    "ceil": np.ceil,
    "trunc": np.trunc,
}


def ascend_quant(
    x: Array, scale: Array, offset: Array | None, sqrt_mode: bool, round_mode: str
) -> Array:
    with np.errstate(all="ignore"):
        v = x.astype(np.float32) * scale.astype(np.float32)
        v = v * scale.astype(np.float32) if sqrt_mode else v
        v = v if offset is None else v + offset.astype(np.float32)
        v = ROUNDED[round_mode](v)
        return np.where(np.isnan(v), 0, np.clip(v, -128, 127)).astype(np.int8)


# Dtypes of x and of its scale and offset.
PAIRS = [(d, d) for d in FLOATS] + [(FLOATS[2], d) for d in FLOATS[:2]]


def quantizer_inputs(
    rng: np.random.Generator, shape: tuple[int, ...], n: int, pair: tuple[np.dtype, np.dtype]
) -> tuple[Array, Array, Array]:
    """Return x, scale and offset, whose products and sums are often ties, x as long as n last."""
    scale = np.exp2(rng.integers(-2, 3, n)).astype(pair[1])
    scale[rng.random(n) < 0.3] *= pair[1].type(-0.7)
    x = on_steps(rng, shape, pair[0], 1) if 0 not in shape else np.zeros(shape, pair[0])
    return x, scale, (rng.integers(-20, 20, n) / 2).astype(pair[1])


@pytest.mark.parametrize("shape", [(1,), (5, 17), (2, 3, 129), (0, 3), (3, 0), (7, 200)])
@pytest.mark.parametrize("pair", PAIRS, ids=str)
def test_ascend_quant(
    pair: tuple[np.dtype, np.dtype], shape: tuple[int, ...], rng: np.random.Generator
) -> None:
    for n, sqrt_mode, mode in itertools.product((1, shape[-1]), (False, True), ROUNDED):
        x, scale, offsets = quantizer_inputs(rng, shape, n, pair)
        for offset in (None, offsets):
            expected = ascend_quant(x, scale, offset, sqrt_mode, mode)
            rule = (x, scale, offset, sqrt_mode, mode.encode(), INT8)
            for name, axis in (("aclnnAscendQuant", ()), ("aclnnAscendQuantV3", (-1,))):
                y = garbage(shape, np.int8)
                call(name, *rule, *axis, y)
                assert_same_bits((y,), (expected,))
            if not sqrt_mode and mode == "round":
                python = npu_quant.npu_quantize(x, scale, offset, np.int8, -1, False)
                assert_same_bits((python,), (expected,))


@pytest.mark.parametrize("pair", PAIRS, ids=str)
def test_ascend_quant_of_rows(pair: tuple[np.dtype, np.dtype], rng: np.random.Generator) -> None:
    shape = (2, 5, 33)
    x, scale, offset = quantizer_inputs(rng, shape, 5, pair)
    tall = (scale.reshape(1, 5, 1), offset.reshape(1, 5, 1))
    for (s, o), axis, mode in itertools.product([(scale, offset), tall], (1, -2), ROUNDED):
        y = garbage(shape, np.int8)
        call("aclnnAscendQuantV3", x, s, o, False, mode.encode(), INT8, axis, y)
        assert_same_bits((y,), (ascend_quant(x, *tall, False, mode),))
    python = npu_quant.npu_quantize(x, *tall, np.int8, -2, False)
    assert_same_bits((python,), (ascend_quant(x, *tall, False, "round"),))


@pytest.mark.parametrize("dst", [np.dtype(np.float16), BFLOAT16], ids=str)
@pytest.mark.parametrize("scale_dtype", [np.dtype(np.float32), BFLOAT16], ids=str)
@pytest.mark.parametrize("shape", [(1,), (5, 17), (2, 3, 129), (0, 3), (7, 200)])
def test_ascend_anti_quant(
    shape: tuple[int, ...], scale_dtype: np.dtype, dst: np.dtype, rng: np.random.Generator
) -> None:
    x = rng.integers(-128, 128, shape).astype(np.int8)
    lengths = [(1,), (shape[-1],), (*[1] * (len(shape) - 1), shape[-1])]
    lengths += [(*[1] * (len(shape) - 2), shape[-2], 1)] if len(shape) > 1 else []
    for scale_shape, sqrt_mode in itertools.product(lengths, (False, True)):
        if 0 in scale_shape:
            continue
        scale = np.exp(rng.uniform(-8, 8, scale_shape)).astype(scale_dtype)
        offsets = (rng.integers(-300, 300, scale_shape) / 8).astype(scale_dtype)
        for offset in (None, offsets):
            y = garbage(shape, dst)
            call("aclnnAscendAntiQuant", x, scale, offset, ACL_DTYPES[dst], sqrt_mode, y)
            assert_same_bits((y,), (anti_quant(x, scale, offset, sqrt_mode, dst),))
            if not sqrt_mode:
                python = npu_quant.npu_anti_quant(x, scale, offset=offset, dst_dtype=dst)
                assert_same_bits((y,), (python,))


def anti_quant(
    x: Array, scale: Array, offset: Array | None, sqrt_mode: bool, dst: np.dtype
) -> Array:
    with np.errstate(all="ignore"):
        v = x.astype(np.float32)
        v = v if offset is None else v + offset.astype(np.float32)
        v = v * scale.astype(np.float32)
        return (v * scale.astype(np.float32) if sqrt_mode else v).astype(dst)
