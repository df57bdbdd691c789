// Products of matrices (docs/numerics.md 20), a part of one: some rows times some columns.
//
//   exact    sum   = sum over k of x * w                                     int32, which wraps
//   groups   total = total + (float(sum of a group) - offsets) * scale       float32, from 0
//   chunks   total = total + sum of 128 k                                    float32, from 0
//   blocks   total = total + sum of 32 k * 2^(b1 + b2 - 254)                 float32, from 0
//
// A section is a group, a chunk or a block: what is summed before it is scaled and added. Some
// sections are packed at a time, or some k of a long one (operands.h), and multiplied tile by tile
// (tile.h). What a tile sums is added to the totals while it lies in L1:
//
//            columns: panels of kPanel          of each panel, for each 6 rows, for each section:
//   rows     [ tile | tile | tile ]               sums of the tile  ->  totals of the tile
//            [ tile | tile | tile ]
//
// What the totals become is epilogue.h.
#include "kernels/product/epilogue.h"
#include "kernels/product/operands.h"

namespace npu_quant {
namespace {

// The totals of a part, and what is added to them.
template <class Products>
class Totals {
 public:
  using Sum = typename Products::Sum;

  Totals(const ProductKernel::Args& args, const Operands<Products>& operands, Workspace& memory)
      : args_(args),
        operands_(operands),
        pitch_(padded_columns(args)),
        totals_(memory.take<float>(args.rows * pitch_)),
        sums_(is_in_parts() ? memory.take<Sum>(args.rows * pitch_) : nullptr),
        levels_(args.level > 0 ? memory.take<float>(args.rows * pitch_) : nullptr) {}

  void begin() {
    for (float* of : {totals_, levels_})
      if (of != nullptr)
        std::memset(of, 0, static_cast<size_t>(args_.rows * pitch_) * sizeof(float));
  }

  // Adds the products of what is packed.
  void add(const Block& block) {
    for (int64_t column = 0; column < args_.columns; column += kPanel) {
      if (args_.centred) sum_weights(block, column);
      for (int64_t row = 0, rows; row < args_.rows; row += rows) {
        rows = rows_of_tile(args_.rows - row);
        for (int64_t section = 0; section < block.sections; ++section)
          add_tile(block, section, row, rows, column);
      }
    }
  }
  // Those of a row: int32 where they are exact.
  const float* row(int64_t row) const {
    return (levels_ != nullptr ? levels_ : totals_) + row * pitch_;
  }

 private:
  static Sum* as_sums(float* totals) { return reinterpret_cast<Sum*>(totals); }
  bool is_in_parts() const {
    return args_.sums == SumForm::groups && args_.group > Products::kMostDepth;
  }

  void add_tile(const Block& block, int64_t section, int64_t row, int64_t rows, int64_t column) {
    const int64_t columns = columns_of_tile(args_.columns - column);
    const auto multiply_into = [&](bool adds, Sum* to, int64_t pitch) {
      multiply<Products>(rows, columns, operands_.x(row, block, section), operands_.x_pitch(),
                         operands_.weight(column, block, section), block.depth_of(section),
                         operands_.start(row, section), adds, to, pitch);
    };
    const int64_t at = row * pitch_ + column;
    if (args_.sums == SumForm::exact) return multiply_into(true, as_sums(totals_ + at), pitch_);
    alignas(64) Sum tile[kTileRows * kPanel];
    const bool in_parts = sums_ != nullptr;
    Sum* const sums = in_parts ? sums_ + at : tile;
    const int64_t pitch = in_parts ? pitch_ : kPanel;
    multiply_into(in_parts && !block.begins_section, sums, pitch);
    if (!block.ends_section) return;
    for (int64_t r = 0; r < rows; ++r) {
      add_section(section, row + r, column, columns, sums + r * pitch, totals_ + at + r * pitch_);
      if (levels_ != nullptr && block.ends_level(section, args_.level))
        add_level(block.level(section, args_.level), row + r, column);
    }
  }

  // What the sums of a section, of one row and panel, add to its totals.
  NPU_QUANT_INLINE void add_section(int64_t section, int64_t row, int64_t column, int64_t columns,
                                    const Sum* sums, float* totals) {
    for (int64_t i = 0; i < columns; i += kLanes) {
      F32 total = load<F32>(totals + i);
      if (args_.sums == SumForm::blocks)
        total += by_powers(number(sums + i), operands_.row_power(row, section),
                           operands_.powers(column + i, section));
      else if (args_.sums == SumForm::groups)
        total += of_group(sums, section, row, column, i);
      else
        total += number(sums + i);
      store(totals + i, total);
    }
  }
  NPU_QUANT_INLINE F32 of_group(const Sum* sums, int64_t section, int64_t row, int64_t column,
                                int64_t i) const {
    U32 sum = load<U32>(sums + i);
    if (args_.centred) sum -= 8 * load<U32>(weight_sums_[section] + column + i);
    F32 v = __builtin_convertvector(bit_cast<I32>(sum), F32);
    if (args_.group_offset.data != nullptr)
      v -= static_cast<float>(operands_.sum_of_x(row, section)) *
           operands_.group_offsets(column + i, section);
    return v * operands_.group_scales(column + i, section);
  }
  static NPU_QUANT_INLINE F32 number(const int32_t* sums) {
    return __builtin_convertvector(load<I32>(sums), F32);
  }
  static NPU_QUANT_INLINE F32 number(const float* sums) { return load<F32>(sums); }

  // v * row * column, rounded once: of powers of two that float32 may not hold.
  static NPU_QUANT_INLINE F32 by_powers(F32 v, double row, const double* column) {
    F64 wide[2];
    widen_float32(v, wide);
    for (int half = 0; half < 2; ++half) wide[half] *= row * load<F64>(column + half * kLanes / 2);
    return narrow_float64(wide[0], wide[1]);
  }

  // Of sums of x - 8: what is to be taken off 8 times. They are those of a row of ones.
  void sum_weights(const Block& block, int64_t column) {
    for (int64_t section = 0; section < block.sections; ++section)
      multiply<Products>(1, columns_of_tile(args_.columns - column), operands_.ones(), 0,
                         operands_.weight(column, block, section), block.depth_of(section),
                         operands_.start_of_ones(section), !block.begins_section,
                         weight_sums_[section] + column, kPanel);
  }

  void add_level(int64_t level, int64_t row, int64_t column) {
    const float of_row = parameter_at(args_.x_level, row, level)->value;
    float* const totals = totals_ + row * pitch_ + column;
    float* const levels = levels_ + row * pitch_ + column;
    const int64_t n = least(kPanel, args_.columns - column);
    for (int64_t i = 0; i < n; ++i) {
      levels[i] += totals[i] * of_row * parameter_at(args_.weight_level, level, column + i)->value;
      totals[i] = 0;
    }
  }

  const ProductKernel::Args& args_;
  const Operands<Products>& operands_;
  const int64_t pitch_;
  float* const totals_;
  Sum* const sums_;      // of a section that comes in parts
  float* const levels_;  // of two levels of scales: of the upper one
  alignas(64) Sum weight_sums_[kMostSections][ProductKernel::kMostColumns];
};

template <class Products>
void run_product(const ProductKernel::Args& args) {
  Workspace memory(args.workspace);
  Operands<Products> operands(args, memory);
  Totals<Products> totals(args, operands, memory);
  operands.begin();
  totals.begin();
  for (Block block(args, Products::kMostDepth, Products::kDepth); block.n > 0; block.move_on()) {
    operands.pack(block);
    totals.add(block);
  }
  Epilogue epilogue(args);
  for (int64_t row = 0; row < args.rows; ++row) {
    if (args.sums == SumForm::exact)
      epilogue.put(row, reinterpret_cast<const int32_t*>(totals.row(row)));
    else
      epilogue.put(row, totals.row(row));
  }
}

template <class Products>
int64_t count_bytes(const ProductKernel::Args& args) {
  Workspace memory(nullptr);
  const Operands<Products> operands(args, memory);
  const Totals<Products> totals(args, operands, memory);
  return memory.bytes();
}

// Calls use(Products{}) with what multiplies.
template <class Use>
NPU_QUANT_INLINE void visit_products(const ProductKernel::Args& args, Use use) {
  if (is_of_integers(args)) return use(IntegerProducts{});
  if (args.sums == SumForm::blocks) return use(BlockProducts{});
  if (args.x.format == Format::float16) return use(FloatProducts<true>{});
  use(FloatProducts<false>{});
}

}  // namespace

template <>
void ProductKernel::run<kTarget>(const Args& args) {
  const DefaultFloatEnvironment guard;
  visit_products(args, [&](auto products) { run_product<decltype(products)>(args); });
}
template <>
void ProductMemory::run<kTarget>(const Args& args) {
  visit_products(args.of,
                 [&](auto products) { args.bytes = count_bytes<decltype(products)>(args.of); });
}

}  // namespace npu_quant
