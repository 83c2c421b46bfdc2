# Everything a contributor types. `make` or `make help` lists it.
.DEFAULT_GOAL := help
SHELL := /bin/bash
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
VERSION ?= 4.3.0
MINUTES ?= 5
WORKERS ?= 2
ARGS ?=
# What Python loads is compiled once, also where a machine's environment says otherwise.
unexport PYTHONDONTWRITEBYTECODE
# Each worker has one Spark session, which its tests share, and which keeps a single core busy most of the time.
TESTS = python -m pytest -n $(WORKERS) --dist worksteal

.PHONY: help setup demo shop test test-extended faults services test-services check format lint types imports test-spark fuzz fuzz-readers fuzz-recovery fuzz-once hostile functions borrowed bench bench-nexmark bench-growth flink tpch docs goldens lock clean

help:  ## this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## /{printf "  make %-13s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

setup: $(VENV)/.done  ## make .venv with the locked packages (and a Java, if this machine has none from 17 on)

$(VENV)/.done: requirements/dev.txt requirements/jvm.txt pyproject.toml scripts/setup.sh
	@PYTHON="$(PYTHON)" bash scripts/setup.sh $(VENV)
	@touch $@

demo: setup  ## replay the flights of 2013 through a program, live in the terminal; ENGINE=spark has all of it on Spark
	$(BIN)/penstock demo $(if $(ENGINE),--engine $(ENGINE)) $(ARGS)

shop: setup  ## an online shop over a real broker and a real database, for a minute; ARGS='--seconds 20' is less
	bash scripts/services.sh run $(BIN)/python examples/shop/shop.py $(ARGS)

test: setup  ## the tests; ARGS='-k joins' picks some, WORKERS=0 runs them in one process
	$(BIN)/$(TESTS) -m "not extended and not services" $(ARGS)

test-extended: setup  ## once more in another form: compacted, in other steps, on other systems, everywhere state can be
	PENSTOCK_TIER=extended $(BIN)/$(TESTS) -m "extended and not services" $(ARGS)

faults:  ## install what tests of faults want (a clock that jumps, calls that fail), as root on Debian
	@bash scripts/faults.sh

services: setup  ## install and start what tests of services want (a broker, a database); `scripts/services.sh stop` ends them
	@bash scripts/services.sh start

test-services: setup  ## the tests that want real services, which it starts and stops; ARGS='-m thin' is a thin slice
	bash scripts/services.sh run $(BIN)/$(TESTS) -m services $(ARGS)

check: setup lint types imports test  ## what has to pass before a commit: style, types, import contract, tests

lint: setup
	$(BIN)/ruff check
	$(BIN)/ruff format --check

format: setup  ## let ruff lay out the code and fix what it can
	$(BIN)/ruff check --fix
	$(BIN)/ruff format

types: setup
	$(BIN)/mypy

imports: setup
	@$(BIN)/lint-imports --no-cache > $(VENV)/imports.txt 2>&1 && grep "Contracts:" $(VENV)/imports.txt || { cat $(VENV)/imports.txt; exit 1; }

test-spark: setup  ## all tests on another Spark: make test-spark VERSION=4.2.0
	@PYTHON="$(PYTHON)" bash scripts/setup.sh .venv-$(VERSION) $(VERSION)
	PENSTOCK_TIER=extended .venv-$(VERSION)/bin/$(TESTS) $(ARGS)

fuzz: setup  ## random programs and changes against the oracle: make fuzz MINUTES=10
	$(BIN)/python -m penstock.testing.fuzz --minutes $(MINUTES) $(ARGS)

fuzz-once: setup  ## a real process killed KILLS=40 times between Kafka, PostgreSQL and Delta Lake: each row comes once
	PENSTOCK_KILLS=$(or $(KILLS),40) bash scripts/services.sh run $(BIN)/python -m pytest tests/services/test_ids_once.py

functions: setup  ## every example of Spark's function reference, as a view that must answer what Spark answers
	$(BIN)/python -m penstock.testing.fuzz --functions

borrowed: setup  ## queries that others wrote for Spark, as views in random steps: make borrowed FOLDER=sql-tests/inputs
	$(BIN)/python -m penstock.testing.borrowed $(FOLDER) $(ARGS)

bench: setup  ## measure what steps cost, and write docs/performance.md; ARGS=--quick to see that it works
	PYTHONPATH=. $(BIN)/python -m bench $(ARGS)

bench-nexmark: setup  ## NEXMark beside other systems, into docs/performance-nexmark.md; ARGS='--events 1000000 --queries q4'
	$(BIN)/penstock bench nexmark --against all --page docs/performance-nexmark.md $(ARGS)

flink:  ## the environment in which benchmarks run Flink SQL; it wants a JDK and Maven
	@PYTHON="$(PYTHON)" bash scripts/flink.sh

tpch:  ## the generator of the tables for decision support, one of the figures of `make bench`
	@PYTHON="$(PYTHON)" bash scripts/tpch.sh

bench-growth: setup  ## NEXMark over long runs and in steps of every size, into docs/performance-growth.md
	PYTHONPATH=. $(BIN)/python -m bench.nexmark.growth_command --page docs/performance-growth.md $(ARGS)

docs: setup  ## write the generated pages of docs/reference anew
	$(BIN)/python scripts/reference.py

fuzz-readers: setup  ## throw what there is at the readers of files: EXAMPLES=20000 of each kind, about twenty minutes
	PENSTOCK_FUZZ_EXAMPLES=$(or $(EXAMPLES),20000) $(BIN)/python -m pytest tests/sources/test_fuzz.py

hostile: setup  ## bits turned in every kind of file, and other attacks, at length
	PENSTOCK_TIER=extended $(BIN)/$(TESTS) tests/hostile $(ARGS)

fuzz-recovery: setup  ## kills, full disks, changed programs in any order against DuckDB: MINUTES=20, ARGS=--apart
	$(BIN)/python -m tests.recovery --minutes $(MINUTES) $(ARGS)

goldens: setup  ## rewrite the expected texts that tests compare with; look at the diff
	PENSTOCK_GOLDENS=write $(BIN)/python -m pytest -m "not spark" $(ARGS)

lock:  ## resolve the pinned versions anew
	@PYTHON="$(PYTHON)" bash scripts/lock.sh

clean:  ## remove what make and the tools made here
	bash scripts/services.sh stop
	rm -rf .services .venv .venv-* build dist .pytest_cache .mypy_cache .ruff_cache .hypothesis .import_linter_cache
