// Every operator of the C API, by a function that draws arguments which are mostly taken.
#include "operators.h"

#include <iterator>

#include "aclnnop/aclnn_add_rms_norm.h"
#include "aclnnop/aclnn_add_rms_norm_quant.h"
#include "aclnnop/aclnn_add_rms_norm_quant_v2.h"
#include "aclnnop/aclnn_anti_mx_quant.h"
#include "aclnnop/aclnn_ascend_anti_quant.h"
#include "aclnnop/aclnn_ascend_quant.h"
#include "aclnnop/aclnn_ascend_quant_v3.h"
#include "aclnnop/aclnn_convert_weight_to_int4_pack.h"
#include "aclnnop/aclnn_dynamic_block_quant.h"
#include "aclnnop/aclnn_dynamic_block_quant_v2.h"
#include "aclnnop/aclnn_dynamic_dual_level_mx_quant.h"
#include "aclnnop/aclnn_dynamic_mx_quant.h"
#include "aclnnop/aclnn_dynamic_mx_quant_v2.h"
#include "aclnnop/aclnn_dynamic_mx_quant_v3.h"
#include "aclnnop/aclnn_dynamic_mx_quant_with_dual_axis.h"
#include "aclnnop/aclnn_dynamic_mx_quant_with_dual_axis_v2.h"
#include "aclnnop/aclnn_dynamic_quant.h"
#include "aclnnop/aclnn_dynamic_quant_v2.h"
#include "aclnnop/aclnn_dynamic_quant_v3.h"
#include "aclnnop/aclnn_dynamic_quant_v4.h"
#include "aclnnop/aclnn_fake_quant_per_channel_affine_cachemask.h"
#include "aclnnop/aclnn_fake_quant_per_tensor_affine_cachemask.h"
#include "aclnnop/aclnn_rms_norm.h"
#include "aclnnop/aclnn_trans_quant_param_v2.h"
#include "aclnnop/aclnn_trans_quant_param_v3.h"
#include "draws.h"

namespace npu_quant::fuzzing {
namespace {

void fake_quant_per_tensor(Call& c) {
  const auto lowest = c.integer({-128, 0, 5}), highest = c.integer({127, 255, 15});
  c.run(PHASES(aclnnFakeQuantPerTensorAffineCachemask), c.in(c.numbers, c.x), c.in(c.numbers, {1}),
        c.in(ACL_INT32, {1}), c.number({1, 0}), lowest, highest, c.out(c.numbers, c.x),
        c.out(ACL_BOOL, c.x));
}
void fake_quant_per_channel(Call& c) {
  const Dims channels = along(c, c.axis, false);
  const auto lowest = c.integer({-128, 0, 5}), highest = c.integer({127, 255, 15});
  c.run(PHASES(aclnnFakeQuantPerChannelAffineCachemask), c.in(c.numbers, c.x),
        c.in(c.numbers, channels), c.in(ACL_INT32, channels), c.integer({c.axis}), lowest, highest,
        c.out(c.numbers, c.x), c.out(ACL_BOOL, c.x));
}

// The arrays of dynamic quantization, by what shares a scale.
struct DynamicTensors {
  explicit DynamicTensors(Call& c) : mode(c.pick({"pertoken", "pertensor", "perchannel"})) {
    if (c.codes == ACL_INT4 || c.codes == ACL_INT32) make_packable(c);
    const bool is_matrix = c.x.size() > 1;
    Dims scales = c.x;
    if (!scales.empty()) scales.pop_back();
    if (*mode == 'p' && mode[3] == 't' && mode[4] == 'e') scales = {1};
    if (mode[3] == 'c' && is_matrix) scales.back() = c.x.back();
    const int64_t experts = c.pick<int64_t>({1, 2, 5});
    const bool has_groups = mode[3] == 't' && mode[4] == 'o' && c.flag();
    const int64_t n = c.x.empty() ? 1 : c.x.back();
    x = c.in(c.numbers, c.x);
    smooth = c.in(c.numbers, has_groups ? Dims{experts, n} : Dims{n});
    if (!has_groups && c.flag()) smooth = {-1};
    if (has_groups) groups = c.in(ACL_INT32, {experts});
    y = c.out(c.codes, holding_codes(c));
    scale = c.out(ACL_FLOAT, scales);
    offset = c.out(ACL_FLOAT, scales);
  }
  const char* mode;
  Place x, smooth, groups{-1}, y, scale, offset;
};
void dynamic_quant(Call& c) {
  const DynamicTensors t(c);
  c.run(PHASES(aclnnDynamicQuant), t.x, t.smooth, t.y, t.scale);
}
void dynamic_quant_v2(Call& c) {
  const DynamicTensors t(c);
  c.run(PHASES(aclnnDynamicQuantV2), t.x, t.smooth, t.groups, c.integer({c.codes}), t.y, t.scale,
        c.optional(t.offset));
}
void dynamic_quant_v3(Call& c) {
  const DynamicTensors t(c);
  const bool symmetric = c.flag();
  c.run(PHASES(aclnnDynamicQuantV3), t.x, t.smooth, t.groups, c.integer({c.codes}), symmetric,
        c.word({t.mode}), t.y, t.scale, symmetric ? Place{-1} : t.offset);
}
void dynamic_quant_v4(Call& c) {
  const DynamicTensors t(c);
  const bool symmetric = c.flag();
  c.run(PHASES(aclnnDynamicQuantV4), t.x, t.smooth, t.groups, c.integer({c.codes}), symmetric,
        c.word({t.mode}), c.number({0, 0, 0, 15, 32768}), t.y, t.scale,
        symmetric ? Place{-1} : t.offset);
}

struct BlockTensors {
  explicit BlockTensors(Call& c)
      : rows(c.pick<int64_t>({1, 1, 64, 128, 256})), columns(c.pick<int64_t>({64, 128, 192, 256})) {
    if (c.codes == ACL_INT4 || c.codes == ACL_INT32) c.codes = ACL_INT8;
    Dims scales = c.x;
    if (scales.size() > 1) {
      scales.end()[-1] = (scales.end()[-1] + columns - 1) / columns;
      scales.end()[-2] = (scales.end()[-2] + rows - 1) / rows;
    }
    x = c.in(c.numbers, c.x);
    y = c.out(c.codes, c.x);
    scale = c.out(ACL_FLOAT, scales);
  }
  int64_t rows, columns;
  Place x, y, scale;
};
void dynamic_block_quant(Call& c) {
  const BlockTensors t(c);
  c.run(PHASES(aclnnDynamicBlockQuant), t.x, c.number({0, 0, 1e-3, 200}), rounding(c),
        c.integer({c.codes}), c.integer({t.rows}), c.integer({t.columns}), t.y, t.scale);
}
void dynamic_block_quant_v2(Call& c) {
  const BlockTensors t(c);
  c.run(PHASES(aclnnDynamicBlockQuantV2), t.x, c.number({0, 0, 1e-3, 200}), rounding(c),
        c.integer({c.codes}), c.integer({t.rows}), c.integer({t.columns}),
        c.number({0, 0, 0, 15, 32768}), t.y, t.scale);
}

void anti_mx_quant(Call& c) {
  make_packable(c);
  const aclDataType numbers = c.numbers;
  c.run(PHASES(aclnnAntiMxQuant), c.in(c.mx_codes, c.x),
        c.in(ACL_FLOAT8_E8M0, mx_scales_of(c.x, static_cast<size_t>(c.axis), 32)),
        c.integer({c.axis}), c.integer({numbers}), c.out(numbers, c.x));
}

struct MxTensors {
  explicit MxTensors(Call& c) : block(c.pick<int64_t>({32, 32, 32, 64, 96, 1024})) {
    make_packable(c);
    x = c.in(c.numbers, c.x);
    y = c.out(c.mx_codes, c.x);
    scale = c.out(ACL_FLOAT8_E8M0, mx_scales_of(c.x, static_cast<size_t>(c.axis), block));
  }
  int64_t block;
  Place x, y, scale;
};
void dynamic_mx_quant(Call& c) {
  const MxTensors t(c);
  c.run(PHASES(aclnnDynamicMxQuant), t.x, c.integer({c.axis}), rounding(c), c.integer({c.mx_codes}),
        c.integer({t.block}), c.integer({0, 1}), t.y, t.scale);
}
void dynamic_mx_quant_v2(Call& c) {
  const MxTensors t(c);
  c.run(PHASES(aclnnDynamicMxQuantV2), t.x, c.integer({c.axis}), rounding(c),
        c.integer({c.mx_codes}), c.integer({t.block}), c.integer({0, 1, 2}), greatest(c), t.y,
        t.scale);
}
void dynamic_mx_quant_v3(Call& c) {
  const MxTensors t(c);
  c.run(PHASES(aclnnDynamicMxQuantV3), t.x, c.integer({c.axis}), rounding(c),
        c.integer({c.mx_codes}), c.integer({t.block}), c.integer({0, 1, 2}), greatest(c),
        c.number({0, 0.5}), t.y, t.scale);
}

void dynamic_dual_level_mx_quant(Call& c) {
  make_packable(c);
  Dims groups = c.x;
  if (!groups.empty()) groups.back() = (groups.back() + 511) / 512;
  const Place x = c.in(c.pick({ACL_FLOAT16, ACL_BF16}), c.x), y = c.out(ACL_FLOAT4_E2M1, c.x);
  const Place scale = c.out(ACL_FLOAT, groups);
  const Place bytes = c.out(ACL_FLOAT8_E8M0, mx_scales_of(c.x, static_cast<size_t>(last(c)), 32));
  c.run(PHASES(aclnnDynamicDualLevelMxQuant), x, Place{-1}, c.word({"rint", "round", "floor"}),
        c.integer({512}), c.integer({32}), y, scale, bytes);
}

struct MxTensorsOfTwoAxes {
  explicit MxTensorsOfTwoAxes(Call& c) {
    make_packable(c);
    x = c.in(c.numbers, c.x);
    for (int k = 0; k < 2; ++k) {
      y[k] = c.out(c.mx_codes, c.x);
      scale[k] = c.out(ACL_FLOAT8_E8M0, mx_scales_of(c.x, static_cast<size_t>(last(c) - k), 32));
    }
  }
  Place x, y[2], scale[2];
};
void dynamic_mx_quant_with_dual_axis(Call& c) {
  const MxTensorsOfTwoAxes t(c);
  c.run(PHASES(aclnnDynamicMxQuantWithDualAxis), t.x, rounding(c), c.integer({c.mx_codes}),
        c.integer({0, 1}), t.y[0], t.scale[0], t.y[1], t.scale[1]);
}
void dynamic_mx_quant_with_dual_axis_v2(Call& c) {
  const MxTensorsOfTwoAxes t(c);
  c.run(PHASES(aclnnDynamicMxQuantWithDualAxisV2), t.x, rounding(c), c.integer({c.mx_codes}),
        c.integer({0, 1, 2}), greatest(c), t.y[0], t.scale[0], t.y[1], t.scale[1]);
}

struct NormTensors {
  explicit NormTensors(Call& c) {
    if (c.codes == ACL_INT4 || c.codes == ACL_INT32) make_packable(c);
    const auto own = static_cast<int64_t>(std::min<size_t>(c.x.size(), c.flag() ? 1 : 2));
    const Dims row(c.x.end() - own, c.x.end());
    x1 = c.in(c.numbers, c.x);
    x2 = c.in(c.numbers, c.x);
    gamma = c.in(c.numbers, row);
    beta = c.in(c.numbers, row);
    for (int k = 0; k < 2; ++k) {
      const Dims shape = c.flag() ? row : Dims{1};
      scale[k] = c.in(c.pick({ACL_FLOAT, c.numbers}), shape);
      zero_point[k] = c.optional(c.in(c.pick({ACL_INT32, ACL_FLOAT, c.numbers}), shape));
      y[k] = c.out(c.codes, holding_codes(c));
    }
    x = c.out(c.numbers, c.x);
  }
  Place x1, x2, gamma, beta, scale[2], zero_point[2], y[2], x;
};
Dims ones_for(const Call& c, size_t axes) {
  Dims rows = c.x;
  std::fill(rows.end() - static_cast<int64_t>(axes), rows.end(), 1);
  return rows;
}
void rms_norm(Call& c) {
  const size_t axes = std::min<size_t>(c.x.size(), c.flag() ? 1 : 2);
  const Dims row(c.x.end() - static_cast<int64_t>(axes), c.x.end());
  c.run(PHASES(aclnnRmsNorm), c.in(c.numbers, c.x), c.in(c.pick({ACL_FLOAT, c.numbers}), row),
        c.number({1e-6, 0, 1}), c.out(c.numbers, c.x), c.out(ACL_FLOAT, ones_for(c, axes)));
}
void add_rms_norm(Call& c) {
  const size_t axes = std::min<size_t>(c.x.size(), c.flag() ? 1 : 2);
  const Dims row(c.x.end() - static_cast<int64_t>(axes), c.x.end());
  c.run(PHASES(aclnnAddRmsNorm), c.in(c.numbers, c.x), c.in(c.numbers, c.x), c.in(c.numbers, row),
        c.number({1e-6, 0, 1}), c.out(c.numbers, c.x),
        c.optional(c.out(ACL_FLOAT, ones_for(c, axes))), c.optional(c.out(c.numbers, c.x)));
}
void add_rms_norm_quant(Call& c) {
  const NormTensors t(c);
  c.run(PHASES(aclnnAddRmsNormQuant), t.x1, t.x2, t.gamma, t.scale[0], c.optional(t.scale[1]),
        t.zero_point[0], t.zero_point[1], c.integer({-1}), c.number({1e-6, 0, 1}), c.flag(), t.y[0],
        t.y[1], t.x);
}
void add_rms_norm_quant_v2(Call& c) {
  const NormTensors t(c);
  const Place norm = c.optional(c.out(c.numbers, c.x));
  c.run(PHASES(aclnnAddRmsNormQuantV2), t.x1, t.x2, t.gamma, t.scale[0], c.optional(t.scale[1]),
        t.zero_point[0], t.zero_point[1], c.optional(t.beta), c.integer({-1}),
        c.number({1e-6, 0, 1}), c.flag(), t.y[0], t.y[1], c.optional(t.x), norm);
}

struct ScaledTensors {
  ScaledTensors(Call& c, int64_t axis) {
    const bool among_ones = c.flag();
    const Dims channels = c.flag() ? along(c, axis, among_ones) : Dims{1};
    scale = c.in(c.numbers, channels);
    offset = c.optional(c.in(c.numbers, channels));
  }
  Place scale, offset;
};
void ascend_quant(Call& c) {
  if (c.codes == ACL_INT4 || c.codes == ACL_INT32) make_packable(c);
  const ScaledTensors t(c, std::max<int64_t>(last(c), 0));
  c.run(PHASES(aclnnAscendQuant), c.in(c.numbers, c.x), t.scale, t.offset, c.flag(),
        c.word({"round", "floor", "ceil", "trunc"}), c.integer({c.codes}),
        c.out(c.codes, holding_codes(c)));
}
void ascend_quant_v3(Call& c) {
  if (c.codes == ACL_INT4 || c.codes == ACL_INT32) make_packable(c);
  const ScaledTensors t(c, c.axis);
  c.run(PHASES(aclnnAscendQuantV3), c.in(c.numbers, c.x), t.scale, t.offset, c.flag(),
        c.word({"round", "floor", "ceil", "trunc"}), c.integer({c.codes}),
        c.integer({c.axis, c.axis - static_cast<int64_t>(c.x.size())}),
        c.out(c.codes, holding_codes(c)));
}
void ascend_anti_quant(Call& c) {
  if (c.codes == ACL_INT4 || c.codes == ACL_INT32) make_packable(c);
  const ScaledTensors t(c, std::max<int64_t>(last(c), 0));
  const aclDataType numbers = c.pick({ACL_FLOAT16, ACL_BF16});
  c.run(PHASES(aclnnAscendAntiQuant), c.in(c.codes, holding_codes(c)), t.scale, t.offset,
        c.integer({numbers}), c.flag(), c.out(numbers, c.x));
}

struct WordTensors {
  explicit WordTensors(Call& c) {
    c.x.resize(c.x.size() < 2 ? 1 : 2, 4);
    scale = c.in(ACL_FLOAT, c.x);
    offset = c.optional(c.in(ACL_FLOAT, c.flag() ? c.x : Dims{1}));
    out = c.out(c.pick({ACL_INT64, ACL_UINT64}), c.x);
  }
  Place scale, offset, out;
};
void trans_quant_param_v2(Call& c) {
  const WordTensors t(c);
  c.run(PHASES(aclnnTransQuantParamV2), t.scale, t.offset, t.out);
}
void trans_quant_param_v3(Call& c) {
  const WordTensors t(c);
  c.run(PHASES(aclnnTransQuantParamV3), t.scale, t.offset, c.integer({0, 1}), t.out);
}
void convert_weight_to_int4_pack(Call& c) {
  c.x.resize(c.x.size() < 3 ? 2 : 3, 8);
  make_packable(c);
  const bool is_float = c.flag(), shares_bytes = c.flag();
  Dims packed = c.x;
  if (!shares_bytes) packed.back() /= 8;
  const aclDataType array = is_float ? ACL_FLOAT : ACL_INT32;
  const aclDataType codes = is_float ? ACL_FLOAT4_E2M1 : ACL_INT4;
  c.run(PHASES(aclnnConvertWeightToINT4Pack), c.in(array, c.x),
        c.out(shares_bytes ? codes : array, packed));
}

constexpr void (*kOperators[])(Call&) = {
    fake_quant_per_tensor,
    fake_quant_per_channel,
    dynamic_quant,
    dynamic_quant_v2,
    dynamic_quant_v3,
    dynamic_quant_v4,
    dynamic_block_quant,
    dynamic_block_quant_v2,
    anti_mx_quant,
    dynamic_mx_quant,
    dynamic_mx_quant_v2,
    dynamic_mx_quant_v3,
    dynamic_dual_level_mx_quant,
    dynamic_mx_quant_with_dual_axis,
    dynamic_mx_quant_with_dual_axis_v2,
    rms_norm,
    add_rms_norm,
    add_rms_norm_quant,
    add_rms_norm_quant_v2,
    ascend_quant,
    ascend_quant_v3,
    ascend_anti_quant,
    trans_quant_param_v2,
    trans_quant_param_v3,
    convert_weight_to_int4_pack,
    group_quant,
    dequant_bias,
    quant_matmul_v4,
    quant_matmul_v5,
    quant_scatter,
    quant_scatter_v2,
    swi_glu,
    swi_glu_quant,
    swi_glu_quant_v2,
    swiglu_group_quant,
    dequant_swiglu_quant,
    dequant_swiglu_quant_v2,
    weight_quant_batch_matmul_v2,
    weight_quant_batch_matmul_v3,
    grouped_matmul_swiglu_quant,
    moe_token_permute,
    moe_token_unpermute,
    moe_finalize_routing,
    moe_finalize_routing_v2,
    moe_init_routing_v3,
    grouped_matmul_swiglu_quant_v2,
    grouped_matmul_v4,
    grouped_matmul_v5,
};

}  // namespace

bool call_an_operator(const uint8_t* data, size_t size) {
  Bytes bytes(data, size);
  const size_t chosen = bytes.below(std::size(kOperators));
  Call call(bytes);
  const Target before = active_target();
  kOperators[chosen](call);
  set_active_target(before);
  return call.is_taken();
}

}  // namespace npu_quant::fuzzing
