#include "ops/split/expert_rows.h"

#include <algorithm>
#include <cstring>
#include <deque>
#include <memory>
#include <new>

#include "ops/dynamic_mx_quant.h"
#include "ops/split/glu_rows.h"
#include "ops/split/grouped_products.h"
#include "ops/split/product_matrices.h"

namespace npu_quant {
namespace {

using Becomes = GluKernel::Becomes;

constexpr int64_t kFloatBytes = sizeof(float);

TensorView some_rows(const TensorView& view, int64_t first, int64_t count) {
  return view.present ? between(view, 0, first, first + count) : view;
}

// Float32 rows of our own.
class Rows {
 public:
  Rows(int64_t rows, int64_t columns)
      : memory_(new(std::nothrow) float[static_cast<size_t>(std::max<int64_t>(rows * columns, 1))]),
        view_(contiguous_view(memory_.get(), DType::float32, columns)) {
    view_.writable = true;
    view_.rank = view_.shape.rank = 2;
    view_.shape.dims[1] = columns;
    view_.strides[0] = columns * kFloatBytes;
    view_.strides[1] = kFloatBytes;
  }
  bool are_there() const { return memory_ != nullptr; }
  TensorView first(int64_t count) const { return some_rows(view_, 0, count); }

 private:
  std::unique_ptr<float[]> memory_;
  TensorView view_;
};

class ExpertRows {
 public:
  explicit ExpertRows(const ExpertCall& call)
      : call_(call),
        last_(call.groups.end_of(call.groups.count() - 1)),
        at_a_time_(std::min(all_rows(), rows_at_a_time())),
        sums_(at_a_time_, n()),
        unit_(call.in_blocks ? at_a_time_ : 0, n() / 2) {}

  // All that wants memory, for all chunks.
  Status prepare() {
    if (!sums_.are_there() || !unit_.are_there()) return out_of_memory(call_.op.name);
    if (!call_.in_blocks) {
      const TensorView scales = scales_in_carriers(call_.weight_scale);
      NPU_QUANT_RETURN_IF_ERROR(assign(weight_scale_, scales));
      NPU_QUANT_RETURN_IF_ERROR(assign(x_scale_, call_.x_scale));
      NPU_QUANT_RETURN_IF_ERROR(assign(bias_, *call_.bias));
      NPU_QUANT_RETURN_IF_ERROR(assign(smooth_, *call_.smooth));
    }
    try {
      return plan_chunks();
    } catch (const std::bad_alloc&) {
      return out_of_memory(call_.op.name);
    }
  }

  Status run() {
    int64_t row = 0;
    for (const Chunk& chunk : chunks_) {
      chunk.plan.run(chunk.products, workspaces_);
      NPU_QUANT_RETURN_IF_ERROR(quantize(row, chunk.rows));
      row += chunk.rows;
    }
    for (int64_t count; row < all_rows(); row += count) {
      count = std::min(at_a_time_, all_rows() - row);
      NPU_QUANT_RETURN_IF_ERROR(quantize(row, count));
    }
    return {};
  }

 private:
  // Rows of groups that are computed at a time.
  struct Chunk {
    int64_t rows;
    ProductList products = {};
    ProductPlan plan = {};
  };

  int64_t n() const { return call_.matrix.n; }
  int64_t all_rows() const { return call_.x.shape.dims[0]; }
  // So many that threads find work, of which sums stay in the caches; packing an expert's matrix
  // takes as long as multiplying it with a few rows.
  int64_t rows_at_a_time() const {
    constexpr int64_t kBytes = 8 << 20;
    return std::max(ProductKernel::kMostRows, kBytes / (std::max<int64_t>(n(), 1) * kFloatBytes));
  }
  Status assign(Parameter& parameter, const TensorView& view) const {
    if (!view.present) return {};
    return parameter.assign(call_.op.name, view, view.shape, view.strides);
  }

  // Calls use(expert, row, count) for the rows of each expert among some.
  template <class Use>
  Status for_each_expert(int64_t first, int64_t count, Use use) const {
    const int64_t last = first + count;
    for (int64_t row = first, end; row < last; row = end) {
      const int64_t expert = call_.groups.group_of(row);
      end = std::min(last, call_.groups.end_of(expert));
      NPU_QUANT_RETURN_IF_ERROR(use(expert, row, end - row));
    }
    return {};
  }

  Status plan_chunks() {
    for (int64_t first = 0; first < last_; first += chunks_.back().rows) {
      Chunk& chunk = chunks_.emplace_back(Chunk{std::min(at_a_time_, last_ - first)});
      const TensorView sums = sums_.first(chunk.rows);
      for_each_expert(first, chunk.rows, [&](int64_t expert, int64_t row, int64_t count) {
        const TensorView x = some_rows(call_.x, row, count);
        chunk.products.add(product(expert, row, x), x, some_rows(sums, row - first, count));
        return Status{};
      });
      NPU_QUANT_RETURN_IF_ERROR(chunk.plan.make(call_.op.name, chunk.products, workspaces_));
    }
    return {};
  }

  // Of rows from one on, which is what x begins with.
  ProductKernel::Args product(int64_t expert, int64_t row, const TensorView& x) const {
    TensorView weight = call_.weight;
    weight.data += expert * weight.strides[0];
    ProductKernel::Args args{};
    args.columns = n();
    args.depth = call_.matrix.k;
    args.x = rows_of(x, call_.x_codes);
    args.weight = columns_of(weight, call_.matrix);
    if (call_.in_blocks)
      take_powers(expert, row, args);
    else
      take_scales(expert, row, args);
    return args;
  }
  void take_scales(int64_t expert, int64_t row, ProductKernel::Args& args) const {
    const Strided of_rows = per_row(x_scale_).from(row, 0);
    if (!call_.bias->present) {
      args.sums = SumForm::exact;
      args.scales[0] = of_rows;
      args.scales[1] = per_column(weight_scale_).from(0, expert * n());
      return;
    }
    const TensorView& scale = call_.weight_scale;
    const int64_t groups = scale.rank == 3 ? scale.shape.dims[1] : 1;
    args.sums = SumForm::groups;
    args.centred = true;
    args.group = std::max<int64_t>(call_.matrix.k / groups, 1);
    args.group_scale = per_column(weight_scale_).from(0, expert * groups * n());
    args.group_scale.row_stride = n() * kFloatBytes;
    args.bias = per_column(bias_).from(0, expert * n());
    args.late_scale = of_rows;
  }
  void take_powers(int64_t expert, int64_t row, ProductKernel::Args& args) const {
    args.sums = SumForm::blocks;
    args.x_scale = powers_of_rows(call_.x_scale);
    args.x_scale.data += row * args.x_scale.row_stride;
    args.block_scale = powers_of_columns(call_.weight_scale);
    args.block_scale.data += expert * call_.weight_scale.strides[0];
  }

  // Rows from one on, of whose sums the first are there; behind the last group they are none.
  Status quantize(int64_t row, int64_t count) const {
    const bool is_behind = row >= last_;
    const TensorView sums = sums_.first(count), y = some_rows(call_.y, row, count),
                     scale = some_rows(call_.scale, row, count);
    if (call_.in_blocks) return quantize_blocks(is_behind, sums, y, scale);
    if (is_behind) return gate(Becomes::zeros, sums, y, scale);
    if (!call_.smooth->present) return gate(Becomes::codes_by_amax, sums, y, scale);
    return for_each_expert(row, count, [&](int64_t expert, int64_t from, int64_t rows) {
      const auto own = [&](const TensorView& of) { return some_rows(of, from - row, rows); };
      return gate(Becomes::codes_by_amax, own(sums), own(y), own(scale), smooth_of(expert));
    });
  }
  // An expert's row, or its only factor.
  TensorView smooth_of(int64_t expert) const {
    const int64_t columns = call_.smooth->rank == 1 ? 1 : call_.smooth->shape.dims[1];
    return contiguous_view(smooth_.data() + expert * columns * kFloatBytes, DType::float32,
                           columns);
  }

  Status gate(Becomes becomes, const TensorView& sums, const TensorView& y, const TensorView& scale,
              const TensorView& smooth = kAbsent) const {
    GluKernel::Args how{};
    how.alpha = 1;
    how.becomes = becomes;
    how.codes = Format::int8;
    how.divide = true;
    return run_glu({.op = call_.op,
                    .x = sums,
                    .gate_first = true,
                    .how = how,
                    .y = y,
                    .scales = scale,
                    .smooth = &smooth});
  }

  // npu_dynamic_mx_quant of the unit; of zeros it gives zeros.
  Status quantize_blocks(bool is_behind, const TensorView& sums, const TensorView& y,
                         const TensorView& scale) const {
    DynamicMxQuant quant;
    quant.numerics = call_.op.numerics;
    quant.input = unit_.first(sums.shape.dims[0]);
    quant.dst_type = {.is_default = false, .format = Format::float8_e4m3fn};
    if (is_behind)
      std::memset(quant.input.data, 0, static_cast<size_t>(quant.input.bytes()));
    else
      NPU_QUANT_RETURN_IF_ERROR(gate(Becomes::values, sums, quant.input, kAbsent));
    NPU_QUANT_RETURN_IF_ERROR(quant.check());
    const TensorView out[] = {y, scale};
    return quant.run(out);
  }

  const ExpertCall& call_;
  const int64_t last_;  // the row behind all groups
  const int64_t at_a_time_;
  const Rows sums_, unit_;
  Parameter weight_scale_, x_scale_, bias_, smooth_;
  Workspaces workspaces_;
  std::deque<Chunk> chunks_;
};

}  // namespace

Status run_expert_rows(const ExpertCall& call) {
  ExpertRows rows(call);
  NPU_QUANT_RETURN_IF_ERROR(rows.prepare());
  return rows.run();
}

}  // namespace npu_quant
