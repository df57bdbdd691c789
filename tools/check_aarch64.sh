#!/bin/sh
# Builds the library and the C API for aarch64, warnings as errors, and runs the GoogleTests there with qemu-user: they
# compare NEON, the one target of that architecture, with references. The proofs try a sample. It needs what Debian has
# in g++-aarch64-linux-gnu, qemu-user and googletest; where there is the compiler alone, it does nothing but compile.
set -eu
cd "$(dirname "$0")/.."
PATH="$PWD/.venv/bin:$PATH"
compiler=aarch64-linux-gnu-g++
has() { command -v "$1" >/dev/null 2>&1; }
has $compiler || { echo "aarch64: no $compiler, skipped"; exit 0; }

if ! { has qemu-aarch64 && has cmake && has ninja && [ -f /usr/src/googletest/CMakeLists.txt ]; }; then
  options="-std=c++20 -O2 -ffp-contract=off -Wall -Wextra -Wconversion -Werror -Icsrc -Icsrc/aclnn/include
    -DNPU_QUANT_HAS_AVX2=0 -DNPU_QUANT_HAS_AVX512=0 -fsyntax-only"
  # What is no kernel as one file, as CMake compiles it: nearly all of its time is headers.
  ls csrc/core/*.cpp csrc/simd/*.cpp csrc/ops/*.cpp csrc/ops/*/*.cpp csrc/quantizer/*.cpp | sed 's,csrc/\(.*\),#include "\1",' |
    $compiler $options -x c++ -
  ls csrc/kernels/*/*.cpp csrc/aclnn/src/*.cpp | xargs -P "$(nproc)" -n 1 $compiler $options
  echo "aarch64: compiles; nothing was run, as that takes qemu-aarch64, cmake, ninja and /usr/src/googletest"
  exit 0
fi

mkdir -p build
cmake --preset aarch64 >build/aarch64.log 2>&1 || { cat build/aarch64.log; exit 1; }
cmake --build --preset aarch64
# Two tests begin a thread in a forked child, which qemu 7.2 does not survive (its own assertion, plugins/core.c:221).
left_out=Parallel.WorksInAForkedChild:StopWhen.WhoIsAskedMayFork
# These take half of the time: random arguments for what is no kernel, and proofs of formulas that AVX2 computes by the same
# operations.
left_out=$left_out:Fuzz.RandomArguments:Exp.EveryFloatIsCorrectlyRounded:ExactQuotient.Float32AtEveryExponent
for tests in npu_quant_tests aclnn/npu_quant_aclnn_tests; do
  env -u NPU_QUANT_EXHAUSTIVE qemu-aarch64 -L /usr/aarch64-linux-gnu build/aarch64/tests/cpp/$tests --gtest_brief=1 \
    --gtest_filter="-$left_out" >build/aarch64/tests.log 2>&1 || { cat build/aarch64/tests.log; exit 1; }
  grep '^\[  PASSED' build/aarch64/tests.log
done
echo "aarch64: compiles, and the GoogleTests pass under qemu"
