# SPDX-License-Identifier: MIT
# `make demo` and `make test` do all the set-up on a fresh Debian machine with Python >= 3.11 and a C++ compiler.

PYTHON ?= python3
VENV ?= .venv
# A folder with MNIST. Where none is found the example looks into data/mnist, then downloads.
DATA ?= $(firstword $(wildcard ../data/mnist ../shared/data/mnist))
BUILD := build/python
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check
# The groups of locked packages, a file in requirements/ each.
GROUPS := build run test lint wheel
CXX_FILES := git ls-files -co --exclude-standard '*.h' '*.cc' '*.cu' '*.cuh'
# What the compiled module and the list of Python files in the package depend on.
SOURCES := pyproject.toml CMakeLists.txt \
  $(shell find cmake include src python -type f -not -name '*.pyc' -not -name '*.so' -not -path 'python/repdl/golden/*')

# Tests start hundreds of processes, which would all compile the Python files anew.
unexport PYTHONDONTWRITEBYTECODE

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.NOTPARALLEL:  # the tools use all cores themselves
.PHONY: help demo test test-cpp test-python test-newest-torch test-pages test-platforms build sanitize tsan cuda test-cuda fuzz lint format tidy docs golden golden-lenet bench lock wheel clean

help:  ## Say what there is to make
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 20

demo: build  ## Train LeNet and print its digests; DATA=DIR names a folder with MNIST
	$(BIN)/python examples/mnist_training.py $(if $(DATA),--data $(DATA))

test: test-cpp test-python test-slice  ## Run all tests, and a slice on emulated CPUs; STRICT=1 allows no skips

test-cpp: build $(VENV)/.test  ## Run the C++ tests
	$(BIN)/cmake --build $(BUILD)
	$(BIN)/ctest --test-dir $(BUILD) --output-on-failure --progress -j$$(nproc)

test-python: build $(VENV)/.test  ## Run the Python tests
	$(BIN)/python -m pytest -n$$(nproc) $(if $(STRICT),--no-skips)

test-platforms: $(VENV)/.build $(VENV)/.run | system-platforms  ## Check every platform of docs/platforms.md; hours
	$(BIN)/python tools/platforms $(if $(STRICT),--strict) --results docs/platforms.jsonl

test-pages: build $(VENV)/.test  ## Look at the pages of `repdl diff --html` in Chromium, which it installs
	@tools/setup_system.sh --pages
	$(BIN)/python -m pytest tests/python/test_pages.py

test-newest-torch: build $(VENV)/.test  ## Run a slice of the Python tests with the newest torch, in .venv-newest
	$(BIN)/python tools/newest_torch.py $(if $(STRICT),--strict)

# With STRICT=1 a platform that is not installed is a failure.
.PHONY: test-slice system-platforms
test-slice: $(VENV)/.build $(VENV)/.run | system-platforms
	$(BIN)/python tools/platforms --slice $(if $(STRICT),--strict)

system-platforms:
	@tools/setup_system.sh --platforms

sanitize: $(VENV)/.build  ## Run the C++ tests with the address and undefined-behaviour sanitizers
	$(BIN)/cmake --preset sanitize -DCMAKE_MAKE_PROGRAM=$(abspath $(BIN))/ninja
	$(BIN)/cmake --build --preset sanitize
	$(BIN)/ctest --preset sanitize --progress -j$$(nproc)

tsan: $(VENV)/.build  ## Run the C++ tests that use threads with the thread sanitizer
	$(BIN)/cmake --preset tsan -DCMAKE_MAKE_PROGRAM=$(abspath $(BIN))/ninja
	$(BIN)/cmake --build --preset tsan
	$(BIN)/ctest --preset tsan --progress -j$$(nproc)

cuda: $(VENV)/.build  ## Compile the CUDA kernels and check their PTX, where nvcc is installed; needs no GPU
	@if command -v nvcc >/dev/null; then \
	  $(BIN)/cmake --preset cuda -DCMAKE_MAKE_PROGRAM=$(abspath $(BIN))/ninja && \
	  $(BIN)/cmake --build --preset cuda --target repdl_cuda repdl_ptx && \
	  $(BIN)/ctest --preset cuda; \
	else echo 'Left out: the CUDA kernels were neither compiled nor checked, since nvcc is not installed.'; fi

.PHONY: gpu
gpu:
	@nvidia-smi -L || { echo 'There is no GPU here: nothing was tested.'; exit 1; }

test-cuda: gpu $(VENV)/.build $(VENV)/.run $(VENV)/.test  ## Run the CUDA kernels on a GPU, and torch; needs nvcc and a torch for CUDA
	$(BIN)/cmake --preset cuda -DCMAKE_MAKE_PROGRAM=$(abspath $(BIN))/ninja -DREPDL_BUILD_PYTHON=ON \
	  -DPython_EXECUTABLE=$(abspath $(BIN))/python
	$(BIN)/cmake --build --preset cuda --target repdl_tests _core
	$(BIN)/ctest --test-dir build/cuda --output-on-failure --progress -R 'OnDevice|^Cuda\.'
	$(BIN)/python tests/cuda/torch/run.py build/cuda/python/bindings/_core*.so -n4

fuzz: $(VENV)/.build  ## Fuzz the C++ API for a minute each (needs clang); FUZZ_SECONDS=N for longer
	$(BIN)/cmake --preset fuzz -DCMAKE_MAKE_PROGRAM=$(abspath $(BIN))/ninja -DREPDL_FUZZ_SECONDS=$(or $(FUZZ_SECONDS),60)
	$(BIN)/cmake --build --preset fuzz
	$(BIN)/ctest --preset fuzz

lint: style docs-check  ## Check style, types and the documents built from the sources

.PHONY: style docs-check
style: $(VENV)/.run $(VENV)/.lint
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(CXX_FILES) | xargs $(BIN)/clang-format --dry-run -Werror
	$(BIN)/python tools/lint_numerics.py
	$(BIN)/python tools/lint_interception.py
	$(BIN)/mypy

docs-check: build $(VENV)/.lint
	$(BIN)/python tools/build_docs.py --check

format: $(VENV)/.lint  ## Lay out the code as `make lint` wants it
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .
	$(CXX_FILES) | xargs $(BIN)/clang-format -i

tidy: build $(VENV)/.lint  ## Run clang-tidy
	$(BIN)/run-clang-tidy.py -clang-tidy-binary $(BIN)/clang-tidy -quiet -p $(BUILD) '^$(CURDIR)/(src|python|tests|tools)/'

docs: build $(VENV)/.lint  ## Build the documents that come from the sources
	$(BIN)/python tools/build_docs.py

golden: build  ## Make the golden files of the ops anew, with the slow reference
	$(BIN)/cmake --build $(BUILD) --target repdl_reference
	$(BIN)/python tools/update_golden.py $(BUILD)/tests/reference/repdl_reference
	$(BIN)/cmake --build $(BUILD) --target repdl_reference_lenet
	$(BIN)/python tools/update_lenet_patterns.py $(BUILD)/tests/reference/repdl_reference_lenet

golden-lenet: build  ## Make the digests of the example anew, with the slow reference (minutes; needs DATA)
	$(BIN)/cmake --build $(BUILD) --target repdl_reference_lenet
	$(BIN)/python tools/update_lenet.py $(BUILD)/tests/reference/repdl_reference_lenet --data $(or $(DATA),data/mnist)

bench: build $(VENV)/.test  ## Compare the speed with other libraries; RESULTS=docs keeps the figures for the documents
	$(BIN)/cmake -B $(BUILD) -DREPDL_BUILD_BENCH=ON
	$(BIN)/cmake --build $(BUILD) --target repdl_bench
	$(BIN)/python bench/run.py $(if $(RESULTS),--results $(RESULTS))
	if $(BIN)/repdl info --json | grep -q 'chosen": "avx512"'; then \
	  $(BIN)/python bench/run.py functions calls --target avx2 $(if $(RESULTS),--results $(RESULTS)); fi

build: $(BUILD)/.installed  ## Make the virtual environment, build the package and install it there

# An editable install: Python files are used where they are.
$(BUILD)/.installed: $(VENV)/.build $(VENV)/.run $(SOURCES)
	$(PIP) install -v --no-build-isolation --no-deps --config-settings build-dir=$(BUILD) \
	  --config-settings cmake.define.REPDL_BUILD_TESTS=ON \
	  --config-settings cmake.define.CMAKE_EXPORT_COMPILE_COMMANDS=ON -e .
	touch $@

# Python compiles what is imported when it is imported first: a small part of these packages.
$(VENV)/.%: requirements/%.txt requirements/constraints.txt | $(BIN)/python
	$(PIP) install --no-compile -r $<
	touch $@

$(BIN)/python: | system
	$(PYTHON) -m venv $(VENV)

.PHONY: system
system:
	@tools/setup_system.sh $(PYTHON)

wheel: $(VENV)/.build $(VENV)/.run $(VENV)/.wheel  ## Build wheel and source distribution in dist/, and try them
	rm -rf dist
	$(BIN)/python -m build --no-isolation --outdir dist/plain .
	mv dist/plain/*.tar.gz dist
	PATH="$(abspath $(BIN)):$$PATH" $(BIN)/auditwheel repair --wheel-dir dist dist/plain/*.whl
	rm -r dist/plain
	$(BIN)/python tools/check_wheel.py dist/*.whl dist/*.tar.gz

lock:  ## Fix the newest versions of all packages in requirements/constraints.txt
	rm -rf build/lock
	$(PYTHON) -m venv build/lock
	grep -hv '^-c' $(GROUPS:%=requirements/%.txt) > build/lock/all.txt
	build/lock/bin/pip install -r build/lock/all.txt
	{ echo '# Written by `make lock`. No hashes: a build of torch for CPUs only has others than one for CUDA.'; \
	  build/lock/bin/pip list --format=freeze --exclude pip | sed 's/+cpu$$//'; } > requirements/constraints.txt

clean:  ## Remove what was built and installed
	rm -rf build dist $(VENV) .venv-newest
