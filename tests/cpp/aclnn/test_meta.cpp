// aclTensor: what it is made with, what it says of itself, and that it is a token.
#include <gtest/gtest.h>

#include <cstdint>
#include <set>

#include "aclnn/acl_meta.h"
#include "aclnnop/aclnn_ascend_anti_quant.h"
#include "opdev/op_errno.h"
#include "tensors.h"

namespace npu_quant::testing {
namespace {

using Getter = aclnnStatus (*)(const aclTensor*, int64_t**, uint64_t*);

Dims get(Getter getter, const aclTensor* tensor) {
  int64_t* values = nullptr;
  uint64_t count = 77;
  EXPECT_EQ(getter(tensor, &values, &count), 0);
  const Dims result(values, values + count);
  delete[] values;
  return result;
}

aclTensor* make(const Dims& shape, aclDataType dtype = ACL_FLOAT,
                aclFormat format = ACL_FORMAT_ND) {
  return aclCreateTensor(shape.data(), shape.size(), dtype, nullptr, 0, format, shape.data(),
                         shape.size(), nullptr);
}

TEST(MetaTensor, SaysWhatItWasMadeWith) {
  Dims shape = {6, 5}, strides = {10, 1}, storage = {10, 10};
  int data = 0;
  aclTensor* tensor = aclCreateTensor(shape.data(), 2, ACL_BF16, strides.data(), 22,
                                      ACL_FORMAT_NCHW, storage.data(), 2, &data);
  ASSERT_NE(tensor, nullptr);
  shape = strides = storage = {0, 0};  // they were copied
  EXPECT_EQ(get(aclGetViewShape, tensor), (Dims{6, 5}));
  EXPECT_EQ(get(aclGetViewStrides, tensor), (Dims{10, 1}));
  EXPECT_EQ(get(aclGetStorageShape, tensor), (Dims{10, 10}));
  int64_t offset = 77;
  aclFormat format = ACL_FORMAT_UNDEFINED;
  aclDataType dtype = ACL_DT_UNDEFINED;
  void* address = nullptr;
  EXPECT_EQ(aclGetViewOffset(tensor, &offset), 0);
  EXPECT_EQ(offset, 22);
  EXPECT_EQ(aclGetFormat(tensor, &format), 0);
  EXPECT_EQ(format, ACL_FORMAT_NCHW);
  EXPECT_EQ(aclGetDataType(tensor, &dtype), 0);
  EXPECT_EQ(dtype, ACL_BF16);
  EXPECT_EQ(aclGetRawTensorAddr(tensor, &address), 0);
  EXPECT_EQ(address, &data);
  EXPECT_EQ(aclDestroyTensor(tensor), 0);
}

TEST(MetaTensor, StridesAreThoseOfCUnlessGiven) {
  const Dims shape = {2, 3, 4};
  aclTensor* tensor = make(shape);
  EXPECT_EQ(get(aclGetViewStrides, tensor), (Dims{12, 4, 1}));
  EXPECT_EQ(aclDestroyTensor(tensor), 0);
}

TEST(MetaTensor, MayHaveNoDims) {
  aclTensor* tensor =
      aclCreateTensor(nullptr, 0, ACL_FLOAT, nullptr, 0, ACL_FORMAT_ND, nullptr, 0, nullptr);
  ASSERT_NE(tensor, nullptr);
  EXPECT_EQ(get(aclGetViewShape, tensor), Dims{});
  EXPECT_EQ(get(aclGetViewStrides, tensor), Dims{});
  EXPECT_EQ(get(aclGetStorageShape, tensor), Dims{});
  EXPECT_EQ(aclDestroyTensor(tensor), 0);
}

TEST(MetaTensor, CountedDimsMustBeGiven) {
  const Dims shape = {2};
  EXPECT_EQ(
      aclCreateTensor(nullptr, 1, ACL_FLOAT, nullptr, 0, ACL_FORMAT_ND, shape.data(), 1, nullptr),
      nullptr);
  EXPECT_EQ(
      aclCreateTensor(shape.data(), 1, ACL_FLOAT, nullptr, 0, ACL_FORMAT_ND, nullptr, 1, nullptr),
      nullptr);
}

TEST(MetaTensor, IsMadeAlsoWhereNoOperatorWillTakeIt) {
  const Dims shape = {-2, 3}, strides = {3, -1};
  aclTensor* tensor = aclCreateTensor(shape.data(), 2, ACL_FLOAT, strides.data(), -5, ACL_FORMAT_ND,
                                      shape.data(), 2, nullptr);
  ASSERT_NE(tensor, nullptr);
  EXPECT_EQ(get(aclGetViewShape, tensor), shape);
  EXPECT_EQ(get(aclGetViewStrides, tensor), strides);
  EXPECT_EQ(aclDestroyTensor(tensor), 0);
  EXPECT_EQ(aclDestroyTensor(make(Dims(100, 1))), 0);
}

TEST(MetaTensor, TheAddressCanBeSet) {
  aclTensor* tensor = make({1});
  int data = 0;
  void* address = &data;
  EXPECT_EQ(aclGetRawTensorAddr(tensor, &address), 0);
  EXPECT_EQ(address, nullptr);
  EXPECT_EQ(aclSetRawTensorAddr(tensor, &data), 0);
  EXPECT_EQ(aclGetRawTensorAddr(tensor, &address), 0);
  EXPECT_EQ(address, &data);
  EXPECT_EQ(aclSetRawTensorAddr(tensor, nullptr), 0);
  EXPECT_EQ(aclGetRawTensorAddr(tensor, &address), 0);
  EXPECT_EQ(address, nullptr);
  EXPECT_EQ(aclDestroyTensor(tensor), 0);
}

// What every function says of a tensor that is none.
void expect_refused(aclTensor* tensor) {
  int64_t* values = nullptr;
  uint64_t count = 0;
  int64_t offset = 0;
  aclFormat format = ACL_FORMAT_ND;
  aclDataType dtype = ACL_FLOAT;
  void* address = nullptr;
  const int64_t one = 1;
  for (const Getter getter : {aclGetViewShape, aclGetStorageShape, aclGetViewStrides})
    EXPECT_EQ(getter(tensor, &values, &count), ACLNN_ERR_PARAM_NULLPTR);
  EXPECT_EQ(aclGetViewOffset(tensor, &offset), ACLNN_ERR_PARAM_NULLPTR);
  EXPECT_EQ(aclGetFormat(tensor, &format), ACLNN_ERR_PARAM_NULLPTR);
  EXPECT_EQ(aclGetDataType(tensor, &dtype), ACLNN_ERR_PARAM_NULLPTR);
  EXPECT_EQ(aclGetRawTensorAddr(tensor, &address), ACLNN_ERR_PARAM_NULLPTR);
  EXPECT_EQ(aclSetRawTensorAddr(tensor, &on_the_stack), ACLNN_ERR_PARAM_NULLPTR);
  EXPECT_EQ(aclInitTensor(tensor, &one, 1, ACL_FLOAT, nullptr, 0, ACL_FORMAT_ND, &one, 1, nullptr),
            ACLNN_ERR_PARAM_NULLPTR);
}

TEST(MetaTensor, NoneAndUnknownOnesAreRefused) {
  expect_refused(nullptr);
  EXPECT_EQ(aclDestroyTensor(nullptr), 0);
  auto* unknown = reinterpret_cast<aclTensor*>(&on_the_stack);
  expect_refused(unknown);
  EXPECT_EQ(aclDestroyTensor(unknown), ACLNN_ERR_PARAM_NULLPTR);
  aclTensor* destroyed = make({1});
  EXPECT_EQ(aclDestroyTensor(destroyed), 0);
  expect_refused(destroyed);
  EXPECT_EQ(aclDestroyTensor(destroyed), ACLNN_ERR_PARAM_NULLPTR);
}

TEST(MetaTensor, AnObjectOfAnotherKindIsRefused) {
  const int64_t one = 1;
  aclIntArray* array = aclCreateIntArray(&one, 1);
  auto* disguised = reinterpret_cast<aclTensor*>(array);
  expect_refused(disguised);
  EXPECT_EQ(aclDestroyTensor(disguised), ACLNN_ERR_PARAM_NULLPTR);
  EXPECT_EQ(aclDestroyIntArray(array), 0);
}

TEST(MetaTensor, GettersNeedSomewhereToWrite) {
  aclTensor* tensor = make({2});
  int64_t* values = nullptr;
  uint64_t count = 0;
  for (const Getter getter : {aclGetViewShape, aclGetStorageShape, aclGetViewStrides}) {
    EXPECT_EQ(getter(tensor, nullptr, &count), ACLNN_ERR_PARAM_NULLPTR);
    EXPECT_EQ(getter(tensor, &values, nullptr), ACLNN_ERR_PARAM_NULLPTR);
    EXPECT_EQ(values, nullptr);
  }
  EXPECT_EQ(aclGetViewOffset(tensor, nullptr), ACLNN_ERR_PARAM_NULLPTR);
  EXPECT_EQ(aclGetFormat(tensor, nullptr), ACLNN_ERR_PARAM_NULLPTR);
  EXPECT_EQ(aclGetDataType(tensor, nullptr), ACLNN_ERR_PARAM_NULLPTR);
  EXPECT_EQ(aclGetRawTensorAddr(tensor, nullptr), ACLNN_ERR_PARAM_NULLPTR);
  EXPECT_EQ(aclDestroyTensor(tensor), 0);
}

TEST(MetaTensor, HandlesAreNeverGivenAgain) {
  std::set<const aclTensor*> seen;
  for (int i = 0; i < 5000; ++i) {
    aclTensor* tensor = make({1});
    EXPECT_TRUE(seen.insert(tensor).second);
    ASSERT_EQ(aclDestroyTensor(tensor), 0);
  }
  for (const aclTensor* tensor : seen) EXPECT_EQ(aclDestroyTensor(tensor), ACLNN_ERR_PARAM_NULLPTR);
}

TEST(MetaTensor, CanBeDescribedAnew) {
  const Dims shape = {3, 2}, strides = {4, 2}, storage = {12};
  int data = 0;
  aclTensor* tensor = make({1}, ACL_INT8);
  EXPECT_EQ(aclInitTensor(tensor, shape.data(), 2, ACL_FLOAT16, strides.data(), 1, ACL_FORMAT_NCL,
                          storage.data(), 1, &data),
            0);
  EXPECT_EQ(get(aclGetViewShape, tensor), shape);
  EXPECT_EQ(get(aclGetViewStrides, tensor), strides);
  EXPECT_EQ(get(aclGetStorageShape, tensor), storage);
  int64_t offset = 77;
  aclFormat format = ACL_FORMAT_UNDEFINED;
  aclDataType dtype = ACL_DT_UNDEFINED;
  void* address = nullptr;
  EXPECT_EQ(aclGetViewOffset(tensor, &offset), 0);
  EXPECT_EQ(aclGetFormat(tensor, &format), 0);
  EXPECT_EQ(aclGetDataType(tensor, &dtype), 0);
  EXPECT_EQ(aclGetRawTensorAddr(tensor, &address), 0);
  EXPECT_EQ(offset, 1);
  EXPECT_EQ(format, ACL_FORMAT_NCL);
  EXPECT_EQ(dtype, ACL_FLOAT16);
  EXPECT_EQ(address, &data);
  EXPECT_EQ(aclInitTensor(tensor, nullptr, 1, ACL_FLOAT, nullptr, 0, ACL_FORMAT_ND, storage.data(),
                          1, nullptr),
            ACLNN_ERR_PARAM_NULLPTR);
  EXPECT_EQ(aclInitTensor(tensor, shape.data(), 2, ACL_FLOAT, nullptr, 0, ACL_FORMAT_ND, nullptr, 1,
                          nullptr),
            ACLNN_ERR_PARAM_NULLPTR);
  EXPECT_EQ(aclDestroyTensor(tensor), 0);
}

// How an operator reads and writes what a tensor describes: y = x * 1 as float16, which holds
// 0..100 exactly.
class MetaTensorUse : public OnDevice {
 protected:
  static uint16_t half_of(int value) { return aclFloatToFloat16(static_cast<float>(value)); }
  aclnnStatus convert(const aclTensor* x, const aclTensor* y) {
    return run(stream, aclnnAscendAntiQuant, [&](uint64_t* size, aclOpExecutor** executor) {
      return aclnnAscendAntiQuantGetWorkspaceSize(x, one_.get(), nullptr, ACL_FLOAT16, false, y,
                                                  size, executor);
    });
  }

 private:
  const Tensor one_ = device_tensor<float>({1.0f}, {1}, ACL_FLOAT);
};

TEST_F(MetaTensorUse, AWindowInALargerBlock) {
  std::vector<int8_t> values(100);
  std::vector<uint16_t> expected(100, 7);
  for (int i = 0; i < 100; ++i) values[static_cast<size_t>(i)] = static_cast<int8_t>(i);
  for (int row = 2; row < 8; ++row)
    for (int column = 2; column < 7; ++column)
      expected[static_cast<size_t>(10 * row + column)] = half_of(10 * row + column);
  const Tensor x(Block(values), {6, 5}, {10, 1}, 22, ACL_INT8);
  const Tensor y(Block(std::vector<uint16_t>(100, 7)), {6, 5}, {10, 1}, 22, ACL_FLOAT16);
  EXPECT_EQ(convert(x.get(), y.get()), 0);
  EXPECT_EQ(y.block<uint16_t>(), expected);  // and nothing outside the window
}

TEST_F(MetaTensorUse, TransposedAndRepeated) {
  const Tensor columns = strided_tensor<int8_t>({1, 2, 3, 4, 5, 6}, {2, 3}, ACL_INT8, {1, 2});
  const Tensor repeated = strided_tensor<int8_t>({8, 9, 8, 9}, {2, 2}, ACL_INT8, {0, 1});
  const Tensor y = device_output<uint16_t>({2, 3}, ACL_FLOAT16);
  const Tensor z = device_output<uint16_t>({2, 2}, ACL_FLOAT16);
  EXPECT_EQ(columns.block<int8_t>(), (std::vector<int8_t>{1, 4, 2, 5, 3, 6}));
  EXPECT_EQ(convert(columns.get(), y.get()), 0);
  EXPECT_EQ(y.host<uint16_t>(), (std::vector<uint16_t>{half_of(1), half_of(2), half_of(3),
                                                       half_of(4), half_of(5), half_of(6)}));
  EXPECT_EQ(convert(repeated.get(), z.get()), 0);
  EXPECT_EQ(z.host<uint16_t>(),
            (std::vector<uint16_t>{half_of(8), half_of(9), half_of(8), half_of(9)}));
}

// A tensor of that description, refused or not, as x and as y.
class MetaTensorFault : public MetaTensorUse {
 protected:
  void expect_status(const Dims& shape, const Dims& strides, int64_t offset, aclFormat format,
                     aclnnStatus expected) {
    const Block block(std::vector<uint16_t>(64));
    const auto make_one = [&](aclDataType dtype) {
      return aclCreateTensor(shape.data(), shape.size(), dtype, strides.data(), offset, format,
                             shape.data(), shape.size(), block.address());
    };
    aclTensor* as_x = make_one(ACL_INT8);
    aclTensor* as_y = make_one(ACL_FLOAT16);
    EXPECT_EQ(convert(as_x, device_output<uint16_t>({2, 2}, ACL_FLOAT16).get()), expected);
    EXPECT_EQ(convert(device_output<int8_t>({2, 2}, ACL_INT8).get(), as_y), expected);
    EXPECT_EQ(aclDestroyTensor(as_x), 0);
    EXPECT_EQ(aclDestroyTensor(as_y), 0);
  }
};

TEST_F(MetaTensorFault, NegativeNumbers) {
  const auto nd = ACL_FORMAT_ND;
  expect_status({2, 2}, {2, 1}, 1, nd, 0);
  expect_status({2, 2}, {2, 1}, -1, nd, ACLNN_ERR_PARAM_INVALID);
  expect_status({2, 2}, {-2, 1}, 8, nd, ACLNN_ERR_PARAM_INVALID);
  expect_status({2, -2}, {2, 1}, 0, nd, ACLNN_ERR_PARAM_INVALID);
  const Dims shape = {-2, -2};  // of both, so that it is the only fault
  aclTensor *x = make(shape, ACL_INT8), *y = make(shape, ACL_FLOAT16);
  EXPECT_EQ(convert(x, y), ACLNN_ERR_PARAM_INVALID);
  EXPECT_EQ(aclDestroyTensor(x), 0);
  EXPECT_EQ(aclDestroyTensor(y), 0);
}

TEST_F(MetaTensorFault, FormatsOfTheDeviceOnly) {
  for (const aclFormat format : {ACL_FORMAT_ND, ACL_FORMAT_NCHW, ACL_FORMAT_NHWC, ACL_FORMAT_HWCN,
                                 ACL_FORMAT_NDHWC, ACL_FORMAT_NCDHW, ACL_FORMAT_NC, ACL_FORMAT_NCL})
    expect_status({2, 2}, {2, 1}, 0, format, 0);
  for (const aclFormat format :
       {ACL_FORMAT_NC1HWC0, ACL_FORMAT_FRACTAL_Z, ACL_FORMAT_NC1HWC0_C04, ACL_FORMAT_FRACTAL_NZ,
        ACL_FORMAT_NDC1HWC0, ACL_FRACTAL_Z_3D, ACL_FORMAT_FRACTAL_NZ_C0_16})
    expect_status({2, 2}, {2, 1}, 0, format, ACLNN_ERR_PARAM_INVALID);
}

TEST_F(MetaTensorFault, SizesThatNoMemoryHolds) {
  const Dims shapes[] = {{int64_t{1} << 32, int64_t{1} << 32}, {INT64_MAX, 2}, {int64_t{1} << 40}};
  for (const Dims& shape : shapes) {
    const Tensor x(Block(std::vector<int8_t>(64)), shape, Dims(shape.size(), 0), 0, ACL_INT8);
    const Tensor y(Block(std::vector<uint16_t>(64)), shape, contiguous_strides(shape), 0,
                   ACL_FLOAT16);
    EXPECT_EQ(convert(x.get(), y.get()), ACLNN_ERR_PARAM_INVALID);
  }
}

TEST_F(MetaTensorFault, OffsetsThatNoMemoryHolds) {
  for (const int64_t offset : {int64_t{1000}, INT64_MAX, INT64_MAX / 2 + 1})
    expect_status({2, 2}, {2, 1}, offset, ACL_FORMAT_ND, ACLNN_ERR_PARAM_INVALID);
  for (const int64_t stride : {int64_t{1000}, INT64_MAX, INT64_MAX / 2 + 1})
    expect_status({2, 2}, {stride, 1}, 0, ACL_FORMAT_ND, ACLNN_ERR_PARAM_INVALID);
}

}  // namespace
}  // namespace npu_quant::testing
