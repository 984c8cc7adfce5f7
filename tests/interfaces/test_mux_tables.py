"""agent-mux §4 to §10, row by row (`rows/agent_mux.toml`): the tables of the ten agents, as their files fill them.

In: a gateway without any program, and one with a `claude` that notes its arguments.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.drivers.programs import BASE, script
from tests.interfaces.answers import ABSENT, TEN, ask, capabilities, offered_options
from tests.interfaces.rows import ids
from tests.support.gateway import Gateway
from tests.web.problem import problem_in

# -- §4 and §6: models


VERDICTS: dict[str, tuple[str, str, dict[str, Any]]] = {
    "ok": ("claude", "claude-opus-5-5", {"valid": True, "status": "ok"}),
    "alias": ("claude", "OPUS", {"valid": True, "status": "alias", "resolvedModelId": "claude-opus-5-5"}),
    "deprecated": ("codex", "gpt-5.5", {"valid": True, "status": "deprecated", "successorModelId": "gpt-6-sol"}),
    "unknown": ("claude", "claude-opsu", {"valid": False, "status": "unknown"}),
    "ambiguous": ("codex", "gpt-6", {"valid": False, "status": "ambiguous"}),
}


@pytest.mark.parametrize("case", VERDICTS, ids=ids("mux.validate", VERDICTS))
def test_a_name_is_validated_in_agent_mux_s_terms(served: Gateway, case: str) -> None:
    agent, name, expected = VERDICTS[case]
    verdict = ask(served, f"/agents/{agent}/models:validate", model=name)
    assert {key: verdict.get(key, ABSENT) for key in expected} == expected
    assert verdict["message"]
    known = [model["modelId"] for model in ask(served, f"/agents/{agent}/models")["models"]]
    if verdict["valid"]:
        resolved = ask(served, f"/agents/{agent}/models/{name}")
        assert {key: verdict["model"][key] for key in resolved if key != "isDefault"} == {
            key: value for key, value in resolved.items() if key != "isDefault"
        }
    elif case == "ambiguous":
        assert set(verdict["suggestions"]) == {model for model in known if model.startswith(name)}
    else:
        assert 0 < len(verdict["suggestions"]) <= 5 and set(verdict["suggestions"]) <= {*known, "opus"}


def test_the_default_model_is_the_one_of_the_file_or_none(served: Gateway) -> None:
    defaults = {name: ask(served, f"/agents/{name}/models") for name in TEN}
    assert {name: answer["default"] for name, answer in defaults.items() if answer["default"]} == {
        "claude": "claude-opus-5-5",
        "codex": "gpt-6.1-sol",
        "gemini": "auto",
        "cursor": "auto",
        "pi": "anthropic/claude-opus-4-8",
        "hermes": "openrouter:z-ai/glm-5.2",
    }
    for name, answer in defaults.items():
        assert [model["modelId"] for model in answer["models"] if model["isDefault"]] in ([], [answer["default"]]), name


@pytest.mark.parametrize(("tokens", "usd"), [(100_000, "0.01"), (500_000, "0.25")])
def test_a_cost_has_the_price_of_the_tier_that_its_input_reaches(served: Gateway, tokens: int, usd: str) -> None:
    cost = ask(served, "/agents/claude/models/claude-haiku-5-5/cost", inputTokens=str(tokens))
    assert (cost["usd"], cost["priced"]) == (usd, True)


def test_thinking_and_cached_tokens_have_their_own_prices(served: Gateway) -> None:
    path = "/agents/claude/models/claude-opus-5-5"
    model = ask(served, path)
    counts = {"inputTokens": "1000000", "cachedInputTokens": "1000000", "outputTokens": "1000000"}
    cost = ask(served, f"{path}/cost", **counts, thinkingTokens="1000000")
    assert float(cost["parts"]["cachedInput"]) == model["cachedInputPricePerMillion"]
    assert float(cost["parts"]["thinking"]) == model["thinkingPricePerMillion"]
    assert (cost["parts"]["input"], cost["parts"]["output"]) == ("0", "0")


# -- §7: installation

INSTALLS: dict[str, tuple[str, ...]] = {
    "claude": ("npm install -g @anthropic-ai/claude-code", "brew install claude-code"),
    "codex": ("npm install -g @openai/codex", "brew install codex"),
    "gemini": ("npm install -g @google/gemini-cli", "brew install gemini-cli"),
    "omp": ("npm install -g @oh-my-pi/pi-coding-agent",),
    "openclaw": ("npm install -g openclaw",),
    "hermes": (
        "curl -fsSL https://hermes-agent.nousresearch.com/install.sh | bash",
        "pip install 'hermes-agent[acp,mcp]'",
        "nix run github:NousResearch/hermes-agent",
    ),
}


@pytest.mark.parametrize("agent", INSTALLS, ids=ids("mux.install", INSTALLS))
def test_an_agent_is_installed_as_the_document_says(served: Gateway, agent: str) -> None:
    methods = {each["command"]: each for each in capabilities(served, agent, "mux")["installMethods"]}
    assert [command for command in INSTALLS[agent] if command not in methods] == []
    for command, method in methods.items():
        if method["type"] in ("npm", "brew"):
            assert command.startswith(method["type"]) and (method["type"] == "brew" or method["platform"] == "all")
    if agent == "openclaw":
        assert "memory" in methods["npm install -g openclaw"]["notes"]


def test_an_agent_that_is_missing_comes_with_a_way_to_install_it(served: Gateway) -> None:
    listed = {agent["id"]: agent["availability"] for agent in ask(served, "/agents")["agents"]}
    for name in TEN:
        commands = [each["command"] for each in capabilities(served, name, "mux")["installMethods"]]
        assert listed[name]["status"] == "not-installed" and listed[name]["hint"] in commands, name


# -- §8: thinking

ALL = {"low": "low", "medium": "medium", "high": "high", "max": "max"}
TRANSLATIONS: dict[str, dict[str, Any]] = {
    "codex": {"": ALL, "gpt-6-sol": ALL, "gpt-5.5": {**ALL, "max": "xhigh"}},
    "opencode": {
        "anthropic/claude-opus-5-5": ALL,
        "openai/gpt-5.5": {**ALL, "max": "xhigh"},
        "google/gemini-2.5-pro": {"high": "high", "max": "max"},
        "moonshotai/kimi-k2.7-code": False,
    },
    "pi": {
        "openai/gpt-5.5": {**ALL, "max": "xhigh"},
        "deepseek/deepseek-v4-pro": {"high": "high", "max": "max"},
        "mistral/devstral-medium-latest": False,
    },
    "openclaw": {
        "anthropic/claude-opus-5-5": {"low": "low", "medium": "medium", "high": "high"},
        "xai/grok-4.20-0309-non-reasoning": False,
    },
}
"""Agent → model, or none → level → the agent's own word; False: the model does not think."""


@pytest.mark.parametrize("agent", TRANSLATIONS, ids=ids("mux.thinking", TRANSLATIONS))
def test_a_level_becomes_the_word_that_the_agent_has_for_it_with_the_model(served: Gateway, agent: str) -> None:
    found = {}
    for model in TRANSLATIONS[agent]:
        effort = offered_options(served, agent, **({"model": model} if model else {}))["effort"]
        found[model] = effort and {each["id"]: each["native"] for each in effort["values"]}
    assert found == TRANSLATIONS[agent]


def test_what_a_level_becomes_and_what_may_be_overridden_is_shown(served: Gateway) -> None:
    model = ask(served, "/agents/codex/models/gpt-5.5")
    assert (model["thinkingEffortValues"]["max"], model["thinkingOverrideParameters"]) == (
        "xhigh",
        ["effort", "summary"],
    )
    options = offered_options(served, "codex", model="gpt-5.5")
    assert options["effort"]["values"][-1] == {"id": "max", "native": "xhigh"}
    assert options["thinkingOverride"] == {"names": ["effort", "summary"]}


@dataclass(frozen=True, slots=True)
class Noted:
    gateway: Gateway
    notes: Path

    def arguments(self, **options: Any) -> list[str]:
        """Of the `claude` that a run with these options starts."""
        self.notes.unlink(missing_ok=True)
        self.gateway.run("claude", forwardedProps={"gateway": options})
        return [line for line in self.notes.read_text("utf-8").splitlines() if line.startswith("-p ")][0].split()


@pytest.fixture(scope="module")
def noted(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Noted]:
    home = tmp_path_factory.mktemp("noted")
    script(home / "bin" / "claude", f'echo "$*" >> {home / "notes"}\nexit 3')
    env = {"PATH": f"{home / 'bin'}:{BASE}", "HOME": str(home)}
    with Gateway(home / "gateway", env=env) as running:
        yield Noted(running, home / "notes")


def after(flag: str, arguments: list[str]) -> str:
    return arguments[arguments.index(flag) + 1]


def test_a_budget_reaches_claude_as_a_number_of_tokens(noted: Noted) -> None:
    arguments = noted.arguments(model="claude-sonnet-4-5", thinkingBudgetTokens=2048)
    assert after("--max-thinking-tokens", arguments) == "2048"
    assert "--effort" not in arguments


def test_an_override_is_laid_over_what_level_and_budget_become(noted: Noted) -> None:
    assert after("--effort", noted.arguments(effort="high")) == "high"
    both = noted.arguments(effort="high", thinkingOverride={"effort": "xhigh", "thinking_display": "omitted"})
    assert (after("--effort", both), after("--thinking-display", both)) == ("xhigh", "omitted")


# -- §9 and §10: plugins, the table of all agents

SKILLS_AND_MCP = {"skill-directory", "mcp-server"}
PLUGINS: dict[str, tuple[set[str], set[str], int]] = {
    "claude": (SKILLS_AND_MCP, {"install", "list", "uninstall"}, 2),
    "codex": (SKILLS_AND_MCP, {"install", "list", "uninstall"}, 0),
    "gemini": (SKILLS_AND_MCP, {"install", "list", "uninstall"}, 0),
    "copilot": (SKILLS_AND_MCP, {"install", "list", "uninstall", "search"}, 1),
    "cursor": (SKILLS_AND_MCP, set(), 1),
    "opencode": ({*SKILLS_AND_MCP, "npm-package"}, {"install"}, 1),
    "pi": ({*SKILLS_AND_MCP, "npm-package", "extension-ts", "skill-file"}, {"install", "list", "uninstall"}, 1),
    "omp": ({*SKILLS_AND_MCP, "npm-package", "extension-ts"}, {"install", "list", "uninstall", "search"}, 0),
    "openclaw": ({*SKILLS_AND_MCP, "npm-package", "channel-plugin"}, {"install", "list", "uninstall", "search"}, 1),
    "hermes": (SKILLS_AND_MCP, {"install", "list", "uninstall", "search"}, 1),
}
"""Agent → formats, operations that its program has a command for, registries."""


@pytest.mark.parametrize("agent", PLUGINS, ids=ids("mux.plugin", PLUGINS))
def test_plugins_are_stated_as_the_program_has_them(served: Gateway, agent: str) -> None:
    manifest = capabilities(served, agent, "mux")
    formats, operations, registries = PLUGINS[agent]
    assert (manifest["supportsPlugins"], set(manifest["pluginFormats"])) == (True, formats)
    commands = {"install", "list", "uninstall", "search"}
    assert {name for name in commands if f"plugin{name.title()}Cmd" in manifest} == operations
    assert len(manifest["pluginRegistries"]) == registries


def test_one_table_has_the_ten_agents_at_a_glance(served: Gateway) -> None:
    leaves = ask(served, "/capabilities/matrix")["leaves"]
    columns = (
        "sessionPersistence",
        "supportsTextStreaming",
        "canFork",
        "supportsMCP",
        "supportsSkills",
        "supportsPlugins",
    )
    for agent in TEN:
        manifest = capabilities(served, agent, "mux")
        shown = {name: leaves[f"custom.mux.{name}"].get(agent, ABSENT) for name in columns}
        assert shown == {name: manifest[name] for name in columns}, agent
        assert leaves["reasoning.supported"][agent] is True


# -- every adapter, one id


def test_every_listed_agent_has_the_whole_manifest(served: Gateway) -> None:
    bundled = [agent["id"] for agent in ask(served, "/agents")["agents"] if agent["id"] not in ("whole", "silent")]
    unknown = {name: found for name in bundled if (found := capabilities(served, name, "mux").get("unknown"))}
    assert len(bundled) >= 22 and unknown == {}


def test_each_program_is_listed_once(served: Gateway) -> None:
    """One id for one program; its other transports are in its entry and answer under their own name."""
    listed = {agent["id"]: agent for agent in ask(served, "/agents")["agents"]}
    names = [agent["identity"]["name"] for agent in listed.values()]
    assert len(names) == len(set(names))
    others = {"claude-agent-acp": "claude", "codex-acp": "codex", "gemini-cli": "gemini", "copilot-cli": "copilot"}
    others |= {"opencode-acp": "opencode", "pi-acp": "pi", "hermes-agent": "hermes"}
    for transport, program in others.items():
        assert transport not in listed and ask(served, f"/agents/{transport}")["transportOf"] == program
        assert "acp" in [each["driver"] for each in listed[program]["transports"]], program


def test_a_view_and_an_instance_are_one_answer(served: Gateway) -> None:
    """§2.1: by the registry and by the adapter itself."""
    for name in TEN:
        link = ask(served, f"/agents/{name}")["links"]["capabilities"]
        assert ask(served, link, view="mux") == capabilities(served, name, "mux")
    problem_in(served.client.get("/agents/no-such/capabilities?view=mux"), 404, "UNKNOWN_AGENT")
