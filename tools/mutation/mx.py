"""Faults of the MX kernels, of casts and of the error of weights. Each is built into one target."""

from __future__ import annotations

from .mutant import Fault

K, SIMD = "csrc/kernels", "csrc/simd"
B, A2, A5 = "baseline", "avx2", "avx512"

ROWS = [
    Fault(
        "mx_rows: the tail of a short cell is not in its amax",
        f"{K}/mx/rows.cpp",
        "least(n - i, kMxCell));",
        "least(n - i, kMxCell) - 1);",
        "mx",
        A2,
    ),
    Fault(
        "mx_rows: half of a cell is not in its amax",
        f"{K}/mx/rows.cpp",
        "for (int64_t i = kCount; i < kMxCell; i += kCount)",
        "for (int64_t i = kCount; i < kMxCell / 2; i += kCount)",
        "mx",
        B,
    ),
    Fault(
        "mx_rows: a block of several cells goes by its first one",
        f"{K}/mx/rows.cpp",
        "greatest = amax_[cell] > greatest ? amax_[cell] : greatest;",
        "greatest = amax_[b * of_block] > greatest ? amax_[cell] : greatest;",
        "mx",
        A5,
    ),
    Fault(
        "mx_rows: the lane without a block keeps what was there",
        f"{K}/mx/rows.cpp",
        "if (block + blocks == all && all % 2 == 1) bytes_[blocks++] = 0;",
        "if (block + blocks == all && all % 2 == 1) ++blocks;",
        "mx",
        A2,
    ),
    Fault(
        "mx_rows: the strides of scales are taken for the usual ones",
        f"{K}/mx/rows.cpp",
        "if (to.lane_stride == 1 && to.pair_stride == 2)",
        "if (to.lane_stride == 1)",
        "mx",
        B,
    ),
    Fault(
        "mx_rows: the last codes of a row are those of the factor before",
        f"{K}/mx/rows.cpp",
        "const auto codes = codes_at(end.values, i);",
        "const auto codes = codes_at(end.values, i > 0 ? i - kMxCell : i);",
        "mx",
        A5,
    ),
    Fault(
        "mx_rows: codes of a block with NaN stay",
        f"{K}/mx/rows.cpp",
        "if (__builtin_expect(has_special_, false)) clear_special(n, y);",
        "",
        "mx",
        B,
    ),
    Fault(
        "mx_rows: strips of a transposed y take the first scales",
        f"{K}/mx/rows.cpp",
        "args.scales.from(row, i * packed / pair)",
        "args.scales.from(row, 0)",
        "mx",
        A2,
    ),
]

COLUMNS = [
    Fault(
        "mx_columns: a pair without a second block has the first one's byte",
        f"{K}/mx/columns.cpp",
        "if (rows == 0) std::memset(bytes_[lane], 0, sizeof bytes_[lane]);",
        "",
        "mx",
        A5,
    ),
    Fault(
        "mx_columns: only the first rows of a block are in its amax",
        f"{K}/mx/columns.cpp",
        "for (int64_t s = 0; s < some; s += kRowsInTurn)",
        "for (int64_t s = 0; s < least(some, 3 * kRowsInTurn); s += kRowsInTurn)",
        "mx",
        B,
    ),
    Fault(
        "mx_columns: a tile goes by the amax of half its columns",
        f"{K}/mx/columns.cpp",
        "all = max(all, load<Vector>(cell + i * kVectorBytes));",
        "all = i == 0 ? load<Vector>(cell) : all;",
        "mx",
        A2,
    ),
    Fault(
        "mx_columns: the bytes of a tile's rows come from the other lane",
        f"{K}/mx/columns.cpp",
        "const uint8_t* const bytes = bytes_[lane] + c;",
        "const uint8_t* const bytes = bytes_[0] + c;",
        "mx",
        A5,
    ),
    Fault(
        "mx_columns: where x is gathered a block is encoded from its last rows",
        f"{K}/mx/columns.cpp",
        "if (rows > together) x_.fetch(row + r, some, i, n, width_);",
        "",
        "mx",
        B,
    ),
    Fault(
        "mx_columns: the codes of columns with NaN stay",
        f"{K}/mx/columns.cpp",
        "if (__builtin_expect(has_special_, false))",
        "if (has_special_ && lane == 1)",
        "mx",
        A2,
    ),
]

BLOCKS = [
    Fault(
        "mx_blocks: infinity is a great number",
        f"{K}/mx/blocks.h",
        "return bits >= kInfinityBits ?",
        "return bits > kInfinityBits ?",
        "mx",
        A2,
        "mx/rows",
    ),
    Fault(
        "mx_blocks: the fraction of subnormal numbers is dropped",
        f"{K}/mx/blocks.h",
        "bits + min(bits - (1 << 23), I32{});",
        "bits;",
        "mx",
        A5,
        "mx/columns",
    ),
    Fault(
        "mx_blocks: the factor of byte 254 is 0",
        f"{K}/mx/blocks.h",
        "max((254 - bytes) << 23, I32{} + (1 << 22))",
        "max((254 - bytes) << 23, I32{})",
        "mx",
        B,
        "mx/rows",
    ),
    Fault(
        "mx_blocks: a byte below 0 is not 0",
        f"{K}/mx/blocks.h",
        "max(exponent - rule.emax, I32{})",
        "max(exponent - rule.emax, I32{} + 1)",
        "mx",
        A5,
        "mx/rows",
    ),
    Fault(
        "mx_blocks: a code beyond the greatest is not bounded",
        f"{K}/mx/blocks.h",
        "Bytes{} + Code::kGreatestCode",
        "Bytes{} + 0x7f",
        "mx",
        A2,
        "mx/columns",
    ),
    Fault(
        "mx_blocks: rounding to the number below goes to the nearest",
        f"{SIMD}/small_floats.h",
        "if (rounding == Rounding::floor) is_up = is_negative;",
        "",
        "mx",
        A5,
        "mx/rows",
    ),
]

ANTI = [
    Fault(
        "anti_mx_quant: numbers too great for the fast way take it",
        f"{K}/mx/anti.cpp",
        "kMoreOrdinary = 222",
        "kMoreOrdinary = 238",
        "anti_mx_quant formula",
        A2,
    ),
    Fault(
        "anti_mx_quant: columns of the second block go by the first one's bytes",
        f"{K}/mx/anti.cpp",
        "+ b % 2 * args_.scales.lane_stride;\n    // So",
        ";\n    // So",
        "anti_mx_quant formula",
        B,
    ),
    Fault(
        "anti_mx_quant: short rows all go by the first byte",
        f"{K}/mx/anti.cpp",
        "*byte++ = *args_.scales.from(r, 0).data;",
        "*byte++ = *args_.scales.from(row, 0).data;",
        "anti_mx_quant formula",
        A5,
    ),
    Fault(
        "anti_mx_quant: the last numbers of a row are not written",
        f"{K}/mx/anti.cpp",
        "static_cast<size_t>((n - t) * kItem)",
        "static_cast<size_t>((n - t - 1) * kItem)",
        "anti_mx_quant formula",
        A2,
    ),
]

CASTS = [
    Fault(
        "dtype_cast: NaN of e8m0 is infinity",
        f"{SIMD}/small_floats.h",
        "code == 255 ? I32{} + kQuietNaNBits : bits",
        "code == 255 ? I32{} + kInfinityBits : bits",
        "dtype_cast small_formats",
        A2,
        "elementwise/dtype_cast",
    ),
    Fault(
        "dtype_cast: a tie of e8m0 goes down",
        f"{SIMD}/small_floats.h",
        "(bits + (1 << 22)) >> 23",
        "(bits + (1 << 22) - 1) >> 23",
        "dtype_cast small_formats",
        A5,
        "elementwise/dtype_cast",
    ),
    Fault(
        "dtype_cast: -0 of float4 is 0",
        f"{SIMD}/small_floats.h",
        "(code << 12 & -0x8000) | (code << kUp & kMagnitude)",
        "code << kUp & kMagnitude",
        "dtype_cast small_formats",
        B,
        "elementwise/dtype_cast",
    ),
    Fault(
        "dtype_cast: the least value of hifloat8 begins late",
        f"{SIMD}/small_floats.h",
        "magnitude >= broadcast(0x1p-23f)",
        "magnitude > broadcast(0x1p-23f)",
        "dtype_cast small_formats",
        A5,
        "elementwise/dtype_cast",
    ),
]

WEIGHT_ERROR = [
    Fault(
        "checkpoint: 2^-127 counts as 0",
        f"{K}/compare/weight_error.cpp",
        "byte == 0 ? 1 << 22 : byte << 23",
        "byte << 23",
        "checkpoint_error",
        B,
    ),
    Fault(
        "checkpoint: what is left of a row goes by the first scale of the row",
        f"{K}/compare/weight_error.cpp",
        "codes + i, scales + Codes::scale_of(i), args_.n - i, sums)",
        "codes + i, scales, args_.n - i, sums)",
        "checkpoint_error",
        A2,
    ),
    Fault(
        "checkpoint: scales of rows of a ragged length begin too early",
        f"{K}/compare/weight_error.cpp",
        "return ceil_div(n, kMxCell); }",
        "return n / kMxCell; }",
        "checkpoint_error",
        A5,
    ),
    Fault(
        "checkpoint: an infinite error is not bounded",
        f"{K}/compare/weight_error.cpp",
        "if (!(error.greatest < __builtin_inf()))",
        "if (error.greatest != error.greatest)",
        "checkpoint_error",
        B,
    ),
    Fault(
        "checkpoint: the greatest error is that of the first part",
        f"{K}/compare/weight_error.cpp",
        "greatest = max(greatest, magnitude_bits(e));",
        "if (p == 0) greatest = max(greatest, magnitude_bits(e));",
        "checkpoint_error",
        A5,
    ),
    Fault(
        "checkpoint: lanes of a sum are added twice",
        f"{K}/compare/weight_error.cpp",
        "part[p * kLanes % kSumLanes / kDoubles + i]",
        "part[(p * kLanes % kSumLanes / kDoubles + i) / 2 * 2]",
        "checkpoint_error",
        A2,
    ),
]

DUAL = f"{K}/mx/dual_level.cpp"
TWO_LEVELS = [
    Fault(
        "mx_dual_level: a group goes on into the next one",
        DUAL,
        "const int64_t count = least(n - first, kGroup);",
        "const int64_t count = n - first;",
        "dual_level",
        B,
    ),
    Fault(
        "mx_dual_level: scales are products with a sixth",
        DUAL,
        "In::Amax::value(amax.bits()) / args_.greatest",
        "In::Amax::value(amax.bits()) * (1 / args_.greatest)",
        "dual_level",
        A2,
    ),
    Fault(
        "mx_dual_level: a group of zeros is divided",
        DUAL,
        "scale == 0 ? 1 : scale",
        "scale",
        "dual_level",
        A5,
    ),
    Fault(
        "mx_dual_level: scales of a later part lie where the first one's do",
        DUAL,
        "(i + first) / kGroup, scale",
        "first / kGroup, scale",
        "dual_level",
        A2,
    ),
    Fault(
        "mx_dual_level: a strip's scales of groups begin with the row",
        DUAL,
        "args.scale.from(row, 2 * i / kGroup)",
        "args.scale.from(row, 0)",
        "dual_level",
        B,
    ),
]

FAULTS = [*ROWS, *COLUMNS, *BLOCKS, *TWO_LEVELS, *ANTI, *CASTS, *WEIGHT_ERROR]
