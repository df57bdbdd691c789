"""What documents leave undefined is not compared, whatever is there; all else is (docs/golden.md 3).

The cases are written from the operators' documents, not from the table they are judged by.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest

import npu_quant
from npu_quant.golden import Comparison, compare, explain
from npu_quant.golden.operators.undefined import TABLE
from npu_quant.testing import GoldenRefused, assert_golden

Array = np.ndarray[Any, Any]
Case = tuple[str, dict[str, Any], dict[int, Any]]
"""An operator, its inputs, and by output which rows are undefined; True for all of it."""

BF16 = ml_dtypes.bfloat16
DEQUANT, BLOCKS, ROUTED = (
    "npu_dequant_swiglu_quant",
    "npu_swiglu_group_quant",
    "npu_moe_init_routing_v2",
)
DYNAMIC_NORM = "npu_add_rms_norm_dynamic_quant"
TOKENS, TOP, EXPERTS = 6, 2, 8


def rng(seed: int = 0) -> np.random.Generator:
    return np.random.default_rng(seed)


def after(count: int, *shape: int) -> Array:
    """Return where the rows behind so many first ones are."""
    return np.arange(np.prod(shape)).reshape(shape) >= count


def gated(
    counts: list[int] | None, mode: int, shape: tuple[int, ...] = (8, 128), **more: Any
) -> Case:
    inputs = {"x": rng(1).standard_normal(shape).astype(BF16), "quant_mode": mode} | more
    rows: Any = {}
    if counts is not None:
        inputs["group_index"] = np.array(counts)
        rows = {i: after(sum(counts), *shape[:-1]) for i in (0, 1)}
    if mode == 0:
        inputs["quant_scale"] = (
            rng(2).random((len(counts or [0]), shape[-1] // 2), np.float32) + 0.1
        )
        rows[1] = True
    return DEQUANT, inputs, rows


def in_blocks(counts: list[int], shape: tuple[int, ...] = (8, 256), **more: Any) -> Case:
    x = rng(3).standard_normal(shape).astype(BF16)
    inputs = {"x": x, "group_index": np.array(counts), "dst_type": "float8_e4m3fn"} | more
    rows: Any = {i: after(sum(counts), *shape[:-1]) for i in range(3)}
    if not more.get("output_origin"):
        rows[2] = True
    return BLOCKS, inputs, rows


def routed(mode: int, scaled: bool = False, kind: int | None = 1, **more: Any) -> Case:
    experts = np.stack([rng(20 + i).permutation(EXPERTS)[:TOP] for i in range(TOKENS)])
    inputs: dict[str, Any] = {
        "x": rng(4).standard_normal((TOKENS, 16)).astype(BF16),
        "expert_idx": experts.astype(np.int32),
        "expert_num": EXPERTS,
        "active_expert_range": [2, 6],
        "quant_mode": mode,
        "expert_tokens_num_flag": kind is not None,
        "expert_tokens_num_type": kind or 0,
    }
    inputs |= more
    start, end = inputs["active_expert_range"] or (0, EXPERTS)
    own = experts[(experts >= start) & (experts < end)]
    if scaled:
        shape = {-1: (TOKENS,), 0: (1,), 1: (end - start, 16), 13: (1, 16)}[mode]
        inputs["scale"] = rng(5).random(shape, np.float32) + 0.5
    if mode == 0:
        inputs["offset"] = np.array([0.25], np.float32)
    rows: Any = {}
    if not inputs.get("drop_pad_mode"):
        slots = min(inputs.get("active_num", TOKENS * TOP), TOKENS * TOP)
        rows = {0: after(len(own), slots), 3: after(len(own), slots)}
    if mode == 0 or (mode == -1 and not scaled):
        rows[3] = True
    if inputs.get("row_idx_type"):
        rows[1] = after(len(own), TOKENS * TOP)
    if kind is None:
        rows[2] = True
    elif kind == 2:  # one pair of zeros ends the list
        rows[2] = after(len(np.unique(own)) + 1, EXPERTS)
    return ROUTED, inputs, rows


def product(group_list: Any, kind: int) -> Case:
    x, w = (
        rng(6 + i).integers(-99, 99, s).astype(np.int8) for i, s in enumerate(((9, 8), (3, 8, 4)))
    )
    inputs = {"x": [x], "weight": [w], "group_list": group_list, "group_list_type": kind}
    inputs |= {"group_type": 0, "split_item": 3, "output_dtype": "int32"}
    return "npu_grouped_matmul", inputs, {0: after(7, 9)}


def experts(op: str) -> Case:
    x, w = (
        rng(8 + i).integers(-99, 99, s).astype(np.int8) for i, s in enumerate(((9, 8), (3, 8, 4)))
    )
    scale, second = rng(10).random((3, 4), np.float32), op.endswith("v2")
    inputs = {"x": x, "weight": [w] if second else w, "weight_scale": [scale] if second else scale}
    inputs |= {"x_scale": rng(11).random(9, np.float32), "group_list": np.array([3, 5, 7])}
    rows = {0: after(7, 9), 1: after(7, 9)}
    return op, inputs, rows if second else rows | {2: True}


def blocks(op: str, shape: tuple[int, ...], height: int, **more: Any) -> Case:
    """Return blocks of groups that end with rows 40, 128, 128 and 200: the scales' rows of none."""
    ends, rows = np.array([40, 128, 128, 200], np.int32), np.ones(200 // height + 4, bool)
    for j, (begin, end) in enumerate(zip([0, 40, 128, 128], ends, strict=True)):
        first = begin // height + j
        rows[first : first + -(-(end - begin) // height)] = False
    names = ("group_index",) if "mx" in op else ("group_list",)
    inputs = {"x": rng(12).standard_normal(shape).astype(np.float32), names[0]: ends} | more
    return op, inputs, {1: np.broadcast_to(rows, (*shape[:-2], len(rows))).copy()}


def norm(op: str, rows: dict[int, Any], **more: Any) -> Case:
    x1, x2, gamma = (rng(13).standard_normal(s).astype(np.float16) for s in ((6, 32), (6, 32), 32))
    return op, {"x1": x1, "x2": x2, "gamma": gamma} | more, rows


def scattered(op: str) -> Case:
    inputs = {
        "self": rng(14).integers(-9, 9, (4, 8, 6)).astype(np.int8),
        "indices": np.array([[0, 1], [0, 2], [3, 5]]),
        "updates": 30 * rng(15).standard_normal((3, 2, 6)).astype(np.float16),
        "quant_scales": rng(16).random(6, np.float32) + 0.5,
    }
    rows = np.zeros((4, 8), bool)
    rows[0, 2] = True  # both of the first two updates go there
    return op, inputs, {0: rows}


STATIC = {"scales1": np.ones(32, np.float32), "zero_points1": np.zeros(32, np.int32)}
SMOOTH = np.ones(32, np.float16)
WHOLE = {"active_expert_range": []}
CASES: dict[str, Case] = {
    "dequantized": gated([3, 2], 1),
    "dequantized, the first group is empty": gated([0, 5], 1),
    "dequantized, all but a row": gated([7, 0], 1),
    "dequantized, rank 3": gated([3, 2], 1, (2, 4, 128)),
    "dequantized, float4": gated([3, 2], 1, dst_type="float4_e2m1"),
    "dequantized, float8": gated([3, 2], 1, dst_type="float8_e4m3fn"),
    "dequantized, static": gated([3, 2], 0),
    "dequantized, static without groups": gated(None, 0),
    "blocks": in_blocks([3, 2]),
    "blocks with origin": in_blocks([0, 5, 0], output_origin=True),
    "blocks, rank 3": in_blocks([4, 1], (2, 4, 256), output_origin=True),
    "blocks of MX": in_blocks([3, 2], quant_mode=1, round_scale=True),
    "routed": routed(1),
    "routed as it is": routed(-1, row_idx_type=1),
    "routed with scales": routed(-1, scaled=True, kind=0),
    "routed, static": routed(0, scaled=True, kind=None),
    "routed, int4": routed(13, kind=2, row_idx_type=1),
    "routed, fewer slots": routed(1, scaled=True, active_num=5),
    "products, ends": product(np.array([3, 5, 7]), 0),
    "products, counts": product(np.array([3, 2, 2]), 1),
    "products, pairs": product(np.array([[2, 3], [0, 2], [1, 2]]), 2),
    "products, a list": product([3, 5, 7], 0),
    "gated products": experts("npu_grouped_matmul_swiglu_quant"),
    "gated products, second version": experts("npu_grouped_matmul_swiglu_quant_v2"),
    "MX of groups": blocks("npu_grouped_dynamic_mx_quant", (200, 6), 64),
    "blocks of groups": blocks("npu_grouped_dynamic_block_quant", (200, 130), 1),
    "blocks of groups, a batch": blocks(
        "npu_grouped_dynamic_block_quant", (2, 200, 130), 128, row_block_size=128
    ),
    "norm": norm("npu_add_rms_norm_quant", {1: True}, **STATIC),
    "norm, dynamic": norm(DYNAMIC_NORM, {1: True, 4: True}),
    "norm, dynamic, the second": norm(DYNAMIC_NORM, {0: True, 3: True}, output_mask=[False, True]),
    "scattered": scattered("npu_quant_scatter"),
}
DEFINED: dict[str, Case] = {
    "dequantized, all rows": gated([3, 5], 1),
    "routed, no slot is empty": routed(1, scaled=True, **WHOLE),
    "routed, padded": routed(1, **WHOLE, drop_pad_mode=1, expert_capacity=3),
    "routed as it is, padded": routed(-1, True, **WHOLE, drop_pad_mode=1, expert_capacity=3),
    "norm, dynamic, both": norm(DYNAMIC_NORM, {}, smooth_scale1=SMOOTH, smooth_scale2=SMOOTH),
    "gated by offsets, static": (
        "npu_swiglu_quant",
        {
            "x": rng(17).standard_normal((8, 64)).astype(BF16),
            "smooth_scales": np.ones((2, 32), np.float32),
            "offsets": np.ones((2, 32), np.float32),
            "group_index": np.array([2, 5], np.int32),
        },
        {},
    ),
    "permuted, some dropped": (
        "npu_moe_token_permute",
        {"tokens": np.eye(6, dtype=np.float16), "indices": routed(1)[1]["expert_idx"]}
        | {"num_out_tokens": 7},
        {},
    ),
}
"""Where documents leave nothing undefined: zeros of slots and scales, an index of -1, all rows."""


def outputs(op: str, inputs: dict[str, Any]) -> list[Array]:
    made = getattr(npu_quant, op)(**inputs)
    return [np.array(own) for own in (made if isinstance(made, (tuple, list)) else [made])]


def with_bytes(
    made: list[Array], rows: dict[int, Any], fill: Callable[[Array], None]
) -> list[Array]:
    """Return outputs of which a function overwrites the undefined rows, given as a row each."""
    for i, where in rows.items():
        flat = made[i].reshape(np.size(where), -1) if made[i].size else made[i].reshape(0, 1)
        some = flat[np.reshape(where, -1)] if made[i].size else flat
        fill(some)
        if made[i].size:
            flat[np.reshape(where, -1)] = some
    return made


def constant(rows: Array) -> None:
    rows.view(np.uint8)[...] = 0x35


def random(rows: Array) -> None:
    own = rows.view(np.uint8)
    own[...] = rng(30).integers(0, 256, own.shape)


def extreme(rows: Array) -> None:
    is_whole = rows.dtype.kind in "iu"
    rows[...] = np.iinfo(rows.dtype).min if is_whole else np.nan


def greatest(rows: Array) -> None:
    is_whole = rows.dtype.kind in "iu"
    rows[...] = np.iinfo(rows.dtype).max if is_whole else np.inf


def judged(made: list[Array], op: str, inputs: dict[str, Any]) -> Comparison:
    return compare(tuple(made), op=op, inputs=inputs, allow_constant=True)


@pytest.mark.parametrize("fill", [constant, random, extreme, greatest])
@pytest.mark.parametrize("name", CASES)
def test_garbage_in_what_is_undefined_passes(name: str, fill: Callable[[Array], None]) -> None:
    op, inputs, rows = CASES[name]
    comparison = judged(with_bytes(outputs(op, inputs), rows, fill), op, inputs)
    assert (comparison.rung, comparison.refusal) == ("identical", None)
    said = {o.name: o.rows_compared for o in comparison.outputs if o.left_out is not None}
    names = [o.name for o in comparison.outputs]
    assert said == {
        names[i]: 0 if where is True else np.count_nonzero(~where)
        for i, where in rows.items()
        if np.any(where)
    }
    assert ": not compared" in " ".join(str(comparison).split()) or not said


@pytest.mark.parametrize("name", [*CASES, *DEFINED])
def test_a_fault_in_what_is_defined_fails(name: str) -> None:
    """A first row that is not written, and a bit of the last one before what is undefined."""
    op, inputs, rows = (CASES | DEFINED)[name]
    made = outputs(op, inputs)
    for i, output in enumerate(made):
        where = rows.get(i, np.zeros(output.shape[:1], bool))
        there = [] if where is True else np.flatnonzero(~np.reshape(where, -1)).tolist()
        for row, is_written in zip(there[:1] + there[-1:], (False, True), strict=False):
            wrong = with_bytes([own.copy() for own in made], rows, random)
            own = wrong[i].reshape(np.size(where), -1)[row].view(np.uint8)
            own[-1] = own[-1] ^ 0x41 if is_written else 0x5A
            assert not judged(wrong, op, inputs).passed, (i, row)


@pytest.mark.parametrize("name", DEFINED)
def test_where_nothing_is_undefined_nothing_is_left_out(name: str) -> None:
    op, inputs, rows = DEFINED[name]
    assert not any(np.any(where) for where in rows.values())
    comparison = judged(outputs(op, inputs), op, inputs)
    assert comparison.rung == "identical"
    assert all(o.left_out is None and o.rows_compared is None for o in comparison.outputs)


def test_the_table_has_a_case_and_a_line_of_the_manual_for_each_row() -> None:
    named = {
        (op, list(compare(tuple(outputs(op, inputs)), op=op, inputs=inputs).outputs)[i].name)
        for op, inputs, rows in CASES.values()
        for i in rows
    }
    page = (Path(__file__).parents[1] / "docs/golden.md").read_text(encoding="utf-8")
    for row in TABLE:
        assert row.source
        assert row.op in page
        if row.op != "npu_quant_scatter_":
            assert {(row.op, name) for name in row.outputs.split()} <= named


def test_an_output_that_is_wholly_undefined_has_any_shape_or_none() -> None:
    op, inputs, _ = CASES["norm, dynamic"]
    y1, _, x, scale, _ = outputs(op, inputs)
    given: Any = (y1, np.array([7], np.float32), x, scale, np.zeros(0))
    assert compare(given, op=op, inputs=inputs).rung == "identical"
    assert compare({"y1": y1, "x_out": x, "scale1": scale}, op=op, inputs=inputs).passed
    assert not compare({"y1": y1, "x_out": x}, op=op, inputs=inputs).passed


def test_what_is_left_out_is_said_with_the_outputs_it_is_of() -> None:
    op, inputs, rows = CASES["routed"]
    comparison = judged(with_bytes(outputs(op, inputs), rows, random), op, inputs)
    count = int(np.count_nonzero(~rows[0]))
    text = f"expanded_x, expanded_scale: rows {count} to 11 are of no expert: not compared"
    assert text in " ".join(str(comparison).split())
    assert text in comparison.to_html()
    data = json.loads(json.dumps(comparison.to_dict()))["outputs"]
    assert data[0]["left_out"] == {"rows": f"rows {count} to 11", "why": "of no expert"}
    assert data[1]["left_out"] is None


def test_where_all_that_is_given_is_undefined_nothing_is_compared() -> None:
    op, inputs, _ = CASES["dequantized, static without groups"]
    alone = {"y": None, "scale": np.full(8, 5, np.float32)}
    assert "nothing to compare" in (compare(alone, op=op, inputs=inputs).refusal or "")
    with pytest.raises(GoldenRefused, match="not computed with quant_mode 0"):
        assert_golden(alone, op=op, inputs=inputs)
    with pytest.raises(npu_quant.ParamError, match="undefined"):
        explain(alone, op, inputs)


def test_formulas_are_judged_by_what_is_defined() -> None:
    """A multiplier in the place of scales is infinite in rows of none: there it is not asked."""
    op, inputs, rows = CASES["dequantized"]
    y, scale = outputs(op, inputs)
    scale[:5] = 1 / scale[:5]
    made = with_bytes([y, scale], rows, extreme)
    comparison = judged(made, op, inputs)
    assert [variant.name for variant in comparison.variants] == ["scale is 127 / amax"]
    assert not comparison.passed
    assert explain(tuple(made), op, inputs).matches[0].name == "scale is 127 / amax"


def test_another_dtype_is_told_beside_rows_of_none() -> None:
    op, inputs, rows = CASES["products, ends"]
    (y,) = with_bytes(outputs(op, inputs), rows, random)
    output = judged([y.astype(np.int64)], op, inputs).outputs[0]
    assert (output.rung, output.rung_of_values) == ("different", "identical")


def test_places_are_the_outputs_own() -> None:
    """A row is counted over all axes before the last, and an index has all of them."""
    op, inputs, rows = CASES["dequantized, rank 3"]
    y, scale = with_bytes(outputs(op, inputs), rows, random)
    y[1, 0, 7] ^= 0x55
    comparison = judged([y, scale], op, inputs)
    assert comparison.worst(1)[0].index == (1, 0, 7)
    assert "rows 5 to 7 are of no group: not compared" in str(comparison)


@pytest.mark.parametrize("ends", [[64], [128, 128], [64, 64]])
def test_bytes_behind_the_last_block_of_all(ends: list[int]) -> None:
    """They are named by the input's rows, also where the last ones are of no block."""
    op, x = "npu_grouped_dynamic_mx_quant", rng(40).standard_normal((ends[-1], 6))
    inputs = {"x": x.astype(np.float32), "group_index": np.array(ends, np.int32)}
    y, scale = outputs(op, inputs)
    scale[-1] = 99
    assert judged([y, scale], op, inputs).rung == "identical"
    scale[0, 2:4, 1] += 1
    output = judged([y, scale], op, inputs).output("mxscale")
    assert output.metrics.mismatches == 2
    assert output.metrics.count == output.rows_compared * 12
    assert output.where.worst_place.startswith("rows 32 to 63 of column")


def test_counts_are_of_what_is_defined() -> None:
    op, inputs, rows = CASES["dequantized"]
    made = with_bytes(outputs(op, inputs), rows, random)
    y = judged(made, op, inputs).output("y")
    assert (y.metrics.count, y.shape) == (5 * 64, (8, 64))
