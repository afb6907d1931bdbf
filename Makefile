# `make test`, `make demo` and `make docs` each work alone in a fresh clone, with Python 3.11 or later.
# `make test-fast` runs the tests that are not marked as slow: two minutes on two cores.

PYTHON ?= python3
export SENTENCE
BIN := .venv/bin
PYTEST := $(BIN)/pytest --numprocesses auto --maxprocesses 4 --dist worksteal
PIP := $(BIN)/python -m pip --quiet --disable-pip-version-check
# Kernels are compiled by the first run, and modules when they are imported.
INSTALL := EIGENTREE_WITHOUT_KERNELS=1 $(PIP) install --no-compile --editable '.[serve]'

.PHONY: test types tests test-fast demo docs clean

# The types are checked while the tests compile kernels on the other core.
test: .venv/tests-ready
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	@$(MAKE) --no-print-directory --jobs 2 types tests

types: .venv/tests-ready
	$(BIN)/mypy

tests: .venv/tests-ready
	$(PYTEST)

test-fast: .venv/tests-ready
	$(BIN)/ruff check
	$(PYTEST) -m "not slow" tests

# Parses a few sentences of its own, or yours: make demo SENTENCE="The cat slept ."
demo: .venv/ready
	@PATH="$(CURDIR)/$(BIN):$$PATH" sh examples/demo.sh

# The site of docs/, which needs no network once it is built.
docs: .venv/docs-ready
	$(BIN)/sphinx-build -q -W --keep-going -c docs/site . docs/_build/html
	@echo "open docs/_build/html/index.html"

.venv/created: pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit("eigentree needs Python 3.11 or later; name one: make PYTHON=...") if sys.version_info < (3, 11) else None'
	@echo 'installing into .venv: a minute or two'
	$(PYTHON) -m venv .venv
	$(PIP) install --upgrade "pip>=25.1" # the first that reads [dependency-groups]
	@touch $@

.venv/ready: .venv/created
	$(INSTALL)
	@touch $@

.venv/docs-ready: .venv/created
	$(INSTALL) --group docs
	@touch $@

.venv/tests-ready: .venv/created
	$(INSTALL) --group dev
	@touch $@

clean:
	rm -rf .venv demo-output docs/_build .pytest_cache .mypy_cache .ruff_cache .hypothesis .coverage
