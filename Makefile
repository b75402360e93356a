# From a bare clone: `make test` checks everything, `make reproduce` reruns the paper.
PYTHON ?= python3
WORKERS ?= 2
BIN := .venv/bin

.PHONY: install browser lint test test-thorough reproduce reproduce-full benchmark peers regret serve \
	docs dist clean

install: .venv/installed

.venv/installed: requirements.txt pyproject.toml
	$(PYTHON) -m venv .venv
	$(BIN)/pip install --quiet --requirement requirements.txt
	$(BIN)/pip install --quiet --no-deps --no-build-isolation --editable .
	touch $@

# The report's page and the dashboard are checked in a real browser; where it is missing, Debian's is
# installed. Where that cannot be done the tests that open a page are skipped, but fail in CI.
browser:
	@command -v chromium >/dev/null || command -v chromium-browser >/dev/null || \
	{ command -v apt-get >/dev/null && echo "installing chromium" && apt-get update -qq && \
	apt-get install -y -qq chromium >/dev/null; } || \
	echo "no Chromium, and it cannot be installed here: no test opens a page"

lint: install
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

# Tests of one file stay together, so that what a file builds is built once.
PYTEST := $(BIN)/pytest --numprocesses 2 --dist worksteal

test: lint browser
	$(PYTEST)

# Every combination of parameters, and the statistics that take long.
test-thorough: lint browser
	$(PYTEST) --thorough

reproduce: install
	$(BIN)/sparsebandits reproduce --workers $(WORKERS)

# The field up to T = 20,000 and the run of a million steps too: it may take an hour.
reproduce-full: install
	$(BIN)/sparsebandits reproduce --full --workers $(WORKERS)

# Learners over HTTP, from a file in this folder.
serve: install
	$(BIN)/sparsebandits serve

benchmark: install
	$(BIN)/python benchmarks/oracles.py
	$(BIN)/python benchmarks/simulation.py
	$(BIN)/python benchmarks/policies.py
	$(BIN)/python benchmarks/sweep.py
	$(BIN)/python benchmarks/service.py

# Beside BoFire, BayBE, Optuna, VW and MABWiser, in an environment of their own: hours, for BoFire and
# BayBE take seconds per suggestion. Interrupt it and run it again: it goes on where it was.
.venv-peers/installed: benchmarks/peers-requirements.txt pyproject.toml
	$(PYTHON) -m venv .venv-peers
	.venv-peers/bin/pip install --quiet --requirement benchmarks/peers-requirements.txt
	.venv-peers/bin/pip install --quiet --no-deps --no-build-isolation --editable .
	touch $@

peers: .venv-peers/installed
	OPENBLAS_NUM_THREADS=1 OMP_NUM_THREADS=1 .venv-peers/bin/python -W ignore benchmarks/peers.py
	.venv-peers/bin/python benchmarks/peers.py --tidy
	.venv-peers/bin/python benchmarks/peers.py --table docs/peers.md

# The regret of the recommended policy beside LinTS, 300 trials to T = 20,000: over an hour.
REGRET := --horizon 20000 --trials 300 --workers $(WORKERS) --policy sparse-thompson \
	--policy lin-ts:sigma=0.5
regret: install
	for set in l2 ellipsoid l1.5 l1 box; do \
	$(BIN)/sparsebandits compare --scenario $$set $(REGRET) || exit; done

# What only the site and a release need is installed by them alone, into the same environment.
.venv/requirements-%: requirements-%.txt .venv/installed
	$(BIN)/pip install --quiet --constraint requirements.txt --requirement $<
	touch $@

# The site, with every program of the gallery run; then its links are checked, without a network.
docs: .venv/requirements-docs
	OPENBLAS_NUM_THREADS=1 $(BIN)/sphinx-build --fail-on-warning --keep-going --quiet \
	docs docs/_build/html
	$(BIN)/python tools/check_site.py docs/_build/html

# A wheel and an sdist, checked, and tried in clean environments without extras, one for each Python
# from 3.11 to 3.13 that is here.
dist: .venv/requirements-dist
	rm -rf dist
	$(BIN)/python -m build --no-isolation --outdir dist .
	$(BIN)/twine check --strict dist/*
	$(BIN)/python tools/try_dist.py dist

clean:
	rm -rf docs/_build docs/gallery docs/generated dist
	rm -rf .venv .venv-peers report .mypy_cache .pytest_cache .ruff_cache .hypothesis .import_linter_cache
