// What sums of products become (docs/numerics.md 20):
//   v = sum * scales[0] * scales[1] + bias     what npu_dequant_bias says: elementwise/dequant.h
//   v = activation(v)
//   y = v * late_scale + late_offset           rounded to y's dtype, or saturated to int8
// Every step rounds to binary32 by itself.
#pragma once

#include "kernels/elementwise/dequant.h"
#include "kernels/product/product.h"
#include "kernels/rows/affine_codes.h"
#include "simd/exp.h"

namespace npu_quant {
namespace {

// A factor or a summand: for each column, or for each row, or the same for all.
class Factor {
 public:
  Factor(const Strided& of, int64_t columns, float absent)
      : of_(of), is_of_row_(of.stride == 0 && of.data != nullptr) {
    for (float& value : values_) value = absent;
    if (of.data == nullptr || is_of_row_) return;
    for (int64_t i = 0; i < columns; ++i) values_[i] = parameter_at(of, 0, i)->value;
  }
  void begin(int64_t row) {
    if (!is_of_row_) return;
    const F32 value = broadcast(parameter_at(of_, row, 0)->value);
    for (int64_t i = 0; i < ProductKernel::kMostColumns; i += kLanes) store(values_ + i, value);
  }
  NPU_QUANT_INLINE F32 at(int64_t i) const { return load<F32>(values_ + i); }

 private:
  const Strided of_;
  const bool is_of_row_;
  alignas(64) float values_[ProductKernel::kMostColumns];
};

class Epilogue {
 public:
  explicit Epilogue(const ProductKernel::Args& args)
      : args_(args),
        first_(args.scales[0], args.columns, 1),
        second_(args.scales[1], args.columns, 1),
        bias_(args.bias, args.columns, -0.0f),
        late_scale_(args.late_scale, args.columns, 1),
        late_offset_(args.late_offset, args.columns, -0.0f) {
    for (int32_t& value : integers_) value = 0;
    const char* const early = args.integer_bias != nullptr ? args.integer_bias : args.sum_bias;
    if (early != nullptr) std::memcpy(integers_, early, static_cast<size_t>(args.columns) * 4);
  }

  // The sums of a row, int32 or float32.
  template <class Sum>
  void put(int64_t row, const Sum* sums) {
    for (Factor* of : {&first_, &second_, &bias_, &late_scale_, &late_offset_}) of->begin(row);
    if (args_.y_dtype == DType::int32) {
      for (int64_t i = 0; i < args_.columns; i += kLanes) store(line_ + i * 4, integers(sums, i));
      return write(row);
    }
    for (int64_t i = 0; i < args_.columns; i += kTile) {
      Tile v;
      for (int p = 0; p < 4; ++p) v.part[p] = value(sums, i + p * kLanes);
      put_tile(v, i);
    }
    write(row);
  }

 private:
  NPU_QUANT_INLINE I32 integers(const int32_t* sums, int64_t i) const {
    return bit_cast<I32>(load<U32>(sums + i) + load<U32>(integers_ + i));
  }
  I32 integers(const float*, int64_t) const { __builtin_trap(); }
  NPU_QUANT_INLINE F32 number(const int32_t* sums, int64_t i) const {
    return __builtin_convertvector(integers(sums, i), F32);
  }
  // Where there is nothing to add, that is +0, which changes no sum: none is -0.
  NPU_QUANT_INLINE F32 number(const float* sums, int64_t i) const {
    return load<F32>(sums + i) + bit_cast<F32>(load<U32>(integers_ + i));
  }

  template <class Sum>
  NPU_QUANT_INLINE F32 value(const Sum* sums, int64_t i) const {
    F32 v = dequantized(number(sums, i), first_.at(i), second_.at(i), bias_.at(i));
    if (args_.activation == Activation::relu) v = v <= F32{} ? F32{} : v;
    if (args_.activation == Activation::swish) v = v / (1 + exp(-v));
    return v * late_scale_.at(i) + late_offset_.at(i);
  }

  NPU_QUANT_INLINE void put_tile(const Tile& v, int64_t i) {
    if (args_.y_dtype == DType::int8)
      return put_with_zero_for_nan<Int8>(reinterpret_cast<int8_t*>(line_) + i, v, Stores{false});
    visit_float_with<WholeLoads>(args_.y_dtype, [&](auto y) {
      using Y = decltype(y);
      Y::put(reinterpret_cast<typename Y::Storage*>(line_) + i, v, Stores{false});
    });
  }
  void write(int64_t row) const {
    ScatterKernel::run<kTarget>({line_, args_.columns, 1, args_.columns, size_of(args_.y_dtype),
                                 args_.y.from(row, 0), false});
  }

  const ProductKernel::Args& args_;
  Factor first_, second_, bias_, late_scale_, late_offset_;
  alignas(64) int32_t integers_[ProductKernel::kMostColumns];           // or floats
  alignas(64) char line_[ProductKernel::kMostColumns * sizeof(float)];  // of y
};

}  // namespace
}  // namespace npu_quant
