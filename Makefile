PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/pip --disable-pip-version-check install --quiet --constraint constraints.txt

.DEFAULT_GOAL := help
.PHONY: help train play test testweb lint format golden bench clean

help:  ## List the targets
	@grep -hE '^[a-z]+:.*##' $(MAKEFILE_LIST) | sed -E 's/^([a-z]+):.*## /\1\t/' | expand -t 10

QUICKSTART := outputs/quickstart/$(shell date +%Y-%m-%d_%H-%M-%S)

train: $(VENV)/installed  ## Set up, then teach a network Minesweeper: first from a solver, then by PPO; about five minutes
	$(BIN)/python -m src.train experiment=quickstart_imitation hydra.run.dir=$(QUICKSTART)/imitation
	$(BIN)/python -m src.train experiment=quickstart algo.init_from=$(QUICKSTART)/imitation hydra.run.dir=$(QUICKSTART)/ppo

play: $(VENV)/installed-web  ## Set up the web page and open it: play, watch, deploy, compare runs
	$(BIN)/python -m src.play

test: $(VENV)/installed-dev  ## Set up what tests need, then run all that need no browser
	$(BIN)/python -m pytest -n 2 -m "not browser"

testweb: $(VENV)/installed-dev  ## Play every page in a real browser: chromium and chromedriver
	$(BIN)/python -m pytest -m browser tests/web

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
	$(BIN)/python -m experiments.bench.ppo_throughput
	$(BIN)/python -m experiments.bench.quoridor
	$(BIN)/python -m experiments.bench.quoridor_matches
	$(BIN)/python -m experiments.bench.deployment_env
	$(BIN)/python -m experiments.bench.deployment_bots

clean:  ## Remove the environment and caches, keep outputs
	rm -rf $(VENV) .mypy_cache .ruff_cache .pytest_cache .hypothesis *.egg-info
	find . -name __pycache__ -prune -exec rm -rf {} +

# A marker is written last, so an install that was broken off is done again.
$(VENV)/installed: setup.cfg constraints.txt
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	@echo "installing into $(VENV); the first time takes a minute or two"
	$(PIP) --editable .
	touch $@

$(VENV)/installed-web: $(VENV)/installed
	$(PIP) --editable '.[web]'
	touch $@

$(VENV)/installed-dev: $(VENV)/installed
	$(PIP) --editable '.[test,dev,web,sweep,ray,slurm,tensorboard]'
	touch $@
