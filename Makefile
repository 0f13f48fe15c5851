# make venv | demo | quick | test | docs | fuzz | chaos | differential | interop | bench | clean. Needs python3, make and, for the fast kernels, a C++17 compiler.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
INSTALLED := $(VENV)/.installed
LEAN := $(VENV)/.installed-lean
SOURCES := pyproject.toml CMakeLists.txt $(wildcard src/kernels/*.cc src/kernels/*.h)

.PHONY: venv demo quick test static pytest docs fuzz chaos differential interop bench clean
.DELETE_ON_ERROR:

# FUZZ_SECONDS=60 make fuzz; FUZZ_FLAGS='--seed 7 --only parse_' for other inputs, or some of the targets.
FUZZ_SECONDS ?= 600
FUZZ_FLAGS ?=
CXX ?= c++
ASAN := build/asan
SANITIZE := -fsanitize=address,undefined -fno-sanitize-recover=undefined -fno-omit-frame-pointer
# An interpreter that has TensorFlow; where none is given, the one that `make bench` uses, made on the first run.
TENSORFLOW_PYTHON ?=

venv: $(INSTALLED)

# The stamp is older than a source only when the kernels must be built anew; Python files are used where they lie.
$(INSTALLED): $(SOURCES)
	@echo "== venv: installing feedline and its tools into $(VENV)"
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	@$(BIN)/python -m pip install --quiet --no-compile --disable-pip-version-check -e '.[dev]'
	@touch $@

# The demo needs no tools and no frameworks: where they are not installed yet, it does not wait for them.
$(LEAN): $(SOURCES)
	@echo "== venv: installing feedline into $(VENV)"
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check -e .
	@touch $@

demo: $(if $(wildcard $(INSTALLED)),$(INSTALLED),$(LEAN))
	@$(BIN)/feedline demo

# What a change needs, in two minutes; BASE=HEAD~3 for what has changed since then.
BASE ?=

quick: venv
	@$(BIN)/python -m tests.quick --base "$(BASE)"

# The static checks use one processor: the tests run beside them.
test: venv
	@$(MAKE) --no-print-directory --jobs 2 static pytest

static: venv
	@echo "== ruff check" && $(BIN)/ruff check
	@echo "== mypy" && $(BIN)/mypy
	@echo "== lint-imports" && $(BIN)/lint-imports

pytest: venv
	@echo "== pytest" && $(BIN)/python -m pytest -q -n auto --dist worksteal

# The site into build/docs; the table of names and the picture are kept in the repository, and made anew here.
docs: venv
	@$(BIN)/python docs/make/names.py && $(BIN)/python docs/make/tree.py
	@NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --quiet --strict && echo "open build/docs/index.html"

# The kernels once more, with the sanitizers in them; `tests/fuzz/driver.py` takes these instead of the installed ones.
$(ASAN)/.installed: $(SOURCES) | venv
	@echo "== fuzz: building the kernels with AddressSanitizer into $(ASAN)"
	@rm -rf $(ASAN)/site
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --target $(ASAN)/site \
		-C build-dir=$(ASAN)/cmake -C cmake.build-type=RelWithDebInfo -C install.strip=false \
		-C 'cmake.define.CMAKE_CXX_FLAGS=$(SANITIZE)' .
	@touch $@

# CPython has no sanitizer in it, so its library is loaded first; what CPython never frees is no leak of ours.
fuzz: $(ASAN)/.installed
	@LD_PRELOAD="$$($(CXX) -print-file-name=libasan.so) $$($(CXX) -print-file-name=libstdc++.so)" \
		ASAN_OPTIONS=detect_leaks=0:abort_on_error=1:allocator_may_return_null=1:max_allocation_size_mb=2048:hard_rss_limit_mb=4096 \
		UBSAN_OPTIONS=print_stacktrace=1:halt_on_error=1 FEEDLINE_FUZZ_KERNELS=$(ASAN)/site \
		$(BIN)/python -m tests.fuzz.driver --seconds $(FUZZ_SECONDS) $(FUZZ_FLAGS)

# CHAOS_SECONDS=600 make chaos; CHAOS_FLAGS='--seed 7 --jobs 2' for other scenarios, or several at a time.
CHAOS_SECONDS ?= 3600
CHAOS_FLAGS ?=

chaos: venv
	@$(BIN)/python -m tests.chaos.driver --seconds $(CHAOS_SECONDS) $(CHAOS_FLAGS)

# DIFFERENTIAL_FLAGS='--count 500 --seed 7' for other pipelines. TensorFlow's side is kept in build/differential.sqlite.
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
	@$(BIN)/python bench/micro/run.py && $(BIN)/python bench/micro/parallel.py && $(BIN)/python bench/micro/checkpoint.py

clean:
	rm -rf $(VENV) build dist .pytest_cache .mypy_cache .ruff_cache .import_linter_cache .hypothesis
	find src tests -name __pycache__ -type d -prune -exec rm -rf {} +
