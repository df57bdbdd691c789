#include "ops/dynamic_groups.h"

#include <cstring>
#include <limits>
#include <memory>
#include <new>

#include "core/dispatch.h"
#include "core/parallel.h"
#include "kernels/dynamic_groups.h"
#include "kernels/dynamic_quant.h"
#include "kernels/quantize.h"
#include "kernels/widen.h"

namespace npu_quant {

namespace {

constexpr int64_t kFewRows = 64, kPartOfRow = 1 << 15;

}  // namespace

int64_t group_end_at(const TensorView& group_index, int64_t expert) {
  int32_t end;
  std::memcpy(&end, group_index.data + expert * group_index.strides[0], sizeof end);
  return end;
}

Status SmoothRows::assign(const char* op, const TensorView& smooth_scales,
                          const TensorView& group_index) {
  if (!smooth_scales.present) return {};
  NPU_QUANT_RETURN_IF_ERROR(
      factors_.assign(op, smooth_scales, smooth_scales.shape, smooth_scales.strides));
  if (!group_index.present) return {};
  experts_ = group_index.shape.dims[0];
  row_stride_ = smooth_scales.shape.dims[1] * static_cast<int64_t>(sizeof(float));
  // The first end beyond a row is the first of the greatest so far that is.
  for (int64_t e = 0, greatest = 0; e + 1 < experts_; ++e)
    ends_[e] = greatest = std::max(greatest, group_end_at(group_index, e));
  return {};
}

int64_t SmoothRows::expert_of(int64_t row) const {
  return std::upper_bound(ends_, ends_ + experts_ - 1, row) - ends_;
}

Strided SmoothRows::of_row(int64_t row) const {
  if (factors_.data() == nullptr) return {};
  return {factors_.data() + expert_of(row) * row_stride_, 0, sizeof(float)};
}

int64_t SmoothRows::end_of(int64_t row) const {
  const int64_t expert = expert_of(row);
  return expert + 1 < experts_ ? ends_[expert] : std::numeric_limits<int64_t>::max();
}

DynamicRows::DynamicRows(const TensorView (&tensors)[kTensors], const SmoothRows& smooth,
                         bool has_parts)
    : tensors_(tensors),
      smooth_(smooth),
      n_(tensors[kX].shape.dims[tensors[kX].rank - 1]),
      rows_(tensors[kX].shape.dims, tensors[kX].rank - 1,
            {tensors[kX].strides, tensors[kY].strides, tensors[kScale].strides,
             tensors[kOffset].strides}),
      segment_(has_parts && rows_.count() < kFewRows ? kPartOfRow : n_),
      segments_(Rows<kTensors>::segments_of(n_, segment_)) {}

RowsPart DynamicRows::part_at(int64_t row, const int64_t (&offsets)[kTensors], int64_t rows,
                              int64_t from, int64_t to) const {
  const auto strided = [&](int t, int64_t stride) {
    if (!tensors_[t].present) return Strided{};
    return Strided{tensors_[t].data + offsets[t] + from * stride, rows_.inner_stride(t), stride};
  };
  const int last = tensors_[kX].rank - 1;
  return {.rows = rows,
          .n = to - from,
          .x = strided(kX, tensors_[kX].strides[last]),
          .y = strided(kY, tensors_[kY].strides[last]),
          .scale = strided(kScale, 0),
          .offset = strided(kOffset, 0),
          .smooth = smooth_.of_row(row).from(0, from)};
}

namespace {

// A chunk of groups is read a second time from the L2 cache; of groups whose elements share cache
// lines there are lines of them.
constexpr int64_t kChunkBytes = 256 << 10, kLeastInLines = 4096, kFewGroups = 128,
                  kMostGroups = 4096;
constexpr int64_t kProducts = 2048;

int64_t magnitude(int64_t stride) { return stride < 0 ? -stride : stride; }

bool lies_in_columns(const Strided& x) {
  return x.row_stride != 0 && magnitude(x.row_stride) < magnitude(x.stride);
}

Strided exchanged(const Strided& t) { return {t.data, t.stride, t.row_stride}; }

// The groups of a part: of a row each where `of_group` has the strides 4 and 0, a column each where
// 0 and 4, or all one. On a thread's stack beside the kernels' buffers.
class Groups {
 public:
  // There is room for a few of them in any case.
  Groups(const DynamicGroups& work, const Strided& of_group, int64_t wanted = 1)
      : work_(work), of_group_(of_group) {
    if (wanted <= most_) return;
    many_.reset(new (std::nothrow) char[static_cast<size_t>(wanted) * kArrays * sizeof(float)]);
    if (many_ == nullptr) return;
    most_ = wanted;
    arrays_ = many_.get();
  }
  Groups(const Groups&) = delete;

  int64_t most() const { return most_; }

  // Whether `begins`, of elements before, too.
  void reduce(const RowsPart& part, bool begins) {
    for_each_tile(part, [&](const RowsPart& tile, DType dtype, int64_t row, int64_t i) {
      const bool first =
          (of_group_.row_stride != 0 || row == 0) && (of_group_.stride != 0 || i == 0);
      run_on_active_target<ExtremesKernel>({.dtype = dtype,
                                            .rows = tile.rows,
                                            .n = tile.n,
                                            .x = tile.x,
                                            .hi = at(kHi).from(row, i),
                                            .lo = at(kLo).from(row, i),
                                            .begins = begins && first});
    });
  }

  // Scales and offsets of so many groups, to where the caller wants them, too.
  void divide(int64_t count, const Strided& scales, const Strided& offsets) {
    run_on_active_target<ScalesKernel>({.rule = work_.rule,
                                        .symmetric = work_.symmetric,
                                        .count = count,
                                        .hi = array(kHi),
                                        .lo = array(kLo),
                                        .scale = array(kScale),
                                        .offset = array(kOffset),
                                        .scales = scales,
                                        .offsets = offsets});
    run_on_active_target<StepsKernel>(
        {work_.y_dtype, count, array(kScale), array(kOffset), array(kFactor), array(kSteps)});
  }

  // The extremes of everything: of so many pairs, which are extremes themselves.
  void combine(const char* pairs, int64_t count) {
    constexpr auto kFloat = static_cast<int64_t>(sizeof(float));
    const Strided x{const_cast<char*>(pairs), 0, kFloat};
    run_on_active_target<ExtremesKernel>({DType::float32, 1, 2 * count, x, at(kHi), at(kLo), true});
  }
  void copy_pair(char* to) const {
    std::memcpy(to, array(kHi), sizeof(float));
    std::memcpy(to + sizeof(float), array(kLo), sizeof(float));
  }
  void divide_as(const Groups& other) { std::memcpy(few_, other.few_, sizeof few_); }

  void encode(const RowsPart& part) {
    if (of_group_.stride != 0 && part.smooth.data == nullptr &&
        work_.takes_fused_loops(part.x, part.y, part.n))
      return run_on_active_target<ColumnCodesKernel>({.dtype = work_.x_dtype,
                                                      .rows = part.rows,
                                                      .n = part.n,
                                                      .x = part.x,
                                                      .y = part.y,
                                                      .scale = array(kScale),
                                                      .offset = array(kOffset),
                                                      .factor = array(kFactor),
                                                      .steps = array(kSteps),
                                                      .stream = work_.streams(part.y, part.n)});
    for_each_tile(part, [&](const RowsPart& tile, DType dtype, int64_t row, int64_t i) {
      run_on_active_target<QuantizeKernel>({.x_dtype = dtype,
                                            .y_dtype = work_.y_dtype,
                                            .rows = tile.rows,
                                            .n = tile.n,
                                            .x = tile.x,
                                            .y = tile.y,
                                            .scale = at(kScale).from(row, i),
                                            .zero_point = at(kOffset).from(row, i),
                                            .factor = at(kFactor).from(row, i),
                                            .offset = at(kSteps).from(row, i),
                                            .divide = true,
                                            .twice = false,
                                            .rounding = Rounding::to_even,
                                            .stream = work_.stream});
    });
  }

 private:
  // Scales and offsets take the place of the extremes.
  enum { kHi, kLo, kFactor, kSteps, kArrays, kScale = kHi, kOffset = kLo };

  char* array(int array) const {
    return arrays_ + array * most_ * static_cast<int64_t>(sizeof(float));
  }
  Strided at(int which) const { return {array(which), of_group_.row_stride, of_group_.stride}; }

  // Calls use(tile, dtype of its x, row, i): the part as it is, or tiles of its products.
  template <class Use>
  void for_each_tile(const RowsPart& part, Use use) {
    if (part.smooth.data == nullptr) return use(part, work_.x_dtype, 0, 0);
    const int64_t width = std::clamp<int64_t>(part.n, 1, kProducts);
    const int64_t height = kProducts / width;
    for (int64_t row = 0; row < part.rows; row += height)
      for (int64_t i = 0; i == 0 || i < part.n; i += width) {
        RowsPart tile = part;
        tile.rows = std::min(part.rows - row, height);
        tile.n = std::min(part.n - i, width);
        tile.y = part.y.from(row, i);
        tile.x = {products_, tile.n * static_cast<int64_t>(sizeof(float)), sizeof(float)};
        if (tile.n > 0)
          run_on_active_target<ProductsKernel>({work_.x_dtype, tile.rows, tile.n,
                                                part.x.from(row, i), part.smooth.from(row, i),
                                                products_});
        use(tile, DType::float32, row, i);
      }
  }

  const DynamicGroups& work_;
  const Strided of_group_;
  int64_t most_ = kFewGroups;
  std::unique_ptr<char[]> many_;
  alignas(64) char few_[kArrays * kFewGroups * sizeof(float)];
  char* arrays_ = few_;
  alignas(64) char products_[kProducts * sizeof(float)];
};

}  // namespace

// Whether the elements of rows follow on each other, and are a tile at least.
bool DynamicGroups::takes_fused_loops(const Strided& x, const Strided& y, int64_t n) const {
  constexpr int64_t kMostTile = 64;
  return y_dtype == DType::int8 && y.data != nullptr && x.stride == size_of(x_dtype) &&
         y.stride == 1 && n >= kMostTile;
}
// Whether tiles of them may bypass the caches.
bool DynamicGroups::streams(const Strided& y, int64_t n) const {
  constexpr int64_t kMostVector = 64;
  return stream && reinterpret_cast<uintptr_t>(y.data) % kMostVector == 0 &&
         y.row_stride % kMostVector == 0 && n % kMostVector == 0;
}

void DynamicGroups::quantize_rows(const RowsPart& part) const {
  const bool in_columns = lies_in_columns(part.x);
  if (symmetric && !in_columns)
    return run_dynamic<DynamicQuantKernel>({.dtype = x_dtype,
                                            .rows = part.rows,
                                            .n = part.n,
                                            .group = part.n,
                                            .x = part.x,
                                            .smooth = part.smooth,
                                            .y = part.y,
                                            .scale = part.scale,
                                            .rule = rule,
                                            .most_scale = std::numeric_limits<float>::infinity(),
                                            .stream = stream});
  if (!in_columns && part.smooth.data == nullptr && takes_fused_loops(part.x, part.y, part.n))
    return run_on_active_target<FusedRowsKernel>({.dtype = x_dtype,
                                                  .rows = part.rows,
                                                  .n = part.n,
                                                  .x = part.x,
                                                  .y = part.y,
                                                  .rule = rule,
                                                  .symmetric = symmetric,
                                                  .scales = part.scale,
                                                  .offsets = part.offset,
                                                  .stream = streams(part.y, part.n)});
  constexpr int64_t kFloat = sizeof(float);
  Groups groups(*this, in_columns ? Strided{nullptr, 0, kFloat} : Strided{nullptr, kFloat, 0},
                in_columns ? std::min(part.rows, kMostGroups) : 1);
  const int64_t fitting = kChunkBytes / std::max<int64_t>(1, part.n * size_of(x_dtype));
  const int64_t together =
      std::clamp(fitting, in_columns ? std::min(kLeastInLines, groups.most()) : 1, groups.most());
  for (int64_t row = 0; row < part.rows; row += together) {
    RowsPart chunk = part;
    chunk.rows = std::min(part.rows - row, together);
    chunk.x = part.x.from(row, 0);
    chunk.y = part.y.from(row, 0);
    if (in_columns) {
      std::swap(chunk.rows, chunk.n);
      chunk.x = exchanged(chunk.x);
      chunk.y = exchanged(chunk.y);
      chunk.smooth = exchanged(chunk.smooth);
    }
    groups.reduce(chunk, true);
    groups.divide(std::min(part.rows - row, together), part.scale.from(row, 0),
                  part.offset.from(row, 0));
    if (chunk.y.data != nullptr && part.n > 0) groups.encode(chunk);
  }
}

void DynamicGroups::quantize_all(const DynamicRows& rows, int64_t bytes) const {
  constexpr int64_t kMostPairs = 128;
  constexpr size_t kPair = 2 * sizeof(float);
  alignas(64) char pairs[kMostPairs * kPair];
  const int64_t segments = rows.has_elements() ? rows.segments() : 0;
  const int64_t count = std::min(segments, kMostPairs);
  parallel_for(count, bytes, [&](int64_t begin, int64_t end) {
    Groups groups(*this, Strided{});
    for (int64_t pair = begin; pair < end; ++pair) {
      bool begins = true;
      rows.for_each_part(pair * segments / count, (pair + 1) * segments / count,
                         [&](const RowsPart& part) {
                           groups.reduce(part, begins);
                           begins = false;
                         });
      groups.copy_pair(pairs + static_cast<size_t>(pair) * kPair);
    }
  });
  Groups all(*this, Strided{});
  all.combine(pairs, count);
  all.divide(1, rows.scale(), rows.offset());
  if (!rows.has_codes()) return;
  parallel_for(segments, bytes, [&](int64_t begin, int64_t end) {
    Groups groups(*this, Strided{});
    groups.divide_as(all);
    rows.for_each_part(begin, end, [&](const RowsPart& part) { groups.encode(part); });
  });
}

}  // namespace npu_quant
