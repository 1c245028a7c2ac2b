# Everything runs in .venv, which is made on first use and kept up to date with pyproject.toml.
#
#   make demo              train examples/two_heads.py, an unchanged PyTorch script, on wengert
#   make test              the whole suite, with PyTorch 2.13.0 as the oracle
#   make test PARITY=0     without PyTorch: nothing is downloaded for it, its tests are skipped
#   make parity             every record that PyTorch has of what scripts use; counts into docs/compatibility.md
#   make ecosystem          packages built on PyTorch, run on wengert; a table into docs/compatibility.md
#   make accuracy           errors of the functions in kernels, measured, into docs/kernels.md
#   make release            sdist and wheel in dist/, checked, and tried in environments of their own
#   make lint docs bench clean
#
# PYTHON chooses the interpreter (3.11 or newer). pip reads your own configuration as usual.

PYTHON ?= python3
PARITY ?= 1
ARGS ?=

VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check
TORCH := torch==2.13.0

# One stamp for each set of dependencies; a newer pyproject.toml makes all of them old.
STAMPS := $(VENV)/.stamps
TORCH_STAMP := $(if $(filter 0,$(PARITY)),,$(STAMPS)/torch)

.PHONY: demo test parity ecosystem accuracy lint docs bench release clean
.DELETE_ON_ERROR:

demo: $(STAMPS)/demo
	$(BIN)/wengert run examples/two_heads.py

test: $(TORCH_STAMP) $(STAMPS)/test
	PARITY=$(PARITY) $(BIN)/python -m pytest --numprocesses auto --dist worksteal $(ARGS)

parity: $(STAMPS)/torch $(STAMPS)/test
	$(BIN)/python -m tests.parity.report --write
	$(BIN)/python -m tests.parity.compiled

ecosystem: $(STAMPS)/torch $(STAMPS)/test
	$(BIN)/python -m tests.ecosystem.report
	$(BIN)/python -m tests.ecosystem.suites

accuracy: $(STAMPS)/test
	$(BIN)/python benchmarks/accuracy.py --write

lint: $(STAMPS)/test
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

docs: $(STAMPS)/docs
	$(BIN)/mkdocs build --strict

bench: $(STAMPS)/torch $(STAMPS)/bench
	$(BIN)/python tools/prebuild.py
	$(BIN)/python benchmarks/overhead.py
	$(BIN)/python benchmarks/compare.py
	$(BIN)/python benchmarks/products.py
	$(BIN)/python benchmarks/sweep.py
	$(BIN)/python benchmarks/examples.py
	$(BIN)/python benchmarks/inference.py
	$(BIN)/python benchmarks/bfloat16.py
	$(BIN)/python benchmarks/transforms.py
	$(BIN)/python benchmarks/checkpoint.py
	$(BIN)/python benchmarks/graph.py
	$(BIN)/python benchmarks/distributed.py
	$(BIN)/python benchmarks/report.py

release: $(STAMPS)/release
	rm -rf dist
	$(BIN)/python tools/prebuild.py
	$(BIN)/python -m build --sdist
	$(BIN)/python -m build --wheel
	$(BIN)/python -m twine check --strict dist/*
	$(BIN)/python tools/release.py dist/*

clean:
	rm -rf $(VENV) build dist site benchmarks/results src/wengert/kernels/prebuilt
	rm -rf .mypy_cache .pytest_cache .ruff_cache .hypothesis
	find src tests tools benchmarks -name __pycache__ -type d -prune -exec rm -rf {} +

$(STAMPS):
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Python 3.11 or newer is needed: make PYTHON=python3.12 ...")'
	$(PYTHON) -m venv $(VENV)
	mkdir -p $(STAMPS)

# Exactly this version; before the other packages, so that none of them chooses one.
$(STAMPS)/torch: Makefile | $(STAMPS)
	$(PIP) '$(TORCH)'
	touch $@

$(STAMPS)/demo $(STAMPS)/test $(STAMPS)/docs $(STAMPS)/bench $(STAMPS)/release: $(STAMPS)/%: pyproject.toml | $(STAMPS)
	$(PIP) --editable '.[$*]'
	touch $@
