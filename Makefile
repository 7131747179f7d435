PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
EVERYTHING := '.[test,train,dev,web,sweep,ray,slurm,tensorboard,onnx,docs,pettingzoo,openspiel,pgx]'
NEWEST := build/newest
TORCH ?= torch
TESTS ?= tests
# Python compiles a module when it is first imported; to compile all of them takes longer than to install them.
PIP := $(BIN)/pip --disable-pip-version-check install --quiet --no-compile --constraint constraints.txt

.DEFAULT_GOAL := help
.PHONY: help train play test testslow lint format docs audit newest golden notebooks profile bench faults tables experiment clean

help:  ## List the targets
	@grep -hE '^[a-z]+:.*##' $(MAKEFILE_LIST) | sed -E 's/^([a-z]+):.*## /\1\t/' | expand -t 12

STUDIES := $(filter-out bench,$(patsubst experiments/%/__main__.py,%,$(wildcard experiments/*/__main__.py)))
train: $(VENV)/installed  ## Set up, then teach a network Minesweeper from random weights; minutes, it says how many
	$(BIN)/python -m src.train env=minesweeper_8x8 algo=ppo

play: $(VENV)/installed-web  ## Set up the web page and open it: play, watch, deploy, compare runs
	$(BIN)/python -m src.play

test: $(VENV)/installed-dev  ## Set up what tests need, then run all but the slow ones
	PYTHONDONTWRITEBYTECODE= $(BIN)/python -m pytest -n 2 --dist worksteal -m "not browser and not slow"

testslow: $(VENV)/installed-dev  ## Play the pages in a real browser (chromium, chromedriver), launch jobs, run notebooks
	$(BIN)/python -m pytest -n 2 --dist worksteal -m "slow and not browser"
	$(BIN)/python -m pytest -n 2 --dist loadfile -m browser

lint: $(VENV)/installed-dev  ## Check style and types
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

format: $(VENV)/installed-dev  ## Fix what lint can fix automatically
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

docs: $(VENV)/installed-docs  ## Build the documentation site into build/site; fails on broken links
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict --quiet
	@echo "open build/site/index.html"

audit: $(VENV)/installed-audit  ## Look up known vulnerabilities of the pinned versions, which needs a network
	$(BIN)/python -m tests.audit

newest:  ## Run the fast tests with the newest packages that setup.cfg allows; TORCH=torch==2.13.0 keeps that one, TESTS=tests/core tests less
	$(PYTHON) -m venv --clear $(NEWEST)
	$(NEWEST)/bin/pip --disable-pip-version-check install --quiet --editable $(EVERYTHING) '$(TORCH)'
	$(NEWEST)/bin/pip --disable-pip-version-check list --format freeze
	$(NEWEST)/bin/python -m pytest -n 2 --dist worksteal -m "not browser and not slow" --ignore tests/test_constraints.py $(TESTS)

golden: $(VENV)/installed-dev  ## Write the golden playthroughs anew, to be looked at in the diff
	$(BIN)/python -m tests.golden.regenerate

notebooks: $(VENV)/installed-dev  ## Execute the notebooks and write their outputs into them, a minute
	$(BIN)/python -m experiments.notebooks

profile: $(VENV)/installed  ## Profile some updates of PPO: a trace, and the operators that take most time
	$(BIN)/python -m src.train env=minesweeper_8x8 algo=ppo profile=true algo.seconds=60 evaluation.episodes=10

bench: $(VENV)/installed-bench  ## Measure ours beside the peers and beside the last time, some minutes
	$(BIN)/python -m experiments.bench

faults: $(VENV)/installed-dev  ## Kill training runs, send garbage to the line protocol, read hostile files; hours
	$(BIN)/python -m experiments.faults --jobs 2

tables: $(VENV)/installed-dev  ## Write the tables of README.md, docs and experiments from committed data
	$(BIN)/python -m experiments.tables

experiment: $(VENV)/installed  ## Run a study again: NAME=quoridor_ladder, and for more runs at a time ARGS="--jobs 4"
	@test -f "experiments/$(NAME)/__main__.py" || { \
		echo "NAME=$(NAME) is not a study; choose one of: $(STUDIES)"; exit 2; }
	$(BIN)/python -m experiments.$(NAME) $(ARGS)

clean:  ## Remove the environment and caches, keep outputs
	rm -rf $(VENV) .mypy_cache .ruff_cache .pytest_cache .hypothesis *.egg-info
	find . -name __pycache__ -prune -exec rm -rf {} +

# A marker is written last, so an install that was broken off is done again.
$(BIN)/python:
	$(PYTHON) -m venv $(VENV)
	@echo "installing into $(VENV); the first time takes a minute or two"

$(VENV)/installed: setup.cfg constraints.txt | $(BIN)/python
	$(PIP) --editable '.[train]'
	touch $@

$(VENV)/installed-web: $(VENV)/installed
	$(PIP) --editable '.[web]'
	touch $@

$(VENV)/installed-dev: setup.cfg constraints.txt | $(BIN)/python
	$(PIP) --editable $(EVERYTHING)
	touch $(VENV)/installed $@

$(VENV)/installed-docs: $(VENV)/installed
	$(PIP) --editable '.[docs]'
	touch $@

$(VENV)/installed-audit: $(VENV)/installed
	$(PIP) --editable '.[audit]'
	touch $@

$(VENV)/installed-bench: $(VENV)/installed
	$(PIP) --editable '.[bench]' && touch $@ || echo "the peers cannot be installed here: ours is measured alone"
