# Four commands: demo, test, bench, lint. Each installs what it needs into .venv and build/, then does it.
# BENCH='--help' lists what `make bench` takes.
PYTHON ?= python3
VENV   := .venv
PY     := $(VENV)/bin/python
PIP    := $(PY) -m pip --disable-pip-version-check --quiet install
SOURCES := CMakeLists.txt pyproject.toml $(shell find cmake csrc python -type f -not -name '*.pyc')
# GoogleTests: of the library, and of the C API.
GTESTS := tests/cpp/npu_quant_tests tests/cpp/aclnn/npu_quant_aclnn_tests
GTEST  := build/release/.built

export CMAKE_BUILD_PARALLEL_LEVEL ?= $(shell nproc)

.PHONY: demo test test-mutation bench lint asan clean
.DELETE_ON_ERROR:

demo: $(VENV)/demo
	$(PY) examples/demo.py

test: $(VENV)/test $(GTEST)
	$(PY) -m pytest -n auto
	set -e; for tests in $(GTESTS); do build/release/$$tests --gtest_brief=1; done

# Plants faults in kernels, contracts and faces, and flips every comparison of the modules that decide: one at a time,
# and a test must fail each time. MUTATION='--help' lists what it takes.
test-mutation: $(VENV)/test
	sh tools/get_googletest.sh
	$(PIP) "pybind11>=2.13"
	$(PY) -m tools.mutation $(MUTATION)

bench: $(VENV)/bench build/bench/.built
	$(PY) -m bench $(BENCH)

lint: $(VENV)/lint
	sh tools/lint.sh $(PY)

# The GoogleTests once more, under AddressSanitizer and UBSan.
asan: $(VENV)/python
	sh tools/get_googletest.sh
	$(PY) -m cmake --preset asan
	$(PY) -m cmake --build --preset asan
	set -e; for tests in $(GTESTS); do build/asan/$$tests --gtest_brief=1; done

clean:
	rm -rf build $(VENV)

# ---- What they need.

$(VENV)/python:
	$(PYTHON) -m venv $(VENV)
	$(PIP) cmake ninja
	@touch $@

# The package with the extra of that name; again when a source changes. For lint, warnings are errors.
$(VENV)/demo $(VENV)/test $(VENV)/lint $(VENV)/bench: $(VENV)/%: $(VENV)/python $(SOURCES)
	$(PIP) $(if $(filter lint,$*),--config-settings=cmake.define.NPU_QUANT_WERROR=ON) ".[$*]"
	@touch $@

$(GTEST): $(VENV)/python $(SOURCES) $(wildcard tests/cpp/* tests/cpp/aclnn/*)
	sh tools/get_googletest.sh
	$(PY) -m cmake --preset release
	$(PY) -m cmake --build --preset release
	@touch $@

build/bench/.built: $(VENV)/python $(SOURCES) $(wildcard bench/*.cpp bench/*.h bench/CMakeLists.txt)
	$(PY) -m cmake -S . -B build/bench -DCMAKE_BUILD_TYPE=Release -DNPU_QUANT_PYTHON=OFF -DNPU_QUANT_ACLNN=OFF -DNPU_QUANT_BENCH=ON
	$(PY) -m cmake --build build/bench --target npu_quant_bench npu_quant_aclnn_bench
	@touch $@
