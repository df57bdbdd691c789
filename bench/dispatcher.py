"""What torch's dispatcher adds: torch.ops.npu over a direct call with tensors, on 1x16."""

from __future__ import annotations

import statistics
from collections.abc import Iterator
from functools import partial
from types import ModuleType
from typing import Any

import npu_quant

from .calls import Call
from .cases import Bench
from .goals import Goal
from .harness import Candidate, measure, statement

MOST = 5.0
"""Goal: microseconds that it adds, the median over the operators."""
KIND = "torch.ops.npu"
DIRECT = "a direct call with tensors"


def _arguments(torch: ModuleType) -> dict[str, tuple[Any, ...]]:
    """Return positional arguments of each operator, of its defaults where it has them."""
    x, ones = torch.ones(1, 16), torch.ones(16)
    rows = torch.ones(1, 16).half()
    groups = torch.tensor([1], dtype=torch.int32)
    sums = torch.ones(1, 16, dtype=torch.int32)
    codes, scale = npu_quant.npu_dynamic_quant(x)
    cache, at = torch.zeros(1, 1, 16, dtype=torch.int8), torch.tensor([0])
    scatter = (cache, at, rows[None], ones)
    mx, mxscale = npu_quant.npu_dynamic_mx_quant(rows, dst_type="float8_e4m3fn")
    return {
        "npu_dynamic_quant": (x,),
        "npu_dynamic_quant_asymmetric": (x,),
        "npu_dynamic_block_quant": (rows,),
        "npu_grouped_dynamic_block_quant": (rows, groups),
        "npu_dynamic_mx_quant": (rows,),
        "npu_dynamic_mx_quant_with_dual_axis": (rows,),
        "npu_dynamic_block_mx_quant": (rows,),
        "npu_dynamic_dual_level_mx_quant": (rows,),
        "npu_grouped_dynamic_mx_quant": (rows, groups),
        "npu_quant_scatter": scatter,
        "npu_quant_scatter_": scatter,
        "npu_quantize": (x, ones, None, 1),
        "npu_group_quant": (x, x, groups),
        "npu_anti_quant": (codes, scale),
        "npu_anti_mx_quant": (mx, mxscale),
        "npu_rms_norm": (x, ones),
        "npu_add_rms_norm": (x, x, ones),
        "npu_add_rms_norm_quant": (x, x, ones, ones, None),
        "npu_add_rms_norm_dynamic_quant": (x, x, ones),
        "npu_rms_norm_quant": (x, ones, ones, ones, ones),
        "npu_rms_norm_quant_v2": (x, ones, ones),
        "npu_rms_norm_dynamic_quant": (x, ones),
        "npu_swiglu": (x,),
        "npu_swiglu_group_quant": (rows,),
        "npu_swiglu_quant": (x,),
        "npu_dequant_swiglu_quant": (rows,),
        "npu_dequant_bias": (sums, ones, ones[:1], ones),
        "npu_dtype_cast": (x, 257),
        "npu_trans_quant_param": (ones,),
        "npu_convert_weight_to_int4pack": (sums,),
    }


def _products(torch: ModuleType) -> dict[str, tuple[Any, ...]]:
    """Return the same of the operators that multiply matrices."""
    x, rows = torch.ones(1, 16), torch.ones(1, 16).half()
    codes, scale = npu_quant.npu_dynamic_quant(x)
    floats, powers = npu_quant.npu_dynamic_mx_quant(rows)
    x8, weight, ends, of_columns = codes[:, :8], codes.view(1, 8, 2), torch.tensor([1]), x[:, :2]
    return {
        "npu_grouped_matmul_swiglu_quant": (x8, weight, ends, of_columns, scale),
        "npu_grouped_matmul_swiglu_quant_v2": (x8, [weight], [of_columns], scale, ends),
        "npu_quant_matmul": (codes, codes.T, scale),
        "npu_grouped_matmul": ([rows], [rows.T]),
        "npu_weight_quant_batchmatmul": (rows, codes.T, rows[0, :1]),
        "npu_dual_level_quant_matmul": (*[floats] * 2, *[x[:, :1]] * 2, *[powers] * 2),
    }


def _of_experts(torch: ModuleType) -> dict[str, tuple[Any, ...]]:
    """Return the same of the operators that move rows of experts."""
    x, first = torch.ones(1, 16), torch.zeros(1, dtype=torch.int32)
    return {
        "npu_moe_init_routing_v2": (x, first[None]),
        "npu_moe_token_permute": (x, first),
        "npu_moe_token_unpermute": (x, first),
        "npu_moe_finalize_routing": (x, None, None, None, None, first, None),
    }


_NAMED = {"npu_moe_init_routing_v2": ["expert_num=1"]}
"""What an operator takes by name alone, and has no default that it takes."""


def measured(bench: Bench) -> Iterator[Call]:
    """Measure every operator of the table in npu_quant.torch_npu, where torch is installed."""
    if bench.torch is None:
        return
    from npu_quant.torch_npu import library, operators

    library.register()
    bench.set_threads(1)
    arguments = _arguments(bench.torch) | _products(bench.torch) | _of_experts(bench.torch)
    for name in operators.OPERATORS:
        positional = {f"a{i}": a for i, a in enumerate(arguments[name])}
        code = f"call({', '.join([*positional, *_NAMED.get(name, [])])})"
        direct = statement(code, {"call": getattr(npu_quant, name)} | positional)
        through = statement(code, {"call": getattr(bench.torch.ops.npu, name)} | positional)
        samples = measure([Candidate("call", through), Candidate("other", direct)], bench.plan)
        times = (samples.seconds("call"), samples.seconds("other"))
        first = arguments[name][0]
        tensor = first[0] if isinstance(first, list) else first
        dtype = str(tensor.dtype).removeprefix("torch.")
        label = partial(Call, KIND, DIRECT, name, dtype, "1x16", "tensors")
        yield label(*times, samples.ratio("call", "other"))


def goals(calls: list[Call]) -> Iterator[Goal]:
    """Of what the dispatcher adds."""
    added_to = [c.seconds.median - c.other_seconds.median for c in calls if c.kind == KIND]
    if added_to:
        added = statistics.median(added_to) * 1e6
        where = f"us, median of {len(added_to)} operators"
        yield Goal(f"{KIND}, beside {DIRECT}", where, f"<= {MOST}", added, added <= MOST)
