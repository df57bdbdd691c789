"""npu_anti_mx_quant: codes of MX blocks back to numbers."""

from __future__ import annotations

import numpy as np
from witnesses import assert_same_but_nan

import npu_quant
from cases.case import DTYPES, Arguments, Case, DType, Rng, Tries, kinds, settings
from npu_quant._codes import row_of
from npu_quant.ops.anti_mx_quant import reference

FLOAT16, BFLOAT16, FLOAT32 = DTYPES
FORMATS = ["float8_e4m3fn", "float8_e5m2", "float4_e2m1", "float4_e1m2"]
# Of x: around a block, a vector of each target, and a piece of 2048.
WIDTHS = [1, 2, 15, 16, 17, 31, 32, 33, 63, 64, 65, 130, 300, 1024, 1025, 2048, 2100, 4200]


def arguments(
    rng: Rng,
    shape: tuple[int, ...],
    codes: str = "float8_e4m3fn",
    to: DType = BFLOAT16,
    axis: int = -1,
    scales: str = "uint8",
) -> Arguments:
    """Return all codes, and bytes around those of 1, some of which are not."""
    row = row_of(codes)
    of_numbers = [*shape[:-1], shape[-1] * 8 // row.bits]
    pairs = of_numbers.copy()
    pairs[axis] = -(-of_numbers[axis] // 64)
    mxscale = np.clip(rng.normal(127, 12, (*pairs, 2)), 0, 255).astype(np.uint8)
    some = rng.random(mxscale.shape) < 0.1
    mxscale[some] = rng.choice([0, 1, 254, 255], int(some.sum()))
    return {
        "x": rng.integers(0, 256, shape, np.uint8).view(row.carrier),
        "mxscale": mxscale.view(scales),
        "axis": axis,
        "dst_type": to,
        "src_type": codes,
    }


def every_code_by_every_byte(rng: Rng, codes: str, to: DType) -> Tries:
    """Columns of those bytes alone, too, whose numbers are normal ones."""
    x = np.broadcast_to(np.arange(256, dtype=np.uint8), (256, 256)).view(row_of(codes).carrier)
    for axis, least, greatest in ((-1, 0, 255), (0, 0, 255), (0, 17, 240), (0, 16, 239)):
        a = arguments(rng, (256, 256), codes, to, axis)
        some = np.arange(least, greatest + 1, dtype=np.uint8)
        b = np.resize(some, a["mxscale"].shape[0 if axis else 1])
        a["mxscale"][...] = b[:, None, None] if axis else b[:, None]
        yield a | {"x": x}


CASES = [
    Case(
        name="anti_mx_quant",
        operator=npu_quant.npu_anti_mx_quant,
        reference=reference,
        arguments=arguments,
        rows=("x", "mxscale"),
        kinds={
            f"{codes}-{to.name}": {"codes": codes, "to": to}
            for codes, to in zip(FORMATS, [BFLOAT16, FLOAT16, FLOAT32, BFLOAT16], strict=True)
        },
        formulas={
            "widths": (settings(*[(3, n) for n in WIDTHS]), kinds(codes=FORMATS, to=DTYPES)),
            "columns": (
                settings(*[(70, n) for n in WIDTHS[::2]], (2, 33, 66), axis=[0, -2]),
                kinds(codes=FORMATS, to=DTYPES),
            ),
            "axes": settings((3, 40, 5, 2, 66), axis=[0, 1, 2, 3, 4], scales=["float8_e8m0fnu"]),
            "every code": (every_code_by_every_byte, kinds(codes=FORMATS, to=DTYPES)),
        },
        layouts=settings((35, 72), (2, 130, 36), (2, 2500), axis=[-1, 0]),
        outs=settings((3, 256), (130, 66), (3, 70, 33), axis=[-1, -2]),
        threads=settings((70, 2048), (1, 150_000), (3, 25, 2001), axis=[-1, -2, 0]),
        large=[],  # test_anti_mx_quant.py has them: bytes do not repeat as codes do
        same=assert_same_but_nan,
    )
]
