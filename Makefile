# tickyard: everything a newcomer types. Each target sets up what it needs.
PORT ?= 8402
DEMO_HISTORY ?= 3
DAYS ?= 1000
PYTHON ?= python3
BIN := .venv/bin
# A sandbox is a dozen processes: each would compile all of the code again.
unexport PYTHONDONTWRITEBYTECODE

.DEFAULT_GOAL := help
.PHONY: help up test quick prove packaged simulate check bench format lock setup

help: ## this list
	@awk 'BEGIN {FS = ":.*## "; print "make TARGET"} /^[a-z]+:.*## / {printf "  %-8s %s\n", $$1, $$2}' Makefile

up: ## run the whole service on a sandbox of its own (PORT=8402)
	@$(MAKE) --no-print-directory -j2 setup
	@$(BIN)/tickyard up --port $(PORT) --demo-history $(DEMO_HISTORY)

# What starts nodes and servers has the machine to itself; the rest runs side by side.
WITH_SERVERS := $(BIN)/python -m pytest -m "node or database"
WITHOUT := $(BIN)/python tests/side_by_side.py

test: ## run all tests; the large proofs at a seeded tenth
	@$(MAKE) --no-print-directory -j2 setup
	@$(WITH_SERVERS)
	@$(WITHOUT)

quick: ## run the tests that need no node and no database server
	@$(MAKE) --no-print-directory -j2 setup
	@TICKYARD_PROVE=quick $(WITHOUT)

prove: ## run all tests with the proofs at their full count
	@$(MAKE) --no-print-directory -j2 setup
	@TICKYARD_PROVE=full $(WITH_SERVERS)
	@TICKYARD_PROVE=full $(WITHOUT)

# Programs of Debian's packages: apt-get install caddy prometheus systemd
packaged: ## check what deploy/ is made of with caddy, promtool and systemd-analyze (apt-get install caddy prometheus systemd)
	@$(MAKE) --no-print-directory -j2 setup
	@$(BIN)/python -m pytest deploy/checks

simulate: ## live through DAYS simulated days of the reward program (DAYS=1000)
	@$(MAKE) --no-print-directory -j2 setup
	@cd tests/simulation && ../../$(BIN)/python -m simulated.run --total $(DAYS)

check: ## check format, lint, types and the import stairs
	@$(MAKE) --no-print-directory -j2 setup
	@$(BIN)/ruff format --check --quiet . || { echo "run: make format"; exit 1; }
	@$(BIN)/ruff check --quiet .
	@$(BIN)/mypy
	@$(BIN)/lint-imports --no-cache
	@$(BIN)/python -m tickyard.doors.describe.released docs/openapi.released.json

bench: ## measure speed next to references in the same run
	@$(MAKE) --no-print-directory -j2 setup
	@$(BIN)/python -m bench

format: ## format the code
	@$(MAKE) --no-print-directory -j2 setup
	@$(BIN)/ruff format .
	@$(BIN)/ruff check --fix .

lock: ## renew requirements.lock from pyproject.toml
	@$(MAKE) --no-print-directory -j2 setup
	@$(BIN)/python -m pip install --quiet uv
	@$(BIN)/uv pip compile --quiet --upgrade --universal --python-version 3.11 --generate-hashes --no-emit-index-url \
	  --no-annotate --no-header --extra sandbox --extra dev --extra intel pyproject.toml --output-file requirements.lock

setup: .venv/ready node_modules/ready
	@:

.venv/ready: requirements.lock pyproject.toml
	@echo "installing the Python packages (once)"
	@$(PYTHON) -c 'import sys; sys.exit("tickyard needs Python 3.11 or newer") if sys.version_info < (3, 11) else None'
	@$(PYTHON) -m venv .venv
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --require-hashes -r requirements.lock
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation --editable .
	@touch $@

node_modules/ready: package-lock.json
	@echo "installing the EVM node and the public contracts (once)"
	@npm ci --silent --no-audit --no-fund --ignore-scripts
	@touch $@
