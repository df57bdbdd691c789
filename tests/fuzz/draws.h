// What functions of operators share: arguments that they draw alike, and those of other files.
#pragma once

#include "call.h"

// The name of a function and its two phases.
#define PHASES(function) #function, function##GetWorkspaceSize, function

namespace npu_quant::fuzzing {

inline Word rounding(Call& c) { return c.word({"rint", "rint", "rint", "round", "floor"}); }
inline Number<double> greatest(Call& c) { return c.number({0, 0, 6, 7, 12, 448}); }

// One length of x, by itself or among ones.
inline Dims along(Call& c, int64_t axis, bool among_ones) {
  const auto place = static_cast<size_t>(axis);
  const int64_t length = place < c.x.size() ? c.x[place] : 1;
  if (!among_ones || c.x.empty()) return {length};
  Dims shape(c.x.size(), 1);
  shape[place] = length;
  return shape;
}
inline int64_t last(const Call& c) { return static_cast<int64_t>(c.x.size()) - 1; }

// An array of x's codes: eight of int4 share an int32.
inline Dims holding_codes(const Call& c) {
  Dims shape = c.x;
  if (c.codes == ACL_INT32 && !shape.empty()) shape.back() /= 8;
  return shape;
}
// Codes that share bytes or elements are whole ones.
inline void make_packable(Call& c) {
  if (!c.x.empty()) c.x.back() = (c.x.back() + 7) / 8 * 8;
}

// Pairs of blocks, the two of a pair in a last axis.
inline Dims mx_scales_of(Dims scales, size_t axis, int64_t block) {
  if (axis < scales.size()) scales[axis] = (scales[axis] + 2 * block - 1) / (2 * block);
  scales.push_back(2);
  return scales;
}

// between_products.cpp
void group_quant(Call& c);
void dequant_bias(Call& c);
void quant_scatter(Call& c);
void quant_scatter_v2(Call& c);
void quant_matmul_v4(Call& c);
void quant_matmul_v5(Call& c);
void swi_glu(Call& c);
void swi_glu_quant(Call& c);
void swi_glu_quant_v2(Call& c);
void swiglu_group_quant(Call& c);
void dequant_swiglu_quant(Call& c);
void dequant_swiglu_quant_v2(Call& c);
void weight_quant_batch_matmul_v2(Call& c);
void weight_quant_batch_matmul_v3(Call& c);
void grouped_matmul_swiglu_quant(Call& c);
void grouped_matmul_swiglu_quant_v2(Call& c);
void grouped_matmul_v4(Call& c);
void grouped_matmul_v5(Call& c);

// routing.cpp
void moe_token_permute(Call& c);
void moe_token_unpermute(Call& c);
void moe_finalize_routing(Call& c);
void moe_finalize_routing_v2(Call& c);
void moe_init_routing_v3(Call& c);

}  // namespace npu_quant::fuzzing
