# Everything works from a fresh clone with Python 3.11+, pip and make.
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
WORKERS ?= 2
FUZZ_SECONDS ?= 60
SCALE_DATA ?= build/scale
SCALE_ROWS ?= 50_000_000
# Packages of which the tests read only a table, so nothing that they need is installed.
TABLES := cdt==0.6.0 robpy==0.0.6

.PHONY: demo test test-fast test-matrix test-oldest lint bench bench-docs scale-data scale docs fuzz \
	fuzz-kernels sanitize release-check lock clean

demo: $(VENV)/installed
	$(BIN)/gaussnet demo

test: lint
	$(BIN)/python -m pytest -n $(WORKERS)

# The quick tests of every layer, under a minute on 2 cores.
test-fast: $(VENV)/developer
	$(BIN)/python -m pytest -n $(WORKERS) tests/graph tests/planning/test_plan.py tests/model/test_network.py \
		tests/data/test_rows.py tests/fitting/test_least_squares.py tests/methods/robust/test_regression.py

# The tests that depend on the processor, on emulated ones; MATRIX=--short for a few of them.
test-matrix: $(VENV)/developer
	scripts/test_matrix.sh $(BIN)/python $(MATRIX)

# The oldest versions that pyproject.toml allows; OLDEST names what is tested.
OLDEST ?= tests/data tests/cli tests/graph tests/model tests/fitting
test-oldest: $(VENV)/oldest
	$(VENV)/oldest-set/bin/python -m pytest -n $(WORKERS) $(OLDEST)

lint: $(VENV)/developer
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

bench: $(VENV)/developer
	$(BIN)/python -m benchmarks

# 8 GB of Parquet (SCALE_ROWS=5_000_000 makes 0.8 GB); `scale` fits it beside reading it.
scale-data: $(VENV)/developer
	$(BIN)/python -m benchmarks.scale data $(SCALE_DATA) --rows $(SCALE_ROWS)

scale: $(VENV)/developer
	$(BIN)/python -m benchmarks.scale run $(SCALE_DATA)

docs: $(VENV)/developer
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict
	@echo "open build/site/index.html"

fuzz: $(VENV)/fuzzer
	$(BIN)/python fuzz/fuzz_parsers.py -max_total_time=$(FUZZ_SECONDS) -print_final_stats=1

# Kernels with arguments of any kind, and tests, on a build that watches memory and arithmetic (GCC).
sanitize: $(VENV)/developer
	scripts/sanitize.sh $(BIN)/python $(FUZZ_SECONDS)

fuzz-kernels: $(VENV)/developer
	$(BIN)/python fuzz/fuzz_kernels.py --seconds $(FUZZ_SECONDS)

# What a release needs: sdist, wheel, their checks, and README's tour in a fresh environment.
release-check: $(VENV)/bin/python
	scripts/release_check.sh $(BIN)/python

bench-docs: $(VENV)/developer
	$(BIN)/python -m benchmarks --docs

lock: $(VENV)/developer
	$(BIN)/python -m pip freeze --exclude-editable --exclude pip --exclude setuptools \
		| sort > requirements/dev.lock

clean:
	rm -rf $(VENV) build dist src/*.egg-info src/gaussnet/kernels/*.so

$(VENV)/bin/python:
	$(PYTHON) -m venv $(VENV)

$(VENV)/installed: $(VENV)/bin/python pyproject.toml setup.py requirements/dev.lock
	$(BIN)/python -m pip install --quiet -c requirements/dev.lock -e .
	touch $@

$(VENV)/developer: $(VENV)/bin/python pyproject.toml setup.py requirements/dev.lock
	$(BIN)/python -m pip install --quiet -c requirements/dev.lock -e ".[dev]"
	$(BIN)/python -m pip install --quiet --no-deps $(TABLES)
	touch $(VENV)/installed $@

$(VENV)/oldest: $(VENV)/bin/python pyproject.toml requirements/oldest.lock
	$(PYTHON) -m venv $(VENV)/oldest-set
	$(VENV)/oldest-set/bin/python -m pip install --quiet -r requirements/oldest.lock "setuptools>=77"
	$(VENV)/oldest-set/bin/python -m pip install --quiet --no-deps --no-build-isolation -e .
	touch $@

$(VENV)/fuzzer: $(VENV)/developer
	$(BIN)/python -m pip install --quiet "atheris>=2.3,<4"
	touch $@
