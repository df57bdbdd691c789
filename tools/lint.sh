#!/bin/sh
# Every check that runs no test. The argument is the Python of the environment that has them.
set -eu
python=$1
bin=$(dirname "$python")

echo "clang-format"; find csrc tests bench examples -name '*.cpp' -o -name '*.h' | xargs -d '\n' "$bin/clang-format" --dry-run -Werror
echo "ruff";         "$python" -m ruff check .
                     "$python" -m ruff format --check .
echo "mypy";         "$python" -m mypy
echo "stubtest";     "$python" -m mypy.stubtest npu_quant
echo "README";       "$python" tools/operator_table.py --check
echo "warnings";     "$python" -m cmake -S . -B build/lint -DCMAKE_BUILD_TYPE=Release -DNPU_QUANT_WERROR=ON \
                       -Dpybind11_DIR="$("$python" -m pybind11 --cmakedir)" -DPython_EXECUTABLE="$(pwd)/$python" >/dev/null
                     "$python" -m cmake --build build/lint >/dev/null
echo "weak symbols"; "$python" tools/check_weak_symbols.py build/lint
echo "lint: all good"
