"""The devices' arithmetic (docs/numerics.md 4): vectors by hand, formulas in NumPy.

What else is refused, and where a profile may be named, is test_profile_names.py's.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import pytest
from cases import CASES
from cases.case import BFLOAT16, FLOAT16, Arguments, check, sprinkle
from witnesses import layouts, normal

import npu_quant
from npu_quant import _codes
from npu_quant.ops import dynamic_quant
from npu_quant.ops.dynamic_block_quant import DynamicBlockQuantResult
from npu_quant.ops.dynamic_quant import DynamicQuantResult
from npu_quant.ops.dynamic_quant_asymmetric import DynamicQuantAsymmetricResult

Array = np.ndarray[Any, np.dtype[Any]]
F32 = np.float32
NAN, INF = np.nan, np.inf
S1, S2, A5 = "ascend910b:scale_form=S1", "ascend910b:scale_form=S2", "ascend950"
CASE = {case.operator.__name__: case for case in CASES if not case.in_c}


def ftz(v: Any) -> Any:
    """Return it with subnormal numbers as zeros of their sign."""
    return np.where(np.abs(v) < F32(2.0**-126), np.copysign(F32(0), v), v)


def div(a: Any, b: Any) -> Any:
    return ftz(ftz(a) / ftz(b))


# ---- Vectors by hand: float16 unless said, x, codes and the scale's bits (and the offset's).

SYMMETRIC = [
    (S1, [1.125, 0.5625], [127, 64], 0x3C112244),
    (S2, [1.125, 0.5625], [127, 64], 0x3C112245),
    (A5, [1.125, 0.5625], [127, 64], 0x3C112244),
    (S1, [1.375, 0.6875], [127, 64], 0x3C3162C6),
    (S2, [1.375, 0.6875], [127, 64], 0x3C3162C5),
    (A5, [1.375, 0.6875], [127, 63], 0x3C3162C6),
    (S1, [1.875, 0.9375], [127, 63], 0x3C71E3C8),
    (A5, [1.875, 0.9375], [127, 64], 0x3C71E3C8),
]
ASYMMETRIC = [
    ("ascend910b", [-4, 5, 6], [-128, 102, 127], 0x3D20A0A1, 0xC1D00000),
    (A5, [-4, 5, 6], [-128, 101, 127], 0x3D20A0A1, 0xC1D00000),
    ("ascend910b", [-2.25, -2, -0.75], [-128, -86, 127], 0x3BC0C0C1, 0x437E8000),
    (A5, [-2.25, -2, -0.75], [-128, -85, 127], 0x3BC0C0C2, 0x437E7FFF),
    ("ascend910b", [1, NAN, 2], [0, 0, 0], 0x2B8CBCCC, 0x7FC00000),
    (A5, [1, NAN, 2], [0, 0, 0], 0x7FC00000, 0x7FC00000),
    ("ascend910b", [0, 0, 0], [127, 127, 127], 0x2B8CBCCC, 0x42FE0000),
    (A5, [0, 0, 0], [0, 0, 0], 0, 0x7FC00000),
    ("ascend910b", [INF, INF, INF], [0, 0, 0], 0x2B8CBCCC, 0xFF800000),
    ("ascend910b", [-INF, -INF], [0, 0], 0x2B8CBCCC, 0x7F800000),
    (A5, [INF, INF, INF], [0, 0, 0], 0x7FC00000, 0x7FC00000),
    (A5, [3, 3], [0, 0], 0, 0xFF800000),
    (A5, [-3, -3], [0, 0], 0, 0x7F800000),
]
BLOCKS = [
    ("ascend910b", FLOAT16, [1.125, 0.5625], 0.0, [127, 64], 0x3C112244),
    (A5, FLOAT16, [1.125, 0.5625], 0.0, [127, 63], 0x3C112245),
    ("ascend910b", FLOAT16, [1.375, 0.6875], 0.0, [127, 64], 0x3C3162C6),
    ("ascend910b", FLOAT16, [1, INF, -2, 64], 2.0, [2, 127, -4, 127], 0x3F000000),
    (A5, FLOAT16, [1, INF, -2, 64], 2.0, [0, 0, 0, 0], 0x7F800000),
    ("ascend910b", BFLOAT16, [2e-38, 1e-38], 0.0, [127, 127], 0x0001B76F),
    (A5, BFLOAT16, [2e-38, 1e-38], 0.0, [127, 0], 0),
    (A5, np.dtype(F32), [-2e-36, 1e-36, -1e-38, 0], 0.0, [-127, 64, 0, 0], None),
]
FORMATS = [
    ("ascend910b", "int4", [1, 0.5, -0.25, 0.125, 0, 0, 0, 0], [0x47, 0x1E, 0, 0]),
    (A5, "int4", [1, 0.5, -0.25, 0.125, 0, 0, 0, 0], [0x37, 0x1E, 0, 0]),
    (A5, "float8_e4m3fn", [84, 57, -57, 0], [0x7E, 0x79, 0xF9, 0]),
    (A5, "float8_e5m2", [42, 33, -33, 0], [0x7B, 0x79, 0xF9, 0]),
]


def bits(value: Array) -> int:
    return int(value.reshape(-1).view(np.uint32)[0])


@pytest.mark.parametrize(("numerics", "x", "codes", "scale"), SYMMETRIC)
def test_vectors(numerics: str, x: list[float], codes: list[int], scale: int, target: str) -> None:
    result = npu_quant.npu_dynamic_quant(np.array([x], FLOAT16), numerics=numerics)
    assert result.y.tolist() == [codes]
    assert bits(result.scale) == scale


@pytest.mark.parametrize(("numerics", "x", "codes", "scale", "offset"), ASYMMETRIC)
def test_vectors_with_offsets(
    numerics: str, x: list[float], codes: list[int], scale: int, offset: int, target: str
) -> None:
    result = npu_quant.npu_dynamic_quant_asymmetric(np.array([x], FLOAT16), numerics=numerics)
    assert result.y.tolist() == [codes]
    assert (bits(result.scale), bits(result.offset)) == (scale, offset)


@pytest.mark.parametrize(("numerics", "dtype", "x", "min_scale", "codes", "scale"), BLOCKS)
def test_vectors_of_blocks(
    numerics: str,
    dtype: np.dtype[Any],
    x: list[float],
    min_scale: float,
    codes: list[int],
    scale: int | None,
    target: str,
) -> None:
    operator = partial(npu_quant.npu_dynamic_block_quant, min_scale=min_scale)
    result = operator(np.array([x], dtype), numerics=numerics)
    assert result.y.tolist() == [codes]
    assert scale is None or bits(result.scale) == scale


@pytest.mark.parametrize(("numerics", "dst_type", "x", "codes"), FORMATS)
def test_vectors_of_formats(
    numerics: str, dst_type: str, x: list[float], codes: list[int], target: str
) -> None:
    y = npu_quant.npu_dynamic_quant(np.array([x], FLOAT16), dst_type=dst_type, numerics=numerics).y
    assert y.view(np.uint8).reshape(-1).tolist() == codes


# ---- Formulas.


def tokens(numerics: str, **a: Any) -> DynamicQuantResult:
    """Compute npu_dynamic_quant; without a form in its name, 910b gives S1."""
    mode, format = a.get("quant_mode", "pertoken"), _codes.row_of(a.get("dst_type") or "int8")
    greatest = dynamic_quant.greatest_of(format, a.get("dst_type_max", 0.0))
    with np.errstate(all="ignore"):
        v = dynamic_quant.values(a["input"], a.get("smooth_scales"), a.get("group_index"), mode)
        amax = dynamic_quant.per_group(mode, np.abs(v).max, 0)
        scale = F32(1) / (greatest / amax) if numerics == S2 else amax * (F32(1) / greatest)
        q = div(v, scale) if numerics == A5 else v * (greatest / amax)
        scale = np.where(np.isnan(scale), F32(NAN), scale)
        y = _codes.encode(q, format.name)
    return DynamicQuantResult(y, dynamic_quant.one_per_group(mode, scale))


def tokens_with_offsets(numerics: str, **a: Any) -> DynamicQuantAsymmetricResult:
    mode, format = a.get("quant_mode", "pertoken"), _codes.row_of(a.get("dst_type") or "int8")
    top = dynamic_quant.greatest_of(format, a.get("dst_type_max", 0.0))
    distance = F32(2) * top + F32(format.name in ("int8", "int4"))
    with np.errstate(all="ignore"):
        v = dynamic_quant.values(a["input"], a.get("smooth_scales"), a.get("group_index"), mode)
        hi = dynamic_quant.per_group(mode, v.max, -INF)
        lo = dynamic_quant.per_group(mode, v.min, INF)
        if numerics == A5:
            scale = (hi - lo) * (F32(1) / distance)
            offset = top - div(hi, scale)
            q = div(v, scale) + offset
        else:
            d = (hi - lo) / distance
            scale = np.where(d > F32(1e-12), d, F32(1e-12))
            offset = top - hi / scale
            q = v * (F32(1) / scale) + offset
        scale, offset = (np.where(np.isnan(s), F32(NAN), s) for s in (scale, offset))
        y = _codes.encode(q, format.name)
    groups = [dynamic_quant.one_per_group(mode, s) for s in (scale, offset)]
    return DynamicQuantAsymmetricResult(y, *groups)


def blocks(numerics: str, **a: Any) -> DynamicBlockQuantResult:
    """Compute npu_dynamic_block_quant from the reference's amax of each element's block."""
    format = _codes.row_of(a.get("dst_type") or "int8")
    greatest = dynamic_quant.greatest_of(format, a.get("dst_type_max", 0.0))
    x = a["x"].astype(F32)
    height, width = a.get("row_block_size", 1), a.get("col_block_size", 128)
    with np.errstate(all="ignore"):
        amax = np.maximum.reduceat(np.abs(x), range(0, x.shape[-2], height), axis=-2)
        amax = np.maximum.reduceat(amax, range(0, x.shape[-1], width), axis=-1)
        least = F32(a.get("min_scale", 0.0))
        if numerics == A5:
            scale, bound = div(amax, greatest), div(F32(1), least)
            scale = np.where((least > 0) & (scale > bound) & (scale < INF), bound, scale)
        else:
            scale, q = amax * (F32(1) / greatest), F32(1) / amax * greatest
            if least > 0:
                scale, q = (
                    np.where(scale > 1 / least, 1 / least, scale),
                    np.where(q < least, least, q),
                )
        scale = np.where(np.isnan(scale), F32(NAN), scale).astype(F32)
        of_element = np.repeat(np.repeat(scale if numerics == A5 else q, height, -2), width, -1)
        of_element = of_element[..., : x.shape[-2], : x.shape[-1]]
        v = div(x, of_element) if numerics == A5 else x * of_element
    return DynamicBlockQuantResult(_codes.encode(v.astype(F32), format.name), scale)


FORMULAS: dict[str, Callable[..., Any]] = {
    "npu_dynamic_quant": tokens,
    "npu_dynamic_quant_asymmetric": tokens_with_offsets,
    "npu_dynamic_block_quant": blocks,
}
SHAPES = [(1, 1), (9, 3), (40, 16), (3, 64), (5, 127), (4, 300), (2, 3, 2056), (3, 9001)]
MATRICES = [(1, 1), (9, 3), (5, 127), (4, 384), (70, 300), (2, 3, 2050)]
MODES = [{"quant_mode": mode} for mode in ("pertensor", "perchannel")]
SMOOTH = [{"smooth": True}, {"experts": 3}]
FLOATS = [{"dst_type": to} for to in ("float8_e4m3fn", "float8_e5m2", "hifloat8")]
FLOATS += [{"dst_type": "hifloat8", "dst_type_max": 15.0}]
OF_TOKENS = [
    *((numerics, options) for numerics in (S1, S2, A5) for options in ({}, {"to": "int4"})),
    *((numerics, options) for numerics in (S1, S2, A5) for options in SMOOTH),
    *((A5, options) for options in ({"to": "hifloat8"}, {"to": "float8_e4m3fn"})),
    *(
        (A5, {"mode": mode, "to": to})
        for mode in ("pertensor", "perchannel")
        for to in ("", "int4")
    ),
    (A5, {"mode": "perchannel", "to": "float8_e5m2"}),
    (A5, {"mode": "perchannel", "smooth": True}),
]
OF_BLOCKS = [
    *(("ascend910b", options) for options in ({}, {"min_scale": 60.0}, {"min_scale": 1e-3})),
    *((A5, options) for options in ({}, {"min_scale": 60.0}, {"min_scale": 3e38}, *FLOATS)),
    (A5, {"row_block_size": 64, "col_block_size": 64}),
    (A5, {"row_block_size": 128, "dst_type": "float8_e4m3fn", "min_scale": 2.0**-140}),
]


def arrays_like(rng: np.random.Generator, a: Arguments, name: str) -> list[Arguments]:
    """Return the arguments; with values next to rounding ties; with special ones; tiny ones."""
    x = a[name]
    on_ties = (rng.integers(-254, 255, x.shape) * F32(0.5)).astype(x.dtype)
    tiny = (x.astype(F32) * F32(2.0**-120)).astype(x.dtype)
    return [a, a | {name: on_ties}, sprinkle(rng, a, [name]), a | {name: tiny}]


def has_to_be_eights(options: Arguments, shape: tuple[int, ...]) -> tuple[int, ...]:
    return (*shape[:-1], -(-shape[-1] // 8) * 8) if options.get("to") == "int4" else shape


@pytest.mark.parametrize("dtype", [FLOAT16, BFLOAT16], ids=str)
@pytest.mark.parametrize("name", ["npu_dynamic_quant", "npu_dynamic_quant_asymmetric"])
@pytest.mark.parametrize(("numerics", "options"), OF_TOKENS, ids=str)
def test_formula_of_tokens(
    name: str, numerics: str, options: Arguments, dtype: np.dtype[Any], rng: np.random.Generator
) -> None:
    case = CASE[name]
    ours = replace(
        case,
        operator=partial(case.operator, numerics=numerics),
        reference=partial(FORMULAS[name], numerics),
    )
    for shape in SHAPES:
        a = case.arguments(rng, has_to_be_eights(options, shape), dtype=dtype, **options)
        for tried in arrays_like(rng, a, "input"):
            check(ours, tried)


@pytest.mark.parametrize("dtype", [FLOAT16, BFLOAT16, np.dtype(F32)], ids=str)
@pytest.mark.parametrize(("numerics", "options"), OF_BLOCKS, ids=str)
def test_formula_of_blocks(
    numerics: str, options: Arguments, dtype: np.dtype[Any], rng: np.random.Generator
) -> None:
    if numerics != A5 and dtype == F32:
        dtype = FLOAT16
    if options.get("dst_type") == "hifloat8":
        options = options | {"round_mode": "round"}
    case = CASE["npu_dynamic_block_quant"]
    ours = replace(
        case,
        operator=partial(case.operator, numerics=numerics),
        reference=partial(blocks, numerics),
    )
    for shape in MATRICES:
        for tried in arrays_like(rng, {"x": normal(rng, shape, dtype)} | options, "x"):
            check(ours, tried)


@pytest.mark.parametrize("numerics", [S1, A5])
@pytest.mark.parametrize("name", FORMULAS)
def test_layouts_never_matter(name: str, numerics: str, rng: np.random.Generator) -> None:
    operator, x = partial(CASE[name].operator, numerics=numerics), normal(rng, (70, 384), FLOAT16)
    x[3, 7], x[5, 130], x[9] = NAN, INF, 0
    expected = operator(x)
    for where, lying in layouts(x):
        for actual, golden in zip(operator(lying), expected, strict=True):
            assert actual.tobytes() == golden.tobytes(), where


# ---- Which scale an ascend910b gives, by the length of rows and its buffer.


@pytest.mark.parametrize(
    ("rows", "n", "options", "form"),
    [
        (1, 128, {}, S1),
        (1, 16320, {}, S1),
        (1, 16328, {}, S2),
        (1, 15024, {}, S1),
        (1, 15025, {}, S2),
        (1, 100, {}, S1),
        (1, 12736, {"smooth": True}, S1),
        (1, 12744, {"smooth": True}, S2),
        (1, 10272, {"smooth": True}, S1),
        (1, 10273, {"smooth": True}, S2),
        (4, 10240, {"smooth": True}, S1),
        (4, 4096, {"experts": 2}, S2),
        (1, 16320, {"to": "int4"}, S1),
        (1, 16328, {"to": "int4"}, S2),
    ],
)
def test_the_form_of_a_scale(
    rows: int, n: int, options: Arguments, form: str, rng: np.random.Generator
) -> None:
    case = CASE["npu_dynamic_quant"]
    a = case.arguments(rng, (rows, n), dtype=FLOAT16, **options)
    # 1.125 gives scales of other bits by S1 and by S2.
    a["input"][:, 0], a["input"][:, 1:] = 1.125, 0
    if "smooth_scales" in a:
        a["smooth_scales"][...] = 1
    scale = case.operator(**a, numerics="ascend910b").scale
    by_form = [case.operator(**a, numerics=f).scale.tobytes() for f in (S1, S2)]
    assert by_form[0] != by_form[1]
    assert scale.tobytes() == by_form[(S1, S2).index(form)]


@pytest.mark.parametrize(
    ("rows", "n", "dst_type", "form"),
    [
        (4, 10240, "int8", S1),
        (384, 10240, "int8", S1),
        (3, 10240, "int8", S2),
        (385, 10240, "int8", S2),
        (4, 10248, "int8", S2),
        (4, 10240, "int4", S2),
    ],
)
def test_lengths_that_are_listed(rows: int, n: int, dst_type: str, form: str) -> None:
    """With a buffer that takes no row of so many elements."""
    x = np.full((rows, n), 1.125, FLOAT16)
    found, *by_form = (
        npu_quant.npu_dynamic_quant(x, dst_type=dst_type, numerics=numerics).scale.tobytes()
        for numerics in ("ascend910b:ub_size=65536", S1, S2)
    )
    assert by_form[0] != by_form[1]
    assert found == by_form[(S1, S2).index(form)]


def test_the_buffer_decides_too() -> None:
    x = np.full((1, 8192), 1.125, FLOAT16)
    found = [
        bits(npu_quant.npu_dynamic_quant(x, numerics=f"ascend910b:ub_size={size}").scale)
        for size in (65536, 196352)
    ]
    assert found == [0x3C112245, 0x3C112244]
