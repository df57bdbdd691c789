// What the tests of the ops share: the results of an op in numbers, and what kind a fault is of.
#pragma once

#include <gtest/gtest.h>

#include <cfenv>
#include <string>

#include "ops/contract/op.h"
#include "views.h"

namespace npu_quant::testing {

using Values = std::vector<float>;

// An output: its elements as they are, or bytes where they are codes of floats.
struct Expected {
  std::vector<int64_t> shape;
  Values elements;
};

template <class T, class Convert>
Values converted(const std::vector<char>& bytes, Convert convert) {
  std::vector<T> elements(bytes.size() / sizeof(T));
  if (!bytes.empty()) std::memcpy(elements.data(), bytes.data(), bytes.size());
  Values values;
  for (const T element : elements) values.push_back(static_cast<float>(convert(element)));
  return values;
}

inline Values elements_of(const std::vector<char>& bytes, DType dtype) {
  const auto same = [](auto element) { return element; };
  switch (dtype) {
    case DType::float32: return converted<float>(bytes, same);
    case DType::float16: return converted<uint16_t>(bytes, widen_float16);
    case DType::bfloat16: return converted<uint16_t>(bytes, widen_bfloat16);
    case DType::int32: return converted<int32_t>(bytes, same);
    case DType::int64: return converted<int64_t>(bytes, same);
    case DType::int8: return converted<int8_t>(bytes, same);
    default: return converted<uint8_t>(bytes, same);
  }
}

// What a checked op computes where the caller rounds like that; of outputs that are not asked for,
// nothing.
inline std::vector<Values> results_of(Op& op, int rounding, const std::vector<bool>& asked = {}) {
  std::vector<std::vector<char>> bytes(static_cast<size_t>(op.outputs.size()));
  std::vector<TensorView> out(bytes.size());
  for (size_t i = 0; i < bytes.size(); ++i) {
    const OutputSpec& spec = op.outputs[static_cast<int>(i)];
    if (!asked.empty() && !asked[i]) continue;
    bytes[i].assign(static_cast<size_t>(spec.shape.size() * size_of(spec.dtype)), 77);
    out[i] = view(bytes[i].data(), spec.dtype, spec.shape);
  }
  EXPECT_TRUE(op.check_outputs(out.data()).ok());
  std::fesetround(rounding);
  const bool is_ok = op.run(out.data()).ok();
  const int after = std::fegetround();
  std::fesetround(FE_TONEAREST);
  EXPECT_TRUE(is_ok);
  EXPECT_EQ(after, rounding);
  std::vector<Values> results;
  for (size_t i = 0; i < bytes.size(); ++i)
    results.push_back(elements_of(bytes[i], op.outputs[static_cast<int>(i)].dtype));
  return results;
}

// On every target, however the caller rounds, and each output alone.
inline void expect_results(Op& op, const std::vector<Expected>& expected) {
  const Status status = op.check();
  ASSERT_TRUE(status.ok()) << message_of(status);
  ASSERT_EQ(static_cast<size_t>(op.outputs.size()), expected.size());
  for (size_t i = 0; i < expected.size(); ++i)
    EXPECT_EQ(op.outputs[static_cast<int>(i)].shape, shape_of(expected[i].shape)) << i;
  on_every_target([&] {
    SCOPED_TRACE(name_of(active_target()));
    for (const int rounding : {FE_TONEAREST, FE_UPWARD, FE_DOWNWARD, FE_TOWARDZERO}) {
      const std::vector<Values> results = results_of(op, rounding);
      for (size_t i = 0; i < expected.size(); ++i)
        EXPECT_EQ(results[i], expected[i].elements) << i << ", rounding " << rounding;
    }
    for (size_t i = 0; expected.size() > 1 && i < expected.size(); ++i) {
      std::vector<bool> alone(expected.size());
      alone[i] = true;
      EXPECT_EQ(results_of(op, FE_TONEAREST, alone)[i], expected[i].elements) << i << " alone";
    }
  });
}

// The kind of fault of an op that is changed.
template <class AnyOp, class Change>
Fault fault_of(AnyOp op, Change change) {
  change(op);
  return op.check().fault();
}

}  // namespace npu_quant::testing
