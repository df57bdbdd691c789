// npu_dynamic_block_quant, one block per 128 elements of a row (docs/numerics.md 2):
//   amax = max|x|     scale = min(amax / 127, 1 / min_scale)     y = rint(x / scale)
#include "kernels/dynamic_block_quant.h"

#include "kernels/reduce_encode.h"

namespace npu_quant {
namespace {

struct Args : DynamicBlockQuantKernel::Args {
  float max_scale;  // fl(1 / fl(min_scale)), or inf
};

constexpr int64_t kBlock = DynamicBlockQuantKernel::kBlock;
// Blocks are handled in groups of kLanes, so that the scale rule runs on vectors, one block per
// lane.
constexpr int64_t kGroup = kLanes * kBlock;

// The amax of one group's blocks, as bit patterns; lanes without a block hold 0.
template <class Values>
struct GroupAmax {
  alignas(64) typename Values::Amax::Bits bits[kLanes] = {};

  NPU_QUANT_INLINE void reduce_block(int64_t b, Values v, int64_t length) {
    typename Values::Amax block;
    reduce(v, length, block);
    bits[b] = block.bits();
  }
};

struct GroupQuotients {
  alignas(64) float scale[kLanes];
  alignas(64) float reciprocal[kLanes];
  alignas(64) int32_t form[kLanes];

  NPU_QUANT_INLINE Quotient<float, int32_t> operator[](int64_t b) const {
    return {scale[b], reciprocal[b], form[b]};
  }
};

template <class Arithmetic, class Values>
NPU_QUANT_INLINE GroupQuotients scale_rule(const GroupAmax<Values>& group, float max_scale) {
  const F32 amax = Values::Amax::values(group.bits);
  const F32 unbounded = Arithmetic::scale(amax);
  const F32 scale = unbounded > max_scale ? broadcast(max_scale) : unbounded;  // keeps NaN
  auto quotient = Arithmetic::template quotient<Values, I32>(amax, scale);
  quotient.form &= scale == unbounded;  // a bounded scale saturates, which only kDivide (0) does
  GroupQuotients quotients;
  store(quotients.scale, quotient.scale);
  store(quotients.reciprocal, quotient.reciprocal);
  store(quotients.form, quotient.form);
  return quotients;
}

NPU_QUANT_INLINE void store_scales(const Args& args, char* scale, const float* from,
                                   int64_t blocks) {
  if (scale == nullptr) return;
  if (args.scale_stride == 4 && blocks == kLanes)
    std::memcpy(scale, from, 4 * kLanes);
  else
    for (int64_t b = 0; b < blocks; ++b) store_scale(scale + b * args.scale_stride, from[b]);
}

// The whole groups among n elements, each encoded while the next is reduced. Returns the number of
// elements done.
template <class Arithmetic, class Store, class Values>
NPU_QUANT_INLINE int64_t quantize_groups(const Args& args, Values v, int64_t n, int8_t* y,
                                         char* scale) {
  constexpr int64_t kAhead = 8 * 1024 / static_cast<int64_t>(sizeof(*v.x));
  AligningBuffer<kGroup> buffer(y);
  const bool aligns = args.stream && !Store::kStreams;
  GroupAmax<Values> group;
  if (n >= kGroup)
    for (int64_t b = 0; b < kLanes; ++b) group.reduce_block(b, v.from(b * kBlock), kBlock);
  int64_t first = 0;
  for (; first + kGroup <= n; first += kGroup) {
    const GroupQuotients quotients = scale_rule<Arithmetic>(group, args.max_scale);
    if (scale != nullptr)
      store_scales(args, scale + first / kBlock * args.scale_stride, quotients.scale, kLanes);
    const bool is_last = first + 2 * kGroup > n;
    const Values next = v.from(is_last ? first : first + kGroup);  // the last one's is not used
    int8_t* const codes = aligns ? buffer.next_group() : y + first;
    for (int64_t b = 0; b < kLanes; ++b) {
      const int64_t at = b * kBlock;
      prefetch_values(next.from(at + kAhead), kBlock);
      with_encoder<Values>(quotients[b], [&](auto encoder) {
        encode<Store>(v.from(first + at), kBlock, codes + at, encoder);
      });
      group.reduce_block(b, next.from(at), kBlock);
      if (aligns) buffer.stream_previous(at, kBlock);
    }
    if (aligns) buffer.end_group();
  }
  if (aligns) buffer.flush();
  return first;
}

// Fewer elements than a group: some blocks, the last one perhaps short. y may be null.
template <class Arithmetic, class Values>
void quantize_partial_group(const Args& args, Values v, int64_t n, int8_t* y, char* scale) {
  const int64_t blocks = (n + kBlock - 1) / kBlock;
  const auto length = [n](int64_t b) { return least(n - b * kBlock, kBlock); };
  GroupAmax<Values> group;
  for (int64_t b = 0; b < blocks; ++b) group.reduce_block(b, v.from(b * kBlock), length(b));
  const GroupQuotients quotients = scale_rule<Arithmetic>(group, args.max_scale);
  store_scales(args, scale, quotients.scale, blocks);
  for (int64_t b = 0; b < blocks && y != nullptr; ++b)
    with_encoder<Values>(quotients[b], [&](auto encoder) {
      encode<KeepInCache>(v.from(b * kBlock), length(b), y + b * kBlock, encoder);
    });
}

template <class Arithmetic, class Store, class Values>
void quantize_row(const Args& args, Values v, int8_t* y, char* scale) {
  const int64_t done = quantize_groups<Arithmetic, Store>(args, v, args.n, y, scale);
  if (done == args.n) return;
  char* rest = scale == nullptr ? nullptr : scale + done / kBlock * args.scale_stride;
  quantize_partial_group<Arithmetic>(args, v.from(done), args.n - done, y + done, rest);
}

// The place of a row's scales from a block on, or null.
NPU_QUANT_INLINE char* scale_at(const Args& args, int64_t row, int64_t element) {
  if (args.scale == nullptr) return nullptr;
  return args.scale + row * args.scale_row_stride + element / kBlock * args.scale_stride;
}

template <class Arithmetic, class Values>
void store_scales_only(const Args& args, Values values) {
  for (int64_t row = 0; row < args.rows; ++row)
    for (int64_t i = 0; i < args.n; i += kGroup)
      quantize_partial_group<Arithmetic>(
          args, values.with(args.x + row * args.x_row_stride).from(i), least(args.n - i, kGroup),
          nullptr, scale_at(args, row, i));
}

// Some rows of any strides, at most kRowsAtOnce, from `first` on: through buffers, some blocks at a
// time. y may be null, for the scale alone.
template <class Arithmetic, class Values>
void quantize_gathered(const Args& args, Values values, int64_t first, int64_t rows) {
  alignas(64) typename Values::In::Bits buffer[kBuffer];
  int8_t codes[kGroup];
  const int64_t width = rows == 1 ? kGroup : kBuffer / kRowsAtOnce;
  static_assert(kBuffer / kRowsAtOnce % kBlock == 0 && kGroup <= kBuffer);
  for (int64_t i = 0; i < args.n; i += width) {
    const int64_t count = least(args.n - i, width);
    gather(args.x + first * args.x_row_stride + i * args.x_stride, args.x_row_stride, args.x_stride,
           rows, count, buffer, width);
    for (int64_t r = 0; r < rows; ++r) {
      char* y = args.y + (first + r) * args.y_row_stride + i * args.y_stride;
      const bool direct = args.y_stride == 1;
      int8_t* to = args.y == nullptr ? nullptr : direct ? reinterpret_cast<int8_t*>(y) : codes;
      quantize_partial_group<Arithmetic>(args, values.with(buffer + r * width), count, to,
                                         scale_at(args, first + r, i));
      if (to == codes) scatter(codes, count, y, args.y_stride);
    }
  }
}

template <class Arithmetic, class Values>
void quantize_rows(const Args& args, Values values) {
  const bool contiguous = args.x_stride == sizeof(typename Values::In::Storage);
  if (contiguous && args.y == nullptr) return store_scales_only<Arithmetic>(args, values);
  if (!contiguous || args.y_stride != 1) {
    const int64_t step = rows_share_lines(args.x_row_stride, args.x_stride) ? kRowsAtOnce : 1;
    for (int64_t row = 0; row < args.rows; row += step)
      quantize_gathered<Arithmetic>(args, values, row, least(args.rows - row, step));
    return;
  }
  for (int64_t row = 0; row < args.rows; ++row) {
    const auto v = values.with(args.x + row * args.x_row_stride);
    auto* y = reinterpret_cast<int8_t*>(args.y + row * args.y_row_stride);
    if (args.stream && is_vector_aligned(y))
      quantize_row<Arithmetic, StreamToMemory>(args, v, y, scale_at(args, row, 0));
    else
      quantize_row<Arithmetic, KeepInCache>(args, v, y, scale_at(args, row, 0));
  }
}

}  // namespace

template <>
void DynamicBlockQuantKernel::run<kTarget>(const Args& args) {
  const DefaultFloatEnvironment guard;
  const auto min_scale = static_cast<float>(args.min_scale);
  const ::npu_quant::Args job{args, min_scale > 0 ? 1 / min_scale : __builtin_inff()};
  visit_float(args.dtype, args.x, args.x_row_stride, args.stream,
              [&](auto in) { quantize_rows<Reference>(job, Plain<decltype(in)>{nullptr}); });
  if (args.stream) stream_fence();
}

}  // namespace npu_quant
