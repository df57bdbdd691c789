"""npu_moe_token_permute by hand, and by a loop over the indices in their order."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from cases.moe_token_permute import arguments
from hypothesis import given, settings
from hypothesis import strategies as st
from witnesses import assert_same_bits

from npu_quant import (
    npu_moe_finalize_routing,
    npu_moe_init_routing_v2,
    npu_moe_token_permute,
    npu_moe_token_unpermute,
)
from npu_quant.ops.moe_token_permute import reference

TOKENS = np.array([[1], [2]], np.float16)
INDICES = np.array([[1, 0], [0, 2]])


def permute(indices: Any = INDICES, kept: int | None = None) -> tuple[list[float], list[int]]:
    permuted, places = npu_moe_token_permute(TOKENS, np.asarray(indices), kept)
    return permuted.ravel().tolist(), places.tolist()


@pytest.mark.usefixtures("target")
class TestVectors:
    """Worked by hand, or the vectors of the documents."""

    def test_pairs(self) -> None:
        assert permute() == ([1, 2, 1, 2], [2, 0, 1, 3])

    def test_equal_indices(self) -> None:
        assert permute([[5, 5], [5, 5]]) == ([1, 1, 2, 2], [0, 1, 2, 3])

    def test_negative_indices(self) -> None:
        assert permute([[0, -1], [-7, 2**62]]) == ([2, 1, 1, 2], [2, 1, 0, 3])

    def test_bits(self) -> None:
        bits = np.array([[0x7E01, 0xFE00, 0x8000, 0x7C01]], np.uint16)
        permuted = npu_moe_token_permute(bits.view(np.float16), INDICES[:1]).permuted_tokens
        assert permuted.view(np.uint16).tolist() == bits.tolist() * 2

    def test_the_first_ones(self) -> None:
        assert permute(kept=3) == ([1, 2, 1], [2, 0, 1, 3])
        assert permute(kept=99) == permute(kept=0) == permute()

    def test_all_but_the_last_ones(self) -> None:
        assert permute(kept=-1) == permute(kept=3)
        assert permute(kept=-4) == permute(kept=-(2**62)) == ([], [2, 0, 1, 3])

    def test_one_index_for_each(self) -> None:
        assert permute([3, 1]) == ([2, 1], [1, 0])

    def test_no_tokens(self) -> None:
        permuted, places = npu_moe_token_permute(TOKENS[:0], INDICES[:0])
        assert (permuted.shape, places.shape) == ((0, 1), (0,))


def test_there_and_back(rng: np.random.Generator) -> None:
    """Each token is the sum of its copies by weights of 1/4 and 3/4, of which none is rounded."""
    a = arguments(rng, (30, 70), np.dtype(np.float32), k=2)
    a["tokens"] = np.rint(a["tokens"])
    permuted, places = npu_moe_token_permute(**a)
    weights = np.tile(np.float32([0.25, 0.75]), (30, 1))
    assert_same_bits((npu_moe_token_unpermute(permuted, places, weights),), (a["tokens"] + 0,))


def test_rows_of_npu_moe_init_routing_v2(rng: np.random.Generator) -> None:
    a = arguments(rng, (30, 70), np.dtype(np.float16), index=np.int32)
    a["indices"] += 3
    found = npu_moe_init_routing_v2(a["tokens"], a["indices"], expert_num=12)
    assert_same_bits(npu_moe_token_permute(**a), found[:2])


@pytest.mark.parametrize("far", [False, True])
def test_reference_against_a_loop(rng: np.random.Generator, far: bool) -> None:
    """The reference itself, by pairs that are sorted."""
    a = arguments(rng, (9, 3), np.dtype(np.float32), k=4, far=far, kept=-3)
    pairs = sorted((index, i) for i, index in enumerate(a["indices"].ravel().tolist()))
    permuted, places = reference(**a)
    assert permuted.tolist() == [a["tokens"][i // 4].tolist() for _, i in pairs[:33]]
    assert [places[i] for _, i in pairs] == list(range(36))


@settings(max_examples=60, deadline=None)
@given(
    seed=st.integers(0, 2**32 - 1),
    tokens=st.integers(0, 40),
    columns=st.integers(0, 70),
    k=st.integers(1, 5),
    experts=st.integers(1, 9),
    dtype=st.sampled_from(["float16", "bfloat16", "float32"]),
)
def test_the_operators_of_routing_agree(
    seed: int, tokens: int, columns: int, k: int, experts: int, dtype: str
) -> None:
    """Both ways there give the same rows; both ways back the same sums, and of one copy the row."""
    rng = np.random.default_rng(seed)
    x = rng.standard_normal((tokens, columns)).astype(dtype)
    indices = rng.integers(0, experts, (tokens, k)).astype(np.int32)
    permuted, places = npu_moe_token_permute(x, indices)
    routed = npu_moe_init_routing_v2(x, indices, expert_num=experts)
    assert_same_bits(routed.expanded_x, permuted)
    assert (routed.expanded_row_idx == places).all()
    probs = rng.standard_normal((tokens, k)).astype(np.float32)
    back = npu_moe_token_unpermute(permuted, places, probs)
    rows = (permuted, None, None, None, probs, places, None)
    assert_same_bits(npu_moe_finalize_routing(*rows, drop_pad_mode=2), back)
    one = np.zeros_like(probs)
    one[np.arange(tokens), rng.integers(0, k, tokens)] = 1
    assert_same_bits(npu_moe_token_unpermute(permuted, places, one), x)
