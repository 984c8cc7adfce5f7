# Two commands: `make serve` and `make test`. Both install what they need into .venv first.

PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
# The agents that live tests talk to; installed once, into a cache of their own.
LIVE   := claude-agent-acp codex-acp gemini-cli opencode-acp qwen-code \
          claude codex gemini copilot opencode pi hermes
# And one whose packages are larger than all of theirs together.
LARGE  := omp
# pip shows its progress to a person and keeps quiet otherwise.
QUIET  := if [ -t 1 ]; then q=; else q=-q; fi;

.PHONY: serve test test-agents test-openclaw lint types bench proto wheel clean

serve: $(VENV)/.serve
	@$(BIN)/agui-gateway serve $(ARGS)

test: lint types
	@$(BIN)/python -m tests.clients.install
	@$(BIN)/python -m tests.live.install $(LIVE)
	@$(BIN)/python -m tests.browser.install
	@$(BIN)/pytest -n auto --dist worksteal $(ARGS)

test-agents: $(VENV)/.test
	@$(BIN)/python -m tests.clients.install
	@$(BIN)/python -m tests.live.install $(LIVE) $(LARGE)
	@AGUI_TEST_THOROUGH=1 $(BIN)/pytest tests/live $(ARGS)

# By itself: it takes 650 MB of disk, and more than a gigabyte of memory while it works.
test-openclaw: $(VENV)/.test
	@$(BIN)/python -m tests.clients.install
	@$(BIN)/python -m tests.live.install openclaw
	@AGUI_TEST_THOROUGH=1 AGUI_TEST_AGENTS=openclaw $(BIN)/pytest tests/live/test_cli_agents.py $(ARGS)

lint: $(VENV)/.test
	@$(BIN)/ruff check .

types: $(VENV)/.test
	@$(BIN)/mypy

bench: $(VENV)/.test
	@$(BIN)/python -m tests.clients.install
	@$(BIN)/python -m tests.bench $(ARGS)

proto: $(VENV)/.test
	@$(BIN)/python -m grpc_tools.protoc -Iproto --python_out=gateway/encode/protobuf/pb --pyi_out=gateway/encode/protobuf/pb proto/ag_ui.proto

wheel: $(VENV)/.test
	@$(BIN)/pip wheel -q --no-deps -w dist .

clean:
	rm -rf $(VENV) dist build tests/clients/node_modules .mypy_cache .ruff_cache .pytest_cache .hypothesis

$(BIN)/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	  { echo "Python 3.11 or newer is needed; $(PYTHON) is $$($(PYTHON) --version). Try: make PYTHON=python3.12 $(MAKECMDGOALS)"; exit 1; }
	@echo "making $(VENV)"
	@$(PYTHON) -m venv $(VENV)
	@$(QUIET) $(BIN)/pip install $$q --disable-pip-version-check --upgrade 'pip>=25.1'

$(VENV)/.serve: pyproject.toml | $(BIN)/python
	@echo "installing the gateway"
	@$(QUIET) $(BIN)/pip install $$q --disable-pip-version-check -e .
	@touch $@

$(VENV)/.test: pyproject.toml | $(BIN)/python
	@echo "installing the gateway and what its tests need"
	@$(QUIET) $(BIN)/pip install $$q --disable-pip-version-check -e . --group dev
	@touch $@ $(VENV)/.serve
