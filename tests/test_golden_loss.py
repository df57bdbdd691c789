"""How much a conversion loses: in all, and block by block."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest

import npu_quant
from npu_quant import ParamError
from npu_quant.golden import loss

F32 = np.float32


def db(actual: np.ndarray, golden: np.ndarray) -> float:
    a, g = actual.astype(np.float64), golden.astype(np.float64)
    return float(20 * np.log10(np.linalg.norm(g) / np.linalg.norm(g - a)))


def test_all_and_each_block_with_ends_that_are_not_full(rng: np.random.Generator) -> None:
    golden = rng.standard_normal((3, 70, 50)).astype(F32)
    actual = golden.astype(np.float16)
    found = loss(actual, golden, block=(32, 16))
    assert found.blocks.shape == (3, 3, 4)
    assert found.sqnr_db == pytest.approx(db(actual, golden))
    for (i, j, k), value in np.ndenumerate(found.blocks):
        place = i, slice(32 * j, 32 * j + 32), slice(16 * k, 16 * k + 16)
        assert value == pytest.approx(db(actual[place], golden[place]))
    worst = found.worst(36)
    assert [value for _, value in worst] == sorted(found.blocks.reshape(-1))
    assert worst[0][1] == found.blocks[worst[0][0]]


def test_blocks_out_of_the_ordinary() -> None:
    golden = np.array([[0, 0, 1, 1, 0, 0, 3, np.inf]], F32)
    actual = np.array([[0, 0, 1, 1, 1, 0, 3, np.inf]], F32)
    found = loss(actual, golden, block=(2,))
    assert found.blocks[0, :3].tolist() == [np.inf, np.inf, -np.inf]
    assert np.isnan(found.blocks[0, 3])
    assert {place for place, _ in found.worst(2)} == {(0, 2), (0, 3)}
    assert "2 of 4 blocks of 2 lose nothing" in str(found)


def test_block_fp8_to_mxfp8_loses_nothing_where_scales_are_powers_of_two(
    rng: np.random.Generator,
) -> None:
    codes = rng.choice(np.array([-448, -1, 0.5, 3, 30, 256, 448]), (256, 256)).astype(
        ml_dtypes.float8_e4m3fn
    )
    for scale, is_lossless in ((2.0**-9, True), (0.0021, False)):
        w = codes.astype(F32) * F32(scale)
        y, mxscale = npu_quant.npu_dynamic_mx_quant(w, dst_type="float8_e4m3fn", scale_alg=1)
        back = npu_quant.npu_anti_mx_quant(y, mxscale, dst_type="float32")
        found = loss(back, w, block=(128, 128))
        assert bool(np.all(found.blocks == np.inf)) == is_lossless
        assert (found.sqnr_db == np.inf) == is_lossless
        assert is_lossless or found.sqnr_db == pytest.approx(db(back, w))


@pytest.mark.parametrize("block", [(), (0,), (1, 2, 3)])
def test_blocks_that_do_not_fit(block: tuple[int, ...]) -> None:
    with pytest.raises(ParamError, match="loss: block is"):
        loss(np.ones((2, 2)), np.ones((2, 2)), block)


def test_without_a_block_rows_are_told(rng: np.random.Generator) -> None:
    golden = rng.standard_normal((2, 3, 40)).astype(F32)
    actual = golden.astype(np.float16).astype(F32)
    actual[1, 2] *= 2
    found = loss(actual, golden)
    assert found.block == (40,)
    for place, value in np.ndenumerate(found.blocks[..., 0]):
        assert value == pytest.approx(db(actual[place], golden[place]))
    assert found.worst(1)[0][0] == (1, 2, 0)


def test_a_number_alone() -> None:
    assert loss(np.float32(3), np.float32(4)).sqnr_db == pytest.approx(20 * np.log10(4))


def test_shapes_that_differ() -> None:
    with pytest.raises(ParamError, match=r"actual has shape \(2, 2\), golden \(2, 3\)"):
        loss(np.ones((2, 2)), np.ones((2, 3)), (1, 1))
    with pytest.raises(ParamError, match="expected one element or more"):
        loss(np.ones((0, 2)), np.ones((0, 2)), (1, 1))
