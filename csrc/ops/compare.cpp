#include "ops/compare.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <cstring>
#include <memory>
#include <new>

#include "core/ceil_div.h"
#include "core/dispatch.h"
#include "core/parallel.h"

namespace npu_quant {
namespace {

constexpr int64_t kPairs = kCodes * kCodes;

// Takes more time than a copy of so many bytes.
constexpr int64_t kCost = 4;

Status check_flat(const char* name, const TensorView& view, DType dtype, int64_t least) {
  constexpr const char* kName = Compare::kName;
  if (!view.present) return missing(kName, name);
  NPU_QUANT_RETURN_IF_ERROR(check_dtype_in(kName, name, view, {dtype}));
  const bool is_flat =
      view.rank == 1 && (view.shape.dims[0] < 2 || view.strides[0] == size_of(dtype));
  const auto address = reinterpret_cast<uintptr_t>(view.data);
  if (!is_flat || address % static_cast<uintptr_t>(size_of(dtype)) != 0)
    return fault(kName, Fault::shape, {Argument(name)},
                 "is not contiguous, aligned and 1-dimensional");
  if (view.shape.dims[0] >= least) return {};
  return fault(kName, Fault::shape, {Argument(name)}, {"has ", view.shape.dims[0], " elements"},
               {"expected ", least});
}

Status check_written(const char* name, const TensorView& view, DType dtype, int64_t least) {
  NPU_QUANT_RETURN_IF_ERROR(check_flat(name, view, dtype, least));
  if (view.writable) return {};
  return wrong_attribute(Compare::kName, name, "read-only", {});
}

Status check_range(const char* what, int64_t value, int64_t low, int64_t high) {
  if (value >= low && value <= high) return {};
  return fault(Compare::kName, Fault::attribute, what, {"is ", value},
               {"expected ", low, " to ", high});
}

// What a thread counts by itself.
class Scratch {
 public:
  bool allocate(int64_t columns, int64_t pairs) {
    column_counts.reset(new (std::nothrow) uint32_t[static_cast<size_t>(columns)]());
    if (pairs == 0) return column_counts != nullptr;
    pair_counts.reset(new (std::nothrow) uint32_t[static_cast<size_t>(pairs)]());
    first_of_pair.reset(new (std::nothrow) uint32_t[static_cast<size_t>(pairs)]);
    return column_counts && pair_counts && first_of_pair;
  }
  std::unique_ptr<uint32_t[]> column_counts, pair_counts, first_of_pair;
  uint32_t golden_counts[kCodes] = {};
  CompareCounts counts;
  CompareExtremes extremes;
};

// One for each thread; work is taken piece by piece, in ascending order.
class Scratches {
 public:
  Status allocate(int64_t pieces, int64_t columns, int64_t pairs) {
    count_ = std::min<int64_t>(std::max<int64_t>(pieces, 1), get_num_threads());
    scratches_.reset(new (std::nothrow) Scratch[static_cast<size_t>(count_)]);
    bool ok = scratches_ != nullptr;
    for (int64_t i = 0; ok && i < count_; ++i) ok = scratches_[i].allocate(columns, pairs);
    return ok ? Status{} : out_of_memory(Compare::kName);
  }

  template <class Run>
  void share(int64_t elements, int64_t piece, int64_t bytes, Run run) {
    std::atomic<int64_t> next{0};
    parallel_for(count_, bytes, [&](int64_t begin, int64_t end) {
      for (; begin < end; ++begin)
        for (int64_t i; (i = next.fetch_add(piece, std::memory_order_relaxed)) < elements;)
          run(scratches_[begin], i, std::min(i + piece, elements));
    });
  }

  void add_column_counts(const TensorView& column_counts) const {
    auto* const counts = reinterpret_cast<int64_t*>(column_counts.data);
    for (int64_t i = 0; i < count_; ++i)
      for (int64_t c = 0; c < column_counts.shape.dims[0]; ++c)
        counts[c] += scratches_[i].column_counts[static_cast<size_t>(c)];
  }

  const Scratch* begin() const { return scratches_.get(); }
  const Scratch* end() const { return scratches_.get() + count_; }

 private:
  int64_t count_ = 0;
  std::unique_ptr<Scratch[]> scratches_;
};

// The kernel counts pairs that differ, and all elements by their golden code.
void add_pairs(const Scratch& thread, int64_t first, uint64_t* counts) {
  uint64_t equal[kCodes];
  std::copy(std::begin(thread.golden_counts), std::end(thread.golden_counts), equal);
  uint64_t* const firsts = counts + kPairs;
  for (int64_t pair = 0; pair < kPairs; ++pair) {
    const uint32_t count = thread.pair_counts[static_cast<size_t>(pair)];
    if (count == 0) continue;
    const auto element =
        static_cast<uint64_t>(first) + thread.first_of_pair[static_cast<size_t>(pair)];
    counts[pair] += count;
    firsts[pair] = std::min(firsts[pair], element);
    equal[pair % kCodes] -= count;
  }
  for (int code = 0; code < kCodes; ++code) counts[code * (kCodes + 1)] += equal[code];
}

// What lies at an address that is known as that of plain numbers.
template <class T>
T read_at(const char* data) {
  T value;
  std::memcpy(&value, data, sizeof value);
  return value;
}

void add_counts(const CompareCounts& thread, CompareCounts& all) {
  using Numbers = std::array<uint64_t, kCompareCounts>;
  auto sums = std::bit_cast<Numbers>(all);
  const auto more = std::bit_cast<Numbers>(thread);
  for (size_t i = 0; i < kCompareAdded; ++i) sums[i] += more[i];
  all = std::bit_cast<CompareCounts>(sums);
  all.first = std::min(all.first, thread.first);
  all.max_steps = std::max(all.max_steps, thread.max_steps);
  const bool is_worse = thread.worst_size > all.worst_size ||
                        (thread.worst_size == all.worst_size && thread.worst < all.worst);
  if (!is_worse) return;
  all.worst_size = thread.worst_size;
  all.worst = thread.worst;
}

void add_extremes(const CompareExtremes& thread, CompareExtremes& all) {
  all.max_abs = std::max(all.max_abs, thread.max_abs);
  all.max_relative = std::max(all.max_relative, thread.max_relative);
  all.actual_least = std::min(all.actual_least, thread.actual_least);
  all.golden_least = std::min(all.golden_least, thread.golden_least);
  all.actual_greatest = std::max(all.actual_greatest, thread.actual_greatest);
  all.golden_greatest = std::max(all.golden_greatest, thread.golden_greatest);
}

}  // namespace

Inputs Compare::inputs() {
  return Inputs::of(required("actual", actual), required("golden", golden),
                    optional("is_nan", is_nan), required("row_counts", row_counts),
                    required("column_counts", column_counts), required("counts", counts),
                    optional("sums", sums));
}

Attributes Compare::attributes() {
  return Attributes::of(required("first", first), required("columns", columns),
                        required("row_shift", row_shift), required("column_shift", column_shift));
}

Status Compare::check_sides() const {
  if (!actual.present) return missing(kName, "actual");
  if (!golden.present) return missing(kName, "golden");
  NPU_QUANT_RETURN_IF_ERROR(check_dtype_in(
      kName, "golden", golden,
      {DType::uint8, DType::float16, DType::bfloat16, DType::float32, DType::float64, DType::int16,
       DType::uint16, DType::int32, DType::uint32, DType::int64, DType::uint64}));
  NPU_QUANT_RETURN_IF_ERROR(check_same_dtype(kName, "actual", actual, "golden", golden));
  for (const TensorView* side : {&actual, &golden})
    if (side->rank != 1 || (side->shape.dims[0] > 1 && side->strides[0] != size_of(side->dtype)))
      return fault(kName, Fault::shape, {Argument(side == &actual ? "actual" : "golden")},
                   "is not contiguous and 1-dimensional");
  return check_same_shape(kName, "actual", actual, "golden", golden);
}

Status Compare::check_block() const {
  NPU_QUANT_RETURN_IF_ERROR(
      check_range("the size of actual", actual.shape.dims[0], 0, kMostElements));
  NPU_QUANT_RETURN_IF_ERROR(check_range("first", first, 0, int64_t{1} << 60));
  NPU_QUANT_RETURN_IF_ERROR(check_range("columns", columns, 1, int64_t{1} << 60));
  if (first % kCompareChunk == 0) return {};
  return wrong_attribute(kName, "first", first, {"expected a multiple of ", kCompareChunk});
}

Status Compare::check_places() const {
  NPU_QUANT_RETURN_IF_ERROR(check_range("row_shift", row_shift, 0, 62));
  NPU_QUANT_RETURN_IF_ERROR(check_range("column_shift", column_shift, 0, 62));
  const int64_t last_row = std::max<int64_t>(first + actual.shape.dims[0] - 1, 0) / columns;
  NPU_QUANT_RETURN_IF_ERROR(
      check_written("row_counts", row_counts, DType::int64, (last_row >> row_shift) + 1));
  return check_written("column_counts", column_counts, DType::int64,
                       ((columns - 1) >> column_shift) + 1);
}

Status Compare::check() const {
  NPU_QUANT_RETURN_IF_ERROR(check_sides());
  NPU_QUANT_RETURN_IF_ERROR(check_block());
  NPU_QUANT_RETURN_IF_ERROR(check_places());
  if (is_of_codes()) {
    NPU_QUANT_RETURN_IF_ERROR(check_flat("is_nan", is_nan, DType::boolean, kCodes));
    return check_written("counts", counts, DType::uint64, 2 * kPairs);
  }
  NPU_QUANT_RETURN_IF_ERROR(check_written("counts", counts, DType::uint64, kCompareCounts));
  return check_written("sums", sums, DType::float64, kCompareSums + kCompareExtremes);
}

int64_t Compare::bytes() const { return 2 * actual.shape.dims[0] * size_of(actual.dtype); }

ComparePlaces Compare::places(uint32_t* column_counts_of_thread) const {
  return {first,
          columns,
          reinterpret_cast<int64_t*>(row_counts.data),
          column_counts_of_thread,
          static_cast<int>(row_shift),
          static_cast<int>(column_shift)};
}

Status Compare::run() const { return is_of_codes() ? run_codes() : run_numbers(); }

Status Compare::run_codes() const {
  constexpr int64_t kPiece = 1 << 17;
  const int64_t elements = actual.shape.dims[0];
  Scratches threads;
  NPU_QUANT_RETURN_IF_ERROR(
      threads.allocate(elements / kPiece, column_counts.shape.dims[0], kPairs));
  threads.share(elements, kPiece, kCost * bytes(), [&](Scratch& own, int64_t begin, int64_t end) {
    run_on_active_target<CompareCodesKernel>(
        {actual.data, golden.data, begin, end, is_nan.data, places(own.column_counts.get()),
         own.pair_counts.get(), own.first_of_pair.get(), own.golden_counts});
  });
  threads.add_column_counts(column_counts);
  for (const Scratch& thread : threads)
    add_pairs(thread, first, reinterpret_cast<uint64_t*>(counts.data));
  return {};
}

Status Compare::run_numbers() const {
  constexpr int64_t kPiece = 8 * kCompareChunk;
  const int64_t elements = actual.shape.dims[0];
  const int64_t chunks = ceil_div(elements, kCompareChunk);
  Scratches threads;
  NPU_QUANT_RETURN_IF_ERROR(threads.allocate(elements / kPiece, column_counts.shape.dims[0], 0));
  const std::unique_ptr<CompareSums[]> sums_of_chunks(new (std::nothrow)
                                                          CompareSums[static_cast<size_t>(chunks)]);
  if (!sums_of_chunks) return out_of_memory(kName);
  threads.share(elements, kPiece, kCost * bytes(), [&](Scratch& own, int64_t begin, int64_t end) {
    run_on_active_target<CompareNumbersKernel>({actual.dtype, actual.data, golden.data, begin, end,
                                                places(own.column_counts.get()), &own.counts,
                                                &own.extremes, sums_of_chunks.get()});
  });
  threads.add_column_counts(column_counts);
  using Totals = std::array<double, kCompareSums>;
  auto totals = read_at<Totals>(sums.data);
  for (int64_t chunk = 0; chunk < chunks; ++chunk) {
    const auto of_chunk = std::bit_cast<Totals>(sums_of_chunks[static_cast<size_t>(chunk)]);
    for (size_t i = 0; i < kCompareSums; ++i) totals[i] += of_chunk[i];
  }
  auto all = read_at<CompareCounts>(counts.data);
  auto extremes = read_at<CompareExtremes>(sums.data + sizeof totals);
  for (const Scratch& thread : threads) {
    add_counts(thread.counts, all);
    add_extremes(thread.extremes, extremes);
  }
  std::memcpy(sums.data, &totals, sizeof totals);
  std::memcpy(sums.data + sizeof totals, &extremes, sizeof extremes);
  std::memcpy(counts.data, &all, sizeof all);
  return {};
}

}  // namespace npu_quant
