"""npu_dtype_cast: from every format to every other."""

from __future__ import annotations

import numpy as np
from witnesses import assert_same_but_nan

import npu_quant
from cases.case import Arguments, Case, Kinds, Rng, Tries, settings, sprinkle, whole_elements
from npu_quant._codes import row_of
from npu_quant.ops.dtype_cast import reference

FLOATS = ("float32", "float16", "bfloat16")
SMALL = ("int4", "hifloat8", "float8_e5m2", "float8_e4m3fn")
SMALL += ("float8_e8m0fnu", "float4_e2m1", "float4_e1m2")
TOGETHER = {"int4": 8, "float4_e2m1": 2, "float4_e1m2": 2}  # codes to an element
# Around a vector of 8 or 16 elements, and of 64 bytes, on each target; ragged ends of each.
WIDTHS = [1, 2, 15, 16, 17, 63, 64, 65, 127, 128, 129, 300, 1000, 1025, 4096]


def arguments(rng: Rng, shape: tuple[int, ...], held: str, to: str) -> Arguments:
    """Return bits of every kind, or wider floats whose codes are seldom the ends."""
    more = TOGETHER.get(to, 1) // TOGETHER.get(held, 1)
    shape = whole_elements(shape, max(more, 1))
    carrier = row_of(held).carrier
    if held in FLOATS:
        exponent = rng.uniform(-26, 18, shape)
        with np.errstate(over="ignore"):
            x = (rng.standard_normal(shape) * np.exp2(exponent)).astype(carrier)
    else:
        x = rng.integers(0, 256, (*shape, carrier.itemsize), np.uint8).view(carrier)[..., 0]
    return {"self": x, "dtype": to, "input_dtype": held}


def sprinkled(rng: Rng, a: Arguments) -> Arguments:
    return sprinkle(rng, a, ("self",)) if a["input_dtype"] in FLOATS else a


def pairs(*names: tuple[str, str]) -> Kinds:
    return {f"{held}-{to}": {"held": held, "to": to} for held, to in names}


def every_16_bit_pattern(rng: Rng, held: str, to: str) -> Tries:
    x = np.arange(1 << 16, dtype=np.uint16).view(held).reshape(16, -1)
    yield {"self": x, "dtype": to}


def random_bits(rng: Rng, to: str) -> Tries:
    """Millions of float32 numbers of every exponent."""
    yield {"self": rng.integers(0, 1 << 32, (1000, 2000), np.uint32).view(np.float32), "dtype": to}


CASES = [
    Case(
        name="dtype_cast",
        operator=npu_quant.npu_dtype_cast,
        reference=reference,
        arguments=arguments,
        sprinkled=sprinkled,
        rows=("self",),
        # Each size to each, packed or not.
        kinds=pairs(
            *[("float32", "hifloat8"), ("float16", "int4"), ("bfloat16", "float8_e4m3fn")],
            *[("int4", "float32"), ("hifloat8", "bfloat16"), ("float8_e5m2", "float16")],
            *[("int4", "int4"), ("float8_e4m3fn", "int4"), ("int4", "float8_e5m2")],
            *[("float32", "float4_e2m1"), ("float4_e1m2", "bfloat16"), ("float4_e2m1", "int4")],
            *[("float8_e8m0fnu", "float4_e1m2"), ("bfloat16", "float8_e8m0fnu")],
        ),
        formulas={
            "all pairs": (
                settings((5, 40)),
                pairs(*[(a, b) for a in FLOATS + SMALL for b in FLOATS + SMALL]),
            ),
            "widths": settings(*[(3, n) for n in WIDTHS]),
            "every 16-bit pattern": (
                every_16_bit_pattern,
                pairs(*[(a, b) for a in FLOATS[1:] for b in FLOATS + SMALL]),
            ),
            "random bits": (random_bits, {to: {"to": to} for to in FLOATS + SMALL}),
        },
        layouts=[
            *settings((35, 72), (2, 4504)),
            *settings(*[(3, 2, 1, 4, 1, 2, 3, 8)[8 - rank :] for rank in range(1, 9)]),
        ],
        outs=settings((3, 5, 72), (200,)),
        threads=settings((70, 2048), held=["float32"], to=["int4"]),
        large=settings((19, 4201), held=["float16"], to=["float32"]),
        same=assert_same_but_nan,
    )
]
