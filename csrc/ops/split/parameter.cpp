#include "ops/split/parameter.h"

#include <cmath>
#include <cstring>
#include <new>

#include "core/axes.h"
#include "core/dispatch.h"
#include "kernels/elementwise/parameters.h"

namespace npu_quant {

Status Parameter::allocate(const char* op, int64_t count) {
  count_ = count;
  data_ = reinterpret_cast<char*>(&one_);
  if (count <= 1) return {};
  // At a cache line: no vector of them straddles two. Aligned allocation would take a small call
  // longer than its work.
  constexpr size_t kLine = 64;
  size_t bytes = static_cast<size_t>(count) * sizeof(float), room = bytes + kLine;
  many_.reset(new (std::nothrow) char[room]);
  void* line = many_.get();
  data_ = static_cast<char*>(std::align(kLine, bytes, line, room));
  return many_ ? Status{} : out_of_memory(op);
}

Status Parameter::assign(const char* op, const TensorView& view, const Shape& shape,
                         const int64_t* strides) {
  Axes<1> rows(shape.dims, shape.rank, {strides});
  int64_t n = 1;
  const int axis = rows.pop(n);
  const int64_t stride = axis < 0 ? 0 : rows.strides[0][axis];
  if (view.dtype == DType::float32 && rows.rank == 0 && stride == sizeof(float)) {
    data_ = view.data;
    count_ = n;
    return {};
  }
  NPU_QUANT_RETURN_IF_ERROR(allocate(op, shape.size()));
  if (view.dtype == DType::float32 && count_ == 1) {
    std::memcpy(data_, view.data, sizeof(float));
    return {};
  }
  if (!view.present) {
    for (int64_t i = 0; i < count_; ++i) {
      constexpr float kNothing = -0.0f;
      std::memcpy(data_ + i * static_cast<int64_t>(sizeof(float)), &kNothing, sizeof(float));
    }
    return {};
  }
  char* to = data_;
  const int64_t count = n > 0 ? rows.count() : 0;
  for (int64_t row = 0; row < count; ++row, to += n * static_cast<int64_t>(sizeof(float))) {
    int64_t offset[1];
    rows.find_offsets(row, offset);
    run_on_active_target<WidenKernel>({view.dtype, view.data + offset[0], n, stride, to});
  }
  return {};
}

Status Parameter::assign(const char* op, const TensorView& view, int64_t count) {
  const Shape shape{1, {count}};
  int64_t stride = 0;
  if (view.present && view.shape.size() > 1)
    for (int axis = 0; axis < view.rank; ++axis)
      if (view.shape.dims[axis] > 1) stride = view.strides[axis];
  return assign(op, view, shape, &stride);
}

void Parameter::assign(double value) {
  count_ = 1;
  one_ = to_float32(value);
  data_ = reinterpret_cast<char*>(&one_);
}

Status Parameter::assign_reciprocals(const char* op, const Parameter& of) {
  NPU_QUANT_RETURN_IF_ERROR(allocate(op, of.count_));
  run_on_active_target<InvertKernel>({of.data_, count_, data_});
  return {};
}

Bias bias_kind(const TensorView& bias) {
  if (!bias.present) return Bias::none;
  return bias.dtype == DType::int32 ? Bias::integer : Bias::real;
}

TensorView taken_as_bytes(TensorView bias) {
  if (bias.dtype == DType::int32) bias.dtype = DType::float32;
  return bias;
}

TensorView scales_in_carriers(TensorView scale) {
  if (scale.dtype == DType::int64) scale.dtype = DType::float32;
  return scale;
}

Status Parameter::assign_offsets_in_carriers(const char* op, const TensorView& carriers,
                                             int64_t count) {
  constexpr int kPlace = 37, kBits = 9;
  NPU_QUANT_RETURN_IF_ERROR(allocate(op, count));
  const Shape& shape = carriers.shape;
  const int64_t last = shape.rank - 1, n = shape.dims[last];
  const bool is_one = shape.size() == 1;
  for (int64_t i = 0; i < count; ++i) {
    const int64_t row = is_one || last == 0 ? 0 : i / n * carriers.strides[0];
    const int64_t column = is_one ? 0 : i % n * carriers.strides[last];
    const auto word = static_cast<uint64_t>(integer_at(carriers.data + row + column, DType::int64));
    // Shifted up and down again, their upper bit is the sign.
    const auto number = static_cast<int64_t>(word << (64 - kPlace - kBits)) >> (64 - kBits);
    const auto offset = static_cast<float>(number);
    std::memcpy(data_ + i * static_cast<int64_t>(sizeof offset), &offset, sizeof offset);
  }
  return {};
}

Status Parameter::assign_powers(const char* op, const TensorView& bytes) {
  const bool is_row = bytes.rank == 1;
  const int64_t rows = is_row ? 1 : bytes.shape.dims[0];
  const int64_t columns = bytes.shape.dims[bytes.rank - 1], stride = bytes.strides[bytes.rank - 1];
  NPU_QUANT_RETURN_IF_ERROR(allocate(op, rows * columns));
  char* to = data_;
  for (int64_t row = 0; row < rows; ++row)
    for (int64_t i = 0; i < columns; ++i, to += sizeof(float)) {
      constexpr int kNan = 255, kBias = 127;
      const char* const from = bytes.data + (is_row ? 0 : row * bytes.strides[0]) + i * stride;
      const int b = static_cast<unsigned char>(*from);
      const float power = b == kNan ? std::nanf("") : std::ldexp(1.0f, b - kBias);
      std::memcpy(to, &power, sizeof power);
    }
  return {};
}

Parameter::Bounds Parameter::bounds() const {
  Bounds bounds{};
  run_on_active_target<BoundsKernel>({data_, count_, &bounds.least, &bounds.greatest});
  return bounds;
}

namespace {

template <class T, class Number = double>
Number read(const char* data) {
  T value;
  std::memcpy(&value, data, sizeof value);
  return static_cast<Number>(value);
}

}  // namespace

float to_float32(double value) {
  float rounded = 0;
  run_on_active_target<NarrowKernel>({value, reinterpret_cast<char*>(&rounded)});
  return rounded;
}

double number_in(const TensorView& view) {
  float value = 0;
  switch (view.dtype) {
    case DType::boolean: return *view.data != 0;
    case DType::int16: return read<int16_t>(view.data);
    case DType::uint16: return read<uint16_t>(view.data);
    case DType::int32: return read<int32_t>(view.data);
    case DType::uint32: return read<uint32_t>(view.data);
    case DType::int64: return read<int64_t>(view.data);
    case DType::uint64: return read<uint64_t>(view.data);
    case DType::float64: return read<double>(view.data);
    case DType::float32:
    case DType::float16:
    case DType::bfloat16:
    case DType::int8:
    case DType::uint8:
      run_on_active_target<WidenKernel>(
          {view.dtype, view.data, 1, size_of(view.dtype), reinterpret_cast<char*>(&value)});
      return static_cast<double>(value);
    case DType::float8_e5m2:
    case DType::float8_e4m3fn:
    case DType::float8_e8m0fnu:
    case DType::int4:
    case DType::hifloat8:
    case DType::float4_e2m1:
    case DType::float4_e1m2:
    case DType::other: break;
  }
  __builtin_trap();  // contracts refuse them
}

int64_t integer_at(const char* place, DType dtype) {
  return dtype == DType::int64 ? read<int64_t, int64_t>(place) : read<int32_t, int64_t>(place);
}

}  // namespace npu_quant
