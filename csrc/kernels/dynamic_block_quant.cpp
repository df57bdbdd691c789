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
  // Of a row whose codes begin at y.
  NPU_QUANT_INLINE void begin(char* y) {
    y_ = y;
    late_ = kTile - elements_to_alignment(y, 1, kTile);
    half_ = kSpan;
    spans_ = streamed_ = 0;
  }

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
  int64_t late_;  // of y's vectors behind the spans: 1 to kTile
  int64_t half_;  // offset of the half that is being encoded
  int64_t spans_, streamed_;
};

// Codes of a span's last block, which is a part of one.
template <class In, class Code>
__attribute__((noinline)) void encode_last(const typename In::Storage* x, char* y, int64_t n,
                                           const GroupDividers& dividers) {
  const int64_t b = n / kBlock, i = b * kBlock;
  encode<In, Code, Ends::inlined>(x + i, n - i, y + i, dividers[b]);
}

// Elements [first, first + n) of a row: as many blocks as the rule takes at once, or those that end
// the row, of which the last may be a part of one.
struct Span {
  int64_t row, first, n;
};

// Each span is encoded while the next one, perhaps of the next row, is reduced.
template <class In, class Code>
class Spans {
 public:
  explicit Spans(const DynamicArgs& args) : args_(args) {}

  void run() {
    if (args_.rows == 0) return;
    Span span{0, 0, 0};  // no elements, while the first ones are reduced
    do {
      const Span next = after(span);
      encode(span, next);
      span = next;
    } while (span.row < args_.rows);
    if (args_.stream) stream_fence();
  }

 private:
  // Of no elements after the last row.
  Span after(const Span& span) const {
    const int64_t first = span.first + span.n;
    if (first < args_.n) return {span.row, first, least(kSpan, args_.n - first)};
    const bool is_end = span.row + 1 >= args_.rows;
    return {span.row + 1, 0, is_end ? 0 : least(kSpan, args_.n)};
  }

  NPU_QUANT_INLINE void encode(const Span& span, const Span& next) {
    constexpr uintptr_t kAhead = 8 << 10;
    const GroupDividers dividers = dividers_of<In, Code>(args_, In::Amax::values(amax_.bits));
    store_scales(args_.scale, span.row, span.first / kBlock, dividers.scale,
                 ceil_div(span.n, kBlock));
    const auto* const x = x_of<In>(args_, span.row) + span.first;
    const auto* const next_x = x_of<In>(args_, next.row) + next.first;
    char* const y = y_of(args_, span.row) + span.first;
    const bool is_aligned = is_vector_aligned(y), is_whole = span.n == kSpan;
    const bool aligns = args_.stream && !is_aligned && is_whole;
    const bool streams = args_.stream && is_aligned;
    const CacheLevel level = args_.stream ? prefetch_level() : CacheLevel::first;
    // From the last block of a span back, as dynamic_quant.cpp says why.
    const int64_t turned = streams && is_whole && level == CacheLevel::second ? kLanes - 1 : 0;
    if (aligns && span.first == 0) buffer_.begin(y);
    char* const codes = aligns ? buffer_.next_span() : y;
    const int64_t blocks = span.n / kBlock, next_blocks = next.n / kBlock;
    for (int64_t b = 0; b < most(blocks, next_blocks); ++b) {
      const int64_t at = b * kBlock;
      if (next.n == kSpan) prefetch_values(level, next_x + at, kAhead, kBlock);
      if (b < blocks) encode_block(x, codes, b ^ turned, dividers, Stores{streams});
      if (b < next_blocks) amax_.reduce_group(b, next_x + at, kBlock);
      if (aligns) buffer_.stream_previous(at, kBlock);
    }
    if (aligns) {
      buffer_.end_span();
      if (next.row != span.row || next.n != kSpan) buffer_.flush();
    }
    if (span.n % kBlock > 0) encode_last<typename In::Whole, Code>(x, y, span.n, dividers);
    if (next.n % kBlock > 0) reduce_last(next_x, next.n);
  }

  // All codes, then all stores: one switch for a block, where one for each store would take 1.05 of
  // the time.
  static NPU_QUANT_INLINE void encode_block(const typename In::Storage* x, char* y, int64_t b,
                                            const GroupDividers& dividers, Stores stores) {
    constexpr int64_t kTiles = kBlock / kTile;
    I8 codes[kTiles];
    x += b * kBlock;
    y += b * kBlock;
    with_encoder<In, Code>(dividers[b], [&](auto encoder) __attribute__((always_inline)) {
      for (int64_t t = 0; t < kTiles; ++t) codes[t] = encoder(In::load_mixed(x + t * kTile));
    });
    if (stores.stream)
      for (int64_t t = 0; t < kTiles; ++t) stream(y + t * kTile, codes[t]);
    else
      for (int64_t t = 0; t < kTiles; ++t) store(y + t * kTile, codes[t]);
  }

  void reduce_last(const typename In::Storage* x, int64_t n) {
    const int64_t b = n / kBlock, i = b * kBlock;
    amax_.reduce_group(b, x + i, n - i);
  }

  const DynamicArgs args_;  // which no store to y changes
  GroupAmax<In> amax_;      // of the span to come
  AligningBuffer buffer_;
};

template <class In, class Code>
__attribute__((noinline)) void quantize_spans(const DynamicArgs& args) {
  Spans<In, Code>(args).run();
}

}  // namespace

template <>
void DynamicBlockQuantKernel::run<kTarget>(const Args& args) {
  const DefaultFloatEnvironment guard;
  visit_float(args.dtype, args.x.data, args.x.row_stride, args.stream, [&](auto in) {
    visit_byte_code(args.format,
                    [&](auto code) { quantize_spans<decltype(in), decltype(code)>(args); });
  });
}

}  // namespace npu_quant
