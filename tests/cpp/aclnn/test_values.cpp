// What each parameter of a function does: other arguments than those of functions.cpp, and the
// results by hand. tests/cases/aclnn.py has the formulas on arrays of every layout.
#include "values.h"

namespace npu_quant::testing {
namespace {

using Parameter = testing::Parameter;

const Given kRow{ACL_FLOAT16, {1, 8}, {0, 1, -2, 4, -0.0f, 0.5f, 3, -4}};
const Parameter kNoSmooth{"smoothScalesOptional", kNull};

// A range of 255 has scale 1, and 127 - 135 is the offset.
const Parameters kAsymmetric{kNoSmooth,
                             {"x", {ACL_BF16, {1, 3}, {-120, 0, 135}}},
                             {"yOut", {ACL_INT8, {1, 3}, {-128, -8, 127}}},
                             {"scaleOut", {ACL_FLOAT, {1}, {1}}},
                             {"offsetOut", {ACL_FLOAT, {1}, {-8}}}};

// Of kRow: 4 becomes 7, 448, 57344 or 32768.
const Vector kDynamicQuantVectors[] = {
    {"aclnnDynamicQuant",
     {{"smoothScalesOptional", {ACL_FLOAT16, {4}, {127, 1, 2, 0}}},
      {"x", {ACL_FLOAT16, {2, 4}, {1, 1, -2, 4, 0, -127, 4, 8}}},
      {"yOut", {ACL_INT8, {2, 4}, {127, 1, -4, 0, 0, -127, 8, 0}}},
      {"scaleOut", {ACL_FLOAT, {2}, {1, 1}}}}},
    {"aclnnDynamicQuant",
     {kNoSmooth,
      {"x", kRow},
      {"yOut", {ACL_INT4, {1, 8}, {0x20, 0x7d, 0x10, 0x95}}},
      {"scaleOut", {ACL_FLOAT, {1}, {4 / 7.0f}}}}},
    {"aclnnDynamicQuant",
     {kNoSmooth,
      {"x", kRow},
      {"yOut", {ACL_INT32, {1, 1}, {0x20, 0x7d, 0x10, 0x95}}},
      {"scaleOut", {ACL_FLOAT, {1}, {4 / 7.0f}}}}},
    {"aclnnDynamicQuant",
     {kNoSmooth,
      {"x", kRow},
      {"yOut", {ACL_FLOAT8_E4M3FN, {1, 8}, {0x00, 0x6e, 0xf6, 0x7e, 0x80, 0x66, 0x7a, 0xfe}}},
      {"scaleOut", {ACL_FLOAT, {1}, {4 / 448.0f}}}}},
    {"aclnnDynamicQuant",
     {kNoSmooth,
      {"x", kRow},
      {"yOut", {ACL_FLOAT8_E5M2, {1, 8}, {0x00, 0x73, 0xf7, 0x7b, 0x80, 0x6f, 0x79, 0xfb}}},
      {"scaleOut", {ACL_FLOAT, {1}, {4 / 57344.0f}}}}},
    {"aclnnDynamicQuant",
     {kNoSmooth,
      {"x", kRow},
      {"yOut", {ACL_HIFLOAT8, {1, 8}, {0x00, 0x6a, 0xec, 0x6e, 0x00, 0x68, 0x6d, 0xee}}},
      {"scaleOut", {ACL_FLOAT, {1}, {4 / 32768.0f}}}}},
    {"aclnnDynamicQuant",
     {kNoSmooth,
      {"dstTypeMax", 15.0},
      {"x", {ACL_FLOAT16, {1, 4}, {30, 1, -2, 4}}},
      {"yOut", {ACL_HIFLOAT8, {1, 4}, {0x2f, 0x18, 0x88, 0x10}}},
      {"scaleOut", {ACL_FLOAT, {1}, {2}}}}},
    // The second expert has no rows.
    {"aclnnDynamicQuant",
     {{"groupIndexOptional", {ACL_INT32, {3}, {1, 1, 3}}},
      {"smoothScalesOptional", {ACL_FLOAT16, {3, 2}, {1, 1, 9, 9, 2, -1}}},
      {"x", {ACL_FLOAT16, {3, 2}, {63.5f, 127, 1, 127, 1, 2}}},
      {"yOut", {ACL_INT8, {3, 2}, {64, 127, 2, -127, 127, -127}}},
      {"scaleOut", {ACL_FLOAT, {3}, {1, 1, 2 / 127.0f}}}}},
    {"aclnnDynamicQuantV2", kAsymmetric},
    {"aclnnDynamicQuant", with({{"isSymmetrical", false}}, kAsymmetric)},
    {"aclnnDynamicQuant",
     {{"quantMode", "perchannel"},
      kNoSmooth,
      {"x", {ACL_FLOAT16, {3, 2}, {1, 2, -4, 0.5f, 2, -0.0f}}},
      {"yOut", {ACL_INT8, {3, 2}, {32, 127, -127, 32, 64, 0}}},
      {"scaleOut", {ACL_FLOAT, {2}, {4 / 127.0f, 2 / 127.0f}}}}},
    {"aclnnDynamicQuant",
     {{"quantMode", "pertensor"},
      kNoSmooth,
      {"x", {ACL_FLOAT16, {3, 2}, {1, 2, -4, 0.5f, 2, -0.0f}}},
      {"yOut", {ACL_INT8, {3, 2}, {32, 64, -127, 16, 64, 0}}},
      {"scaleOut", {ACL_FLOAT, {1}, {4 / 127.0f}}}}},
};

const Vector kDynamicBlockQuantVectors[] = {
    {"aclnnDynamicBlockQuant",
     {{"minScale", 0.5},
      {"roundModeOptional", nullptr},
      {"x", {ACL_FLOAT16, {3, 3}, {508, 100, -3, kInf, -kInf, 7, 1, 0.5f, 127}}},
      {"yOut", {ACL_INT8, {3, 3}, {127, 50, -2, 127, -128, 4, 1, 0, 127}}},
      {"scaleOut", {ACL_FLOAT, {3, 1}, {2, 2, 1}}}}},
    {"aclnnDynamicBlockQuant",
     {{"x", kRow},
      {"yOut", {ACL_FLOAT8_E4M3FN, {1, 8}, {0x00, 0x6e, 0xf6, 0x7e, 0x80, 0x66, 0x7a, 0xfe}}},
      {"scaleOut", {ACL_FLOAT, {1, 1}, {4 / 448.0f}}}}},
    {"aclnnDynamicBlockQuant",
     {{"dstTypeMax", 15.0},
      {"roundModeOptional", "round"},
      {"x", {ACL_FLOAT16, {1, 4}, {30, 1, -2, 4}}},
      {"yOut", {ACL_HIFLOAT8, {1, 4}, {0x2f, 0x18, 0x88, 0x10}}},
      {"scaleOut", {ACL_FLOAT, {1, 1}, {2}}}}},
    // Both rows are one block.
    {"aclnnDynamicBlockQuant",
     {{"rowBlockSize", 64},
      {"colBlockSize", 256},
      {"x", {ACL_FLOAT16, {2, 2}, {1, -448, 224, 2}}},
      {"yOut", {ACL_FLOAT8_E4M3FN, {2, 2}, {0x38, 0xfe, 0x76, 0x40}}},
      {"scaleOut", {ACL_FLOAT, {1, 1}, {1}}}}},
};

const Given kNumbers{ACL_FLOAT, {1, 8}, {1, -2.5f, 0.1f, 7, 0.3f, -0.7f, 3.3f, -5}};
Vector to_float4(const char* mode, int64_t alg, aclDataType dtype, std::vector<float> y,
                 float byte) {
  return {"aclnnDynamicMxQuant",
          {{"roundModeOptional", mode},
           {"scaleAlg", alg},
           {"x", kNumbers},
           {"yOut", {dtype, {1, 8}, std::move(y)}},
           {"mxscaleOut", {ACL_FLOAT8_E8M0, {1, 1, 2}, {byte, 0}}}}};
}
const Vector kMxQuantVectors[] = {
    to_float4("rint", 0, ACL_FLOAT4_E2M1, {0xc2, 0x70, 0x91, 0xe5}, 127),  // 1 -2 0 6 .5 -.5 3 -4
    to_float4(nullptr, 0, ACL_FLOAT4_E2M1, {0xc2, 0x70, 0x91, 0xe5}, 127),
    to_float4("floor", 0, ACL_FLOAT4_E2M1, {0xd2, 0x70, 0xa0, 0xf5}, 127),  // 1 -3 0 6 0 -1 3 -6
    to_float4("rint", 2, ACL_FLOAT4_E2M1, {0xa1, 0x60, 0x90, 0xc3}, 128),  // .5 -1 0 4 0 -.5 1.5 -2
    to_float4("rint", 0, ACL_FLOAT4_E1M2, {0xa1, 0x70, 0x90, 0xd3}, 129),  // quarters: 1 -2 0 7 ...
    // 449.5 has the exponent of 448, which is the byte of alg 0; the other divides by 448.
    {"aclnnDynamicMxQuant",
     {{"x", {ACL_FLOAT, {2}, {1, 449.5f}}},
      {"yOut", {ACL_FLOAT8_E4M3FN, {2}, {0x38, 0x7e}}},
      {"mxscaleOut", {ACL_FLOAT8_E8M0, {1, 2}, {127, 0}}}}},
    {"aclnnDynamicMxQuant",
     {{"scaleAlg", 1},
      {"x", {ACL_FLOAT, {2}, {1, 449.5f}}},
      {"yOut", {ACL_FLOAT8_E4M3FN, {2}, {0x30, 0x76}}},
      {"mxscaleOut", {ACL_FLOAT8_E8M0, {1, 2}, {128, 0}}}}},
    {"aclnnDynamicMxQuant",
     {{"axis", -2},
      {"x", {ACL_FLOAT, {2, 2}, {8, 0, -512, 4}}},
      {"yOut", {ACL_FLOAT8_E5M2, {2, 2}, {0x60, 0x00, 0xf8, 0x78}}},
      {"mxscaleOut", {ACL_FLOAT8_E8M0, {1, 2, 2}, {121, 0, 114, 0}}}}},
    // 6 for the greatest would make it 4 of 128.
    {"aclnnDynamicMxQuant",
     {{"dstTypeMax", 7.0},
      {"scaleAlg", 2},
      {"x", {ACL_FLOAT16, {1, 2}, {1, 6.5f}}},
      {"yOut", {ACL_FLOAT4_E2M1, {1, 2}, {0x72}}},
      {"mxscaleOut", {ACL_FLOAT8_E8M0, {1, 1, 2}, {127, 0}}}}},
    {"aclnnDynamicMxQuant",
     {{"maxLowBound", 448.0},
      {"scaleAlg", 1},
      {"x", {ACL_FLOAT16, {1, 2}, {1, 0}}},
      {"yOut", {ACL_FLOAT8_E4M3FN, {1, 2}, {0x38, 0x00}}},
      {"mxscaleOut", {ACL_FLOAT8_E8M0, {1, 1, 2}, {127, 0}}}}},
    // The greatest becomes 4, the code 6. Of -0.5 beside 8, times 1 / 2, floor makes -0.5, the 9.
    {"aclnnDynamicMxQuantWithDualAxis",
     {{"roundModeOptional", "floor"},
      {"y1Out", {ACL_FLOAT4_E2M1, {2, 4}, {0xc2, 0x06, 0x61, 0x09}}},
      {"mxscale1Out", {ACL_FLOAT8_E8M0, {2, 1, 2}, {127, 0, 128, 0}}},
      {"y2Out", {ACL_FLOAT4_E2M1, {2, 4}, {0xa6, 0x06, 0x66, 0x09}}},
      {"mxscale2Out", {ACL_FLOAT8_E8M0, {1, 4, 2}, {125, 0, 128, 0, 127, 0, 0, 0}}}}},
    {"aclnnDynamicMxQuantWithDualAxis",
     {{"dstTypeMax", 7.0},
      {"scaleAlg", 2},
      {"x", {ACL_FLOAT16, {2, 4}, {7, 6.5f, 3, 1, 0, 0, 0, 0}}},
      {"y1Out", {ACL_FLOAT4_E2M1, {2, 4}, {0x77, 0x25, 0, 0}}},
      {"mxscale1Out", {ACL_FLOAT8_E8M0, {2, 1, 2}, {127, 0, 0, 0}}},
      {"y2Out", {ACL_FLOAT4_E2M1, {2, 4}, {0x77, 0x67, 0, 0}}},
      {"mxscale2Out", {ACL_FLOAT8_E8M0, {1, 4, 2}, {127, 0, 127, 0, 126, 0, 125, 0}}}}},
    // 1 2 and 6 -6: a column has a scale.
    {"aclnnAntiMxQuant",
     {{"axis", 0},
      {"x", {ACL_FLOAT4_E2M1, {2, 2}, {0x42, 0xf7}}},
      {"mxscale", {ACL_FLOAT8_E8M0, {1, 2, 2}, {127, 0, 126, 0}}},
      {"y", {ACL_BF16, {2, 2}, {1, 1, 6, -3}}}}},
    {"aclnnAntiMxQuant",
     {{"x", {ACL_FLOAT4_E1M2, {1, 4}, {0x21, 0xf7}}},
      {"y", {ACL_FLOAT16, {1, 4}, {.5f, 1, 3.5f, -3.5f}}}}},
    {"aclnnAntiMxQuant",
     {{"x", {ACL_FLOAT8_E5M2, {1, 4}, {0x3c, 0x7b, 0x81, 0xbc}}},
      {"y", {ACL_FLOAT, {1, 4}, {2, 114688, -0x1p-15f, -2}}}}},
};

// One scale and no offset.
Parameters scaled(float scale, const Parameters& changes) {
  return with({{"scale", {ACL_FLOAT, {1}, {scale}}}, {"offset", kNull}}, changes);
}
const Given kTies{ACL_FLOAT, {8}, {7, 3.5f, -3.5f, 0.5f, -0.5f, 1.5f, 2.5f, -7}};
Vector in_mode(const char* mode, aclDataType dtype, const Dims& shape, std::vector<float> y) {
  return {"aclnnAscendQuant",
          scaled(1, {{"roundMode", mode}, {"x", kTies}, {"y", {dtype, shape, std::move(y)}}})};
}
// Vector by row x is 1 and 2 in all columns; scale and offset may differ in leading ones.
Vector leading(const Dims& x, const Dims& scale, const Dims& offset) {
  return {"aclnnAscendQuantV1",
          {{"x", {ACL_FLOAT, x, {1, 1, 1, 2, 2, 2}}},
           {"scale", {ACL_FLOAT, scale, {1, 2, -3}}},
           {"offset", {ACL_FLOAT, offset, {10, 20, 30}}},
           {"y", {ACL_INT8, x, {11, 22, 27, 12, 24, 24}}}}};
}
const Vector kAscendQuantVectors[] = {
    leading({2, 3}, {3}, {1, 3}),
    leading({2, 3}, {1, 3}, {3}),
    leading({1, 2, 3}, {1, 3}, {1, 1, 3}),
    leading({2, 1, 3}, {1, 1, 3}, {3}),
    in_mode("round", ACL_INT8, {8}, {7, 4, -4, 0, 0, 2, 2, -7}),
    in_mode("ceil", ACL_INT8, {8}, {7, 4, -3, 1, 0, 2, 3, -7}),
    in_mode("trunc", ACL_INT8, {8}, {7, 3, -3, 0, 0, 1, 2, -7}),
    in_mode("round", ACL_INT4, {8}, {0x47, 0x0c, 0x20, 0x92}),
    in_mode("round", ACL_INT32, {1}, {0x47, 0x0c, 0x20, 0x92}),
    in_mode("floor", ACL_INT4, {8}, {0x37, 0x0c, 0x1f, 0x92}),
    {"aclnnAscendQuant", scaled(0.5f, {{"sqrtMode", true},
                                       {"x", {ACL_FLOAT, {3}, {12, -9, 1000}}},
                                       {"y", {ACL_INT8, {3}, {3, -3, 127}}}})},
    // 2^100 * 2^30 * 2^30 is infinite, and 2^-140 * 2^-20 is 0 from then on.
    {"aclnnAscendQuant", scaled(0x1p30f, {{"sqrtMode", true},
                                          {"x", {ACL_FLOAT, {2}, {0x1p100f, -0x1p100f}}},
                                          {"y", {ACL_INT8, {2}, {127, -128}}}})},
    {"aclnnAscendQuant", scaled(0x1p-20f, {{"sqrtMode", true},
                                           {"roundMode", "ceil"},
                                           {"x", {ACL_FLOAT, {1}, {0x1p-140f}}},
                                           {"y", {ACL_INT8, {1}, {0}}}})},
    {"aclnnAscendQuantV3",
     {{"axis", 0},
      {"scale", {ACL_FLOAT, {2}, {1, 0.5f}}},
      {"offset", {ACL_FLOAT, {2}, {1, -1}}},
      {"y", {ACL_INT8, {2, 3}, {2, -2, 5, 49, -1, -5}}}}},
    {"aclnnAscendQuantV3", scaled(1, {{"roundMode", "round"},
                                      {"x", {ACL_FLOAT, {4}, {1, -1.5f, 0.3f, -500}}},
                                      {"y", {ACL_FLOAT8_E4M3FN, {4}, {0x38, 0xbc, 0x2a, 0xfe}}}})},
    {"aclnnAscendQuantV3", scaled(1, {{"roundMode", "round"},
                                      {"x", {ACL_FLOAT, {4}, {1, -1.5f, 0.3f, -500}}},
                                      {"y", {ACL_FLOAT8_E5M2, {4}, {0x3c, 0xbe, 0x35, 0xe0}}}})},
    {"aclnnAscendQuantV3", scaled(1, {{"roundMode", "round"},
                                      {"x", {ACL_FLOAT, {4}, {1, -1.5f, 0.3f, -500}}},
                                      {"y", {ACL_HIFLOAT8, {4}, {0x08, 0x8c, 0x32, 0xe2}}}})},
};

const Vector kAscendAntiQuantVectors[] = {
    // The product is multiplied: scale * scale would be 0.
    {"aclnnAscendAntiQuant",
     {{"sqrtMode", true},
      {"x", {ACL_INT8, {1}, {1}}},
      {"scale", {ACL_FLOAT, {1}, {0x1p-80f}}},
      {"offset", {ACL_FLOAT, {1}, {0x1p80f}}},
      {"y", {ACL_BF16, {1}, {0x1p-80f}}}}},
    {"aclnnAscendAntiQuant", scaled(2, {{"sqrtMode", true},
                                        {"offset", {ACL_FLOAT, {1}, {3}}},
                                        {"x", {ACL_INT8, {3}, {0, 1, -5}}},
                                        {"y", {ACL_FLOAT16, {3}, {12, 16, -8}}}})},
    {"aclnnAscendAntiQuant",
     {{"scale", {ACL_BF16, {2}, {1, 2}}},
      {"offset", {ACL_BF16, {2}, {0, -1}}},
      {"y", {ACL_BF16, {2, 3}, {-128, 0, 127, 0, 2, 4}}}}},
    // 1 2 3 4 from the second byte on; the stride of an axis of one says nothing.
    {"aclnnAscendAntiQuant", scaled(0.5f, {{"x", {ACL_INT4, {1, 4}, {0, 0x21, 0x43}, {77, 1}, 2}},
                                           {"y", {ACL_FLOAT16, {1, 4}, {0.5f, 1, 1.5f, 2}}}})},
    // Eight codes of 4 bits, with an axis or without.
    {"aclnnAscendAntiQuant",
     scaled(0.5f, {{"x", {ACL_INT32, {1}, {0x76543200}}},
                   {"y", {ACL_FLOAT16, {8}, {0, 0, 1, 1.5f, 2, 2.5f, 3, 3.5f}}}})},
    {"aclnnAscendAntiQuant",
     scaled(0.5f, {{"x", {ACL_INT32, {}, {0x76543200}}},
                   {"y", {ACL_FLOAT16, {8}, {0, 0, 1, 1.5f, 2, 2.5f, 3, 3.5f}}}})},
    {"aclnnAscendAntiQuant", scaled(1, {{"x", {ACL_FLOAT8_E4M3FN, {3}, {0x7e, 0x01, 0xb8}}},
                                        {"y", {ACL_FLOAT16, {3}, {448, 0x1p-9f, -1}}}})},
    {"aclnnAscendAntiQuant", scaled(1, {{"x", {ACL_FLOAT8_E5M2, {3}, {0x7b, 0x7c, 0x01}}},
                                        {"y", {ACL_FLOAT16, {3}, {57344, kInf, 0x1p-16f}}}})},
    {"aclnnAscendAntiQuant", scaled(1, {{"x", {ACL_HIFLOAT8, {3}, {0x08, 0x6e, 0x6f}}},
                                        {"y", {ACL_FLOAT16, {3}, {1, 32768, kInf}}}})},
};

const Vector kFakeQuantVectors[] = {
    {"aclnnFakeQuantPerChannelAffineCachemask",
     {{"axis", -1},
      {"self", {ACL_FLOAT, {}, {2.75f}}},
      {"scale", {ACL_FLOAT, {1}, {0.5f}}},
      {"zeroPoint", {ACL_INT32, {1}, {3}}},
      {"out", {ACL_FLOAT, {}, {2}}},
      {"mask", {ACL_BOOL, {}, {0}}}}},
    {"aclnnFakeQuantPerTensorAffineCachemask",
     {{"fakeQuantEnabled", 0.5},
      {"out", {ACL_FLOAT16, {2, 3}, {0.5f, 1.5f, 2.5f, -0.5f, -130, 200}}},
      {"mask", {ACL_BOOL, {2, 3}, {1, 1, 1, 1, 1, 1}}}}},
    {"aclnnFakeQuantPerTensorAffineCachemask",
     {{"quantMin", -1},
      {"quantMax", 2},
      {"scale", {ACL_BF16, {}, {0.5f}}},
      {"zeroPoint", {ACL_INT32, {}, {1}}},
      {"out", {ACL_BF16, {2, 3}, {0.5f, 0.5f, 0.5f, -0.5f, -1, 0.5f}}},
      {"mask", {ACL_BOOL, {2, 3}, {1, 0, 0, 1, 0, 0}}}}},
    {"aclnnFakeQuantPerChannelAffineCachemask",
     {{"axis", -2},
      {"scale", {ACL_FLOAT16, {2}, {0.5f, 2}}},
      {"zeroPoint", {ACL_INT32, {2}, {0, -1}}},
      {"out", {ACL_FLOAT, {2, 3}, {1, 1.5f, 3.5f, -8, -14, 16}}},
      {"mask", {ACL_BOOL, {2, 3}, {1, 1, 0, 1, 0, 0}}}}},
};

const Given kUnpacked{ACL_FLOAT, {1, 8}, {0, 0.5f, 1, 1.5f, 2, 3, -4, 0.75f}};
const Vector kWordVectors[] = {
    {"aclnnTransQuantParam",
     {{"scale", {ACL_FLOAT, {1}, {-1}}},
      {"offset", {ACL_FLOAT, {2}, {1000, kNaN}}},
      {"out",
       {ACL_UINT64, {2}, {0, 0, 0x80, 0xbf, 0xe0, 0x5f, 0, 0, 0, 0, 0x80, 0xbf, 0, 0x40, 0, 0}}}}},
    {"aclnnTransQuantParamV3",
     {{"roundMode", 0},
      {"scale", {ACL_FLOAT, {1, 1}, {0x1.003p0f}}},
      {"offset", kNull},
      {"out", {ACL_INT64, {1, 1}, {0, 0, 0x80, 0x3f, 0, 0x40, 0, 0}}}}},
    {"aclnnConvertWeightToINT4Pack",
     {{"weight", {ACL_INT32, {2, 1, 2}, {1, 17, -1, 8}}},
      {"weightInt4Pack", {ACL_INT4, {2, 1, 2}, {0x11, 0x8f}}}}},
    {"aclnnConvertWeightToINT4Pack",
     {{"weight", kUnpacked},
      {"weightInt4Pack", {ACL_FLOAT4_E2M1, {1, 8}, {0x10, 0x32, 0x54, 0x0e}}}}},
    {"aclnnConvertWeightToINT4Pack",
     {{"weight", kUnpacked}, {"weightInt4Pack", {ACL_FLOAT, {1, 1}, {0x1.a86420p-99f}}}}},
};

TEST_F(Values, OfDynamicQuant) { expect_values(stream, kDynamicQuantVectors); }
TEST_F(Values, OfDynamicBlockQuant) { expect_values(stream, kDynamicBlockQuantVectors); }
TEST_F(Values, OfMxQuant) { expect_values(stream, kMxQuantVectors); }
TEST_F(Values, OfAscendQuant) { expect_values(stream, kAscendQuantVectors); }
TEST_F(Values, OfAscendAntiQuant) { expect_values(stream, kAscendAntiQuantVectors); }
TEST_F(Values, OfWords) { expect_values(stream, kWordVectors); }
TEST_F(Values, OfFakeQuant) { expect_values(stream, kFakeQuantVectors); }

}  // namespace
}  // namespace npu_quant::testing
