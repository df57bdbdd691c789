// The named arithmetics: docs/numerics.md 1 and 4. A profile is a row of names here, and what
// ops/contract/profiles.cpp makes of it.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace npu_quant {

enum class Profile { reference, ascend910b, ascend950 };

// A profile and its parameters, which stand for what a device's tiling finds out at run time. Of
// those that are words, 0 is "auto", and others count the words after it.
struct Numerics {
  Profile profile = Profile::reference;
  int64_t vector_cores = 0;
  int64_t ub_size = 0;     // bytes of the buffer
  int64_t scale_form = 0;  // of ascend910b: S1, S2
  // Of ascend910b: normal, split_d, single_n; of ascend950: full, normal.
  int64_t norm_template = 0;
};

std::vector<const char*> list_numerics();
const char* name_of(Profile profile);

// NAME or NAME:KEY=VALUE[,KEY=VALUE...]. Where it is no such text, returns false and says what is
// available.
bool find_numerics(std::string_view text, Numerics& numerics, std::string& available);

}  // namespace npu_quant
