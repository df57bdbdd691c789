"""The devices with their inputs: of each format, of each operator, and two arrays alone."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np

import npu_quant
from planted import Array, Device
from planted.calls import BF16, F16, F32, activations, call, encoder, of_call

N = 1000


def parameter(count: int, seed: int = 1, dtype: Any = F16) -> Array:
    """Return factors about 1."""
    return np.exp(np.random.default_rng(seed).standard_normal(count) / 4).astype(dtype)


@cache
def dynamic(name: str, **more: Any) -> Device:
    return call("npu_dynamic_quant", input=activations(name), dst_type=name, **more)


def int8() -> Device:
    return dynamic("int8")


def int4() -> Device:
    return dynamic("int4")


def e4m3() -> Device:
    return dynamic("float8_e4m3fn")


def e5m2() -> Device:
    return dynamic("float8_e5m2")


def hif8() -> Device:
    return dynamic("hifloat8")


@cache
def smooth() -> Device:
    return call(
        "npu_dynamic_quant", input=activations(), dst_type="int8", smooth_scales=parameter(1000)
    )


@cache
def experts() -> Device:
    return call(
        "npu_dynamic_quant",
        input=activations(),
        dst_type="int8",
        smooth_scales=np.stack([parameter(1000, seed) for seed in range(4)]),
        group_index=np.array([64, 128, 192, 256], np.int32),
    )


@cache
def mxfp8() -> Device:
    return call("npu_dynamic_mx_quant", input=activations(), dst_type="float8_e4m3fn")


@cache
def mxfp4() -> Device:
    return call("npu_dynamic_mx_quant", input=activations(), dst_type="float4_e2m1fn_x2")


@cache
def mx_columns() -> Device:
    return call("npu_dynamic_mx_quant", input=activations(), dst_type="float8_e4m3fn", axis=0)


def points(low: int = -20, high: int = 20, count: int = N, dtype: Any = F16) -> Array:
    return np.random.default_rng(3).integers(low, high, count).astype(dtype)


@cache
def rms_norm_quant() -> Device:
    scale = np.array([0.02], F16)
    return call(
        "npu_rms_norm_quant", x=activations(), gamma=parameter(N), beta=parameter(N, 2) - F16(1),
        scale=scale, offset=np.array([3], np.int8),
    )  # fmt: skip


@cache
def add_norm_quant() -> Device:
    return call(
        "npu_add_rms_norm_quant", x1=activations(), x2=activations(seed=4), gamma=parameter(N),
        scales1=parameter(N, 6, F32) / F32(40), zero_points1=points(dtype=np.int32),
        scales2=parameter(N, 7, F32) / F32(30), zero_points2=points(-9, 9, dtype=np.int32),
    )  # fmt: skip


@cache
def norm_dynamic() -> Device:
    return call(
        "npu_rms_norm_dynamic_quant", x=activations(), gamma=parameter(N),
        smooth_scale=parameter(N, 2), beta=parameter(N, 3),
    )  # fmt: skip


@cache
def add_norm_dynamic() -> Device:
    return call(
        "npu_add_rms_norm_dynamic_quant", x1=activations(), x2=activations(seed=4),
        gamma=parameter(N), smooth_scale1=parameter(N, 2), smooth_scale2=parameter(N, 3),
    )  # fmt: skip


def tied(scale: Array) -> Array:
    """Return activations of which some are ties by the scales of their columns."""
    x, rng = activations(dtype=F32), np.random.default_rng(8)
    at = rng.integers(0, 256, 800), rng.integers(0, N, 800)
    x[at] = (rng.integers(1, 20, 800) + F32(0.5)) * scale[at[1]]
    return x


@cache
def quantize() -> Device:
    scale = parameter(N, 6, F32) / F32(30)
    return call(
        "npu_quantize", self=tied(scale), scales=scale, zero_points=points(dtype=np.int32),
        dtype="qint8", axis=1,
    )  # fmt: skip


@cache
def quantize_rows() -> Device:
    scale = parameter(256, 6, F32) / F32(30)
    return call(
        "npu_quantize", self=activations(dtype=F32), scales=scale,
        zero_points=points(count=256, dtype=np.int32), dtype="qint8", axis=0,
    )  # fmt: skip


@cache
def quantize_square() -> Device:
    scale = parameter(256, 6, F32) / F32(30)
    return call(
        "npu_quantize", self=activations(dtype=F32)[:, :256].copy(), scales=scale,
        zero_points=points(count=256, dtype=np.int32), dtype="qint8", axis=1,
    )  # fmt: skip


@cache
def quantize_uint8() -> Device:
    scale = parameter(N, 6, F32) / F32(30)
    return call(
        "npu_quantize", self=tied(scale), scales=scale,
        zero_points=points(100, 140, dtype=np.int32), dtype="quint8", axis=1,
    )  # fmt: skip


@cache
def quantize_saturated() -> Device:
    scale = parameter(N, 6, F32) / F32(150)
    return call(
        "npu_quantize", self=tied(scale), scales=scale, zero_points=None, dtype="qint8", axis=1
    )


@cache
def block() -> Device:
    return call(
        "npu_dynamic_block_quant", x=activations("float8_e4m3fn")[:, :N], dst_type="float8_e4m3fn"
    )


@cache
def block_tiles() -> Device:
    return call(
        "npu_dynamic_block_quant", x=activations("int8"), dst_type="int8", row_block_size=128,
        col_block_size=128,
    )  # fmt: skip


def lopsided() -> Array:
    """Return activations of which most are positive."""
    return (activations(dtype=F32) + F32(1)).astype(F16)


@cache
def asymmetric() -> Device:
    return call(
        "npu_dynamic_quant_asymmetric", input=lopsided(), dst_type="int8",
        smooth_scales=parameter(N),
    )  # fmt: skip


@cache
def mx_e5m2() -> Device:
    return call("npu_dynamic_mx_quant", input=activations(dtype=BF16), dst_type="float8_e5m2")


@cache
def mx_dual() -> Device:
    return call(
        "npu_dynamic_mx_quant_with_dual_axis", input=activations(), dst_type="float8_e4m3fn"
    )


@cache
def mx_tiles() -> Device:
    return call("npu_dynamic_block_mx_quant", input=activations(), dst_type="float8_e4m3fn")


@cache
def mx_grouped() -> Device:
    return call(
        "npu_grouped_dynamic_mx_quant", x=activations(), dst_type="float8_e4m3fn",
        group_index=np.array([40, 100, 256], np.int32),
    )  # fmt: skip


def int8_codes() -> Array:
    return np.random.default_rng(5).integers(-127, 128, (256, N)).astype(np.int8)


@cache
def anti() -> Device:
    return call(
        "npu_anti_quant", x=int8_codes(), scale=parameter(N, 2, F32) / F32(50),
        offset=points(-9, 9, dtype=F32), dst_dtype="float16",
    )  # fmt: skip


@cache
def anti_mx() -> Device:
    inputs = {"input": activations(), "dst_type": "float8_e4m3fn"}
    made = of_call("npu_dynamic_mx_quant", inputs).outputs
    return call(
        "npu_anti_mx_quant",
        x=made["y"],
        mxscale=made["mxscale"],
        dst_type="bfloat16",
        src_type="float8_e4m3fn",
    )


@cache
def fake_channel() -> Device:
    scale = parameter(N, 6, F32) / F32(30)
    return call(
        "fake_quantize_per_channel_affine", self=tied(scale), scale=scale,
        zero_point=points(dtype=np.int32), axis=1, quant_min=-128, quant_max=127,
    )  # fmt: skip


@cache
def fake_tensor() -> Device:
    return call(
        "fake_quantize_per_tensor_affine_cachemask", self=activations(dtype=F32), scale=0.03,
        zero_point=7, quant_min=-128, quant_max=127,
    )  # fmt: skip


@cache
def fake_small() -> Device:
    """Return values that are less than roundings beside codes are; none is below quant_min."""
    return call(
        "fake_quantize_per_tensor_affine", self=activations(dtype=F32) * F32(1e-6), scale=1e-7,
        zero_point=7, quant_min=-128, quant_max=127,
    )  # fmt: skip


def alone(golden: Array, actual: Array, encode: Any, v: Array | None = None) -> Device:
    v = actual if v is None else v
    return Device(None, {}, {"y": actual}, v, encode, {"y": golden})


@cache
def codes_alone(name: str) -> Device:
    """Return the codes of npu_dynamic_quant and their golden, an element for each code."""
    own = dynamic(name)
    golden = npu_quant.npu_dynamic_quant(activations(name), dst_type=name).y
    if name == "int4":
        golden = npu_quant.formats.unpack_int4(golden)
    return replace(own, op=None, golden={"y": golden}, outputs={"y": own.outputs["y"]})


def two_int8() -> Device:
    return codes_alone("int8")


def alone_e4m3() -> Device:
    return codes_alone("float8_e4m3fn")


def alone_hif8() -> Device:
    return codes_alone("hifloat8")


def alone_int4() -> Device:
    return codes_alone("int4")


def two_batches() -> Device:
    own = two_int8()
    golden, actual = (a.reshape(4, 64, N) for a in (own.golden["y"], own.outputs["y"]))
    return alone(golden, actual, own.encode)


@cache
def two_scales() -> Device:
    """Return scales, each the float below what it should be."""
    golden = npu_quant.npu_dynamic_quant(activations()).scale
    return alone(golden, np.nextafter(golden, F32(0)), lambda v: v.astype(F32))


@cache
def large() -> Device:
    """Return more than 4,096 rows and 1,024 columns: moved ones are looked for among some."""
    golden = np.random.default_rng(5).integers(-127, 128, (4200, 1100), np.int8)
    rng, actual = np.random.default_rng(8), golden.copy()
    at = rng.integers(4200, size=900), rng.integers(1100, size=900)
    actual[at] -= np.sign(actual[at])
    return alone(golden, actual, encoder("int8"))


@cache
def two_float16() -> Device:
    """Return numbers of which some are one step off."""
    golden = activations()
    at = np.random.default_rng(7).random(golden.shape) < 0.01
    return alone(
        golden, np.where(at, np.nextafter(golden, F16(9)), golden), lambda v: v.astype(F16)
    )


@cache
def two_float32() -> Device:
    rng = np.random.default_rng(7)
    golden = rng.standard_normal((256, N)).astype(F32)
    actual = np.where(rng.random(golden.shape) < 0.3, np.nextafter(golden, F32(9)), golden)
    return alone(golden, actual, lambda v: v.astype(F32))


@cache
def two_small() -> Device:
    golden = (activations(dtype=F32) * F32(2.0**-14)).astype(F16)
    at = np.random.default_rng(7).random(golden.shape) < 0.002
    return alone(
        golden, np.where(at, np.nextafter(golden, F16(9)), golden), lambda v: v.astype(F16)
    )
