"""Calls of products of codes, for variant_rows.py."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

F32 = np.float32
SEEDS = {"float16": 0, "bfloat16": 1, "float32": 2}


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
