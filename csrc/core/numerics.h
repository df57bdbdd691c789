// The named arithmetics: docs/numerics.md 1. A profile is a row here and a struct in
// kernels/arithmetic.h.
#pragma once

#include <string_view>

namespace npu_quant {

enum class Numerics { reference };

inline constexpr const char* kNumericsNames[] = {"reference"};

// Returns false where no profile has the name.
inline bool find_numerics(std::string_view name, Numerics& numerics) {
  int i = 0;
  for (const char* known : kNumericsNames) {
    if (name == known) return numerics = static_cast<Numerics>(i), true;
    ++i;
  }
  return false;
}

}  // namespace npu_quant
