"""Faults of the elementwise kernels. Each is built into one instruction set."""

from __future__ import annotations

from .mutant import Fault

K, SIMD = "csrc/kernels", "csrc/simd"
B, A2, A5 = "baseline", "avx2", "avx512"

FAKE_QUANTIZE = [
    Fault(
        "fake_quantize: the mask is 0 at quant_max",
        f"{K}/fake_quantize.cpp",
        "c.part[i] = range.clamp(q.part[i]);",
        "c.part[i] = range.clamp(q.part[i]);\n"
        "q.part[i] = q.part[i] == range.greatest ? F32{} - 1 : q.part[i];",
        "fake_quantize",
        A2,
    ),
    Fault(
        "fake_quantize: -0 of a zero point that is no integer stays",
        f"{K}/fake_quantize.cpp",
        "rint(zero_point + v) + 0.0f",
        "rint(zero_point + v)",
        "fake_quantize",
        B,
    ),
    Fault(
        "fake_quantize: the last mask of a short row is not written",
        f"{K}/elementwise.h",
        "end.written_mask + end.first, static_cast<size_t>(end.count)",
        "end.written_mask + end.first, static_cast<size_t>(end.count - 1)",
        "fake_quantize",
        A5,
        "fake_quantize",
    ),
    Fault(
        "fake_quantize: the mask of a streamed end comes too late",
        f"{K}/elementwise.h",
        "!y_.is_direct() || piece_.written_mask != nullptr ||",
        "!y_.is_direct() ||",
        "fake_quantize",
        A2,
        "fake_quantize",
    ),
    Fault(
        "fake_quantize: the last rows of a transposed array are read in part",
        f"{SIMD}/gather.h",
        "row < square_rows ? square_columns : 0",
        "square_columns",
        "fake_quantize",
        A2,
        "fake_quantize",
    ),
    Fault(
        "quantize: joined rows go by the parameters of the first",
        f"{K}/piece.h",
        "parameter_at(parameter, row + r, i)",
        "parameter_at(parameter, row, i)",
        "quantize",
        B,
        "quantize",
    ),
    Fault(
        "quantize: results that run backwards are in the order of rows",
        f"{SIMD}/gather.h",
        "scatter(from + (rows - 1) * width, -width,",
        "scatter(from, width,",
        "quantize",
        B,
        "quantize",
    ),
]

QUANTIZE = [
    Fault(
        "quantize: a reciprocal outside of the range it is proven for",
        f"{K}/quantize.cpp",
        "least_scale >= 0x1p-50f",
        "least_scale >= 0",
        "quantize",
        A5,
    ),
    Fault(
        "quantize: trunc rounds down",
        f"{K}/quantize.cpp",
        "return trunc(v)",
        "return floor(v)",
        "quantize",
        B,
    ),
    Fault(
        "quantize: sqrt_mode is ignored",
        f"{K}/quantize.cpp",
        "if (twice) q.part[i] *= scale;",
        "",
        "quantize",
        A2,
    ),
    Fault(
        "quantize_val: half rounds up",
        f"{K}/quantize_val.cpp",
        "rint(q.part[i] * parameters(kInverse, i))",
        "floor(q.part[i] * parameters(kInverse, i) + 0.5f)",
        "quantize_val quantizer",
        A2,
    ),
    Fault(
        "quantize_val: NaN is not the least code",
        f"{SIMD}/codes.h",
        "max(v, broadcast(least))",
        "max(broadcast(least), v)",
        "quantize_val quantizer",
        A5,
        "quantize_val",
    ),
    Fault(
        "quantize_val: too large for int32 is the least code",
        f"{SIMD}/codes.h",
        "v.part[i] >= 0x1p31f ? I32{} + INT32_MAX : code",
        "code",
        "quantize_val quantizer",
        B,
        "quantize_val",
    ),
    Fault(
        "quantize_val: parameters of a short row are 1",
        f"{K}/elementwise.h",
        "i < n ? tile.parameters[w][i].value : 1",
        "1",
        "quantize_val quantizer",
        B,
        "quantize_val",
    ),
]

ANTI_QUANT = [
    Fault(
        "anti_quant: sqrt_mode is ignored",
        f"{K}/anti_quant.cpp",
        "if (sqrt_mode) y.part[i] *= scale;",
        "",
        "anti_quant",
        A2,
    ),
    Fault(
        "anti_quant: the strides of x are swapped",
        f"{K}/piece.h",
        "gather(x_.from(row, i).data, x_.row_stride, x_.stride,",
        "gather(x_.from(row, i).data, x_.stride, x_.row_stride,",
        "anti_quant",
        B,
        "anti_quant",
    ),
    Fault(
        "anti_quant: what is streamed before an alignment is not written",
        f"{K}/elementwise.h",
        "if (head > 0) map_end(0, head);",
        "",
        "anti_quant",
        A5,
        "anti_quant",
    ),
    Fault(
        "anti_quant: some NaN become -0 in bfloat16",
        f"{SIMD}/values.h",
        "bit_cast<I32>(v.part[i]) | 0x00400000",
        "bits[i]",
        "anti_quant",
        A5,
        "anti_quant",
    ),
    Fault(
        "anti_quant: half rounds up in float16",
        f"{SIMD}/vec_baseline.h",
        "0xfff + ((magnitude >> 13) & 1)",
        "I32{} + 0x1000",
        "anti_quant",
        B,
        "anti_quant",
    ),
    Fault(
        "anti_quant: the first ends of many streamed rows are lost",
        f"{K}/elementwise.h",
        "if (ends_ == kMostEnds) put_ends();",
        "if (ends_ == kMostEnds) ends_ = 0;",
        "anti_quant",
        A5,
        "anti_quant",
    ),
    Fault(
        "anti_quant: the last ends of streamed rows are lost",
        f"{K}/elementwise.h",
        "    put_ends();\n    if (args_.stream)",
        "    if (args_.stream)",
        "anti_quant",
        B,
        "anti_quant",
    ),
    Fault(
        "anti_quant: a transposed result repeats its first columns",
        f"{SIMD}/gather.h",
        "from + row * width + column)",
        "from + row * width)",
        "anti_quant",
        A5,
        "anti_quant",
    ),
]

FAULTS = [*FAKE_QUANTIZE, *QUANTIZE, *ANTI_QUANT]
