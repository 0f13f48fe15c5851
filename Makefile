# make venv | demo | test | bench | clean. Needs python3, make and, for the fast kernels, a C++17 compiler.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
INSTALLED := $(VENV)/.installed
SOURCES := pyproject.toml CMakeLists.txt $(wildcard src/kernels/*.cc src/kernels/*.h)

.PHONY: venv demo test bench clean
.DELETE_ON_ERROR:

venv: $(INSTALLED)

# The stamp is older than a source only when the kernels must be built anew; Python files are used where they lie.
$(INSTALLED): $(SOURCES)
	@echo "== venv: installing feedline and its tools into $(VENV)"
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[dev]'
	@touch $@

demo: venv
	@$(BIN)/python examples/first_pipeline.py

test: venv
	@echo "== ruff check" && $(BIN)/ruff check
	@echo "== mypy" && $(BIN)/mypy
	@echo "== lint-imports" && $(BIN)/lint-imports
	@echo "== pytest" && $(BIN)/python -m pytest -q -n auto

bench: venv
	@$(BIN)/python bench/micro/run.py && $(BIN)/python bench/micro/parallel.py

clean:
	rm -rf $(VENV) build dist .pytest_cache .mypy_cache .ruff_cache .import_linter_cache .hypothesis
	find src tests -name __pycache__ -type d -prune -exec rm -rf {} +
