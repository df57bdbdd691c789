#include "ops/split/block_quant.h"

#include <algorithm>
#include <cstring>

#include "kernels/dynamic/dynamic.h"
#include "ops/split/dynamic_groups.h"
#include "ops/split/parameter.h"
#include "ops/split/tiles.h"

namespace npu_quant {
namespace {

constexpr int64_t kColBlocks[] = {64, 128, 192, 256};
constexpr int64_t kPart = 64 << 10;  // elements of a line of blocks that a thread takes

// Of no rows.
void clear(const Strided& scale, int64_t blocks) {
  if (scale.data == nullptr) return;
  for (int64_t b = 0; b < blocks; ++b) std::memset(scale.from(0, b).data, 0, sizeof(float));
}

}  // namespace

Format BlockQuant::codes() const {
  return is_among(dst_type.format, formats_) ? dst_type.format : by_default_;
}

void BlockQuant::plan(int64_t lines) {
  Shape blocks = x.shape;
  int64_t* const dims = blocks.dims + x.rank - 2;
  dims[0] = lines;
  if (col_block_size > 0) dims[1] = ceil_div(dims[1], col_block_size);
  outputs.assign(codes_of("y", codes(), x.shape, dst_type.array),
                 OutputSpec{"scale", DType::float32, blocks});
}

Status BlockQuant::check_attributes() {
  NPU_QUANT_RETURN_IF_ERROR(check_bound(name, "min_scale", min_scale));
  NPU_QUANT_RETURN_IF_ERROR(round_mode.check(name, "round_mode", "available: "));
  NPU_QUANT_RETURN_IF_ERROR(check_dst_type(name, dst_type, formats_));
  NPU_QUANT_RETURN_IF_ERROR(check_round_mode(name, round_mode, codes()));
  if (!is_among(row_block_size, row_blocks_))
    return refuse("row_block_size", row_block_size, {"available: ", listed(row_blocks_)});
  if (!is_among(col_block_size, kColBlocks))
    return refuse("col_block_size", col_block_size, {"available: ", listed<int64_t>(kColBlocks)});
  return {};
}

Status BlockQuant::take_rule() {
  rule = reference_rule(codes(), dst_type_max);
  bound_scales(min_scale, rule);
  return check_has_profile(name, numerics.profile);
}

Status BlockQuant::check_shapes() {
  return check_packable(name, "x", x, codes(), outputs[kY].dtype);
}

void BlockQuant::quantize(const RowGroups* groups, const TensorView* out) const {
  const TensorView &y = out[kY], &scale = out[kScale];
  if (outputs[kScale].shape.size() == 0 || (!y.present && !scale.present)) return;
  enum { kX, kCodes, kScales, kTensors };
  const int64_t packed = codes_per_element(codes(), outputs[kY].dtype);
  const int64_t together = std::max<int64_t>(kPart / (row_block_size * col_block_size), 1);
  const bool has_lines = groups != nullptr || row_block_size > 1;
  const Tiles<kTensors> tiles(
      x.shape, {x.strides, y.strides, scale.strides},
      {.group_rows = row_block_size,
       .group_columns = col_block_size,
       .columns = together * col_block_size,
       .row_axis = has_lines ? x.rank - 2 : Cut::kNone,
       .row_groups = groups},
      {{{}, {.columns = packed}, {.columns = col_block_size, .of_groups = true}}});
  const bool stream = worth_streaming(bytes());
  const auto quantize = [&](const auto& part) {
    if (part.rows == 0) return clear(part.at[kScales], ceil_div(part.n, col_block_size));
    run_dynamic({.dtype = x.dtype,
                 .format = codes(),
                 .rows = part.rows,
                 .n = part.n,
                 .group_rows = row_block_size,
                 .group = col_block_size,
                 .x = part.at[kX],
                 .smooth = {},
                 .y = part.at[kCodes],
                 .scale = part.at[kScales],
                 .rule = rule,
                 .stream = stream});
  };
  tiles.for_each_part({x.data, y.data, scale.data}, work_bytes(bytes(), {&x, &y}), quantize);
}

}  // namespace npu_quant
