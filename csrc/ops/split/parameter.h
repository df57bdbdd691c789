// Scales, zero points and weights as the kernels take them: float32, in the order of the elements
// they belong to.
#pragma once

#include <memory>

#include "kernels/elementwise/args.h"
#include "ops/contract/contract.h"

namespace npu_quant {

class Parameter {
 public:
  Parameter() = default;
  Parameter(const Parameter&) = delete;  // values may lie inside

  // Fills `shape` from a view that is broadcast to it by `strides` (bytes); an absent view means
  // -0, which adds nothing to any value, not even to a -0. Float32 values that lie so already are
  // taken where they are, others are copied.
  Status assign(const char* op, const TensorView& view, const Shape& shape, const int64_t* strides);
  // One element, or a 1-D view of `count` elements, to that many.
  Status assign(const char* op, const TensorView& view, int64_t count);

  // Room for `count` values.
  Status allocate(const char* op, int64_t count);

  // A number, as to_float32 rounds it.
  void assign(double value);

  // The offsets that words of npu_trans_quant_param hold, of rank 1 or 2: one or `count` of them.
  Status assign_offsets_in_carriers(const char* op, const TensorView& carriers, int64_t count);

  // 2^(b - 127) of the bytes b of a view of rank 1 or 2, in its order; of 255, NaN.
  Status assign_powers(const char* op, const TensorView& bytes);

  char* data() const { return data_; }

  // fl(1 / value) of each value of another parameter.
  Status assign_reciprocals(const char* op, const Parameter& of);

  // The least and the greatest value; both NaN if one is.
  struct Bounds {
    float least, greatest;
  };
  Bounds bounds() const;

 private:
  char* data_ = nullptr;
  int64_t count_ = 0;
  float one_ = 0;
  std::unique_ptr<char[]> many_;
};

// What a bias of sums is, and as what a Parameter takes it: integers are copied as any four bytes.
Bias bias_kind(const TensorView& bias);
TensorView taken_as_bytes(TensorView bias);

// Scales, of which int64 are words of npu_trans_quant_param: their low half is a float32.
TensorView scales_in_carriers(TensorView scale);

// A number rounded to nearest even whatever the environment's rounding is.
float to_float32(double value);

// The number that a view of one element holds.
double number_in(const TensorView& view);

// The int32 or int64 that lies there.
int64_t integer_at(const char* place, DType dtype);

}  // namespace npu_quant
