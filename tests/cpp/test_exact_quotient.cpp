// The proofs that kernels/dynamic/divide.h relies on: the reciprocal forms give the bytes of a true
// division.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <random>
#include <string>
#include <utility>

#include "codes_kernel.h"
#include "core/format.h"
#include "core/parallel.h"
#include "kernels/dynamic/dynamic.h"
#include "ops/contract/contract.h"
#include "reference.h"

namespace npu_quant::testing {
namespace {

// One row, in groups that each have a scale.
template <class Kernel>
void quantize(Target target, DType dtype, const void* x, int64_t n, int64_t group, int8_t* y,
              float* scale, Rule rule = {}, Format format = Format::int8) {
  char* const values = const_cast<char*>(static_cast<const char*>(x));
  run_on<Kernel>(target, {.dtype = dtype,
                          .format = format,
                          .rows = 1,
                          .n = n,
                          .group = group,
                          .x = {values, 0, size_of(dtype)},
                          .smooth = {},
                          .y = {reinterpret_cast<char*>(y), 0, format == Format::int4 ? 4 : 1},
                          .scale = {reinterpret_cast<char*>(scale), 0, 4},
                          .rule = rule,
                          .stream = false});
}

// Through npu_dynamic_quant's kernel.
void quantize_row(Target target, DType dtype, const void* x, int64_t n, int8_t* y, float* scale) {
  quantize<DynamicQuantKernel>(target, dtype, x, n, n, y, scale);
}

// As blocks of 128, each of which begins with amax, so that each has the row's scale.
void quantize_blocks(Target target, DType dtype, const void* x, int64_t n, int8_t* y,
                     float* scale) {
  quantize<DynamicBlockQuantKernel>(target, dtype, x, n, DynamicBlockQuantKernel::kBlock, y, scale);
}

// Every value from 0 up and its negative, behind a place for amax at the head of each block of 128.
std::vector<uint16_t> all_values() {
  std::vector<uint16_t> row;
  for (uint32_t bits = 0; bits < 0x8000; ++bits)
    for (const uint32_t sign : {0x0000U, 0x8000U}) {
      if (row.size() % 128 == 0) row.push_back(0);
      row.push_back(static_cast<uint16_t>(bits | sign));
    }
  return row;
}

// Those up to amax; `head` is amax. All are the bits of values, or what these bits stand for.
template <class T>
void take_values(const std::vector<T>& all, uint16_t amax, T head, std::vector<T>& row) {
  const int64_t values = 2 * (int64_t{amax} + 1);
  row.assign(all.begin(), all.begin() + values + (values + 126) / 127);
  for (size_t i = 0; i < row.size(); i += 128) row[i] = head;
}

// Every row that there may be.
struct Values {
  std::vector<uint16_t> bits = all_values();
  std::vector<float> widened;
  float (*widen)(uint16_t);

  explicit Values(float (*by)(uint16_t)) : widen(by) {
    for (const uint16_t value : bits) widened.push_back(widen(value));
  }
};

// A row, what its values stand for, what is expected and what comes out. Each thread has one:
// memory for every row anew would take as long as its codes.
struct Row {
  std::vector<uint16_t> bits;
  std::vector<float> v, scales;
  std::vector<int8_t> expected, y;
  float amax;

  Row& take(const Values& all, uint16_t amax_bits) {
    amax = all.widen(amax_bits);
    take_values(all.bits, amax_bits, amax_bits, bits);
    take_values(all.widened, amax_bits, amax, v);
    scales.resize(bits.size() / 128 + 1);
    return *this;
  }
  auto n() const { return static_cast<int64_t>(bits.size()); }
};
thread_local Row of_thread;

// The number of bytes that differ: of most rows, none.
int64_t count_differences(const std::vector<int8_t>& y, const std::vector<int8_t>& expected) {
  if (y == expected) return 0;
  int64_t differences = 0;
  for (size_t i = 0; i < y.size(); ++i) differences += y[i] != expected[i];
  return differences;
}

// Rows with this amax on every target against the formula. Returns the number of differing bytes.
int64_t count_differences(DType dtype, const Values& all, uint16_t amax) {
  Row& row = of_thread.take(all, amax);
  const float scale = row.amax / 127.0f;
  row.expected.resize(row.bits.size());
  row.y.resize(row.bits.size());
  divide_and_round(row.v.data(), row.n(), scale, row.expected.data());
  int64_t differences = 0;
  for (const Target target : runnable_targets())
    for (const auto quantize : {quantize_row, quantize_blocks}) {
      quantize(target, dtype, row.bits.data(), row.n(), row.y.data(), row.scales.data());
      differences += bits_of(row.scales[0]) != bits_of(scale);
      differences += count_differences(row.y, row.expected);
    }
  return differences;
}

float flushed(float v) { return std::fabs(v) < 0x1p-126f ? std::copysign(0.0f, v) : v; }
float div(float a, float b) { return flushed(flushed(a) / flushed(b)); }

// One after the other, so that the compiler sees the formula in the loop.
template <auto quotient>
void quotients(std::vector<float>& v, float amax, float scale, float greatest) {
  for (float& value : v) value = quotient(value, amax, scale, greatest);
}

// A rule, and what it says, written down anew (docs/numerics.md 4). Values become quotients.
struct Formula {
  const char* name;
  Rule rule;
  float (*scale)(float amax, float greatest);
  void (*quotients)(std::vector<float>& v, float amax, float scale, float greatest);
};
const Formula kReference{"Reference",
                         {},
                         [](float a, float m) { return a / m; },
                         quotients<[](float v, float, float s, float) { return v / s; }>};
const Formula kDevices[] = {
    {"Ascend910b",
     {.scale = ScaleForm::product, .code = CodeForm::product},
     [](float a, float m) { return a * (1 / m); },
     quotients<[](float v, float a, float, float m) { return v * (m / a); }>},
    {"Ascend910bBlocks",
     {.scale = ScaleForm::product, .code = CodeForm::product_of_inverse},
     [](float a, float m) { return a * (1 / m); },
     quotients<[](float v, float a, float, float m) { return v * (1 / a * m); }>},
    {"Ascend950",
     {.scale = ScaleForm::product, .code = CodeForm::flushed_quotient},
     [](float a, float m) { return a * (1 / m); },
     quotients<[](float v, float, float s, float) { return div(v, s); }>},
    {"Ascend950Blocks",
     {.scale = ScaleForm::flushed_quotient, .code = CodeForm::flushed_quotient},
     [](float a, float m) { return div(a, m); },
     quotients<[](float v, float, float s, float) { return div(v, s); }>},
};

// Codes of any values, which test_codes.cpp tries: of NaN, 0.
void put_codes(Format format, std::vector<float>& v, std::vector<int8_t>& codes) {
  const auto n = static_cast<int64_t>(v.size());
  for (float& value : v) value = std::isnan(value) ? 0 : value;
  codes.resize(v.size());
  auto* const bytes = reinterpret_cast<uint8_t*>(codes.data());
  run_on<CodesKernel>(runnable_targets().back(), {format, false, v.data(), bytes, n});
  if (format != Format::int4) return;
  for (size_t i = 0; i < codes.size() / 2; ++i)
    bytes[i] = static_cast<uint8_t>((bytes[2 * i] & 15) | bytes[2 * i + 1] << 4);
  codes.resize(codes.size() / 2);
}

// The same of other formats and formulas, of whole blocks.
int64_t count_differences(Format format, DType dtype, const Values& all, uint16_t amax,
                          const Formula& formula = kReference) {
  Row& row = of_thread.take(all, amax);
  row.bits.resize((row.bits.size() + 127) / 128 * 128, amax);
  row.v.resize(row.bits.size(), row.amax);
  const auto greatest = static_cast<float>(find_row(format)->greatest);
  const float scale = formula.scale(row.amax, greatest);
  formula.quotients(row.v, row.amax, scale, greatest);
  put_codes(format, row.v, row.expected);
  row.y.resize(row.expected.size());
  Rule rule = formula.rule;
  rule.greatest = greatest;
  int64_t differences = 0;
  for (const Target target : runnable_targets())
    for (const int64_t group : {row.n(), int64_t{128}}) {
      // What is chosen for a group is chosen for several by the same lines.
      if (divides(target) || (group < row.n() && amax % 8 != 0)) continue;
      quantize<DynamicBlocksKernel>(target, dtype, row.bits.data(), row.n(), group, row.y.data(),
                                    row.scales.data(), rule, format);
      differences += bits_of(row.scales[0]) != bits_of(scale);
      differences += count_differences(row.y, row.expected);
    }
  return differences;
}

template <class Count>
void expect_none_for_every_amax(float (*widen)(uint16_t), uint16_t infinity, Count count) {
  const int64_t exponent = infinity == 0x7c00 ? 1 << 10 : 1 << 7;  // one higher
  const Values all(widen);
  std::atomic<int64_t> differences{0};
  const auto check = [&](int64_t begin, int64_t end) {
    for (int64_t amax = begin; amax < end; ++amax)
      if (is_tried(amax, exponent)) differences += count(all, static_cast<uint16_t>(amax));
  };
  parallel_for(infinity, int64_t{1} << 40, check);  // infinite amax: the edge-case tests
  EXPECT_EQ(differences, 0);
}

TEST(ExactQuotient, EveryFloat16AmaxAndEveryValueBelowIt) {
  expect_none_for_every_amax(widen_float16, 0x7c00, [](const auto& all, uint16_t amax) {
    return count_differences(DType::float16, all, amax);
  });
}

TEST(ExactQuotient, EveryBFloat16AmaxAndEveryValueBelowIt) {
  expect_none_for_every_amax(widen_bfloat16, 0x7f80, [](const auto& all, uint16_t amax) {
    return count_differences(DType::bfloat16, all, amax);
  });
}

// Those whose codes come by one multiplication.
class ExactQuotientOf : public ::testing::TestWithParam<Format> {};
INSTANTIATE_TEST_SUITE_P(Formats, ExactQuotientOf,
                         ::testing::Values(Format::int4, Format::float8_e4m3fn, Format::float8_e5m2,
                                           Format::hifloat8),
                         [](const auto& info) { return name_of(info.param); });

// HiF8 is slow on targets without tables of words, and its ties all go up: every significand of
// amax at four exponents, the subnormal ones among them.
TEST_P(ExactQuotientOf, EveryFloat16AmaxAndEveryValueBelowIt) {
  expect_none_for_every_amax(widen_float16, 0x7c00, [](const auto& all, uint16_t amax) {
    if (GetParam() == Format::hifloat8 && (amax >> 10) % 10 != 0) return int64_t{0};
    return count_differences(GetParam(), DType::float16, all, amax);
  });
}

// BFloat16 has no significand that float16 lacks, but exponents: each of these, next to some
// others.
TEST_P(ExactQuotientOf, EveryBFloat16ExponentOfAmax) {
  expect_none_for_every_amax(widen_bfloat16, 0x7f80, [](const auto& all, uint16_t amax) {
    if (amax % 5 != 0 && amax % 128 != 0) return int64_t{0};
    return count_differences(GetParam(), DType::bfloat16, all, amax);
  });
}

// The devices' formulas, which fast forms follow as they do the division, in the formats of each.
std::vector<std::pair<Formula, Format>> formulas_of_devices() {
  std::vector<std::pair<Formula, Format>> all;
  for (const Formula& formula : kDevices)
    for (const Format format : kCodeFormats) {
      // Of blocks to floats ascend950's form is the reference's but for what it flushes.
      const bool has_all = formula.rule.scale == ScaleForm::product &&
                           formula.rule.code == CodeForm::flushed_quotient;
      const bool is_token_int4 = format == Format::int4 && formula.rule.code == CodeForm::product;
      if (format == Format::int8 || has_all || is_token_int4) all.emplace_back(formula, format);
    }
  return all;
}
class ExactFormula : public ::testing::TestWithParam<std::pair<Formula, Format>> {};
INSTANTIATE_TEST_SUITE_P(Devices, ExactFormula, ::testing::ValuesIn(formulas_of_devices()),
                         [](const auto& info) {
                           return std::string(info.param.first.name) + "_" +
                                  name_of(info.param.second);
                         });

// Every significand of amax, at four exponents.
TEST_P(ExactFormula, EveryFloat16AmaxAndEveryValueBelowIt) {
  const auto& of = GetParam();
  expect_none_for_every_amax(widen_float16, 0x7c00, [&](const auto& all, uint16_t amax) {
    if ((amax >> 10) % 10 != 0) return int64_t{0};
    return count_differences(of.second, DType::float16, all, amax, of.first);
  });
}

TEST_P(ExactFormula, EveryBFloat16ExponentOfAmax) {
  const auto& of = GetParam();
  expect_none_for_every_amax(widen_bfloat16, 0x7f80, [&](const auto& all, uint16_t amax) {
    if (amax % 25 != 0 && amax % 128 != 0) return int64_t{0};
    return count_differences(of.second, DType::bfloat16, all, amax, of.first);
  });
}

// The greatest code may be another than the one of the proof.
TEST(ExactQuotient, OtherGreatestCodes) {
  const Values all(widen_float16);
  for (const float greatest : {7.0f, 63.0f, 126.0f})
    for (uint16_t amax = 1; amax < 0x7c00; amax += 499) {
      Row& row = of_thread.take(all, amax);
      std::vector<int8_t> expected(row.bits.size()), y(row.bits.size());
      divide_and_round(row.v.data(), row.n(), row.amax / greatest, expected.data());
      for (const Target target : runnable_targets()) {
        float scale = 0;
        quantize<DynamicQuantKernel>(target, DType::float16, row.bits.data(), row.n(), row.n(),
                                     y.data(), &scale, {greatest});
        EXPECT_EQ(scale, row.amax / greatest);
        EXPECT_EQ(y, expected) << name_of(target) << ", amax " << amax << ", " << greatest;
      }
    }
}

// fp32: rint(fl(v / scale)) steps where v / scale passes k + 1/2. test_exact_division.cpp proves
// the quotient itself; this looks at the steps, at every exponent.
constexpr int kSteps = 127, kNeighbours = 7;

void values_next_to_steps(float amax, float* v) {
  const float scale = amax / 127.0f;
  *v++ = amax;
  for (int k = 0; k < kSteps; ++k) {
    const uint32_t step = bits_of(scale * (static_cast<float>(k) + 0.5f));
    for (int i = 0; i < kNeighbours; ++i) {
      const float value = float_from_bits(step + static_cast<uint32_t>(i) - kNeighbours / 2);
      *v++ = std::min(value, amax) * (k % 2 == 0 ? 1.0f : -1.0f);
    }
  }
}

int64_t count_float32_differences(float amax) {
  constexpr int64_t kValues = 1 + kSteps * kNeighbours;
  float v[kValues], scale;
  int8_t expected[kValues], y[kValues];
  values_next_to_steps(amax, v);
  divide_and_round(v, kValues, amax / 127.0f, expected);
  int64_t differences = 0;
  for (const Target target : runnable_targets()) {
    if (divides(target)) continue;
    quantize_row(target, DType::float32, v, kValues, y, &scale);
    for (int64_t i = 0; i < kValues; ++i) differences += y[i] != expected[i];
  }
  return differences;
}

TEST(ExactQuotient, Float32AtEveryExponent) {
  std::mt19937 random(1);
  int64_t differences = 0;
  for (uint32_t exponent = 0; exponent < 255; ++exponent)
    for (int i = 0; i < 200; ++i)
      differences += count_float32_differences(
          float_from_bits(exponent << 23 | static_cast<uint32_t>(random() >> 9)));
  EXPECT_EQ(differences, 0);
}

}  // namespace
}  // namespace npu_quant::testing
