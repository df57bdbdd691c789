// The named arithmetics: docs/numerics.md 1. A profile is a row here, and what ops/rules.cpp makes
// of it.
#pragma once

#include <string_view>
#include <vector>

namespace npu_quant {

enum class Numerics { reference };

inline constexpr const char* kNumericsNames[] = {"reference"};

std::vector<const char*> list_numerics();
const char* name_of(Numerics numerics);
// Returns false where no profile has the name.
bool find_numerics(std::string_view name, Numerics& numerics);

// For tests: one more profile, which no operator has, until this is called with null. Not
// synchronised: not while anything computes. The name has to stay where it is.
void set_fictitious_numerics(const char* name);

}  // namespace npu_quant
