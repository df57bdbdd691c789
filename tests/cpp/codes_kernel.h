// Codes of values and values of codes, as the kernels compute them: what test_codes.cpp looks at.
// One definition of run() per target.
#pragma once

#include <cstdint>

#include "core/dtype.h"
#include "core/target.h"

namespace npu_quant {

struct CodesKernel {
  struct Args {
    Format format;
    bool ordinary;  // by of_ordinary()
    const float* from;
    uint8_t* to;  // codes, whole bytes
    int64_t n;
  };
  template <Target target>
  static void run(const Args& args);
};

struct ValuesKernel {
  struct Args {
    Format format;
    const uint8_t* from;  // 256 codes
    float* to;
  };
  template <Target target>
  static void run(const Args& args);
};

// Codes of 4 bits, as bytes that hold two, and back.
struct NibblesKernel {
  struct Args {
    const int8_t* from;  // 256
    int8_t* packed;      // 128
    int8_t* unpacked;    // 256
  };
  template <Target target>
  static void run(const Args& args);
};

}  // namespace npu_quant
