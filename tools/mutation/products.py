"""Faults of the kernel of products. Each is built into one instruction set."""

from __future__ import annotations

from .kernels import A2, A5, B, K
from .mutant import Fault

ROOM = f"{K}/product"
KERNEL = "product/product"


def fault(name: str, file: str, old: str, new: str, target: str, tests: str = "matmul") -> Fault:
    """Return a fault of a file of the room."""
    return Fault(f"product: {name}", f"{ROOM}/{file}", old, new, tests, target, KERNEL)


FAULTS = [
    fault(
        "the first sums of a tile are 0, whatever they are to begin at",
        "tile.h",
        "c[r][v] = Lanes{} + start[r];",
        "c[r][v] = Lanes{};",
        A5,
    ),
    fault(
        "products of bfloat16 are fused with the sum",
        "tile.h",
        "if constexpr (exact_products && kHasFma)",
        "if constexpr (kHasFma)",
        A2,
    ),
    fault(
        "a sum of some products of a block is an ulp of float64 off",
        "tile.h",
        "+ tree<i + step, 2 * step>(a, b);",
        "+ tree<i + step, 2 * step>(a, b) * (step == 8 ? 1 + 0x1p-52 : 1);",
        B,
    ),
    fault(
        "a part of a long group begins anew",
        "product.cpp",
        "multiply_into(in_parts && !block.begins_section, sums, pitch);",
        "multiply_into(false, sums, pitch);",
        A5,
    ),
    fault(
        "the sum of weights is taken off 4 times, not 8",
        "product.cpp",
        "sum -= 8 * load<U32>",
        "sum -= 4 * load<U32>",
        A2,
    ),
    fault(
        "the power of two is halved where float32 does not hold it",
        "operands.h",
        "bit_cast<double>((int64_t{b} + 1023 - 127) << 52)",
        "bit_cast<double>((int64_t{b < 254 ? b : 253} + 1023 - 127) << 52)",
        A5,
    ),
    fault(
        "what lies behind the last k of a row is what was there before",
        "operands.h",
        "for (int64_t k = block.n; k < padded; ++k) to[r * kPitch + k] = 0;",
        "for (int64_t k = block.n; k < padded; ++k) to[r * kPitch + k] = 1;",
        A5,
    ),
    fault(
        "codes of 4 bits that begin within an element are those of its first",
        "panels.h",
        "skipped > 0 && i < n",
        "skipped > 8 && i < n",
        B,
    ),
    fault(
        "the second of two scales is the first",
        "epilogue.h",
        "second_(args.scales[1], args.columns, 1)",
        "second_(args.scales[0], args.columns, 1)",
        A2,
    ),
]
