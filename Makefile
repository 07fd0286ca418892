# Everything a person types. Set-up is tools/setup.py: it does nothing twice.
PYTHON ?= python3
BIN := .venv/bin
SETUP := @$(PYTHON) tools/setup.py
MAKEFLAGS += --no-print-directory
.DEFAULT_GOAL := help
STAGE := @$(PYTHON) tools/stage.py
# What protects rarely touched ground is tested where CI is set, and by test-all.
PYTEST = $(if $(CI),,-m "not slow")
# CI names the slowest tests, so that its time can be cut where the time goes.
SLOWEST = $(if $(CI),--durations=25 --durations-min=5)
PYTESTS = $(BIN)/python -m pytest -n auto $(PYTEST) $(SLOWEST)
TEST_EMULATION = $(PYTHON) tools/stage.py "Emulation: Python tests" $(PYTESTS) emulation/tests
CPP_SOURCES := git ls-files -co --exclude-standard '*.cpp' '*.hpp'
.PHONY: help setup fpga-emulator mpi run dev test test-emulation test-all conformance sanitize coverage lint lint-all ruff mypy schema prose clang-format clang-tidy format docs bench faults wheel sbom

help: ## show this
	@sed -n 's/^\([a-z-]*\):.*## /  make \1\t/p' $(MAKEFILE_LIST) | expand -t 18

setup: ## make .venv with isthmus and isthmus-emulation in it
	$(SETUP) run

dev: ## the same, with what tests and checks need, for .venv/bin/python -m pytest
	$(SETUP) test lint

fpga-emulator: ## add Intel's FPGA emulator (its own licence) as device opencl:fpga-emulator
	$(SETUP) fpga-emulator

mpi: ## add MPI (mpi4py and Open MPI), for mpirun -n N isthmus run beff
	$(SETUP) mpi

run: ## measure what is here (ARGS="--device ..." to choose) and write the report
	$(SETUP) run
	@mkdir -p runs; run=runs/$$(date +%Y-%m-%dT%H-%M-%S); status=0; \
	$(BIN)/isthmus run all --quick --out $$run.json $(ARGS) || status=$$?; \
	if [ -e $$run.json ]; then $(BIN)/isthmus report $$run.json --out $$run || status=$$?; fi; \
	exit $$status

test: ## C++ tests, then Python tests; not the slow ones (ARGS="tests/test_x.py -k ..." to choose)
	$(SETUP) test $(if $(PYTEST),,slow)
	@status=0; $(PYTHON) tools/cpp_tests.py || status=1; \
	$(if $(CI),$(PYTHON) tools/cpp_tests.py --further || status=1;) \
	$(PYTHON) tools/stage.py "Python tests" $(PYTESTS) $(or $(ARGS),tests) || status=1; \
	$(if $(ARGS),,$(TEST_EMULATION) || status=1;) exit $$status

test-emulation: ## the tests of the emulation of XRT alone
	$(SETUP) test
	@status=0; $(PYTHON) tools/cpp_tests.py --emulation || status=1; $(TEST_EMULATION) || status=1; exit $$status

test-all: ## every test but the sanitizers'
	@$(MAKE) test PYTEST=

conformance: ## what every backend must do, on one: make conformance BACKEND=null
	$(SETUP) conformance
	@$(PYTHON) tools/cpp_tests.py --conformance "$(BACKEND)"

sanitize: ## C++ tests with the address, undefined and thread sanitizers, and without Verilator
	$(SETUP) test
	@$(PYTHON) tools/cpp_tests.py --further

coverage: ## which lines of cpp/, card/ and emulation/ the C++ tests run
	$(SETUP) test coverage
	@$(PYTHON) tools/cpp_tests.py --coverage

faults: ## provoke faults in real runs, and count what is lost, wrong or left (ARGS=--short: less)
	$(SETUP) test
	@$(BIN)/python tests/faults.py $(ARGS)

lint: ## every check of style, types and likely bugs, of C++ where something changed since BASE
	$(SETUP) lint
	@$(MAKE) --keep-going --jobs 2 --output-sync ruff mypy schema prose clang-format clang-tidy docs

lint-all: ## the same, of all C++ sources
	@$(MAKE) lint ALL=--all

ruff:
	$(STAGE) "ruff check" $(BIN)/ruff check .
	$(STAGE) "ruff format" $(BIN)/ruff format --check .

mypy:
	$(STAGE) mypy $(BIN)/mypy

prose:
	$(STAGE) prose $(PYTHON) tools/prose.py

schema:
	$(STAGE) schema $(BIN)/python tools/write_schema.py --check

clang-format:
	$(STAGE) clang-format $(BIN)/clang-format --dry-run -Werror $$($(CPP_SOURCES))

clang-tidy:
	$(STAGE) clang-tidy $(PYTHON) tools/clang_tidy.py $(ALL)

format: ## format Python and C++
	$(SETUP) lint
	@$(BIN)/ruff format .
	@$(CPP_SOURCES) | xargs $(BIN)/clang-format -i

docs: ## the documentation as a site in build/site; its links and anchors are checked
	$(SETUP) docs
	$(STAGE) docs env NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build

wheel: ## an sdist of each package, and from it a wheel, in dist/
	$(SETUP) package
	@$(BIN)/python tools/make_wheel.py

sbom: ## what an installation consists of, as CycloneDX: dist/isthmus.cdx.json
	$(SETUP) run sbom
	@mkdir -p dist
	@$(BIN)/cyclonedx-py environment $(BIN)/python --pyproject pyproject.toml --output-reproducible -o dist/isthmus.cdx.json

bench: ## compare with other tools
	$(SETUP) bench
	@for benchmark in benchmarks/*.py; do echo "$$benchmark"; $(BIN)/python $$benchmark || exit; done
