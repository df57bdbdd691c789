// npu_quantize as a C++ caller sees it: with scales that divide, which the C API has not.
#include "ops/quantize.h"

#include "op_checks.h"

namespace npu_quant::testing {
namespace {

TEST(Quantize, AddsTheZeroPointBeforeRounding) {
  Values x = {0.5f, 1.5f, -0.5f, NAN, INFINITY, -INFINITY}, scales = {1}, zero_points = {1};
  Quantize op;
  op.self = view(x, {6}), op.scales = view(scales, {1}), op.zero_points = view(zero_points, {1});
  op.dtype = requested(DType::int8);
  expect_results(op, {{{6}, {2, 2, 0, 0, 127, -128}}});
}

TEST(Quantize, TakesAChannelAlongAnyAxis) {
  Values x = {1, 2, 3, 4, 5, 6}, scales = {1, 0.5f};
  Quantize op;
  op.self = view(x, {2, 3}), op.scales = view(scales, {2});
  op.dtype = requested(DType::int32);
  op.axis = -2;
  expect_results(op, {{{2, 3}, {1, 2, 3, 8, 10, 12}}});
}

}  // namespace
}  // namespace npu_quant::testing
