// How a number that lies between two codes becomes one of them.
#pragma once

namespace npu_quant {

// To the nearer, of two as near the even one or the one away from zero; or in a direction.
enum class Rounding { to_even, away_from_zero, floor, ceil, trunc };

}  // namespace npu_quant
