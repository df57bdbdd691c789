// npu_anti_quant (docs/numerics.md 9):
//   y = (x + offset) * scale      sqrt_mode: * scale once more
#include "kernels/anti_quant.h"

#include "kernels/elementwise.h"

namespace npu_quant {
namespace {

enum { kScale, kOffset, kParameters };

template <class X, class Y, bool sqrt_mode>
struct AddThenMultiply {
  static constexpr bool kReadsMask = false, kWritesMask = false;

  template <class Store, class Parameters, class Piece>
  NPU_QUANT_INLINE void map(const Parameters& parameters, const Piece& tile) const {
    I32 x[4];
    X::load(tile.x, x);
    Tile y;
    for (int i = 0; i < 4; ++i) {
      const F32 scale = parameters(kScale, i);
      y.part[i] = (__builtin_convertvector(x[i], F32) + parameters(kOffset, i)) * scale;
      if constexpr (sqrt_mode) y.part[i] *= scale;
    }
    Y::template put<Store>(tile.y, y);
  }
};

// The parameters of a piece, moved to where no vector of them straddles two cache lines if they are
// read for several rows: that is what limits those.
class AlignedValues {
 public:
  NPU_QUANT_INLINE const Unaligned<float>* take(const Unaligned<float>* values, int64_t n,
                                                bool is_shared) {
    if (!is_shared || is_vector_aligned(values) || n > kElementsTogether) return values;
    for (int64_t i = 0; i < n; ++i) copy_[i] = values[i];
    return copy_;
  }

 private:
  alignas(64) float copy_[kElementsTogether];
};

template <class X, class Y, bool sqrt_mode>
void anti_quantize(const AntiQuantKernel::Args& args) {
  const ElementwiseArgs rows{args.rows, args.n, args.x, {}, args.y, {}, args.stream};
  const AddThenMultiply<X, Y, sqrt_mode> rule;
  using XStorage = typename X::Storage;
  using YStorage = typename Y::Storage;
  if (args.scale.stride != 0) {
    const bool is_shared = args.rows > 1;
    AlignedValues scale, offset;
    map_rows<XStorage, YStorage>(rows, true, [&](int64_t row, int64_t i, int64_t n, auto use) {
      const auto* scales = scale.take(values_at(args.scale, row, i), n, is_shared);
      const auto* offsets = offset.take(values_at(args.offset, row, i), n, is_shared);
      const auto* no_inverse = scales;  // none is asked for
      use(rule, PerElement<kParameters>{{scales, offsets}, no_inverse});
    });
  } else {
    map_rows<XStorage, YStorage>(rows, false, [&](int64_t row, int64_t, int64_t, auto use) {
      use(rule, PerRow<kParameters>::of(value_at(args.scale, row), value_at(args.offset, row)));
    });
  }
}

template <class X, class Y>
void visit_mode(const AntiQuantKernel::Args& args) {
  if (args.sqrt_mode)
    anti_quantize<X, Y, true>(args);
  else
    anti_quantize<X, Y, false>(args);
}

}  // namespace

template <>
void AntiQuantKernel::run<kTarget>(const Args& args) {
  const DefaultFloatEnvironment guard;
  if (args.y_dtype == DType::bfloat16)
    visit_mode<Int8Elements, BFloat16Elements>(args);
  else
    visit_mode<Int8Elements, Float16Elements>(args);
}

}  // namespace npu_quant
