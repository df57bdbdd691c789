#include "codes_kernel.h"

#include "simd/codes.h"

namespace npu_quant {
namespace {

template <class Code>
void encode(const float* from, int64_t n, uint8_t* to) {
  for (int64_t i = 0; i < n; ++i) {
    const I32 code = Code::of(broadcast(from[i]));
    to[i] = static_cast<uint8_t>(code[static_cast<int>(i % kLanes)]);
  }
}

}  // namespace

template <>
void CodesKernel::run<kTarget>(const Args& args) {
  switch (args.code) {
    case Code::int8: return encode<Int8>(args.from, args.n, args.to);
    case Code::uint8: return encode<Uint8>(args.from, args.n, args.to);
    case Code::float8_e4m3fn: return encode<Float8E4M3FN>(args.from, args.n, args.to);
  }
}

}  // namespace npu_quant
