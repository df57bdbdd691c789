// Calls at the edge of what can be asked: every one gets its code and its words, and soon.
#include <sys/resource.h>

#include <chrono>
#include <string>
#include <tuple>

#include "op_checks.h"
#include "operators.h"

namespace npu_quant::testing {
namespace {

using Codes = std::vector<int8_t>;

using Robustness = OnDevice;

struct Quantization {
  aclnnStatus operator()(uint64_t* size, aclOpExecutor** executor) const {
    if (version == 1)
      return aclnnAscendQuantGetWorkspaceSize(x.get(), scale.get(), offset.get(), false, round_mode,
                                              ACL_INT8, y.get(), size, executor);
    return aclnnAscendQuantV3GetWorkspaceSize(x.get(), scale.get(), offset.get(), false, round_mode,
                                              ACL_INT8, -1, y.get(), size, executor);
  }

  int version;
  Tensor x, scale, offset;
  Tensor y = device_output<int8_t>({3, 5}, ACL_INT8);
  const char* round_mode = "round";
};

// Of ones.
Quantization quantization(int version, const Dims& x, const Dims& scale) {
  return {version, ones(x, ACL_FLOAT), ones(scale, ACL_FLOAT), ones(scale, ACL_FLOAT),
          device_output<int8_t>(x, ACL_INT8)};
}

TEST_F(Robustness, AscendQuantScalesHaveTheRankOfXOrOne) {
  const std::tuple<int, Dims, Dims> refused[] = {
      {3, {3, 5}, {1, 1, 1}}, {3, {5}, {1, 1}}, {1, {3, 5}, {1, 1, 1}}};
  for (const auto& [version, x, scale] : refused) {
    SCOPED_TRACE("V" + std::to_string(version));
    expect_refused(quantization(version, x, scale), 161002, "scale");
    ASSERT_EQ(status_of(quantization(version, x, Dims(x.size(), 1))), 0);
  }
}

TEST_F(Robustness, AscendQuantV3TakesNoNumber) {
  expect_refused(quantization(3, {}, {1}), 161002, "x has 0 dimensions, expected 1 to 8");
}

// Row by row x is 1, 2, 3 in all columns: the codes are x * scale + offset.
TEST_F(Robustness, AscendQuantParametersMayDifferInLeadingOnes) {
  const std::tuple<Dims, Dims, Dims> taken[] = {{{3, 5}, {5}, {1, 5}},
                                                {{3, 5}, {1, 5}, {5}},
                                                {{1, 3, 5}, {1, 5}, {1, 1, 5}},
                                                {{3, 1, 5}, {1, 1, 5}, {5}}};
  for (const auto& [x, scale, offset] : taken) {
    Quantization call = quantization(1, x, scale);
    call.x = tensor_of({1, 1, 1, 1, 1, 2, 2, 2, 2, 2, 3, 3, 3, 3, 3}, x, ACL_FLOAT);
    call.scale = tensor_of({1, 2, -3, 4, 0.5f}, scale, ACL_FLOAT);
    call.offset = tensor_of({10, 20, 30, 40, 0.5f}, offset, ACL_FLOAT);
    ASSERT_EQ(run(stream, aclnnAscendQuant, call), 0);
    EXPECT_EQ(call.y.host<int8_t>(),
              (Codes{11, 22, 27, 44, 1, 12, 24, 24, 48, 2, 13, 26, 21, 52, 2}));
  }
}

struct BlockQuantization {
  aclnnStatus operator()(uint64_t* size, aclOpExecutor** executor) const {
    if (version == 1)
      return aclnnDynamicBlockQuantGetWorkspaceSize(x.get(), min_scale, nullptr, ACL_INT8,
                                                    row_block, 128, y.get(), scale.get(), size,
                                                    executor);
    return aclnnDynamicBlockQuantV2GetWorkspaceSize(x.get(), min_scale, nullptr, ACL_INT8,
                                                    row_block, 128, 0, y.get(), scale.get(), size,
                                                    executor);
  }

  int version;
  double min_scale;
  int64_t row_block;
  aclDataType y_dtype, scale_dtype;
  Tensor x = ones({2, 130}, ACL_FLOAT16);
  Tensor y = ones({2, 130}, y_dtype), scale = ones({2, 2}, scale_dtype);
};

TEST_F(Robustness, DtypesOfOutputsComeBeforeAttributes) {
  for (const int version : {1, 2}) {
    expect_refused(BlockQuantization{version, -1, 1, ACL_INT8, ACL_FLOAT}, 561002, "minScale");
    expect_refused(BlockQuantization{version, -1, 1, ACL_FLOAT16, ACL_FLOAT}, 161002, "yOut");
    expect_refused(BlockQuantization{version, 0, 3, ACL_INT8, ACL_FLOAT}, 561002, "rowBlockSize");
    expect_refused(BlockQuantization{version, 0, 3, ACL_INT8, ACL_FLOAT16}, 161002, "scaleOut");
  }
}

// An operator's call with other tensors for some of its arguments, all zeros.
struct Changed {
  explicit Changed(Operator of) : op(std::move(of)) {}
  Changed& set(const std::string& name, const Dims& shape, aclDataType dtype) {
    for (Argument& argument : op.arguments)
      if (argument.name == name) argument = {name, dtype, shape};
    return *this;
  }
  void refuse(aclnnStatus code, const std::string& text) const {
    SCOPED_TRACE(text);
    const std::vector<Tensor> tensors = tensors_of(op);
    const auto phase1 = [&](uint64_t* size, aclOpExecutor** executor) {
      return op.phase1(handles_of(tensors), size, executor);
    };
    expect_refused(phase1, code, text);
  }

  Operator op;
};

TEST_F(Robustness, DtypesAndRanksOfAllTensorsComeBeforeShapes) {
  const auto call = [] { return Changed(add_rms_norm_quant_operators()[0]); };
  const Dims rows = {2, 4}, other = {3, 4}, nine(9, 1);
  call().set("x2", other, ACL_FLOAT16).refuse(561002, "x2");
  for (const char* output : {"y1Out", "y2Out", "xOut"})
    call().set("x2", other, ACL_FLOAT16).set(output, rows, ACL_FLOAT).refuse(161002, output);
  for (const char* codes : {"y1Out", "y2Out"}) {
    call().set(codes, other, ACL_INT8).refuse(561002, codes);
    call().set(codes, nine, ACL_INT8).refuse(161002, codes);
    call().set(codes, {}, ACL_INT8).refuse(161002, codes);
  }
  call().set("x2", nine, ACL_FLOAT16).refuse(161002, "x2");
}

// y of 6 codes, 2^35 bytes apart and more.
TEST_F(Robustness, WideStridesTakeNeitherTimeNorMemory) {
  const auto most_used = [] {
    rusage usage{};
    getrusage(RUSAGE_SELF, &usage);
    return usage.ru_maxrss;  // KiB
  };
  const Tensor x = ones({2, 3}, ACL_FLOAT), scale = ones({2}, ACL_FLOAT);
  const Dims dims = {2, 3}, strides = {(int64_t{1} << 35) + 1, int64_t{1} << 35};
  const Block small(Codes(64));
  for (void* const address : {static_cast<void*>(nullptr), small.address()}) {
    aclTensor* const y = aclCreateTensor(dims.data(), 2, ACL_INT8, strides.data(), 0, ACL_FORMAT_ND,
                                         dims.data(), 2, address);
    const auto phase1 = [&](uint64_t* size, aclOpExecutor** executor) {
      return aclnnDynamicQuantGetWorkspaceSize(x.get(), nullptr, y, scale.get(), size, executor);
    };
    const auto begin = std::chrono::steady_clock::now();
    const long before = most_used();
    status_of(phase1);  // any code
    EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(5));
    EXPECT_LT(most_used() - before, 500 << 10);
    EXPECT_EQ(aclDestroyTensor(y), 0);
  }
}

struct FakeQuantization {
  explicit FakeQuantization(const Dims& shape, int64_t along = 0)
      : axis(along),
        self(tensor_of({2.75f}, shape, ACL_FLOAT)),
        out(device_output<float>(shape, ACL_FLOAT)),
        mask(device_output<int8_t>(shape, ACL_BOOL)) {}
  aclnnStatus operator()(uint64_t* size, aclOpExecutor** executor) const {
    return aclnnFakeQuantPerChannelAffineCachemaskGetWorkspaceSize(
        self.get(), scale.get(), zero_point.get(), axis, -128, 127, out.get(), mask.get(), size,
        executor);
  }

  int64_t axis;
  Tensor self, out, mask;
  Tensor scale = tensor_of({0.5f}, {1}, ACL_FLOAT);
  Tensor zero_point = tensor_of({3}, {1}, ACL_INT32);
};

TEST_F(Robustness, FakeQuantOfANumberHasOneChannel) {
  for (const FakeQuantization& call :
       {FakeQuantization({1}), FakeQuantization({}, 0), FakeQuantization({}, -1)}) {
    ASSERT_EQ(run(stream, aclnnFakeQuantPerChannelAffineCachemask, call), 0);
    EXPECT_EQ(call.out.host<float>(), std::vector<float>{3});
    EXPECT_EQ(call.mask.host<int8_t>(), Codes{1});
  }
  for (const int64_t axis : {-2, 1}) expect_refused(FakeQuantization({}, axis), 161002, "axis");
}

// Counted in bytes these numbers wrap around to next to nothing.
TEST(Counts, ThatWrapAround) {
  const int64_t values[2] = {1, 1};
  const float floats[2] = {};
  const aclTensor* const tensors[2] = {};
  const uint64_t many = uint64_t{1} << 61;
  for (const uint64_t count : {many + 1, many, ~uint64_t{0}}) {
    EXPECT_EQ(
        aclCreateTensor(values, count, ACL_FLOAT, nullptr, 0, ACL_FORMAT_ND, values, 1, nullptr),
        nullptr);
    EXPECT_EQ(
        aclCreateTensor(values, count, ACL_FLOAT, values, 0, ACL_FORMAT_ND, values, 1, nullptr),
        nullptr);
    EXPECT_EQ(
        aclCreateTensor(values, 1, ACL_FLOAT, nullptr, 0, ACL_FORMAT_ND, values, count, nullptr),
        nullptr);
    EXPECT_EQ(aclCreateIntArray(values, count), nullptr);
    EXPECT_EQ(aclCreateFloatArray(floats, 2 * count), nullptr);
    EXPECT_EQ(aclCreateTensorList(tensors, count), nullptr);
  }
}

TEST_F(Robustness, TheDevicesOwnContextStays) {
  aclrtContext own = nullptr, found = nullptr;
  ASSERT_EQ(aclrtGetCurrentContext(&own), 0);
  EXPECT_EQ(aclrtDestroyContext(own), 107000);
  EXPECT_EQ(aclrtSetCurrentContext(own), 0);
  EXPECT_EQ(aclrtGetCurrentContext(&found), 0);
  EXPECT_EQ(found, own);
  aclrtStream another = nullptr;
  EXPECT_EQ(aclrtCreateStream(&another), 0);
  EXPECT_EQ(aclrtDestroyStream(another), 0);
  EXPECT_EQ(aclrtSynchronizeDevice(), 0);
}

TEST(Configuration, AFolderIsNone) {
  EXPECT_EQ(aclInit("/"), 100003);
  EXPECT_EQ(aclFinalize(), 100037);
}

// The one message of a call to aclnnDynamicQuantV2 for x.
std::string message_for(const Dims& shape, int dtype, const int64_t* strides) {
  while (aclGetRecentErrMsg() != nullptr) continue;
  const Block block(Codes(64));
  aclTensor* const x =
      aclCreateTensor(shape.data(), shape.size(), static_cast<aclDataType>(dtype), strides, 0,
                      ACL_FORMAT_ND, shape.data(), shape.size(), block.address());
  const Tensor y = ones({2, 3}, ACL_INT8), scale = ones({2}, ACL_FLOAT);
  uint64_t size = 0;
  aclOpExecutor* executor = nullptr;
  EXPECT_EQ(aclnnDynamicQuantV2GetWorkspaceSize(x, nullptr, nullptr, ACL_INT8, y.get(), scale.get(),
                                                nullptr, &size, &executor),
            161002);
  EXPECT_EQ(aclDestroyTensor(x), 0);
  const char* message = aclGetRecentErrMsg();
  return message == nullptr ? "" : message;
}

void expect_end(const std::string& text, const std::string& end) {
  ASSERT_GE(text.size(), end.size()) << text;
  EXPECT_EQ(text.substr(text.size() - end.size()), end) << text;
}

TEST_F(Robustness, MessagesUseWordsAsWords) {
  const int64_t strides[] = {3, -1};
  expect_end(message_for({2, 3}, ACL_FLOAT, strides), ": x has a negative stride or offset.");
}

TEST_F(Robustness, MessagesOfShapesWhoseStridesOverflow) {
  const std::string text = message_for({4, int64_t{1} << 40, int64_t{1} << 40}, ACL_FLOAT, nullptr);
  EXPECT_NE(text.find(": x has more elements than can be addressed"), text.npos) << text;
}

TEST_F(Robustness, MessagesOfUnknownDtypes) {
  const std::string text = message_for({2, 3}, 99, nullptr);
  EXPECT_NE(text.find("x has dtype unknown"), text.npos) << text;
}

TEST_F(Robustness, MessagesQuoteTheCaller) {
  const std::pair<const char*, const char*> modes[] = {{"r'self None", "'r'self None'"},
                                                       {"x_out float16'", "'x_out float16''"},
                                                       {"a\nself\n\r\tb", " roundMode is 'a"}};
  for (const int version : {1, 3})
    for (const auto& [mode, quoted] : modes) {
      Quantization call = quantization(version, {3, 5}, {5});
      call.round_mode = mode;
      while (aclGetRecentErrMsg() != nullptr) continue;
      uint64_t size = 0;
      aclOpExecutor* executor = nullptr;
      EXPECT_EQ(call(&size, &executor), 161002);
      const char* message = aclGetRecentErrMsg();
      ASSERT_NE(message, nullptr);
      const std::string text = message;
      EXPECT_NE(text.find(quoted), text.npos) << text;
      EXPECT_EQ(text.find_first_of("\n\r"), text.npos) << text;
      EXPECT_EQ(text.compare(0, 5, "[PID:"), 0) << text;
    }
}

}  // namespace
}  // namespace npu_quant::testing
