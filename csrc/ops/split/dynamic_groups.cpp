#include "ops/split/dynamic_groups.h"

#include <cstring>
#include <memory>
#include <new>
#include <utility>

#include "core/dispatch.h"
#include "core/parallel.h"
#include "kernels/dynamic/dynamic.h"
#include "kernels/dynamic/groups.h"
#include "kernels/elementwise/args.h"
#include "kernels/elementwise/parameters.h"

namespace npu_quant {
namespace {

// A chunk of rows is read a second time from the L2 cache; columns are done as many at a time as
// there is room for: their parts of rows then follow on each other in memory for long.
constexpr int64_t kChunkBytes = 256 << 10, kFewGroups = 128, kMostGroups = 4096;
constexpr int64_t kProducts = 2048;

int64_t magnitude(int64_t stride) { return stride < 0 ? -stride : stride; }

bool lies_in_columns(const RowsPart& part) {
  const Strided& x = part.x;
  return !part.y.packed() && x.row_stride != 0 && magnitude(x.row_stride) < magnitude(x.stride);
}

RowsPart exchanged(RowsPart part) {
  std::swap(part.rows, part.n);
  for (Strided* t : {&part.x, &part.y, &part.smooth}) std::swap(t->row_stride, t->stride);
  return part;
}

RowsPart as_it_lies(const RowsPart& part) { return lies_in_columns(part) ? exchanged(part) : part; }

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
                                        .multiplier = array(kFactor),
                                        .scales = scales,
                                        .offsets = offsets});
    if (!multiplies(work_.rule))
      run_on_active_target<StepsKernel>(
          {work_.format, count, array(kScale), array(kOffset), array(kFactor), array(kSteps)});
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

  // All of it.
  void quantize(const RowsPart& part, int64_t count, const Strided& scales,
                const Strided& offsets) {
    reduce(part, true);
    divide(count, scales, offsets);
    if (part.y.data != nullptr && part.n > 0 && part.rows > 0) encode(part);
  }

  void encode(const RowsPart& part) {
    const bool multiplied = multiplies(work_.rule);
    if (of_group_.stride != 0 && part.smooth.data == nullptr && work_.takes_fused_loops(part) &&
        !multiplied)
      return run_on_active_target<ColumnCodesKernel>({.dtype = work_.x_dtype,
                                                      .format = work_.format,
                                                      .rows = part.rows,
                                                      .n = part.n,
                                                      .x = part.x,
                                                      .y = part.y,
                                                      .rule = work_.rule,
                                                      .scale = array(kScale),
                                                      .offset = array(kOffset),
                                                      .factor = array(kFactor),
                                                      .steps = array(kSteps),
                                                      .stream = work_.streams(part)});
    for_each_tile(part, [&](const RowsPart& tile, DType dtype, int64_t row, int64_t i) {
      const auto at = [&](int which) { return this->at(which).from(row, i); };
      run_on_active_target<QuantizeKernel>(
          {.work = {.rows = tile.rows,
                    .n = tile.n,
                    .x = tile.x,
                    .y = tile.y,
                    .parameters = {at(multiplied ? kFactor : kScale), at(kOffset), at(kFactor),
                                   at(kSteps)},
                    .rule = work_.rule,
                    .stream = work_.stream},
           .x_dtype = dtype,
           .codes = work_.format,
           .divide = !multiplied});
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
    const bool has_elements = part.rows > 0 && part.n > 0;
    if (part.smooth.data == nullptr || !has_elements) return use(part, work_.x_dtype, 0, 0);
    const int64_t width = std::min(part.n, kProducts);
    const int64_t height = kProducts / width;
    for (int64_t row = 0; row < part.rows; row += height)
      for (int64_t i = 0; i < part.n; i += width) {
        RowsPart tile = part;
        tile.rows = std::min(part.rows - row, height);
        tile.n = std::min(part.n - i, width);
        tile.y = part.y.from(row, i);
        tile.x = {products_, tile.n * static_cast<int64_t>(sizeof(float)), sizeof(float)};
        run_on_active_target<ProductsKernel>({work_.x_dtype, tile.rows, tile.n, part.x.from(row, i),
                                              part.smooth.from(row, i), products_});
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

// Whether the elements of rows follow on each other, and are a tile at least. Of packed codes 8 are
// an element.
bool DynamicGroups::takes_fused_loops(const RowsPart& part) const {
  constexpr int64_t kMostTile = 64;
  return part.smooth.data == nullptr && part.y.data != nullptr &&
         part.x.stride == size_of(x_dtype) &&
         part.y.stride == (part.y.packed() ? kPackedItem : 1) && part.n >= kMostTile;
}
// Whether tiles of them may bypass the caches.
bool DynamicGroups::streams(const RowsPart& part) const {
  constexpr int64_t kMostVector = 64;
  return stream && reinterpret_cast<uintptr_t>(part.y.data) % kMostVector == 0 &&
         part.y.row_stride % kMostVector == 0 && part.n % kMostVector == 0;
}

void DynamicGroups::quantize_rows(const DynamicTensors& tensors, const SmoothRows& smooth) const {
  const DynamicTiles tiles(tensors, smooth, DynamicTiles::kRows);
  tiles.for_each_part(work, [&](const RowsPart& part) { quantize_rows(part); });
}

void DynamicGroups::quantize_columns(const DynamicTensors& tensors,
                                     const SmoothRows& smooth) const {
  const DynamicTiles tiles(tensors, smooth, DynamicTiles::kColumns);
  tiles.for_each_part(work, [&](const RowsPart& part) { quantize_columns(part); });
}

void DynamicGroups::quantize_rows(const RowsPart& part) const {
  // Products of columns would go to y a few at a time.
  const bool is_in_rows = !lies_in_columns(part) || (symmetric && part.smooth.data != nullptr);
  is_in_rows ? quantize_lying_rows(part) : quantize_lying_columns(exchanged(part));
}
void DynamicGroups::quantize_columns(const RowsPart& part) const {
  lies_in_columns(part) ? quantize_lying_rows(exchanged(part)) : quantize_lying_columns(part);
}

void run_dynamic(const DynamicArgs& args) {
  with_dynamic_kernel(args, [&](auto kernel) { run_on_active_target<decltype(kernel)>(args); });
}

// What the kernels of symmetric quantization are handed: groups of so many rows, and of so many
// elements of each.
DynamicArgs DynamicGroups::symmetric_args(const RowsPart& part, int64_t group_rows,
                                          int64_t group) const {
  const bool in_bytes = part.y.packed() && part.y.stride == kPackedItem;
  return {.dtype = x_dtype,
          .format = format,
          .rows = part.rows,
          .n = part.n,
          .group_rows = group_rows,
          .group = group,
          .x = part.x,
          .smooth = part.smooth,
          .y = {part.y.data, part.y.row_stride, in_bytes ? 1 : part.y.stride},
          .scale = part.scale,
          .rule = rule,
          .stream = stream};
}

void DynamicGroups::quantize_lying_rows(const RowsPart& part) const {
  if (symmetric) return run_dynamic(symmetric_args(part, 1, part.n));
  if (takes_fused_loops(part))
    return run_on_active_target<FusedRowsKernel>({.dtype = x_dtype,
                                                  .format = format,
                                                  .rows = part.rows,
                                                  .n = part.n,
                                                  .x = part.x,
                                                  .y = part.y,
                                                  .rule = rule,
                                                  .scales = part.scale,
                                                  .offsets = part.offset,
                                                  .stream = streams(part)});
  Groups groups(*this, {nullptr, sizeof(float), 0});
  const int64_t fitting = kChunkBytes / std::max<int64_t>(1, part.n * size_of(x_dtype));
  const int64_t together = std::clamp<int64_t>(fitting, 1, groups.most());
  for (int64_t row = 0; row < part.rows; row += together) {
    RowsPart chunk = part;
    chunk.rows = std::min(part.rows - row, together);
    chunk.x = part.x.from(row, 0);
    chunk.y = part.y.from(row, 0);
    groups.quantize(chunk, chunk.rows, part.scale.from(row, 0), part.offset.from(row, 0));
  }
}

void DynamicGroups::quantize_lying_columns(const RowsPart& part) const {
  if (symmetric && takes_fused_loops(part)) {
    DynamicArgs args = symmetric_args(part, part.rows, 1);
    std::swap(args.scale.row_stride, args.scale.stride);
    args.stream = streams(part);
    return run_on_active_target<DynamicColumnsKernel>(args);
  }
  Groups groups(*this, {nullptr, 0, sizeof(float)}, std::min(part.n, kMostGroups));
  for (int64_t i = 0; i < part.n; i += groups.most()) {
    RowsPart chunk = part;
    chunk.n = std::min(part.n - i, groups.most());
    chunk.x = part.x.from(0, i);
    chunk.y = part.y.from(0, i);
    groups.quantize(chunk, chunk.n, part.scale.from(i, 0), part.offset.from(i, 0));
  }
}

void DynamicGroups::quantize_all(const DynamicTensors& tensors, const SmoothRows& smooth) const {
  constexpr int64_t kMostPairs = 128;
  constexpr size_t kPair = 2 * sizeof(float);
  alignas(64) char pairs[kMostPairs * kPair];
  const DynamicTiles rows({tensors.x, tensors.y, kAbsent, kAbsent, tensors.packed}, smooth,
                          DynamicTiles::kPartsOfRows);
  const int64_t segments = tensors.x.shape.size() > 0 ? rows.count() : 0;
  const int64_t count = std::min(segments, kMostPairs);
  parallel_for(count, work, [&](int64_t begin, int64_t end) {
    Groups groups(*this, Strided{});
    for (int64_t pair = begin; pair < end; ++pair) {
      bool begins = true;
      rows.for_each_part(pair * segments / count, (pair + 1) * segments / count,
                         [&](const RowsPart& part) {
                           groups.reduce(as_it_lies(part), begins);
                           begins = false;
                         });
      groups.copy_pair(pairs + static_cast<size_t>(pair) * kPair);
    }
  });
  Groups all(*this, Strided{});
  all.combine(pairs, count);
  all.divide(1, {tensors.scale.data, 0, 0}, {tensors.offset.data, 0, 0});
  if (!tensors.y.present) return;
  parallel_for(segments, work, [&](int64_t begin, int64_t end) {
    Groups groups(*this, Strided{});
    groups.divide_as(all);
    rows.for_each_part(begin, end, [&](const RowsPart& part) { groups.encode(as_it_lies(part)); });
  });
}

}  // namespace npu_quant
