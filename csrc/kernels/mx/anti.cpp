// npu_anti_mx_quant (docs/numerics.md 15):
//   y = c * 2^(b - 127)      c: the number that x's code stands for, b: its block's byte
//
// Pieces of rows, beside a scale for each of their elements. Where x or y does not lie in rows,
// those of 32 pass together.
#include "kernels/mx/anti.h"

#include "kernels/mx/blocks.h"

namespace npu_quant {
namespace {

// Whether numbers of bfloat16 come as words, with what is added to their exponents: 16 operations
// for 64 codes, where float32 numbers take 30.
template <class Out>
inline constexpr bool kAddsExponents = false;
template <class Loads>
inline constexpr bool kAddsExponents<BFloat16<Loads>> = kHasByteTables;

// The numbers of 128 codes, as bfloat16 has them, by their bytes; of 16 codes of 4 bits both signs.
struct WordTables {
  alignas(64) uint8_t low[128] = {}, high[128] = {};

  constexpr void set(int code, float number) {
    const auto bits = static_cast<uint32_t>(bits_of(number));
    low[code] = static_cast<uint8_t>(bits >> 16);
    high[code] = static_cast<uint8_t>(bits >> 24);
  }
};

constexpr float number_of(int code, int mantissa_bits, int bias) {
  const int fraction = code & ((1 << mantissa_bits) - 1), exponent = code >> mantissa_bits;
  const int whole = exponent > 0 ? fraction + (1 << mantissa_bits) : fraction;
  const int least = exponent > 0 ? exponent : 1;
  return static_cast<float>(whole) * power_of_2(least - bias - mantissa_bits);
}

template <class Code>
inline constexpr WordTables kWordTables;
template <int mantissa_bits, int bias, int greatest, bool has_infinity>
inline constexpr WordTables kWordTables<FloatCode<mantissa_bits, bias, greatest, has_infinity>> =
    [] {
      WordTables tables;
      for (int code = 0; code < 128; ++code) {
        const float number = number_of(code, mantissa_bits, bias);
        const bool is_infinite = has_infinity && code == 0x7f >> mantissa_bits << mantissa_bits;
        tables.set(code, number <= greatest ? number
                         : is_infinite      ? __builtin_inff()
                                            : __builtin_nanf(""));
      }
      return tables;
    }();
template <int mantissa_bits>
inline constexpr WordTables kWordTables<Float4<mantissa_bits>> = [] {
  WordTables tables;
  for (int code = 0; code < 16; ++code) {
    const float number = number_of(code & 7, mantissa_bits, 1);
    tables.set(code, code & 8 ? -number : number);
  }
  return tables;
}();

// Writes a tile of numbers times powers of two, which are added to their exponents: but not to
// those of zeros, infinities and NaN.
template <class Code, class Codes>
NPU_QUANT_INLINE void put_words(char* y, Codes codes, const I16 (&added)[2], Stores stores) {
  using Words = Vec<uint16_t>;
  I16 words[2];
  words_at(kWordTables<Code>.low, kWordTables<Code>.high, codes, words);
  for (int half = 0; half < 2; ++half) {
    const Words magnitude = bit_cast<Words>(words[half] & 0x7fff);
    const I16 is_number = magnitude - 1 < Words{} + uint16_t{0x7f80 - 1};
    stores.put(y + half * kVectorBytes, words[half] + (is_number & added[half]));
  }
}

template <class Out, class Code>
class Numbers {
 public:
  explicit Numbers(const AntiMxKernel::Args& args)
      : args_(args),
        x_(args.x, 1, x_buffer_),
        y_(args.y, kItem, y_buffer_, args.stream, !has_vectors(args)),
        lies_in_rows_(x_.is_direct() && args.y.stride == kItem),
        width_(lies_in_rows_ ? kPiece : kBufferBytes / (kMxCell * kItem)),
        ahead_(args.is_in_rows ? 6 << 10 : static_cast<uintptr_t>(args.x.row_stride)) {}

  void run() {
    if (is_short()) return run_short();
    const int64_t together = lies_in_rows_ && args_.is_in_rows ? 1 : kMxCell;
    const int64_t head = y_.takes_streams() ? elements_to_vector(args_) : 0;
    for (int64_t row = 0; row < args_.rows; row += together)
      for (int64_t i = 0, n = head > 0 ? head : width_; i < args_.n; i += n, n = width_)
        find_numbers(row, least(args_.rows - row, together), i, least(args_.n - i, n));
    if (args_.stream) stream_fence();
  }

 private:
  using Storage = typename Out::Storage;
  static constexpr int64_t kItem = sizeof(Storage), kPacked = kMxCodesPerByte<Code>;
  static constexpr bool kWords = kAddsExponents<Out>;
  // From the one on no number is below the least normal one of bf16; up to so many more none is
  // beyond the greatest, and kUnit times the power is one of float32.
  static constexpr uint8_t kLeastOrdinary = 17, kMoreOrdinary = 222;

  static int64_t elements_to_vector(const AntiMxKernel::Args& args) {
    return elements_to_alignment(args.y.data, kItem, kTile);
  }
  // Whether y can be streamed as it is, where blocks lie across rows from its first whole vector
  // on.
  static bool has_vectors(const AntiMxKernel::Args& args) {
    return is_aligned(args.y) || (!args.is_in_rows && args.y.row_stride % kVectorBytes == 0 &&
                                  elements_to_vector(args) % kPacked == 0);
  }

  // Rows of one block that follow on each other are one row, with a scale for each of its elements.
  bool is_short() const {
    return args_.is_in_rows && args_.n <= kMxCell && lies_in_rows_ && y_.is_direct() &&
           args_.x.row_stride == args_.n / kPacked && args_.y.row_stride == args_.n * kItem;
  }
  void run_short() {
    const int64_t together = kPiece / most(args_.n, 1);
    for (int64_t row = 0; row < args_.rows; row += together) {
      const int64_t rows = least(args_.rows - row, together);
      char* byte = bytes_;
      for (int64_t r = row; r < row + rows; ++r)
        for (int64_t i = 0; i < args_.n; ++i) *byte++ = *args_.scales.from(r, 0).data;
      find_factors(rows * args_.n);
      decode<1>(x_.at(row, 0), rows * args_.n, y_.at(row, 0));
    }
    if (args_.stream) stream_fence();
  }

  // Of rows of one block, where blocks lie across them.
  void find_numbers(int64_t row, int64_t rows, int64_t i, int64_t n) {
    x_.fetch(row, rows, i / kPacked, n / kPacked, width_ / kPacked);
    if (!args_.is_in_rows) find_of_columns(row, i, n);
    for (int64_t r = 0; r < rows; ++r) {
      if (args_.is_in_rows) find_of_row(row + r, i, n);
      char* const y = y_.at(row + r, i);
      char* const to = lies_in_rows_ || y_.is_direct() ? y : y + r * width_ * kItem;
      const char* const x = x_.at(row + r, i / kPacked);
      args_.is_in_rows ? decode<kMxCell>(x, n, to) : decode<1>(x, n, to);
      if (lies_in_rows_) y_.put(row + r, i, n);
    }
    if (!lies_in_rows_) y_.put(row, i, n, rows, width_);
  }

  void find_of_row(int64_t row, int64_t i, int64_t n) {
    const MxScales& scales = args_.scales;
    const char* const from = scales.from(row, i / (2 * kMxCell)).data;
    const int64_t blocks = ceil_div(n, kMxCell);
    if (scales.lane_stride == 1 && scales.pair_stride == 2)
      std::memcpy(bytes_, from, static_cast<size_t>(blocks));
    else
      for (int64_t b = 0; b < blocks; ++b)
        bytes_[b] = from[b / 2 * scales.pair_stride + b % 2 * scales.lane_stride];
    find_factors(blocks);
  }
  void find_of_columns(int64_t row, int64_t i, int64_t n) {
    const int64_t b = row / kMxCell, stride = args_.scales.row_stride;
    const char* const from = args_.scales.from(i, b / 2).data + b % 2 * args_.scales.lane_stride;
    // So the compiler knows the usual stride.
    for (int64_t c = 0; c < n && stride == 2; ++c) bytes_[c] = from[c * 2];
    for (int64_t c = 0; c < n && stride != 2; ++c) bytes_[c] = from[c * stride];
    find_factors(n);
  }

  // What units are multiplied by to be numbers, or values where a byte is not ordinary.
  void find_factors(int64_t n) {
    using Bytes = Vec<uint8_t>;
    const auto* const bytes = reinterpret_cast<const uint8_t*>(bytes_);
    std::memset(bytes_ + n, kLeastOrdinary, kVectorBytes);
    Bytes greatest{};
    for (int64_t i = 0; i < n; i += kVectorBytes)
      greatest = max(greatest, load<Bytes>(bytes + i) - kLeastOrdinary);
    const I8 unusual = (greatest > kMoreOrdinary) & 1;
    is_ordinary_ = horizontal_max<int32_t, kVectorBytes>(bit_cast<I32>(unusual)) == 0;
    if constexpr (kWords) {
      if (!is_ordinary_) return find_float_factors(n);
      for (int64_t i = 0; i < n; i += kTile / 2) {
        const auto some = load<Vec<uint8_t, kVectorBytes / 2>>(bytes + i);
        store(added_ + i, (__builtin_convertvector(some, I16) - 127) << 7);
      }
    } else {
      find_float_factors(n);
    }
  }
  void find_float_factors(int64_t n) {
    const auto* const bytes = reinterpret_cast<const uint8_t*>(bytes_);
    const float unit = is_ordinary_ ? Code::kUnit : 1;
    for (int64_t i = 0; i < n; i += kLanes)
      store(factors_ + i, Float8E8M0FNU::value(widen_bytes(bytes + i)) * unit);
  }

  // With a factor for so many codes.
  template <int64_t cell>
  void decode(const char* codes, int64_t n, char* to) {
    is_ordinary_ ? decode<cell, true>(codes, n, to) : decode<cell, false>(codes, n, to);
  }
  template <int64_t cell, bool is_ordinary>
  void decode(const char* codes, int64_t n, char* to) {
    auto* const y = reinterpret_cast<Storage*>(to);
    const Stores stores{y_.takes_streams() && is_vector_aligned(to)};
    int64_t t = 0;
    for (; t + kTile <= n; t += kTile) {
      prefetch(reinterpret_cast<uintptr_t>(codes) + ahead_ + static_cast<uintptr_t>(t / kPacked));
      put<cell, is_ordinary>(y + t, codes + t / kPacked, t, stores);
    }
    if (t == n) return;
    alignas(64) Storage end[kTile];
    const Padded codes_left(codes + t / kPacked, (n - t) / kPacked);
    put<cell, is_ordinary>(end, codes_left.values, t, Stores{false});
    std::memcpy(y + t, end, static_cast<size_t>((n - t) * kItem));
  }
  // A tile from element t of a piece on.
  template <int64_t cell, bool is_ordinary>
  NPU_QUANT_INLINE void put(Storage* y, const char* codes, int64_t t, Stores stores) const {
    if constexpr (kWords && is_ordinary) {
      I16 added[2];
      for (int half = 0; half < 2; ++half) {
        const int16_t* const from = added_ + (t + half * kTile / 2) / cell;
        added[half] = cell == 1 ? load<I16>(from) : I16{} + *from;
      }
      return put_words<Code>(reinterpret_cast<char*>(y), codes_at(codes), added, stores);
    }
    Tile v;
    is_ordinary ? Code::units(codes_at(codes), v) : find_values<Code>(codes_at(codes), v);
    for (int p = 0; p < 4; ++p)
      v.part[p] *= cell == 1 ? load<F32>(factors_ + t + p * kLanes)
                             : broadcast(factors_[(t + p / 2 * 2 * kLanes) / cell]);
    is_ordinary ? Out::put_exact(y, v, stores) : Out::put(y, v, stores);
  }
  static NPU_QUANT_INLINE I8 codes_at(const char* codes) {
    if constexpr (kPacked == 2)
      return unsigned_nibbles(load<Nibbles>(codes));
    else
      return load<I8>(codes);
  }

  const AntiMxKernel::Args& args_;
  Source x_;
  Sink y_;
  const bool lies_in_rows_;  // x and y
  const int64_t width_;
  const uintptr_t ahead_;  // of codes, which are asked for
  bool is_ordinary_ = false;
  alignas(64) char bytes_[kPiece + kVectorBytes];  // of the factors, and ordinary ones
  alignas(64) float factors_[kPiece];
  alignas(64) int16_t added_[kWords ? kPiece : 1];  // to exponents
  Buffer<> x_buffer_, y_buffer_;
};

}  // namespace

template <>
void AntiMxKernel::run<kTarget>(const Args& args) {
  const DefaultFloatEnvironment guard;
  visit_float_with<WholeLoads>(args.y_dtype, [&](auto out) {
    visit_mx_code(args.format, Rounding::to_even,
                  [&](auto code) { run_apart<Numbers<decltype(out), decltype(code)>>(args); });
  });
}

}  // namespace npu_quant
