#include "ops/dynamic_block_quant.h"

namespace npu_quant {
namespace {

constexpr int64_t kRowBlocks[] = {1, 64, 128, 256, 512};
constexpr double kGreatestCodes[] = {0, 15, 56, 224, 32768};  // of hifloat8

}  // namespace

DynamicBlockQuant::DynamicBlockQuant()
    : BlockQuant("npu_dynamic_block_quant", kCodeFormats, Format::int8, kRowBlocks) {}

void DynamicBlockQuant::plan_outputs() {
  const int64_t rows = x.shape.dims[x.rank - 2];
  plan(row_block_size > 0 ? blocks_of(rows, row_block_size) : rows);
}

Status DynamicBlockQuant::check_attributes() {
  NPU_QUANT_RETURN_IF_ERROR(BlockQuant::check_attributes());
  if (codes() == Format::hifloat8 && !is_among<double>(dst_type_max, kGreatestCodes))
    return wrong("dst_type_max", {"is ", to_string(dst_type_max)},
                 {"available: ", listed<double>(kGreatestCodes)});
  return check_dst_type_max(name, dst_type_max, codes());
}

Status DynamicBlockQuant::run(const TensorView* out) const {
  quantize(nullptr, out);
  return {};
}

}  // namespace npu_quant
