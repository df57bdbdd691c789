#!/bin/sh
# Compiles the library for aarch64, warnings as errors, where the cross compiler is installed (Debian:
# g++-aarch64-linux-gnu): the baseline target is all there is on that architecture.
set -eu
compiler=aarch64-linux-gnu-g++
command -v $compiler >/dev/null 2>&1 || { echo "aarch64: no $compiler, skipped"; exit 0; }
options="-std=c++20 -O2 -ffp-contract=off -Wall -Wextra -Wconversion -Werror -Icsrc -Icsrc/aclnn/include
  -DNPU_QUANT_HAS_AVX2=0 -DNPU_QUANT_HAS_AVX512=0 -fsyntax-only"
# What is no kernel as one file, as CMake compiles it: nearly all of its time is headers.
ls csrc/core/*.cpp csrc/simd/*.cpp csrc/ops/*.cpp csrc/ops/*/*.cpp csrc/quantizer/*.cpp | sed 's,csrc/\(.*\),#include "\1",' |
  $compiler $options -x c++ -
ls csrc/kernels/*/*.cpp csrc/aclnn/src/*.cpp | xargs -P "$(nproc)" -n 1 $compiler $options
echo "aarch64: compiles"
