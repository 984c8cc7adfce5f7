"""AG-UI's document about capabilities, row by row (`rows/ag_ui.toml`): its leaves, and what it promises around them."""

from __future__ import annotations

from typing import Any

import pytest
from jsonschema import Draft202012Validator

from tests.interfaces import interface, mistakes_in
from tests.interfaces.all_fields import VALUES
from tests.interfaces.answers import ABSENT, ask, capabilities, value_at
from tests.interfaces.rows import ids
from tests.support.gateway import Gateway, run_input, text_of
from tests.web.problem import problem_in

AGUI = interface("agui")
TYPES = {field.path: field.type for field in AGUI.fields}
TEXT_TYPES = ["text/plain", "text/markdown"]
NOT_CARRIED = "transport.pushNotifications"
"""What an agent states of it is left out: the gateway does not carry it."""

DAY_MS = 86_400_000
"""The default of `run_timeout`."""

# fmt: off
EXAMPLES: dict[str, dict[str, Any]] = {
    "identity.name": {"claude": "Claude Code", "gemini": "Gemini CLI", "demo": "Demo"},
    "identity.type": {"claude": "cli", "gemini": "acp", "echo": "python", "deepagents-acp": "langgraph"},
    "identity.description": {"claude": "Anthropic's coding agent, with subagents, skills and plugins."},
    "identity.version": {"claude": ABSENT, "demo": ABSENT},  # the probe finds none: nothing is installed here
    "identity.provider": {"claude": "Anthropic", "cursor": "Anysphere", "gemini": "Google"},
    "identity.documentationUrl": {"claude": "https://code.claude.com/docs", "demo": ABSENT},
    "identity.metadata": {"claude": ABSENT},  # nobody has said anything
    "transport.streaming": {"claude": True, "gemini": True, "echo": True},
    "transport.websocket": {"claude": True, "gemini": True, "echo": True},
    "transport.httpBinary": {"claude": True, "gemini": True, "echo": True},
    "transport.pushNotifications": {"claude": ABSENT, "gemini": ABSENT, "echo": ABSENT},
    "transport.resumable": {"claude": True, "gemini": True, "echo": True},
    "tools.supported": {"claude": True, "gemini": True, "echo": False},
    "tools.items": {"cursor": ABSENT, "echo": ABSENT},  # the lists of the others are held to their own test below
    "tools.parallelCalls": {"claude": True, "echo": False},
    "tools.clientProvided": {"claude": True, "opencode": False, "cursor": ABSENT},
    "output.structuredOutput": {"claude": True, "codex": True, "opencode": True, "gemini": False, "demo": False},
    "output.supportedMimeTypes": {"claude": [*TEXT_TYPES, "application/json"], "gemini": TEXT_TYPES},
    "state.snapshots": {"claude": False, "gemini": False, "demo": True},
    "state.deltas": {"claude": False, "gemini": False, "demo": True},
    "state.memory": {"claude": True, "hermes": True, "codex": False, "cursor": ABSENT},
    "state.persistentState": {"claude": True, "gemini": True, "demo": False},
    "multiAgent.supported": {"claude": True, "pi": False, "echo": False},
    "multiAgent.delegation": {"claude": True, "pi": False, "echo": False},
    "multiAgent.handoffs": {"claude": False, "gemini": False, "demo": False},
    "reasoning.supported": {"claude": True, "gemini": True, "echo": False},
    "reasoning.streaming": {"claude": True, "gemini": False, "echo": False},
    "reasoning.encrypted": {"claude": False, "codex": False, "echo": ABSENT},
    "multimodal.input.image": {"claude": True, "cursor": False, "echo": False},
    "multimodal.input.audio": {"gemini": True, "claude": False, "codex": False},
    "multimodal.input.video": {"demo": True, "claude": False, "gemini": ABSENT},
    "multimodal.input.pdf": {"claude": True, "pi": False, "codex": ABSENT},
    "multimodal.input.file": {"claude": True, "pi": False, "echo": False},
    "multimodal.output.image": {"codex": True, "claude": False, "echo": False},
    "multimodal.output.audio": {"claude": False, "gemini": False, "codex": ABSENT},
    "execution.codeExecution": {"claude": True, "demo": False, "echo": ABSENT},
    "execution.sandboxed": {"codex": True, "pi": False, "claude": ABSENT},
    "execution.maxIterations": {"hermes": 90, "openhands": 500, "claude": ABSENT},
    "execution.maxExecutionTime": {"claude": DAY_MS, "gemini": DAY_MS, "echo": DAY_MS},
    "humanInTheLoop.supported": {"claude": True, "echo": False, "crow-cli": False},
    "humanInTheLoop.approvals": {"claude": True, "crow-cli": False, "echo": ABSENT},
    "humanInTheLoop.interventions": {"claude": True, "gemini": False, "goose": ABSENT},
    "humanInTheLoop.feedback": {"claude": True, "codex": True, "hermes": False, "gemini": False, "echo": ABSENT},
    "humanInTheLoop.interrupts": {"claude": True, "gemini": True, "crow-cli": False, "echo": False},
    "humanInTheLoop.approveWithEdits": {"claude": True, "pi": True, "opencode": False, "codex": ABSENT},
    "custom": {},
}
# fmt: on
"""Leaf → agent → its value while nothing is installed: yes, no, and unknown where there is such an agent."""
ALWAYS_STATED = (
    *("identity.name", "identity.type", "identity.description", "identity.provider", "custom"),
    "execution.maxExecutionTime",
)
BY_THE_GATEWAY = {
    *("state.snapshots", "state.deltas", "state.persistentState", "multiAgent.handoffs", "output.structuredOutput"),
    *("output.supportedMimeTypes", "humanInTheLoop.interrupts", "humanInTheLoop.feedback"),
    "execution.maxExecutionTime",
}
"""Leaves that the gateway knows of every process that it starts."""
LISTS_TOOLS = ("claude", "codex", "copilot", "demo", "gemini", "hermes", "opencode", "pi", "qwen-code")


@pytest.fixture(scope="module")
def snapshots(served: Gateway) -> dict[str, Any]:
    names = [agent["id"] for agent in ask(served, "/agents")["agents"]]
    return {name: capabilities(served, name, "agui") for name in names}


@pytest.mark.parametrize("path", EXAMPLES, ids=ids("ag-ui.leaf", EXAMPLES))
def test_a_leaf_states_what_is_known_and_nothing_else(snapshots: dict[str, Any], path: str) -> None:
    """For bundled agents; for one whose file states every leaf; and for one whose file states none."""
    assert {agent: value_at(snapshots[agent], path) for agent in EXAMPLES[path]} == EXAMPLES[path]
    if path in ALWAYS_STATED:
        bundled = snapshots.keys() - {"whole", "silent"}
        assert [agent for agent in bundled if not value_at(snapshots[agent], path)] == []
    stated = value_at(snapshots["whole"], path)
    if path == NOT_CARRIED:
        assert stated is ABSENT
    elif path == "custom":
        assert {"acp", "mux", "gateway"} <= stated.keys()
    else:
        assert stated == VALUES[TYPES[path]]
    unstated = value_at(snapshots["silent"], path)
    known = path.startswith(("identity.", "transport.", "custom")) or path in BY_THE_GATEWAY
    assert (unstated is ABSENT) or known, f"silent claims {path}: {unstated}"


def test_every_agent_s_leaves_have_agui_s_types(snapshots: dict[str, Any]) -> None:
    assert {agent: found for agent, tree in snapshots.items() if (found := mistakes_in(tree, AGUI))} == {}


@pytest.mark.parametrize("agent", LISTS_TOOLS)
def test_listed_tools_have_a_name_a_description_and_a_schema(snapshots: dict[str, Any], agent: str) -> None:
    """AG-UI tools.items, before any session."""
    items = value_at(snapshots[agent], "tools.items")
    assert items is not ABSENT and len({item["name"] for item in items}) == len(items) > 0
    for item in items:
        assert item["description"]
        Draft202012Validator.check_schema(item["parameters"])


def test_subagents_have_the_name_of_1_0_and_the_older_one_on_request(served: Gateway) -> None:
    path = "/agents/demo/capabilities"
    [scout] = ask(served, path)["multiAgent"]["subagents"]
    older = ask(served, path, protocol="0")["multiAgent"]
    assert (scout["name"], older["subAgents"]) == ("scout", [scout]) and "subagents" not in older


# -- principles and usage


def test_discovery_negotiates_nothing(served: Gateway) -> None:
    path = "/agents/demo/capabilities"
    before = served.client.get(path)
    for method in ("POST", "PUT", "PATCH", "DELETE"):
        problem_in(served.client.request(method, path, json={"tools": {"supported": False}}), 405, "METHOD_NOT_ALLOWED")
    served.client.get(path, params={"tools": "false"})
    after = served.client.get(path)
    assert (after.content, after.headers["etag"]) == (before.content, before.headers["etag"])


def test_tools_that_come_and_go_are_in_the_next_answer(served: Gateway) -> None:
    path = "/agents/demo/threads/rows-tools"
    counts = []
    for mode in ("ask", "plan", "ask"):
        assert served.client.post(f"{path}/mode", json={"mode": mode}).status_code == 200
        answer = ask(served, "/agents/demo/capabilities", thread="rows-tools")
        counts.append(len(answer["tools"]["items"]))
    assert counts[0] == counts[2] > counts[1] > 0


def test_a_frontend_can_open_each_panel_by_its_leaf(snapshots: dict[str, Any]) -> None:
    """The reasoning panel, the choice of subagents and the approvals of the document's example."""
    demo, echo = snapshots["demo"], snapshots["echo"]
    assert demo["reasoning"]["supported"] and demo["multiAgent"]["subAgents"] and demo["humanInTheLoop"]["approvals"]
    assert not echo["reasoning"]["supported"] and "subAgents" not in echo["multiAgent"]
    for agent, tree in snapshots.items():
        loop = tree.get("humanInTheLoop", {})
        if loop.get("approvals"):
            assert (loop["supported"], loop["interrupts"]) == (True, True), agent


def test_a_frontend_that_gates_by_a_leaf_is_never_refused(served: Gateway, snapshots: dict[str, Any]) -> None:
    assert snapshots["demo"]["output"]["structuredOutput"] is False
    body = run_input(forwardedProps={"gateway": {"outputSchema": {"type": "object"}}})
    assert problem_in(served.post("demo", body), 422, "CAPABILITY_ERROR")["agent"] == "demo"
    assert snapshots["demo"]["transport"]["streaming"] is True
    assert text_of(served.run("demo", forwardedProps={"gateway": {"stream": True}}))


def test_an_integration_s_own_capability_is_handed_on(served: Gateway) -> None:
    limit = {"maxRequestsPerMinute": 12}
    definition = {"driver": "acp", "identity": {"name": "Limited"}, "command": {"run": ["nowhere"]}}
    body = {**definition, "capabilities": {"custom": {"rateLimit": limit}}}
    assert served.client.put("/agents/limited", json=body).status_code == 201
    try:
        assert ask(served, "/agents/limited/capabilities")["custom"]["rateLimit"] == limit
    finally:
        assert served.client.delete("/agents/limited").status_code == 204
