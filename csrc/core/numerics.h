// The named arithmetics: docs/numerics.md 1. A profile is a row here and a struct in
// kernels/arithmetic.h.
#pragma once

#include <cstring>

namespace npu_quant {

enum class Numerics { reference };

inline constexpr const char* kNumericsNames[] = {"reference"};

// Returns false where no profile has the name.
inline bool find_numerics(const char* name, Numerics& numerics) {
  int i = 0;
  for (const char* known : kNumericsNames) {
    if (std::strcmp(known, name) == 0) return numerics = static_cast<Numerics>(i), true;
    ++i;
  }
  return false;
}

}  // namespace npu_quant
