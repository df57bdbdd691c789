// PyTorch's quantization schemes (c10/core/QScheme.h), its names and numbers.
#pragma once

#include <cstdint>

namespace npu_quant {

enum class QScheme : uint8_t {
  PER_TENSOR_AFFINE = 0,
  PER_CHANNEL_AFFINE = 1,
  PER_TENSOR_SYMMETRIC = 2,
  PER_CHANNEL_SYMMETRIC = 3,
  PER_CHANNEL_AFFINE_FLOAT_QPARAMS = 4,
  COMPILE_TIME_NUM_QSCHEMES = 5,
};

inline constexpr QScheme kPerTensorAffine = QScheme::PER_TENSOR_AFFINE;
inline constexpr QScheme kPerChannelAffine = QScheme::PER_CHANNEL_AFFINE;
inline constexpr QScheme kPerTensorSymmetric = QScheme::PER_TENSOR_SYMMETRIC;
inline constexpr QScheme kPerChannelSymmetric = QScheme::PER_CHANNEL_SYMMETRIC;
inline constexpr QScheme kPerChannelAffineFloatQParams = QScheme::PER_CHANNEL_AFFINE_FLOAT_QPARAMS;

// As Python writes it after "torch.".
inline const char* toString(QScheme qscheme) {
  switch (qscheme) {
    case kPerTensorAffine: return "per_tensor_affine";
    case kPerChannelAffine: return "per_channel_affine";
    case kPerTensorSymmetric: return "per_tensor_symmetric";
    case kPerChannelSymmetric: return "per_channel_symmetric";
    case kPerChannelAffineFloatQParams: return "per_channel_affine_float_qparams";
    case QScheme::COMPILE_TIME_NUM_QSCHEMES: break;
  }
  return "unknown";
}

}  // namespace npu_quant
