"""npu_dynamic_quant_asymmetric by hand; how far what comes back may be from what was given."""

from __future__ import annotations

import numpy as np
import pytest
from conftest import DTYPES
from hypothesis import given, settings
from hypothesis import strategies as st
from witnesses import Array, normal

from npu_quant import npu_dynamic_quant, npu_dynamic_quant_asymmetric

NAN, LEAST = 0x7FC00000, 0x2B8CBCCC  # 1e-12
MODES = ["pertoken", "pertensor", "perchannel"]


def of_group(
    values: list[float], dtype: object, mode: str = "pertoken"
) -> tuple[list[int], int, float]:
    """Return the codes of one group, the bits of its scale, and its offset."""
    x = np.array([values], dtype)
    y, scale, offset = npu_dynamic_quant_asymmetric(
        x.T if mode == "perchannel" else x, quant_mode=mode
    )
    assert scale.shape == offset.shape == (1,)
    assert not np.isnan(offset) or offset.view(np.uint32) == NAN
    return y.reshape(-1).tolist(), int(scale.view(np.uint32)[0]), float(offset[0])


@pytest.fixture(params=MODES)
def mode(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.mark.usefixtures("target")
class TestVectors:
    """Worked by hand, or stated by docs/numerics.md 2."""

    @pytest.mark.parametrize(
        ("x", "y", "scale", "offset"),
        [
            ([-1, 0, 1, 3], [-128, -64, 0, 127], 0x3C808081, 0xC2807FFE),
            ([5, 6, 7, 8], [-128, -43, 42, 127], 0x3C40C0C1, 0xC40A4000),  # -553
            ([-3, 3], [-128, 127], 0x3CC0C0C1, 0xBF000000),  # -0.5
        ],
    )
    def test_groups(
        self, dtype: np.dtype, mode: str, x: list[float], y: list[int], scale: int, offset: int
    ) -> None:
        found = of_group(x, dtype, mode)
        assert (found[0], found[1]) == (y, scale)
        assert np.float32(found[2]).view(np.uint32) == offset

    @pytest.mark.parametrize(
        ("to", "x", "y", "scale", "offset"),
        [
            ("int4", [-1, 0, 1, 3, -0.5, 2, 2.5, -0.25], "c8703ab5", 0x3E888889, 0xC087FFFE),
            # fl(1 / scale) is just below 224: the sum rounds to -0.
            ("float8_e4m3fn", [-1, 0, 1, 3], "fef6807e", 0x3B924925, 0xC3600000),
            ("float8_e4m3fn", [0, 0], "7e7e", LEAST, 0x43E00000),
            ("float8_e5m2", [0, 4, -4], "1c7bfb", 0x38924925, 0x3B800000),
            ("float8_e4m3fn", [1, -2, np.inf, -0.0], "00000000", 0x7F800000, NAN),
            ("float8_e4m3fn", [1, -np.inf, -2, 0], "7e007e7e", 0x7F800000, 0x43E00000),
            ("float8_e5m2", [np.nan, 1], "0000", NAN, NAN),
            ("hifloat8", [-32768, 32768], "ee6e", 0x3F800000, 0),
            ("hifloat8", [0, -0.0], "6e6e", LEAST, 0x47000000),
        ],
    )
    def test_formats(
        self, mode: str, to: str, x: list[float], y: str, scale: int, offset: int
    ) -> None:
        """Of float8 the sum decides the sign of a zero."""
        a = np.array([x], np.float32)
        if mode == "perchannel":
            a = a.T if to != "int4" else np.repeat(a.T, 8, 1)
        found = npu_dynamic_quant_asymmetric(a, dst_type=to, quant_mode=mode)
        codes = found.y.tobytes().hex()
        if mode == "perchannel" and to == "int4":  # 8 columns alike
            codes = "".join(codes[i] for i in (8, 0, 24, 16, 40, 32, 56, 48))
        assert codes == y
        assert set(found.scale.view(np.uint32)) == {scale}
        assert set(found.offset.view(np.uint32)) == {offset}

    def test_hifloat8_with_a_greatest_value(self) -> None:
        """4 / 30 is rounded up: 3 / scale is just below 22.5, and 1 lands next to 0, on 2^-19."""
        x = np.array([[-1, 0, 1, 3]], np.float32)
        y, scale, offset = npu_dynamic_quant_asymmetric(x, dst_type="hifloat8", dst_type_max=15)
        assert scale.view(np.uint32).tolist() == [0x3E088889]
        assert offset.view(np.uint32).tolist() == [0xC0EFFFFC]
        assert y.tobytes().hex() == "afa7042f"

    def test_columns(self) -> None:
        x = np.array([[1, 2], [-4, 0.5], [2, -0.0]], np.float16)
        y, scale, offset = npu_dynamic_quant_asymmetric(x, quant_mode="perchannel")
        assert y.tolist() == [[84, 127], [-128, -64], [127, -128]]
        assert scale.view(np.uint32).tolist() == [0x3CC0C0C1, 0x3C008081]
        assert offset[0] == 42
        assert offset.view(np.uint32)[1] == 0xC2FFFFFE

    def test_zeros(self, dtype: np.dtype, mode: str) -> None:
        assert of_group([0, 0, -0.0], dtype, mode) == ([127, 127, 127], LEAST, 127)
        assert of_group([-0.0, -0.0], dtype, mode) == ([127, 127], LEAST, 127)

    @pytest.mark.parametrize("c", [1, -1, 0.3, 65504, -3e-5])
    def test_a_constant_comes_back(self, dtype: np.dtype, mode: str, c: float) -> None:
        c = float(np.array(c, dtype))
        y, scale, offset = of_group([c, c], dtype, mode)
        assert scale == LEAST
        back = (np.float64(y[0]) - offset) * np.float64(1e-12)
        assert abs(back - c) <= 2**-22 * abs(c) + 1e-14

    def test_one(self, dtype: np.dtype) -> None:
        y, scale, offset = of_group([1, 1], dtype)
        assert (y, scale, np.float32(offset).view(np.uint32)) == ([0, 0], LEAST, 0xD368D4A5)

    @pytest.mark.parametrize("c", [3.5e26, -3.5e26])
    def test_a_great_constant(self, mode: str, c: float) -> None:
        assert of_group([c, c], np.float32, mode) == ([0, 0], LEAST, -np.inf if c > 0 else np.inf)

    def test_a_narrow_group(self, mode: str) -> None:
        """In steps of 1e-12: 1e-11 is 10 of them above 0."""
        x = np.array([0, 1e-11], np.float32)
        y, scale, offset = of_group(x.tolist(), np.float32, mode)
        assert (y, scale) == ([117, 127], LEAST)
        assert offset == np.float32(127) - x[1] / np.float32(1e-12)

    @pytest.mark.parametrize(
        "x", [[1, np.nan, 2], [-np.nan, np.inf, -np.inf], [np.inf, np.inf], [-np.inf, -np.inf]]
    )
    def test_nan_and_infinities_of_one_sign(
        self, dtype: np.dtype, mode: str, x: list[float]
    ) -> None:
        y, scale, offset = of_group(x, dtype, mode)
        assert (y, scale) == ([0] * len(x), NAN)
        assert np.isnan(offset)

    @pytest.mark.parametrize("x", [[1, -2, np.inf, -0.0], [np.inf, -np.inf], [np.inf, 0]])
    def test_inf_and_less(self, dtype: np.dtype, mode: str, x: list[float]) -> None:
        y, scale, offset = of_group(x, dtype, mode)
        assert (y, scale) == ([0] * len(x), 0x7F800000)
        assert np.isnan(offset)

    def test_minus_inf_and_finite_values(self, dtype: np.dtype, mode: str) -> None:
        x = [1, -np.inf, -2, 0]
        assert of_group(x, dtype, mode) == ([127, 0, 127, 127], 0x7F800000, 127)

    def test_a_range_beyond_float32(self, mode: str) -> None:
        assert of_group([-3e38, 3e38], np.float32, mode) == ([127, 127], 0x7F800000, 127)

    def test_zero_times_inf_with_smooth_scales(self, dtype: np.dtype) -> None:
        x, smooth = np.array([[0, 1], [0, 0]], dtype), np.array([np.inf, 1], dtype)
        y, scale, offset = npu_dynamic_quant_asymmetric(x, smooth_scales=smooth)
        assert scale.view(np.uint32).tolist() == offset.view(np.uint32).tolist() == [NAN] * 2
        assert not y.any()

    def test_experts(self) -> None:
        x = np.array([[-1, 0, 1, 3]] * 3, np.float16)
        smooth = np.array([[1] * 4, [np.nan] * 4, [-1] * 4], np.float16)
        ends = np.array([1, 1, 3], np.int32)
        y, scale, _ = npu_dynamic_quant_asymmetric(x, smooth_scales=smooth, group_index=ends)
        assert scale.view(np.uint32).tolist() == [0x3C808081] * 3
        assert y.tolist() == [[-128, -64, 0, 127], *[[127, 63, 0, -128]] * 2]  # offset 63.25

    def test_empty(self, dtype: np.dtype) -> None:
        for shape in [(2, 3, 0), (0, 5), (4, 0, 2)]:
            for mode in MODES:
                x = np.zeros(shape, dtype)
                y, scale, offset = npu_dynamic_quant_asymmetric(x, quant_mode=mode)
                assert scale.shape == npu_dynamic_quant(x, quant_mode=mode).scale.shape
                assert (y.shape, set(scale.view(np.uint32).flat)) in [
                    (shape, {LEAST}),
                    (shape, set()),
                ]
                assert set(offset.flat) in ({127.0}, set())


def back(y: Array, scale: Array, offset: Array) -> Array:
    """Return the numbers that codes of rows stand for."""
    return (y - offset[:, None].astype(np.float64)) * scale[:, None].astype(np.float64)


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 2**32 - 1), st.sampled_from(DTYPES), st.integers(1, 6), st.integers(1, 300))
def test_properties(seed: int, dtype: np.dtype, rows: int, n: int) -> None:
    """The error is at most half a step, and the same in steps of another sign."""
    rng = np.random.default_rng(seed)
    x = (normal(rng, (rows, n), dtype).astype(np.float32) + rng.integers(-3, 4)).astype(dtype)
    y, scale, offset = npu_dynamic_quant_asymmetric(x)
    v = x.astype(np.float64)
    # Half a step, and of float32's roundings: of the scale 2, which count 255 / 2^24 each, and 4 of
    # the quotients and sums, whose magnitudes are at most that of hi / scale + 255.
    steps = np.abs(v).max(axis=1) / scale + 255
    bound = scale.astype(np.float64) * (0.5 + 6 * steps * 2.0**-24) + 1e-14
    assert (np.abs(back(y, scale, offset) - v) <= bound[:, None]).all()
    assert (y.max(axis=1) == 127)[x.max(axis=1) > x.min(axis=1)].all()
    assert scale.tobytes() == npu_dynamic_quant_asymmetric(-x).scale.tobytes()
