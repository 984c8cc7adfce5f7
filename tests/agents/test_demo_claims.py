"""The demo's capabilities, compared with what it does."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

import pytest
from ag_ui.core import AgentCapabilities
from jsonschema import Draft202012Validator

from gateway.events import Wire
from tests.agents.demo_runs import CHANGE_BACKGROUND, UNMERGED, interrupts, of_type, play, tool_calls, tool_results
from tests.support.gateway import Gateway, text_of, types_of

Prompt: TypeAlias = str | list[dict[str, Any]]
Shows: TypeAlias = Callable[[list[Wire]], object]


def attached(kind: str, mime: str) -> Prompt:
    return [{"type": kind, "source": {"type": "data", "value": "aGVsbG8=", "mimeType": mime}}]


def has_event(kind: str) -> Shows:
    return lambda events: of_type(events, kind)


def has_text(part: str) -> Shows:
    return lambda events: part in text_of(events)


def open_together(events: list[Wire]) -> bool:
    return types_of(of_type(events, "TOOL_CALL_START", "TOOL_CALL_END"))[:2] == ["TOOL_CALL_START", "TOOL_CALL_START"]


def offers_edits(events: list[Wire]) -> bool:
    return "editedArgs" in interrupts(events)[0]["responseSchema"]["properties"]


def image_in_result(events: list[Wire]) -> bool:
    return any(part["type"] == "image" for content in tool_results(events).values() for part in content)


SCENES: dict[str, tuple[Prompt, Shows]] = {
    "tools.supported": ("tool", has_event("TOOL_CALL_RESULT")),
    "tools.parallelCalls": ("tools", open_together),
    "tools.clientProvided": ("frontend", lambda events: events[-1]["outcome"]["pendingToolCallIds"]),
    "state.snapshots": ("state", has_event("STATE_SNAPSHOT")),
    "state.deltas": ("state", has_event("STATE_DELTA")),
    "reasoning.supported": ("think", has_event("REASONING_MESSAGE_START")),
    "reasoning.streaming": ("think", lambda events: len(of_type(events, "REASONING_MESSAGE_CONTENT")) > 1),
    "multiAgent.supported": ("subagent", has_event("SUBAGENT_STARTED")),
    "multiAgent.delegation": ("subagent", has_event("SUBAGENT_FINISHED")),
    "multimodal.input.image": (attached("image", "image/png"), has_text("**image**, image/png, 5 bytes")),
    "multimodal.input.audio": (attached("audio", "audio/wav"), has_text("**audio**, audio/wav, 5 bytes")),
    "multimodal.input.video": (attached("video", "video/mp4"), has_text("**video**, video/mp4, 5 bytes")),
    "multimodal.input.pdf": (
        attached("document", "application/pdf"),
        has_text("**document**, application/pdf, 5 bytes"),
    ),
    "multimodal.input.file": (attached("document", "text/csv"), has_text("**document**, text/csv, 5 bytes")),
    "multimodal.output.image": (attached("image", "image/png"), image_in_result),
    "humanInTheLoop.supported": ("approve", interrupts),
    "humanInTheLoop.interrupts": ("form", interrupts),
    "humanInTheLoop.approvals": ("approve", lambda events: interrupts(events)[0]["toolCallId"] in tool_calls(events)),
    "humanInTheLoop.approveWithEdits": ("approve", offers_edits),
}
"""Capability → the prompt that shows it, and what must be seen then."""


def snapshot(gateway: Gateway) -> dict[str, Any]:
    body: dict[str, Any] = gateway.client.get("/agents/demo/capabilities").raise_for_status().json()
    return body


def test_the_snapshot_is_one_that_the_official_model_takes_and_gives_back_unchanged(gateway: Gateway) -> None:
    body = snapshot(gateway)
    model = AgentCapabilities.model_validate(body, strict=True)
    assert model.model_dump(by_alias=True, mode="json", exclude_none=True) == body
    assert model.identity is not None
    assert model.identity.name == "Demo"


def test_everything_the_agent_itself_claims_has_a_scene(gateway: Gateway) -> None:
    """AG-UI's capabilities; agent-mux's fields repeat them."""
    explained = gateway.client.get("/agents/demo/capabilities?explain=1").raise_for_status().json()["explain"]
    claimed = {path for path, leaf in explained.items() if leaf["layer"] == "profile" and leaf["value"] is True}
    assert {path for path in claimed if not path.startswith("custom.mux.")} == SCENES.keys()


@pytest.mark.parametrize("claim", SCENES)
def test_a_claim_is_shown_by_its_scene(gateway: Gateway, claim: str) -> None:
    prompt, is_shown = SCENES[claim]
    assert is_shown(play(gateway, prompt, tools=[CHANGE_BACKGROUND], forwardedProps=UNMERGED))


@pytest.mark.parametrize("prompt", ["tool", "tools", "approve", "two approvals", "image", "subagent", "everything"])
def test_every_tool_that_it_calls_is_listed_and_called_as_its_schema_says(gateway: Gateway, prompt: str) -> None:
    schemas = {item["name"]: item["parameters"] for item in snapshot(gateway)["tools"]["items"]}
    called_tools = tool_calls(play(gateway, prompt)).values()
    assert called_tools
    for name, arguments in called_tools:
        Draft202012Validator.check_schema(schemas[name])
        Draft202012Validator(schemas[name]).validate(arguments)


def test_the_tools_and_the_subagents_that_are_listed_are_the_ones_that_appear(gateway: Gateway) -> None:
    body = snapshot(gateway)
    runs = [play(gateway, prompt) for prompt in ("tool", "approve", "edit", "image", "subagent")]
    tools = {name for events in runs for name, _ in tool_calls(events).values()}
    assert tools == {item["name"] for item in body["tools"]["items"]}
    subagents = {start["name"] for events in runs for start in of_type(events, "SUBAGENT_STARTED")}
    assert subagents == {item["name"] for item in body["multiAgent"]["subagents"]}
