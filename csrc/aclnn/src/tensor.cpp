#include "aclnn/src/tensor.h"

#include <algorithm>
#include <cstring>

#include "aclnn/src/data_type.h"
#include "aclnn/src/report.h"

namespace npu_quant::aclnn {
namespace {

bool is_plain(int format) {
  switch (format) {
    case ACL_FORMAT_ND:
    case ACL_FORMAT_NCHW:
    case ACL_FORMAT_NHWC:
    case ACL_FORMAT_HWCN:
    case ACL_FORMAT_NDHWC:
    case ACL_FORMAT_NCDHW:
    case ACL_FORMAT_NC:
    case ACL_FORMAT_NCL: return true;
    default: return false;
  }
}

bool any_negative(const std::vector<int64_t>& values) {
  return std::any_of(values.begin(), values.end(), [](int64_t value) { return value < 0; });
}

// Whether the elements, counted and in bytes from the address on, fit into an int64_t.
bool is_addressable(const Tensor& tensor, int64_t item) {
  int64_t count = item, end = 0;
  if (__builtin_mul_overflow(tensor.offset, item, &end) || __builtin_add_overflow(end, item, &end))
    return false;
  for (size_t i = 0; i < tensor.dims.size(); ++i) {
    int64_t extent = 0;
    if (__builtin_mul_overflow(std::max<int64_t>(tensor.dims[i], 1), count, &count) ||
        __builtin_mul_overflow(tensor.strides[i], item, &extent) ||
        __builtin_mul_overflow(extent, std::max<int64_t>(tensor.dims[i] - 1, 0), &extent) ||
        __builtin_add_overflow(end, extent, &end))
      return false;
  }
  return true;
}

std::vector<int64_t> contiguous_strides(const std::vector<int64_t>& dims) {
  std::vector<int64_t> strides(dims.size(), 1);
  for (size_t i = dims.size(); i-- > 1;)
    if (__builtin_mul_overflow(strides[i], std::max<int64_t>(dims[i], 1), &strides[i - 1]))
      strides[i - 1] = INT64_MAX;  // is_addressable says no
  return strides;
}

// Whether two elements share every byte, and no byte is left between them.
bool is_in_whole_bytes(const Tensor& tensor) {
  const std::vector<int64_t>& dims = tensor.dims;
  if (dims.empty() || dims.back() % 2 != 0 || tensor.offset % 2 != 0) return false;
  if (std::find(dims.begin(), dims.end(), 0) != dims.end()) return true;
  const std::vector<int64_t> strides = contiguous_strides(dims);
  for (size_t i = 0; i < dims.size(); ++i)
    if (dims[i] > 1 && tensor.strides[i] != strides[i]) return false;
  return true;
}

std::vector<int64_t> copy_of(const int64_t* values, uint64_t count) {
  std::vector<int64_t> copy(count);  // throws where there cannot be so many
  std::copy_n(values, count, copy.begin());
  return copy;
}

// False where dims are counted but not given.
bool describe(Tensor& tensor, const int64_t* dims, uint64_t rank, int type, const int64_t* strides,
              int64_t offset, int format, const int64_t* storage_dims, uint64_t storage_rank,
              void* address) {
  if ((dims == nullptr && rank > 0) || (storage_dims == nullptr && storage_rank > 0)) return false;
  tensor.dims = copy_of(dims, rank);
  tensor.strides = strides != nullptr ? copy_of(strides, rank) : contiguous_strides(tensor.dims);
  tensor.storage_dims = copy_of(storage_dims, storage_rank);
  tensor.offset = offset;
  tensor.format = format;
  tensor.type = type;
  tensor.address = address;
  tensor.derive();
  return true;
}

int stale_tensor(const char* function) {
  return report(ACLNN_ERR_PARAM_NULLPTR, function, "there is no such tensor.");
}

// Calls get(tensor) where the tensor and all pointers for results are there.
template <class Get, class... Results>
aclnnStatus read(const char* function, const aclTensor* tensor, Get get, Results*... results) {
  return guarded(function, ACLNN_ERR_INNER, ACLNN_ERR_INNER, [&]() -> int {
    if (tensor == nullptr || (... || (results == nullptr)))
      return report(ACLNN_ERR_PARAM_NULLPTR, function, "an argument is NULL.");
    return tensors().with(tensor, get) ? OK : stale_tensor(function);
  });
}

// A copy that the caller frees with delete[].
void hand_over(const std::vector<int64_t>& values, int64_t** copy, uint64_t* count) {
  auto* const made = new int64_t[values.size()];
  std::copy(values.begin(), values.end(), made);
  *copy = made;
  *count = values.size();
}

}  // namespace

void Tensor::derive() {
  problem = nullptr;
  view = {};
  view.present = true;
  view.dtype = dtype_of(type);
  view.dtype_name = name_of(type);
  view.writable = true;
  view.rank = static_cast<int>(dims.size());
  const int64_t item = size_of(view.dtype);
  if (!is_plain(format))
    problem = "has a private format, available: ACL_FORMAT_ND and other plain formats";
  else if (any_negative(dims))
    problem = "has a negative dimension";
  else if (any_negative(strides) || offset < 0)
    problem = "has a negative stride or offset";
  else if (!is_addressable(*this, item))
    problem = "has more elements than can be addressed";
  else if (view.is_packed() && !is_in_whole_bytes(*this))
    problem =
        "holds two elements in a byte, expected an even last axis, an even offset and contiguous "
        "elements";
  if (problem != nullptr) return;
  const int64_t per_byte = view.is_packed() ? 2 : 1;
  offset_in_bytes = offset * item / per_byte;
  view.shape.rank = std::min(view.rank, kMaxRank);
  for (int i = 0; i < view.shape.rank; ++i) {
    view.shape.dims[i] = dims[static_cast<size_t>(i)];
    view.strides[i] = strides[static_cast<size_t>(i)] * item / per_byte;
  }
  if (view.is_packed() && view.rank <= kMaxRank) view.strides[view.rank - 1] = 1;
}

Tensors& tensors() {
  static auto* const kept = new Tensors;
  return *kept;
}

namespace {
[[maybe_unused]] const Tensors& tensors_loaded = tensors();  // before any fork
}

}  // namespace npu_quant::aclnn

using namespace npu_quant::aclnn;

aclTensor* aclCreateTensor(const int64_t* viewDims, uint64_t viewDimsNum, aclDataType dataType,
                           const int64_t* stride, int64_t offset, aclFormat format,
                           const int64_t* storageDims, uint64_t storageDimsNum, void* tensorData) {
  aclTensor* handle = nullptr;
  guarded(__func__, ACLNN_ERR_INNER, ACLNN_ERR_INNER, [&, function = __func__]() -> int {
    Tensor tensor;
    if (!describe(tensor, viewDims, viewDimsNum, number_of(dataType), stride, offset,
                  number_of(format), storageDims, storageDimsNum, tensorData))
      return report(ACLNN_ERR_PARAM_NULLPTR, function,
                    "a number of dims is above 0, but the pointer to them is NULL.");
    handle = tensors().add(std::move(tensor));
    return OK;
  });
  return handle;
}

aclnnStatus aclInitTensor(aclTensor* tensor, const int64_t* viewDims, uint64_t viewDimsNum,
                          aclDataType dataType, const int64_t* stride, int64_t offset,
                          aclFormat format, const int64_t* storageDims, uint64_t storageDimsNum,
                          void* tensorData) {
  return guarded(__func__, ACLNN_ERR_INNER, ACLNN_ERR_INNER, [&, function = __func__]() -> int {
    Tensor fresh;
    if (tensor == nullptr ||
        !describe(fresh, viewDims, viewDimsNum, number_of(dataType), stride, offset,
                  number_of(format), storageDims, storageDimsNum, tensorData))
      return report(
          ACLNN_ERR_PARAM_NULLPTR, function,
          "tensor is NULL, or a number of dims is above 0 and the pointer to them is NULL.");
    const bool found = tensors().with(tensor, [&](Tensor& kept) { kept = std::move(fresh); });
    return found ? OK : stale_tensor(function);
  });
}

aclnnStatus aclDestroyTensor(const aclTensor* tensor) {
  return tensor == nullptr || tensors().remove(tensor) ? OK : stale_tensor(__func__);
}

aclnnStatus aclGetViewShape(const aclTensor* tensor, int64_t** viewDims, uint64_t* viewDimsNum) {
  const auto get = [&](const Tensor& t) { hand_over(t.dims, viewDims, viewDimsNum); };
  return read(__func__, tensor, get, viewDims, viewDimsNum);
}

aclnnStatus aclGetStorageShape(const aclTensor* tensor, int64_t** storageDims,
                               uint64_t* storageDimsNum) {
  const auto get = [&](const Tensor& t) { hand_over(t.storage_dims, storageDims, storageDimsNum); };
  return read(__func__, tensor, get, storageDims, storageDimsNum);
}

aclnnStatus aclGetViewStrides(const aclTensor* tensor, int64_t** stridesValue,
                              uint64_t* stridesNum) {
  const auto get = [&](const Tensor& t) { hand_over(t.strides, stridesValue, stridesNum); };
  return read(__func__, tensor, get, stridesValue, stridesNum);
}

aclnnStatus aclGetViewOffset(const aclTensor* tensor, int64_t* offset) {
  return read(__func__, tensor, [&](const Tensor& t) { *offset = t.offset; }, offset);
}

aclnnStatus aclGetFormat(const aclTensor* tensor, aclFormat* format) {
  return read(
      __func__, tensor, [&](const Tensor& t) { std::memcpy(format, &t.format, sizeof *format); },
      format);
}

aclnnStatus aclGetDataType(const aclTensor* tensor, aclDataType* dataType) {
  return read(
      __func__, tensor, [&](const Tensor& t) { std::memcpy(dataType, &t.type, sizeof *dataType); },
      dataType);
}

aclnnStatus aclSetRawTensorAddr(aclTensor* tensor, void* addr) {
  return read(__func__, tensor, [&](auto&& t) { t.address = addr; });
}

aclnnStatus aclGetRawTensorAddr(const aclTensor* tensor, void** addr) {
  return read(__func__, tensor, [&](const Tensor& t) { *addr = t.address; }, addr);
}
