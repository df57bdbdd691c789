// What the first phases refuse, with which code and in which words: one row for each argument and
// kind of fault, and what the C API alone has. tests/errors/ has every rule of the operators.
#include <cmath>

#include "refusals.h"

namespace npu_quant::testing {
namespace {

const char kDynamicQuant[] = "aclnnDynamicQuant";
const Refusal kDynamicQuantRows[] = {
    {kDynamicQuant, {{"x", {ACL_INT8, {2, 4}}}}, "x has dtype ACL_INT8"},
    {kDynamicQuant, {{"smoothScalesOptional", {ACL_BF16, {4}}}}, "smoothScalesOptional"},
    {kDynamicQuant,
     {{"yOut", {ACL_UINT8, {2, 4}}}},
     "available: ACL_INT8, ACL_INT4, ACL_INT32, ACL_HIFLOAT8, ACL_FLOAT8_E5M2, "
     "ACL_FLOAT8_E4M3FN"},
    {kDynamicQuant, {{"yOut", {ACL_FLOAT4_E2M1, {2, 4}}}}, "yOut"},
    {kDynamicQuant, {{"scaleOut", {ACL_FLOAT16, {2}}}}, "scaleOut"},
    {kDynamicQuant, {{"x", {ACL_FLOAT16, {4}}}}, "x has 1 dimension"},
    {kDynamicQuant, {{"x", {ACL_FLOAT16, kNine}}}, "x has 9 dimensions"},
    {kDynamicQuant, {{"yOut", {ACL_INT8, {4, 2}}}}, "yOut has shape"},
    {kDynamicQuant, {{"yOut", {ACL_INT8, {8}}}}, "yOut has"},
    {kDynamicQuant, {{"scaleOut", {ACL_FLOAT, {2, 1}}}}, "scaleOut"},
    {kDynamicQuant, {{"smoothScalesOptional", {ACL_FLOAT16, {2}}}}, "smoothScalesOptional"},
    {kDynamicQuant, {{"yOut", {ACL_INT32, {2, 4}}}}, "x has shape"},
    {kDynamicQuant, {{"yOut", {ACL_INT4, {2, 2}}}}, "yOut has shape"},
    {kDynamicQuant, {{"yOut", {ACL_INT4, {2, 3}}}}, "yOut holds two elements in a byte"},
    {kDynamicQuant,
     {{"groupIndexOptional", {ACL_INT32, {8}}}},
     "smoothScalesOptional has 1 dimension, expected 2."},
    {kDynamicQuant,
     {{"groupIndexOptional", {ACL_INT32, {1}}}, {"smoothScalesOptional", kNull}},
     "groupIndexOptional"},
    {kDynamicQuant,
     {{"groupIndexOptional", {ACL_INT64, {2}}}, {"smoothScalesOptional", {ACL_FLOAT16, {2, 4}}}},
     "groupIndexOptional has dtype ACL_INT64"},
    {kDynamicQuant, {{"dstType", ACL_INT32}}, "dstType is ACL_INT32"},
    {kDynamicQuant, {{"dstType", 1000}}, "dstType is 1000"},
    {"aclnnDynamicQuantV2", {{"offsetOut", {ACL_FLOAT, {3}}}}, "offsetOut"},
    {kDynamicQuant, {{"isSymmetrical", false}}, "isSymmetrical is false, but offsetOut is NULL."},
    {kDynamicQuant,
     {{"isSymmetrical", true}, {"offsetOut", {ACL_FLOAT, {2}}}},
     "isSymmetrical is true, but offsetOut is given."},
    {kDynamicQuant,
     {{"isSymmetrical", false}, {"offsetOut", {ACL_FLOAT, {1}}}},
     "offsetOut has shape"},
    {kDynamicQuant, {{"quantMode", nullptr}}, "quantMode is NULL."},
    {kDynamicQuant,
     {{"quantMode", "perrow"}},
     "quantMode is 'perrow', expected 'pertoken', 'pertensor' or 'perchannel'."},
    {kDynamicQuant, {{"quantMode", "pertensor"}}, "scaleOut"},
    {kDynamicQuant, {{"dstTypeMax", std::nan("")}}, "dstTypeMax"},
    {kDynamicQuant,
     {{"dstTypeMax", 15.0}},
     "dstTypeMax is 15, available: 0.0 (other values need ACL_HIFLOAT8)."},
};

const char kBlock[] = "aclnnDynamicBlockQuant";
const Refusal kBlockRows[] = {
    {kBlock, {{"x", {ACL_INT32, {2, 4}}}}, "x has dtype ACL_INT32"},
    {kBlock,
     {{"yOut", {ACL_INT4, {2, 4}}}},
     "available: ACL_INT8, ACL_HIFLOAT8, ACL_FLOAT8_E5M2, ACL_FLOAT8_E4M3FN"},
    {kBlock, {{"scaleOut", {ACL_FLOAT16, {2, 1}}}}, "scaleOut"},
    {kBlock, {{"x", {ACL_FLOAT16, {8}}}}, "x has 1 dimension"},
    {kBlock, {{"yOut", {ACL_INT8, {4, 2}}}}, "yOut", Kind::shape},
    {kBlock, {{"scaleOut", {ACL_FLOAT, {2, 4}}}}, "scaleOut", Kind::shape},
    {kBlock, {{"scaleOut", {ACL_FLOAT, {2}}}}, "scaleOut"},
    {kBlock, {{"minScale", 1e39}}, "minScale", Kind::attribute},
    {kBlock, {{"dstType", 1000}}, "dstType is 1000", Kind::attribute},
    {kBlock, {{"rowBlockSize", 2}}, "rowBlockSize is 2", Kind::attribute},
    {kBlock, {{"colBlockSize", 512}}, "colBlockSize is 512", Kind::attribute},
    {kBlock, {{"roundModeOptional", "xx"}}, "roundModeOptional is 'xx'", Kind::attribute},
    {kBlock,
     {{"roundModeOptional", nullptr}, {"yOut", {ACL_HIFLOAT8, {2, 4}}}},
     "roundModeOptional",
     Kind::attribute},
    {kBlock, {{"dstTypeMax", 15.0}}, "dstTypeMax is 15", Kind::attribute},
    // The dtypes of all tensors come before attributes.
    {kBlock, {{"minScale", -1.0}, {"yOut", {ACL_FLOAT16, {2, 4}}}}, "yOut"},
    {kBlock, {{"rowBlockSize", 3}, {"scaleOut", {ACL_FLOAT16, {2, 1}}}}, "scaleOut"},
};

const char kMx[] = "aclnnDynamicMxQuant", kDual[] = "aclnnDynamicMxQuantWithDualAxis";
const char kAntiMx[] = "aclnnAntiMxQuant";
const char kMxCodes[] =
    "available: ACL_FLOAT8_E5M2, ACL_FLOAT8_E4M3FN, ACL_FLOAT4_E2M1, ACL_FLOAT4_E1M2";
const Parameter kFloat4{"yOut", {ACL_FLOAT4_E2M1, {1, 4}}};
const Refusal kMxRows[] = {
    {kMx, {{"x", {ACL_DOUBLE, {1, 4}}}}, "x has dtype ACL_DOUBLE"},
    {kMx, {{"yOut", {ACL_HIFLOAT8, {1, 4}}}}, kMxCodes},
    {kMx, {{"yOut", {ACL_INT4, {1, 4}}}}, kMxCodes},
    {kMx,
     {{"mxscaleOut", {ACL_UINT8, {1, 1, 2}}}},
     "mxscaleOut has dtype ACL_UINT8, expected ACL_FLOAT8_E8M0"},
    {kMx, {{"x", {ACL_FLOAT16, {}}}}, "x has 0 dimensions"},
    {kMx, {{"yOut", {ACL_FLOAT8_E4M3FN, {4, 1}}}}, "yOut has shape"},
    {kMx, {{"yOut", {ACL_FLOAT4_E2M1, {1, 2}}}}, "yOut has shape (1, 2), expected (1, 4)"},
    {kMx, {{"yOut", {ACL_FLOAT4_E2M1, {1, 3}}}}, "yOut holds two elements in a byte"},
    {kMx,
     {{"x", {ACL_FLOAT16, {2, 4}}}, {"yOut", {ACL_FLOAT4_E2M1, {2, 4}, {}, {8, 1}}}},
     "yOut holds two elements in a byte"},
    {kMx,
     {{"mxscaleOut", {ACL_FLOAT8_E8M0, {1, 2, 1}}}},
     "mxscaleOut has shape (1, 2, 1), expected (1, 1, 2)"},
    {kMx, {{"axis", -3}}, "axis is -3"},
    {kMx, {{"dstType", 292}}, "dstType is 292"},
    {kMx,
     {{"dstType", ACL_FLOAT8_E5M2}},
     "dstType is ACL_FLOAT8_E5M2, but the output has dtype ACL_FLOAT8_E4M3FN"},
    {kMx, {{"blocksize", 48}}, "blocksize is 48"},
    {kMx, {{"roundModeOptional", "round"}}, "roundModeOptional is 'round'"},
    {kMx, {{"scaleAlg", 2}}, "scaleAlg is 2"},
    {kMx,
     {{"scaleAlg", 2}, kFloat4, {"blocksize", 64}},
     "blocksize is 64, available with scaleAlg 2: 32."},
    {kMx, {{"dstTypeMax", 6.0}}, "(other values need scaleAlg 2)."},
    {kMx, {{"dstTypeMax", 5.0}, {"scaleAlg", 2}, kFloat4}, "dstTypeMax is 5"},
    {kMx, {{"maxLowBound", 1.0}}, "(other values need scaleAlg 1)."},
    {kMx, {{"maxLowBound", -1.0}, {"scaleAlg", 1}}, "maxLowBound is -1"},
    // A wrong dtype comes before a wrong value.
    {kMx, {{"blocksize", 0}, {"mxscaleOut", {ACL_UINT8, {1, 1, 2}}}}, "mxscaleOut"},
    {kMx, {{"yOut", {ACL_INT8, {1, 4}}}, {"mxscaleOut", {ACL_UINT8, {1, 1, 2}}}}, "yOut"},
    {kDual, {{"x", {ACL_FLOAT16, {8}}}}, "x has 1 dimension"},
    {kDual, {{"y1Out", {ACL_INT8, {2, 4}}}}, "y1Out has dtype ACL_INT8"},
    {kDual,
     {{"y2Out", {ACL_FLOAT8_E5M2, {2, 4}}}},
     "y2Out has dtype ACL_FLOAT8_E5M2, expected ACL_FLOAT8_E4M3FN"},
    {kDual, {{"y2Out", {ACL_FLOAT8_E4M3FN, {4, 2}}}}, "y2Out has shape (4, 2), expected (2, 4)"},
    {kDual,
     {{"mxscale1Out", {ACL_FLOAT8_E8M0, {1, 4, 2}}}},
     "mxscale1Out has shape (1, 4, 2), expected (2, 1, 2)"},
    {kDual,
     {{"mxscale2Out", {ACL_UINT8, {1, 4, 2}}}},
     "mxscale2Out has dtype ACL_UINT8, expected ACL_FLOAT8_E8M0"},
    {kDual, {{"dstType", ACL_FLOAT8_E5M2}}, "dstType is ACL_FLOAT8_E5M2, but the output has"},
    {kDual, {{"roundModeOptional", "round"}}, "roundModeOptional is 'round'"},
    {kDual, {{"scaleAlg", 2}}, "scaleAlg is 2"},
    {kDual, {{"dstTypeMax", 6.0}}, "(other values need scaleAlg 2)."},
    {kAntiMx, {{"axis", 2}}, "axis is 2"},
    {kAntiMx, {{"dstType", ACL_FLOAT16}}, "dstType is ACL_FLOAT16, but the output has dtype ACL"},
    {kAntiMx, {{"x", {ACL_HIFLOAT8, {1, 4}}}}, "x has dtype ACL_HIFLOAT8"},
    {kAntiMx, {{"x", {ACL_INT4, {1, 4}}}}, "x has dtype ACL_INT4"},
    {kAntiMx, {{"mxscale", {ACL_FLOAT8_E8M0, {1, 2}}}}, "mxscale has 2 dimensions"},
    {kAntiMx, {{"mxscale", {ACL_FLOAT8_E8M0, {1, 1, 1}}}}, "mxscale has shape"},
    {kAntiMx, {{"y", {ACL_FLOAT, {4}}}}, "y has"},
};

const char kSum[] = "aclnnAddRmsNorm", kAlone[] = "aclnnRmsNorm";
const Refusal kPlainNormRows[] = {
    {kSum, {{"x1", {ACL_INT8, {2, 4}}}}, "x1 has dtype ACL_INT8"},
    {kSum, {{"x2", {ACL_FLOAT, {2, 4}}}}, "x2"},
    {kSum, {{"gamma", {ACL_FLOAT, {4}}}}, "gamma"},
    {kSum, {{"yOut", {ACL_FLOAT, {2, 4}}}}, "yOut"},
    {kSum, {{"rstdOut", {ACL_FLOAT16, {2, 1}}}}, "rstdOut"},
    {kSum, {{"xOut", {ACL_FLOAT, {2, 4}}}}, "xOut"},
    {kSum, {{"x1", {ACL_FLOAT16, {}}}}, "x1 has 0 dimensions"},
    {kSum, {{"x2", {ACL_FLOAT16, {4, 2}}}}, "x2", Kind::shape},
    {kSum, {{"gamma", {ACL_FLOAT16, {5}}}}, "gamma", Kind::shape},
    {kSum, {{"gamma", {ACL_FLOAT16, {2, 2}}}}, "gamma", Kind::shape},
    {kSum, {{"yOut", {ACL_FLOAT16, {4, 2}}}}, "yOut", Kind::shape},
    {kSum, {{"rstdOut", {ACL_FLOAT, {2}}}}, "rstdOut", Kind::shape},
    {kSum, {{"xOut", {ACL_FLOAT16, {4, 2}}}}, "xOut", Kind::shape},
    {kAlone, {{"x", {ACL_INT8, {2, 4}}}}, "x has dtype ACL_INT8"},
    {kAlone, {{"gamma", {ACL_BF16, {4}}}}, "gamma"},
    {kAlone, {{"rstdOut", {ACL_FLOAT16, {2, 1}}}}, "rstdOut"},
    {kAlone, {{"gamma", {ACL_FLOAT16, kNine}}}, "gamma"},
    {kAlone, {{"gamma", {ACL_FLOAT16, {1, 4}}}}, "gamma", Kind::shape},
    {kAlone, {{"yOut", {ACL_FLOAT16, {4, 2}}}}, "yOut", Kind::shape},
    {kAlone, {{"rstdOut", {ACL_FLOAT, {1, 1}}}}, "rstdOut", Kind::shape},
};

const char kNorm[] = "aclnnAddRmsNormQuant";
const Refusal kNormRows[] = {
    {kNorm, {{"x1", {ACL_INT8, {2, 4}}}}, "x1 has dtype ACL_INT8"},
    {kNorm, {{"x2", {ACL_FLOAT, {2, 4}}}}, "x2"},
    {kNorm, {{"gamma", {ACL_BF16, {4}}}}, "gamma"},
    {kNorm, {{"scales1", {ACL_BF16, {4}}}}, "scales1"},
    {kNorm, {{"scales2Optional", {ACL_INT32, {4}}}}, "scales2Optional"},
    {kNorm, {{"zeroPoints1Optional", {ACL_INT64, {4}}}}, "zeroPoints1Optional"},
    {kNorm, {{"zeroPoints2Optional", {ACL_BF16, {4}}}}, "zeroPoints2Optional"},
    {kNorm, {{"betaOptional", {ACL_FLOAT, {4}}}}, "betaOptional"},
    {kNorm, {{"xOut", {ACL_FLOAT, {2, 4}}}}, "xOut"},
    {"aclnnAddRmsNormQuantV2", {{"rmsNormOut", {ACL_FLOAT, {2, 4}}}}, "rmsNormOut"},
    {kNorm,
     {{"y1Out", {ACL_INT4, {2, 4}}}},
     "available: ACL_INT8, ACL_HIFLOAT8, ACL_FLOAT8_E5M2, ACL_FLOAT8_E4M3FN"},
    {kNorm, {{"y2Out", {ACL_HIFLOAT8, {2, 4}}}}, "y2Out"},
    {kNorm, {{"x1", {ACL_FLOAT16, {}}}}, "x1 has 0 dimensions"},
    {kNorm, {{"gamma", {ACL_FLOAT16, {}}}}, "gamma"},
    {kNorm, {{"scales1", {ACL_FLOAT, kNine}}}, "scales1"},
    {kNorm, {{"x2", {ACL_FLOAT16, {4, 2}}}}, "x2", Kind::shape},
    {kNorm, {{"gamma", {ACL_FLOAT16, {5}}}}, "gamma", Kind::shape},
    {kNorm, {{"scales1", {ACL_FLOAT, {5}}}}, "scales1", Kind::shape},
    {kNorm, {{"scales2Optional", {ACL_FLOAT, {5}}}}, "scales2Optional", Kind::shape},
    {kNorm, {{"zeroPoints1Optional", {ACL_INT32, {5}}}}, "zeroPoints1Optional", Kind::shape},
    {kNorm, {{"zeroPoints2Optional", {ACL_INT32, {5}}}}, "zeroPoints2Optional", Kind::shape},
    {kNorm, {{"betaOptional", {ACL_FLOAT16, {1}}}}, "betaOptional", Kind::shape},
    {kNorm, {{"y1Out", {ACL_INT8, {4, 2}}}}, "y1Out", Kind::shape},
    {kNorm, {{"y2Out", {ACL_INT8, {4, 2}}}}, "y2Out", Kind::shape},
    {kNorm, {{"xOut", {ACL_FLOAT16, {4, 2}}}}, "xOut", Kind::shape},
    {"aclnnAddRmsNormQuantV2", {{"rmsNormOut", {ACL_FLOAT16, {4, 2}}}}, "rmsNormOut"},
    // The dtypes and ranks of all tensors come before shapes.
    {kNorm, {{"x2", {ACL_FLOAT16, {3, 4}}}, {"y2Out", {ACL_FLOAT, {2, 4}}}}, "y2Out"},
    {kNorm, {{"x2", {ACL_FLOAT16, {3, 4}}}, {"xOut", {ACL_FLOAT, {2, 4}}}}, "xOut"},
    {kNorm, {{"y1Out", {ACL_INT8, kNine}}}, "y1Out"},
    {kNorm, {{"y2Out", {ACL_INT8, {}}}}, "y2Out"},
    {kNorm, {{"x2", {ACL_FLOAT16, kNine}}}, "x2"},
};

const char kQuant[] = "aclnnAscendQuant", kAnti[] = "aclnnAscendAntiQuant";
const Parameter kOneScale{"scale", {ACL_FLOAT, {1}}}, kNoOffset{"offset", kNull};
const Parameter kRound{"roundMode", "round"};
Refusal of_shapes(const Dims& x, aclDataType dtype, const Dims& y, const char* text) {
  return {kQuant, {kOneScale, kNoOffset, {"x", {ACL_FLOAT, x}}, {"y", {dtype, y}}}, text};
}
const Refusal kQuantRows[] = {
    {kQuant, {{"x", {ACL_INT16, {2, 3}}}}, "x has dtype ACL_INT16"},
    {kQuant, {{"x", {ACL_FLOAT16, {2, 3}}}}, "scale"},
    {kQuant, {{"scale", {ACL_INT16, {3}}}}, "scale"},
    {kQuant, {{"offset", {ACL_BF16, {3}}}}, "offset"},
    {kQuant, {{"y", {ACL_FLOAT, {2, 3}}}}, "ACL_FLOAT"},
    {kQuant, {{"dstType", ACL_INT32}}, "dstType is ACL_INT32"},
    {kQuant, {{"dstType", 1000}}, "dstType is 1000"},
    {kQuant, {{"x", {ACL_FLOAT, kNine}}}, "x has 9 dimensions"},
    {kQuant, {{"y", {ACL_INT8, {2, 5}}}}, "y has"},
    {kQuant, {{"y", {ACL_INT8, {6}}}}, "y has"},
    {kQuant, {{"scale", {ACL_FLOAT, {5}}}}, "scale"},
    {kQuant, {{"scale", {ACL_FLOAT, {1, 1, 3}}}}, "scale"},
    {kQuant, {{"scale", {ACL_FLOAT, {2, 1}}}}, "scale"},
    {kQuant, {{"offset", {ACL_FLOAT, {5}}}}, "offset"},
    {kQuant, {{"roundMode", nullptr}}, "roundMode is NULL."},
    {kQuant, {{"roundMode", "hybrid"}}, "roundMode is 'hybrid'"},
    of_shapes({2, 8}, ACL_INT32, {2, 8}, "y has shape"),
    of_shapes({2, 12}, ACL_INT32, {2, 1}, "x has shape"),
    of_shapes({2, 8}, ACL_INT4, {2, 4}, "y has shape"),
    of_shapes({2, 3}, ACL_INT4, {2, 3}, "y holds two elements"),
    of_shapes({}, ACL_INT4, {}, ""),
    of_shapes({}, ACL_INT32, {1}, ""),
    {kQuant,
     {kOneScale, kNoOffset, {"y", {ACL_INT4, {2, 8}, {}, {10, 1}}}, {"x", {ACL_FLOAT, {2, 8}}}},
     "contiguous"},
    {"aclnnAscendQuantV1",
     {kRound, {"y", {ACL_HIFLOAT8, {2, 3}}}},
     "available: ACL_INT8, ACL_INT4, ACL_INT32"},
    {"aclnnAscendQuantV3", {{"y", {ACL_HIFLOAT8, {2, 3}}}}, "roundMode is 'floor"},
    {"aclnnAscendQuantV3", {{"axis", 2}}, "axis is 2"},
    {"aclnnAscendQuantV3", {{"axis", 0}}, "scale"},
    {"aclnnAscendQuantV3", {{"scale", {ACL_FLOAT, {}}}}, "scale"},
    {"aclnnAscendQuantV3", {{"offset", {ACL_FLOAT, {1, 3}}}}, "offset"},
    {"aclnnAscendQuantV3",
     {kOneScale, kNoOffset, {"x", {ACL_FLOAT, {}}}, {"y", {ACL_INT8, {}}}},
     "x has 0 dimensions, expected 1 to 8"},
    {"aclnnAscendQuantV3",
     {kOneScale,
      kNoOffset,
      {"axis", 0},
      {"x", {ACL_FLOAT, {2, 2, 3}}},
      {"y", {ACL_INT8, {2, 2, 3}}}},
     "axis is 0"},
};

Refusal of_codes(const Given& x, const Dims& y, const char* text) {
  return {kAnti, {kOneScale, kNoOffset, {"x", x}, {"y", {ACL_FLOAT16, y}}}, text};
}
const Refusal kAntiRows[] = {
    {kAnti, {{"x", {ACL_FLOAT16, {2, 3}}}}, "x has dtype ACL_FLOAT16"},
    {kAnti, {{"x", {ACL_UINT8, {2, 3}}}}, "x has dtype ACL_UINT8"},
    {kAnti, {{"scale", {ACL_FLOAT16, {3}}}}, "scale"},
    {kAnti, {{"offset", {ACL_BF16, {3}}}}, "offset"},
    {kAnti, {{"y", {ACL_FLOAT, {2, 3}}}}, "the dtype of y is ACL_FLOAT"},
    {kAnti, {{"dstType", ACL_BF16}}, "dstType is ACL_BF16, but the output has dtype ACL_FLOAT16"},
    {kAnti, {{"x", {ACL_INT8, kNine}}}, "x has 9 dimensions"},
    {kAnti, {{"y", {ACL_FLOAT16, {3, 2}}}}, "y has"},
    {kAnti, {{"scale", {ACL_FLOAT, {5}}}}, "scale"},
    {kAnti, {{"scale", {ACL_FLOAT, {1, 1, 3}}}}, "scale"},
    {kAnti, {{"offset", {ACL_FLOAT, {1, 3}}}}, "offset"},
    {kAnti, {{"scale", {ACL_FLOAT, {2}}}, kNoOffset, {"x", {ACL_INT8, {3, 0}}}}, "scale"},
    of_codes({ACL_INT8, {}}, {}, "x has 0 dimensions"),
    of_codes({ACL_HIFLOAT8, {}}, {}, "x has 0 dimensions"),
    of_codes({ACL_INT32, {}}, {2, 3}, "y has"),
    of_codes({ACL_INT32, {2, 8}}, {2, 8}, "y has shape"),
    of_codes({ACL_INT4, {}}, {2, 8}, "x holds two elements"),
    of_codes({ACL_INT4, {2, 7}}, {2, 7}, "x holds two elements"),
    of_codes({ACL_INT4, {2, 8}, {}, {10, 1}}, {2, 8}, "contiguous"),
    of_codes({ACL_INT4, {2, 8}, {}, {8, 1}, 1}, {2, 8}, "contiguous"),
    {kAnti, {{"sqrtMode", true}, {"x", {ACL_HIFLOAT8, {2, 3}}}}, "sqrtMode"},
    {kAnti,
     {{"scale", {ACL_BF16, {3}}}, kNoOffset, {"x", {ACL_FLOAT8_E5M2, {2, 3}}}},
     "scale has dtype ACL_BF16"},
};

const char kGroup[] = "aclnnGroupQuant", kDequant[] = "aclnnDequantBias";
const Refusal kGroupRows[] = {
    {kGroup, {{"scale", {ACL_INT32, {2, 4}}}}, "scale has dtype ACL_INT32"},
    {kGroup, {{"groupIndex", {ACL_INT16, {2}}}}, "groupIndex has dtype ACL_INT16"},
    {kGroup, {{"offsetOptional", {ACL_BF16, {1}}}}, "the dtype of scale (ACL_FLOAT)"},
    {kGroup, {{"y", {ACL_UINT8, {2, 4}}}}, "available: ACL_INT8, ACL_INT4, ACL_INT32"},
    {kGroup, {{"dstType", ACL_INT4}}, "dstType is ACL_INT4, but the output has dtype ACL_INT8"},
    {kGroup, {{"scale", {ACL_FLOAT, {1, 4}}}}, "scale has shape (1, 4), expected (2, 4)"},
    {kGroup, {{"offsetOptional", {ACL_FLOAT, {2}}}}, "offsetOptional has shape (2,)"},
    {kGroup, {{"y", {ACL_INT8, {4, 2}}}}, "y has shape"},
    {kGroup, {{"y", {ACL_INT32, {2, 1}}}}, "x has shape (2, 4)"},
    {kDequant, {{"x", {ACL_INT8, {2, 3}}}}, "x has dtype ACL_INT8"},
    {kDequant, {{"weightScale", {ACL_FLOAT16, {3}}}}, "weightScale has dtype ACL_FLOAT16"},
    {kDequant, {{"activateScaleOptional", {ACL_BF16, {2}}}}, "activateScaleOptional has dtype"},
    {kDequant, {{"biasOptional", {ACL_INT8, {3}}}}, "biasOptional has dtype ACL_INT8"},
    {kDequant, {{"out", {ACL_FLOAT, {2, 3}}}}, "the dtype of out is ACL_FLOAT"},
    {kDequant, {{"outputDtype", ACL_BF16}}, "outputDtype is ACL_BF16, but the output has dtype"},
    {kDequant, {{"weightScale", {ACL_FLOAT, {1, 3}}}}, "weightScale has 2 dimensions"},
    {kDequant, {{"weightScale", {ACL_FLOAT, {2}}}}, "weightScale has shape (2,)", Kind::shape},
    {kDequant,
     {{"activateScaleOptional", {ACL_FLOAT, {3}}}},
     "activateScaleOptional has shape (3,)",
     Kind::shape},
    {kDequant, {{"out", {ACL_FLOAT16, {3, 2}}}}, "out has shape (3, 2)", Kind::shape},
};

const char kOfTensor[] = "aclnnFakeQuantPerTensorAffineCachemask";
const char kOfChannels[] = "aclnnFakeQuantPerChannelAffineCachemask";
std::vector<Refusal> fake_quant_refusals() {
  std::vector<Refusal> rows;
  for (const char* const name : {kOfTensor, kOfChannels})
    for (Refusal row : {
             Refusal{nullptr, {{"self", {ACL_INT8, {2, 3}}}}, "self has dtype ACL_INT8"},
             Refusal{nullptr, {{"out", {ACL_DOUBLE, {2, 3}}}}, "out"},
             Refusal{nullptr, {{"mask", {ACL_UINT8, {2, 3}}}}, "mask"},
             Refusal{nullptr, {{"scale", {ACL_INT32, {1}}}}, "scale has dtype ACL_INT32"},
             Refusal{nullptr, {{"zeroPoint", {ACL_INT64, {1}}}}, "zeroPoint has dtype ACL_INT64"},
             Refusal{nullptr, {{"scale", {ACL_FLOAT, {7}}}}, "scale"},
             Refusal{nullptr, {{"zeroPoint", {ACL_INT32, {7}}}}, "zeroPoint"},
             Refusal{nullptr, {{"out", {ACL_FLOAT, {5, 2}}}}, "out"},
             Refusal{nullptr, {{"mask", {ACL_BOOL, {5, 2}}}}, "mask"},
             Refusal{nullptr, {{"quantMin", 10}, {"quantMax", -10}}, "quantMin"},
             Refusal{nullptr, {{"quantMin", -(1 << 24) - 1}}, "quantMin"},
             Refusal{nullptr, {{"quantMax", (1 << 24) + 1}}, "quantMax"},
         }) {
      row.name = name;
      rows.push_back(row);
    }
  return rows;
}
const Refusal kOfChannelsRows[] = {
    {kOfChannels, {{"axis", -3}}, "axis is -3"},
    {kOfChannels, {{"axis", 0}}, "scale"},
    {kOfChannels, {{"scale", {ACL_FLOAT, {1, 3}}}}, "scale"},
    {kOfChannels, {{"scale", {ACL_FLOAT, {}}}}, "scale"},
    {kOfChannels, {{"zeroPoint", {ACL_INT32, {3, 1}}}}, "zeroPoint"},
};

const char kTrans[] = "aclnnTransQuantParam", kPack[] = "aclnnConvertWeightToINT4Pack";
const Refusal kWordRows[] = {
    {kTrans, {{"scale", {ACL_FLOAT16, {3}}}}, "scale has dtype ACL_FLOAT16, expected ACL_FLOAT."},
    {kTrans, {{"offset", {ACL_INT32, {3}}}}, "offset has dtype ACL_INT32"},
    {kTrans,
     {{"out", {ACL_INT32, {3}}}},
     "out has dtype ACL_INT32, available: ACL_INT64, ACL_UINT64"},
    {kTrans, {{"scale", {ACL_FLOAT, {1, 1, 3}}}}, "scale has 3 dimensions"},
    {kTrans, {{"offset", {ACL_FLOAT, {}}}}, "offset has 0 dimensions"},
    {kTrans, {{"offset", {ACL_FLOAT, {2}}}}, "offset has shape (2,)"},
    {kTrans, {{"out", {ACL_INT64, {1, 3}}}}, "out has shape (1, 3), expected (3,)."},
    {kTrans, {{"roundMode", 2}}, "roundMode is 2, expected 0 or 1."},
    {kPack, {{"weight", {ACL_INT8, {2, 8}}}}, "weight has dtype ACL_INT8"},
    {kPack, {{"weight", {ACL_INT32, {8}}}}, "weight has 1 dimension"},
    {kPack, {{"weight", {ACL_INT32, {2, 12}}}}, "weight has shape (2, 12)"},
    {kPack, {{"weight", {ACL_INT32, {0, 8}}}}, "weight has shape (0, 8)"},
    {kPack, {{"weightInt4Pack", {ACL_FLOAT, {2, 1}}}}, "has dtype ACL_FLOAT, expected ACL_INT32."},
    {kPack, {{"weightInt4Pack", {ACL_FLOAT4_E2M1, {2, 8}}}}, "ACL_FLOAT4_E2M1, expected ACL_INT4."},
    {kPack, {{"weightInt4Pack", {ACL_INT4, {2, 2}}}}, "weightInt4Pack has shape (2, 2), expected"},
    {kPack, {{"weightInt4Pack", {ACL_INT32, {2, 8}}}}, "weightInt4Pack has shape (2, 8), expected"},
};

TEST_F(Refusals, OfDynamicQuant) { expect_refusals(kDynamicQuantRows); }
TEST_F(Refusals, OfDynamicBlockQuant) { expect_refusals(kBlockRows); }
TEST_F(Refusals, OfMxQuant) { expect_refusals(kMxRows); }
TEST_F(Refusals, OfAddRmsNorm) { expect_refusals(kPlainNormRows); }
TEST_F(Refusals, OfAddRmsNormQuant) { expect_refusals(kNormRows); }
TEST_F(Refusals, OfAscendQuant) { expect_refusals(kQuantRows); }
TEST_F(Refusals, OfAscendAntiQuant) { expect_refusals(kAntiRows); }
TEST_F(Refusals, OfGroupQuantAndDequantBias) { expect_refusals(kGroupRows); }
TEST_F(Refusals, OfWords) { expect_refusals(kWordRows); }
TEST_F(Refusals, OfFakeQuant) {
  const std::vector<Refusal> rows = fake_quant_refusals();
  expect_refusals(rows.data(), rows.size());
  expect_refusals(kOfChannelsRows);
}

}  // namespace
}  // namespace npu_quant::testing
