#include "ops/split/product.h"

#include <algorithm>
#include <iterator>
#include <new>
#include <vector>

#include "core/ceil_div.h"
#include "core/dispatch.h"
#include "core/parallel.h"

namespace npu_quant {
namespace {

using Args = ProductKernel::Args;

// Parts of a product: the same number of rows in each, but for the last ones.
struct ProductParts {
  int64_t rows, columns;  // of a part
  int64_t down, across;   // how many

  explicit ProductParts(const Args& of)
      : columns(ProductKernel::kMostColumns), across(ceil_div(of.columns, columns)) {
    constexpr int64_t kTogether = 6;  // rows of a tile
    down = ceil_div(of.rows, ProductKernel::kMostRows);
    if (down == 0) return;
    rows = ceil_div(ceil_div(of.rows, down), kTogether) * kTogether;
    down = ceil_div(of.rows, rows);
  }
  int64_t count() const { return down * across; }

  Args part(Args args, int64_t which) const {
    const int64_t row = which / across * rows, column = which % across * columns;
    args.rows = std::min(rows, args.rows - row);
    args.columns = std::min(columns, args.columns - column);
    const auto matrix_from = [](ProductKernel::Matrix& of, int64_t from) {
      of.data += from / of.across * of.row_stride;
    };
    const auto scales_from = [](ProductKernel::BlockScales& of, int64_t from) {
      if (of.data != nullptr) of.data += from * of.row_stride;
    };
    matrix_from(args.x, row);
    matrix_from(args.weight, column);
    scales_from(args.x_scale, row);
    scales_from(args.block_scale, column);
    for (const char** of : {&args.integer_bias, &args.sum_bias})
      if (*of != nullptr) *of += column * int64_t{sizeof(int32_t)};
    for (Strided* of : {&args.group_scale, &args.group_offset, &args.weight_scale,
                        &args.weight_offset, &args.weight_level})
      *of = of->from(0, column);
    args.x_level = args.x_level.from(row, 0);
    for (Strided* of : {&args.scales[0], &args.scales[1], &args.bias, &args.late_scale,
                        &args.late_offset, &args.y})
      *of = of->from(row, column);
    return args;
  }
};

// How much is computed, in bytes that other operators take as long for.
int64_t work_of(const Args& args) {
  constexpr double kProductsPerByte = 8, kMost = 0x1p60;
  return static_cast<int64_t>(
      std::min(static_cast<double>(args.rows) * static_cast<double>(args.columns) *
                   static_cast<double>(args.depth) / kProductsPerByte,
               kMost));
}

}  // namespace

int64_t workspace_bytes(const Args& args) {
  int64_t bytes = 0;
  run_on_active_target<ProductMemory>({args, bytes});
  return bytes;
}

bool Workspaces::provide(int64_t count, int64_t bytes) {
  if (count <= count_ && bytes <= bytes_) return true;
  count_ = std::max(count, count_);
  bytes_ = std::max(ceil_div(bytes, kLine) * kLine, bytes_);
  taken_.reset(new (std::nothrow) std::atomic_flag[static_cast<size_t>(count_)]());
  memory_.reset(new (std::nothrow) char[static_cast<size_t>(count_ * bytes_ + kLine)]);
  if (taken_ != nullptr && memory_ != nullptr) return true;
  count_ = bytes_ = 0;
  return false;
}

Status ProductPlan::make(const char* op, const Products& products, Workspaces& workspaces) {
  const int64_t count = products.count();
  int64_t parts = 0, bytes = 0;
  try {
    ends_.reserve(static_cast<size_t>(count));
  } catch (const std::bad_alloc&) {
    return out_of_memory(op);
  }
  for (int64_t i = 0; i < count; ++i) {
    const Args whole = products.product(i);
    const ProductParts cut(whole);
    ends_.push_back(parts += cut.count());
    work_ += work_of(whole);
    if (cut.count() > 0) bytes = std::max(bytes, workspace_bytes(cut.part(whole, 0)));
  }
  const bool has_memory =
      parts == 0 || workspaces.provide(std::min<int64_t>(parts, get_num_threads()), bytes);
  return has_memory ? Status{} : out_of_memory(op);
}

void ProductPlan::run(const Products& products, const Workspaces& workspaces) const {
  const int64_t parts = ends_.empty() ? 0 : ends_.back();
  if (parts == 0) return;
  parallel_for(parts, work_, [&](int64_t begin, int64_t end) {
    const Workspaces::Lent workspace(workspaces);
    for (int64_t part = begin; part < end; ++part) {
      const auto end_of = std::upper_bound(ends_.begin(), ends_.end(), part);
      const int64_t first = end_of == ends_.begin() ? 0 : *std::prev(end_of);
      const Args whole = products.product(end_of - ends_.begin());
      Args args = ProductParts(whole).part(whole, part - first);
      args.workspace = workspace.data();
      run_on_active_target<ProductKernel>(args);
    }
  });
}

Status run_products(const char* op, const Products& products) {
  Workspaces workspaces;
  ProductPlan plan;
  NPU_QUANT_RETURN_IF_ERROR(plan.make(op, products, workspaces));
  plan.run(products, workspaces);
  return {};
}

}  // namespace npu_quant
