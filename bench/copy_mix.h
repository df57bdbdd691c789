// The yardstick: a copy that reads and writes as many bytes per element as an operator, the memory
// traffic of a quantization and nothing else.
#pragma once

#include <cstdint>

#include "core/target.h"

namespace npu_quant {

// How the copy moves its bytes. Which way is fastest depends on the size, the alignment and the
// CPU: the harness tries them all and compares with the best.
struct CopyForm {
  bool streams;     // stores that bypass the caches
  bool prefetches;  // asks for the inputs some KiB ahead
  bool halves;      // load_halves(), as the kernels do, instead of whole vectors
};

// Bytes per element of each stream: the inputs are alike, of the outputs the wider comes first.
struct ByteMix {
  int inputs;     // 1 or 2
  int in;         // bytes of each
  int out;        // bytes of the output
  int other_out;  // of another one, 0 where there is none
};

// The mixes of the operators.
constexpr ByteMix kByteMixes[] = {
    {1, 4, 1, 0}, {1, 2, 1, 0},  // codes of fp32, of 16 bits
    {1, 1, 4, 0}, {1, 1, 2, 0},  // and back; fp32 in words of 64 bits
    {1, 4, 2, 0},                // sums of 32 bits to values of 16
    {1, 8, 1, 0},                // codes that have 32 bits each, in eighths
    {1, 4, 4, 1}, {1, 2, 2, 1},  // values and a mask
    {2, 4, 4, 1}, {2, 2, 2, 1},  // a sum and its codes
    {1, 1, 1, 0}, {2, 1, 1, 1},  // a norm, a sum and its norm, of any type
};
constexpr int kByteMixCount = sizeof(kByteMixes) / sizeof(ByteMix);

struct CopyMixKernel {
  struct Args {
    const char* x[2];
    char* y[2];
    int64_t n;  // elements
    int mix;    // of kByteMixes
    CopyForm form;
  };
  template <Target target>
  static void run(const Args& args);
};

}  // namespace npu_quant
