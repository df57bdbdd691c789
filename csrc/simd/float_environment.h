// The IEEE default for the time of a kernel: a library that a process loads may have switched
// subnormals off or changed the rounding, and the promise is the same bits everywhere
// (docs/numerics.md 1).
#pragma once

#include <cstdint>

#if defined(__SSE2__)
#include <xmmintrin.h>
#endif

namespace npu_quant {
namespace {

class DefaultFloatEnvironment {
 public:
#if defined(__SSE2__)
  DefaultFloatEnvironment() : saved_(_mm_getcsr()) {
    if ((saved_ & kControl) != kDefault) _mm_setcsr((saved_ & ~kControl) | kDefault);
  }
  ~DefaultFloatEnvironment() {
    if ((saved_ & kControl) != kDefault) _mm_setcsr(saved_);
  }

 private:
  static constexpr unsigned kControl = 0xffc0;  // FTZ, rounding, exception masks, DAZ
  static constexpr unsigned kDefault = 0x1f80;  // to nearest even, subnormals kept, no traps
  unsigned saved_;
#elif defined(__aarch64__)
  DefaultFloatEnvironment() {
    __asm__ volatile("mrs %0, fpcr" : "=r"(saved_));
    if (saved_ != 0) __asm__ volatile("msr fpcr, %0" ::"r"(uint64_t{0}));
  }
  ~DefaultFloatEnvironment() {
    if (saved_ != 0) __asm__ volatile("msr fpcr, %0" ::"r"(saved_));
  }

 private:
  uint64_t saved_ = 0;
#endif
 public:
  DefaultFloatEnvironment(const DefaultFloatEnvironment&) = delete;
  DefaultFloatEnvironment& operator=(const DefaultFloatEnvironment&) = delete;
};

}  // namespace
}  // namespace npu_quant
