#include "quantizer/per_tensor_affine_quantizer.h"

#include <new>

namespace npu_quant {

PerTensorAffineQuantizer::PerTensorAffineQuantizer(ScalarType scalar_type, double scale,
                                                   int64_t zero_point)
    : Quantizer(scalar_type),
      scale_(scale),
      zero_point_(zero_point),
      scale_f32_(to_float32(scale)),
      zero_point_i32_(static_cast<int32_t>(zero_point)) {}

bool PerTensorAffineQuantizer::equalTo(const Quantizer& other) const {
  const auto* that = dynamic_cast<const PerTensorAffineQuantizer*>(&other);
  return that != nullptr && scalar_type() == that->scalar_type() && scale_ == that->scale_ &&
         zero_point_ == that->zero_point_;
}

AffineParameters PerTensorAffineQuantizer::parameters() const {
  return {storage_of(scalar_type()), contiguous_view(&scale_f32_, DType::float32, 1),
          contiguous_view(&zero_point_i32_, DType::int32, 1)};
}

QuantizeVal PerTensorAffineQuantizer::quantize_op() const {
  return {"PerTensorAffineQuantizer.quantize", "x", parameters()};
}

DequantizeVal PerTensorAffineQuantizer::dequantize_op() const {
  return {"PerTensorAffineQuantizer.dequantize", "q", parameters()};
}

Status make_per_tensor_affine_quantizer(double scale, int64_t zero_point, ScalarType scalar_type,
                                        std::unique_ptr<PerTensorAffineQuantizer>& quantizer,
                                        const char* name) {
  NPU_QUANT_RETURN_IF_ERROR(check_code(name, "zero_point", zero_point, scalar_type));
  quantizer.reset(new (std::nothrow) PerTensorAffineQuantizer(scalar_type, scale, zero_point));
  return quantizer ? Status{} : out_of_memory(name);
}

}  // namespace npu_quant
