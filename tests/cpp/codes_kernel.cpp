#include "codes_kernel.h"

#include "simd/codes.h"

namespace npu_quant {
namespace {

template <class Of>
void encode(const CodesKernel::Args& args, Of of) {
  for (int64_t i = 0; i < args.n; i += kLanes) {
    const auto n = static_cast<size_t>(args.n - i < kLanes ? args.n - i : kLanes);
    alignas(64) float v[kLanes] = {};
    std::memcpy(v, args.from + i, n * sizeof *v);
    const I32 code = of(load<F32>(v));
    uint8_t low[kLanes];
    for (int lane = 0; lane < kLanes; ++lane) low[lane] = static_cast<uint8_t>(code[lane]);
    std::memcpy(args.to + i, low, n);
  }
}

template <class Code>
void encode_small(const CodesKernel::Args& args) {
  if (args.ordinary) return encode(args, &Code::of_ordinary);
  encode(args, &Code::of);
}

template <class Code>
void decode(const ValuesKernel::Args& args) {
  for (int i = 0; i < 256; i += kTile) {
    Tile v;
    find_values<Code>(load<I8>(args.from + i), v);
    std::memcpy(args.to + i, &v, sizeof v);
  }
}

}  // namespace

template <>
void CodesKernel::run<kTarget>(const Args& args) {
  switch (args.format) {
    case Format::int8: return encode(args, &Int8::of);
    case Format::uint8: return encode(args, &Uint8::of);
    case Format::int4: return encode(args, &Int4::of);
    case Format::float8_e4m3fn: return encode_small<Float8E4M3FN>(args);
    case Format::float8_e5m2: return encode_small<Float8E5M2>(args);
    case Format::hifloat8: return encode_small<HiFloat8>(args);
    case Format::float8_e8m0fnu: return encode(args, &Float8E8M0FNU::of);
    case Format::float4_e2m1: return encode(args, [](F32 v) { return Float4E2M1{}.of(v); });
    case Format::float4_e1m2: return encode(args, [](F32 v) { return Float4E1M2{}.of(v); });
    default: __builtin_trap();
  }
}

template <>
void ValuesKernel::run<kTarget>(const Args& args) {
  switch (args.format) {
    case Format::float8_e4m3fn: return decode<Float8E4M3FN>(args);
    case Format::float8_e5m2: return decode<Float8E5M2>(args);
    case Format::hifloat8: return decode<HiFloat8>(args);
    case Format::float8_e8m0fnu: return decode<Float8E8M0FNU>(args);
    case Format::float4_e2m1: return decode<Float4E2M1>(args);
    case Format::float4_e1m2: return decode<Float4E1M2>(args);
    default: __builtin_trap();
  }
}

template <>
void NibblesKernel::run<kTarget>(const Args& args) {
  for (int i = 0; i < 256; i += kVectorBytes) {
    store(args.packed + i / 2, packed_nibbles(load<I8>(args.from + i)));
    store(args.unpacked + i, unpacked_nibbles(load<Nibbles>(args.packed + i / 2)));
  }
}

}  // namespace npu_quant
