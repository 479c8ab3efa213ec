# Two commands do everything: `make demo` and `make test`. Each sets up .venv when it is missing.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready

.PHONY: demo test lint types torture test-cluster readme clean

$(READY): pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[dev]'
	touch $@

demo: $(READY)
	$(BIN)/hgpbench run demo
	$(BIN)/hgpbench report results/demo --plot --html --out results/demo/report

test: lint types
	OPENBLAS_NUM_THREADS=1 OMP_NUM_THREADS=1 $(BIN)/python -m pytest --numprocesses auto

lint: $(READY)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: $(READY)
	$(BIN)/mypy

# Kills, crowds of commands, odd files and hostile models for TORTURE_MINUTES (20); TORTURE_SEED repeats a turn.
torture: $(READY)
	OPENBLAS_NUM_THREADS=1 OMP_NUM_THREADS=1 $(BIN)/python -m tests.torture

# Lost, cut off, slow and full machines, with real schedulers and workers; as root each is a network namespace.
test-cluster: $(READY)
	HGPBENCH_TEST_CLUSTER=1 OPENBLAS_NUM_THREADS=1 OMP_NUM_THREADS=1 $(BIN)/python -m pytest tests/cluster

# Puts what the README's commands print now in place of what it says that they print.
readme: $(READY)
	$(BIN)/python -m tests.readme

clean:
	rm -rf $(VENV) build dist *.egg-info
