# Everything works from a fresh clone with Python 3.11+, pip and make.
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
WORKERS ?= 2
FUZZ_SECONDS ?= 60
SCALE_DATA ?= build/scale
SCALE_ROWS ?= 50_000_000

.PHONY: demo test lint bench bench-docs scale-data scale docs fuzz lock clean

demo: $(VENV)/installed
	$(BIN)/gaussnet demo

test: lint
	$(BIN)/python -m pytest -n $(WORKERS)

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

$(VENV)/developer: $(VENV)/installed
	$(BIN)/python -m pip install --quiet -c requirements/dev.lock -e ".[dev]"
	touch $@

$(VENV)/fuzzer: $(VENV)/developer
	$(BIN)/python -m pip install --quiet "atheris>=2.3,<4"
	touch $@
