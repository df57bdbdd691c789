"""npu_moe_init_routing_v2 by hand, by a loop over tokens, and beside npu_dynamic_quant."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest
from cases.case import check
from cases.moe_init_routing_v2 import BFLOAT16, CASES, FLOAT16, RANGES, arguments
from witnesses import assert_same_bits

from npu_quant import npu_dynamic_quant, npu_group_quant, npu_moe_init_routing_v2
from npu_quant.ops.moe_init_routing_v2 import reference

F16, F32 = np.float16, np.float32
NAN, INF = np.nan, np.inf
X = np.array([[1, -2], [4, 3]], F16)
IDX = np.array([[1, 0], [0, 2]], np.int32)
COUNTED: dict[str, Any] = {"expert_tokens_num_type": 1, "expert_tokens_num_flag": True}


def route(x: Any = X, idx: Any = IDX, **more: Any) -> tuple[Any, ...]:
    """Return the results as lists, of three experts that are counted."""
    given = {"expert_num": 3} | COUNTED | more
    result = npu_moe_init_routing_v2(np.asarray(x), np.asarray(idx, np.int32), **given)
    return tuple(array.tolist() for array in result)


def one(row: list[float], **more: Any) -> tuple[Any, ...]:
    """Return the codes and the scale of a row that goes to one expert."""
    y, _, _, scale = route(np.array([row], F16), [[0]], **more)
    return y[0], scale[0]


@pytest.mark.usefixtures("target")
class TestVectors:
    """Worked by hand, or the vectors of the documents."""

    def test_codes(self) -> None:
        y, places, tokens, scale = route(quant_mode=1)
        assert y == [[64, -127], [127, 95], [64, -127], [127, 95]]
        assert (places, tokens) == ([2, 0, 1, 3], [2, 1, 1])
        a, b = float(F32(2) / F32(127)), float(F32(4) / F32(127))
        assert scale == [a, b, a, b]

    def test_a_range(self) -> None:
        y, places, tokens, scale = route(active_expert_range=[1, 3])
        assert y == [[1, -2], [4, 3], [0, 0], [0, 0]]
        assert (places, tokens, scale) == ([0, -1, -1, 1], [1, 1], [0] * 4)

    def test_where_sorted_rows_came_from(self) -> None:
        """9 and 4 come from the end on, -1 and 0 lie below the start."""
        idx = [[9, 2, -1], [0, 1, 4]]
        places = route(idx=idx, active_expert_range=[1, 3], row_idx_type=1)[1]
        assert places == [4, 1, 5, 0, 2, 3]

    def test_at_most_so_many_slots(self) -> None:
        """Entries beyond them have their place in the order all the same."""
        y, places, tokens, scale = route(active_num=3)
        assert (y, places) == ([[1, -2], [4, 3], [1, -2]], [2, 0, 1, 3])
        assert (tokens, len(scale)) == ([2, 1, 1], 3)
        assert len(route(active_num=9)[0]) == len(route(active_num=0)[0]) == 4

    def test_slots_of_each_expert(self) -> None:
        """Expert 0 has two rows, and place for one; what is dropped is counted."""
        y, places, tokens, _ = route(drop_pad_mode=1, expert_capacity=1)
        assert y == [[[1, -2]], [[1, -2]], [[4, 3]]]
        assert (places, tokens) == ([1, 0, -1, 2], [2, 1, 1])
        y, places, _, _ = route(drop_pad_mode=1, expert_capacity=2)
        assert y == [[[1, -2], [4, 3]], [[1, -2], [0, 0]], [[4, 3], [0, 0]]]
        assert places == [2, 0, 1, 4]

    def test_counts(self) -> None:
        pairs = {"expert_tokens_num_type": 2}
        assert route(expert_tokens_num_type=0)[2] == [2, 3, 4]
        assert route(**pairs)[2] == [[0, 2], [1, 1], [2, 1]]
        assert route(**pairs, active_expert_range=[1, 3])[2] == [[1, 1], [2, 1], [0, 0]]
        assert route(idx=[[2, 0], [0, 2]], **pairs)[2] == [[0, 2], [2, 2], [0, 0]]
        drops = {"drop_pad_mode": 1, "expert_capacity": 1}
        assert route(expert_tokens_num_type=0, **drops)[2] == [2, 1, 1]
        assert route(expert_tokens_num_flag=False)[2] == [0, 0, 0]

    def test_scales_go_with_their_rows(self) -> None:
        scale = F32([0.5, -NAN])
        result = npu_moe_init_routing_v2(X, IDX, scale=scale, expert_num=3, active_num=3)
        assert result.expanded_scale.view(np.uint32).tolist() == [
            0x3F000000,
            0xFFC00000,
            0x3F000000,
        ]
        x, scale = np.ones((2, 4), ml_dtypes.float8_e5m2), np.arange(8).astype(np.uint8)
        some = {"scale": scale.reshape(2, 2, 2), "active_expert_range": [0, 1]}
        assert route(x, **some)[3] == [
            [[0, 1], [2, 3]],
            [[4, 5], [6, 7]],
            [[0, 0]] * 2,
            [[0, 0]] * 2,
        ]

    def test_factors_of_experts(self) -> None:
        """Row 0 is 10, -2 for expert 1; row 1 is 4, 30 for expert 2."""
        factors = F32([[1, 1], [10, 1], [1, 10]])
        y, _, _, scale = route(quant_mode=1, scale=factors)
        assert y == [[64, -127], [127, 95], [127, -25], [17, 127]]
        assert scale[2:] == [float(F32(10) / F32(127)), float(F32(30) / F32(127))]
        y = route(quant_mode=1, scale=factors[1:], active_expert_range=[1, 3])[0]
        assert y == [[127, -25], [17, 127], [0, 0], [0, 0]]
        assert route(quant_mode=1, scale=factors[1:2])[0][:2] == [[127, -25], [127, 10]]

    def test_by_a_scale_and_an_offset(self) -> None:
        """.25 * 2 + 1 is 1.5, a tie; -2 * 2 + 1."""
        more: dict[str, Any] = {"quant_mode": 0, "scale": F32([2]), "offset": F32([1])}
        assert one([0.25, -2, 999, -999], **more) == ([2, -3, 127, -128], 0)
        assert one([NAN, INF, -INF, 0.75], **more) == ([0, 127, -128, 2], 0)

    def test_int4(self) -> None:
        """7 and -1, then 0 and 3 in a byte each; 14 halves them."""
        assert one([7, -1, 0, 3], quant_mode=13) == ([0xF7, 0x30], 1)
        assert one([14, -2, 0, 6], quant_mode=13, x_dtype="int4") == ([0xF7, 0x30], 2)

    def test_row_all_zero(self) -> None:
        assert one([0, -0.0], quant_mode=1) == ([0, 0], 0)

    def test_nan(self) -> None:
        result = npu_moe_init_routing_v2(
            F16([[-NAN, 1]]), IDX[:1, :1] * 0, expert_num=1, quant_mode=1
        )
        assert result.expanded_x.tolist() == [[0, 0]]
        assert result.expanded_scale.view(np.uint32).tolist() == [0x7FC00000]

    def test_infinity(self) -> None:
        assert one([-INF, 1], quant_mode=1) == ([0, 0], INF)

    def test_an_expert_twice(self) -> None:
        y, places, tokens, _ = route(idx=[[1, 1], [0, 1]])
        assert (y, places) == ([[4, 3], [1, -2], [1, -2], [4, 3]], [1, 2, 0, 3])
        assert tokens == [1, 3, 0]

    def test_no_tokens(self) -> None:
        drops: dict[str, Any] = {"drop_pad_mode": 1, "expert_capacity": 1}
        assert route(X[:0], IDX[:0]) == ([], [], [0, 0, 0], [])
        assert route(X[:0], IDX[:0], **drops) == ([[[0, 0]]] * 3, [], [0, 0, 0], [0, 0, 0])
        assert route(idx=IDX + 7, quant_mode=1)[0] == [[0, 0]] * 4
        assert route(idx=IDX[:, :0])[:3] == ([], [], [0, 0, 0])

    def test_no_columns(self) -> None:
        y, places, _, scale = route(X[:, :0], quant_mode=1)
        assert (y, places, scale) == ([[]] * 4, [2, 0, 1, 3], [0] * 4)


@pytest.mark.usefixtures("target")
@pytest.mark.parametrize("each", [False, True])
def test_codes_of_npu_dynamic_quant(rng: np.random.Generator, each: bool) -> None:
    """Of the rows where they are sent, with the factors of their groups."""
    a = arguments(rng, (40, 130), BFLOAT16, mode=1, form="each" if each else "one")
    plain = npu_moe_init_routing_v2(**a | {"quant_mode": -1, "scale": None})
    counts = plain.expert_tokens_count_or_cumsum
    rows, factors = plain.expanded_x[: counts.sum()], a["scale"].astype(BFLOAT16)
    found = npu_moe_init_routing_v2(**a | {"scale": factors.astype(F32)})
    ends = (np.cumsum(counts) if each else counts.sum(keepdims=True)).astype(np.int32)
    expected = npu_dynamic_quant(rows, smooth_scales=factors.astype(BFLOAT16), group_index=ends)
    assert_same_bits((found.expanded_x[: len(rows)], found.expanded_scale[: len(rows)]), expected)


@pytest.mark.usefixtures("target")
def test_codes_of_npu_group_quant(rng: np.random.Generator) -> None:
    a = arguments(rng, (40, 130), FLOAT16, mode=0)
    plain = npu_moe_init_routing_v2(**a | {"quant_mode": -1, "scale": None, "offset": None})
    y = npu_moe_init_routing_v2(**a).expanded_x
    n = int(plain.expert_tokens_count_or_cumsum.sum())
    scale = np.broadcast_to(a["scale"], (1, 130))
    ends = np.array([n])
    expected = npu_group_quant(plain.expanded_x[:n], scale, ends, offset=a["offset"])
    assert_same_bits((y[:n],), (expected,))


@pytest.mark.usefixtures("streamed", "threads")
@pytest.mark.parametrize("mode", [-1, 0, 1, 13])
def test_streamed_rows(rng: np.random.Generator, mode: int) -> None:
    for n in (2, 64, 130, 1000):
        for chosen in ("some", "drop"):
            check(CASES[0], arguments(rng, (20, n), FLOAT16, mode=mode, chosen=chosen))


@pytest.mark.parametrize("chosen", RANGES)
@pytest.mark.parametrize("row_idx", [0, 1])
def test_reference_against_a_loop(rng: np.random.Generator, chosen: str, row_idx: int) -> None:
    """The reference itself, against lists of the entries of each expert."""
    a = arguments(rng, (9, 4), FLOAT16, chosen=chosen, k=4, row_idx=row_idx)
    start, end = a.get("active_expert_range", (0, 7))
    flat = a["expert_idx"].ravel().tolist()
    mine = [[i for i, e in enumerate(flat) if e == expert] for expert in range(start, end)]
    others = sorted(
        (2**31 - 1 if e < start else e, i) for i, e in enumerate(flat) if not start <= e < end
    )
    order = [i for entries in mine for i in entries] + [i for _, i in others]
    place = {i: nth for nth, i in enumerate(order[: sum(map(len, mine))])}
    slots = min(a.get("active_num", 36), 36)
    if "expert_capacity" in a:
        most, slots = a["expert_capacity"], 7 * a["expert_capacity"]
        place = {
            i: e * most + n for e, entries in enumerate(mine) for n, i in enumerate(entries[:most])
        }
    found = reference(**a)
    expected = np.zeros((slots, 4), F16)
    for i, slot in place.items():
        if slot < slots:
            expected[slot] = a["x"][i // 4]
    assert found.expanded_x.reshape(-1, 4).tolist() == expected.tolist()
    assert found.expanded_row_idx.tolist() == (
        order if row_idx else [place.get(i, -1) for i in range(36)]
    )
    assert found.expert_tokens_count_or_cumsum.tolist() == [len(entries) for entries in mine]
