// Scalars, arrays and lists: of these operators here take arrays of integers and lists of tensors
// alone, but programs make and release all of them.
#include "aclnn/src/arrays.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "acl/acl_base.h"
#include "aclnn/src/data_type.h"
#include "aclnn/src/report.h"
#include "aclnn/src/tensor.h"

namespace npu_quant::aclnn {
namespace {

struct Scalar {
  int type;  // aclDataType
  char value[16];
};

template <class Element>
using Elements = std::vector<Element>;
using Scalars = Registry<Scalar, aclScalar, Kind::scalar>;
using IntArrays = Registry<Elements<int64_t>, aclIntArray, Kind::int_array>;
using FloatArrays = Registry<Elements<float>, aclFloatArray, Kind::float_array>;
using BoolArrays = Registry<Elements<char>, aclBoolArray, Kind::bool_array>;
using TensorLists = Registry<Elements<const aclTensor*>, aclTensorList, Kind::tensor_list>;
using ScalarLists = Registry<Elements<const aclScalar*>, aclScalarList, Kind::scalar_list>;

// One registry of each kind, never destroyed.
template <class Kept>
Kept& all() {
  static auto* const kept = new Kept;
  return *kept;
}

template <class... Kept>
bool make_all() {
  (static_cast<void>(all<Kept>()), ...);
  return true;
}
[[maybe_unused]] const bool kept_loaded =  // before any fork
    make_all<Scalars, IntArrays, FloatArrays, BoolArrays, TensorLists, ScalarLists>();

template <class Kept, class Element, class Value>
auto* create(const char* function, const Value* values, uint64_t size) {
  decltype(all<Kept>().add({})) handle = nullptr;
  guarded(function, ACLNN_ERR_INNER, ACLNN_ERR_INNER, [&]() -> int {
    if (values == nullptr && size > 0)
      return report(ACLNN_ERR_PARAM_NULLPTR, function, "size is above 0, but value is NULL.");
    Elements<Element> copy(size);  // throws where there cannot be so many
    std::copy_n(values, size, copy.begin());
    handle = all<Kept>().add(std::move(copy));
    return OK;
  });
  return handle;
}

int stale_array(const char* function) {
  return report(ACLNN_ERR_PARAM_NULLPTR, function, "there is no such object.");
}

template <class Kept, class Opaque>
aclnnStatus destroy(const char* function, const Opaque* handle) {
  return handle == nullptr || all<Kept>().remove(handle) ? OK : stale_array(function);
}

// A list takes its elements with it; those that are gone already do not matter.
template <class Kept, class Opaque, class Members>
aclnnStatus destroy_list(const char* function, const Opaque* handle, Members& members) {
  if (handle == nullptr) return OK;
  const auto list = all<Kept>().remove(handle);
  if (!list) return stale_array(function);
  for (const auto* member : *list) members.remove(member);
  return OK;
}

template <class Kept, class Opaque>
aclnnStatus get_size(const char* function, const Opaque* handle, uint64_t* size) {
  if (handle == nullptr || size == nullptr)
    return report(ACLNN_ERR_PARAM_NULLPTR, function, "an argument is NULL.");
  const bool found = all<Kept>().with(handle, [&](const auto& kept) { *size = kept.size(); });
  return found ? OK : stale_array(function);
}

}  // namespace

std::optional<Integers> integers_in(const aclIntArray* array) {
  Integers found;
  if (array == nullptr) return found;
  const bool is_there = all<IntArrays>().with(array, [&](const Elements<int64_t>& kept) {
    found.count = static_cast<int64_t>(kept.size());
    std::copy_n(kept.begin(), std::min(kept.size(), std::size(found.each)), found.each);
  });
  return is_there ? std::optional(found) : std::nullopt;
}

TensorList tensors_in(const aclTensorList* list) {
  TensorList found{.handle = list};
  if (list == nullptr) return found;
  found.is_live =
      all<TensorLists>().with(list, [&](const auto& elements) { found.elements = elements; });
  return found;
}

}  // namespace npu_quant::aclnn

using namespace npu_quant::aclnn;

aclScalar* aclCreateScalar(void* value, aclDataType dataType) {
  const size_t size = size_of(number_of(dataType));
  if (value == nullptr || size == 0) return nullptr;
  aclScalar* handle = nullptr;
  guarded(__func__, ACLNN_ERR_INNER, ACLNN_ERR_INNER, [&] {
    Scalar scalar{number_of(dataType), {}};
    std::memcpy(scalar.value, value, std::min(size, sizeof scalar.value));
    handle = all<Scalars>().add(scalar);
    return OK;
  });
  return handle;
}

aclIntArray* aclCreateIntArray(const int64_t* value, uint64_t size) {
  return create<IntArrays, int64_t>(__func__, value, size);
}
aclFloatArray* aclCreateFloatArray(const float* value, uint64_t size) {
  return create<FloatArrays, float>(__func__, value, size);
}
aclBoolArray* aclCreateBoolArray(const bool* value, uint64_t size) {
  return create<BoolArrays, char>(__func__, value, size);
}
aclTensorList* aclCreateTensorList(const aclTensor* const* value, uint64_t size) {
  return create<TensorLists, const aclTensor*>(__func__, value, size);
}
aclScalarList* aclCreateScalarList(const aclScalar* const* value, uint64_t size) {
  return create<ScalarLists, const aclScalar*>(__func__, value, size);
}

aclnnStatus aclDestroyScalar(const aclScalar* scalar) { return destroy<Scalars>(__func__, scalar); }
aclnnStatus aclDestroyIntArray(const aclIntArray* array) {
  return destroy<IntArrays>(__func__, array);
}
aclnnStatus aclDestroyFloatArray(const aclFloatArray* array) {
  return destroy<FloatArrays>(__func__, array);
}
aclnnStatus aclDestroyBoolArray(const aclBoolArray* array) {
  return destroy<BoolArrays>(__func__, array);
}
aclnnStatus aclDestroyTensorList(const aclTensorList* list) {
  return destroy_list<TensorLists>(__func__, list, tensors());
}
aclnnStatus aclDestroyScalarList(const aclScalarList* list) {
  return destroy_list<ScalarLists>(__func__, list, all<Scalars>());
}

aclnnStatus aclGetIntArraySize(const aclIntArray* array, uint64_t* size) {
  return get_size<IntArrays>(__func__, array, size);
}
aclnnStatus aclGetFloatArraySize(const aclFloatArray* array, uint64_t* size) {
  return get_size<FloatArrays>(__func__, array, size);
}
aclnnStatus aclGetBoolArraySize(const aclBoolArray* array, uint64_t* size) {
  return get_size<BoolArrays>(__func__, array, size);
}
aclnnStatus aclGetTensorListSize(const aclTensorList* list, uint64_t* size) {
  return get_size<TensorLists>(__func__, list, size);
}
aclnnStatus aclGetScalarListSize(const aclScalarList* list, uint64_t* size) {
  return get_size<ScalarLists>(__func__, list, size);
}
