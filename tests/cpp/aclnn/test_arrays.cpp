// Arrays, scalars and lists: they are made, counted and destroyed.
#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <vector>

#include "aclnn/acl_meta.h"
#include "opdev/op_errno.h"
#include "tensors.h"

namespace npu_quant::testing {
namespace {

// The life of an array of T with these functions.
template <class T, class Create, class Destroy, class Size>
void expect_life_of_an_array(Create create, Destroy destroy, Size get_size) {
  const std::array<T, 3> values = {T{1}, T{0}, T{1}};
  uint64_t size = 77;
  auto* array = create(values.data(), 3);
  ASSERT_NE(array, nullptr);
  EXPECT_EQ(get_size(array, &size), 0);
  EXPECT_EQ(size, 3U);
  EXPECT_EQ(get_size(array, nullptr), ACLNN_ERR_PARAM_NULLPTR);
  EXPECT_EQ(destroy(array), 0);
  EXPECT_EQ(get_size(array, &size), ACLNN_ERR_PARAM_NULLPTR);
  EXPECT_EQ(destroy(array), ACLNN_ERR_PARAM_NULLPTR);
  auto* again = create(values.data(), 3);
  EXPECT_NE(again, array);
  EXPECT_EQ(destroy(again), 0);
  EXPECT_EQ(destroy(nullptr), 0);
  EXPECT_EQ(get_size(nullptr, &size), ACLNN_ERR_PARAM_NULLPTR);
  auto* unknown = reinterpret_cast<decltype(array)>(&on_the_stack);
  EXPECT_EQ(get_size(unknown, &size), ACLNN_ERR_PARAM_NULLPTR);
  EXPECT_EQ(destroy(unknown), ACLNN_ERR_PARAM_NULLPTR);
}

// Of no values an empty array is made; of values that are not there, none.
template <class T, class Create, class Destroy, class Size>
void expect_empty_arrays(Create create, Destroy destroy, Size get_size) {
  const T value = T{1};
  for (const uint64_t count : {uint64_t{1}, uint64_t{3}, uint64_t{1} << 61, ~uint64_t{0}})
    EXPECT_EQ(create(nullptr, count), nullptr);
  for (auto* array : {create(nullptr, 0), create(&value, 0)}) {
    uint64_t size = 77;
    ASSERT_NE(array, nullptr);
    EXPECT_EQ(get_size(array, &size), 0);
    EXPECT_EQ(size, 0U);
    EXPECT_EQ(destroy(array), 0);
  }
}

TEST(Arrays, OfIntegers) {
  expect_life_of_an_array<int64_t>(aclCreateIntArray, aclDestroyIntArray, aclGetIntArraySize);
  expect_empty_arrays<int64_t>(aclCreateIntArray, aclDestroyIntArray, aclGetIntArraySize);
}

TEST(Arrays, OfFloats) {
  expect_life_of_an_array<float>(aclCreateFloatArray, aclDestroyFloatArray, aclGetFloatArraySize);
  expect_empty_arrays<float>(aclCreateFloatArray, aclDestroyFloatArray, aclGetFloatArraySize);
}

TEST(Arrays, OfBools) {
  expect_life_of_an_array<bool>(aclCreateBoolArray, aclDestroyBoolArray, aclGetBoolArraySize);
  expect_empty_arrays<bool>(aclCreateBoolArray, aclDestroyBoolArray, aclGetBoolArraySize);
}

TEST(Arrays, OfOneKindAreNotOfAnother) {
  const int64_t value = 1;
  uint64_t size = 77;
  aclIntArray* array = aclCreateIntArray(&value, 1);
  EXPECT_EQ(aclGetFloatArraySize(reinterpret_cast<aclFloatArray*>(array), &size),
            ACLNN_ERR_PARAM_NULLPTR);
  EXPECT_EQ(aclDestroyBoolArray(reinterpret_cast<aclBoolArray*>(array)), ACLNN_ERR_PARAM_NULLPTR);
  EXPECT_EQ(size, 77U);
  EXPECT_EQ(aclDestroyIntArray(array), 0);
}

TEST(Scalars, OfEveryTypeThatHasASize) {
  double values[2] = {1.0, 2.0};
  for (const aclDataType dtype :
       {ACL_FLOAT, ACL_FLOAT16, ACL_INT8, ACL_INT32, ACL_INT64, ACL_DOUBLE, ACL_BOOL, ACL_COMPLEX64,
        ACL_COMPLEX128, ACL_BF16, ACL_FLOAT8_E5M2}) {
    aclScalar* scalar = aclCreateScalar(values, dtype);
    EXPECT_NE(scalar, nullptr) << dtype;
    EXPECT_EQ(aclDestroyScalar(scalar), 0);
    EXPECT_EQ(aclDestroyScalar(scalar), ACLNN_ERR_PARAM_NULLPTR);
    EXPECT_EQ(aclCreateScalar(nullptr, dtype), nullptr);
  }
  EXPECT_EQ(aclCreateScalar(values, ACL_STRING), nullptr);
  EXPECT_EQ(aclCreateScalar(values, ACL_DT_UNDEFINED), nullptr);
  EXPECT_EQ(aclDestroyScalar(nullptr), 0);
  EXPECT_EQ(aclDestroyScalar(reinterpret_cast<aclScalar*>(&on_the_stack)), ACLNN_ERR_PARAM_NULLPTR);
}

aclTensor* make_tensor() {
  return aclCreateTensor(nullptr, 0, ACL_FLOAT, nullptr, 0, ACL_FORMAT_ND, nullptr, 0, nullptr);
}

aclScalar* make_scalar() {
  float value = 1.0f;
  return aclCreateScalar(&value, ACL_FLOAT);
}

// The life of a list of what `make` makes, with these functions.
template <class Element, class Create, class Destroy, class DestroyElement, class Size>
void expect_life_of_a_list(Element* (*make)(), Create create, Destroy destroy,
                           DestroyElement destroy_element, Size get_size) {
  Element* const elements[3] = {make(), make(), make()};
  Element* const other = make();
  uint64_t size = 77;
  auto* list = create(elements, 3);
  ASSERT_NE(list, nullptr);
  EXPECT_EQ(get_size(list, &size), 0);
  EXPECT_EQ(size, 3U);
  EXPECT_EQ(get_size(list, nullptr), ACLNN_ERR_PARAM_NULLPTR);
  EXPECT_EQ(destroy_element(elements[1]), 0);  // one that goes before its list does no harm
  EXPECT_EQ(destroy(list), 0);
  for (Element* element : elements) EXPECT_EQ(destroy_element(element), ACLNN_ERR_PARAM_NULLPTR);
  EXPECT_EQ(destroy_element(other), 0);
  EXPECT_EQ(get_size(list, &size), ACLNN_ERR_PARAM_NULLPTR);
  EXPECT_EQ(destroy(list), ACLNN_ERR_PARAM_NULLPTR);
  EXPECT_EQ(destroy(nullptr), 0);
  EXPECT_EQ(get_size(nullptr, &size), ACLNN_ERR_PARAM_NULLPTR);
  EXPECT_EQ(destroy(reinterpret_cast<decltype(list)>(&on_the_stack)), ACLNN_ERR_PARAM_NULLPTR);
}

TEST(Lists, OfTensors) {
  expect_life_of_a_list<aclTensor>(make_tensor, aclCreateTensorList, aclDestroyTensorList,
                                   aclDestroyTensor, aclGetTensorListSize);
}

TEST(Lists, OfScalars) {
  expect_life_of_a_list<aclScalar>(make_scalar, aclCreateScalarList, aclDestroyScalarList,
                                   aclDestroyScalar, aclGetScalarListSize);
}

}  // namespace
}  // namespace npu_quant::testing
