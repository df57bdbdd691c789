// For a thread that spins until another one has done something.
#pragma once

namespace npu_quant {

// Leaves the core's resources to its other hardware thread for a moment; each architecture has its
// own way (simd/pause.cpp).
void pause_core();

}  // namespace npu_quant
