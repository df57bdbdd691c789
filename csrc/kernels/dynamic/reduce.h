// The loops of the dynamic quantizers: reduce to an amax, then encode, reading the second time from
// cache. The values and their codes are contiguous here.
#pragma once

#include "kernels/dynamic/divide.h"
#include "kernels/dynamic/dynamic.h"
#include "kernels/rows/piece.h"
#include "simd/result_stream.h"

namespace npu_quant {
namespace {

// A row of x and of its codes, where elements follow on each other.
template <class In>
NPU_QUANT_INLINE const typename In::Storage* x_of(const DynamicArgs& args, int64_t row) {
  return reinterpret_cast<const typename In::Storage*>(args.x.from(row, 0).data);
}
NPU_QUANT_INLINE char* y_of(const DynamicArgs& args, int64_t row) {
  return args.y.from(row, 0).data;
}

NPU_QUANT_INLINE int64_t groups_of(int64_t n, int64_t group) { return most(1, ceil_div(n, group)); }
// As bits, so that a NaN stays.
NPU_QUANT_INLINE void include_amax(float& amax, float found) {
  const auto bits = bit_cast<int32_t>(found);
  if (bits > bit_cast<int32_t>(amax)) amax = bit_cast<float>(bits);
}

// The end of n values, from i on, fewer than a tile: where there is a tile before the end, that is
// done once more, which changes nothing; else the values are padded.
template <class In>
NPU_QUANT_INLINE void reduce_end(const typename In::Storage* x, int64_t i, int64_t n,
                                 typename In::Amax& amax) {
  if (i == n) return;
  if (n >= kTile) return In::include(amax, x + n - kTile);
  const Padded end(x + i, n - i);
  In::include(amax, end.values);
}

// The last codes of a piece of n values, fewer than a tile of them (reduce_end()).
template <class In, class Encoder>
NPU_QUANT_INLINE void encode_end(const typename In::Storage* x, int64_t n, char* y,
                                 Encoder encoder) {
  using Code = typename Encoder::Code;
  alignas(64) typename In::Storage padded[kTile];
  const int64_t first = most(0, n - kTile);
  x += first;
  if (n < kTile) {
    std::memset(static_cast<void*>(padded), 0, sizeof padded);
    std::memcpy(padded, x, static_cast<size_t>(n) * sizeof *x);
    x = padded;
  }
  const auto codes = encoder(In::load_mixed(x));
  if (n < kTile)
    std::memcpy(y, &codes, static_cast<size_t>(bytes_of<Code>(n)));
  else
    store(y + bytes_of<Code>(first), codes);
}

// By a fast form. Of the ends of rows there is one copy for all loops, or one in each: where a row
// takes 20 ns, a call of 2 to 5 ns is felt. Whole tiles have none.
template <class In, class Code>
NPU_QUANT_INLINE void encode_end_fast(const typename In::Storage* x, int64_t n, char* y,
                                      const Divider<float, int32_t>& divider) {
  with_fast_encoder<In, Code>(divider, [&](auto encoder) __attribute__((always_inline)) {
    encode_end<In>(x, n, y, encoder);
  });
}
template <class In, class Code>
__attribute__((noinline)) void encode_end_apart(const typename In::Storage* x, int64_t n, char* y,
                                                Divider<float, int32_t> divider) {
  encode_end_fast<In, Code>(x, n, y, divider);
}
enum class Ends { apart, inlined, none };

// Codes of n values by any form. The loops, each of which would hold all forms, have the fast ones.
template <class In, class Code>
__attribute__((noinline)) void encode_apart(const typename In::Storage* x, int64_t n, char* y,
                                            ResultStream& to,
                                            const Divider<float, int32_t>& divider) {
  with_encoder<In, Code>(divider, [&](auto encoder) __attribute__((always_inline)) {
    int64_t i = 0;
    for (; i + kTile <= n; i += kTile)
      to.put(y + bytes_of<Code>(i), encoder(In::load_mixed(x + i)));
    if (i < n) encode_end<In>(x, n, y, encoder);
  });
}

template <class In>
NPU_QUANT_INLINE void reduce(const typename In::Storage* x, int64_t n, typename In::Amax& into) {
  typename In::Amax amax = into;  // in registers: x might alias memory
  int64_t i = 0;
  for (; i + kTile <= n; i += kTile) In::include(amax, x + i);
  reduce_end<In>(x, i, n, amax);
  into = amax;
}

// Calls f with the struct of a format of codes, which the op has checked: of those of a byte, or
// of any.
template <class F>
NPU_QUANT_INLINE void visit_byte_code(Format format, F f) {
  if (format == Format::int8) return f(Int8{});
  if (format == Format::float8_e4m3fn) return f(Float8E4M3FN{});
  if (format == Format::float8_e5m2) return f(Float8E5M2{});
  f(HiFloat8{});
}
template <class F>
NPU_QUANT_INLINE void visit_code(Format format, F f) {
  if (format == Format::int4) return f(Int4{});
  visit_byte_code(format, f);
}

// What is done while a row is encoded, tile by tile. Nothing:
struct Nothing {
  NPU_QUANT_INLINE void tile(int64_t) const {}
  NPU_QUANT_INLINE void end(int64_t, int64_t) const {}
  NPU_QUANT_INLINE void move(int64_t) const {}
};
// The next row is reduced, if there is one: the arithmetic of the one hides the memory latency of
// the other. Memory is asked for what lies `ahead` bytes behind.
template <class In>
struct ReduceNext {
  const typename In::Storage* x;  // null where there is none
  uintptr_t ahead;
  CacheLevel level;
  typename In::Amax amax = {};

  NPU_QUANT_INLINE void tile(int64_t i) {
    if (x == nullptr) return;
    prefetch_values(level, x + i, ahead, kTile);
    In::include(amax, x + i);
  }
  NPU_QUANT_INLINE void end(int64_t i, int64_t n) {
    if (x != nullptr) reduce_end<In>(x, i, n, amax);
  }
  // What follows is done while elements from this one on are encoded.
  NPU_QUANT_INLINE void move(int64_t i) {
    if (x != nullptr) x += i;
  }
};

// Beside the one stream of values from memory, a Zen 4 prefetches worse when the row it encodes is
// read in the same direction: turned, so many elements at a time, rows of 2048 to 14336 take 0.85
// to 0.93 of the time.
inline constexpr int64_t kTurned = 512;

// Codes of n values, one after the other at y. Returns what became of `meanwhile`. `turned`
// elements at a time, if it is not 0, are encoded from their last tile back, while `meanwhile` goes
// forward:
//
//   encoded     3 2 1 0   7 6 5 4   8 9
//   meanwhile   0 1 2 3   4 5 6 7   8 9
template <class In, class Code, Ends ends = Ends::apart, class Meanwhile>
NPU_QUANT_INLINE Meanwhile encode_piece(const typename In::Storage* x, int64_t n, char* y,
                                        ResultStream& to, const Divider<float, int32_t>& divider,
                                        Meanwhile meanwhile, int64_t turned = 0) {
  int64_t i = 0;
  const auto encode_tiles = [&](auto encoder) __attribute__((always_inline)) {
    const auto put_tile = [&](int64_t at) __attribute__((always_inline)) {
      to.put(y + bytes_of<Code>(at), encoder(In::load_mixed(x + at)));
    };
    for (; turned > 0 && i + turned <= n; i += turned)
      for (int64_t t = 0; t < turned; t += kTile) {
        meanwhile.tile(i + t);
        put_tile(i + turned - kTile - t);
      }
    for (; i + kTile <= n; i += kTile) {
      meanwhile.tile(i);
      put_tile(i);
    }
  };
  if (__builtin_expect(!with_fast_encoder<In, Code>(divider, encode_tiles), false)) {
    encode_apart<typename In::Whole, Code>(x, n, y, to, divider);
    for (; i + kTile <= n; i += kTile) meanwhile.tile(i);
  } else if (ends == Ends::none || i == n) {
    return meanwhile;
  } else if constexpr (ends == Ends::inlined) {
    encode_end_fast<In, Code>(x, n, y, divider);
  } else {
    encode_end_apart<typename In::Whole, Code>(x, n, y, divider);
  }
  meanwhile.end(i, n);
  return meanwhile;
}
// The same of a row, by way of a buffer where it is streamed.
template <class In, class Code, Ends ends = Ends::apart, class Meanwhile>
NPU_QUANT_INLINE Meanwhile encode(const typename In::Storage* x, int64_t n, char* y,
                                  ResultStream& to, const Divider<float, int32_t>& divider,
                                  Meanwhile meanwhile, int64_t turned = 0) {
  for (int64_t i = 0, count = 0; i < n; i += count) {
    count = to.piece(n - i);
    meanwhile = encode_piece<In, Code, ends>(x + i, count, to.at(y + bytes_of<Code>(i)), to,
                                             divider, meanwhile, turned);
    to.end(bytes_of<Code>(count));
    meanwhile.move(count);
  }
  return meanwhile;
}

NPU_QUANT_INLINE void store_scale(const Strided& to, int64_t row, int64_t group, float scale) {
  if (to.data != nullptr) std::memcpy(to.from(row, group).data, &scale, sizeof scale);
}

// A group's amax as bits, and what it is divided by, for kLanes groups: the rule runs on vectors.
template <class In>
struct GroupAmax {
  alignas(64) typename In::Amax::Bits bits[kLanes] = {};  // lanes without a group hold 0

  NPU_QUANT_INLINE void reduce_group(int64_t g, const typename In::Storage* x, int64_t length) {
    typename In::Amax amax;
    reduce<In>(x, length, amax);
    bits[g] = amax.bits();
  }
};

struct GroupDividers {
  alignas(64) float scale[kLanes];
  alignas(64) float multiplier[kLanes];
  alignas(64) int32_t form[kLanes];

  NPU_QUANT_INLINE Divider<float, int32_t> operator[](int64_t g) const {
    return {scale[g], multiplier[g], form[g]};
  }
  NPU_QUANT_INLINE void set(int64_t g, const Divider<float, int32_t>& divider) {
    scale[g] = divider.scale;
    multiplier[g] = divider.multiplier;
    form[g] = divider.form;
  }
};

template <class In, class Code>
NPU_QUANT_INLINE GroupDividers dividers_of(const DynamicArgs& args, F32 amax) {
  const auto of_lanes = divider_of<In, Code, I32>(args.rule, amax);
  GroupDividers dividers;
  store(dividers.scale, of_lanes.scale);
  store(dividers.multiplier, of_lanes.multiplier);
  store(dividers.form, of_lanes.form);
  return dividers;
}

// The scales of `groups` groups of a row, from one on.
__attribute__((noinline)) void store_scales_apart(const Strided& to, int64_t row, int64_t group,
                                                  const float* scales, int64_t groups) {
  for (int64_t g = 0; g < groups; ++g) store_scale(to, row, group + g, scales[g]);
}
NPU_QUANT_INLINE void store_scales(const Strided& to, int64_t row, int64_t group,
                                   const float* scales, int64_t groups) {
  if (to.data != nullptr && to.stride == 4 && groups == kLanes)
    std::memcpy(to.from(row, group).data, scales, 4 * kLanes);
  else
    store_scales_apart(to, row, group, scales, groups);
}

}  // namespace
}  // namespace npu_quant
