// The operators of the C API, called with whatever bytes say.
#pragma once

#include <cstddef>
#include <cstdint>

namespace npu_quant::fuzzing {

// Whether the call was taken. Ends the process where something does not hold that has to (call.h).
bool call_an_operator(const uint8_t* data, size_t size);

}  // namespace npu_quant::fuzzing
