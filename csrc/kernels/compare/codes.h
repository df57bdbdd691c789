// Pairs of codes of one byte. Of equal pairs only the code is counted: most are equal, and a table
// of 256 counts stays in the first-level cache.
#pragma once

#include "kernels/compare/places.h"

namespace npu_quant {
namespace {

class CodeComparer {
 public:
  explicit CodeComparer(const CompareCodesKernel::Args& args)
      : args_(args), places_(args.places, args.begin, args.end) {}

  void run() {
    int64_t i = args_.begin;
    for (; i + kWordsAtOnce * 8 <= args_.end; i += kWordsAtOnce * 8) add_words(i);
    for (; i < args_.end; ++i) {
      const auto a = static_cast<uint8_t>(args_.actual[i]);
      const auto g = static_cast<uint8_t>(args_.golden[i]);
      ++tables_[0][g];
      if (a != g) add_difference(a, g, i);
    }
    for (int code = 0; code < kCodes; ++code)
      for (const auto& table : tables_) args_.golden_counts[code] += table[code];
  }

 private:
  static constexpr int kWordsAtOnce = 8, kFewWords = 4;

  NPU_QUANT_INLINE void add_words(int64_t i) {
    uint64_t golden[kWordsAtOnce], differences[kWordsAtOnce], any = 0;
    for (int w = 0; w < kWordsAtOnce; ++w) {
      golden[w] = load<uint64_t>(args_.golden + i + w * 8);
      differences[w] = golden[w] ^ load<uint64_t>(args_.actual + i + w * 8);
      any |= differences[w];
    }
    // As many tables as a word has bytes: an increment would wait for the one before it if both
    // were of the same count.
    for (const uint64_t word : golden)
      for (int byte = 0; byte < 8; ++byte) ++tables_[byte][word >> (byte * 8) & 0xff];
    if (__builtin_expect(any == 0, true)) return;
    int words = 0;
    for (const uint64_t word : differences) words += word != 0;
    if (words > kFewWords) return add_many(differences, i);
    for (int w = 0; w < kWordsAtOnce; ++w) add_differences(golden[w], differences[w], i + w * 8);
  }

  // Differences in many words: they are listed without a branch for each.
  NPU_QUANT_INLINE void add_many(const uint64_t* differences, int64_t first) {
    uint8_t other[kWordsAtOnce * 8];
    int others = 0;
    for (int i = 0; i < kWordsAtOnce * 8; ++i) {
      other[others] = static_cast<uint8_t>(i);
      others += (differences[i / 8] >> (i % 8 * 8) & 0xff) != 0;
    }
    for (int n = 0; n < others; ++n) {
      const int64_t i = first + other[n];
      add_difference(static_cast<uint8_t>(args_.actual[i]), static_cast<uint8_t>(args_.golden[i]),
                     i);
    }
  }

  // The bytes of a word in which actual ^ golden is not 0.
  NPU_QUANT_INLINE void add_differences(uint64_t golden, uint64_t differences, int64_t i) {
    while (differences != 0) {
      const int shift = __builtin_ctzll(differences) & ~7;
      const auto g = static_cast<uint8_t>(golden >> shift);
      const auto a = static_cast<uint8_t>(g ^ (differences >> shift));
      differences &= ~(uint64_t{0xff} << shift);
      add_difference(a, g, i + shift / 8);
    }
  }

  NPU_QUANT_INLINE void add_difference(uint8_t a, uint8_t g, int64_t i) {
    const int pair = a * kCodes + g;
    if (args_.pairs[pair]++ == 0) args_.first_of_pair[pair] = static_cast<uint32_t>(i);
    if ((args_.is_nan[a] & args_.is_nan[g]) == 0) places_.count(i);
  }

  const CompareCodesKernel::Args args_;
  PlaceCounter places_;
  uint32_t tables_[8][kCodes] = {};
};

}  // namespace
}  // namespace npu_quant
