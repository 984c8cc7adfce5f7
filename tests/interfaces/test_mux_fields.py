"""agent-mux §2 and §5, row by row (`rows/agent_mux.toml`): the fields of its manifest for the ten agents that it has,
and those of its models. Each is known, of its type, and agrees with what a run may ask for."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from typing import Any, TypeAlias

import pytest

from tests.interfaces import interface
from tests.interfaces.answers import ABSENT, TEN, ask, capabilities, offered_options, value_at
from tests.interfaces.rows import ids
from tests.support.gateway import Gateway

LEVELS = ["low", "medium", "high", "max"]
POLICIES = {"prompt": "prompt", "yolo": "auto", "deny": "deny"}
"""agent-mux's approval mode → the option `approvals` of a run."""


@dataclass(frozen=True, slots=True)
class Agent:
    """What a gateway answers of one of the ten, before it was started."""

    name: str
    manifest: dict[str, Any]
    snapshot: dict[str, Any]
    options: dict[str, Any]
    models: list[dict[str, Any]]

    def leaf(self, path: str) -> Any:
        return value_at(self.snapshot, path)

    def offers(self, option: str) -> bool:
        """A run that sets it is not refused; of an agent over ACP it may not be known before its handshake."""
        return self.options.get(option) is not False


Check: TypeAlias = Callable[[Agent, Any], bool]


def as_leaf(path: str) -> Check:
    return lambda agent, value: value is agent.leaf(path)


def as_option(*options: str) -> Check:
    """True where one of them may be asked for."""
    return lambda agent, value: value is any(agent.offers(option) for option in options)


def pinned(**values: Any) -> Check:
    """`others`: the value of the agents that are not named."""
    return lambda agent, value: value == values.get(agent.name, values.get("others"))


def stated(by: Check, *, without: tuple[str, ...]) -> Check:
    """Absent for the agents that are named; for all others it is there, and right."""
    return lambda agent, value: value is ABSENT if agent.name in without else value is not ABSENT and by(agent, value)


def is_command(agent: Agent, value: Any) -> bool:
    """Of the agent's own program."""
    return value.split()[0] == agent.name and agent.manifest["supportsPlugins"] is True


def is_address(agent: Agent, value: Any) -> bool:
    return bool(value.startswith("https://"))


def is_budget(agent: Agent, value: Any) -> bool:
    """Whether one of its models takes one."""
    return value is any("thinkingBudgetRange" in model for model in agent.models)


def are_levels(agent: Agent, value: Any) -> bool:
    with_one_model = {level for model in agent.models for level in model.get("thinkingEffortLevels", ())}
    without = [each["id"] for each in (agent.options.get("effort") or {}).get("values", ())]
    return bool(value == [level for level in LEVELS if level in {*with_one_model, *without}])


def are_registries(agent: Agent, value: Any) -> bool:
    if agent.name in ("codex", "gemini", "omp"):
        return bool(value == [])
    return bool(value) and all(
        each.keys() == {"name", "url", "searchable"} and each["url"].startswith("https://") for each in value
    )


def are_methods(agent: Agent, value: Any) -> bool:
    return {each["type"] for each in value} >= {"oauth"} and all(each["name"] for each in value)


def are_installs(agent: Agent, value: Any) -> bool:
    return bool(value) and all(each["command"] and each["platform"] for each in value)


# fmt: off
FIELDS: dict[str, Check] = {
    "agent": lambda agent, value: value == agent.name,
    "canResume": as_option("sessionId"),
    "canFork": as_option("forkSessionId"),
    "supportsMultiTurn": pinned(others=True),
    "sessionPersistence": pinned(cursor="sqlite", opencode="sqlite", openclaw="sqlite", hermes="sqlite", others="file"),
    "supportsTextStreaming": lambda agent, value: value is (True in agent.options["stream"]["values"]),
    "supportsToolCallStreaming": pinned(claude=True, copilot=True, pi=True, omp=True, others=False),
    "supportsThinkingStreaming": as_leaf("reasoning.streaming"),
    "supportsNativeTools": as_leaf("tools.supported"),
    "supportsMCP": as_option("mcpServers"),
    "supportsParallelToolCalls": as_leaf("tools.parallelCalls"),
    "requiresToolApproval": pinned(pi=False, omp=False, others=True),
    "approvalModes": lambda agent, value: {POLICIES[mode] for mode in value} == {*agent.options["approvals"]["values"]},
    "supportsThinking": as_option("effort", "thinkingBudgetTokens", "thinkingOverride"),
    "thinkingEffortLevels": are_levels,
    "supportsThinkingBudgetTokens": is_budget,
    "supportsJsonMode": as_option("outputFormat"),
    "supportsStructuredOutput": as_option("outputSchema"),
    "supportsSkills": as_option("skills"),
    "supportsAgentsMd": pinned(others=True),
    "skillsFormat": lambda agent, value: (value is None) is not agent.manifest["supportsSkills"],
    "supportsSubagentDispatch": as_leaf("multiAgent.delegation"),
    "supportsParallelExecution": pinned(gemini=False, others=True),
    "maxParallelTasks": pinned(hermes=3, others=ABSENT),
    "supportsInteractiveMode": pinned(others=True),
    "supportsStdinInjection": lambda agent, value: value is (agent.leaf("humanInTheLoop.interventions") is True),
    "supportsImageInput": as_leaf("multimodal.input.image"),
    "supportsImageOutput": as_leaf("multimodal.output.image"),
    "supportsFileAttachments": lambda agent, value: value is (
        agent.leaf("multimodal.input.file") is True or agent.leaf("multimodal.input.pdf") is True
    ),
    "supportsPlugins": lambda agent, value: value is bool(agent.manifest["pluginFormats"]),
    "pluginFormats": lambda agent, value: "skill-directory" in value,
    "pluginInstallCmd": stated(is_command, without=("cursor",)),
    "pluginListCmd": stated(is_command, without=("cursor", "opencode")),
    "pluginUninstallCmd": stated(is_command, without=("cursor", "opencode")),
    "pluginMarketplaceUrl": stated(is_address, without=("codex", "omp", "hermes")),
    "pluginSearchCmd": stated(is_command, without=("claude", "codex", "gemini", "cursor", "opencode", "pi")),
    "pluginRegistries": are_registries,
    "supportedPlatforms": lambda agent, value: {"darwin", "linux"} <= {*value} <= {"darwin", "linux", "win32"},
    "requiresGitRepo": pinned(others=False),
    "requiresPty": pinned(others=False),
    "authMethods": are_methods,
    "authFiles": lambda agent, value: bool(value) and all(path.startswith("~/") for path in value),
    "installMethods": are_installs,
}
# fmt: on


@pytest.fixture(scope="module")
def ten(served: Gateway) -> list[Agent]:
    return [
        Agent(
            name,
            capabilities(served, name, "mux"),
            ask(served, f"/agents/{name}/capabilities"),
            offered_options(served, name),
            ask(served, f"/agents/{name}/models")["models"],
        )
        for name in TEN
    ]


@pytest.mark.parametrize("field", FIELDS, ids=ids("mux.field", FIELDS))
def test_a_field_of_the_manifest_is_known_and_agrees_with_the_rest(ten: list[Agent], field: str) -> None:
    """Of its type too: `test_every_agent_answers_in_the_terms_of_every_interface`."""
    assert [agent.name for agent in ten if field in agent.manifest.get("unknown", ())] == []
    wrong = {agent.name: value for agent in ten if not FIELDS[field](agent, value := value_at(agent.manifest, field))}
    assert wrong == {}


def test_every_field_of_the_manifest_has_a_row() -> None:
    assert list(FIELDS) == [field.path for field in interface("mux").fields if not field.extra]


# -- models


def is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and value >= 0


def as_manifest(field: str) -> Callable[[dict[str, Any], dict[str, Any]], bool]:
    """The model's word comes before the agent's: it is what the agent's own view says with that model."""
    return lambda model, manifest: model[field.partition("/")[0]] == manifest[field.rpartition("/")[2]]


def is_day(value: Any) -> bool:
    return bool(datetime.fromisoformat(value))


def has_dearer_output(model: dict[str, Any], manifest: dict[str, Any]) -> bool:
    return bool(model["outputPricePerMillion"] >= model["inputPricePerMillion"])


def has_cheaper_cache(model: dict[str, Any], manifest: dict[str, Any]) -> bool:
    return bool(0 <= model["cachedInputPricePerMillion"] <= model["inputPricePerMillion"])


def has_successor(model: dict[str, Any], manifest: dict[str, Any]) -> bool:
    return bool(model["successorModelId"] != model["modelId"])


def has_range(model: dict[str, Any], manifest: dict[str, Any]) -> bool:
    least, most = model["thinkingBudgetRange"]
    return 0 < least < most and manifest["supportsThinkingBudgetTokens"] is True


# fmt: off
MODEL_FIELDS: dict[str, tuple[int, Callable[[dict[str, Any], dict[str, Any]], bool]]] = {
    "agent": (10, lambda model, manifest: model["agent"] == manifest["agent"]),
    "modelId": (10, lambda model, manifest: bool(model["modelId"])),
    "modelAlias": (6, lambda model, manifest: model["modelAlias"] != model["modelId"]),
    "displayName": (10, lambda model, manifest: bool(model["displayName"])),
    "deprecated": (10, lambda model, manifest: model["deprecated"] or "deprecatedSince" not in model),
    "deprecatedSince": (1, lambda model, manifest: model["deprecated"] and is_day(model["deprecatedSince"])),
    "successorModelId": (1, has_successor),
    "contextWindow": (9, lambda model, manifest: model["contextWindow"] >= model.get("maxOutputTokens", 0)),
    "maxOutputTokens": (9, lambda model, manifest: model["maxOutputTokens"] > 0),
    "maxThinkingTokens": (1, lambda model, manifest: model["maxThinkingTokens"] > 0),
    "inputPricePerMillion": (9, lambda model, manifest: model["inputPricePerMillion"] >= 0),
    "outputPricePerMillion": (9, has_dearer_output),
    "cachedInputPricePerMillion": (9, has_cheaper_cache),
    "thinkingPricePerMillion": (5, lambda model, manifest: is_number(model["thinkingPricePerMillion"])),
    "supportsThinking": (10, as_manifest("supportsThinking")),
    "thinkingEffortLevels": (9, as_manifest("thinkingEffortLevels")),
    "thinkingBudgetRange": (1, has_range),
    "supportsToolCalling": (10, as_manifest("supportsToolCalling/supportsNativeTools")),
    "supportsParallelToolCalls": (10, as_manifest("supportsParallelToolCalls")),
    "supportsToolCallStreaming": (10, as_manifest("supportsToolCallStreaming")),
    "supportsJsonMode": (10, as_manifest("supportsJsonMode")),
    "supportsStructuredOutput": (10, as_manifest("supportsStructuredOutput")),
    "supportsTextStreaming": (10, as_manifest("supportsTextStreaming")),
    "supportsThinkingStreaming": (10, as_manifest("supportsThinkingStreaming")),
    "supportsImageInput": (10, as_manifest("supportsImageInput")),
    "supportsImageOutput": (10, as_manifest("supportsImageOutput")),
    "supportsFileInput": (10, as_manifest("supportsFileInput/supportsFileAttachments")),
    "provider": (10, lambda model, manifest: bool(model["provider"])),
    "providerModelId": (5, lambda model, manifest: bool(model["providerModelId"])),
    "protocol": (7, lambda model, manifest: model["protocol"] in ("chat", "responses", "messages", "custom")),
    "deployment": (3, lambda model, manifest: model["deployment"] in ("hosted", "local", "gateway", "hybrid")),
    "supportsLocalModels": (1, lambda model, manifest: isinstance(model["supportsLocalModels"], bool)),
    "cliArgKey": (10, lambda model, manifest: bool(model["cliArgKey"])),
    "cliArgValue": (10, lambda model, manifest: bool(model["cliArgValue"])),
    "lastUpdated": (9, lambda model, manifest: is_day(model["lastUpdated"])),
    "source": (10, lambda model, manifest: model["source"] == "bundled"),
}
# fmt: on
"""Field → how many of the ten state it of a model at least, and what must be so wherever it is stated."""


@pytest.fixture(scope="module")
def models(served: Gateway) -> list[tuple[dict[str, Any], dict[str, Any]]]:
    """Every model of the ten, with the agent's manifest for it."""
    listed = [(name, model) for name in TEN for model in ask(served, f"/agents/{name}/models")["models"]]
    return [(model, capabilities(served, name, "mux", model=model["modelId"])) for name, model in listed]


@pytest.mark.parametrize("field", MODEL_FIELDS, ids=ids("mux.model", MODEL_FIELDS))
def test_a_field_of_a_model_is_stated_and_agrees_with_the_manifest(
    models: list[tuple[dict[str, Any], dict[str, Any]]], field: str
) -> None:
    least, is_right = MODEL_FIELDS[field]
    stated = [(model, manifest) for model, manifest in models if field in model]
    assert len({model["agent"] for model, _ in stated}) >= least
    assert [(model["agent"], model["modelId"]) for model, manifest in stated if not is_right(model, manifest)] == []
    optional = {each.path for each in interface("models").fields if each.optional}
    silent = [model for model, _ in models if field not in model]
    assert [model["modelId"] for model in silent if field not in (*model.get("unknown", ()), *optional)] == []
