# Everything here runs from a fresh clone: the first target that needs it makes
# a virtual environment in .venv, and later ones use it as it is.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
INSTALLED := $(VENV)/.installed
INSTALLED_DOCS := $(VENV)/.installed-docs
PLAYGROUND := docs/_build/html/_static/playground/runtime
INSTALLED_BROWSER := $(VENV)/.installed-browser
PIP_INSTALL := $(BIN)/python -m pip install -qq --disable-pip-version-check
PYTEST := OPENBLAS_NUM_THREADS=1 $(BIN)/python -m pytest -n auto

.DEFAULT_GOAL := help
.PHONY: help demo test test-fast browser lint types imports format check docs links playground wheel clean

help: ## Show this list
	@echo "make TARGET, where TARGET is one of:"
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  %-10s %s\n", $$1, $$2 }' Makefile
	@echo "Another Python: make PYTHON=python3.12 TARGET (before .venv exists)"

$(INSTALLED): pyproject.toml
	@command -v $(PYTHON) >/dev/null || { \
	  echo "relvec needs Python 3.11 or newer, and '$(PYTHON)' was not found. Name one: make PYTHON=python3.12 ..." >&2; exit 1; }
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { \
	  echo "relvec needs Python 3.11 or newer, and '$(PYTHON)' is $$($(PYTHON) --version 2>&1). Name another: make PYTHON=python3.12 ..." >&2; exit 1; }
	@echo "Installing relvec and its tools into $(VENV) (a few minutes, the first time only)"
	@$(PYTHON) -m venv $(VENV)
	@$(PIP_INSTALL) -e ".[dev,plots]"
	@touch $@

$(INSTALLED_DOCS): $(INSTALLED)
	@echo "Installing the documentation tools into $(VENV)"
	@$(PIP_INSTALL) -e ".[docs]"
	@touch $@

$(INSTALLED_BROWSER): $(INSTALLED)
	@echo "Installing what drives a browser into $(VENV)"
	@$(PIP_INSTALL) -e ".[browser]"
	@touch $@

demo: $(INSTALLED) ## Run the demonstration; its files go to demo-output/
	@echo "Running relvec demo; its files go to demo-output/"
	@$(BIN)/relvec demo --output demo-output

test: $(INSTALLED) ## Run the whole test suite
	@echo "Running the whole test suite, one worker per core"
	@$(PYTEST)

test-fast: $(INSTALLED) ## Run the tests that are not marked slow
	@echo "Running the tests that are not marked slow, one worker per core"
	@$(PYTEST) -m "not slow"

# Where Chromium cannot be installed, the tests that need it say so and are skipped.
browser: $(INSTALLED_BROWSER) ## Get ready for the tests that open pages in Chromium
	@for name in chromium chromium-browser google-chrome chrome; do \
	  command -v $$name && exit 0; done; \
	  echo "Installing Chromium"; \
	  { apt-get -qq update && apt-get -qq install -y --no-install-recommends chromium fonts-liberation; } >/dev/null 2>&1 \
	  || echo "Chromium could not be installed: install it by hand, or leave those tests out"

lint: $(INSTALLED) ## Check style and formatting with ruff
	@echo "Checking style and formatting"
	@$(BIN)/python -m ruff check .
	@$(BIN)/python -m ruff format --check .

types: $(INSTALLED) ## Check types with mypy
	@echo "Checking types"
	@$(BIN)/python -m mypy

imports: $(INSTALLED) ## Check that imports respect the layers
	@echo "Checking that imports respect the layers"
	@$(BIN)/lint-imports

format: $(INSTALLED) ## Format the code and apply safe fixes
	@echo "Formatting the code and applying safe fixes"
	@$(BIN)/python -m ruff check --fix-only .
	@$(BIN)/python -m ruff format .

check: lint types imports ## Run lint, types and imports

docs: $(INSTALLED_DOCS) ## Build the documentation into docs/_build/html
	@echo "Building the documentation into docs/_build/html"
	@$(BIN)/python -m sphinx -n -W --keep-going -q -b html docs docs/_build/html

links: $(INSTALLED_DOCS) ## Check links to other sites, which takes a network
	@echo "Checking links to other sites"
	@$(BIN)/python -m sphinx -q -b linkcheck -D plot_gallery=0 docs docs/_build/links

playground: $(INSTALLED) ## Put Python for its playground beside the documentation
	@echo "Putting Python for the playground beside the documentation (a download, the first time only)"
	@$(BIN)/python tools/playground.py $(PLAYGROUND) --downloads docs/_build/playground

wheel: $(INSTALLED) ## Build the wheel and the source archive into dist/
	@echo "Building the wheel and the source archive into dist/"
	@$(BIN)/python -m build

clean: ## Remove everything that was generated, except .venv
	@echo "Removing everything that was generated, except $(VENV)"
	@rm -rf build dist demo-output htmlcov .coverage .coverage.* docs/_build docs/auto_examples
	@rm -rf .pytest_cache .mypy_cache .ruff_cache .import_linter_cache .hypothesis
	@find . -name __pycache__ -type d -not -path './$(VENV)/*' -prune -exec rm -rf {} +
