# Set-up and the three things a developer runs. Every target makes its own environment first.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
# Set so that uv and pip take the same exact versions.
CONSTRAINTS := constraints.txt

.DEFAULT_GOAL := help
.PHONY: help demo test lint types check ui clean

help:  ## what can be made
	@grep -E '^[a-z]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:[^#]*##/\t/'

# Bytecode is compiled at install because some machines set PYTHONDONTWRITEBYTECODE, and then every start recompiles.
$(VENV)/.installed: pyproject.toml $(CONSTRAINTS)
	@if command -v uv >/dev/null 2>&1; then \
	  uv venv --quiet --clear --python $(PYTHON) $(VENV) && \
	  uv pip install --quiet --compile-bytecode --python $(BIN)/python --constraint $(CONSTRAINTS) --editable '.[dev]'; \
	else \
	  $(PYTHON) -m venv --clear $(VENV) && \
	  $(BIN)/python -m pip install --quiet --disable-pip-version-check --compile --constraint $(CONSTRAINTS) --editable '.[dev]'; \
	fi
	@touch $@

demo: $(VENV)/.installed  ## set up, then run the whole job on a local agent server
	$(BIN)/eval-assets demo

test: $(VENV)/.installed  ## set up, then run the tests
	$(BIN)/python -m pytest --numprocesses 2 --dist worksteal

lint: $(VENV)/.installed  ## style and likely mistakes
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: $(VENV)/.installed  ## mypy --strict, tests included
	$(BIN)/mypy

check: lint types test  ## what CI runs

ui: $(VENV)/.installed  ## the Dagster UI on the suites of this folder, or on the demo
	$(BIN)/eval-assets ui

clean:  ## remove the environment and everything measured here
	rm -rf $(VENV) .eval_assets .mypy_cache .ruff_cache .pytest_cache
