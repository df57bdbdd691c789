// npu_dynamic_quant, one token per row (docs/numerics.md 2):
//   v = x * smooth     amax = max|v|     scale = amax / 127     y = rint(v / scale)
#include "kernels/dynamic_quant.h"

#include "kernels/reduce_encode.h"

namespace npu_quant {
namespace {

using Args = DynamicQuantKernel::Args;

template <class Arithmetic, class Values>
NPU_QUANT_INLINE Quotient<float, int32_t> scale_rule(const Args& args, int64_t row,
                                                     const typename Values::Amax& v) {
  const float amax = v.value();
  const float scale = Arithmetic::scale(amax);
  if (args.scale != nullptr) store_scale(args.scale + row * args.scale_stride, scale);
  return Arithmetic::template quotient<Values, int32_t>(amax, scale);
}

template <class Arithmetic, class Store, class Values>
void quantize_rows(const Args& args, Values values) {
  const auto row_values = [&](int64_t row) {
    return values.with(args.x + row * args.x_row_stride);
  };
  typename Values::Amax amax;
  reduce(row_values(0), args.n, amax);
  for (int64_t row = 0; row < args.rows; ++row) {
    const auto quotient = scale_rule<Arithmetic, Values>(args, row, amax);
    auto* y = reinterpret_cast<int8_t*>(args.y + row * args.y_row_stride);
    const auto v = row_values(row);
    amax = {};
    with_encoder<Values>(quotient, [&](auto encoder) {
      if (row + 1 < args.rows)
        encode_and_reduce<Store>(v, args.n, y, encoder, row_values(row + 1), amax);
      else
        encode<KeepInCache>(v, args.n, y, encoder);
    });
  }
}

// Codes of one row's piece, wherever y's elements lie.
template <class Values>
NPU_QUANT_INLINE void encode_strided(const Quotient<float, int32_t>& quotient, Values v,
                                     int64_t count, char* y, int64_t y_stride) {
  int8_t codes[kBuffer];
  int8_t* to = y_stride == 1 ? reinterpret_cast<int8_t*>(y) : codes;
  with_encoder<Values>(quotient, [&](auto encoder) { encode<KeepInCache>(v, count, to, encoder); });
  if (y_stride != 1) scatter(codes, count, y, y_stride);
}

// Some rows of any strides, at most kMost, from `first` on: gathered piece by piece, twice
// unless one piece holds them. y may be null, for the scale alone.
template <class Arithmetic, int64_t kMost, class Values>
void quantize_gathered(const Args& args, Values values, int64_t first, int64_t rows) {
  alignas(64) typename Values::In::Bits buffer[kBuffer];
  const int64_t width = kBuffer / rows;
  const auto gather_piece = [&](int64_t i) {
    const int64_t count = least(args.n - i, width);
    gather(args.x + first * args.x_row_stride + i * args.x_stride, args.x_row_stride, args.x_stride,
           rows, count, buffer, width);
    return count;
  };
  typename Values::Amax amax[kMost];
  for (int64_t i = 0; i < args.n; i += width) {
    const int64_t count = gather_piece(i);
    for (int64_t r = 0; r < rows; ++r)
      reduce(values.from(i).with(buffer + r * width), count, amax[r]);
  }
  Quotient<float, int32_t> quotients[kMost];
  for (int64_t r = 0; r < rows; ++r)
    quotients[r] = scale_rule<Arithmetic, Values>(args, first + r, amax[r]);
  for (int64_t i = 0; i < args.n && args.y != nullptr; i += width) {
    const int64_t count = args.n <= width ? args.n : gather_piece(i);
    for (int64_t r = 0; r < rows; ++r)
      encode_strided(quotients[r], values.from(i).with(buffer + r * width), count,
                     args.y + (first + r) * args.y_row_stride + i * args.y_stride, args.y_stride);
  }
}

template <class Arithmetic, class Values>
void quantize_strided_rows(const Args& args, Values values) {
  if (rows_share_lines(args.x_row_stride, args.x_stride))
    for (int64_t row = 0; row < args.rows; row += kRowsAtOnce)
      quantize_gathered<Arithmetic, kRowsAtOnce>(args, values, row,
                                                 least(args.rows - row, kRowsAtOnce));
  else
    for (int64_t row = 0; row < args.rows; ++row)
      quantize_gathered<Arithmetic, 1>(args, values, row, 1);
}

template <class Arithmetic, class Values>
void store_scales_only(const Args& args, Values values) {
  for (int64_t row = 0; row < args.rows; ++row) {
    typename Values::Amax amax;
    reduce(values.with(args.x + row * args.x_row_stride), args.n, amax);
    scale_rule<Arithmetic, Values>(args, row, amax);
  }
}

template <class Arithmetic, class Values>
void quantize(const Args& args, Values values) {
  const bool contiguous = args.x_stride == sizeof(typename Values::In::Storage);
  if (args.rows == 0) return;
  if (contiguous && args.y == nullptr) return store_scales_only<Arithmetic>(args, values);
  if (!contiguous || args.y_stride != 1) return quantize_strided_rows<Arithmetic>(args, values);
  if (!args.stream) return quantize_rows<Arithmetic, KeepInCache>(args, values);
  quantize_rows<Arithmetic, StreamToMemory>(args, values);
  stream_fence();
}

}  // namespace

template <>
void DynamicQuantKernel::run<kTarget>(const Args& args) {
  const DefaultFloatEnvironment guard;
  visit_float(args.dtype, args.x, args.x_row_stride, args.stream, [&](auto in) {
    using In = decltype(in);
    using Storage = typename In::Storage;
    const auto* x = reinterpret_cast<const Storage*>(args.x);
    const auto* smooth = reinterpret_cast<const Storage*>(args.smooth);
    if (smooth == nullptr)
      quantize<Reference>(args, Plain<In>{x});
    else
      quantize<Reference>(args, Smoothed<In>{x, smooth});
  });
}

}  // namespace npu_quant
