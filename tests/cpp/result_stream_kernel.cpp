#include "result_stream_kernel.h"

#include "simd/result_stream.h"

namespace npu_quant {
namespace {

// The bytes of a piece: vectors of it from the last one back, and what is left.
void put_piece(ResultStream& to, const char* from, char* piece, int64_t n) {
  const int64_t whole = n / kVectorBytes * kVectorBytes;
  for (int64_t i = whole; i > 0; i -= kVectorBytes)
    to.put(piece + i - kVectorBytes, load<I8>(from + i - kVectorBytes));
  std::memcpy(piece + whole, from + whole, static_cast<size_t>(n - whole));
  to.end(n);
}

}  // namespace

template <>
void StreamingKernel::run<kTarget>(const Args& args) {
  ResultStream to(true, args.y, args.n % args.part == 0 ? args.part : args.n);
  for (int64_t row = 0; row < args.rows; ++row)
    for (int64_t first = 0, n = 0; first < args.n; first += n) {
      const int64_t end = first + args.part < args.n ? first + args.part : args.n;
      n = to.piece(end - first);
      char* const y = args.y.at(row, first);
      to.expect(y, n);
      put_piece(to, args.from + row * args.n + first, to.at(y), n);
    }
  to.flush();
  stream_fence();
}

}  // namespace npu_quant
