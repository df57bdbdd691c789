#!/bin/sh
# Builds the operators' fuzzer and lets it run, with libFuzzer's options as arguments. It needs clang, which is installed
# where there is apt. NPU_QUANT_FUZZ_TARGETS="baseline;avx2;avx512" compares them too, as the GoogleTests do with random
# bytes; each takes some two minutes more to compile.
set -eu

# Whether clang++ has libFuzzer.
has_fuzzer() {
  printf 'extern "C" int LLVMFuzzerTestOneInput(const unsigned char *, unsigned long) { return 0; }' |
    clang++ -fsanitize=fuzzer -x c++ - -o /dev/null 2>/dev/null
}

if ! has_fuzzer; then
  { apt-get -qq update && apt-get -qq install -y --no-install-recommends clang libclang-rt-dev; } </dev/null >/dev/null 2>&1 ||
    true
  has_fuzzer || { echo "No clang++ with libFuzzer, and no apt to install it: the operators are not fuzzed."; exit 0; }
fi
cmake --preset fuzz -DNPU_QUANT_TARGETS="${NPU_QUANT_FUZZ_TARGETS:-baseline}"
cmake --build --preset fuzz
mkdir -p build/fuzz/corpus build/fuzz/found
build/fuzz/tests/fuzz/npu_quant_fuzz -max_len=512 -len_control=0 -print_funcs=0 -timeout=20 \
  -artifact_prefix=build/fuzz/found/ "$@" build/fuzz/corpus
