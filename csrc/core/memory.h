// Memory for large outputs. Faulting fresh pages in costs more than a quantization kernel: buffers
// are backed by huge pages where the system allows, and the last ones freed are kept for the next
// call.
#pragma once

#include <cstddef>

namespace npu_quant {

// Outputs of at least this size are worth it.
inline constexpr std::size_t kLargeOutput = 1 << 20;

// 2 MiB-aligned, uninitialised; null when memory is out.
void* allocate_large(std::size_t bytes);
void free_large(void* data) noexcept;

}  // namespace npu_quant
