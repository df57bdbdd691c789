// npu_dynamic_block_quant, one block per 128 elements of a row (docs/numerics.md 2):
//   amax = max|x|     scale = min(amax / 127, 1 / min_scale)     y = rint(x / scale)
#include "kernels/dynamic/dynamic.h"
#include "kernels/dynamic/reduce.h"

namespace npu_quant {
namespace {

constexpr int64_t kBlock = DynamicBlockQuantKernel::kBlock;
constexpr int64_t kSpan = kLanes * kBlock;  // elements of as many blocks as the rule takes at once
static_assert(kSpan <= ResultStream::kRoom);

// Elements [first, first + n) of a row: as many blocks as the rule takes at once, or those that end
// the row, of which the last may be a part of one.
struct Span {
  int64_t row, first, n;
};

// Each span is encoded while the next one, perhaps of the next row, is reduced.
template <class In, class Code>
class Spans {
 public:
  explicit Spans(const DynamicArgs& args) : args_(args), to_(args.stream, args.y, args.n) {}

  void run() {
    if (args_.rows == 0) return;
    Span span{0, 0, 0};  // no elements, while the first ones are reduced
    do {
      const Span next = after(span);
      encode(span, next);
      span = next;
    } while (span.row < args_.rows);
    to_.flush();
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
    const CacheLevel level = args_.stream ? prefetch_level() : CacheLevel::first;
    // From the last block of a span back, as reduce.h says why.
    const int64_t turned = span.n == kSpan && level == CacheLevel::second ? kLanes - 1 : 0;
    char* const codes = to_.at(y);
    const int64_t blocks = span.n / kBlock, next_blocks = next.n / kBlock;
    for (int64_t b = 0; b < most(blocks, next_blocks); ++b) {
      const int64_t at = b * kBlock;
      if (next.n == kSpan) prefetch_values(level, next_x + at, kAhead, kBlock);
      if (b < blocks) encode_block(x, codes, b ^ turned, dividers);
      if (b < next_blocks) amax_.reduce_group(b, next_x + at, kBlock);
    }
    if (span.n % kBlock > 0) encode_any(x, codes, blocks, span.n % kBlock, dividers);
    to_.end(span.n);
    if (next.n % kBlock > 0) reduce_last(next_x, next.n);
  }

  // All codes, then all stores: a switch for each store between them would take 1.05 of the time.
  NPU_QUANT_INLINE void encode_block(const typename In::Storage* x, char* y, int64_t b,
                                     const GroupDividers& dividers) {
    constexpr int64_t kTiles = kBlock / kTile;
    I8 codes[kTiles];
    const auto* const of_block = x + b * kBlock;
    const bool is_fast =
        with_fast_encoder<In, Code>(dividers[b], [&](auto encoder) __attribute__((always_inline)) {
          for (int64_t t = 0; t < kTiles; ++t)
            codes[t] = encoder(In::load_mixed(of_block + t * kTile));
        });
    if (!is_fast) return encode_any(x, y, b, kBlock, dividers);
    for (int64_t t = 0; t < kTiles; ++t) to_.put(y + b * kBlock + t * kTile, codes[t]);
  }
  // By any form, n values of a block.
  void encode_any(const typename In::Storage* x, char* y, int64_t b, int64_t n,
                  const GroupDividers& dividers) {
    encode_apart<typename In::Whole, Code>(x + b * kBlock, n, y + b * kBlock, to_, dividers[b]);
  }

  void reduce_last(const typename In::Storage* x, int64_t n) {
    const int64_t b = n / kBlock, i = b * kBlock;
    amax_.reduce_group(b, x + i, n - i);
  }

  const DynamicArgs args_;  // which no store to y changes
  GroupAmax<In> amax_;      // of the span to come
  ResultStream to_;
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
