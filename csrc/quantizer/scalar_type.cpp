#include "quantizer/scalar_type.h"

#include <limits>

namespace npu_quant {
namespace {

struct Row {
  ScalarType type;
  const char* name;
  DType storage;
  int64_t least, greatest;
};

template <class T>
constexpr Row row(ScalarType type, const char* name, DType storage) {
  using Limits = std::numeric_limits<typename T::underlying>;
  return {type, name, storage, Limits::min(), Limits::max()};
}

constexpr Row kRows[] = {
    row<qint8>(kQInt8, "qint8", DType::int8),
    row<quint8>(kQUInt8, "quint8", DType::uint8),
    row<qint32>(kQInt32, "qint32", DType::int32),
};

const Row& row_of(ScalarType type) {
  return kRows[static_cast<int>(type) - static_cast<int>(kQInt8)];
}

Status code_fault(const char* op, const char* argument, const char* verb, int64_t code,
                  const Row& row) {
  return fault(op, Fault::attribute, {Argument(argument)}, {verb, code},
               {"expected ", row.least, " to ", row.greatest, " (", row.name, ")"});
}

bool holds(const Row& row, int64_t code) { return code >= row.least && code <= row.greatest; }

}  // namespace

const char* toString(ScalarType type) { return row_of(type).name; }

DType storage_of(ScalarType type) { return row_of(type).storage; }

bool find_scalar_type(DType storage, ScalarType& type) {
  for (const Row& row : kRows)
    if (row.storage == storage) return type = row.type, true;
  return false;
}

Status check_scalar_type(const char* op, const DTypeRequest& request, ScalarType& type) {
  if (find_scalar_type(plain_dtype(request.format), type)) return {};
  return wrong_attribute(op, "scalar_type", request.came(),
                         "available: qint8, quint8, qint32 (also as torch.qint8, its code 12, 13, "
                         "14, or the storage type int8, uint8, int32)");
}

Status check_code(const char* op, const char* argument, int64_t code, ScalarType type) {
  if (holds(row_of(type), code)) return {};
  return code_fault(op, argument, "is ", code, row_of(type));
}

Status check_zero_points(const char* op, const std::vector<int64_t>& zero_points, ScalarType type) {
  for (const int64_t zero_point : zero_points)
    if (!holds(row_of(type), zero_point))
      return code_fault(op, "zero_points", "holds ", zero_point, row_of(type));
  return {};
}

}  // namespace npu_quant
