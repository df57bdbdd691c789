// Elementwise rules that go by a scale and a zero point, of each row or of each element.
#pragma once

#include "kernels/elementwise.h"

namespace npu_quant {
namespace {

// Parameters of a piece that are read for several rows, moved to where no vector of them straddles
// two cache lines: that is what limits those rows.
class AlignedValues {
 public:
  NPU_QUANT_INLINE const Unaligned<float>* take(const Unaligned<float>* values, int64_t n,
                                                bool is_shared) {
    if (!is_shared || is_vector_aligned(values) || n > kElementsTogether) return values;
    for (int64_t i = 0; i < n; ++i) copy_[i] = values[i].value;
    return unaligned(copy_);
  }

 private:
  alignas(64) float copy_[kElementsTogether];
};

enum { kScale, kZeroPoint, kAffine };
struct AffineParameters {
  Strided scale, inverse, zero_point;  // float32; stride is 0 or 4; inverse: fl(1 / scale)
};

// map_rows with these: use_rule(use, parameters) calls use(rule, parameters).
template <class X, class Y, class UseRule>
NPU_QUANT_INLINE void map_affine(const ElementwiseArgs& args, const AffineParameters& with,
                                 UseRule use_rule) {
  if (with.scale.stride == 0)
    return map_rows<X, Y>(args, false, [&](int64_t row, int64_t, int64_t, auto use) {
      use_rule(use, PerRow<kAffine>{{broadcast(value_at(with.scale, row)),
                                     broadcast(value_at(with.zero_point, row))},
                                    broadcast(value_at(with.inverse, row))});
    });
  const bool is_shared = args.rows > 1;
  AlignedValues scale, inverse, zero_point;
  map_rows<X, Y>(args, true, [&](int64_t row, int64_t i, int64_t n, auto use) {
    use_rule(use, PerElement<kAffine>{
                      {scale.take(values_at(with.scale, row, i), n, is_shared),
                       zero_point.take(values_at(with.zero_point, row, i), n, is_shared)},
                      inverse.take(values_at(with.inverse, row, i), n, is_shared)});
  });
}

}  // namespace
}  // namespace npu_quant
