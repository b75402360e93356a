# Two commands do everything from a bare clone: `make test` here, `make benchmark` for the ratios.
PYTHON ?= python3
BIN := .venv/bin

.PHONY: install test lint benchmark clean

install: .venv/installed

.venv/installed: requirements.txt pyproject.toml
	$(PYTHON) -m venv .venv
	$(BIN)/pip install --quiet --requirement requirements.txt
	$(BIN)/pip install --quiet --no-deps --no-build-isolation --editable .
	touch $@

lint: install
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

test: lint
	$(BIN)/pytest --numprocesses 2

benchmark: install
	$(BIN)/python benchmarks/oracles.py

clean:
	rm -rf .venv report .mypy_cache .pytest_cache .ruff_cache .hypothesis .import_linter_cache
