// Tensors of ACL_INT4 and ACL_FLOAT4, two elements to a byte: every even last axis, also one that
// fills no whole elements of 32 bits, comes out as the same call's int8 codes do, and nothing
// behind it is touched.
#include <cmath>

#include "../views.h"
#include "aclnnop/aclnn_ascend_anti_quant.h"
#include "aclnnop/aclnn_ascend_quant_v3.h"
#include "aclnnop/aclnn_dynamic_mx_quant.h"
#include "aclnnop/aclnn_dynamic_quant_v4.h"
#include "op_checks.h"
#include "ops/dynamic_mx_quant.h"

namespace npu_quant::testing {
namespace {

using Codes = std::vector<int8_t>;

constexpr size_t kBehind = 8;

Tensor packed_tensor(std::vector<uint8_t> bytes, const Dims& shape, aclDataType dtype) {
  bytes.insert(bytes.end(), kBehind, 0x5a);
  return Tensor(Block(bytes), shape, contiguous_strides(shape), 0, dtype);
}
Tensor packed_output(const Dims& shape, aclDataType dtype = ACL_INT4) {
  return packed_tensor(std::vector<uint8_t>(static_cast<size_t>(count_of(shape) / 2), 77), shape,
                       dtype);
}
void expect_codes(const Tensor& y, const Codes& codes) {
  std::vector<uint8_t> expected = nibbles_of(codes);
  expected.insert(expected.end(), kBehind, 0x5a);
  EXPECT_EQ(y.block<uint8_t>(), expected);
}
Codes clamped(Codes codes) {
  for (int8_t& code : codes) code = std::min<int8_t>(std::max<int8_t>(code, -8), 7);
  return codes;
}

// Numbers from -20 to 20 in halves, in no order.
std::vector<float> numbers(const Dims& shape) {
  std::vector<float> values(static_cast<size_t>(count_of(shape)));
  for (size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i * 37 % 81) / 2 - 20;
  return values;
}
// Scales 0.25, 0.5, 1 in turn.
Tensor scales(int64_t count) {
  std::vector<float> values;
  for (int64_t i = 0; i < count; ++i) values.push_back(static_cast<float>(1 << i % 3) / 4);
  return tensor_of(values, {count}, ACL_FLOAT);
}

class Int4 : public OnDevice, public ::testing::WithParamInterface<Dims> {
 protected:
  void quantize(const Tensor& x, const Tensor& scale, int32_t axis, const Tensor& y,
                aclDataType dtype) {
    EXPECT_EQ(run(stream, aclnnAscendQuantV3,
                  [&](uint64_t* size, aclOpExecutor** executor) {
                    return aclnnAscendQuantV3GetWorkspaceSize(x.get(), scale.get(), nullptr, false,
                                                              "floor", dtype, axis, y.get(), size,
                                                              executor);
                  }),
              0);
  }
  // The length along the last axis, or the one before it.
  static int64_t length_of(int32_t axis) {
    return GetParam()[GetParam().size() - static_cast<size_t>(-axis)];
  }

  const Dims& shape = GetParam();
};
INSTANTIATE_TEST_SUITE_P(Shape, Int4,
                         ::testing::Values(Dims{1, 2}, Dims{9, 2}, Dims{5, 6}, Dims{130, 14},
                                           Dims{7, 66}, Dims{3, 2, 130}, Dims{40, 1030},
                                           Dims{2, 70006}));

TEST_P(Int4, IsWrittenAsInt8Is) {
  const int64_t rows = count_of(shape) / shape.back();
  Dims apart = contiguous_strides(shape), across = apart;
  for (int64_t& stride : apart) stride *= 2;
  across.back() = rows;  // columns follow on each other
  for (size_t i = 0, stride = 1; i + 1 < shape.size(); ++i) {
    const size_t axis = shape.size() - 2 - i;
    across[axis] = static_cast<int64_t>(stride);
    stride *= static_cast<size_t>(shape[axis]);
  }
  for (const Dims& strides : {contiguous_strides(shape), apart, across})
    for (const int32_t axis : {-1, -2}) {
      const Tensor x = strided_of(numbers(shape), shape, ACL_FLOAT, strides);
      const Tensor scale = scales(length_of(axis)), y = packed_output(shape);
      const Tensor whole = device_output<int8_t>(shape, ACL_INT8);
      quantize(x, scale, axis, whole, ACL_INT8);
      quantize(x, scale, axis, y, ACL_INT4);
      expect_codes(y, clamped(whole.host<int8_t>()));
    }
}

// As docs/numerics.md 2 says, row by row or of everything.
struct Expected {
  Expected(const std::vector<float>& v, size_t group, bool symmetric) {
    for (auto first = v.begin(); first != v.end(); first += static_cast<int64_t>(group)) {
      const auto end = first + static_cast<int64_t>(group);
      const float hi = *std::max_element(first, end), lo = *std::min_element(first, end);
      scale.push_back(symmetric ? std::max(hi, -lo) / 7 : std::max((hi - lo) / 15, 1e-12f));
      offset.push_back(symmetric ? 0 : 7 - hi / scale.back());
      for (auto at = first; at != end; ++at) {
        const float q = *at / scale.back();
        const float code = std::nearbyint(symmetric ? q : q + offset.back());
        codes.push_back(static_cast<int8_t>(std::min(std::max(code, -8.0f), 7.0f)));
      }
    }
  }
  std::vector<float> scale, offset;
  Codes codes;
};

TEST_P(Int4, IsWrittenByDynamicQuant) {
  const std::vector<float> x = numbers(shape);
  const int64_t n = shape.back(), rows = count_of(shape) / n;
  for (const bool symmetric : {true, false})
    for (const bool smooths : {false, true})
      for (const bool per_token : {true, false}) {
        std::vector<float> factors(static_cast<size_t>(n)), v = x;
        for (size_t i = 0; i < factors.size(); ++i) factors[i] = static_cast<float>(i % 5) / 2;
        for (size_t i = 0; i < v.size() && smooths; ++i) v[i] *= factors[i % factors.size()];
        const Expected expected(v, per_token ? static_cast<size_t>(n) : v.size(), symmetric);
        const Dims groups = per_token ? Dims(shape.begin(), shape.end() - 1) : Dims{1};
        const Tensor from = tensor_of(x, shape, ACL_FLOAT16), y = packed_output(shape);
        const Tensor smooth = smooths ? tensor_of(factors, {n}, ACL_FLOAT16) : Tensor();
        const Tensor scale = ones(groups, ACL_FLOAT);
        const Tensor offset = symmetric ? Tensor() : ones(groups, ACL_FLOAT);
        SCOPED_TRACE(::testing::Message() << symmetric << smooths << per_token << " rows " << rows);
        EXPECT_EQ(run(stream, aclnnDynamicQuantV4,
                      [&](uint64_t* size, aclOpExecutor** executor) {
                        return aclnnDynamicQuantV4GetWorkspaceSize(
                            from.get(), smooth.get(), nullptr, ACL_INT4, symmetric,
                            per_token ? "pertoken" : "pertensor", 0, y.get(), scale.get(),
                            offset.get(), size, executor);
                      }),
                  0);
        expect_codes(y, expected.codes);
        EXPECT_EQ(scale.host<float>(), expected.scale);
        if (!symmetric) {
          EXPECT_EQ(offset.host<float>(), expected.offset);
        }
      }
}

TEST_P(Int4, IsReadAsInt8Is) {
  Codes codes(static_cast<size_t>(count_of(shape)));
  for (size_t i = 0; i < codes.size(); ++i) codes[i] = static_cast<int8_t>(i * 5 % 16 - 8);
  const Tensor whole = device_tensor<int8_t>(codes, shape, ACL_INT8);
  const Tensor packed = packed_tensor(nibbles_of(codes), shape, ACL_INT4);
  for (const int32_t axis : {-1, -2}) {
    const Tensor scale = scales(length_of(axis));
    std::vector<uint16_t> values[2];
    for (const Tensor* x : {&whole, &packed}) {
      const Tensor y = device_output<uint16_t>(shape, ACL_FLOAT16);
      EXPECT_EQ(run(stream, aclnnAscendAntiQuant,
                    [&](uint64_t* size, aclOpExecutor** executor) {
                      return aclnnAscendAntiQuantGetWorkspaceSize(x->get(), scale.get(), nullptr,
                                                                  ACL_FLOAT16, false, y.get(), size,
                                                                  executor);
                    }),
                0);
      values[x == &packed] = y.host<uint16_t>();
    }
    EXPECT_EQ(values[0], values[1]);
  }
}

// Codes of ACL_FLOAT4 lie as the library's bytes do.
TEST_P(Int4, Float4IsWrittenAsBytesAre) {
  std::vector<float> x = numbers(shape);
  for (size_t i = 0; i < x.size(); ++i) x[i] = std::ldexp(x[i], static_cast<int>(i * 13 % 11) - 5);
  Dims apart = contiguous_strides(shape);
  for (int64_t& stride : apart) stride *= 3;
  for (const aclDataType dtype : {ACL_FLOAT4_E2M1, ACL_FLOAT4_E1M2})
    for (const int64_t axis : {-1, -2}) {
      SCOPED_TRACE(::testing::Message() << dtype << " along " << axis);
      DynamicMxQuant op;
      op.input = view(x.data(), DType::float32, shape_of(shape));
      op.axis = axis;
      op.dst_type = {
          .is_default = false,
          .format = dtype == ACL_FLOAT4_E2M1 ? Format::float4_e2m1 : Format::float4_e1m2};
      ASSERT_TRUE(op.check().ok());
      const Shape bytes = op.outputs[0].shape, of_scales = op.outputs[1].shape;
      std::vector<uint8_t> y(static_cast<size_t>(bytes.size())), scales(of_scales.size());
      const TensorView out[] = {view(y.data(), DType::uint8, bytes),
                                view(scales.data(), DType::uint8, of_scales)};
      ASSERT_TRUE(op.run(out).ok());
      const Dims scales_shape(of_scales.dims, of_scales.dims + of_scales.rank);
      y.insert(y.end(), kBehind, 0x5a);
      for (const Dims& strides : {contiguous_strides(shape), apart}) {
        const Tensor from = strided_of(x, shape, ACL_FLOAT, strides);
        const Tensor codes = packed_output(shape, dtype);
        const Tensor to = device_output<uint8_t>(scales_shape, ACL_FLOAT8_E8M0);
        EXPECT_EQ(run(stream, aclnnDynamicMxQuant,
                      [&](uint64_t* size, aclOpExecutor** executor) {
                        return aclnnDynamicMxQuantGetWorkspaceSize(from.get(), axis, nullptr, dtype,
                                                                   32, 0, codes.get(), to.get(),
                                                                   size, executor);
                      }),
                  0);
        EXPECT_EQ(codes.block<uint8_t>(), y);
        EXPECT_EQ(to.host<uint8_t>(), scales);
      }
    }
}

}  // namespace
}  // namespace npu_quant::testing
