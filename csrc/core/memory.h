// Memory for large outputs. Faulting fresh pages in costs more than a quantization kernel: buffers
// are backed by huge pages where the system allows, and the last ones freed, up to 256 MiB, are
// kept for the next call.
#pragma once

#include <cstddef>

namespace npu_quant {

// Outputs of at least this size are worth it.
inline constexpr std::size_t kLargeOutput = 4 << 20;

// Makes the store of buffers: to be called before any fork, once, from one thread.
void initialise_memory();

// 2 MiB-aligned, uninitialised; null when memory is out.
void* allocate_large(std::size_t bytes);
void free_large(void* data) noexcept;

}  // namespace npu_quant
