"""npu_add_rms_norm_dynamic_quant: a sum, its norm, and codes of that by a scale for each row."""

from __future__ import annotations

import numpy as np
from witnesses import assert_same_but_nan, normal, with_specials

import npu_quant
from cases.case import BFLOAT16, DTYPES, FLOAT16, Arguments, Case, DType, Rng, kinds, settings
from cases.case import whole_elements as whole
from cases.rms_norm import FORMATS, MEMORY, SHAPES, sprinkled, weights, widths_of
from npu_quant.ops.add_rms_norm_dynamic_quant import reference

FACTORS = ("smooth_scale1", "smooth_scale2")
# None of the factors, the first, both; by a mask both without, or the second alone.
BRANCHES = ["", "1", "12", "mask both", "mask second 2", "mask second"]


def arguments(
    rng: Rng,
    shape: tuple[int, ...],
    dtype: DType,
    *,
    branches: str = "12",
    beta: bool = False,
    leading: bool = False,
    to: str | None = None,
) -> Arguments:
    """Return arguments; branches names the factors that are given, and the mask."""
    shape = whole(shape) if to == "int4" else shape
    n = shape[-1]
    mask = {"mask both": [True, True]}.get(branches)
    a: Arguments = {"x1": normal(rng, shape, dtype), "x2": normal(rng, shape, dtype)}
    for name in FACTORS:
        factors = np.exp(rng.uniform(-1, 1, (1, n) if leading else (n,))).astype(dtype)
        a[name] = factors if name[-1] in branches else None
    mask = [False, True] if branches.startswith("mask second") else mask
    return a | weights(rng, n, dtype, beta, leading) | {"output_mask": mask, "y_dtype": to}


def with_special_values(rng: Rng, a: Arguments) -> Arguments:
    """Put special values into both terms, the weights and the factors."""
    a = a | {"x": a["x1"], "smooth_scale": a["smooth_scale1"]}
    a = sprinkled(rng, a)
    own = {"x1": a.pop("x"), "smooth_scale1": a.pop("smooth_scale")}
    return a | own | {"x2": with_specials(rng, a["x2"])}


LONG = [shape for shape in SHAPES if len(shape) > 1]
CASES = [
    Case(
        name="add_rms_norm_dynamic_quant",
        operator=npu_quant.npu_add_rms_norm_dynamic_quant,
        reference=reference,
        fields=("y1", "y2", "x_out", "scale1", "scale2"),
        arguments=arguments,
        sprinkled=with_special_values,
        same=assert_same_but_nan,
        rows=("x1", "x2"),
        kinds=kinds(dtype=DTYPES),
        formulas={
            "shapes": settings(*LONG, branches=BRANCHES, beta=[False, True]),
            "widths": widths_of(
                arguments, with_special_values, branches=BRANCHES[:3], leading=[False, True]
            ),
            "formats": settings((3, 8), (3, 72), (2, 5, 200), (9, 2056), to=FORMATS),
        },
        layouts=[setting for setting in MEMORY if len(setting[0]) > 1],
        outs=settings((3, 5, 72), (70, 130), to=[None, "int4"]),
        guards={"to": [None, "hifloat8"]},
        threads=settings((70, 4096), dtype=[BFLOAT16], to=[None, "int4"]),
        large=settings((19, 4001), dtype=[FLOAT16]),
    ),
]
