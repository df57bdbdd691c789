"""What every row of the tables of named formulas gives, as numbers short enough to be kept.

python tests/variant_rows.py    # rewrite tests/data/variant_rows.json
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import variant_products
from variant_products import numbers

import npu_quant
from npu_quant.golden import list_variants
from npu_quant.golden.operators import Model, Part, model_of, operator_of
from npu_quant.golden.operators.formula import Formula, named

TABLE = Path(__file__).parent / "data" / "variant_rows.json"
F32 = np.float32
OF_THIS_CPU = "exp of float32"
"""What has other bits on another CPU, as NumPy has other code for it."""
DTYPES = (np.float16, ml_dtypes.bfloat16, F32)


def given(dtype: Any) -> Iterator[tuple[str, dict[str, Any]]]:
    """Calls with given scales, whole and fractional zero points."""
    rng = np.random.default_rng(5)
    x, scale = numbers(dtype, 120), F32(rng.uniform(0.1, 3, 200))
    x[40:80] = (rng.integers(-99, 99, (40, 200)) + 0.5) * scale
    x[80:] = (rng.integers(-99, 99, (40, 200)) + 0.5) * F32(0.3)
    whole, broken = rng.integers(-9, 9, 200).astype(np.int32), F32(rng.uniform(-9, 9, 200))
    odd = scale.copy()
    odd[:5] = [0, -0.5, np.inf, np.nan, 1e-42]
    call = {"self": x, "scales": scale, "zero_points": whole, "dtype": "int8"}
    yield "npu_quantize", call
    yield "npu_quantize", call | {"dtype": "uint8", "scales": odd, "zero_points": broken}
    yield "npu_quantize", call | {"dtype": "int32", "scales": 1 / scale, "div_mode": False}
    yield "npu_quantize", call | {"scales": scale[:1], "zero_points": None, "axis": -1}
    for kind, zero in (("qint8", 7), ("quint8", 0), ("qint32", -3)):
        value = {"scale": 0.3, "zero_point": zero, "value": x, "scalar_type": kind}
        yield "quantize_val", value
    groups = {"x": x, "scale": 1 / scale * F32([[1], [0.5], [9]])}
    groups |= {"group_index": np.array([50, 50, 120]), "offset": broken[:1]}
    yield "npu_group_quant", groups
    yield "npu_group_quant", groups | {"offset": None, "dst_dtype": "int4"}
    codes = rng.integers(-128, 128, (24, 200)).astype(np.int8)
    to = np.float16 if dtype == F32 else dtype
    yield "npu_anti_quant", {"x": codes, "scale": scale * 300, "offset": broken, "dst_dtype": to}
    yield "npu_anti_quant", {"x": codes.T, "scale": odd[:, None], "dst_dtype": to}
    sums = {"x": rng.integers(-(2**31), 2**31, (24, 200)).astype(np.int32), "output_dtype": to}
    sums |= {"weight_scale": scale / 999, "activation_scale": scale[:24]}
    for bias in (broken * 9999, whole * 9999999, None):
        yield "npu_dequant_bias", sums | {"bias": bias}
    yield "npu_dequant_bias", sums | {"bias": broken.astype(to), "activation_scale": None}
    tensor = {"self": x, "scale": 0.3, "zero_point": 5, "quant_min": -128, "quant_max": 127}
    channel = tensor | {"scale": scale, "zero_point": whole, "axis": 1}
    for suffix in ("", "_cachemask"):
        yield f"fake_quantize_per_tensor_affine{suffix}", tensor
        yield f"fake_quantize_per_channel_affine{suffix}", channel
        yield f"fake_quantize_per_channel_affine{suffix}", channel | {"zero_point": broken}
        yield f"fake_quantize_per_channel_affine{suffix}", channel | {"scale": odd}
    pairs = {"scale": F32([0.3]), "zero_point": whole[:1], "quant_min": 0, "quant_max": 2048}
    for on in (1, 0):
        name = "_fake_quantize_per_tensor_affine_cachemask_tensor_qparams"
        yield name, tensor | pairs | {"fake_quant_enabled": np.array([on])}


def scattered(dtype: Any) -> Iterator[tuple[str, dict[str, Any]]]:
    """Calls that put codes of rows among others, in every format that holds them."""
    rng = np.random.default_rng(11)
    x = numbers(np.float16 if dtype == F32 else dtype, 120).reshape(2, 60, 200)
    kept = rng.integers(0, 256, (3, 90, 200)).astype(np.uint8)
    scale, whole = F32(rng.uniform(0.1, 3, 200)), rng.integers(-9, 9, 200).astype(np.int32)
    call = {"updates": x, "quant_scales": scale, "quant_zero_points": whole}
    for name in ("int8", "float8_e4m3fn", "float8_e5m2", "hifloat8"):
        own = {"self": kept if name == "hifloat8" else kept.view(name), "dst_type": name}
        own["round_mode"] = "round" if name == "hifloat8" else "rint"
        yield "npu_quant_scatter", call | own | {"indices": np.array([[2, 30], [0, 7]])}
        yield "npu_quant_scatter_", call | own | {"indices": np.array([5, 0])}


def grouped(dtype: Any) -> Iterator[tuple[str, dict[str, Any]]]:
    """Calls that quantize rows and blocks, and norms of rows."""
    rng = np.random.default_rng(6)
    x, cube = numbers(dtype, 300), numbers(dtype, columns=24).reshape(3, 8, 24)
    gamma = rng.standard_normal(200).astype(dtype)
    yield "npu_dynamic_quant", {"input": x}
    yield "npu_dynamic_quant", {"input": x, "smooth_scales": gamma}
    yield "npu_dynamic_quant", {"input": cube}
    yield "npu_dynamic_quant", {"input": numbers(dtype, columns=24)}  # as tall as it is wide
    yield "npu_dynamic_block_quant", {"x": x}
    yield "npu_dynamic_block_quant", {"x": x, "min_scale": 4.0}
    yield "npu_dynamic_block_quant", {"x": cube}
    scale, zero = F32(rng.uniform(0.02, 0.2, 200)), rng.integers(-5, 5, 200).astype(np.int32)
    call = {"x1": x, "x2": x[::-1], "gamma": gamma, "scales1": scale, "zero_points1": zero}
    name = "npu_add_rms_norm_quant"
    yield name, call
    yield name, call | {"beta": gamma[::-1], "scales1": scale[:1], "zero_points1": F32([2.5])}
    more = {"scales2": 1 / scale, "zero_points2": F32(zero), "div_mode": False, "epsilon": 1e-3}
    yield name, call | {"beta": gamma, "scales1": 1 / scale, "zero_points1": None} | more
    yield from near_ties(dtype, rng)


def near_ties(dtype: Any, rng: np.random.Generator) -> Iterator[tuple[str, dict[str, Any]]]:
    """Calls of norms all of whose quotients are ties, but for the order of sum and products."""
    for zero in (None, np.full(3000, -3, np.int32), F32([0.25]), None, F32([-1]), F32([9])):
        x, gamma = (rng.uniform(0.5, 2, (1, 3000)).astype(dtype) for _ in range(2))
        wide = x.astype(np.float64)
        t = wide / np.sqrt(np.mean(wide * wide) + 1e-6) * gamma.astype(np.float64)
        scale = F32(t[0] / (rng.integers(0, 99, 3000) + 0.5))
        ties = {"x1": x, "x2": np.zeros_like(x), "gamma": gamma[0], "zero_points1": zero}
        yield "npu_add_rms_norm_quant", ties | {"scales1": scale}
        row = {"x": x, "gamma": gamma[0], "scale": scale, "offset": zero}
        yield "npu_rms_norm_quant_v2", row
        if zero is not None:
            yield "npu_rms_norm_quant", row | {"beta": np.zeros_like(gamma[0])}
        # Each t by a factor that takes it to a tie of 127 steps to its scale, the first to 127.
        near = np.maximum(np.abs(t[0]), 0.02)
        factors = (np.random.default_rng(8).integers(0, 126, 3000) + 0.5) / near
        factors[0] = 127 / near[0]
        dynamic = {"gamma": gamma[0], "smooth_scale": factors.astype(dtype)}
        yield "npu_rms_norm_dynamic_quant", dynamic | {"x": x}


def normed(dtype: Any) -> Iterator[tuple[str, dict[str, Any]]]:
    """Calls that norm rows: as they are, by given scales and by their own."""
    rng = np.random.default_rng(6)
    x, gamma = numbers(dtype, 300), rng.standard_normal(200).astype(dtype)
    scale, zero = F32(rng.uniform(0.02, 0.2, 200)), rng.integers(-5, 5, 200).astype(np.int32)
    yield "npu_rms_norm", {"self": x, "gamma": gamma}
    yield "npu_add_rms_norm", {"x1": x, "x2": x[::-1], "gamma": gamma}
    once = {"x": x, "gamma": gamma, "scale": scale, "offset": zero}
    yield "npu_rms_norm_quant", once | {"beta": gamma[::-1]}
    yield "npu_rms_norm_quant_v2", once | {"scale": scale[:1], "offset": F32([2.5])}
    yield "npu_rms_norm_quant_v2", once | {"beta": gamma, "offset": None, "div_mode": False}
    own = {"gamma": gamma, "beta": gamma[::-1]}
    yield "npu_rms_norm_dynamic_quant", own | {"x": x}
    yield "npu_rms_norm_dynamic_quant", {"x": x, "gamma": gamma, "smooth_scale": gamma[::-1]}
    sums = own | {"x1": x, "x2": x[::-1]}
    yield "npu_add_rms_norm_dynamic_quant", sums
    yield "npu_add_rms_norm_dynamic_quant", sums | {"smooth_scale1": gamma, "smooth_scale2": gamma}


def formatted(dtype: Any) -> Iterator[tuple[str, dict[str, Any]]]:
    """Calls in other formats than int8, and of other groups than rows."""
    rng = np.random.default_rng(7)
    x, scale = numbers(dtype, 60), F32(rng.uniform(0.1, 3, 200))
    gamma = rng.standard_normal(200).astype(dtype)
    norm = {"x1": x, "x2": x[::-1], "gamma": gamma, "scales1": scale, "zero_points1": None}
    yield "npu_dynamic_quant_asymmetric", {"input": x}
    yield "npu_dynamic_quant_asymmetric", {"input": x + dtype(9), "smooth_scales": gamma}
    for name in ("int4", "float8_e4m3fn", "float8_e5m2", "hifloat8"):
        own = {"dst_type": name}
        blocks = {"row_block_size": 64, "col_block_size": 192, "x": x.reshape(3, 20, 200)} | own
        if name == "hifloat8":
            blocks |= {"round_mode": "round", "dst_type_max": 56.0}
        for op in ("npu_dynamic_quant", "npu_dynamic_quant_asymmetric"):
            yield op, {"input": x} | own
            yield op, {"input": x.reshape(3, 20, 200), "quant_mode": "perchannel"} | own
        yield "npu_dynamic_block_quant", blocks
        if name != "int4":
            groups = {"group_list": np.array([3, 3, 18, 20], np.int32)}
            yield "npu_grouped_dynamic_block_quant", blocks | groups | {"row_block_size": 128}
            yield (
                "npu_grouped_dynamic_block_quant",
                blocks | groups | {"row_block_size": 1, "min_scale": 90.0},
            )
        call = {"self": x, "scales": scale / 9, "zero_points": None, "dtype": name}
        yield "npu_quantize", call
        yield "npu_quantize", call | {"zero_points": F32([0.7]), "div_mode": False}
        yield "npu_add_rms_norm_quant", norm | own
        yield "npu_add_rms_norm_quant", norm | own | {"beta": gamma, "zero_points1": F32([2.5])}
        once = {"x": x, "gamma": gamma, "scale": scale, "dst_dtype": name}
        yield "npu_rms_norm_quant_v2", once
        yield "npu_rms_norm_quant", once | {"beta": gamma, "offset": F32([2.5])}
        sums = {"x1": x, "x2": x[::-1], "gamma": gamma, "y_dtype": name}
        yield "npu_add_rms_norm_dynamic_quant", sums | {"output_mask": [True, True]}


def gated(dtype: Any) -> Iterator[tuple[str, dict[str, Any]]]:
    """Calls of gated linear units: of floats and of sums, by given scales and by their own."""
    rng = np.random.default_rng(9)
    x, rows = numbers(dtype, 60), {"quant_mode": 1}
    factors, offsets = F32(rng.uniform(0.5, 2, 100)), F32(rng.integers(-30, 30, 100) / 4)
    yield "npu_swiglu", {"self": x}
    yield "npu_swiglu", {"self": x, "dim": 0}
    for to in ("int8", "int4"):
        own = {"x": x, "smooth_scales": factors, "dst_type": to}
        yield "npu_swiglu_quant", own | rows
        yield "npu_swiglu_quant", own | {"offsets": offsets}
    with np.errstate(all="ignore"):
        narrow = x.astype(np.float16) if dtype == F32 else x
        whole = np.nan_to_num(x.astype(F32) * 99).clip(-9999, 9999).astype(np.int32)
    sums = {"x": whole, "weight_scale": F32(rng.uniform(0.001, 0.01, 200))}
    sums |= {"activation_scale": F32(rng.uniform(0.5, 2, 60)), "bias": F32(rng.normal(size=200))}
    formats = [("int8", 0), ("float8_e5m2", 0), ("float8_e4m3fn", 0), ("hifloat8", 1)]
    formats += [("float4_e2m1", 3), ("float4_e1m2", 1), ("float4_e1m2", 4), ("float4_e2m1", 2)]
    for i, (to, mode) in enumerate(formats):
        how = {"dst_type": to, "round_mode": mode, "swiglu_mode": i % 3}
        yield "npu_dequant_swiglu_quant", sums | how | rows | {"quant_scale": factors}
        given = {"quant_scale": factors / 9, "quant_offset": offsets}
        yield "npu_dequant_swiglu_quant", {"x": narrow} | how | given


def in_blocks(dtype: Any) -> Iterator[tuple[str, dict[str, Any]]]:
    """Calls of MX: every format, rule and rounding, along either axis."""
    x = numbers(dtype, 100)
    x[24:60, ::3] *= 0.1  # amax with few bits, and with many
    x[60:90] = (
        (2.0 ** np.arange(-15, 15) * (1 + 2.0 ** -np.arange(3, 13))[:, None])
        .repeat(20)[:6000]
        .reshape(30, 200)
    )
    for name in ("float8_e4m3fn", "float8_e5m2", "float4_e2m1", "float4_e1m2"):
        call = {"input": x, "dst_type": name}
        yield "npu_dynamic_mx_quant", call
        yield "npu_dynamic_mx_quant", call | {"axis": 0, "block_size": 64}
        if name.startswith("float8"):
            yield "npu_dynamic_mx_quant", call | {"scale_alg": 1, "max_low_bound": 0.3}
            continue
        for mode in ("round", "floor"):
            yield "npu_dynamic_mx_quant", call | {"round_mode": mode}
    yield "npu_dynamic_mx_quant", {"input": x, "scale_alg": 2}
    yield "npu_dynamic_mx_quant", {"input": x, "scale_alg": 2, "dst_type_max": 7.0}


def in_other_blocks(dtype: Any) -> Iterator[tuple[str, dict[str, Any]]]:
    """Calls of MX along two axes, in groups of rows, and back to values."""
    numbers_in_blocks = next(in_blocks(dtype))[1]["input"]
    groups = np.array([33, 33, 97, 100], np.int32)
    bytes_ = np.array([0, 255, 254, 1, 104, 110, 142, 143, 144], np.uint8)
    for name in ("float8_e4m3fn", "float8_e5m2", "float4_e2m1", "float4_e1m2"):
        is_packed = name.startswith("float4")
        x = numbers_in_blocks[:, :198] if is_packed else numbers_in_blocks
        rule = {"scale_alg": 2 if is_packed else 1}
        modes = ("rint", "round", "floor") if is_packed else ("rint",)
        for mode in modes:
            call = {"dst_type": name, "round_mode": mode}
            for more in ({}, rule):
                rows = {"x": x, "group_index": groups} | call | more
                yield "npu_grouped_dynamic_mx_quant", rows
                if not more or name == "float4_e2m1":
                    yield "npu_dynamic_block_mx_quant", {"input": x} | call | more
                if not more or name != "float4_e1m2":
                    yield "npu_dynamic_mx_quant_with_dual_axis", {"input": x} | call | more
        for axis, to in ((0, 5), (1, 6), (1, 15)):
            y, scales = npu_quant.npu_dynamic_mx_quant(x, dst_type=name, axis=axis)
            scales.reshape(-1)[: 9 * 40] = np.resize(bytes_, 9 * 40)
            codes = {"x": y, "mxscale": scales, "axis": axis, "src_type": name, "dst_type": to}
            yield "npu_anti_mx_quant", codes


def in_block_rows(dtype: Any) -> Iterator[tuple[str, dict[str, Any]]]:
    """Calls of rows that are made first and then have scales for their blocks."""
    with np.errstate(all="ignore"):
        x = numbers(dtype, 60).astype(np.float16 if dtype == F32 else dtype)
    weight = F32(np.random.default_rng(9).uniform(0.5, 2, 60))
    for i, to in enumerate(("float8_e5m2", "float8_e4m3fn")):
        own = {"x": x, "dst_type": to, "output_origin": True, "clamp_limit": 9.0 * i}
        yield "npu_swiglu_group_quant", own | {"weight": weight}
        for mode in (0, 1):
            more = {"quant_mode": mode, "round_scale": True, "group_index": np.array([40])}
            yield "npu_swiglu_group_quant", own | more
    for round_mode in ("rint", "round", "floor"):
        yield "npu_dynamic_dual_level_mx_quant", {"input": x, "round_mode": round_mode}


def in_words(dtype: Any) -> Iterator[tuple[str, dict[str, Any]]]:
    """Calls that put numbers into words, bit by bit."""
    x = np.ascontiguousarray(numbers(dtype).astype(F32)) * F32(9)
    for offset in (None, x[0, :1], x[::-1]):
        for mode in (0, 1):
            words = {"scale": x, "offset": offset, "round_mode": mode}
            yield "npu_trans_quant_param", words
    with np.errstate(invalid="ignore"):
        yield "npu_convert_weight_to_int4pack", {"weight": np.nan_to_num(x).astype(np.int32)}
    yield "npu_convert_weight_to_int4pack", {"weight": np.rint(x / 18) / F32(2)}


def crc(array: Any) -> int:
    """Return a checksum of an array's elements; every NaN is the same."""
    plain = np.ascontiguousarray(array)
    if plain.dtype.kind not in "iub":
        plain = np.where(np.isnan(plain), plain.dtype.type(np.nan), plain)
    return zlib.crc32(plain.tobytes(), zlib.crc32(str(plain.dtype).encode()))


def made(formula: Formula, parts: Sequence[Part]) -> list[Any]:
    """Return the elements of the outputs of a formula; None of those that do not fit."""
    outputs = []
    for output in formula.form.outputs:
        with np.errstate(all="ignore"):
            some = [output.make(formula, part) for part in parts]
        fits = [array for array in some if array is not None]
        outputs.append(np.concatenate(fits) if len(fits) == len(some) else None)
    return outputs


def result(formula: Formula, model: Model, parts: Sequence[Part]) -> str:
    """Return checksums of a row's outputs, whether it is benign here, or that it does not apply."""
    if not formula.applies(model) or OF_THIS_CPU in formula.variant().name:
        return "-"
    text = "benign" if formula.is_benign(model) else "other"
    sums = ("none" if array is None else f"{crc(array):08x}" for array in made(formula, parts))
    return " ".join([text, *sums])


@cache
def calls(dtype: Any) -> dict[str, list[dict[str, Any]]]:
    """Return the inputs of each operator's calls."""
    found: dict[str, list[dict[str, Any]]] = {}
    for kind in (
        *(given, scattered, variant_products.weighed, grouped, normed, formatted, gated),
        *(variant_products.of_codes, variant_products.multiplied, variant_products.by_experts),
        *(variant_products.grouped, variant_products.gated),
        *(in_blocks, in_other_blocks, in_block_rows, in_words),
    ):
        for op, inputs in kind(dtype):
            found.setdefault(op, []).append(inputs)
    return found


def sums(op: str, dtype: Any, formulas: Sequence[Formula]) -> list[str]:
    """Return a checksum of what each row gives of all calls, "-" where it never applies."""
    texts: list[list[str]] = [[] for _ in formulas]
    for inputs in calls(dtype)[op]:
        model = model_of(op, inputs)
        parts = model.parts()  # what formulas share is made once
        for text, formula in zip(texts, formulas, strict=True):
            text.append(result(formula, model, parts))
    return [f"{zlib.crc32('|'.join(t).encode()):08x}" if {*t} != {"-"} else "-" for t in texts]


def formula_of(op: str, name: str) -> Formula:
    """Return the formula of a row."""
    found = named(operator_of(op).form, name)
    assert found is not None, (op, name)
    return found


def rows(names: Sequence[tuple[str, str]]) -> list[list[str]]:
    """Return a checksum per dtype of each row, by operator and name."""
    table = []
    for op in dict.fromkeys(op for op, _ in names):
        own = [name for other, name in names if other == op]
        formulas = [formula_of(op, name) for name in own]
        of_dtypes = [sums(op, dtype, formulas) for dtype in DTYPES]
        table += [[op, name, *of] for name, *of in zip(own, *of_dtypes, strict=True)]
    return table


def every_name() -> list[tuple[str, str]]:
    """Return what there is a row of: all that are kept, and what is listed since."""
    kept = [(op, name) for op, name, *_ in json.loads(TABLE.read_text())]
    tried = calls(DTYPES[0])
    listed = [(op, v.name) for op, own in list_variants().items() if op in tried for v in own]
    return list(dict.fromkeys([*kept, *listed]))


def text_of(table: list[list[str]]) -> str:
    """Return the table as it is kept: a line per row."""
    lines = ",\n".join(json.dumps(row, ensure_ascii=False) for row in table)
    return f"[\n{lines}\n]\n"


if __name__ == "__main__":
    TABLE.write_text(text_of(rows(every_name())))
