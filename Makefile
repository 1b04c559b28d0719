# make run · make test · make test-all · make check: each sets up what it needs first, and does it once.
# make run PORT=8600 listens elsewhere; OPTIONS=--allow-hub and the like are passed on (eyeline app --help).
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready
CLIENTS_READY := $(VENV)/.clients
NODE_READY := frontend/node_modules/.package-lock.json
PORT ?= 8501
WORKSPACE ?= eyeline-workspace
OPTIONS ?=
# Test processes, with one thread each. Twice as many as two cores: tests in a browser, of Ray and of the app mostly wait.
WORKERS ?= 4
# Tests start many processes: bytecode is kept, else each of them compiles every file again.
unexport PYTHONDONTWRITEBYTECODE
EXTRAS := gguf,notebook,plots,app,embed,corpora,datasets,remote,ray,docs,dev

.PHONY: run ready-sentences sample comes-up test test-all test-frontend test-clients test-families test-cluster test-lowest test-python test-adapters check check-style check-types check-frontend check-examples format generated frontend docs bench bench-peers golden results setup ready system clean attack gallery

# The sentences that the app draws before a model is open: their traces, and what each head does to the answer.
ready-sentences: $(READY)
	$(BIN)/python -m scripts.ready_sentences

# The app, until Ctrl-C.
run: $(READY)
	@$(BIN)/eyeline app --port $(PORT) --workspace "$(WORKSPACE)" $(OPTIONS)

# The same without an app: what a sentence's attention looks like, as numbers and as one page.
sample: $(READY)
	@$(BIN)/eyeline trace "The cat sat on the mat." --pair "It purred."
	@mkdir -p out
	@$(BIN)/eyeline view "The cat sat on the mat." --pair "It purred." -o out/cat.html
	@echo "Open out/cat.html in a browser to look at it."

# make run, visited and stopped: for machines.
comes-up: $(READY)
	$(BIN)/python scripts/app_comes_up.py

# What a change should pass. A file's tests stay together, files go to the next free process, long ones first; else the order is random,
# its seed is printed.
PYTEST = $(BIN)/python -m pytest -n $(WORKERS) --dist loadfile --no-loadscope-reorder
test: $(READY) test-frontend system
	$(PYTEST)

# With the slow ones: load, UMAP and t-SNE, large pages, JupyterLab and marimo, killed processes, twenty families of models, every language
# and kind of what `make test` tries once.
test-all: $(READY) test-frontend $(CLIENTS_READY) system
	$(PYTEST) --tier all

test-frontend: $(NODE_READY)
	cd frontend && npm test

# The views in JupyterLab and in marimo, driven by a browser. These two are 260 MB, so a plain set-up leaves them out.
test-clients: $(CLIENTS_READY) system
	$(BIN)/python -m pytest --tier all tests/clients

# Every family of models that transformers can build, in a small random configuration; writes docs/models.md.
test-families: $(READY)
	rm -rf out/families
	$(PYTEST) --tier families tests/families
	$(BIN)/python -m tests.families.table

# The longest tests of worker processes and of Ray clusters, of four nodes too; the others are in make test-all.
test-cluster: $(READY)
	$(BIN)/python -m pytest --tier cluster tests/measure/engines

# Our adapters beside the libraries that people come from: TransformerLens, nnsight, BertViz, CircuitsVis, JAX, TensorFlow (2 GB, in a folder of
# their own, without their requirements: torch and transformers stay as they are).
ADAPTERS := .venv-adapters
test-adapters: $(READY)
	$(BIN)/python -m pip install --quiet --no-deps --upgrade --target $(ADAPTERS) -r tests/adapters/requirements.txt
	PYTHONPATH=$(CURDIR)/$(ADAPTERS) $(BIN)/python -m pytest --tier all tests/adapters tests/models/test_quantised.py

# Our analyses beside those of other libraries, which lie in a folder of their own in the same way. What is not installed is named and left out.
PEERS := .venv-peers
bench-peers: $(READY)
	$(BIN)/python -m pip install --quiet --no-deps --upgrade --target $(PEERS) -r benchmarks/peers/requirements.txt
	PYTHONPATH=$(CURDIR)/$(PEERS) $(BIN)/python -m benchmarks.peers.causes -o benchmarks/peers/causes.json

# The lowest versions that pyproject.toml declares, in an environment of their own, and the tests of what they have broken before.
# The cache is empty, so that packed models are read by these versions too, not by those that unpacked them before.
# torch stays at 2.13.0: other CPU builds are not to be had here, so its own lower bound is not tried.
LOWEST := .venv-lowest
test-lowest:
	test -x $(LOWEST)/bin/python || $(PYTHON) -m venv $(LOWEST)
	$(PYTHON) scripts/lowest.py > $(LOWEST)/lowest.txt
	$(LOWEST)/bin/python -m pip install --quiet -c $(LOWEST)/lowest.txt torch
	$(LOWEST)/bin/python -m pip install --quiet -c $(LOWEST)/lowest.txt -e ".[gguf,notebook,plots,embed]" pytest hypothesis psutil sentencepiece
	sh scripts/install-models $(LOWEST)/bin/python
	rm -rf $(LOWEST)/cache
	XDG_CACHE_HOME=$(CURDIR)/$(LOWEST)/cache $(LOWEST)/bin/python -m pytest -p no:randomly $(LOWEST_TESTS)
LOWEST_TESTS := tests/models tests/look tests/mathematics $(addprefix tests/measure/,runs statistics corpus space compare) tests/test_kinds.py tests/show/cli/test_cli.py

# Another version of Python: make test-python PYTHON=python3.13. The wheel is built and installed with its extras into an environment of that
# version; the quick tests of all folders but show/ run there, then README's blocks from the wheel. Where pip has no CPU build of torch for
# this version it takes the one for GPUs, with its libraries: 8 GB on the disk.
OTHER := .venv-python
OTHER_TESTS := $(addprefix tests/,storage text mathematics look models measure words test_figures.py test_kinds.py)
test-python:
	rm -rf $(OTHER)
	$(PYTHON) -m venv $(OTHER)
	$(OTHER)/bin/python -m pip install --quiet -c constraints.txt torch build hatchling
	$(OTHER)/bin/python -m build --wheel --no-isolation --outdir $(OTHER)/dist .
	$(OTHER)/bin/python -m pip install --quiet -c constraints.txt "$$(ls $(OTHER)/dist/*.whl)[$(EXTRAS)]"
	sh scripts/install-models $(OTHER)/bin/python
	XDG_CACHE_HOME=$(CURDIR)/$(OTHER)/cache $(OTHER)/bin/python -m pytest $(OTHER_TESTS)
	XDG_CACHE_HOME=$(CURDIR)/$(OTHER)/cache $(OTHER)/bin/python -m pytest --tier all tests/test_package.py

# Style, types, layers, the front end, and the examples of docstrings. `make -j2 check` runs two of them at a time.
check: check-style check-types check-frontend check-examples

check-style: $(READY)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/lint-imports

check-types: $(READY)
	$(BIN)/mypy

check-frontend: $(NODE_READY)
	cd frontend && npm run check

check-examples: $(READY)
	$(BIN)/python -m pytest --doctest-modules src/eyeline -q --ignore=src/eyeline/models/triton_kernel.py --ignore=src/eyeline/show/app/entry

format: $(READY)
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

# What the front end and the documentation take from Python: labels, colours, options of views (scripts/generate.py says which files).
generated: $(READY)
	$(BIN)/python scripts/generate.py

# Rebuild the scripts of the front end, which are committed.
frontend: $(NODE_READY) generated
	cd frontend && npm run build

# The site of the documentation, in out/site: open out/site/index.html, no server is needed. A warning is an error.
docs: $(READY)
	NO_MKDOCS_2_WARNING=1 $(BIN)/python -m mkdocs build --strict --quiet
	@echo "Open out/site/index.html in a browser."

# Attacks on everything that reads what others wrote; writes the table of docs/trust.md. Loopback only.
attack: $(READY)
	$(BIN)/python -m tests.attack

# Every head of the embedded models as plain pages, ready for any static host; open out/gallery/index.html. What was measured before is kept.
gallery: $(READY)
	$(BIN)/eyeline gallery all -o out/gallery

# Everything users can observe, in out/golden: its texts are compared with those in tests/golden/texts. Numbers are compared between two commits on
# one machine: python scripts/golden.py compare BEFORE AFTER.
golden: $(READY)
	$(BIN)/python scripts/golden.py out/golden
	$(BIN)/python scripts/golden.py check out/golden

bench: $(READY)
	$(BIN)/python -m benchmarks.cost.capture

# Every table of docs/results.md, benchmarks/README.md and README.md, measured again where this machine can: hours, on a machine that does nothing else.
# make results OPTIONS=--list shows what would run; OPTIONS="capture syntax" chooses.
results: $(READY)
	$(BIN)/python -m benchmarks.results $(OPTIONS)

setup: $(READY)

# All that the tests need. `make -j3 ready` installs packages of Python, of Node and of the system at the same time.
ready: $(READY) $(CLIENTS_READY) $(NODE_READY) system

# torch comes first and pinned: an unpinned torch would pull gigabytes of GPU libraries. The pip that comes with Python 3.11 chooses versions three
# times slower than today's. Bytecode is written when a module is first imported: most of what is installed never is.
$(READY): pyproject.toml constraints.txt src/eyeline/look/requirements-models.txt
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --no-compile -c constraints.txt --upgrade pip
	$(BIN)/python -m pip install --quiet --no-compile -c constraints.txt torch
	$(BIN)/python -m pip install --quiet --no-compile -c constraints.txt -e ".[$(EXTRAS)]"
	sh scripts/install-models $(BIN)/python
	$(BIN)/eyeline models unpack
	touch $(READY)

$(CLIENTS_READY): $(READY)
	$(BIN)/python -m pip install --quiet --no-compile -c constraints.txt -e ".[clients]"
	touch $(CLIENTS_READY)

$(NODE_READY): frontend/package.json frontend/package-lock.json
	cd frontend && npm install --no-save --silent --no-audit --no-fund
	touch $(NODE_READY)

# What pip cannot install: a browser for the tests of the views. Installed where we may; the tests that need it say so where not.
system:
	@sh scripts/system-packages

clean:
	rm -rf $(VENV) $(LOWEST) $(OTHER) $(ADAPTERS) frontend/node_modules dist build out .pytest_cache .mypy_cache .ruff_cache .hypothesis
