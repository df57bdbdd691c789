#include "ops/checkpoint.h"

#include <algorithm>
#include <cstring>
#include <memory>
#include <new>

#include "core/ceil_div.h"
#include "core/dispatch.h"
#include "core/parallel.h"
#include "kernels/mx/mx.h"

namespace npu_quant {
namespace {

constexpr int kSums = 4;  // or one more

// Of elements that follow on each other, row by row.
Status check_dense(const char* name, const TensorView& view, std::initializer_list<DType> dtypes,
                   const Shape& shape) {
  constexpr const char* kName = WeightError::kName;
  NPU_QUANT_RETURN_IF_ERROR(check_dtype_in(kName, name, view, dtypes));
  NPU_QUANT_RETURN_IF_ERROR(check_rank(kName, name, view, shape.rank, shape.rank));
  if (!(view.shape == shape)) return wrong_shape(kName, name, view, {"expected ", shape});
  if (shape.size() == 0) return {};
  int64_t stride = size_of(view.dtype);
  for (int axis = shape.rank - 1; axis >= 0; stride *= shape.dims[axis--])
    if (shape.dims[axis] > 1 && view.strides[axis] != stride)
      return fault(kName, Fault::shape, {Argument(name)}, "is not contiguous");
  return {};
}

}  // namespace

Inputs WeightError::inputs() {
  return Inputs::of(required("w", w), required("codes", codes), required("scale", scale),
                    required("sums", sums));
}

Status WeightError::check() const {
  const bool is_mx = codes.dtype == DType::float8_e4m3fn;
  NPU_QUANT_RETURN_IF_ERROR(check_rank(kName, "w", w, 2, 2));
  NPU_QUANT_RETURN_IF_ERROR(
      check_dense("w", w, {DType::float16, DType::bfloat16, DType::float32}, w.shape));
  NPU_QUANT_RETURN_IF_ERROR(
      check_dense("codes", codes, {DType::int8, DType::float8_e4m3fn}, w.shape));
  const int64_t n = w.shape.dims[1];
  const int64_t scales = is_mx ? ceil_div(n, kMxCell) : 1;
  NPU_QUANT_RETURN_IF_ERROR(check_dense("scale", scale, {is_mx ? DType::uint8 : DType::float32},
                                        {2, {w.shape.dims[0], scales}}));
  const bool wants_values = sums.rank == 1 && sums.shape.dims[0] == kSums + 1;
  NPU_QUANT_RETURN_IF_ERROR(
      check_dense("sums", sums, {DType::float64}, {1, {kSums + wants_values}}));
  if (sums.writable) return {};
  return wrong_attribute(kName, "sums", "read-only", {});
}

Status WeightError::run() const {
  const int64_t rows = w.shape.dims[0], n = w.shape.dims[1], count = sums.shape.dims[0];
  const std::unique_ptr<RowError[]> errors(new (std::nothrow) RowError[static_cast<size_t>(rows)]);
  if (!errors) return out_of_memory(kName);
  parallel_for(rows, bytes(), [&](int64_t begin, int64_t end) {
    const bool is_mx = codes.dtype == DType::float8_e4m3fn;
    run_on_active_target<WeightErrorKernel>({.dtype = w.dtype,
                                             .is_mx = is_mx,
                                             .wants_values = count > kSums,
                                             .rows = end - begin,
                                             .n = n,
                                             .w = w.data + begin * n * size_of(w.dtype),
                                             .codes = codes.data + begin * n,
                                             .scales = scale.data + begin * scale.strides[0],
                                             .errors = errors.get() + begin});
  });
  double total[kSums + 1] = {};
  const auto size = static_cast<size_t>(count) * sizeof(double);
  std::memcpy(total, sums.data, size);
  for (int64_t row = 0; row < rows; ++row) {
    const RowError& error = errors[static_cast<size_t>(row)];
    total[0] += error.weight;
    total[1] += error.error;
    total[2] = std::max(total[2], error.greatest);
    total[3] += error.weight == 0;  // no float32 is so small that its square would be 0
    total[4] += error.values;
  }
  std::memcpy(sums.data, total, size);
  return {};
}

}  // namespace npu_quant
