# make demo: install into .venv and run the main job on the corpus in fixtures/demo.
# make test: install what tests need and run them. Both work as the only command on a fresh clone.
PYTHON ?= python3
VENV = .venv
BIN = $(VENV)/bin
DEMO = build/demo

.PHONY: demo test coverage lint bench man clean

$(BIN)/python:
	$(PYTHON) -c 'import sys; sys.exit("git-kb needs Python 3.11 or later, this is %d.%d; try: make PYTHON=python3.11" % sys.version_info[:2] if sys.version_info < (3, 11) else 0)'
	$(PYTHON) -m venv $(VENV)

$(VENV)/.installed: setup.cfg setup.py pyproject.toml $(wildcard bin/*) $(shell find git_kb -name '*.py') | $(BIN)/python
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --prefer-binary '.[code]'
	touch $@

$(VENV)/.dev: setup.cfg pyproject.toml $(wildcard bin/*) | $(BIN)/python
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --prefer-binary -e '.[code,dev]'
	touch $@

demo: $(VENV)/.installed
	PATH="$(CURDIR)/$(BIN):$$PATH" sh fixtures/demo/run.sh $(DEMO)

test: $(VENV)/.dev
	$(BIN)/python -m pytest -n auto

# The same, half as slow again, with what no test runs.
coverage: $(VENV)/.dev
	$(BIN)/python -m pytest -n auto --cov=git_kb --cov-report=term:skip-covered

lint: $(VENV)/.dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

bench: $(VENV)/.dev
	$(BIN)/python bench/bench_spine.py

man: $(BIN)/python
	$(BIN)/python -m pip wheel --quiet --disable-pip-version-check --no-deps --wheel-dir build/dist .
	cd build/dist && unzip -o -q -j *.whl '*/man1/*' -d ../man && ls ../man

clean:
	rm -rf $(VENV) build dist *.egg-info
