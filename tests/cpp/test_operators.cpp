// What every operator refuses, whichever it is: each of its arrays and attributes is spoilt in
// turn.
#include <cmath>
#include <functional>
#include <limits>
#include <memory>
#include <set>

#include "failing_new.h"
#include "op_checks.h"
#include "ops/add_rms_norm.h"
#include "ops/add_rms_norm_dynamic_quant.h"
#include "ops/add_rms_norm_quant.h"
#include "ops/anti_mx_quant.h"
#include "ops/anti_quant.h"
#include "ops/ascend_quant.h"
#include "ops/convert_weight_to_int4pack.h"
#include "ops/dequant_bias.h"
#include "ops/dequant_swiglu_quant.h"
#include "ops/dtype_cast.h"
#include "ops/dual_level_quant_matmul.h"
#include "ops/dynamic_block_mx_quant.h"
#include "ops/dynamic_block_quant.h"
#include "ops/dynamic_dual_level_mx_quant.h"
#include "ops/dynamic_mx_quant.h"
#include "ops/dynamic_quant.h"
#include "ops/fake_quantize.h"
#include "ops/group_quant.h"
#include "ops/grouped_dynamic_block_quant.h"
#include "ops/grouped_dynamic_mx_quant.h"
#include "ops/grouped_matmul_swiglu_quant.h"
#include "ops/moe_finalize_routing.h"
#include "ops/moe_init_routing_v2.h"
#include "ops/moe_token.h"
#include "ops/quant_matmul.h"
#include "ops/quant_scatter.h"
#include "ops/quantize_val.h"
#include "ops/rms_norm.h"
#include "ops/swiglu.h"
#include "ops/swiglu_group_quant.h"
#include "ops/swiglu_quant.h"
#include "ops/trans_quant_param.h"
#include "ops/weight_quant_batchmatmul.h"

namespace npu_quant::testing {
namespace {

// An array of an operator that is in order; of no dtype where none may be given.
struct Array {
  DType dtype = DType::other;
  std::vector<int64_t> shape = {};
};

// An operator, and arrays for all of its inputs. No check reads an element: all lie at one place.
struct Row {
  std::function<std::unique_ptr<Op>()> make;
  std::vector<Array> arrays;

  std::unique_ptr<Op> good() const {
    static std::vector<char> memory(4096);
    std::unique_ptr<Op> op = make();
    auto array = arrays.begin();
    for (const Input& input : op->inputs()) {
      if (array->dtype != DType::other)
        *input.view = view(memory.data(), array->dtype, shape_of(array->shape));
      ++array;
    }
    EXPECT_EQ(array, arrays.end());
    for (const Attribute& attribute : op->attributes())
      attribute.with_field([&]<class Field>(Field& field) {
        if constexpr (std::is_same_v<Field, DTypeRequest>)
          if (attribute.is_required) field = requested(Format::float8_e5m2);
      });
    return op;
  }
};

template <class AnyOp, class... Arguments>
std::function<std::unique_ptr<Op>()> op(Arguments... arguments) {
  return [=] { return std::make_unique<AnyOp>(arguments...); };
}

using Form = FakeQuantize::Form;

std::unique_ptr<Op> with_switch() {
  auto op = std::make_unique<FakeQuantize>("arrays", Form::arrays, true);
  op->has_switch = true;
  return op;
}

std::vector<Row> quantizers() {
  const Array x{DType::float16, {4, 4}}, channels{DType::float32, {4}}, ends{DType::int32, {1}},
      zeros{DType::int32, {4}}, row{DType::float16, {4}}, one{DType::float32, {1}},
      codes{DType::int8, {4, 4}}, zero{DType::int32, {1}};
  static float scale = 1;
  static int32_t zero_point = 0;
  const AffineParameters with{DType::int8, contiguous_view(&scale, DType::float32, 1),
                              contiguous_view(&zero_point, DType::int32, 1)};
  return {
      {op<DynamicQuant>(), {x, {DType::float16, {1, 4}}, ends}},
      {op<DynamicQuantAsymmetric>(), {x, {DType::float16, {1, 4}}, ends}},
      {op<DynamicBlockQuant>(), {x}},
      {op<GroupedDynamicBlockQuant>(), {x, ends}},
      {op<AddRmsNorm>(), {x, x, row}},
      {op<AddRmsNorm>(false), {x, channels}},
      {op<AddRmsNormQuant>(), {x, x, row, channels, zeros, row, channels, zeros}},
      {op<AddRmsNormQuant>(true), {x, x, row, channels, zeros, row, channels, zeros}},
      {op<AddRmsNormDynamicQuant>(), {x, x, row, row, row, row}},
      {op<RmsNormQuant>(), {x, row, row, channels, zeros}},
      {op<RmsNormQuantV2>(), {x, row, channels, zeros, row}},
      {op<RmsNormDynamicQuant>(), {x, row, row, {DType::float16, {1, 4}}}},
      {op<Quantize>(), {x, channels, zeros}},
      {op<AscendQuant>("v3", AscendQuant::Version::v3), {x, row, row}},
      {op<AntiQuant>(), {codes, channels, channels}},
      {op<DtypeCast>(), {x}},
      {op<TransQuantParam>(), {channels, channels}},
      {op<ConvertWeightToInt4pack>(), {{DType::int32, {4, 8}}}},
      {op<FakeQuantize>("numbers", Form::numbers, true), {x}},
      {op<FakeQuantize>("arrays", Form::arrays, false), {x, one, zero}},
      {with_switch, {x, one, zero, one}},
      {op<FakeQuantize>("channels", Form::per_channel, true), {x, channels, zeros}},
      {op<FakeQuantizeBackward>("backward"), {x, {DType::boolean, {4, 4}}}},
      {op<QuantizeVal>("quantize", "x", with), {x}},
      {op<DequantizeVal>("dequantize", "q", with), {codes}},
  };
}

// Blocks with a power of two each.
std::vector<Row> of_blocks() {
  const Array x{DType::float16, {4, 4}}, ends{DType::int32, {1}}, bytes{DType::uint8, {4, 4}};
  return {
      {op<DynamicMxQuant>(), {x}},
      {op<DynamicMxQuantWithDualAxis>(), {x}},
      {op<DynamicBlockMxQuant>(), {x}},
      {op<DynamicDualLevelMxQuant>(), {x, {DType::other, {}}}},
      {op<GroupedDynamicMxQuant>(), {x, ends}},
      {op<AntiMxQuant>(), {bytes, {DType::uint8, {4, 1, 2}}}},
  };
}

// What stands between two quantized products of a layer.
std::vector<Row> between_products() {
  const Array x{DType::float16, {4, 4}}, integers{DType::int32, {4, 4}},
      columns{DType::float32, {4}}, zeros{DType::int32, {4}}, half{DType::float32, {2}},
      ends{DType::int32, {1}};
  return {
      {op<Swiglu>(), {x}},
      {op<SwigluGroupQuant>(), {x, columns, {DType::int64, {1}}, {DType::other, {}}}},
      {op<SwigluQuant>(), {x, half, half, ends}},
      {op<GroupQuant>(), {x, {DType::float32, {1, 4}}, ends, {DType::float32, {1}}}},
      {op<DequantBias>(), {integers, columns, columns, zeros}},
      {op<QuantMatmul>(),
       {{DType::int8, {2, 4}}, {DType::int8, {4, 4}}, columns, columns, {}, columns, {}}},
      {op<QuantScatter>(QuantScatter::Into::self),
       {{DType::int8, {1, 3, 4}}, ends, {DType::float16, {1, 2, 4}}, columns, zeros}},
      {op<DequantSwigluQuant>(),
       {integers, columns, columns, zeros, half, half, {DType::int64, {1}}}},
  };
}

// Products of matrices.
std::vector<Row> products() {
  const Array codes{DType::uint8, {4, 4}}, powers{DType::uint8, {4, 1, 2}},
      x{DType::float16, {2, 64}}, row{DType::float16, {4}}, columns{DType::float32, {4}},
      matrix{DType::float32, {1, 8}};
  return {
      {op<DualLevelQuantMatmul>(),
       {codes, codes, {DType::float32, {4, 1}}, {DType::float32, {1, 4}}, powers, powers, columns}},
      {op<WeightQuantBatchmatmul>(),
       {x, {DType::int8, {64, 4}}, row, row, columns, columns, columns}},
      {op<GroupedMatmulSwigluQuant>(),
       {{DType::int8, {4, 8}},
        {DType::int32, {1, 8, 1}},
        {DType::int64, {1}},
        matrix,
        columns,
        matrix,
        {}}},
      {op<GroupedMatmulSwigluQuantV2>(),
       {{DType::int8, {4, 8}},
        {DType::int32, {1, 8, 1}},
        matrix,
        columns,
        {DType::int64, {1}},
        {},
        matrix,
        {}}},
  };
}

std::unique_ptr<Op> with_experts() {
  std::unique_ptr<Op> made = op<MoeInitRoutingV2>()();
  auto& routing = static_cast<MoeInitRoutingV2&>(*made);
  routing.expert_num = 3;
  routing.quant_mode = MoeInitRoutingV2::kStatic;
  return made;
}

// What sends rows to experts and brings them back.
std::vector<Row> rows_of_experts() {
  const Array x{DType::float16, {4, 4}}, one{DType::float32, {1}}, experts{DType::int32, {4, 1}},
      indices{DType::int32, {4}}, weights{DType::float32, {4, 1}};
  return {
      {with_experts, {x, experts, one, one}},
      {op<MoeTokenPermute>(), {x, experts}},
      {op<MoeTokenUnpermute>(), {x, indices, weights}},
      {op<MoeFinalizeRouting>(), {x, x, x, x, weights, indices, experts}},
  };
}

std::vector<Row> operators() {
  std::vector<Row> all = quantizers();
  for (auto rows : {of_blocks(), products(), between_products(), rows_of_experts()})
    for (Row& row : rows) all.push_back(std::move(row));
  return all;
}

// Calls use(op, input) for each operator and each of its inputs; the op is in order every time.
template <class Use>
void for_each_input(Use use) {
  for (const Row& row : operators())
    for (int i = 0; i < row.good()->inputs().size(); ++i) {
      const std::unique_ptr<Op> op = row.good();
      const Input input = op->inputs()[i];
      if (!input.view->present) continue;
      SCOPED_TRACE(std::string(op->name) + ", " + input.name);
      use(*op, input);
    }
}

// That an operator refuses an argument for what it is.
void expect_fault(Op& op, Fault kind, const char* argument) {
  const Status status = op.check();
  EXPECT_EQ(status.fault(), kind) << message_of(status);
  if (status.ok()) return;
  ASSERT_EQ(status.refusal().subject.parts().size(), 1U);
  EXPECT_EQ(status.refusal().subject.parts()[0].text, argument);
}

TEST(Operators, AreInOrder) {
  for (const Row& row : operators()) {
    const Status status = row.good()->check();
    EXPECT_TRUE(status.ok()) << message_of(status);
  }
}

TEST(Operators, RefuseAMissingArray) {
  for_each_input([](Op& op, const Input& input) {
    *input.view = {};
    if (input.is_required) expect_fault(op, Fault::missing, input.name);
  });
}

TEST(Operators, RefuseADTypeOfOthers) {
  for_each_input([](Op& op, const Input& input) {
    input.view->dtype = DType::other;
    input.view->dtype_name = "complex64";
    expect_fault(op, Fault::dtype, input.name);
  });
}

TEST(Operators, RefuseMoreAxesThanThereMayBe) {
  for_each_input([](Op& op, const Input& input) {
    input.view->rank = kMaxRank + 1;
    input.view->shape = shape_of({1, 1, 1, 1, 1, 1, 1, 1});
    expect_fault(op, Fault::rank, input.name);
  });
}

// Whatever the rank, no axis is looked at that is not there.
TEST(Operators, TakeOrRefuseEveryRank) {
  for (int rank = 0; rank <= kMaxRank; ++rank)
    for_each_input([rank](Op& op, const Input& input) {
      input.view->rank = input.view->shape.rank = rank;
      for (int axis = 0; axis < rank; ++axis) input.view->shape.dims[axis] = 1;
      const Fault fault = op.check().fault();
      EXPECT_TRUE(fault == Fault::none || fault == Fault::rank || fault == Fault::shape ||
                  fault == Fault::attribute)
          << message_of(op.check());
    });
}

TEST(Operators, RefuseMoreElementsThanThereMayBe) {
  for_each_input([](Op& op, const Input& input) {
    input.view->shape.dims[0] = int64_t{1} << 53;
    input.view->strides[0] = 0;
    expect_fault(op, Fault::shape, input.name);
  });
}

// What an attribute of a kind may be that no operator takes; of a bool, nothing.
void spoil(int64_t& field, int way) {
  using Limits = std::numeric_limits<int64_t>;
  field = way == 0 ? Limits::min() : Limits::max();
}
void spoil(double& field, int) { field = NAN; }
void spoil(bool&, int) {}
void spoil(DTypeRequest& field, int way) {
  field = way == 0 ? requested(Format::uint64) : requested(Format::other);
}
void spoil(AnyChoice& field, int) { field.choose("other"); }
void spoil(Wanted& field, int way) { field = {.count = way == 0 ? 1 : 2}; }
void spoil(Integers& field, int way) { field = {.count = way == 0 ? 1 : 3, .each = {0, 0, -1}}; }

// Calls use(op, attribute) for each operator and each of its attributes, which is spoilt.
template <class Use>
void for_each_spoilt_attribute(Use use) {
  // Without effect, or any number is fine; a bool is fine as well.
  const std::set<std::string> fine = {"inner_k_tiles",
                                      "epsilon",
                                      "scale",
                                      "div_mode",
                                      "activate_left",
                                      "active_num",
                                      "expert_capacity",
                                      "expert_tokens_num_flag",
                                      "num_out_tokens",
                                      "padded_mode",
                                      "k",
                                      "round_scale",
                                      "output_origin"};
  for (const Row& row : operators())
    for (int i = 0; i < row.good()->attributes().size(); ++i)
      for (const int way : {0, 1}) {
        const std::unique_ptr<Op> op = row.good();
        const Attribute attribute = op->attributes()[i];
        SCOPED_TRACE(std::string(op->name) + ", " + attribute.name + ", " + std::to_string(way));
        attribute.with_field([&](auto& field) { spoil(field, way); });
        const bool is_fine = fine.count(attribute.name) > 0;
        if (!is_fine) use(*op, attribute);
        EXPECT_EQ(op->check().ok(), is_fine);
      }
}

TEST(Operators, RefuseAttributes) {
  for_each_spoilt_attribute([](Op& op, const Attribute& attribute) {
    const Status status = op.check();
    EXPECT_TRUE(status.fault() == Fault::attribute || status.fault() == Fault::unavailable);
    EXPECT_NE(message_of(status).find(attribute.name), std::string::npos) << message_of(status);
  });
}

TEST(Operators, JudgeArraysBeforeAttributes) {
  for_each_spoilt_attribute([](Op& op, const Attribute&) {
    const Inputs inputs = op.inputs();
    int count = inputs.size();
    while (!inputs[count - 1].view->present) --count;
    const Input &first = inputs[0], &last = inputs[count - 1];
    first.view->rank = kMaxRank + 1;
    expect_fault(op, Fault::rank, first.name);
    last.view->dtype = DType::other;
    expect_fault(op, Fault::dtype, last.name);
  });
}

// Of arrays with gaps, whose parameters are copied.
TEST(Operators, FailBeforeAnythingIsWritten) {
  for (const Row& row : operators()) {
    const std::unique_ptr<Op> op = row.good();
    SCOPED_TRACE(op->name);
    for (const Input& input : op->inputs())
      for (int64_t& stride : input.view->strides) stride *= 2;
    ASSERT_TRUE(op->check().ok());
    Buffers results;
    std::vector<TensorView> out;
    for (const OutputSpec& spec : op->outputs) {
      results.emplace_back(static_cast<size_t>(spec.shape.size() * size_of(spec.dtype)), 77);
      out.push_back(view(results.back().data(), spec.dtype, spec.shape));
    }
    if (op->run(out.data()).ok())  // of elements that are all 0
      expect_all_or_nothing(results, [&] { return op->run(out.data()).ok(); });
  }
}

}  // namespace
}  // namespace npu_quant::testing
