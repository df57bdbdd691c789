// A kernel that is handed a form which it does not have traps: it never computes something similar.
#include <gtest/gtest.h>

#include <vector>

#include "core/rule.h"
#include "kernels/dynamic/dynamic.h"
#include "kernels/dynamic/groups.h"
#include "kernels/elementwise/args.h"
#include "reference.h"

namespace npu_quant::testing {
namespace {

// An enumerator that there is not.
template <class Form>
constexpr Form kUnknown = static_cast<Form>(99);

struct Memory {
  std::vector<uint16_t> x = std::vector<uint16_t>(256, 0x3c00);  // ones
  std::vector<int8_t> y = std::vector<int8_t>(256);
  std::vector<float> of_groups = std::vector<float>(256, 1.0f), more = of_groups;

  Strided at(auto& values, int64_t row_stride) {
    const auto item = static_cast<int64_t>(sizeof values[0]);
    return {reinterpret_cast<char*>(values.data()), row_stride * item, item};
  }
  char* numbers() { return reinterpret_cast<char*>(of_groups.data()); }

  DynamicArgs tokens(Rule rule) {
    return {.dtype = DType::float16,
            .rows = 2,
            .n = 128,
            .group = 128,
            .x = at(x, 128),
            .smooth = {},
            .y = at(y, 128),
            .scale = at(of_groups, 1),
            .rule = rule,
            .stream = false};
  }
  ScalesKernel::Args scales(Rule rule, bool symmetric) {
    return {.rule = rule,
            .symmetric = symmetric,
            .count = 16,
            .hi = numbers(),
            .lo = numbers(),
            .scale = numbers(),
            .offset = numbers(),
            .multiplier = numbers(),
            .scales = {},
            .offsets = {}};
  }
  FusedRowsKernel::Args rows(Rule rule) {
    return {.dtype = DType::float16,
            .format = Format::int8,
            .rows = 2,
            .n = 128,
            .x = at(x, 128),
            .y = at(y, 128),
            .rule = rule,
            .scales = at(of_groups, 1),
            .offsets = at(of_groups, 1),
            .stream = false};
  }
  QuantizeKernel::Args codes(Rule rule) {
    const Strided one = at(of_groups, 0);
    return {.work = {.rows = 2,
                     .n = 128,
                     .x = at(x, 128),
                     .y = at(y, 128),
                     .parameters = {one, one, one, one},
                     .rule = rule},
            .x_dtype = DType::float16,
            .codes = Format::int8};
  }
};

template <class Kernel>
void expect_trap(const typename Kernel::Args& args) {
  for (const Target target : runnable_targets())
    EXPECT_DEATH(run_on<Kernel>(target, args), "") << name_of(target);
}

class UnknownFormsDeathTest : public ::testing::Test {
 protected:
  static constexpr Rule kScale{.scale = kUnknown<ScaleForm>}, kCode{.code = kUnknown<CodeForm>};
  static constexpr Rule kLeast{.least_scale = kUnknown<LeastScale>};
  Memory memory;
};

TEST_F(UnknownFormsDeathTest, OfTokensBlocksAndColumns) {
  for (const Rule& rule : {kScale, kCode}) {
    DynamicArgs args = memory.tokens(rule);
    expect_trap<DynamicQuantKernel>(args);
    expect_trap<DynamicBlockQuantKernel>(args);
    expect_trap<DynamicBlocksKernel>(args);
    expect_trap<DynamicColumnsKernel>(args);
    expect_trap<DynamicPiecesKernel>(args);
    args.n = args.group = 3;  // short rows
    expect_trap<DynamicPiecesKernel>(args);
  }
}

TEST_F(UnknownFormsDeathTest, OfScalesAndOffsets) {
  expect_trap<ScalesKernel>(memory.scales(kScale, true));
  for (const Rule& rule : {kScale, kLeast}) expect_trap<ScalesKernel>(memory.scales(rule, false));
  for (const Rule& rule : {kScale, kCode, kLeast}) expect_trap<FusedRowsKernel>(memory.rows(rule));
  // Forms that others have.
  expect_trap<FusedRowsKernel>(memory.rows({.scale = ScaleForm::inverse}));
  expect_trap<FusedRowsKernel>(memory.rows({.scale = ScaleForm::flushed_quotient}));
}

TEST_F(UnknownFormsDeathTest, OfCodes) {
  expect_trap<QuantizeKernel>(memory.codes(kCode));
  expect_trap<QuantizeKernel>(memory.codes({.code = CodeForm::product}));  // but it divides
}

// Elementwise kernels but npu_quantize's have no form but the reference's. There is no work.
template <class Kernel>
void expect_reference_alone(typename Kernel::Args args) {
  args.work = {.rows = 0, .n = 0, .x = {}, .y = {}};
  for (const Target target : runnable_targets()) run_on<Kernel>(target, args);
  args.work.rule.code = CodeForm::flushed_quotient;
  expect_trap<Kernel>(args);
}

TEST_F(UnknownFormsDeathTest, OfElementwiseKernels) {
  expect_reference_alone<AntiQuantKernel>(
      {.work = {}, .codes = Format::int8, .y_dtype = DType::float16});
  expect_reference_alone<DequantBiasKernel>({.work = {}, .y_dtype = DType::float16});
  expect_reference_alone<FakeQuantizeKernel>(
      {.work = {}, .x_dtype = DType::float32, .y_dtype = DType::float32, .enabled = true});
  expect_reference_alone<FakeQuantizeBackwardKernel>({.work = {}, .dtype = DType::float32});
  expect_reference_alone<QuantizeValKernel>(
      {.work = {}, .x_dtype = DType::float32, .codes = Format::int8});
  expect_reference_alone<DequantizeValKernel>({.work = {}, .codes = Format::int8});
  expect_reference_alone<DtypeCastKernel>(
      {.work = {}, .from = Format::float32, .to = Format::float16});
  expect_reference_alone<TransQuantParamKernel>({.work = {}, .rounds = false});
  expect_reference_alone<ConvertWeightToInt4packKernel>({.work = {}, .of_float4 = false});
}

}  // namespace
}  // namespace npu_quant::testing
