// Vectors of the inputs, ORed into those of the outputs: no load can be dropped, and the arithmetic
// is free.
#include "copy_mix.h"

#include "simd/vec.h"

namespace npu_quant {
namespace {

using Args = CopyMixKernel::Args;

constexpr uintptr_t kAhead = 6 * 1024;  // bytes of an input, as far as the kernels prefetch

template <bool halves>
NPU_QUANT_INLINE I8 load_vector(const char* x) {
  if constexpr (halves) return bit_cast<I8>(load_halves(x));
  return load<I8>(x);
}

// The vectors of a tile from `element` on, those of two inputs merged.
template <int index, bool prefetches, bool halves, int in = kByteMixes[index].in>
NPU_QUANT_INLINE void read_tile(const char* const (&x)[2], int64_t element, I8 (&v)[in]) {
  for (int input = 0; input < kByteMixes[index].inputs; ++input) {
    const char* from = x[input] + in * element;
    if constexpr (prefetches)
      for (uintptr_t line = 0; line < in * kVectorBytes; line += 64)
        prefetch(reinterpret_cast<uintptr_t>(from) + kAhead + line);
    for (int j = 0; j < in; ++j) {
      const I8 loaded = load_vector<halves>(from + j * kVectorBytes);
      v[j] = input == 0 ? loaded : v[j] | loaded;
    }
  }
}

// y gets `out` vectors of the `in` that were read.
template <int in, int out, bool streams>
NPU_QUANT_INLINE void write_tile(const I8 (&v)[in], char* y) {
  for (int j = 0; j < out; ++j) {
    I8 merged = v[j % in];
    for (int k = j + out; k < in; k += out) merged |= v[k];
    if constexpr (streams)
      stream(y + j * kVectorBytes, merged);
    else
      store(y + j * kVectorBytes, merged);
  }
}

// Compiled once, not for each form: these loops were most of this file's time.
__attribute__((noinline)) char merge_bytes(const char* x, int64_t begin, int64_t end) {
  char merged = 0;
  for (; begin < end; ++begin) merged = static_cast<char>(merged | x[begin]);
  return merged;
}

// An output of `n` elements of `width` bytes: `head` bytes, whole tiles, and what is left.
template <int width>
struct Output {
  char* y;
  int64_t bytes, head;

  // Each output has its tiles start at its own boundary of a vector, in every form: a store that
  // straddles two lines costs more than a load that does. That shifts the outputs against each
  // other, which leaves the traffic as it is.
  NPU_QUANT_INLINE Output(char* y_, int64_t n) : y(y_), bytes(n * width) {
    head = min(static_cast<int64_t>(-reinterpret_cast<uintptr_t>(y) & (kVectorBytes - 1)), bytes);
  }
  NPU_QUANT_INLINE int64_t tiles() const { return (bytes - head) / (width * kVectorBytes); }
  NPU_QUANT_INLINE char* tile(int64_t i) const { return y + head + i * width * kVectorBytes; }
  __attribute__((noinline)) void fill_around(int64_t tiles, char value) const {
    for (int64_t i = 0; i < head; ++i) y[i] = value;
    for (int64_t i = head + tiles * width * kVectorBytes; i < bytes; ++i) y[i] = value;
  }
};

template <int index, bool streams, bool prefetches, bool halves>
void copy(const Args& args) {
  constexpr ByteMix mix = kByteMixes[index];
  const char* const x[2] = {args.x[0], args.x[1]};
  const Output<mix.out> output(args.y[0], args.n);
  const Output<mix.other_out> other(args.y[1], args.n);
  const int64_t start = output.head / mix.out;
  int64_t tiles = output.tiles();
  if constexpr (mix.other_out > 0) tiles = min(tiles, other.tiles());
  for (int64_t i = 0; i < tiles; ++i) {
    I8 v[mix.in];
    read_tile<index, prefetches, halves>(x, start + i * kVectorBytes, v);
    write_tile<mix.in, mix.out, streams>(v, output.tile(i));
    write_tile<mix.in, mix.other_out, streams>(v, other.tile(i));
  }
  char rest = 0;
  for (int input = 0; input < mix.inputs; ++input) {
    const char before = merge_bytes(x[input], 0, mix.in * start);
    const int64_t left = mix.in * (start + tiles * kVectorBytes);
    rest = static_cast<char>(rest | before | merge_bytes(x[input], left, mix.in * args.n));
  }
  output.fill_around(tiles, rest);
  other.fill_around(tiles, rest);
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

template <int index = 0>
void copy_in_form(const Args& args) {
  if constexpr (index < kByteMixCount) {
    if (args.mix != index) return copy_in_form<index + 1>(args);
    visit(args.form.streams, [&](auto streams) {
      visit(args.form.prefetches, [&](auto prefetches) {
        visit(args.form.halves, [&](auto halves) {
          copy<index, streams.value, prefetches.value, halves.value>(args);
        });
      });
    });
  }
}

}  // namespace

template <>
void CopyMixKernel::run<kTarget>(const Args& args) {
  copy_in_form(args);
}

}  // namespace npu_quant
