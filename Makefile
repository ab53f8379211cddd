# tickyard: everything a newcomer types. Each target sets up what it needs.
PORT ?= 8402
DEMO_HISTORY ?= 3
DAYS ?= 1000
MINUTES ?= 10
N ?= 300
SEED ?=
WITHIN ?= 120
PYTHON ?= python3
BIN := .venv/bin
# A sandbox is a dozen processes: each would compile all of the code again.
unexport PYTHONDONTWRITEBYTECODE

.DEFAULT_GOAL := help
.PHONY: help up test quick prove packaged storm cover mutants simulate check client pictures bench format lock setup

help: ## this list
	@awk 'BEGIN {FS = ":.*## "; print "make TARGET"} /^[a-z]+:.*## / {printf "  %-8s %s\n", $$1, $$2}' Makefile

up: ## run the whole service on a sandbox of its own (PORT=8402)
	@$(MAKE) --no-print-directory -j2 setup
	@$(BIN)/tickyard up --port $(PORT) --demo-history $(DEMO_HISTORY)

# What starts nodes and servers has the machine to itself; the rest runs side by side.
SERVERS := pytest -m "node or database"
WITHOUT := $(BIN)/python tests/side_by_side.py
MEASURED := $(BIN)/python -m coverage run -m
IN_PROCESS := builds_executed checks_executed checks_failing market_reads mirror mirror_feed mirror_lies quotes_executed \
  sending trader

test: ## run all tests; the large proofs at a seeded tenth
	@$(MAKE) --no-print-directory -j2 setup
	@$(BIN)/python tests/browser/chromium.py
	@$(BIN)/python tests/covered.py --forget
	@$(MEASURED) $(SERVERS)
	@$(WITHOUT) --cover
	@touch .coverage/ready
	@$(BIN)/python tests/covered.py

quick: ## run the tests that need no node, no database server and next to no time
	@$(MAKE) --no-print-directory -j2 setup
	@TICKYARD_PROVE=quick $(WITHOUT)

prove: ## run all tests with the proofs at their full count
	@$(MAKE) --no-print-directory -j2 setup
	@$(BIN)/python tests/browser/chromium.py
	@TICKYARD_PROVE=full $(BIN)/python -m $(SERVERS)
	@TICKYARD_PROVE=full $(WITHOUT)

# Programs of Debian's packages: apt-get install caddy prometheus systemd
packaged: ## check what deploy/ is made of with caddy, promtool and systemd-analyze (apt-get install caddy prometheus systemd)
	@$(MAKE) --no-print-directory -j2 setup
	@$(BIN)/python -m pytest deploy/checks

storm: ## live through MINUTES of traffic with a fault every 20 s, three replicas on PostgreSQL behind caddy (apt-get install caddy)
	@$(MAKE) --no-print-directory -j2 setup
	@cd tests && ../$(BIN)/python -m storm --minutes $(MINUTES)

cover: ## measure what the tests run of each room in their own process; too little fails
	@$(MAKE) --no-print-directory -j2 setup
	@$(MAKE) --no-print-directory .coverage/ready
	@$(BIN)/python tests/covered.py

mutants: ## break the code N times, and see whether a test notices (N=300 SEED=... WITHIN=120 seconds of tests a break)
	@$(MAKE) --no-print-directory -j2 setup
	@$(MAKE) --no-print-directory .coverage/ready
	@cd tests && ../$(BIN)/python -m mutants.run $(N) $(SEED) --seconds $(WITHIN)

# `make test` leaves it behind. Without, or when something has changed: whatever runs the rooms in the test's process.
.coverage/ready: $(shell find src tests -name '*.py' -o -name '*.csv')
	@$(BIN)/python tests/covered.py --forget
	@$(MEASURED) pytest -m node $(IN_PROCESS:%=tests/chain/test_%.py)
	@TICKYARD_PROVE=quick $(WITHOUT) --cover
	@touch $@

simulate: ## live through DAYS simulated days of the reward program (DAYS=1000, PROGRESS=file goes on after an interruption)
	@$(MAKE) --no-print-directory -j2 setup
	@cd tests/simulation && ../../$(BIN)/python -m simulated.run --total $(DAYS) $(if $(PROGRESS),--progress $(abspath $(PROGRESS)))

check: ## check format, lint, types, the import stairs and the generated clients
	@$(MAKE) --no-print-directory -j2 setup
	@$(BIN)/ruff format --check --quiet . || { echo "run: make format"; exit 1; }
	@$(BIN)/ruff check --quiet .
	@$(BIN)/mypy
	@$(BIN)/lint-imports --no-cache
	@$(BIN)/python -m tickyard.doors.describe.released docs/openapi.released.json
	@$(BIN)/python -m tickyard.clientgen --check
	@node_modules/.bin/tsc --noEmit -p clients/typescript
	@node_modules/.bin/tsc -p web

client: ## write the generated parts of the Python and TypeScript clients
	@$(MAKE) --no-print-directory -j2 setup
	@$(BIN)/python -m tickyard.clientgen

pictures: ## make the README's pictures of the app anew
	@$(MAKE) --no-print-directory -j2 setup
	@$(BIN)/python tests/browser/chromium.py
	@$(BIN)/python tests/browser/pictures.py

bench: ## measure speed next to references in the same run
	@$(MAKE) --no-print-directory -j2 setup
	@$(BIN)/python -m bench

format: ## format the code
	@$(MAKE) --no-print-directory -j2 setup
	@$(BIN)/ruff format .
	@$(BIN)/ruff check --fix .

COMPILE := $(BIN)/uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-emit-index-url \
  --no-annotate --no-header

lock: ## renew the locks from pyproject.toml: what develops, what serves, what serves with traces, what pays, what builds
	@$(MAKE) --no-print-directory -j2 setup
	@$(BIN)/python -m pip install --quiet uv
	@$(COMPILE) --upgrade --extra sandbox --extra dev --extra intel --extra tracing pyproject.toml \
	  --output-file requirements.lock
	@$(COMPILE) --constraint requirements.lock pyproject.toml --output-file requirements.serve.lock
	@$(COMPILE) --constraint requirements.lock --extra tracing pyproject.toml --output-file requirements.tracing.lock
	@$(COMPILE) --constraint requirements.lock --extra payout pyproject.toml --output-file requirements.payout.lock
	@echo "setuptools>=77" | $(COMPILE) --constraint requirements.lock - --output-file requirements.build.lock

setup: .venv/ready node_modules/ready src/tickyard/web/ready
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

# Built again only when something it is made of has changed.
src/tickyard/web/ready: node_modules/ready $(shell find web clients/typescript/src -type f)
	@echo "building the web app"
	@node web/build.mjs
