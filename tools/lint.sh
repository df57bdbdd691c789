#!/bin/sh
# Every check that runs no test. The arguments are the Python of the environment that has them, and the build folder.
set -eu
python=$1
build=$2
bin=$(dirname "$python")

echo "clang-format"; find csrc tests bench examples -name '*.cpp' -o -name '*.h' | xargs -d '\n' "$bin/clang-format" --dry-run -Werror
echo "ruff";         "$python" -m ruff check .
                     "$python" -m ruff format --check .
echo "mypy";         "$python" -m mypy
echo "stubtest";     "$python" -m mypy.stubtest npu_quant --allowlist tools/stubtest.txt --mypy-config-file pyproject.toml
echo "README";       "$python" tools/operator_table.py --check
echo "stubs";        "$python" tools/operator_stub.py --check
                     "$python" tools/operator_types.py --check
# Each planted fault has its text once in today's sources.
echo "mutation";     "$python" -m tools.mutation --list >/dev/null
# Warnings were errors when the package was built: the Makefile sees to it.
echo "weak symbols"; "$python" tools/check_weak_symbols.py "$build"
echo "lint: all good"
