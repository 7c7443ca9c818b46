# Works with nothing but make, git and Python 3.11, 3.12 or 3.13. Another Python: make PYTHON=/path/to/python run

VENV := .venv
BIN := $(VENV)/bin
# Tests that share a started Daybook run in one process. Many wait for processes that they have started: more
# workers than the two cores of a small machine.
PYTEST_ARGS ?= -n 4 --dist loadgroup
PIP := $(BIN)/python -m pip install --disable-pip-version-check --require-hashes --no-deps
UV_COMPILE := $(BIN)/uv pip compile --universal --python-version 3.11 --generate-hashes --no-emit-index-url \
	--no-emit-find-links --no-annotate --no-header pyproject.toml
# Checks look at the settings but keep away from the data of a Daybook that runs here.
CHECK := DAYBOOK_DATA_DIR=$(VENV)/check-data

FITS := import sys; sys.exit(not (3, 11) <= sys.version_info < (3, 14))
PYTHON ?= $(shell for python in python3 python3.13 python3.12 python3.11 python; do \
	$$python -c "$(FITS)" 2>/dev/null && echo $$python && break; done)

.DEFAULT_GOAL := help
.PHONY: help run test lint imports types check-migrations test-sqlite test-postgres format docs screenshots bench lock migrations audit clean

help: ## List the targets
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sort | awk -F ':.*## ' '{printf "  %-18s %s\n", $$1, $$2}'

run: $(VENV)/run.stamp ## Set up and start Daybook; Ctrl-C stops it. DEMO=1 fills it with demo data first
	@$(if $(DEMO),$(BIN)/python manage.py migrate --verbosity 0 && $(BIN)/python manage.py seed_demo)
	@exec $(BIN)/python manage.py up

test: lint imports types check-migrations test-sqlite test-postgres ## Everything: lint, types, migrations, tests on both databases

lint: $(VENV)/dev.stamp ## Style and likely mistakes
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

imports: $(VENV)/dev.stamp ## Imports go one way
	$(BIN)/lint-imports

types: $(VENV)/dev.stamp ## Static types
	$(CHECK) $(BIN)/mypy .

check-migrations: $(VENV)/dev.stamp ## Every change of a model has its migration
	$(CHECK) $(BIN)/python manage.py makemigrations --check --dry-run

test-sqlite: $(VENV)/dev.stamp ## Tests on SQLite
	$(BIN)/python -m pytest $(PYTEST_ARGS)

test-postgres: $(VENV)/dev.stamp ## Tests on PostgreSQL and Redis
	$(BIN)/python -m pytest $(PYTEST_ARGS) --database=postgres

format: $(VENV)/dev.stamp ## Repair style where that can be done
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

docs: $(VENV)/dev.stamp ## Write the generated pages of docs/
	$(CHECK) $(BIN)/python manage.py api_docs

screenshots: $(VENV)/dev.stamp ## Take the README's pictures from demo data (needs Chromium)
	$(BIN)/python -m tests.browser.pictures

bench: $(VENV)/dev.stamp ## Measure speed
	$(BIN)/python manage.py bench

lock: $(VENV)/dev.stamp ## Choose the versions to install anew
	$(BIN)/python -m pip install --quiet --disable-pip-version-check uv
	$(UV_COMPILE) -o requirements.lock
	$(UV_COMPILE) --group dev -o requirements-dev.lock

migrations: $(VENV)/dev.stamp ## Write migrations for changed models
	$(CHECK) $(BIN)/python manage.py makemigrations

audit: $(VENV)/dev.stamp ## Known weaknesses of what is installed
	$(BIN)/pip-audit --require-hashes --disable-pip -r requirements.lock

clean: ## Remove the environment and all caches; data stays
	rm -rf $(VENV) .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

$(BIN)/python:
	@test -n "$(PYTHON)" || { echo "Daybook needs Python 3.11, 3.12 or 3.13; found none. Give one: make PYTHON=/path/to/python $(MAKECMDGOALS)" >&2; exit 1; }
	@$(PYTHON) -c "$(FITS)" || { echo "Daybook needs Python 3.11, 3.12 or 3.13; $(PYTHON) is $$($(PYTHON) -V 2>&1)." >&2; exit 1; }
	@echo "Making an environment in $(VENV) with $$($(PYTHON) -V)"
	@$(PYTHON) -m venv $(VENV)

$(VENV)/run.stamp: requirements.lock | $(BIN)/python
	@echo "Installing $$(grep -c == requirements.lock) packages"
	@$(PIP) -r requirements.lock
	@touch $@

$(VENV)/dev.stamp: requirements-dev.lock | $(BIN)/python
	@echo "Installing $$(grep -c == requirements-dev.lock) packages"
	@$(PIP) -r requirements-dev.lock
	@touch $(VENV)/run.stamp $@
