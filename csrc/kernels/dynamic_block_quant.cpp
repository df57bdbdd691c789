// npu_dynamic_block_quant, one block per 128 elements of a row (docs/numerics.md 2):
//   amax = max|x|     scale = min(amax / 127, 1 / min_scale)     y = rint(x / scale)
#include "kernels/dynamic_quant.h"
#include "kernels/reduce_encode.h"

namespace npu_quant {
namespace {

constexpr int64_t kBlock = DynamicBlockQuantKernel::kBlock;
constexpr int64_t kSpan = kLanes * kBlock;  // elements of as many blocks as the rule takes at once

// Codes for a y that streaming stores cannot take as it lies: each span of codes is encoded here,
// and streamed in whole vectors of y, piece by piece, while the next one is encoded into the
// other half.
class AligningBuffer {
 public:
  explicit AligningBuffer(char* y) : y_(y), late_(kTile - elements_to_alignment(y, 1, kTile)) {}

  // Where the span to come is encoded, and the span before it streamed from.
  NPU_QUANT_INLINE char* next_span() {
    half_ ^= kSpan;
    if (half_ == 0) store(memory_, load<I8>(memory_ + 2 * kSpan));  // what precedes the first half
    return memory_ + kTile + half_;
  }

  // Streams n codes of the span before, from its code `at` on less the `late_` codes by which y's
  // vectors lag.
  NPU_QUANT_INLINE void stream_previous(int64_t at, int64_t n) {
    const char* from = memory_ + kTile + (half_ ^ kSpan) + at - late_;
    if (spans_ == 0) return;
    for (int64_t i = 0; i < n; i += kTile) {
      if (__builtin_expect(streamed_ == 0, false))
        std::memcpy(y_, from + late_, static_cast<size_t>(kTile - late_));
      else
        stream(y_ - late_ + streamed_, load<I8>(from + i));
      streamed_ += kTile;
    }
  }
  NPU_QUANT_INLINE void end_span() { ++spans_; }

  // Streams the last span; then y is complete.
  NPU_QUANT_INLINE void flush() {
    if (spans_ == 0) return;
    next_span();
    stream_previous(0, kSpan);
    const char* end = memory_ + kTile + (half_ ^ kSpan) + kSpan;
    std::memcpy(y_ + spans_ * kSpan - late_, end - late_, static_cast<size_t>(late_));
  }

 private:
  alignas(64) char memory_[kTile + 2 * kSpan];
  char* y_;
  int64_t late_;          // of y's vectors behind the spans: 1 to kTile
  int64_t half_ = kSpan;  // offset of the half that is being encoded
  int64_t spans_ = 0;
  int64_t streamed_ = 0;
};

// The whole spans of a row, each encoded while the next one, perhaps of the next row, is reduced.
// Returns the number of elements done.
template <class In, class Code, bool streams>
NPU_QUANT_INLINE int64_t quantize_spans(const DynamicArgs& args, int64_t row, char* y,
                                        GroupAmax<In>& amax) {
  constexpr uintptr_t kAhead = 8 << 10;
  const auto* const x = x_of<In>(args, row);
  const CacheLevel level = args.stream ? prefetch_level() : CacheLevel::first;
  // From the last block of a span back, as dynamic_quant.cpp says why.
  const int64_t turned = streams && level == CacheLevel::second ? kLanes - 1 : 0;
  AligningBuffer buffer(y);
  const bool aligns = args.stream && !streams;
  if (args.n >= kSpan && row == 0)
    for (int64_t b = 0; b < kLanes; ++b) amax.reduce_group(b, x + b * kBlock, kBlock);
  int64_t first = 0;
  for (; first + kSpan <= args.n; first += kSpan) {
    const GroupDividers dividers = dividers_of<In, Code>(args, In::Amax::values(amax.bits));
    store_scales(args.scale, row, first / kBlock, dividers.scale, kLanes);
    const bool is_last = first + 2 * kSpan > args.n;
    const auto* const next =  // the last row's is not used
        is_last ? x_of<In>(args, least(row + 1, args.rows - 1)) : x + first + kSpan;
    char* const codes = aligns ? buffer.next_span() : y + first;
    for (int64_t b = 0; b < kLanes; ++b) {
      const int64_t at = b * kBlock;
      const int64_t coded = b ^ turned, from = coded * kBlock;
      prefetch_values(level, next + at, kAhead, kBlock);
      with_encoder<In, Code>(dividers[coded], [&](auto encoder) __attribute__((always_inline)) {
        encode<In>(x + first + from, kBlock, codes + from, Stores{streams}, encoder, Nothing{});
      });
      amax.reduce_group(b, next + at, kBlock);
      if (aligns) buffer.stream_previous(at, kBlock);
    }
    if (aligns) buffer.end_span();
  }
  if (aligns) buffer.flush();
  return first;
}

// The elements of a row from `first` on, fewer than a span: the last block may be a part of one.
template <class In, class Code>
NPU_QUANT_INLINE void quantize_end(const DynamicArgs& args, int64_t row, char* y, int64_t first) {
  const auto* const x = x_of<In>(args, row);
  const auto length = [&](int64_t i) { return least(kBlock, args.n - i); };
  GroupAmax<In> amax;
  int64_t blocks = 0;
  for (int64_t i = first; i < args.n; i += kBlock) amax.reduce_group(blocks++, x + i, length(i));
  const GroupDividers dividers = dividers_of<In, Code>(args, In::Amax::values(amax.bits));
  store_scales(args.scale, row, first / kBlock, dividers.scale, blocks);
  for (int64_t i = first, b = 0; i < args.n; i += kBlock, ++b)
    with_encoder<In, Code>(dividers[b], [&](auto encoder) __attribute__((always_inline)) {
      encode<In>(x + i, length(i), y + i, encoder);
    });
}

template <class In, class Code>
__attribute__((noinline)) void quantize_rows(const DynamicArgs& args) {
  GroupAmax<In> amax;
  for (int64_t row = 0; row < args.rows; ++row) {
    char* const y = y_of(args, row);
    const int64_t done = args.stream && is_vector_aligned(y)
                             ? quantize_spans<In, Code, true>(args, row, y, amax)
                             : quantize_spans<In, Code, false>(args, row, y, amax);
    if (done < args.n) quantize_end<In, Code>(args, row, y, done);
  }
  if (args.stream) stream_fence();
}

}  // namespace

template <>
void DynamicBlockQuantKernel::run<kTarget>(const Args& args) {
  const DefaultFloatEnvironment guard;
  visit_float(args.dtype, args.x.data, args.x.row_stride, args.stream, [&](auto in) {
    visit_byte_code(args.format,
                    [&](auto code) { quantize_rows<decltype(in), decltype(code)>(args); });
  });
}

}  // namespace npu_quant
