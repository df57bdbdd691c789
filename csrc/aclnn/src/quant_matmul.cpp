// aclnnQuantMatmulV4, V5: npu_quant_matmul.
#include "ops/quant_matmul.h"

#include <utility>

#include "aclnn/src/executor.h"
#include "aclnnop/aclnn_quant_matmul_v4.h"
#include "aclnnop/aclnn_quant_matmul_v5.h"

namespace npu_quant::aclnn {
namespace {

constexpr std::initializer_list<OtherName> kMatmulNames = {{"output_dtype", "the dtype of out"},
                                                           {"group_sizes", "groupSize"}};
constexpr Format kCodesOfMatmul[] = {Format::int8,        Format::int4,          Format::int32,
                                     Format::float8_e5m2, Format::float8_e4m3fn, Format::hifloat8,
                                     Format::float4_e2m1};
constexpr std::span<const Format> kIntegersOfMatmul(kCodesOfMatmul, 3);
constexpr Function kQuantMatmulV4{
    .name = "aclnnQuantMatmulV4", .other_names = kMatmulNames, .codes = kIntegersOfMatmul};
constexpr Function kQuantMatmulV5{
    .name = "aclnnQuantMatmulV5", .other_names = kMatmulNames, .codes = kCodesOfMatmul};

struct QuantMatmulCall : Call<QuantMatmul> {
  using Call::Call;

  void set_factors(const aclTensor* x1, bool transpose_x1, const aclTensor* x2, bool transpose_x2) {
    take(x1, "x1", op.x1, op.x1_transposed = transpose_x1);
    take(x2, "x2", op.x2, op.x2_transposed = transpose_x2);
  }
  // aclnnTransQuantParam's words may be UINT64.
  void set_scale(const char* name, const aclTensor* scale) {
    input(name, scale, op.scale);
    if (op.scale.dtype == DType::uint64) op.scale.dtype = DType::int64;
  }
  void set_output(const aclTensor* out) {
    output("out", out, outputs[QuantMatmul::kY]);
    op.output_dtype = request_of(outputs[QuantMatmul::kY]);
  }
  // What is there in other versions or on other devices.
  void refuse(const char* name, const aclTensor* tensor) {
    optional_input(name, tensor, nowhere_[nowhere_[0].present]);
    if (tensor != nullptr) fail(Fault::attribute, name, "is given", "expected NULL");
  }
  // Of each axis, 16 bits; where they are not said, the shape of the scales says them.
  void set_group_sizes(int64_t sizes) {
    constexpr int64_t kMask = 0xffff;
    const TensorView &x1 = op.x1, &scale = op.scale;
    int64_t size = sizes & kMask;
    const bool has_rank = x1.rank >= 2 && x1.rank <= kMaxRank;  // is judged later
    if (sizes == 0 && scale.rank == 2 && scale.shape.dims[0] > 0 && has_rank)
      size = x1.shape.dims[x1.rank - 1] * (x1.dtype == DType::int32 ? 8 : 1) / scale.shape.dims[0];
    if (size != 0 || sizes != 0)
      op.group_sizes = {.count = 3, .each = {sizes >> 32 & kMask, sizes >> 16 & kMask, size}};
  }

 private:
  void take(const aclTensor* tensor, const char* name, TensorView& view, bool transposed) {
    input(name, tensor, view);
    check_codes(view);
    if (!transposed || view.rank < 2 || view.rank > kMaxRank) return;
    std::swap(view.shape.dims[view.rank - 2], view.shape.dims[view.rank - 1]);
    std::swap(view.strides[view.rank - 2], view.strides[view.rank - 1]);
  }

  TensorView nowhere_[2];
};

}  // namespace
}  // namespace npu_quant::aclnn

using namespace npu_quant;
using namespace npu_quant::aclnn;

aclnnStatus aclnnQuantMatmulV4GetWorkspaceSize(const aclTensor* x1, const aclTensor* x2,
                                               const aclTensor* scale, const aclTensor* offset,
                                               const aclTensor* pertokenScaleOptional,
                                               const aclTensor* bias, bool transposeX1,
                                               bool transposeX2, const aclTensor* out,
                                               uint64_t* workspaceSize, aclOpExecutor** executor) {
  return plan<QuantMatmulCall>(kQuantMatmulV4, workspaceSize, executor, [&](auto& call) {
    call.set_factors(x1, transposeX1, x2, transposeX2);
    call.set_scale("scale", scale);
    call.optional_input("offset", offset, call.op.offset);
    call.optional_input("pertokenScaleOptional", pertokenScaleOptional, call.op.pertoken_scale);
    call.optional_input("bias", bias, call.op.bias);
    call.set_output(out);
  });
}

aclnnStatus aclnnQuantMatmulV5GetWorkspaceSize(const aclTensor* x1, const aclTensor* x2,
                                               const aclTensor* x1Scale, const aclTensor* x2Scale,
                                               const aclTensor* yScale, const aclTensor* x1Offset,
                                               const aclTensor* x2Offset, const aclTensor* yOffset,
                                               const aclTensor* bias, bool transposeX1,
                                               bool transposeX2, int64_t groupSize, aclTensor* out,
                                               uint64_t* workspaceSize, aclOpExecutor** executor) {
  return plan<QuantMatmulCall>(kQuantMatmulV5, workspaceSize, executor, [&](auto& call) {
    call.set_factors(x1, transposeX1, x2, transposeX2);
    call.optional_input("x1Scale", x1Scale, call.op.pertoken_scale);
    call.set_scale("x2Scale", x2Scale);
    call.optional_input("yScale", yScale, call.op.y_scale);
    call.refuse("x1Offset", x1Offset);
    const bool is_shifted = call.op.x1.dtype == DType::int8 && call.op.x2.dtype != DType::int8;
    if (is_shifted) {
      call.refuse("x2Offset", x2Offset);
      call.optional_input("yOffset", yOffset, call.op.offset);
    } else {
      call.optional_input("x2Offset", x2Offset, call.op.offset);
      call.refuse("yOffset", yOffset);
    }
    call.optional_input("bias", bias, call.op.bias);
    call.set_group_sizes(groupSize);
    call.set_output(out);
  });
}

NPU_QUANT_SECOND_PHASE(aclnnQuantMatmulV4, kQuantMatmulV4)
NPU_QUANT_SECOND_PHASE(aclnnQuantMatmulV5, kQuantMatmulV5)
