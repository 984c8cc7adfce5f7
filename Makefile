# Two commands: `make serve` and `make test`. Both install what they need into .venv first. `make help` lists all.

PYTHON  ?= python3
SECONDS ?= 600
VENV    := .venv
BIN     := $(VENV)/bin
# Agents of `make serve` work here, not in the checkout: the gateway's program and its agents are in that.
WORKSPACE := $(CURDIR)/workspace
# The agents of `make test-agents`; installed once, into a cache of their own.
LIVE    := claude-agent-acp codex-acp gemini-cli opencode-acp qwen-code \
           claude codex gemini copilot opencode pi hermes
# An agent whose packages are larger than all of the others together.
LARGE   := omp
# Tests of pure code: no processes, no sockets, no browser.
PURE    := tests/agui tests/capabilities tests/catalog tests/encode tests/wire tests/test_imports.py tests/test_names.py \
           tests/test_files.py tests/test_jsonio.py tests/test_settings.py tests/test_public_names.py
# pip shows its progress to a person and keeps quiet otherwise.
QUIET   := if [ -t 1 ]; then q=; else q=-q; fi;
PYTEST  := $(BIN)/pytest -n auto --dist worksteal
# The exact packages, with hashes: `make lock` writes these files. One resolution holds for every system and Python.
LOCKS   := requirements
COMPILE := $(BIN)/uv pip compile -q --universal --python-version 3.11 --generate-hashes --no-annotate --no-emit-index-url \
           --custom-compile-command 'make lock'
TOOLS   := .venv-supply
PIP     := pip install $$q --disable-pip-version-check

.PHONY: help serve test quick test-agents test-large test-bench test-openclaw fuzz coverage lint types format bench docs proto wheel lock audit sbom clean

help: ## List the targets
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/  make \1|\2/p' $(MAKEFILE_LIST) | awk -F'|' '{printf "%-22s %s\n", $$1, $$2}'

serve: $(VENV)/.serve ## Install, start, print the URL; ARGS="--workspace DIR" to work on a project
	@mkdir -p $(WORKSPACE)
	@AGUI_GATEWAY_WORKSPACE="$${AGUI_GATEWAY_WORKSPACE:-$(WORKSPACE)}" $(BIN)/agui-gateway serve $(ARGS)

test: lint types ## Everything but real agents; ARGS=tests/agui for a part
	@$(BIN)/python -m tests.clients.install
	@$(BIN)/python -m tests.browser.install
	@$(BIN)/python -m tests.attacks.install
	@$(PYTEST) --ignore=tests/live --ignore=tests/bench $(ARGS)

quick: $(VENV)/.test ## The tests of pure code, under a minute
	@$(PYTEST) $(PURE) $(ARGS)

test-agents: $(VENV)/.test ## Real agents against the scripted model server; installs several gigabytes once
	@$(BIN)/python -m tests.clients.install
	@$(BIN)/python -m tests.live.install $(LIVE)
	@$(BIN)/python -m tests.attacks.install
	@$(PYTEST) tests/live $(ARGS)

test-large: $(VENV)/.test ## The same with the largest agent and the thorough tests
	@$(BIN)/python -m tests.clients.install
	@$(BIN)/python -m tests.live.install $(LIVE) $(LARGE)
	@AGUI_TEST_THOROUGH=1 $(BIN)/pytest tests/live $(ARGS)

test-bench: $(VENV)/.test ## Whether the benchmark measures, with small sizes
	@$(BIN)/python -m tests.clients.install
	@$(BIN)/python -m tests.browser.install
	@$(BIN)/pytest tests/bench $(ARGS)

# By itself: it takes 650 MB of disk, and more than a gigabyte of memory while it works.
test-openclaw: $(VENV)/.test ## The agent openclaw alone
	@$(BIN)/python -m tests.clients.install
	@$(BIN)/python -m tests.live.install openclaw
	@AGUI_TEST_THOROUGH=1 AGUI_TEST_AGENTS=openclaw $(BIN)/pytest tests/live/test_cli_agents.py $(ARGS)

fuzz: $(VENV)/.test ## Search at random for input that breaks a reader or a route; SECONDS=600
	@$(BIN)/python -m tests.fuzz --seconds $(SECONDS) $(ARGS)
	@$(BIN)/python -m tests.fuzz.web

coverage: $(VENV)/.test ## Branch coverage of the pure packages, with its floor
	@$(PYTEST) $(PURE) --cov --cov-report=term:skip-covered $(ARGS)

lint: $(VENV)/.test ## ruff: rules and format
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check -q .

types: $(VENV)/.test ## mypy
	@$(BIN)/mypy

format: $(VENV)/.test ## Format and fix what ruff can fix
	@$(BIN)/ruff check --fix .
	@$(BIN)/ruff format .

bench: $(VENV)/.test ## Speed, as ratios within one run
	@$(BIN)/python -m tests.clients.install
	@$(BIN)/python -m tests.bench $(ARGS)

docs: $(VENV)/.test ## Write the generated pages and build docs/.site
	@$(BIN)/python -m tests.docs.generate
	@$(BIN)/zensical build --strict --clean --config-file docs/zensical.toml

proto: $(VENV)/.test ## Generate code from proto/ag_ui.proto
	@$(BIN)/python -m grpc_tools.protoc -Iproto --python_out=gateway/encode/protobuf/pb \
	  --pyi_out=gateway/encode/protobuf/pb proto/ag_ui.proto

wheel: $(VENV)/.test ## Build the wheel into dist/
	@$(BIN)/pip wheel -q --no-deps -w dist .

lock: $(BIN)/uv ## Renew the lock files; ARGS="--upgrade" for newer versions of everything
	@mkdir -p $(LOCKS)
	@$(COMPILE) pyproject.toml -o $(LOCKS)/image.txt $(ARGS)
	@$(COMPILE) --group build -c $(LOCKS)/image.txt -o $(LOCKS)/build.txt $(ARGS)
	@$(COMPILE) --group supply -o $(LOCKS)/supply.txt $(ARGS)
	@$(COMPILE) pyproject.toml --group dev -c $(LOCKS)/image.txt -c $(LOCKS)/build.txt -o $(LOCKS)/dev.txt $(ARGS)

audit: $(TOOLS)/.done ## Look for known vulnerabilities in the locked packages; needs the network
	@$(TOOLS)/bin/python -m tests.supply.audit $(LOCKS)/image.txt $(LOCKS)/build.txt $(LOCKS)/dev.txt

sbom: $(TOOLS)/.done ## Write dist/sbom.cdx.json: the parts of the gateway, as CycloneDX
	@mkdir -p dist
	@$(TOOLS)/bin/cyclonedx-py requirements --pyproject pyproject.toml --output-reproducible \
	  -o dist/sbom.cdx.json $(LOCKS)/image.txt
	@echo "wrote dist/sbom.cdx.json"

clean: ## Remove everything that was installed or built
	rm -rf $(VENV) $(TOOLS) dist build docs/.site docs/.cache tests/clients/node_modules .mypy_cache .ruff_cache .pytest_cache \
	  .hypothesis .coverage

$(BIN)/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	  { echo "Python 3.11 or newer is needed; $(PYTHON) is $$($(PYTHON) --version). Try: make PYTHON=python3.12 $(MAKECMDGOALS)"; exit 1; }
	@echo "making $(VENV)"
	@$(PYTHON) -m venv $(VENV)
	@$(QUIET) $(BIN)/pip install $$q --disable-pip-version-check --upgrade 'pip>=25.1'

$(BIN)/uv: | $(BIN)/python
	@$(QUIET) $(BIN)/$(PIP) 'uv>=0.9'

$(TOOLS)/.done: $(LOCKS)/supply.txt
	@$(PYTHON) -m venv $(TOOLS)
	@$(QUIET) $(TOOLS)/bin/$(PIP) --require-hashes -r $(LOCKS)/supply.txt
	@touch $@

# The packages come from the lock, and the gateway itself is built by the packages of the lock.
$(VENV)/.serve: pyproject.toml $(LOCKS)/image.txt $(LOCKS)/build.txt | $(BIN)/python
	@echo "installing the gateway"
	@$(QUIET) $(BIN)/$(PIP) --require-hashes -r $(LOCKS)/image.txt -r $(LOCKS)/build.txt
	@$(QUIET) $(BIN)/$(PIP) --no-deps --no-build-isolation -e .
	@touch $@

$(VENV)/.test: pyproject.toml $(LOCKS)/dev.txt | $(BIN)/python
	@echo "installing the gateway and what its tests need"
	@$(QUIET) $(BIN)/$(PIP) --require-hashes -r $(LOCKS)/dev.txt
	@$(QUIET) $(BIN)/$(PIP) --no-deps --no-build-isolation -e .
	@touch $@ $(VENV)/.serve
