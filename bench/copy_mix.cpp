// y = OR of `ratio` vectors of x: no load can be dropped, and the arithmetic is free.
#include "copy_mix.h"

#include "simd/vec.h"

namespace npu_quant {
namespace {

using Args = CopyMixKernel::Args;

constexpr int64_t kAhead = 6 * 1024;  // bytes of x, as far as the kernels prefetch

template <bool halves>
NPU_QUANT_INLINE I8 load_vector(const char* x) {
  if constexpr (halves) return bit_cast<I8>(load_halves(x));
  return load<I8>(x);
}

template <int ratio, bool halves>
NPU_QUANT_INLINE I8 merge(const char* x) {
  I8 v = load_vector<halves>(x);
  for (int i = 1; i < ratio; ++i) v |= load_vector<halves>(x + i * kVectorBytes);
  return v;
}

template <int ratio>
NPU_QUANT_INLINE void copy_bytes(const char* x, char* y, int64_t n) {
  for (int64_t i = 0; i < n; ++i) {
    y[i] = x[ratio * i];
    for (int r = 1; r < ratio; ++r) y[i] = static_cast<char>(y[i] | x[ratio * i + r]);
  }
}

template <int ratio, bool streams, bool prefetches, bool halves>
void copy(const char* x, char* y, int64_t n) {
  // Aligned stores in every form: a store that straddles two lines costs more than a load that
  // does.
  const auto to_alignment =
      static_cast<int64_t>(-reinterpret_cast<uintptr_t>(y) & (kVectorBytes - 1));
  int64_t i = to_alignment < n ? to_alignment : n;
  copy_bytes<ratio>(x, y, i);
  for (; i + kVectorBytes <= n; i += kVectorBytes) {
    const char* from = x + ratio * i;
    if constexpr (prefetches)
      for (int64_t line = 0; line < ratio * kVectorBytes; line += 64)
        prefetch(from + kAhead + line);
    const I8 v = merge<ratio, halves>(from);
    if constexpr (streams)
      stream(y + i, v);
    else
      store(y + i, v);
  }
  copy_bytes<ratio>(x + ratio * i, y + i, n - i);
  if constexpr (streams) stream_fence();
}

// A bool as a type. std::true_type would be one the linker merges over the targets (simd/vec.h).
template <bool value_>
struct Flag {
  static constexpr bool value = value_;
};

template <class Use>
NPU_QUANT_INLINE void visit(bool value, Use use) {
  value ? use(Flag<true>{}) : use(Flag<false>{});
}

template <int ratio>
void copy_in_form(const Args& args) {
  visit(args.form.streams, [&](auto streams) {
    visit(args.form.prefetches, [&](auto prefetches) {
      visit(args.form.halves, [&](auto halves) {
        copy<ratio, streams.value, prefetches.value, halves.value>(args.x, args.y, args.n);
      });
    });
  });
}

}  // namespace

template <>
void CopyMixKernel::run<kTarget>(const Args& args) {
  switch (args.ratio) {
    case 1: return copy_in_form<1>(args);
    case 2: return copy_in_form<2>(args);
    case 3: return copy_in_form<3>(args);
    default: return copy_in_form<4>(args);
  }
}

}  // namespace npu_quant
