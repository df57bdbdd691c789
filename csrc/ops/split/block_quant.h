// What the operators that quantize blocks of a matrix share: an array, their attributes and work.
#pragma once

#include <span>
#include <string>

#include "core/ceil_div.h"
#include "core/rounding.h"
#include "ops/contract/choice.h"
#include "ops/contract/op.h"
#include "ops/split/row_groups.h"

namespace npu_quant {

template <class T>
std::string listed(std::span<const T> values) {
  return joined(values, [](T value) { return to_string(static_cast<double>(value)); });
}

struct BlockQuant : Op {
  enum { kY, kScale };
  static constexpr Takes kMatrices = floats().ranks(2, 3);

  TensorView x;
  double min_scale = 0.0;
  RoundMode round_mode;
  DTypeRequest dst_type;
  int64_t row_block_size = 1;
  int64_t col_block_size = 128;
  double dst_type_max = 0.0;

  Inputs inputs() override { return Inputs::of(required("x", x, kMatrices)); }
  Format codes() const;

 protected:
  // What is available.
  BlockQuant(const char* name, std::span<const Format> formats, Format by_default,
             std::span<const int64_t> row_blocks)
      : Op(name), formats_(formats), by_default_(by_default), row_blocks_(row_blocks) {}

  void plan(int64_t lines);            // outputs of so many lines of blocks
  Status check_attributes() override;  // all but dst_type_max
  Status take_rule() override;
  Status check_shapes() override;

  // Where there are no groups all rows are one.
  void quantize(const RowGroups* groups, const TensorView* out) const;

 private:
  const std::span<const Format> formats_;
  const Format by_default_;
  const std::span<const int64_t> row_blocks_;
};

}  // namespace npu_quant
