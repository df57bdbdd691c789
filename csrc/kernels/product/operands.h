// What is multiplied at a time, and what belongs to it: a block of some k, packed.
#pragma once

#include "kernels/product/block.h"
#include "kernels/product/panels.h"

namespace npu_quant {
namespace {

// 2^(b - 127) of a byte of E8M0; 255 is NaN.
NPU_QUANT_INLINE double power_at(const ProductKernel::BlockScales& of, int64_t row, int64_t block) {
  if (of.data == nullptr) return 1;
  uint8_t b;
  std::memcpy(&b, of.data + row * of.row_stride + block / 2 * of.stride + block % 2 * of.second, 1);
  return b == 255 ? __builtin_nan("") : bit_cast<double>((int64_t{b} + 1023 - 127) << 52);
}

template <class Products>
class Operands {
 public:
  using Element = typename Products::Element;
  using Sum = typename Products::Sum;

  Operands(const ProductKernel::Args& args, Workspace& memory)
      : args_(args),
        columns_(padded_columns(args)),
        x_(memory.take<Element>((args.rows + 1) * kPitch)),
        weight_(memory.take<Element>(columns_ * kPitch)),
        lines_(memory.take<char>(most(columns_, kRowsTogether) * kLineBytes)),
        spare_(memory.take<char>(most(columns_, kRowsTogether) * kLineBytes / 2)),
        scales_(memory.take<char>(kMostSections * columns_ * int64_t{sizeof(double)})),
        powers_(memory.take<double>(kMostSections * args.rows)),
        sums_(memory.take<int32_t>(kMostSections * args.rows)),
        starts_(memory.take<Sum>(kMostSections * (args.rows + 1))) {}

  void begin() {
    Element* const ones = x_ + args_.rows * kPitch;
    for (int64_t k = 0; k < kPitch; ++k) ones[k] = 1;
    for (int64_t i = 0; i < kMostSections * (args_.rows + 1); ++i) starts_[i] = 0;
  }

  void pack(const Block& block) {
    if constexpr (kIntegers) {
      pack_codes_of_x(block);
      pack_codes_of_weight(block);
      find_starts(block);
    } else {
      pack_values_of_x(block);
      pack_values_of_weight(block);
    }
    if (args_.sums == SumForm::groups) take_group_scales(block);
    if (args_.sums == SumForm::blocks) take_powers(block);
  }

  static constexpr int64_t x_pitch() { return kPitch; }
  const Element* x(int64_t row, const Block& block, int64_t section) const {
    return x_ + row * kPitch + block.begin_of(section);
  }
  const Element* ones() const { return x_ + args_.rows * kPitch; }
  const Element* weight(int64_t column, const Block& block, int64_t section) const {
    return panel(column, block) + block.begin_of(section) * kPanel;
  }
  // What the sums of some rows begin at; those of a row of ones.
  const Sum* start(int64_t row, int64_t section) const {
    return starts_ + section * (args_.rows + 1) + row;
  }
  const Sum* start_of_ones(int64_t section) const { return start(args_.rows, section); }
  int32_t sum_of_x(int64_t row, int64_t section) const { return sums_[section * args_.rows + row]; }

  F32 group_scales(int64_t column, int64_t section) const {
    return load<F32>(group_row(section) + column);
  }
  F32 group_offsets(int64_t column, int64_t section) const {
    return load<F32>(group_row(kMostSections + section) + column);
  }
  double row_power(int64_t row, int64_t section) const {
    return powers_[section * args_.rows + row];
  }
  const double* powers(int64_t column, int64_t section) const {
    return reinterpret_cast<const double*>(scales_) + section * columns_ + column;
  }

 private:
  static constexpr bool kIntegers = sizeof(Element) < sizeof(float);
  static constexpr int64_t kDepth = Products::kDepth, kPitch = Products::kMostDepth;
  static constexpr int64_t kAhead = 8;          // k, of which memory is asked for weights
  static constexpr int64_t kRowsTogether = 64;  // of x, that are gathered
  static constexpr int64_t kLineBytes = 512;    // 128 k of float32

  Element* panel(int64_t column, const Block& block) const {
    return weight_ + column * rounded_up(block.n, kPad);
  }
  // Panels end with whole lanes, or whole blocks.
  static constexpr int64_t kPad = kIntegers ? kDepth : sizeof(Element) == 8 ? kBlockOfSums : 1;

  void pack_codes_of_x(const Block& block);
  void pack_codes_of_weight(const Block& block);
  void pack_lines_across(const Block& block);
  void pack_lines_along_k(const Block& block);
  void find_starts(const Block& block);
  void pack_values_of_x(const Block& block);
  void pack_values_of_weight(const Block& block);
  void put_values_of_weight(const Block& block, int64_t k, const float* values);
  void make_weights(int64_t k, float* values);
  void take_group_scales(const Block& block);
  void take_powers(const Block& block);
  void copy_row(const Strided& of, int64_t row, float absent, float* to) const;

  template <class Value>
  static void put_elements(const Value* values, int64_t n, Element* to) {
    for (int64_t i = 0; i < n; ++i) to[i] = static_cast<Element>(values[i]);
  }
  float* group_row(int64_t which) const {
    return reinterpret_cast<float*>(scales_) + which * columns_;
  }

  const ProductKernel::Args& args_;
  const int64_t columns_;
  Element *const x_, *const weight_;
  char *const lines_, *const spare_, *const scales_;
  double* const powers_;
  int32_t* const sums_;
  Sum* const starts_;
  int64_t group_ = -1;  // whose scales make weights
};

// Codes of rows of x: gathered where they are to lie, if bytes are multiplied as they are. Rows
// that share bytes are gathered as lines across them, which are turned.
template <class Products>
void Operands<Products>::pack_codes_of_x(const Block& block) {
  const Matrix& x = args_.x;
  const int64_t padded = rounded_up(block.n, kDepth);
  const bool is_direct = sizeof(Element) == 1 && x.along_k == 1, is_across = x.across > 1;
  for (int64_t row = 0; row < args_.rows; row += kRowsTogether) {
    const int64_t rows = least(kRowsTogether, args_.rows - row);
    Element* const to = x_ + row * kPitch;
    char* const lines = is_direct ? reinterpret_cast<char*>(to) : is_across ? spare_ : lines_;
    const int64_t width = is_direct || is_across ? kPitch : kLineBytes;
    gather_lines(x, row, rows, block.k, block.n, !is_across, is_across ? lines_ : lines,
                 is_across ? kRowsTogether : width, spare_);
    if (is_across)
      gather(lines_, 1, kRowsTogether, rows, block.n, reinterpret_cast<uint8_t*>(lines), width);
    for (int64_t r = 0; r < rows; ++r) {
      char* const line = lines + r * width;
      if (x.format == Format::float4_e2m1) take_float4(line, block.n);
      if (!is_direct) put_elements(reinterpret_cast<int8_t*>(line), block.n, to + r * kPitch);
      for (int64_t k = block.n; k < padded; ++k) to[r * kPitch + k] = 0;
    }
  }
}

// What is added for each row: where codes of weights are 128 more than they stand for, that is
// taken off; and what codes of x sum up to.
template <class Products>
void Operands<Products>::find_starts(const Block& block) {
  constexpr int32_t kAdded = kCodesPerLane == 4 ? 128 : 0;
  const bool wants_sums = args_.group_offset.data != nullptr;
  if (kAdded == 0 && !wants_sums) return;
  for (int64_t section = 0; section < block.sections; ++section) {
    const int64_t depth = block.depth_of(section);
    for (int64_t row = 0; row <= args_.rows; ++row) {
      const int32_t sum = sum_of_codes(x(row, block, section), depth);
      starts_[section * (args_.rows + 1) + row] = static_cast<Sum>(-kAdded * sum);
      if (row == args_.rows || !wants_sums) continue;
      int32_t& of_section = sums_[section * args_.rows + row];
      of_section = block.begins_section ? sum : of_section + sum;
    }
  }
}

template <class Products>
void Operands<Products>::pack_codes_of_weight(const Block& block) {
  const Matrix& weight = args_.weight;
  const bool along_k =
      weight.along_k > 1 || (weight.across == 1 && weight.stride == 1 && weight.row_stride != 1);
  if (along_k)
    pack_lines_along_k(block);
  else
    pack_lines_across(block);
}

// Of weights whose columns are neighbours in memory, or nothing is.
template <class Products>
void Operands<Products>::pack_lines_across(const Block& block) {
  const Matrix& weight = args_.weight;
  const bool is_direct = weight.across == 1 && weight.row_stride == 1;
  const int64_t whole = is_direct ? args_.columns / kPanel * kPanel : 0;
  const char* const there = is_direct ? element_of(weight, 0, block.k) : nullptr;
  if (const int64_t left = args_.columns - whole; left > 0) {
    const int64_t width = columns_ - whole;
    std::memset(lines_, 0, static_cast<size_t>(block.n * width));
    gather_lines(weight, whole, left, block.k, block.n, false, lines_, width, spare_);
    if (weight.format == Format::float4_e2m1) take_float4(lines_, block.n * width);
  }
  for (int64_t k = 0; k < block.n; k += kDepth) {
    const int64_t lines = least(kDepth, block.n - k);
    for (int64_t column = 0; column < args_.columns; column += kPanel) {
      CodeElement* const to = panel(column, block) + k * kPanel;
      if (column < whole) {
        const char* const from = there + k * weight.stride + column;
        for (int64_t line = 0; line < kDepth; ++line)
          prefetch(reinterpret_cast<uintptr_t>(from + (kAhead + line) * weight.stride));
        interleave(from, weight.stride, lines, to);
      } else {
        const int64_t width = columns_ - whole;
        interleave(lines_ + k * width + (column - whole), width, lines, to);
      }
    }
  }
}

// Of weights whose k are neighbours in memory: kDepth of them come as one element.
template <class Products>
void Operands<Products>::pack_lines_along_k(const Block& block) {
  const Matrix& weight = args_.weight;
  const int64_t padded = rounded_up(block.n, kDepth);
  const bool is_direct =
      weight.along_k == 1 && padded == block.n && weight.format != Format::float4_e2m1;
  const char* from = element_of(weight, 0, block.k);
  int64_t row_stride = weight.row_stride;
  if (!is_direct) {
    gather_lines(weight, 0, args_.columns, block.k, block.n, true, lines_, kLineBytes, spare_);
    // Behind the last k: what is packed brings codes of the next.
    for (int64_t i = 0; i < args_.columns; ++i)
      std::memset(lines_ + i * kLineBytes + block.n, 0, static_cast<size_t>(kDepth));
    if (weight.format == Format::float4_e2m1)
      for (int64_t i = 0; i < args_.columns; ++i) take_float4(lines_ + i * kLineBytes, block.n);
    from = lines_;
    row_stride = kLineBytes;
  }
  for (int64_t column = 0; column < args_.columns; column += kPanel, from += kPanel * row_stride) {
    const int64_t columns = least(kPanel, args_.columns - column);
    if (columns < kPanel) std::memset(spare_, 0, static_cast<size_t>(padded * kPanel));
    visit_item(kDepth, [&](auto together) {
      gather(from, kDepth, row_stride, padded / kDepth, columns,
             reinterpret_cast<decltype(together)*>(spare_), kPanel);
    });
    for (int64_t k = 0; k < padded; k += kDepth)
      widen_line(spare_ + k * kPanel, panel(column, block) + k * kPanel);
  }
}

// Values of rows of x, with zeros up to the end of the last block of 32.
template <class Products>
void Operands<Products>::pack_values_of_x(const Block& block) {
  const Matrix& x = args_.x;
  alignas(64) float values[kPitch + kTile] = {};
  for (int64_t row = 0; row < args_.rows; row += kRowsTogether) {
    const int64_t rows = least(kRowsTogether, args_.rows - row);
    gather_lines(x, row, rows, block.k, block.n, true, lines_, kLineBytes / x.item, spare_);
    for (int64_t r = 0; r < rows; ++r) {
      widen_row(x.format, lines_ + r * kLineBytes, block.n, values);
      put_elements(values, rounded_up(block.n, kPad), x_ + (row + r) * kPitch);
    }
  }
}

template <class Products>
void Operands<Products>::pack_values_of_weight(const Block& block) {
  const Matrix& weight = args_.weight;
  const char* from = element_of(weight, 0, block.k);
  int64_t pitch = weight.stride;
  if (weight.along_k > 1) {  // rows of k, which are turned
    gather_lines(weight, 0, args_.columns, block.k, block.n, true, lines_, kLineBytes, spare_);
    gather(lines_, 1, kLineBytes, block.n, args_.columns, reinterpret_cast<uint8_t*>(spare_),
           columns_);
    from = spare_;
    pitch = columns_;
  } else if (weight.across > 1 || weight.row_stride != weight.item) {
    gather_lines(weight, 0, args_.columns, block.k, block.n, false, lines_, columns_, spare_);
    from = lines_;
    pitch = columns_ * (weight.across > 1 ? 1 : weight.item);
  }
  alignas(64) float values[ProductKernel::kMostColumns + kTile];
  for (int64_t k = 0; k < block.n; ++k) {
    widen_row(weight.format, from + k * pitch, args_.columns, values);
    if (args_.weight_scale.data != nullptr) make_weights(block.k + k, values);
    put_values_of_weight(block, k, values);
  }
  for (float& value : values) value = 0;
  for (int64_t k = block.n; k < rounded_up(block.n, kPad); ++k)
    put_values_of_weight(block, k, values);
}

template <class Products>
void Operands<Products>::put_values_of_weight(const Block& block, int64_t k, const float* values) {
  for (int64_t column = 0; column < args_.columns; column += kPanel)
    put_elements(values + column, kPanel, panel(column, block) + k * kPanel);
}

// What integers of k stand for: (value + offset) * scale, rounded to the dtype of x.
template <class Products>
void Operands<Products>::make_weights(int64_t k, float* values) {
  const int64_t group = k / args_.weight_group;
  if (group != group_) {
    group_ = group;
    copy_row(args_.weight_scale, group, 0, group_row(0));
    copy_row(args_.weight_offset, group, -0.0f, group_row(1));
  }
  visit_float_with<WholeLoads>(
      args_.x.format == Format::bfloat16 ? DType::bfloat16 : DType::float16, [&](auto of_x) {
        using X = decltype(of_x);
        for (int64_t i = 0; i < columns_; i += kTile) {
          Tile v;
          for (int p = 0; p < 4; ++p) {
            const int64_t at = i + p * kLanes;
            v.part[p] = (load<F32>(values + at) + load<F32>(group_row(1) + at)) *
                        load<F32>(group_row(0) + at);
          }
          alignas(64) typename X::Storage rounded[kTile];
          X::put(rounded, v, Stores{false});
          store_tile(values + i, X::load(rounded));
        }
      });
}

// A row of float32 parameters, with zeros up to the end of the last panel.
template <class Products>
void Operands<Products>::copy_row(const Strided& of, int64_t row, float absent, float* to) const {
  for (int64_t i = 0; i < columns_; ++i)
    to[i] = of.data == nullptr || i >= args_.columns ? absent : parameter_at(of, row, i)->value;
}

template <class Products>
void Operands<Products>::take_group_scales(const Block& block) {
  for (int64_t section = 0; section < block.sections; ++section) {
    copy_row(args_.group_scale, block.first + section, 0, group_row(section));
    if (args_.group_offset.data != nullptr)
      copy_row(args_.group_offset, block.first + section, 0, group_row(kMostSections + section));
  }
}

// Powers of two, in float64: what float4 products are more than their values is taken off here.
template <class Products>
void Operands<Products>::take_powers(const Block& block) {
  const double unit = kIntegers ? 0.25 : 1;
  for (int64_t section = 0; section < block.sections; ++section) {
    const int64_t of = block.first + section;
    for (int64_t row = 0; row < args_.rows; ++row)
      powers_[section * args_.rows + row] = power_at(args_.x_scale, row, of);
    for (int64_t i = 0; i < columns_; ++i)
      reinterpret_cast<double*>(scales_)[section * columns_ + i] =
          i < args_.columns ? unit * power_at(args_.block_scale, i, of) : 0;
  }
}

}  // namespace
}  // namespace npu_quant
