// Attributes that are words: round_mode, quant_mode.
#pragma once

#include <iterator>
#include <string>

#include "core/rounding.h"
#include "ops/contract/contract.h"

namespace npu_quant {

// A word by which a caller chooses, and what it stands for. A table of them is what is available.
template <class Value>
struct Word {
  const char* word;
  Value value;
};

// For who sets one, whatever its table.
struct AnyChoice {
  virtual void choose(std::string_view word) = 0;

 protected:
  ~AnyChoice() = default;
};

// What a caller chose of a table, by default the first.
template <const auto& table>
class Choice final : public AnyChoice {
 public:
  void choose(std::string_view word) override {
    chosen_ = 0;
    while (chosen_ < kRows && word != table[chosen_].word) ++chosen_;
    if (chosen_ == kRows) came_ = word;
  }
  Choice& operator=(std::string_view word) { return choose(word), *this; }
  // The first one's where it is none of them, which check() says.
  auto value() const { return table[chosen_ < kRows ? chosen_ : 0].value; }
  const char* word() const { return table[chosen_].word; }

  // The table is listed after `expected`.
  Status check(const char* op, const char* argument, const char* expected) const {
    if (chosen_ < kRows) return {};
    const auto show = [](const auto& row) { return quoted(row.word); };
    return wrong_attribute(op, argument, quoted(came_), {expected, joined(table, show, " or ")});
  }

 private:
  static constexpr size_t kRows = std::size(table);

  size_t chosen_ = 0;
  std::string came_;  // where it is none of them
};

// How codes are rounded that have one way only: hifloat8's ties go away from zero.
inline constexpr Word<Rounding> kTies[] = {{"rint", Rounding::to_even},
                                           {"round", Rounding::away_from_zero}};
using RoundMode = Choice<kTies>;
Status check_round_mode(const char* op, const RoundMode& round_mode, Format codes);

}  // namespace npu_quant
