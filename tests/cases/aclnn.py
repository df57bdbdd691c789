"""The functions of the C API: the operators' formulas, and what C alone has of them."""

from __future__ import annotations

import itertools
from collections import namedtuple
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import ml_dtypes
import numpy as np
from aclnn_calls import ACL_DTYPES, FLOAT8_E4M3FN, INT8, call
from witnesses import Array, assert_same_but_nan, normal, on_steps, with_specials

from cases import add_rms_norm_quant as norm
from cases import anti_quant, dynamic_block_quant, dynamic_mx_quant, dynamic_quant
from cases import fake_quantize_per_channel as per_channel
from cases import fake_quantize_per_tensor as per_tensor
from cases.case import DTYPES, FLOAT32, Arguments, Case, DType, Rng, each, kinds, settings
from npu_quant.ops import dynamic_mx_quant_with_dual_axis as dual_axis

E4M3, E8M0 = ml_dtypes.float8_e4m3fn, ml_dtypes.float8_e8m0fnu
SHAPES = [(1, 1), (5, 17), (3, 64), (2, 3, 129), (7, 200), (1, 1000), (0, 4), (3, 0)]
LAID_OUT = settings((3, 5, 67))
KINDS = kinds(dtype=DTYPES)
PERTOKEN = {"group": None, "type": INT8, "symmetric": True, "mode": b"pertoken"}
TOKENS: dict[str, Arguments] = {
    "": {},
    "V2": {"group": None, "type": INT8},
    "V3": PERTOKEN,
    "V4": PERTOKEN | {"max": 0},
}
DUAL: dict[str, Arguments] = {"": {}, "V2": {"greatest": 0.0}}
POWERS = DUAL | {"V3": {"greatest": 0.0, "bound": 0.5}}
BLOCKS = {"mode": b"rint", "type": INT8, "rows": 1, "columns": 128}
NORMS = ("x1", "x2", "gamma", "scales1", "scales2", "zero_points1", "zero_points2")
NORM_SHAPES = [((4, 100), 1), ((1, 1), 1), ((3, 2, 65), 2)]
NORM_SHAPES += [((2, 5, 64), 1), ((129,), 1), ((0, 6), 1)]
ROUNDED = {b"round": np.rint, b"floor": np.floor, b"ceil": np.ceil, b"trunc": np.trunc}
# Of x, and of scale and offset.
PAIRS = [(d, d) for d in DTYPES] + [(FLOAT32, d) for d in DTYPES[:2]]


def values(rng: Rng, shape: tuple[int, ...], dtype: DType) -> Array:
    """Return rows of values, some out of the ordinary."""
    x = normal(rng, shape, dtype)
    return with_specials(rng, x) if x.size > 8 else x


def steps(rng: Rng, shape: tuple[int, ...], dtype: DType, scale: float = 0.1) -> Array:
    ranked = shape or (1,)
    x = np.zeros(shape, dtype) if 0 in shape else on_steps(rng, ranked, dtype, scale)
    return x.reshape(shape)


def function(
    name: str, fields: Sequence[str], results: Callable[..., Any], tail: Sequence[None] = ()
) -> Callable[..., Any]:
    """Return a function that calls that of C; what begins with _ is for the formula alone."""
    make = namedtuple("make", fields)

    def operator(*, out: Any = None, **a: Any) -> Any:
        fresh = out is None
        like = [np.full(shape, 85, dtype) for shape, dtype in results(**a)] if fresh else out
        outs = like if isinstance(like, (list, tuple)) else [like]
        call(name, *(v for key, v in a.items() if not key.startswith("_")), *outs, *tail)
        return outs[0] if len(fields) == 1 else make(*outs)

    return operator


def in_c(name: str, fields: Sequence[str], **more: Any) -> Case:
    """Return the case of a function of C, with what most of them have."""
    return Case(
        **{"layouts": LAID_OUT, "outs": LAID_OUT, "rows": ("x",), "kinds": KINDS} | more,
        name=f"aclnn-{name}",
        fields=tuple(fields) if len(fields) > 1 else (),
        threads=[],
        large=[],
        same=assert_same_but_nan,
        in_c=True,
    )


def tokens(version: str, more: Arguments) -> Case:
    def arguments(rng: Rng, shape: tuple[int, ...], dtype: DType, smooth: bool = True) -> Arguments:
        factors = np.exp(rng.uniform(-3, 3, shape[-1:])).astype(dtype) if smooth else None
        return {"x": values(rng, shape, dtype), "smooth": factors} | more

    def results(x: Array, **_: Any) -> Any:
        return (x.shape, np.int8), (x.shape[:-1], np.float32)

    fields, tail = ("y", "scale"), [None] if version else []
    return in_c(
        f"dynamic_quant{version}",
        fields,
        operator=function(f"aclnnDynamicQuant{version}", fields, results, tail),
        reference=lambda x, smooth, **_: dynamic_quant.reference(x, smooth_scales=smooth),
        arguments=arguments,
        formulas={"shapes": settings(*SHAPES, smooth=[True, False])},
    )


def blocks(version: str, more: Arguments) -> Case:
    def arguments(rng: Rng, shape: tuple[int, ...], dtype: DType, least: float = 0.5) -> Arguments:
        return {"x": values(rng, shape, dtype), "least": least} | BLOCKS | more

    def results(x: Array, **_: Any) -> Any:
        return (x.shape, np.int8), ((*x.shape[:-1], -(-x.shape[-1] // 128)), np.float32)

    fields, shapes = ("y", "scale"), [*SHAPES, (0, 2, 300), (2, 0, 5)]
    return in_c(
        f"dynamic_block_quant{version}",
        fields,
        operator=function(f"aclnnDynamicBlockQuant{version}", fields, results),
        reference=lambda x, least, **_: dynamic_block_quant.reference(x, min_scale=least),
        arguments=arguments,
        formulas={"shapes": settings(*shapes, least=[0.0, 0.5, 1e-3, 1e-300])},
    )


def powers(version: str, more: Arguments) -> Case:
    def arguments(
        rng: Rng, shape: tuple[int, ...], dtype: DType, axis: int = -1, block: int = 32
    ) -> Arguments:
        rule = {"mode": b"rint", "type": FLOAT8_E4M3FN, "block": block, "alg": 1}
        return {"x": values(rng, shape, dtype), "axis": axis} | rule | more

    def reference(x: Array, axis: int, block: int, bound: float = 0.0, **_: Any) -> Any:
        rule = {"dst_type": "float8_e4m3fn", "scale_alg": 1, "max_low_bound": bound}
        y, scales = dynamic_mx_quant.reference(x, axis=axis, block_size=block, **rule)
        return y, scales.view(E8M0)

    def results(x: Array, axis: int, block: int, **_: Any) -> Any:
        scales = [*x.shape, 2]
        scales[axis % x.ndim] = -(-x.shape[axis] // (2 * block))
        return (x.shape, E4M3), (scales, E8M0)

    fields, axes = ("y", "mxscale"), [-1, 0]
    return in_c(
        f"dynamic_mx_quant{version}",
        fields,
        operator=function(f"aclnnDynamicMxQuant{version}", fields, results),
        reference=reference,
        arguments=arguments,
        formulas={"shapes": settings(*SHAPES, (70, 66), axis=axes, block=[32, 96])},
        layouts=settings((3, 5, 67), axis=axes),
        outs=settings((3, 5, 67), axis=axes),
    )


def dual_powers(version: str, more: Arguments) -> Case:
    rule = {"mode": b"rint", "type": FLOAT8_E4M3FN, "alg": 1} | more

    def arguments(rng: Rng, shape: tuple[int, ...], dtype: DType) -> Arguments:
        return {"x": values(rng, shape, dtype)} | rule

    def reference(x: Array, **_: Any) -> Any:
        results = dual_axis.reference(x, dst_type="float8_e4m3fn", scale_alg=1)
        return tuple(r.view(E8M0) if i % 2 else r for i, r in enumerate(results))

    def results(x: Array, **_: Any) -> Any:
        (*head, m, n), y = x.shape, (x.shape, E4M3)
        return y, ((*head, m, -(-n // 64), 2), E8M0), y, ((*head, -(-m // 64), n, 2), E8M0)

    fields = ["y1", "mxscale1", "y2", "mxscale2"]
    return in_c(
        f"dynamic_mx_quant_with_dual_axis{version}",
        fields,
        operator=function(f"aclnnDynamicMxQuantWithDualAxis{version}", fields, results),
        reference=reference,
        arguments=arguments,
        formulas={"shapes": settings(*SHAPES, (70, 66))},
    )


def normed(x1: Array, x2: Array, gamma: Array, beta: Array | None, epsilon: float) -> Array:
    """Compute the norm itself: squares add in 64 lanes, then the lanes in halves."""
    with np.errstate(all="ignore"):
        s = x1.astype(np.float32) + x2.astype(np.float32)
        rows = s.reshape(*s.shape[: s.ndim - gamma.ndim], -1) if s.size > 0 else s
        lanes = np.zeros((*rows.shape[:-1], 64), np.float32)
        for begin in range(0, rows.shape[-1], 64):
            part = rows[..., begin : begin + 64]
            lanes[..., : part.shape[-1]] += part * part
        for h in (32, 16, 8, 4, 2, 1):
            lanes = lanes[..., :h] + lanes[..., h : 2 * h]
        rstd = np.float32(1) / np.sqrt(lanes / np.float32(max(gamma.size, 1)) + np.float32(epsilon))
        t = (rows * rstd).reshape(s.shape) * gamma.astype(np.float32)
        return (t if beta is None else t + beta.astype(np.float32)).astype(x1.dtype)


def norms(version: str, fields: Sequence[str]) -> Case:
    def arguments(rng: Rng, shape: tuple[int, ...], dtype: DType, **options: Any) -> Arguments:
        a = norm.arguments(rng, shape, dtype, forms=("last", "gamma"), **options)
        special = {name: values(rng, shape, dtype) for name in ("x1", "x2")}
        more = {"beta": a["beta"]} if version else {}
        rule = {"axis": -1, "epsilon": 1e-5, "div_mode": a["div_mode"]}
        return {name: a[name] for name in NORMS} | special | more | rule

    def reference(*, axis: int, **a: Any) -> Any:
        more = (normed(a["x1"], a["x2"], a["gamma"], a["beta"], a["epsilon"]),) if version else ()
        return (*norm.reference(**a), *more)

    def results(x1: Array, **_: Any) -> Any:
        return [(x1.shape, d) for d in (np.int8, np.int8, *(x1.dtype,) * (len(fields) - 2))]

    choices = {"scales": [FLOAT32, norm.OF_X], "zeros": [None, np.int32, FLOAT32, norm.OF_X]}
    flags = norm.FLAGS if version else norm.FLAGS | {"beta": [False]}
    shapes = [s for shape, n in NORM_SHAPES for s in settings(shape, rank=[n], **choices, **flags)]
    return in_c(
        f"add_rms_norm_quant{version}",
        fields,
        operator=function(f"aclnnAddRmsNormQuant{version}", fields, results),
        reference=reference,
        arguments=arguments,
        formulas={"shapes": shapes},
        rows=("x1", "x2"),
    )


def masked(x: Array, _to: DType, **_: Any) -> Any:
    return (x.shape, _to), (x.shape, np.bool_)


def of_tensor(
    rng: Rng,
    shape: tuple[int, ...],
    dtype: DType,
    of_scale: DType,
    to: DType,
    *,
    scale: float = 0.1,
    zero: int = 3,
    enabled: float = 1.0,
    ends: tuple[int, int] = (-128, 127),
) -> Arguments:
    parameters = {"scale": np.array([scale], of_scale), "zero_point": np.array(zero, np.int32)}
    limits = dict(zip(("quant_min", "quant_max"), ends, strict=True))
    return (
        {"x": steps(rng, shape, dtype)} | parameters | {"enabled": enabled} | limits | {"_to": to}
    )


def of_channels(
    rng: Rng, shape: tuple[int, ...], dtype: DType, of_scale: DType, to: DType, axis: int = -1
) -> Arguments:
    scale = np.exp(rng.uniform(-3, 3, shape[axis])).astype(of_scale)
    zero_point = rng.integers(-100, 100, shape[axis]).astype(np.int32)
    a = {"x": steps(rng, shape, dtype), "scale": scale, "zero_point": zero_point, "axis": axis}
    return a | {"quant_min": -128, "quant_max": 127, "_to": to}


def fake_quantized(x: Array, scale: Array, _to: DType, enabled: float = 1.0, **a: Any) -> Any:
    """Compute with float32's arithmetic; round once to the dtype of the result."""
    reference = per_channel.reference if "axis" in a else per_tensor.reference_of_arrays
    switch = {} if "axis" in a else {"fake_quant_enabled": np.array(enabled)}
    given = x.astype(np.float32), scale.astype(np.float32)
    output, mask = reference(self=given[0], scale=given[1], **a, **switch)
    with np.errstate(over="ignore"):
        return output.astype(_to), mask


def parameters(rng: Rng, shape: tuple[int, ...], dtype: DType) -> Arguments:
    """Return scale and offset, whose products and sums are often ties."""
    scale = np.exp2(rng.integers(-2, 3, shape)).astype(dtype)
    scale[rng.random(shape) < 0.3] *= dtype.type(-0.7)
    return {"scale": scale, "offset": (rng.integers(-20, 20, shape) / 2).astype(dtype)}


def products(
    rng: Rng,
    shape: tuple[int, ...],
    pair: tuple[DType, DType],
    *,
    axis: int | None = None,
    one: bool = False,
    ranked: bool = False,
    offset: bool = True,
    **rule: Any,
) -> Arguments:
    along = -1 if axis is None else axis
    n = 1 if one else shape[along]
    whole = tuple(n if i == along % len(shape) else 1 for i in range(len(shape)))
    a = parameters(rng, whole if ranked else (n,), pair[1])
    a = {"x": steps(rng, shape, pair[0], 1)} | (a if offset else a | {"offset": None})
    rule = {"sqrt": True, "mode": b"floor"} | rule | {"type": INT8}
    return a | rule | ({} if axis is None else {"axis": axis})


def codes(x: Array, scale: Array, offset: Array | None, sqrt: bool, **rule: Any) -> Array:
    whole = [1] * x.ndim
    whole[rule.get("axis", -1)] = -1
    with np.errstate(all="ignore"):
        factor = scale.astype(np.float32).reshape(whole)
        v = x.astype(np.float32) * factor
        v = v * factor if sqrt else v
        v = v if offset is None else v + offset.astype(np.float32).reshape(whole)
        v = ROUNDED[rule["mode"]](v)
        return np.where(np.isnan(v), 0, np.clip(v, -128, 127)).astype(np.int8)


def quantize(version: str, **axis: int) -> Case:
    choices = {"offset": [True, False], "sqrt": [True, False], "mode": list(ROUNDED)}
    shapes = [(1,), (5, 17), (2, 3, 129), (0, 3), (3, 0), (7, 200)]
    formulas = {"shapes": settings(*shapes, one=[True, False], **choices)}
    if axis:
        rows = settings((2, 5, 33), axis=[1, -2], ranked=[True, False], **choices)
        formulas |= {"rows": rows}
    return in_c(
        f"quantize{version}",
        ["y"],
        operator=function(f"aclnnAscendQuant{version}", ["y"], lambda x, **_: [(x.shape, np.int8)]),
        reference=codes,
        arguments=partial(products, **axis),
        kinds=kinds(pair=PAIRS),
        in_memory=kinds(pair=PAIRS[::2]),
        formulas=formulas,
    )


def numbers(
    rng: Rng, shape: tuple[int, ...], to: DType, sqrt: bool = True, **options: Any
) -> Arguments:
    a = anti_quant.arguments(rng, shape, to, **options)
    return a | {"dst_dtype": ACL_DTYPES[to], "sqrt": sqrt, "_to": to}


def reference_of_numbers(
    x: Array, scale: Array, offset: Array | None, sqrt: bool, _to: DType, **_: Any
) -> Array:
    with np.errstate(all="ignore"):
        v = x.astype(np.float32)
        v = v if offset is None else v + offset.astype(np.float32)
        v = v * scale.astype(np.float32)
        return (v * scale.astype(np.float32) if sqrt else v).astype(_to)


def fake(name: str, c_name: str, **more: Any) -> Case:
    return in_c(
        name,
        ("out", "mask"),
        operator=function(c_name, ("out", "mask"), masked),
        reference=fake_quantized,
        kinds=kinds(dtype=DTYPES, of_scale=DTYPES, to=DTYPES),
        in_memory=each(dtype=DTYPES, of_scale=DTYPES[1:] + DTYPES[:1], to=DTYPES[::-1]),
        **more,
    )


OF_TENSOR = {"scale": [0.1, 0.25, 3.0], "zero": [0, 7, -200], "enabled": [0.0, 0.9, 1.0]}
ENDS = [(-128, 127), (0, 255), (-8, 7)]
OF_CHANNELS = [((5, 17), 1), ((5, 17), -2), ((2, 3, 129), 1), ((9,), 0), ((0, 3), 1), ((1, 1), 0)]
FORMS = {"form": ["one", "column", "ranked column", "ranked row"], "scales": anti_quant.SCALES}

CASES = [
    *itertools.starmap(tokens, TOKENS.items()),
    *itertools.starmap(blocks, {"": {}, "V2": {"max": 0.0}}.items()),
    *itertools.starmap(powers, POWERS.items()),
    *itertools.starmap(dual_powers, DUAL.items()),
    norms("", ("y1", "y2", "x")),
    norms("V2", ("y1", "y2", "x", "norm")),
    fake(
        "fake_quantize_per_tensor",
        "aclnnFakeQuantPerTensorAffineCachemask",
        arguments=of_tensor,
        formulas={
            "numbers": settings((5, 17), ends=ENDS, **OF_TENSOR),
            "shapes": settings((), (1,), (0, 3), (2, 3, 129), (1000,), ends=ENDS),
        },
    ),
    fake(
        "fake_quantize_per_channel",
        "aclnnFakeQuantPerChannelAffineCachemask",
        arguments=of_channels,
        formulas={"shapes": [(shape, {"axis": axis}) for shape, axis in OF_CHANNELS]},
    ),
    quantize(""),
    quantize("V3", axis=-1),
    in_c(
        "anti_quant",
        ["y"],
        operator=function("aclnnAscendAntiQuant", ["y"], lambda x, _to, **_: [(x.shape, _to)]),
        reference=reference_of_numbers,
        arguments=numbers,
        kinds=kinds(to=DTYPES[:2]),
        formulas={
            "shapes": settings(
                *[(1,), (5, 17), (2, 3, 129), (7, 200)],
                offsets=[True, False],
                sqrt=[True, False],
                **FORMS,
            ),
            "none": settings((0, 3), form=["one", "column"], sqrt=[True, False]),
        },
        layouts=settings((3, 5, 67), form=FORMS["form"]),
    ),
]
