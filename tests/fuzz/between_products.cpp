// The operators between two quantized products of a layer, as operators.cpp has the others.
#include "aclnnop/aclnn_dequant_bias.h"
#include "aclnnop/aclnn_dequant_swiglu_quant.h"
#include "aclnnop/aclnn_dequant_swiglu_quant_v2.h"
#include "aclnnop/aclnn_group_quant.h"
#include "aclnnop/aclnn_grouped_matmul_swiglu_quant.h"
#include "aclnnop/aclnn_grouped_matmul_swiglu_quant_v2.h"
#include "aclnnop/aclnn_grouped_matmul_v4.h"
#include "aclnnop/aclnn_grouped_matmul_v5.h"
#include "aclnnop/aclnn_quant_matmul_v4.h"
#include "aclnnop/aclnn_quant_matmul_v5.h"
#include "aclnnop/aclnn_quant_scatter.h"
#include "aclnnop/aclnn_quant_scatter_v2.h"
#include "aclnnop/aclnn_swi_glu.h"
#include "aclnnop/aclnn_swi_glu_quant.h"
#include "aclnnop/aclnn_swi_glu_quant_v2.h"
#include "aclnnop/aclnn_swiglu_group_quant.h"
#include "aclnnop/aclnn_weight_quant_batch_matmul_v2.h"
#include "aclnnop/aclnn_weight_quant_batch_matmul_v3.h"
#include "draws.h"

namespace npu_quant::fuzzing {

void group_quant(Call& c) {
  if (c.codes == ACL_INT4 || c.codes == ACL_INT32) make_packable(c);
  c.x.resize(2, 8);
  const auto groups = c.pick<int64_t>({1, 2, 40});
  const Place scale = c.in(c.numbers, {groups, c.x.back()}), offset = c.in(c.numbers, {1});
  c.run(PHASES(aclnnGroupQuant), c.in(c.numbers, c.x), scale,
        c.in(c.pick({ACL_INT32, ACL_INT64}), {groups}), c.optional(offset), c.integer({c.codes}),
        c.out(c.codes, holding_codes(c)));
}
void dequant_bias(Call& c) {
  c.x.resize(2, 3);
  const Dims rows{c.x[0]}, columns{c.x[1]};
  const aclDataType numbers = c.pick({ACL_FLOAT16, ACL_BF16});
  const aclDataType added = c.flag() ? c.numbers : ACL_INT32;
  const Place weights = c.in(c.pick({ACL_FLOAT, ACL_BF16}), columns);
  const Place activations = c.in(ACL_FLOAT, rows), bias = c.in(added, columns);
  c.run(PHASES(aclnnDequantBias), c.in(ACL_INT32, c.x), weights, c.optional(activations),
        c.optional(bias), c.integer({numbers}), c.out(numbers, c.x));
}

// Factors of every kind, as they are or transposed, and the scales of each.
struct MatmulTensors {
  explicit MatmulTensors(Call& c, std::initializer_list<aclDataType> types)
      : type(c.pick(types)), is_first_turned(c.flag()), is_second_turned(c.flag()) {
    const bool is_word = type == ACL_INT32;
    const bool is_integer = type == ACL_INT8 || type == ACL_INT4 || is_word;
    const int64_t m = c.pick<int64_t>({2, 8, 24}), k = c.pick<int64_t>({8, 40, 264}),
                  n = c.pick<int64_t>({8, 264}), together = is_word ? 8 : 1;
    x1 = c.in(type, is_first_turned && !is_word ? Dims{k, m} : Dims{m, k / together});
    is_first_turned = is_first_turned && !is_word;
    x2 = c.in(type, is_second_turned ? Dims{n, k / together} : Dims{k, n / together});
    const aclDataType to = is_integer ? c.pick({ACL_INT8, ACL_INT32, ACL_FLOAT16, ACL_BF16})
                                      : c.pick({ACL_FLOAT16, ACL_BF16, ACL_FLOAT});
    const bool is_float = to != ACL_INT8 && to != ACL_INT32, is_mx = type == ACL_FLOAT4_E2M1;
    const Dims blocks_of_rows{m, (k + 63) / 64, 2}, blocks_of_columns{(k + 63) / 64, n, 2};
    scale = is_mx ? c.in(ACL_FLOAT8_E8M0, blocks_of_columns)
                  : c.in(c.pick({ACL_FLOAT, ACL_INT64, ACL_UINT64}), c.flag() ? Dims{n} : Dims{1});
    rows = is_mx      ? c.in(ACL_FLOAT8_E8M0, blocks_of_rows)
           : is_float ? c.optional(c.in(ACL_FLOAT, {m}))
                      : Place{-1};
    if (to == ACL_INT8) offset = c.optional(c.in(ACL_FLOAT, {n}));
    bias = c.optional(c.in(is_integer && !is_float ? ACL_INT32 : ACL_FLOAT, {n}));
    out = c.out(to, {m, n});
  }
  aclDataType type;
  bool is_first_turned, is_second_turned;
  Place x1, x2, scale, rows{-1}, offset{-1}, bias, out;
};
void quant_matmul_v4(Call& c) {
  const MatmulTensors t(c, {ACL_INT8, ACL_INT4, ACL_INT32});
  c.run(PHASES(aclnnQuantMatmulV4), t.x1, t.x2, t.scale, t.offset, t.rows, t.bias,
        t.is_first_turned, t.is_second_turned, t.out);
}
void quant_matmul_v5(Call& c) {
  const MatmulTensors t(c, {ACL_INT8, ACL_INT4, ACL_INT32, ACL_FLOAT8_E4M3FN, ACL_FLOAT8_E5M2,
                            ACL_HIFLOAT8, ACL_FLOAT4_E2M1});
  const Place none{-1};
  c.run(PHASES(aclnnQuantMatmulV5), t.x1, t.x2, t.rows, t.scale, none, none, t.offset, none, t.bias,
        t.is_first_turned, t.is_second_turned, c.integer({0}), t.out);
}

struct ScatterTensors {
  explicit ScatterTensors(Call& c) : axis(c.pick<int64_t>({1, -2})) {
    c.x.resize(std::max<size_t>(c.x.size(), 3), 3);
    Dims slabs = c.x;
    auto& length = axis == 1 ? slabs[1] : slabs.end()[-2];
    if (c.flag()) length = std::min<int64_t>(length, 1);
    const aclDataType parameters = c.pick({ACL_FLOAT, ACL_BF16});
    self = c.out(c.codes, c.x);
    indices = c.in(c.pick({ACL_INT32, ACL_INT64}), c.flag() ? Dims{slabs[0]} : Dims{slabs[0], 2});
    updates = c.in(c.pick({ACL_FLOAT16, ACL_BF16}), slabs);
    scales = c.in(parameters, {slabs.back()});
    zero_points = c.optional(c.in(c.pick({ACL_INT32, ACL_BF16}), {slabs.back()}));
  }
  int64_t axis;
  Place self, indices, updates, scales, zero_points;
};
void quant_scatter(Call& c) {
  const ScatterTensors t(c);
  c.run(PHASES(aclnnInplaceQuantScatter), t.self, t.indices, t.updates, t.scales, t.zero_points,
        c.integer({t.axis}), c.integer({-1}), c.integer({1}));
}
void quant_scatter_v2(Call& c) {
  const ScatterTensors t(c);
  c.run(PHASES(aclnnInplaceQuantScatterV2), t.self, t.indices, t.updates, t.scales, t.zero_points,
        c.integer({t.axis}), c.integer({-1}), c.integer({1}), rounding(c));
}

// An even last axis, and the parameters of groups of rows.
struct GluTensors {
  explicit GluTensors(Call& c) : groups(c.pick<int64_t>({1, 2, 5})), dynamic(c.flag()) {
    c.x.resize(std::max<size_t>(c.x.size(), 2), 2);
    c.x.back() = (c.x.back() + 3) / 4 * 4;
    half = rows = c.x;
    half.back() /= 2;
    rows.pop_back();
    const Dims one_each{groups}, each{groups, half.back()};
    parameters = c.flag() ? one_each : each;
    scale = c.out(ACL_FLOAT, rows);
  }
  Word mode(Call& c) const { return c.word({dynamic ? "dynamic" : "static"}); }

  int64_t groups;
  bool dynamic;
  Dims half, rows, parameters;
  Place scale;
};
void swi_glu(Call& c) {
  const GluTensors t(c);
  c.run(PHASES(aclnnSwiGlu), c.in(c.numbers, c.x), c.integer({-1}), c.out(c.numbers, t.half));
}

struct GluQuantTensors : GluTensors {
  explicit GluQuantTensors(Call& c) : GluTensors(c), codes(c.pick({ACL_INT8, ACL_INT4})) {
    x = c.in(c.numbers, c.x);
    smooth = c.in(ACL_FLOAT, parameters);
    offsets = dynamic ? Place{-1} : c.in(ACL_FLOAT, parameters);
    list = c.flag() || groups > 1 ? c.in(ACL_INT32, {groups}) : Place{-1};
    y = c.out(codes, half);
  }
  aclDataType codes;
  Place x, smooth, offsets, list, y;
};
void swi_glu_quant(Call& c) {
  const GluQuantTensors t(c);
  c.run(PHASES(aclnnSwiGluQuant), t.x, t.smooth, t.offsets, t.list, c.flag(), t.mode(c), t.y,
        t.scale);
}
void swi_glu_quant_v2(Call& c) {
  const GluQuantTensors t(c);
  c.run(PHASES(aclnnSwiGluQuantV2), t.x, t.smooth, t.offsets, t.list, c.flag(), t.mode(c),
        c.integer({0, 1}), c.integer({t.codes}), t.y, t.scale);
}

void swiglu_group_quant(Call& c) {
  const GluTensors t(c);
  const bool is_mx = c.flag(), has_origin = c.flag();
  const aclDataType dtype = c.pick({ACL_FLOAT16, ACL_BF16});
  const aclDataType codes = c.pick({ACL_FLOAT8_E5M2, ACL_FLOAT8_E4M3FN});
  Dims blocks = t.half;
  blocks.back() = (blocks.back() + 127) / 128;
  const Place x = c.in(dtype, c.x), weight = c.optional(c.in(ACL_FLOAT, t.rows));
  const Place list = c.optional(c.in(ACL_INT64, {t.groups}));
  const Place scale = is_mx ? c.out(ACL_FLOAT8_E8M0, mx_scales_of(t.half, t.half.size() - 1, 32))
                            : c.out(ACL_FLOAT, blocks);
  const Place y = c.out(codes, t.half), origin = c.out(dtype, t.half);
  c.run(PHASES(aclnnSwigluGroupQuant), x, weight, list, Place{-1}, c.integer({codes}),
        c.integer({is_mx ? 1 : 0}), c.integer({0}), is_mx || c.flag(), c.number({-1, 0, 7}),
        c.number({15}), has_origin, y, scale, has_origin ? origin : c.optional(origin));
}

struct DequantGluTensors : GluTensors {
  explicit DequantGluTensors(Call& c)
      : GluTensors(c),
        codes(c.pick({ACL_INT8, ACL_FLOAT8_E4M3FN, ACL_FLOAT8_E5M2, ACL_HIFLOAT8, ACL_FLOAT4_E2M1,
                      ACL_FLOAT4_E1M2})) {
    const bool is_integer = c.flag();
    const Dims columns{groups, c.x.back()};
    x = c.in(is_integer ? ACL_INT32 : c.pick({ACL_FLOAT16, ACL_BF16}), c.x);
    if (is_integer) {
      weight_scale = c.in(ACL_FLOAT, columns);
      activation_scale = c.optional(c.in(ACL_FLOAT, rows));
      bias = c.optional(c.in(c.pick({ACL_INT32, ACL_FLOAT, ACL_BF16}), columns));
    }
    quant_scale = c.optional(c.in(ACL_FLOAT, parameters));
    quant_offset = dynamic ? Place{-1} : c.optional(c.in(ACL_FLOAT, parameters));
    list = c.flag() || groups > 1 ? c.in(ACL_INT64, {groups}) : Place{-1};
    y = c.out(codes, half);
  }
  aclDataType codes;
  Place x, weight_scale{-1}, activation_scale{-1}, bias{-1}, quant_scale, quant_offset, list, y;
};
void dequant_swiglu_quant(Call& c) {
  const DequantGluTensors t(c);
  c.run(PHASES(aclnnDequantSwigluQuant), t.x, t.weight_scale, t.activation_scale, t.bias,
        t.quant_scale, t.quant_offset, t.list, c.flag(), t.mode(c), t.y, t.scale);
}
void dequant_swiglu_quant_v2(Call& c) {
  const DequantGluTensors t(c);
  const bool has_all = t.codes == ACL_FLOAT4_E2M1 || t.codes == ACL_FLOAT4_E1M2;
  const Word rounding = has_all ? c.word({"rint", "round", "floor", "ceil", "trunc"})
                                : c.word({t.codes == ACL_HIFLOAT8 ? "round" : "rint"});
  const auto limit = c.number({7, 1, 1e-3}), alpha = c.number({1.702, 1}), bias = c.number({1, 0});
  c.run(PHASES(aclnnDequantSwigluQuantV2), t.x, t.weight_scale, t.activation_scale, t.bias,
        t.quant_scale, t.quant_offset, t.list, c.flag(), t.mode(c), c.integer({t.codes}), rounding,
        c.integer({-1}), c.integer({0, 1, 2}), limit, alpha, bias, t.y, t.scale);
}

// Weights of every format, whose words lie along columns or rows.
struct WeightQuantTensors {
  explicit WeightQuantTensors(Call& c) {
    c.x.resize(2, 8);
    const int64_t k = c.x[1] = (c.x[1] + 7) / 8 * 8, n = c.pick<int64_t>({8, 16, 264});
    const bool is_half = c.flag(), is_float4 = c.flag(),
               has_groups = is_float4 || (c.flag() && k > 32);
    const aclDataType type = is_half ? ACL_FLOAT16 : ACL_BF16,
                      scales = is_float4 ? ACL_UINT8 : type;
    const Dims of_scale = has_groups ? Dims{(k + 31) / 32, n} : c.flag() ? Dims{n} : Dims{1, 1};
    group = has_groups ? 32 : 0;
    x = c.in(type, c.x);
    if (is_float4)
      weight = c.in(ACL_FLOAT, {k, n / 8});
    else if (c.flag())
      weight = c.in(ACL_INT8, {k, n});
    else
      weight = c.in(ACL_INT32, c.flag() ? Dims{k, n / 8} : Dims{k / 8, n});
    scale = c.in(scales, of_scale);
    offset = is_float4 ? Place{-1} : c.optional(c.in(type, of_scale));
    const bool gives_codes = c.flag();
    if (gives_codes) {
      quant_scale = c.in(c.pick({ACL_FLOAT, ACL_INT64}), {n});
      quant_offset = c.optional(c.in(ACL_FLOAT, {1}));
    }
    bias = c.optional(c.in(c.flag() ? type : ACL_FLOAT, {n}));
    y = c.out(gives_codes ? ACL_INT8 : type, {c.x[0], n});
  }
  int64_t group;
  Place x, weight, scale, offset, quant_scale{-1}, quant_offset{-1}, bias, y;
};
void weight_quant_batch_matmul_v2(Call& c) {
  const WeightQuantTensors t(c);
  c.run(PHASES(aclnnWeightQuantBatchMatmulV2), t.x, t.weight, t.scale, t.offset, t.quant_scale,
        t.quant_offset, t.bias, c.integer({t.group}), t.y);
}
void weight_quant_batch_matmul_v3(Call& c) {
  const WeightQuantTensors t(c);
  c.run(PHASES(aclnnWeightQuantBatchMatmulV3), t.x, t.weight, t.scale, t.offset, t.quant_scale,
        t.quant_offset, t.bias, c.integer({t.group}), c.integer({0, 1}), t.y);
}

// Weights of int8, or of int4 in groups along k.
void grouped_matmul_swiglu_quant(Call& c) {
  c.x.resize(2, 8);
  const int64_t k = c.x[1] = (c.x[1] + 7) / 8 * 8, n = c.pick<int64_t>({8, 16, 264});
  const auto experts = c.pick<int64_t>({1, 2, 5});
  const bool is_int8 = c.flag();
  const Place x = c.in(ACL_INT8, c.x);
  Place weight, scale, bias{-1};
  if (is_int8) {
    weight = c.in(ACL_INT8, {experts, k, n});
    scale = c.in(ACL_FLOAT, {experts, n});
  } else {
    weight = c.in(ACL_INT32, c.flag() ? Dims{experts, k, n / 8} : Dims{experts, k / 8, n});
    scale = c.in(c.pick({ACL_FLOAT, ACL_UINT64}),
                 c.flag() ? Dims{experts, n} : Dims{experts, k / 8, n});
    bias = c.in(ACL_FLOAT, {experts, n});
  }
  const Place of_rows = c.in(ACL_FLOAT, {c.x[0]}), ends = c.in(ACL_INT64, {experts});
  const Place y = c.out(ACL_INT8, {c.x[0], n / 2}), of_y = c.out(ACL_FLOAT, {c.x[0]});
  c.run(PHASES(aclnnGroupedMatmulSwigluQuant), x, weight, bias, Place{-1}, scale, of_rows, ends, y,
        of_y, Place{-1});
}

// The same in lists of one, or codes of int4 or of MX alone.
void grouped_matmul_swiglu_quant_v2(Call& c) {
  c.x.resize(2, 8);
  const int64_t k = c.x[1] = (c.x[1] + 7) / 8 * 8, n = c.pick<int64_t>({8, 16, 264});
  const auto experts = c.pick<int64_t>({1, 2, 5});
  const Dims columns{experts, n}, pairs{c.x[0], (k + 63) / 64, 2};
  const auto codes = c.pick({ACL_INT8, ACL_INT4, ACL_FLOAT8_E4M3FN});
  const bool is_mx = codes == ACL_FLOAT8_E4M3FN, is_mixed = codes == ACL_INT8 && c.flag();
  const Place x = c.in(codes, c.x), weight = c.in(is_mixed ? ACL_INT4 : codes, {experts, k, n});
  const Place scale = is_mx ? c.in(ACL_FLOAT8_E8M0, {experts, (k + 63) / 64, n, 2})
                            : c.in(codes == ACL_INT4 ? ACL_UINT64 : ACL_FLOAT, columns);
  const Place assist = is_mixed ? c.in(ACL_FLOAT, columns) : Place{-1};
  const Place of_rows = is_mx ? c.in(ACL_FLOAT8_E8M0, pairs) : c.in(ACL_FLOAT, {c.x[0]});
  const Place smooth =
      codes == ACL_INT4 ? c.optional(c.in(ACL_FLOAT, {experts, n / 2})) : Place{-1};
  const Place list = c.in(ACL_INT64, {experts});
  const Dims half{c.x[0], n / 2};
  const Place y = c.out(is_mx ? codes : ACL_INT8, half);
  const Place of_y =
      is_mx ? c.out(ACL_FLOAT8_E8M0, mx_scales_of(half, 1, 32)) : c.out(ACL_FLOAT, {c.x[0]});
  const int64_t mode = is_mx ? 2 : 0;
  c.run(PHASES(aclnnGroupedMatmulSwigluQuantV2), x, c.list({weight}), c.list({scale}),
        c.list({assist}), Place{-1}, of_rows, smooth, list, c.integer({mode}), c.integer({0}),
        c.integer({mode}), c.integer({0, 1}), nullptr, y, of_y);
}

// Rows of groups in one tensor or several, by a stack of weights or several.
struct GroupedTensors {
  explicit GroupedTensors(Call& c) : stacked(c.flag()), shared(stacked || c.flag()) {
    c.x.resize(2, 16);
    k = c.x[1] = (c.x[1] + 15) / 16 * 16;
    const auto count = static_cast<size_t>(experts = c.pick<int64_t>({1, 2, 3}));
    codes = c.pick({c.numbers, ACL_INT8, ACL_INT4, ACL_FLOAT8_E4M3FN, ACL_FLOAT4_E2M1});
    is_float = codes == c.numbers;
    is_mx = codes == ACL_FLOAT8_E4M3FN || codes == ACL_FLOAT4_E2M1;
    of_weight = (is_float || codes == ACL_INT8) && c.flag() ? c.pick({ACL_INT8, ACL_INT4}) : codes;
    splits = !stacked && !shared && c.flag();
    while (x.places.size() < (shared ? 1 : count)) x.places.push_back(c.in(codes, c.x));
    weight = of_each(c, of_weight, {k, n});
    take_parameters(c);
    if (shared) group_list = c.in(ACL_INT64, {experts});
    const aclDataType to = is_float ? codes : c.pick({ACL_FLOAT16, ACL_BF16});
    const int64_t rows = c.x[0] * static_cast<int64_t>(splits ? 1 : x.places.size());
    while (out.places.size() < (splits ? count : 1)) out.places.push_back(c.out(to, {rows, n}));
  }
  Several of_each(Call& c, aclDataType dtype, Dims shape) const {
    std::vector<Place> places;
    if (stacked) shape.insert(shape.begin(), experts);
    for (int64_t i = 0; i < (stacked ? 1 : experts); ++i) places.push_back(c.in(dtype, shape));
    return c.list(places);
  }
  void take_parameters(Call& c) {
    if (is_float && of_weight != codes) antiquant = of_each(c, codes, {n});
    if (is_mx) scale = of_each(c, ACL_FLOAT8_E8M0, {(k + 63) / 64, n, 2});
    if (codes == ACL_INT4 || (codes == ACL_INT8 && of_weight == ACL_INT4))
      scale = of_each(c, c.pick({ACL_FLOAT, ACL_UINT64}), {2, n});
    else if (codes == ACL_INT8)
      scale = of_each(c, ACL_FLOAT, {n});
    if (codes != ACL_INT4 && c.flag())
      bias = of_each(c, codes == ACL_FLOAT16 ? ACL_FLOAT16 : ACL_FLOAT, {n});
    for (size_t i = 0; !is_float && i < x.places.size(); ++i)
      tokens.places.push_back(is_mx ? c.in(ACL_FLOAT8_E8M0, {c.x[0], (k + 63) / 64, 2})
                                    : c.in(ACL_FLOAT, {c.x[0]}));
  }

  const bool stacked, shared;
  bool splits, is_float, is_mx;
  int64_t experts, k, n = 8;
  aclDataType codes, of_weight;
  Several x, weight, bias, scale, antiquant, tokens, out;
  Place group_list{-1};
};
void grouped_matmul_v4(Call& c) {
  const GroupedTensors t(c);
  const Several none;
  c.run(PHASES(aclnnGroupedMatmulV4), t.x, t.weight, t.bias, t.scale, none, t.antiquant, none,
        t.tokens, t.group_list, none, none, none, c.integer({t.splits ? 0 : 3}),
        c.integer({t.shared ? 0 : -1}), c.integer({0, 1}), c.integer({0}), t.out, none, none);
}
void grouped_matmul_v5(Call& c) {
  const GroupedTensors t(c);
  const Several none;
  c.run(PHASES(aclnnGroupedMatmulV5), t.x, t.weight, t.bias, t.scale, none, t.antiquant, none,
        t.tokens, t.group_list, none, none, none, c.integer({t.splits ? 0 : 3}),
        c.integer({t.shared ? 0 : -1}), c.integer({0, 1}), c.integer({0, 5}), nullptr, t.out, none,
        none);
}

}  // namespace npu_quant::fuzzing
