"""Calls of products, and of what routes rows to them, for variant_rows.py."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

F32 = np.float32
SEEDS = {"float16": 0, "bfloat16": 1, "float32": 2}


def numbers(dtype: Any, rows: int = 24, columns: int = 200) -> Any:
    """Return rows of random numbers, among them ties, zeros, tiny ones, infinities and NaN."""
    rng = np.random.default_rng(columns)
    x = rng.standard_normal((rows, columns)) * 40
    x[24:] *= 10.0 ** -rng.integers(-1, 14, (len(x[24:]), 1))
    x[8:16] = np.rint(x[8:16]) / 2
    x[16] = 0
    x[17] *= 1e-7
    x[18, :20] = [np.inf, -np.inf, np.nan, -0.0, 1e-45] * 4
    x[19, ::11] = np.nan
    x[20, ::13] = -np.inf
    x[21] *= 300
    with np.errstate(over="ignore"):
        return x.astype(dtype)


def of_codes(dtype: Any) -> Iterator[tuple[str, dict[str, Any]]]:
    """Calls of products of codes: integers, in groups, small floats and MX."""
    rng = np.random.default_rng(14)
    to = np.float16 if dtype == F32 else dtype
    x1, x2 = (rng.integers(-128, 128, shape).astype(np.int8) for shape in ((24, 64), (64, 40)))
    scale, rows = F32(rng.uniform(-1e-3, 2e-3, 40)), F32(rng.uniform(0.1, 3, 24))
    bias = F32(rng.standard_normal(40) * 30)
    call = {"x1": x1, "x2": x2, "scale": scale, "output_dtype": to}
    yield "npu_quant_matmul", call | {"pertoken_scale": rows, "bias": bias}
    yield "npu_quant_matmul", call | {"bias": (bias * 1000).astype(np.int32)}
    yield "npu_quant_matmul", call | {"output_dtype": "int32"}
    yield "npu_quant_matmul", call | {"output_dtype": "int8", "offset": bias / 3}
    groups = {"scale": F32(rng.uniform(-0.1, 0.2, (4, 40))), "pertoken_scale": rows}
    words = {"x1": x1.view(np.int32), "x2": x2.view(np.int32), "group_sizes": [0, 0, 32]}
    words["x2"] = rng.integers(-(2**31), 2**31, (128, 5)).astype(np.int32)
    yield "npu_quant_matmul", call | groups | words
    small = {"x1": F32(x1).astype("float8_e4m3fn"), "x2": F32(x2).astype("float8_e4m3fn")}
    yield "npu_quant_matmul", call | small | {"pertoken_scale": rows, "bias": bias}
    powers = {"pertoken_scale": rng.integers(120, 130, (24, 1, 2), np.uint8)}
    powers["scale"] = rng.integers(120, 130, (1, 40, 2), np.uint8)
    yield "npu_quant_matmul", call | small | powers | {"bias": bias, "output_dtype": "float32"}


def by_experts(dtype: Any) -> Iterator[tuple[str, dict[str, Any]]]:
    """Calls of products by experts, of int8 and of int4 in groups, with other scales by dtype."""
    rng = np.random.default_rng(17 + SEEDS[np.dtype(dtype).name])
    x, of_rows = rng.integers(-128, 128, (60, 40)).astype(np.int8), rng.uniform(0.5, 2, 60)
    of_rows[:3] = [0, np.inf, np.nan]
    call = {"x": x, "group_list": np.array([20, 55]), "x_scale": F32(of_rows)}
    weight = rng.integers(-128, 128, (2, 40, 48)).astype(np.int8)
    own = {"weight": weight, "weight_scale": F32(rng.uniform(1e-5, 2e-4, (2, 48)))}
    yield "npu_grouped_matmul_swiglu_quant", call | own
    words = {"weight": weight[..., :24].copy().view(np.int32)}
    words |= {"weight_scale": F32(rng.uniform(1e-4, 3e-3, (2, 5, 48)))}
    words |= {"bias": F32(rng.standard_normal((2, 48)))}
    yield "npu_grouped_matmul_swiglu_quant", call | words


def grouped(dtype: Any) -> Iterator[tuple[str, dict[str, Any]]]:
    """Calls of products of groups, whose lists are of each type; each form of operands."""
    rng = np.random.default_rng(21 + SEEDS[np.dtype(dtype).name])
    to = np.float16 if dtype == F32 else dtype
    x, weight = (rng.integers(-128, 128, s).astype(np.int8) for s in ((30, 64), (3, 64, 24)))
    words = rng.integers(-(2**31), 2**31, (3, 64, 3)).astype(np.int32)
    tokens, bias = F32(rng.uniform(0.5, 2, 30)), F32(rng.standard_normal((3, 24)))
    scale, powers = F32(rng.uniform(1e-4, 1e-3, (3, 24))), rng.integers(122, 129, (3, 1, 24, 2))
    of_groups = {"scale": F32(rng.uniform(-0.01, 0.02, (3, 2, 24))), "per_token_scale": tokens}
    whole = (bias * 9999).astype(np.int32)
    small = {"x": F32(x).astype("float8_e4m3fn"), "weight": F32(weight).astype("float8_e4m3fn")}
    small |= {"scale": powers.astype(np.uint8), "output_dtype": "float32"}
    small |= {"per_token_scale": rng.integers(122, 129, (30, 1, 2)).astype(np.uint8)}
    floats = {"x": (x / 64).astype(dtype), "weight": (weight / 64).astype(dtype)}
    kinds: list[dict[str, Any]] = [
        {"scale": scale, "per_token_scale": tokens, "act_type": 5, "output_dtype": to},
        {"scale": scale, "bias": whole, "output_dtype": to},
        {"bias": whole, "output_dtype": "int32"},
        {"scale": scale.view(np.int32) | np.int64(3) << 37, "output_dtype": "int8"},
        {"weight": words, "bias": bias, "output_dtype": to} | of_groups,
        {"x": words[0, :30], "weight": words[:, :24], "output_dtype": to} | of_groups,
        floats | {"bias": bias if dtype != np.float16 else bias.astype(dtype)},
        {"x": (x / 64).astype(to), "weight": words, "antiquant_scale": scale.astype(to)}
        | {"antiquant_offset": (bias * 3).astype(to)},
        small | {"bias": bias},
    ]
    lists = [[9, 9, 30], [12, 8, 10], [[2, 12], [0, 8], [1, 10]]]
    for i, own in enumerate(kinds):
        alone = ("output_dtype", "act_type")
        a = {n: v if n in alone else [v] for n, v in ({"x": x, "weight": weight} | own).items()}
        a |= {"group_list": np.array(lists[i % 3]), "group_list_type": i % 3}
        yield "npu_grouped_matmul", a | {"split_item": 3, "group_type": 0}
    codes = {"x1": x[:20].view(np.uint8), "x2": weight[0, :40].T.copy().view(np.uint8)}
    codes |= {"x2": rng.integers(0, 256, (24, 64)).astype(np.uint8), "bias": bias[0]}
    levels = {"x1_level0_scale": tokens[:20, None], "x2_level0_scale": tokens[None, :24]}
    levels |= {"x1_level1_scale": rng.integers(118, 133, (20, 2, 2)).astype(np.uint8)}
    levels |= {"x2_level1_scale": rng.integers(118, 133, (24, 2, 2)).astype(np.uint8)}
    yield "npu_dual_level_quant_matmul", codes | levels | {"output_dtype": to}


def gated(dtype: Any) -> Iterator[tuple[str, dict[str, Any]]]:
    """Calls of products by experts that are gated: the second version, and its own forms."""
    for op, a in by_experts(dtype):
        own = {name: [a[name]] for name in ("weight", "weight_scale")}
        more = {"weight_assist_matrix": [a["bias"]]} if "bias" in a else {}
        more |= {"group_list": np.array([20, 35]), "group_list_type": 1}
        yield f"{op}_v2", {n: v for n, v in a.items() if n != "bias"} | own | more
    rng = np.random.default_rng(22 + SEEDS[np.dtype(dtype).name])
    words = {"x": rng.integers(-(2**31), 2**31, (60, 5)).astype(np.int32), "x_scale": a["x_scale"]}
    words |= {"weight": [rng.integers(-(2**31), 2**31, (2, 40, 6)).astype(np.int32)]}
    words |= {"weight_scale": [F32(rng.uniform(1e-3, 2e-2, (2, 48)))]}
    words |= {"smooth_scale": F32(rng.uniform(0.5, 2, (2, 24))), "group_list": np.array([20, 55])}
    yield "npu_grouped_matmul_swiglu_quant_v2", words
    kind = "float8_e4m3fn"
    small = {"x": F32(rng.standard_normal((60, 40))).astype(kind), "group_list": np.array([20, 55])}
    small |= {"weight": [F32(rng.standard_normal((2, 40, 96))).astype(kind)]}
    small |= {"x_scale": rng.integers(124, 130, (60, 1, 2)).astype(np.uint8)}
    small |= {"weight_scale": [rng.integers(124, 130, (2, 1, 96, 2)).astype(np.uint8)]}
    modes = {"dequant_mode": 2, "quant_mode": 2, "quant_dtype": kind}
    yield "npu_grouped_matmul_swiglu_quant_v2", small | modes


def weighed(dtype: Any) -> Iterator[tuple[str, dict[str, Any]]]:
    """Calls that weigh rows of experts, of which some are not there, and add them up."""
    rng = np.random.default_rng(13)
    x, source = numbers(dtype, 120), rng.permutation(120).astype(np.int32)
    weights, experts = F32(rng.uniform(0.2, 1, (24, 5))), rng.integers(0, 9, (24, 5), np.int32)
    routed = {"x": x[:24], "expert_idx": experts, "expert_num": 7, "quant_mode": 1}
    yield "npu_moe_init_routing_v2", routed | {"scale": F32(rng.uniform(0.5, 2, (7, 200)))}
    one = {"scale": weights[0, :1], "offset": weights[1, :1], "quant_mode": 0}
    yield "npu_moe_init_routing_v2", routed | one
    call = {"permuted_tokens": x, "sorted_indices": source + 5, "probs": weights}
    yield "npu_moe_token_unpermute", call
    yield "npu_moe_token_unpermute", call | {"probs": None}
    sums = {"expanded_permuted_rows": x.reshape(6, 20, 200), "scales": weights}
    sums |= {"skip1": x[:24], "skip2": x[24:48], "bias": x[48:57], "drop_pad_mode": 1}
    sums |= {"expanded_src_to_dst_row": source - 1, "export_for_source_row": experts}
    yield "npu_moe_finalize_routing", sums
    own = {"expanded_permuted_rows": x, "expanded_src_to_dst_row": source, "drop_pad_mode": 2}
    yield "npu_moe_finalize_routing", sums | own | dict.fromkeys(["skip1", "skip2", "bias"])


def multiplied(dtype: Any) -> Iterator[tuple[str, dict[str, Any]]]:
    """Calls of products by weights of codes, of which some have an odd number."""
    rng = np.random.default_rng(13)
    to = np.float16 if dtype == F32 else dtype
    x = numbers(to)[:, :160]
    scale = rng.uniform(-0.02, 0.03, (5, 24)).astype(to)
    scale[:, :4] = [0, np.inf, np.nan, 1e-4]
    weight = rng.integers(-128, 128, (160, 24)).astype(np.int8)
    call = {"x": x, "weight": weight, "antiquant_scale": scale[0]}
    call |= {"antiquant_offset": rng.uniform(-9, 9, 24).astype(to), "bias": F32(scale[1])}
    codes = {"quant_scale": F32(rng.uniform(0.01, 2, 24)), "quant_offset": F32([2.5])}
    yield "npu_weight_quant_batchmatmul", call
    yield "npu_weight_quant_batchmatmul", call | codes
    own = {"weight": weight[:, :12].copy().view(np.int32), "antiquant_offset": None}
    own |= {"antiquant_scale": scale, "antiquant_group_size": 32}
    yield "npu_weight_quant_batchmatmul", call | own
