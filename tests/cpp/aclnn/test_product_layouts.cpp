// Products of random codes, in every layout in which a call can hand over its factors: all give the
// bytes of the first. Where a factor of 4 bits has a sibling of 8, that is the first one: its codes
// lie in bytes of their own, in order. Each factor ends where its memory ends.
#include "product_layouts.h"

#include "aclnnop/aclnn_grouped_matmul_swiglu_quant.h"
#include "aclnnop/aclnn_grouped_matmul_v5.h"
#include "aclnnop/aclnn_quant_matmul_v4.h"
#include "aclnnop/aclnn_quant_matmul_v5.h"
#include "aclnnop/aclnn_weight_quant_batch_matmul_v3.h"

namespace npu_quant::testing::layouts {
namespace {

// A product of aclnnQuantMatmul: `wide` is the sibling of x1 and x2.
struct Form {
  aclDataType x1, x2, out;
  aclDataType wide = ACL_DT_UNDEFINED;
  bool has_groups = false, is_mx = false;

  bool is_of_v4() const { return x1 == x2 && (x1 == ACL_INT8 || (x1 == ACL_INT4 && !has_groups)); }
};
constexpr Form kForms[] = {
    {ACL_INT8, ACL_INT8, ACL_INT32},
    {ACL_INT8, ACL_INT8, ACL_FLOAT16},
    {ACL_INT4, ACL_INT4, ACL_INT32, ACL_INT8},
    {ACL_INT4, ACL_INT4, ACL_BF16, ACL_INT8},
    {ACL_INT4, ACL_INT4, ACL_FLOAT16, ACL_DT_UNDEFINED, true},
    {ACL_INT8, ACL_INT4, ACL_BF16, ACL_DT_UNDEFINED, true},
    {ACL_FLOAT8_E4M3FN, ACL_FLOAT8_E4M3FN, ACL_FLOAT},
    {ACL_FLOAT8_E5M2, ACL_FLOAT8_E5M2, ACL_FLOAT16},
    {ACL_HIFLOAT8, ACL_HIFLOAT8, ACL_FLOAT},
    {ACL_FLOAT8_E4M3FN, ACL_FLOAT8_E4M3FN, ACL_FLOAT, ACL_DT_UNDEFINED, false, true},
    {ACL_FLOAT8_E5M2, ACL_FLOAT8_E5M2, ACL_BF16, ACL_DT_UNDEFINED, false, true},
    {ACL_FLOAT4_E2M1, ACL_FLOAT4_E2M1, ACL_FLOAT, ACL_FLOAT8_E4M3FN, false, true},
};
// Around a lane, a block of k, what is gathered together, and a thread's part.
struct Size {
  int64_t batch, m, k, n;
};
constexpr Size kSizes[] = {
    {1, 2, 8, 2}, {1, 6, 257, 10}, {2, 70, 264, 40}, {1, 66, 514, 72}, {1, 390, 72, 264}};

class QuantMatmulCall {
 public:
  QuantMatmulCall(const Form& form, const Size& size)
      : x1(random_codes(form.x1, size.batch, size.m, size.k)),
        x2(random_codes(form.x2, size.batch, size.k, size.n)),
        form_(form),
        size_(size) {}

  const Matrices x1, x2;

  Bytes run(const Layout& as_x1, const Layout& as_x2, bool turned) const {
    const Factor first(x1, as_x1, size_.batch > 1), second(x2, as_x2, size_.batch > 1);
    const Tensor rows = scale_of_rows(turned), columns = scale_of_columns(turned);
    const bool is_shifted = form_.x1 == ACL_INT8 && form_.x2 == ACL_INT4;
    const Tensor late = is_shifted ? parameter(late_, {size_.n}, ACL_FLOAT, false) : Tensor();
    const Tensor offsets = form_.has_groups && !is_shifted
                               ? parameter(offsets_, {groups(), size_.n}, ACL_FLOAT16, turned)
                               : Tensor();
    Dims shape{size_.batch, size_.m, size_.n};
    if (size_.batch == 1) shape.erase(shape.begin());
    const Tensor y(Block(Bytes(static_cast<size_t>(count_of(shape)) * aclDataTypeSize(form_.out))),
                   shape, contiguous_strides(shape), 0, form_.out);
    const int64_t group = form_.has_groups ? size_.k / groups() : 0;
    const bool is_fourth = turned && form_.is_of_v4();
    const auto phase_1 = [&](uint64_t* bytes, aclOpExecutor** executor) {
      if (is_fourth)
        return aclnnQuantMatmulV4GetWorkspaceSize(first.get(), second.get(), columns.get(), nullptr,
                                                  rows.get(), nullptr, as_x1.is_flagged(),
                                                  as_x2.is_flagged(), y.get(), bytes, executor);
      return aclnnQuantMatmulV5GetWorkspaceSize(
          first.get(), second.get(), rows.get(), columns.get(), nullptr, nullptr, offsets.get(),
          late.get(), nullptr, as_x1.is_flagged(), as_x2.is_flagged(), group, y.get(), bytes,
          executor);
    };
    EXPECT_EQ(testing::run(nullptr, is_fourth ? aclnnQuantMatmulV4 : aclnnQuantMatmulV5, phase_1),
              0);
    return y.block<uint8_t>();
  }

 private:
  int64_t groups() const { return size_.k % 2 == 0 ? 2 : 1; }
  int64_t pairs() const { return (size_.k + 63) / 64; }
  Dims with_batch(Dims shape) const {
    if (size_.batch > 1) shape.insert(shape.begin(), size_.batch);
    return shape;
  }
  Tensor scale_of_rows(bool turned) const {
    if (form_.is_mx)
      return parameter(powers_of_rows_, with_batch({size_.m, pairs(), 2}), ACL_FLOAT8_E8M0, turned);
    if (form_.out == ACL_INT32) return Tensor();
    return parameter(rows_, {size_.m}, ACL_FLOAT, false);
  }
  Tensor scale_of_columns(bool turned) const {
    if (form_.is_mx)
      return parameter(powers_of_columns_, with_batch({pairs(), size_.n, 2}), ACL_FLOAT8_E8M0,
                       turned);
    if (!form_.has_groups) return parameter(columns_, {size_.n}, ACL_FLOAT, false);
    const std::vector<float> some(of_groups_.begin(), of_groups_.begin() + groups() * size_.n);
    if (form_.x1 == ACL_INT8)
      return parameter(as_words<uint64_t>(some), {groups(), size_.n}, ACL_UINT64, turned);
    return parameter(some, {groups(), size_.n}, ACL_FLOAT, turned);
  }

  const Form form_;
  const Size size_;
  const std::vector<float> rows_ = random_floats(size_.m), columns_ = random_floats(size_.n),
                           late_ = random_floats(size_.n), of_groups_ = random_floats(2 * size_.n);
  const std::vector<uint16_t> offsets_ = random_halves(groups() * size_.n);
  const Bytes powers_of_rows_ = random_bytes(size_.batch * size_.m * pairs() * 2, 120, 134),
              powers_of_columns_ = random_bytes(size_.batch * size_.n * pairs() * 2, 120, 134);
};

class ProductLayouts : public OnDevice {};

TEST_F(ProductLayouts, OfQuantMatmul) {
  for (const Form& form : kForms)
    for (const Size& size : kSizes) {
      SCOPED_TRACE(std::to_string(&form - kForms) + ", m " + std::to_string(size.m) + ", k " +
                   std::to_string(size.k));
      const QuantMatmulCall call(form, size);
      const auto of_x1 = layouts_of(form.x1, call.x1, true, true),
                 of_x2 = layouts_of(form.x2, call.x2, true);
      on_every_target([&] {
        std::optional<Bytes> wide;
        if (form.wide != ACL_DT_UNDEFINED) wide = call.run({form.wide}, {form.wide}, false);
        for (const bool words : {false, true}) {  // both factors are of one dtype
          const auto of_dtype = [&](std::vector<Layout> some) {
            std::erase_if(some, [&](const Layout& one) {
              return form.x1 == ACL_INT4 && (one.dtype == ACL_INT32) != words;
            });
            return some;
          };
          const auto first = of_dtype(of_x1), second = of_dtype(of_x2);
          if (first.empty() || second.empty()) continue;
          expect_one_result(first, second, wide,
                            [&](const auto&... how) { return call.run(how...); });
        }
      });
    }
}

// Weights of experts, or of one matrix.
constexpr int64_t kExperts = 2, kRows = 70, kDepth = 264, kColumns = 80;

Tensor x_of_halves(const std::vector<uint16_t>& x, bool turned) {
  return parameter(x, {kRows, kDepth}, ACL_FLOAT16, turned);
}

TEST_F(ProductLayouts, OfWeightQuantBatchMatmul) {
  const Matrices weight = random_codes(ACL_INT4, 1, kDepth, kColumns);
  const auto x = random_halves(kRows * kDepth), scale = random_halves(3 * kColumns),
             offset = random_halves(3 * kColumns);
  const auto run = [&](const Layout&, const Layout& layout, bool turned) {
    const Factor second(weight, layout, false);
    const Tensor y = device_output<uint16_t>({kRows, kColumns}, ACL_FLOAT16),
                 of_x = x_of_halves(x, turned),
                 scales = parameter(scale, {3, kColumns}, ACL_FLOAT16, turned),
                 offsets = parameter(offset, {3, kColumns}, ACL_FLOAT16, !turned);
    const auto phase_1 = [&](uint64_t* bytes, aclOpExecutor** executor) {
      return aclnnWeightQuantBatchMatmulV3GetWorkspaceSize(of_x.get(), second.get(), scales.get(),
                                                           offsets.get(), nullptr, nullptr, nullptr,
                                                           128, 0, y.get(), bytes, executor);
    };
    EXPECT_EQ(testing::run(nullptr, aclnnWeightQuantBatchMatmulV3, phase_1), 0);
    return y.block<uint8_t>();
  };
  std::vector<Layout> all = layouts_of(ACL_INT8, weight, false);
  for (const Layout& layout : layouts_of(ACL_INT4, weight, false)) all.push_back(layout);
  on_every_target([&] { expect_one_result({{ACL_FLOAT16}}, all, {}, run); });
}

// aclnnGroupedMatmulV5, of x and a stack of weights.
struct GroupedForm {
  aclDataType x, weight, out;
  bool is_mx = false;
};
constexpr GroupedForm kGroupedForms[] = {
    {ACL_FLOAT16, ACL_INT8, ACL_FLOAT16},
    {ACL_FLOAT16, ACL_INT4, ACL_FLOAT16},
    {ACL_INT8, ACL_INT8, ACL_INT32},
    {ACL_INT8, ACL_INT4, ACL_BF16},
    {ACL_INT4, ACL_INT4, ACL_FLOAT16},
    {ACL_FLOAT8_E4M3FN, ACL_FLOAT8_E4M3FN, ACL_FLOAT, true},
    {ACL_FLOAT4_E2M1, ACL_FLOAT4_E2M1, ACL_FLOAT, true},
};

struct GroupedCall {
  explicit GroupedCall(const GroupedForm& form)
      : form(form),
        x(random_codes(form.x, 1, kRows, kDepth)),
        weight(random_codes(form.weight, kExperts, kDepth, kColumns)) {}

  const GroupedForm form;
  const Matrices x, weight;
  static constexpr int64_t kPairs = (kDepth + 63) / 64, kOfWeights = kExperts * 3 * kColumns;
  const std::vector<uint16_t> halves = random_halves(kRows * kDepth),
                              antiquant = random_halves(kOfWeights);
  const std::vector<float> scales = random_floats(kOfWeights), rows = random_floats(kRows),
                           biases = random_floats(kExperts * kColumns);
  const Bytes powers = random_bytes(kExperts * kPairs * kColumns * 2, 120, 134),
              powers_of_x = random_bytes(kRows * kPairs * 2, 120, 134);

  bool is_half() const { return form.x == ACL_FLOAT16; }
  Tensor scale(bool turned) const {
    const Dims of_groups{kExperts, 3, kColumns};
    if (is_half() || form.out == ACL_INT32) return {};
    if (form.is_mx)
      return parameter(powers, {kExperts, kPairs, kColumns, 2}, ACL_FLOAT8_E8M0, turned);
    return parameter(scales, of_groups, ACL_FLOAT, turned);
  }
  Tensor scale_of_rows(bool turned) const {
    if (is_half() || form.out == ACL_INT32) return {};
    if (form.is_mx) return parameter(powers_of_x, {kRows, kPairs, 2}, ACL_FLOAT8_E8M0, turned);
    return parameter(rows, {kRows}, ACL_FLOAT, false);
  }
  Bytes run(const Layout& as_x, const Layout& as_weight, bool turned) const {
    const Factor first(x, is_half() ? Layout{ACL_INT8} : as_x, false),
        second(weight, as_weight, true);
    const bool is_shifted = form.x == ACL_INT8 && form.weight == ACL_INT4;
    Tensor of_x = x_of_halves(halves, turned), of_weight = scale(turned),
           of_rows = scale_of_rows(turned), list = device_tensor<int64_t>({29, 60}, {2}, ACL_INT64);
    Tensor bias =
        is_shifted ? parameter(biases, {kExperts, kColumns}, ACL_FLOAT, turned) : Tensor();
    // Of int4 weights a row for each of 3 groups, of others one for all.
    const bool by_groups = form.weight == ACL_INT4;
    const Dims shape = by_groups ? Dims{kExperts, 3, kColumns} : Dims{kExperts, kColumns};
    const std::vector<uint16_t> some(antiquant.begin(), antiquant.begin() + count_of(shape));
    Tensor factor = is_half() ? parameter(some, shape, ACL_FLOAT16, turned) : Tensor(),
           offset = is_half() ? parameter(some, shape, ACL_FLOAT16, !turned) : Tensor();
    const Tensor y(Block(Bytes(kRows * kColumns * aclDataTypeSize(form.out))), {kRows, kColumns},
                   {kColumns, 1}, 0, form.out);
    aclTensor* const whole = is_half() ? of_x.get() : first.get();
    const auto phase_1 = [&](uint64_t* bytes, aclOpExecutor** executor) {
      return aclnnGroupedMatmulV5GetWorkspaceSize(
          list_of(whole), list_of(second.get()), list_of(bias.get()), list_of(of_weight.get()),
          nullptr, list_of(factor.get()), list_of(offset.get()), list_of(of_rows.get()), list.get(),
          nullptr, nullptr, nullptr, 3, 0, 0, 0, nullptr, list_of(y.get()), nullptr, nullptr, bytes,
          executor);
    };
    EXPECT_EQ(testing::run(nullptr, aclnnGroupedMatmulV5, phase_1), 0);
    return y.block<uint8_t>();
  }
};

TEST_F(ProductLayouts, OfGroupedMatmul) {
  for (const GroupedForm& form : kGroupedForms) {
    SCOPED_TRACE(&form - kGroupedForms);
    const GroupedCall call(form);
    const auto run = [&](const auto&... how) { return call.run(how...); };
    const auto weights = layouts_of(form.weight, call.weight, false);
    on_every_target([&] {
      std::optional<Bytes> wide;
      if (form.x == ACL_FLOAT4_E2M1)
        wide = call.run({ACL_FLOAT8_E4M3FN}, {ACL_FLOAT8_E4M3FN}, false);
      for (const Layout& x :
           layouts_of(is_packed(form.x) ? form.x : ACL_INT8, call.x, false, true)) {
        std::vector<Layout> fitting = weights;
        if (form.x == ACL_INT4)  // both are of one dtype
          std::erase_if(fitting, [&](const Layout& one) { return one.dtype != x.dtype; });
        Layout as_x = x;
        if (!is_packed(form.x)) as_x.dtype = form.x;
        expect_one_result({as_x}, fitting, wide, run);
        if (!wide) wide = call.run(as_x, fitting[0], false);
      }
    });
  }
}

TEST_F(ProductLayouts, OfGroupedMatmulSwigluQuant) {
  const Matrices x = random_codes(ACL_INT8, 1, kRows, kDepth);
  for (const aclDataType codes : {ACL_INT8, ACL_INT4}) {
    const Matrices weight = random_codes(codes, kExperts, kDepth, kColumns);
    const auto scales = random_floats(kExperts * 3 * kColumns),
               biases = random_floats(kExperts * kColumns), rows = random_floats(kRows);
    const auto run = [&](const Layout& as_x, const Layout& as_weight, bool turned) {
      const Factor first(x, as_x, false), second(weight, as_weight, true);
      const bool is_int4 = codes == ACL_INT4;
      const std::vector<float> some(scales.begin(), scales.begin() + kExperts * kColumns);
      const Tensor bias = is_int4 ? parameter(biases, {kExperts, kColumns}, ACL_FLOAT, turned)
                                  : Tensor(),
                   scale = is_int4 ? parameter(scales, {kExperts, 3, kColumns}, ACL_FLOAT, turned)
                                   : parameter(some, {kExperts, kColumns}, ACL_FLOAT, turned),
                   of_rows = parameter(rows, {kRows}, ACL_FLOAT, false),
                   list = device_tensor<int64_t>({29, 60}, {2}, ACL_INT64),
                   y = device_output<int8_t>({kRows, kColumns / 2}, ACL_INT8),
                   of_y = device_output<float>({kRows}, ACL_FLOAT);
      const auto phase_1 = [&](uint64_t* bytes, aclOpExecutor** executor) {
        return aclnnGroupedMatmulSwigluQuantGetWorkspaceSize(
            first.get(), second.get(), bias.get(), nullptr, scale.get(), of_rows.get(), list.get(),
            y.get(), of_y.get(), nullptr, bytes, executor);
      };
      EXPECT_EQ(testing::run(nullptr, aclnnGroupedMatmulSwigluQuant, phase_1), 0);
      Bytes all = y.block<uint8_t>();
      for (const uint8_t byte : of_y.block<uint8_t>()) all.push_back(byte);
      return all;
    };
    const auto of_x = layouts_of(ACL_INT8, x, false), of_weight = layouts_of(codes, weight, false);
    on_every_target([&] { expect_one_result(of_x, of_weight, {}, run); });
  }
}

}  // namespace
}  // namespace npu_quant::testing::layouts
