#include "core/format.h"

namespace npu_quant {

const char* name_of(Format format) {
  const FormatRow* const row = find_row(format);
  return row != nullptr ? row->name : "other";
}

const char* name_of(DType dtype) { return name_of(format_of(dtype)); }

}  // namespace npu_quant
