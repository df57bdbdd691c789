// The operators that route rows to experts and back, as operators.cpp has the others.
#include "aclnnop/aclnn_moe_finalize_routing.h"
#include "aclnnop/aclnn_moe_finalize_routing_v2.h"
#include "aclnnop/aclnn_moe_init_routing_v3.h"
#include "aclnnop/aclnn_moe_token_permute.h"
#include "aclnnop/aclnn_moe_token_unpermute.h"
#include "draws.h"

namespace npu_quant::fuzzing {

// Tokens, of which each goes to some experts.
struct TokensOfExperts {
  explicit TokensOfExperts(Call& c) : k(c.pick<int64_t>({1, 2, 3})) {
    c.x.resize(2, 8);
    c.x[0] = std::min<int64_t>(c.x[0], 300);
    tokens = c.x[0];
    columns = c.x[1];
    copies = tokens * k;
    indices = c.pick({ACL_INT32, ACL_INT32, ACL_INT64});
  }
  Dims rows(int64_t count) const { return {count, columns}; }

  int64_t k, tokens, columns, copies;
  aclDataType indices;
};

void moe_token_permute(Call& c) {
  const TokensOfExperts t(c);
  const aclDataType type = c.flag() ? c.numbers : ACL_INT8;
  const int64_t kept = c.flag() ? t.copies : std::min<int64_t>(t.copies, 3);
  const Place tokens = c.in(type, c.x), indices = c.in(t.indices, {t.tokens, t.k});
  c.run(PHASES(aclnnMoeTokenPermute), tokens, indices, c.integer({kept == t.copies ? 0 : kept}),
        false, c.out(type, t.rows(kept)), c.out(ACL_INT32, {t.copies}));
}

void moe_token_unpermute(Call& c) {
  const TokensOfExperts t(c);
  const Place rows = c.in(c.numbers, t.rows(t.copies)), indices = c.in(ACL_INT32, {t.copies});
  const Place probs = t.k > 1 || c.flag() ? c.in(c.numbers, {t.tokens, t.k}) : Place{-1};
  c.run(PHASES(aclnnMoeTokenUnpermute), rows, indices, probs, c.flag() && c.flag(),
        static_cast<aclIntArray*>(nullptr), c.out(c.numbers, c.x));
}

// Rows of experts, in their order or in slots that some of them have.
struct RowsOfExperts : TokensOfExperts {
  RowsOfExperts(Call& c, bool may_have_slots) : TokensOfExperts(c) {
    has_slots = may_have_slots && c.flag();
    constexpr int64_t kExperts = 9;
    rows_in = c.in(c.numbers, has_slots ? Dims{kExperts, copies, columns} : rows(copies));
    row_idx = c.in(ACL_INT32, {copies});
    skip1 = c.in(c.numbers, c.x);
    skip2 = c.optional(c.in(c.numbers, c.x));
    bias = c.in(c.numbers, {kExperts, columns});
    scales = c.in(c.numbers, {tokens, k});
    experts = c.in(ACL_INT32, {tokens, k});
    y = c.out(c.numbers, c.x);
  }
  bool has_slots;
  Place rows_in, row_idx, skip1, skip2, bias, scales, experts, y;
};
void moe_finalize_routing(Call& c) {
  const RowsOfExperts t(c, false);
  c.run(PHASES(aclnnMoeFinalizeRouting), t.rows_in, t.skip1, t.skip2, t.bias, t.scales, t.row_idx,
        t.experts, t.y);
}
void moe_finalize_routing_v2(Call& c) {
  const RowsOfExperts t(c, true);
  const auto mode = t.has_slots ? c.integer({1, 3}) : c.integer({0, 2});
  const Place scales = t.k > 1 ? t.scales : c.optional(t.scales);
  c.run(PHASES(aclnnMoeFinalizeRoutingV2), t.rows_in, t.row_idx, c.optional(t.skip1), t.skip2,
        c.optional(t.bias), scales, t.experts, mode, t.y);
}

// Rows as they are, or their codes by a scale for all, or for each.
void moe_init_routing_v3(Call& c) {
  const TokensOfExperts t(c);
  constexpr int64_t kExperts = 9, kCapacity = 4;
  const int64_t mode = c.pick<int64_t>({-1, 0, 1}), counted = c.pick<int64_t>({0, 1, 2});
  const bool has_slots = c.flag();
  const int64_t slots = has_slots ? kExperts * kCapacity : t.copies;
  const aclDataType type = mode < 0 ? c.numbers : ACL_INT8;
  const Place x = c.in(c.numbers, c.x), experts = c.in(ACL_INT32, {t.tokens, t.k});
  const Dims of_scale = mode < 0    ? Dims{t.tokens}
                        : mode == 0 ? Dims{1}
                                    : Dims{c.flag() ? 1 : kExperts, t.columns};
  const Place scale = mode == 0 ? c.in(ACL_FLOAT, of_scale) : c.optional(c.in(ACL_FLOAT, of_scale));
  const Place offset = mode == 0 ? c.in(ACL_FLOAT, {1}) : Place{-1};
  const Place y = c.out(type, has_slots ? Dims{kExperts, kCapacity, t.columns} : t.rows(t.copies));
  const Place row_idx = c.out(ACL_INT32, {t.copies});
  const Place counts = c.out(ACL_INT64, counted == 2 ? Dims{kExperts, 2} : Dims{kExperts});
  c.run(PHASES(aclnnMoeInitRoutingV3), x, experts, scale, offset, c.integer({-1}),
        c.integer({has_slots ? kCapacity : -1}), c.integer({kExperts}), c.integer({has_slots}),
        c.integer({counted}), c.flag(), c.integer({mode}), static_cast<aclIntArray*>(nullptr),
        c.integer({0, 1}), y, row_idx, counts, c.out(ACL_FLOAT, {slots}));
}

}  // namespace npu_quant::fuzzing
