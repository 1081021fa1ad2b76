# make run    create the environment, install, start the app and print its address (PORT=5006; a free port if that is taken)
# make test   everything on a fresh machine: make check beside all tests (apache-tvm and a Chromium are fetched where missing)
# make test-deep  the tests that are slow or take samples, with many samples: hours (PYTEST='-k routes' for some of them)
# make check  ruff, basedpyright, prettier, eslint, tsc, node's tests, the repository as a whole
# make components  bundle the JavaScript components that changed
# make seeds  write docs/seeds.md, the five discussions as this version reads and simulates them
# make film   film strips of the ways in, into artefacts/films (ARGS='--posts FOLDER')
# make clean  remove what the others made

VENV := .venv
PY := $(VENV)/bin/python
PORT ?= 5006
JOBS ?= 2
PYTEST ?=

# Tests start hundreds of processes: without bytecode each would compile what it imports.
export PYTHONDONTWRITEBYTECODE :=
COMPONENTS := $(PY) static/bundling/backend.py

.PHONY: run test test-deep check components format seeds film clean environment help

help:
	@sed -n 's/^# //p' Makefile

run: $(VENV)/.installed-run
	@$(COMPONENTS)
	@$(VENV)/bin/tilewright serve --port $(PORT)

test: $(VENV)/.installed-dev
	@rm -rf artefacts && mkdir artefacts
	@$(COMPONENTS)
	@$(MAKE) check >artefacts/check.txt 2>&1 & check=$$!; \
	chromium="$$($(PY) tests/support/browser/chromium.py --install)" && \
	TILEWRIGHT_CHROMIUM="$$chromium" HYPOTHESIS_PROFILE="$${HYPOTHESIS_PROFILE:-ci}" \
	$(PY) -m pytest -n $(JOBS) --dist loadgroup --tb=native --junit-xml=artefacts/tests.xml $(PYTEST); tests=$$?; \
	wait $$check; check=$$?; cat artefacts/check.txt; exit $$((tests | check))

test-deep: $(VENV)/.installed-dev
	@$(COMPONENTS)
	HYPOTHESIS_PROFILE=deep $(PY) -m pytest -n $(JOBS) -m 'deep or slow' $(PYTEST)

check: $(VENV)/.installed-dev
	$(PY) -m ruff check .
	$(PY) -m ruff format --check .
	@$(PY) -m basedpyright --pythonpath $(PY) & types=$$!; \
	$(COMPONENTS) check test && \
	$(PY) -m pytest -q -m check tests/test_architecture.py tests/test_repository.py tests/face/test_types.py; rest=$$?; \
	wait $$types && exit $$rest

components: $(VENV)/.installed-run
	$(COMPONENTS)

format: $(VENV)/.installed-dev
	$(PY) -m ruff check --fix .
	$(PY) -m ruff format .
	$(COMPONENTS) format

seeds: $(VENV)/.installed-dev
	PYTHONPATH=tests $(PY) -m support.record.seeds docs/seeds.md

film: $(VENV)/.installed-dev
	@$(COMPONENTS)
	PYTHONPATH=tests $(PY) bench/films.py $(ARGS)

environment: $(VENV)/.installed-dev

# The stamps are written last: an installation that was interrupted is done again.
$(VENV)/.made:
	"$$(sh .ci/find-python)" -m venv $(VENV)
	@touch $@

$(VENV)/.installed-run: pyproject.toml $(VENV)/.made
	$(PY) -m pip install --no-compile --quiet --disable-pip-version-check --editable '.[prove,explore,components]'
	@touch $@

$(VENV)/.installed-dev: pyproject.toml $(VENV)/.made
	$(PY) -m pip install --no-compile --quiet --disable-pip-version-check --editable '.[tvm,prove,explore,jupyter,components,dev]'
	@touch $@ $(VENV)/.installed-run

clean:
	rm -rf $(VENV) artefacts build dist tilewright.egg-info .pytest_cache .ruff_cache .hypothesis
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
