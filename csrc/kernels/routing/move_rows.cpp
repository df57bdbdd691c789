// Rows of tokens to their slots (docs/numerics.md 22), each read once and written as often as it is
// sent:
//   y[to[i, c]] = x[i]
#include "kernels/routing/routing.h"
#include "kernels/rows/piece.h"

namespace npu_quant {
namespace {

NPU_QUANT_INLINE bool goes_anywhere(const int64_t* to, int64_t copies) {
  for (int64_t copy = 0; copy < copies; ++copy)
    if (to[copy] != kNoRow) return true;
  return false;
}

// Elements [i, i + count) of a row, which follow on each other, to each of its copies.
void put_copies(const MoveRowsKernel::Args& args, const int64_t* to, const char* from, int64_t i,
                int64_t count) {
  for (int64_t copy = 0; copy < args.copies; ++copy) {
    if (to[copy] == kNoRow) continue;
    char* const place = args.y.data + to[copy] + i * args.y.stride;
    ScatterKernel::run<kTarget>(
        {from, count, 1, count, args.item, {place, 0, args.y.stride}, args.stream});
  }
}

// Rows of one element.
void move_elements(const MoveRowsKernel::Args& args) {
  const auto as = [&](auto bits) {
    for (int64_t i = 0; i < args.rows * args.copies; ++i)
      if (args.to[i] != kNoRow)
        std::memcpy(args.y.data + args.to[i], args.x.at(i / args.copies, 0), sizeof bits);
  };
  visit_item(args.item, as);
}

}  // namespace

template <>
void MoveRowsKernel::run<kTarget>(const Args& args) {
  if (args.n == 1 && args.x.data != nullptr) return move_elements(args);
  Buffer<> buffer;
  const bool is_zero = args.x.data == nullptr;
  const int64_t fitting = kBufferBytes / args.item;
  if (is_zero) std::memset(buffer.bytes, 0, sizeof buffer.bytes);
  for (int64_t row = 0; row < args.rows; ++row) {
    const int64_t* const to = args.to + row * args.copies;
    if (!goes_anywhere(to, args.copies)) continue;
    Source source(is_zero ? Strided{} : args.x.from(row, 0), args.item, buffer);
    const int64_t width = source.is_direct() && !is_zero ? most(args.n, 1) : fitting;
    for (int64_t i = 0; i < args.n; i += width) {
      const int64_t count = least(args.n - i, width);
      source.fetch(0, 1, i, count, count);
      put_copies(args, to, is_zero ? buffer.bytes : source.at(0, i), i, count);
    }
  }
  if (args.stream) stream_fence();
}

}  // namespace npu_quant
