PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/pip --disable-pip-version-check install --quiet --constraint constraints.txt

.DEFAULT_GOAL := help
.PHONY: help train test lint format golden bench clean

help:  ## List the targets
	@grep -hE '^[a-z]+:.*##' $(MAKEFILE_LIST) | sed -E 's/^([a-z]+):.*## /\1\t/' | expand -t 10

train: $(VENV)/installed  ## Set up, then train a first agent and print how good it is
	$(BIN)/python -m src.train

test: $(VENV)/installed-dev  ## Set up what tests need, then run them
	$(BIN)/python -m pytest -n 2

lint: $(VENV)/installed-dev  ## Check style and types
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

format: $(VENV)/installed-dev  ## Mend what lint can mend by itself
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

golden: $(VENV)/installed-dev  ## Write the golden playthroughs anew, to be looked at in the diff
	$(BIN)/python -m tests.golden.regenerate

bench: $(VENV)/installed  ## Print the figures the README claims, some minutes
	$(BIN)/python -m experiments.bench.tictactoe_qlearning
	$(BIN)/python -m experiments.bench.minesweeper_env
	$(BIN)/python -m experiments.bench.minesweeper_solver

clean:  ## Remove the environment and caches, keep outputs
	rm -rf $(VENV) .mypy_cache .ruff_cache .pytest_cache .hypothesis *.egg-info
	find . -name __pycache__ -prune -exec rm -rf {} +

# A marker is written last, so an install that was broken off is done again.
$(VENV)/installed: setup.cfg constraints.txt
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	@echo "installing into $(VENV); the first time takes a minute or two"
	$(PIP) --editable .
	touch $@

$(VENV)/installed-dev: $(VENV)/installed
	$(PIP) --editable '.[test,dev]'
	touch $@
