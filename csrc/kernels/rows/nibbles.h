// Codes of 4 bits between bytes, one in each, and the elements that arrays hold them in: the first
// of two is the low nibble.
#pragma once

#include "simd/codes.h"

namespace npu_quant {
namespace {

// n codes at `codes`, in place: they become n / 2 bytes.
__attribute__((noinline)) void pack_nibbles(char* codes, int64_t n) {
  int64_t i = 0;
  for (; i + kVectorBytes <= n; i += kVectorBytes)
    store(codes + i / 2, packed_nibbles(load<I8>(codes + i)));
  for (; i < n; i += 2)
    codes[i / 2] = static_cast<char>((codes[i] & 15) | (codes[i + 1] & 15) << 4);
}

// The other way; the nibbles may lie in the last of what their codes fill.
__attribute__((noinline)) void unpack_nibbles(const char* nibbles, int64_t n, char* codes) {
  int64_t i = 0;
  for (; i + kVectorBytes <= n; i += kVectorBytes)
    store(codes + i, unpacked_nibbles(load<Nibbles>(nibbles + i / 2)));
  for (; i < n; i += 2) {
    const int two = nibbles[i / 2];
    codes[i] = static_cast<char>(((two & 15) ^ 8) - 8);
    codes[i + 1] = static_cast<char>((((two >> 4) & 15) ^ 8) - 8);
  }
}

}  // namespace
}  // namespace npu_quant
