"""agent-mux's gated options: each wish with the ability it needs."""

from __future__ import annotations

from typing import Any

import pytest

from gateway.agui.translate import notice_event
from gateway.capabilities.check import check_turn
from gateway.capabilities.layers import model_layer
from gateway.catalog.capability_table import camel
from gateway.errors import NotCapable
from gateway.events import Layer
from gateway.turn import Notice, Options, Turn
from tests.capabilities.layer_builders import snapshot
from tests.catalog.example_agent import otter

STDIO = {"name": "files", "command": "files", "args": []}
HTTP = {"type": "http", "name": "web", "url": "https://otter.example"}
ALL = (
    "effort",
    "thinkingBudgetTokens",
    "thinkingOverride",
    "outputFormat",
    "outputSchema",
    "sessionId",
    "forkSessionId",
    "skills",
    "mcpServers",
    "stream",
)
AGENT = otter(options=ALL)

GATED: list[tuple[str, Any, str]] = [
    ("effort", "low", "reasoning.supported"),
    ("thinking_budget_tokens", 200, "reasoning.supported"),
    ("output_format", "json", "custom.mux.supportsJsonMode"),
    ("output_schema", {"type": "string"}, "output.structuredOutput"),
    ("session_id", "s", "custom.mux.canResume"),
    ("session_id", "s", "custom.acp.loadSession"),
    ("fork_session_id", "s", "custom.mux.canFork"),
    ("fork_session_id", "s", "custom.acp.forkSession"),
    ("skills", ("swim",), "custom.mux.supportsSkills"),
    ("mcp_servers", (STDIO,), "custom.mux.supportsMCP"),
    ("mcp_servers", (HTTP,), "custom.acp.mcp.http"),
    ("stream", True, "custom.mux.supportsTextStreaming"),
]
"""Wish, a value of it, and the key that must not be false."""


def wishing(**options: Any) -> Turn:
    return Turn("t", "r", options=Options(**options))


def refused(turn: Turn, **layers: dict[str, Any]) -> dict[str, Any]:
    with pytest.raises(NotCapable) as caught:
        check_turn(turn, snapshot(AGENT, **layers), AGENT)
    return caught.value.problem()


@pytest.mark.parametrize(("name", "value", "path"), GATED)
def test_an_option_that_the_agent_is_known_not_to_support_is_refused(name: str, value: Any, path: str) -> None:
    problem = refused(wishing(**{name: value}), handshake={path: False})
    assert (problem["status"], problem["code"]) == (422, "CAPABILITY_ERROR")
    assert problem["agent"] == AGENT.id
    stated = snapshot(AGENT, handshake={path: False})
    assert stated.get(problem["capability"]) is False, "the capability is a leaf of the snapshot"
    assert problem["source"] in ("handshake (handshake's source)", f"handshake (handshake's source: {path})")
    assert problem["pointer"].startswith(f"/forwardedProps/gateway/{camel(name)}")
    assert "stated by handshake" in problem["detail"] and problem["detail"].endswith(".")


@pytest.mark.parametrize(("name", "value", "path"), GATED)
@pytest.mark.parametrize("known", [True, None])
def test_an_option_that_the_agent_may_support_passes(name: str, value: Any, path: str, known: bool | None) -> None:
    turn_with = wishing(**{name: value})
    announced = {} if known is None else {path: known}
    assert check_turn(turn_with, snapshot(AGENT, handshake=announced), AGENT) is turn_with


@pytest.mark.parametrize("name", ["skills", "mcp_servers"])
def test_an_empty_list_needs_no_ability(name: str) -> None:
    turn_with = wishing(**{name: ()})
    no = {"custom.mux.supportsSkills": False, "custom.mux.supportsMCP": False}
    assert check_turn(turn_with, snapshot(AGENT, handshake=no), AGENT) is turn_with


def test_a_session_has_precedence_over_the_file() -> None:
    agent = otter(options=ALL, manifest={"supports_skills": True})
    with pytest.raises(NotCapable, match="stated by session"):
        check_turn(wishing(skills=("x",)), snapshot(agent, session={"custom.mux.supportsSkills": False}), agent)


# -- the model


def test_the_limits_of_the_model_apply() -> None:
    large, small, old = AGENT.models
    for model, options in (
        (small, {"effort": "low"}),
        (old, {"effort": "max"}),
        (large, {"thinking_budget_tokens": 1}),
        (old, {"thinking_budget_tokens": 2000}),
    ):
        with pytest.raises(NotCapable, match=model.id) as caught:
            check_turn(wishing(**options), snapshot(AGENT, model_layer(AGENT, model)), AGENT, model)
        assert caught.value.problem()["source"].startswith(f"model (otter.toml: models.{model.id}")
    turn_with = wishing(effort="max", thinking_budget_tokens=2000)
    assert check_turn(turn_with, snapshot(AGENT, model_layer(AGENT, large)), AGENT, large) is turn_with


def test_images_for_a_model_that_takes_none_are_dropped() -> None:
    small = AGENT.models[1]
    image = {"type": "image", "source": {"type": "url", "value": "https://otter.example"}}
    texts = {"type": "text", "text": "What is this?"}
    turn = Turn("t", "r", messages=[{"id": "m", "role": "user", "content": [image, texts]}])
    agent = snapshot(AGENT, model_layer(AGENT, small), profile={"multimodal": {"input": {"image": True}}})
    checked = check_turn(turn, agent, AGENT, small)
    assert checked.parts == [texts]
    assert "stated by model (otter.toml: models.otter-2-small)" in checked.warnings[0].message


def test_a_file_and_nothing_else_for_an_agent_that_takes_none_is_refused_by_the_manifest_too() -> None:
    agent = otter(manifest={"supports_file_attachments": False})
    part = {"type": "document", "source": {"type": "url", "value": "https://otter.example", "mimeType": "text/plain"}}
    for parts in ([part, part], [part]):  # nothing would be left of the message
        turn = Turn("t", "r", messages=[{"id": "m", "role": "user", "content": parts}])
        with pytest.raises(NotCapable, match="supportsFileAttachments is false"):
            check_turn(turn, snapshot(agent), agent)
    assert check_turn(turn, snapshot(agent, handshake={"multimodal.input.file": True}), agent) is turn


# -- what a session lists


MODES = {"custom.session.modes.available": [{"id": "ask"}, {"id": "auto"}]}
MODELS = {"custom.session.models.available": [{"id": "small"}]}


@pytest.mark.parametrize(("option", "listed"), [(Options(mode="mad"), MODES), (Options(model="large"), MODELS)])
def test_what_the_session_does_not_list_is_refused_with_what_it_does(option: Options, listed: Layer) -> None:
    agent = otter(driver="acp", cli=None, models=(), options=("mode", "model"))
    turn_with = Turn("t", "r", options=option)
    assert check_turn(turn_with, snapshot(agent), agent) is turn_with, "nobody knows before the session has told"
    with pytest.raises(NotCapable, match="stated by session") as refused:
        check_turn(turn_with, snapshot(agent, session=dict(listed)), agent)
    [offered] = listed.values()
    assert refused.value.extra["known"] == [one["id"] for one in offered]


# -- thinking


def test_an_override_of_what_the_file_does_not_name_is_refused() -> None:
    problem = refused(wishing(thinking_override={"permission_mode": "yolo"}))
    assert problem["pointer"] == "/forwardedProps/gateway/thinkingOverride/permission_mode"


# -- JSON


def test_an_agent_with_schemas_and_no_mode_for_json_gets_a_schema() -> None:
    source = {"custom.mux.supportsJsonMode": False, "output.structuredOutput": True}
    checked = check_turn(wishing(output_format="json"), snapshot(AGENT, handshake=source), AGENT)
    assert (checked.options.output_format, checked.options.output_schema) == (None, {"type": "object"})
    schema = {"type": "array"}
    checked = check_turn(wishing(output_format="json", output_schema=schema), snapshot(AGENT, handshake=source), AGENT)
    assert (checked.options.output_format, checked.options.output_schema) == (None, schema)


@pytest.mark.parametrize(("driver", "format"), [("cli", None), ("acp", "json")])
def test_a_json_mode_is_used_where_there_is_an_option_for_it(driver: str, format: str | None) -> None:
    agent = otter(options=ALL, driver=driver)
    source = {"custom.mux.supportsJsonMode": True, "output.structuredOutput": True}
    checked = check_turn(wishing(output_format="json"), snapshot(agent, handshake=source), agent)
    assert checked.options.output_format == format


def test_an_agent_that_lists_schemas_alone_may_be_asked_for_json() -> None:
    agent = otter(options=("outputSchema",))
    checked = check_turn(wishing(output_format="json"), snapshot(agent), agent)
    assert checked.options.output_schema == {"type": "object"}


def test_the_output_format_text_needs_no_ability() -> None:
    turn_with = wishing(output_format="text")
    assert check_turn(turn_with, snapshot(AGENT, handshake={"custom.mux.supportsJsonMode": False}), AGENT) is turn_with


# -- MCP


@pytest.mark.parametrize(
    ("server", "kind"),
    [
        (STDIO, "stdio"),
        (HTTP, "http"),
        ({"type": "sse", "url": "x"}, "sse"),
        ({"url": "x"}, "http"),
        ({"type": "stdio", "command": "x"}, "stdio"),
    ],
)
def test_a_server_is_refused_by_the_way_it_is_reached(server: dict[str, Any], kind: str) -> None:
    offers = {f"custom.acp.mcp.{name}": name != kind for name in ("stdio", "http", "sse")}
    problem = refused(wishing(mcp_servers=({"type": "acp"}, server)), handshake=offers)
    assert problem["pointer"] == "/forwardedProps/gateway/mcpServers/1"
    assert problem["capability"] == f"custom.acp.mcp.{kind}"
    assert f"over {kind}" in problem["detail"]


# -- streaming

NO_TEXT = {"custom.mux.supportsTextStreaming": False}
NO_CALLS = {"custom.mux.supportsToolCallStreaming": False}
NO_THOUGHTS = {"reasoning.streaming": False}


@pytest.mark.parametrize(
    ("stream", "source", "unsupported"),
    [
        (None, NO_TEXT, ["text"]),
        (None, NO_TEXT | NO_THOUGHTS, ["text", "thinking"]),
        (None, NO_CALLS, None),
        (None, {}, None),
        ("auto", NO_TEXT, ["text"]),
        ("auto", NO_CALLS | NO_THOUGHTS, ["toolCall", "thinking"]),
        ("auto", {}, None),
        (True, NO_CALLS, None),
        (False, NO_TEXT, None),
    ],
)
def test_what_does_not_stream_comes_whole_with_one_notice(
    stream: Any, source: dict[str, Any], unsupported: list[str] | None
) -> None:
    before = Notice("FIELD_IGNORED", "/x is not known here", "/x")
    turn_with = Turn("t", "r", options=Options(stream=stream), warnings=(before,))
    checked = check_turn(turn_with, snapshot(AGENT, handshake=source), AGENT)
    assert checked.warnings[0] is before
    if unsupported is None:
        assert checked is turn_with
    else:
        [notice] = checked.warnings[1:]
        value = {"agent": "otter", "unsupported": unsupported, "source": "handshake (handshake's source)"}
        assert notice_event(notice) == {"type": "CUSTOM", "name": "stream_fallback", "value": value}


def test_strict_is_not_about_how_the_answer_comes() -> None:
    checked = check_turn(wishing(strict=True), snapshot(AGENT, handshake=NO_TEXT), AGENT)
    assert [notice.code for notice in checked.warnings] == ["STREAM_FALLBACK"]


def test_any_other_notice_is_a_warning() -> None:
    announced = notice_event(Notice("CONTENT_DROPPED", "gone", "/messages/0", {"why": "x"}))
    assert announced == {
        "type": "CUSTOM",
        "name": "gateway.warning",
        "value": {"code": "CONTENT_DROPPED", "message": "gone", "why": "x", "pointer": "/messages/0"},
    }
