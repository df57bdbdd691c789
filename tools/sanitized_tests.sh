#!/bin/sh
# Python's tests of layouts, threads, products and of what changes meanwhile, on the module that the preset asan builds:
# they reach what the GoogleTests cannot, arguments that are Python's. `sh tools/sanitized_tests.sh PYTHON BUILD [TEST...]`
# takes pytest's arguments instead of the usual tests.
set -eu

python=$1
build=$2
shift 2
# Layouts are those of one dtype: bfloat16 is read by the same loops. What is about large results says nothing more here.
[ $# -gt 0 ] || set -- tests/test_changed_meanwhile.py tests/test_layouts.py tests/test_threads.py \
  tests/test_grouped_matmul.py tests/test_quant_matmul.py tests/test_moe_token_permute.py \
  -k "(meanwhile or matmul or moe or dynamic_quant or mx_quant or scatter or dequant) and not (large_results or bfloat16 or rms_norm)"

# The package as it is here, with that module in the place of its own.
packages=$PWD/$build/python
rm -rf "$packages"
mkdir -p "$packages"
cp -r python/. "$packages"
rm -rf "$packages"/npu_quant/_core*.so "$packages"/npu_quant/aclnn
cp "$build"/_core*.so "$packages/npu_quant"
# Tests ask for the C API's folder when they are imported: that of the installed package will do.
cp -r "$("$python" -c 'import npu_quant; print(*npu_quant.__path__)')/aclnn" "$packages/npu_quant"

# A report ends its process, which may be a test's child: whatever becomes of that, the report is in a file.
reports=$PWD/$build/reports
rm -rf "$reports"
mkdir -p "$reports"
options="log_path=$reports/report exitcode=99 halt_on_error=1"
status=0
# Without libstdc++ before it, the first exception would end the process: it is looked for when Python starts.
library() { "${CXX:-c++}" -print-file-name="$1"; }
env LD_PRELOAD="$(library libasan.so) $(library libstdc++.so)" ASAN_OPTIONS="$options detect_leaks=0" \
  UBSAN_OPTIONS="$options print_stacktrace=1" PYTHONMALLOC=malloc PYTHONPATH="$packages" \
  "$python" -m pytest -q -n 2 --dist worksteal -p no:cacheprovider "$@" || status=$?
for report in "$reports"/*; do
  [ ! -e "$report" ] || { cat "$report"; status=1; }
done
exit $status
