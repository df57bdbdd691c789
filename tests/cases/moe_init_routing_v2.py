"""npu_moe_init_routing_v2: rows as they are and codes, of all experts and of some; every count."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
from witnesses import normal, with_specials

import npu_quant
from cases.case import DTYPES, Arguments, Case, DType, Rng, kinds, settings
from npu_quant.ops.moe_init_routing_v2 import reference

FLOAT16, BFLOAT16, FLOAT32 = DTYPES
BYTES = [np.dtype(t) for t in (np.int8, np.uint8, ml_dtypes.float8_e4m3fn, ml_dtypes.float8_e5m2)]
EXPERTS = 7
# How experts are chosen: a range of them, at most so many slots, or slots for each.
RANGES: dict[str, Arguments] = {
    "all": {},
    "some": {"active_expert_range": [2, 5]},
    "one": {"active_expert_range": [3, 4]},
    "active": {"active_num": 5},
    "active some": {"active_num": 4, "active_expert_range": [0, 5]},
    "drop": {"drop_pad_mode": 1, "expert_capacity": 3},
    "drop all": {"drop_pad_mode": 1, "expert_capacity": 1, "active_expert_range": [0, EXPERTS]},
}
MX, EACH, ONE, NONE = "mx", "each", "one", "none"


def scale_of(
    rng: Rng, form: str, mode: int, shape: tuple[int, int], experts: int, x: DType
) -> np.ndarray | None:
    """Return what rows are scaled by, or what goes with them, in one of the forms."""
    rows, n = shape
    if mode == 0:
        return np.exp(rng.uniform(-2, 2, 1)).astype(np.float32)
    if form == NONE:
        return None
    if mode > 0:
        of = (experts if form == EACH else 1, n)
        return np.exp(rng.uniform(-3, 3, of)).astype(np.float32)
    if form == MX and x.itemsize == 1 and x != np.int8:
        return rng.integers(0, 256, (rows, (n + 63) // 64, 2)).astype(np.uint8)
    return rng.standard_normal(rows).astype(np.float32)


def arguments(
    rng: Rng,
    shape: tuple[int, ...],
    dtype: DType,
    *,
    mode: int = -1,
    form: str = EACH,
    chosen: str = "all",
    k: int = 3,
    tokens: int = 1,
    row_idx: int = 0,
    flag: bool = True,
) -> Arguments:
    """Return arguments of which some experts are out of any range."""
    rows, n = shape[0], shape[1] + (shape[1] % 2 if mode == 13 else 0)
    how = RANGES[chosen if mode != 13 or "drop" not in chosen else "some"]
    start, end = how.get("active_expert_range", (0, EXPERTS))
    if dtype in BYTES:
        x = rng.integers(0, 256, (rows, n, 1), np.uint8).view(dtype)[..., 0]
    else:
        x = normal(rng, (rows, n), dtype)
    return how | {
        "x": x,
        "expert_idx": rng.integers(-1, EXPERTS + 2, (rows, k)).astype(np.int32),
        "scale": scale_of(rng, form, mode, (rows, n), end - start, dtype),
        "offset": rng.standard_normal(1).astype(np.float32) * 9 if mode == 0 else None,
        "expert_num": EXPERTS,
        "expert_tokens_num_type": tokens,
        "expert_tokens_num_flag": flag,
        "quant_mode": mode,
        "row_idx_type": row_idx,
        "x_dtype": "int4" if mode == 13 and form == EACH else None,
    }


def sprinkled(rng: Rng, a: Arguments) -> Arguments:
    return a if a["x"].dtype in BYTES else a | {"x": with_specials(rng, a["x"])}


QUANTIZED = kinds(dtype=DTYPES, mode=[0, 1, 13])
OF_INT8: dict[str, Any] = {"dtype": BFLOAT16, "mode": 1}
CASES = [
    Case(
        name="moe_init_routing_v2",
        operator=npu_quant.npu_moe_init_routing_v2,
        reference=reference,
        arguments=arguments,
        sprinkled=sprinkled,
        rows=("x", "expert_idx"),
        fields=(
            "expanded_x",
            "expanded_row_idx",
            "expert_tokens_count_or_cumsum",
            "expanded_scale",
        ),
        kinds=QUANTIZED | kinds(dtype=[*DTYPES, *BYTES], mode=[-1]),
        in_memory={
            "rows": {"dtype": BFLOAT16, "mode": -1},
            "bytes": {"dtype": BYTES[2], "mode": -1},
            "static": {"dtype": FLOAT16, "mode": 0},
            "dynamic": {"dtype": FLOAT32, "mode": 1},
            "int4": {"dtype": BFLOAT16, "mode": 13},
        },
        formulas={
            "ranges": settings((11, 18), (1, 2), chosen=[*RANGES], form=[NONE, ONE, EACH, MX]),
            "counts": settings(
                (9, 6),
                chosen=["all", "some", "drop"],
                tokens=[0, 1, 2],
                row_idx=[0, 1],
                flag=[True, False],
            ),
            "widths": settings(*[(5, n) for n in (1, 2, 31, 63, 64, 65, 127, 130, 1000, 17000)]),
            "many": settings((70, 66), k=[1, 8], form=[ONE, EACH]),
        },
        layouts=[*settings((5, 34), chosen=["some", "drop"]), *settings((3, 140), form=[MX])],
        outs=[*settings((5, 34), chosen=["some", "drop"]), *settings((4, 200), form=[MX])],
        guards={"chosen": ["all", "some", "drop"]},
        threads=[
            *settings((70, 512), form=[ONE, EACH], dtype=[BFLOAT16], mode=[1]),
            *settings((130, 301), chosen=["some", "drop"], dtype=[FLOAT16], mode=[-1, 0]),
            *settings((33, 66), dtype=[FLOAT32], mode=[13]),
        ],
        large=[],
        in_order=False,
    )
]
