#!/bin/sh
# Python's tests of layouts, threads, products and of what changes meanwhile, on the module that the preset asan builds:
# they reach what the GoogleTests cannot, arguments that are Python's. `sh tools/sanitized_tests.sh PYTHON BUILD [TEST...]`
# takes pytest's arguments instead of the usual tests.
set -eu

python=$1
build=$2
shift 2
[ $# -gt 0 ] || set -- tests/test_changed_meanwhile.py tests/test_layouts.py tests/test_threads.py \
  -k "meanwhile or matmul or moe or dynamic_quant or dynamic_mx_quant or quant_scatter or dequant_swiglu or rms_norm_quant"

# The package as it is here, with that module in the place of its own.
packages=$PWD/$build/python
rm -rf "$packages"
mkdir -p "$packages"
cp -r python/. "$packages"
rm -f "$packages"/npu_quant/_core*.so
cp "$build"/_core*.so "$packages/npu_quant"

# A report ends its process, which may be a test's child: whatever becomes of that, the report is in a file.
reports=$PWD/$build/reports
rm -rf "$reports"
mkdir -p "$reports"
options="log_path=$reports/report exitcode=99 halt_on_error=1"
status=0
env LD_PRELOAD="$(${CXX:-c++} -print-file-name=libasan.so)" ASAN_OPTIONS="$options detect_leaks=0" \
  UBSAN_OPTIONS="$options print_stacktrace=1" PYTHONMALLOC=malloc PYTHONPATH="$packages" \
  "$python" -m pytest -q -n 2 --dist worksteal -p no:cacheprovider "$@" || status=$?
for report in "$reports"/*; do
  [ ! -e "$report" ] || { cat "$report"; status=1; }
done
exit $status
