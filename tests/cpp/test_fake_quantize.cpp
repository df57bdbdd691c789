// The gradient of fake quantization as a C++ caller sees it: the C API has none.
#include "ops/fake_quantize.h"

#include "op_checks.h"

namespace npu_quant::testing {
namespace {

TEST(FakeQuantize, BackwardMultiplies) {
  Values grad = {1, 2, -3};
  std::vector<uint8_t> mask = {1, 0, 0};
  FakeQuantizeBackward op("backward");
  op.grad = view(grad, {3}), op.mask = view(mask.data(), DType::boolean, shape_of({3}));
  expect_results(op, {{{3}, {1, 0, 0}}});
  EXPECT_TRUE(std::signbit(results_of(op, FE_TONEAREST)[0][2]));
}

}  // namespace
}  // namespace npu_quant::testing
