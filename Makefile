# Everything a person types. Set-up is tools/setup.py: it does nothing twice.
PYTHON ?= python3
BIN := .venv/bin
SETUP := @$(PYTHON) tools/setup.py
MAKEFLAGS += --no-print-directory
.DEFAULT_GOAL := help
CPP_SOURCES := git ls-files -co --exclude-standard '*.cpp' '*.hpp'
.PHONY: help setup fpga-emulator mpi run test sanitize lint ruff mypy schema clang-format clang-tidy format bench

help: ## show this
	@sed -n 's/^\([a-z-]*\):.*## /  make \1\t/p' $(MAKEFILE_LIST) | expand -t 18

setup: ## make .venv with isthmus in it
	$(SETUP) run

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

test: ## C++ tests, then Python tests
	$(SETUP) test
	@status=0; $(PYTHON) tools/cpp_tests.py $(if $(CI),--sanitize) || status=1; \
	$(BIN)/python -m pytest $(ARGS) || status=1; exit $$status

sanitize: ## C++ tests with the address, undefined and thread sanitizers
	$(SETUP) test
	@$(PYTHON) tools/cpp_tests.py --sanitize

lint: ## every check of style, types and likely bugs
	$(SETUP) lint
	@$(MAKE) --keep-going ruff mypy schema clang-format clang-tidy

ruff:
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

mypy:
	$(BIN)/mypy

schema:
	$(BIN)/python tools/write_schema.py --check

clang-format:
	$(CPP_SOURCES) | xargs $(BIN)/clang-format --dry-run -Werror

clang-tidy:
	$(PYTHON) tools/clang_tidy.py

format: ## format Python and C++
	$(SETUP) lint
	@$(BIN)/ruff format .
	@$(CPP_SOURCES) | xargs $(BIN)/clang-format -i

bench: ## compare with other tools
	$(SETUP) bench
	@for benchmark in benchmarks/*.py; do echo "$$benchmark"; $(BIN)/python $$benchmark || exit; done
