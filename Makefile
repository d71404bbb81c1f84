# `make` alone lists what there is. The first target that needs Python makes .venv from the pins in
# constraints.txt; nothing is installed outside it.

PYTHON ?= python3
VENV ?= .venv
ATOMS ?= 3

BIN := $(VENV)/bin
PY := $(BIN)/python
RUNTIME := $(VENV)/.runtime
STAMP := $(VENV)/.installed

# What must be covered to the last branch: the kernel, and everything that a saved plan depends on.
FULLY_COVERED := */dwindle/kernel/*,*/dwindle/adapters/store/disk.py,*/dwindle/adapters/store/*,*/dwindle/adapters/formats/*,*/dwindle/runner/ledger.py

# How `test` runs Python: as part of `ci` and `cov` it measures what is covered.
RUN = $(PY)
ci cov: RUN = $(BIN)/coverage erase && $(BIN)/coverage run

export DWINDLE_REQUIRE_ALL

.DEFAULT_GOAL := help
.PHONY: help demo test ci lint types layers cov slow model-check proof current nightly figures fuzz mutation bench fmt real-agents real-library clean

help:  ## this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "make %-12s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

INSTALL = $(PY) -m pip install --quiet --disable-pip-version-check -c constraints.txt

# What dwindle needs to run; then what its tests need.
$(RUNTIME): constraints.txt pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(INSTALL) hatchling
	$(INSTALL) --no-build-isolation -e .
	@touch $@

$(STAMP): $(RUNTIME)
	$(INSTALL) --no-build-isolation -e '.[dev]'
	@touch $@

demo: $(RUNTIME)  ## both loops, graph and tree, on small repositories, with a scripted agent; seconds
	@$(BIN)/dwindle demo --plan graph
	@echo; echo
	@$(BIN)/dwindle demo --plan tree

test: $(STAMP)  ## the quick part of the tests, under 3 minutes on 2 cores
	$(RUN) -m pytest -n 2 -m "not slow and not nightly"

ci: test lint types layers cov slow model-check proof current  ## everything that must hold before a change is merged

lint: $(STAMP)  ## ruff: rules and format
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: $(STAMP)  ## mypy, strict
	$(BIN)/mypy

layers: $(STAMP)  ## imports point inward; the kernel stays pure
	$(BIN)/lint-imports --no-cache

cov: test  ## the quick tests cover kernel and store to the last branch
	$(BIN)/coverage combine --quiet
	$(BIN)/coverage report
	$(BIN)/coverage report --include='$(FULLY_COVERED)' --fail-under=100

slow: $(STAMP)  ## the tests that take longer
	$(PY) -m pytest -n 3 -m "slow and not nightly"  # they wait for programs half of the time

model-check: $(STAMP)  ## every plan of up to ATOMS atoms (default 3), every outcome
	$(PY) -m tests.model.model_check --atoms $(ATOMS)

proof: $(STAMP)  ## z3 obligations, and the Coq files (in order of name) where coqc is installed
	$(PY) proof/obligations.py
	@if command -v coqc >/dev/null; then \
	    for file in proof/*.v; do \
	        echo "$$file"; \
	        said=$$(coqc -q -R proof "" "$$file") || exit 1; \
	        echo "$$said" | sort | uniq -c; \
	        case "$$said" in *Axioms:*) echo "$$file rests on axioms"; exit 1;; esac; \
	    done; \
	elif [ "$$DWINDLE_REQUIRE_ALL" = 1 ]; then \
	    echo "coqc is not installed, and DWINDLE_REQUIRE_ALL=1"; exit 1; \
	else \
	    echo "coqc is not installed: the Coq files were not checked"; \
	fi

current: $(STAMP)  ## the shipped schemas and the tables in docs/kernel.md and docs/events.md are those of the code
	$(PY) -m dwindle.adapters.formats.schema --check
	$(PY) docs/_generate.py --check

nightly: fuzz figures  ## what takes long: long fuzzing, nightly tests, 4 atoms, mutants of the kernel
	$(PY) -m pytest -n 2 -m nightly
	$(MAKE) model-check ATOMS=4
	$(MAKE) mutation

figures: $(STAMP)  ## 100,000 simulated runs, 1,000 real kills, every adversary; one table of what came of it
	$(PY) -m tests.figures $${DWINDLE_SIMULATIONS:-100000} $${DWINDLE_KILLS:-1000}

fuzz: $(STAMP)  ## the property tests with many random examples (DWINDLE_FUZZ, default 20000 here)
	DWINDLE_FUZZ=$${DWINDLE_FUZZ:-20000} $(PY) -m pytest -n 2 -m "not nightly" -k "fuzz or property or properties"

mutation: $(STAMP)  ## is every small change of the kernel noticed? red under 90 %, or for a survivor without an explanation
	$(PY) -m tests.mutation.run --jobs 2

bench: $(STAMP)  ## every benchmark, as one table of ratios
	$(PY) bench/run.py

fmt: $(STAMP)  ## format, and fix what ruff can fix
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

real-agents: $(STAMP)  ## install the claude and codex that tests/real runs, into .real-agents (1 GB)
	$(PY) -m tests.real.install

real-library: $(STAMP)  ## fetch the library that docs/first-hour.md is played on, and its wheels, into .real-library (6 MB)
	$(PY) -m tests.real.library

clean:  ## remove what these targets made, .venv included
	rm -rf $(VENV) .real-agents .real-library build dist htmlcov .coverage .coverage.* .hypothesis .import_linter_cache .mypy_cache .pytest_cache .ruff_cache
	find src tests bench proof docs -name __pycache__ -prune -exec rm -rf {} +
