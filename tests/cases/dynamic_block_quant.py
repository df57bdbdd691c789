"""npu_dynamic_block_quant: a scale per block."""

from __future__ import annotations

from exhaustive import every
from witnesses import normal, random_patterns, with_specials

import npu_quant
from cases.case import (
    BFLOAT16,
    DTYPES,
    FLOAT16,
    Arguments,
    Case,
    DType,
    Rng,
    Tries,
    kinds,
    settings,
    whole_elements,
)
from npu_quant.ops.dynamic_block_quant import reference

# Around a block (128), a group of blocks on each target (512, 1024, 2048), and ragged ends of each.
WIDTHS = [1, 16, 127, 128, 129, 300, 511, 512, 513, 1024, 1100, 2047, 2048, 2049, 4096, 6300]


FORMATS = ["int4", "float8_e4m3fn", "float8_e5m2", "hifloat8"]
# Rows and columns of blocks, and what shapes have them whole, in part and several times.
BLOCKS = [(1, 64), (64, 192), (128, 128), (256, 256), (512, 64)]
MATRICES = [(3, 8), (2, 130, 200), (600, 512)]


def arguments(
    rng: Rng,
    shape: tuple[int, ...],
    dtype: DType,
    min_scale: float = 0.0,
    to: str = "int8",
    block: tuple[int, int] = (1, 128),
    greatest: float = 0.0,
) -> Arguments:
    if to == "int4":
        shape = whole_elements(shape)
    return {
        "x": normal(rng, shape, dtype),
        "min_scale": min_scale,
        "dst_type": to,
        "row_block_size": block[0],
        "col_block_size": block[1],
        "dst_type_max": greatest,
        "round_mode": "round" if to == "hifloat8" else "rint",
    }


def sprinkled(rng: Rng, a: Arguments) -> Arguments:
    return a | {"x": with_specials(rng, a["x"])}


def a_hundred_million(rng: Rng, dtype: DType) -> Tries:
    """Over the dtypes, 1.2 * 10^8 values, or an eighth of them."""
    for i in range(10):
        x = random_patterns(rng, ((1 << 15) // every(8), 1 << 7), dtype).reshape(-1, 1 << 12)
        to = ["int8", *FORMATS][i % 5]
        yield {"x": x, "dst_type": to, "round_mode": "round" if to == "hifloat8" else "rint"}


CASES = [
    Case(
        name="dynamic_block_quant",
        operator=npu_quant.npu_dynamic_block_quant,
        reference=reference,
        fields=("y", "scale"),
        arguments=arguments,
        sprinkled=sprinkled,
        rows=("x",),
        kinds=kinds(dtype=DTYPES),
        formulas={
            "widths": settings(*[(5, n) for n in WIDTHS], min_scale=[0.0, 3.7]),
            "formats": settings(*[(5, n) for n in WIDTHS[::2]], min_scale=[0.0, 3.7], to=FORMATS),
            "blocks": settings(*MATRICES, to=["int8", *FORMATS], block=BLOCKS),
            "greatest": settings((5, 300), to=["hifloat8"], greatest=[15.0, 56.0, 224.0, 32768.0]),
            "a hundred million": a_hundred_million,
        },
        layouts=[
            *settings((35, 70), (3, 2, 130), (2, 4500), (2, 3, 2176)),
            *settings((35, 72), (2, 130, 72), to=FORMATS, block=[(1, 64), (64, 128)]),
        ],
        outs=[
            *settings((3, 256), (3, 300), (3, 4096)),
            *settings((130, 328), to=FORMATS, block=[(1, 128), (64, 192)]),
        ],
        threads=settings(*[(70, 4096), (1, 300_000), (2, 150_001), (3, 25, 4000)], dtype=[BFLOAT16])
        + settings((3, 25, 4000), dtype=[BFLOAT16], to=["int4"], block=[(128, 128)]),
        large=[
            *settings((67, 4096), (67, 4001), dtype=[FLOAT16]),
            *settings(
                (67, 4000),
                dtype=[FLOAT16],
                to=["int4", "float8_e5m2"],
                block=[(1, 128), (256, 192)],
            ),
        ],
    )
]
