# Two commands do everything: `make demo` and `make test`. Each sets up .venv when it is missing.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready

.PHONY: demo test test-pythons test-cluster lint types torture readme docs dist clean

$(READY): pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[dev]'
	touch $@

demo: $(READY)
	$(BIN)/hgpbench run demo
	$(BIN)/hgpbench report results/demo --plot --html --out results/demo/report

test: lint types
	OPENBLAS_NUM_THREADS=1 OMP_NUM_THREADS=1 $(BIN)/python -m pytest --numprocesses auto

# The tests on each interpreter that is at hand, in a .venv of its own; PYTHONS may name others, TESTS some rooms.
PYTHONS ?= python3.11 python3.12 python3.13 python3.14
TESTS ?=
test-pythons:
	@set -e; for python in $(PYTHONS); do \
		command -v $$python >/dev/null || { echo "$$python: not at hand"; continue; }; \
		venv=build/$$(basename $$python)-$$($$python -c 'import sys; print(*sys.version_info[:3], sep=".")'); \
		$$python -m venv $$venv && echo "$$venv:"; \
		$$venv/bin/python -m pip install --quiet --disable-pip-version-check --editable '.[dev]'; \
		OPENBLAS_NUM_THREADS=1 OMP_NUM_THREADS=1 $$venv/bin/python -m pytest --numprocesses auto $(TESTS); \
	done

lint: $(READY)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: $(READY)
	$(BIN)/mypy

# Kills, crowds of commands, odd files and hostile models for TORTURE_MINUTES (20); TORTURE_SEED repeats a turn.
torture: $(READY)
	OPENBLAS_NUM_THREADS=1 OMP_NUM_THREADS=1 $(BIN)/python -m tests.torture

# Lost, cut off, slow and full machines, with real schedulers and workers; as root each is a network namespace.
# HGPBENCH_CLUSTER_KILLS (10) says how many are killed at random moments in each of two tests.
test-cluster: $(READY)
	HGPBENCH_TEST_CLUSTER=1 OPENBLAS_NUM_THREADS=1 OMP_NUM_THREADS=1 $(BIN)/python -m pytest tests/cluster

# Puts what the README's commands print now in place of what it says that they print.
readme: $(READY)
	$(BIN)/python -m tests.readme

# The site, in build/docs; a warning is an error, and nothing is fetched.
docs: $(VENV)/.docs
	$(BIN)/python -m sphinx -W --keep-going -q -b html docs build/docs

$(VENV)/.docs: $(READY)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[dev,docs]'
	touch $@

# Source and wheel in dist/, and a look at what is in them.
dist: $(READY)
	rm -rf dist
	$(BIN)/python -m hatchling build --directory dist
	HGPBENCH_DIST=$(CURDIR)/dist $(BIN)/python -m pytest tests/test_dist.py

clean:
	rm -rf $(VENV) build dist *.egg-info
