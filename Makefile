# From a bare clone: `make test` checks everything, `make reproduce` reruns the paper.
PYTHON ?= python3
WORKERS ?= 2
BIN := .venv/bin

.PHONY: install browser lint test reproduce benchmark clean

install: .venv/installed

.venv/installed: requirements.txt pyproject.toml
	$(PYTHON) -m venv .venv
	$(BIN)/pip install --quiet --requirement requirements.txt
	$(BIN)/pip install --quiet --no-deps --no-build-isolation --editable .
	touch $@

# The report's page is checked in a real browser; where it is missing, Debian's is installed.
browser:
	@command -v chromium >/dev/null || command -v chromium-browser >/dev/null || \
	{ echo "installing chromium"; apt-get update -qq && apt-get install -y -qq chromium >/dev/null; }

lint: install
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

test: lint browser
	$(BIN)/pytest --numprocesses 2

reproduce: install
	$(BIN)/sparsebandits reproduce --workers $(WORKERS)

benchmark: install
	$(BIN)/python benchmarks/oracles.py
	$(BIN)/python benchmarks/simulation.py
	$(BIN)/python benchmarks/policies.py

clean:
	rm -rf .venv report .mypy_cache .pytest_cache .ruff_cache .hypothesis .import_linter_cache
