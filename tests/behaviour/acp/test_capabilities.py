"""What an ACP agent can do, as `…/capabilities` shows it: by its handshake, and by a thread's session."""

from __future__ import annotations

from typing import Any

import pytest

from tests.behaviour.acp.harness import Stage, Talk, answered
from tests.support.gateway import text_of

VIEW: dict[str, Any] = {
    "loadSession": bool,
    "forkSession": bool,
    "resumeSession": bool,
    "closeSession": bool,
    "listSessions": bool,
    "additionalDirectories": bool,
    "mcp": {"stdio": bool, "http": bool, "sse": bool},
    "prompt": {"text": bool, "image": bool, "audio": bool, "embeddedContext": bool},
}
"""agents-wire's `IAgentCapabilities`."""


def select(view: dict[str, Any], shape: dict[str, Any] = VIEW) -> dict[str, Any]:
    """The part of the view that has this shape."""
    return {key: select(view[key], inner) if isinstance(inner, dict) else view[key] for key, inner in shape.items()}


def answers(yes: bool, shape: dict[str, Any] = VIEW) -> dict[str, Any]:
    return {key: answers(yes, inner) if isinstance(inner, dict) else yes for key, inner in shape.items()}


def test_the_view_of_acp_has_every_field_of_agents_wire(stage: Stage) -> None:
    view = stage.asks("/agents/full/capabilities?probe=1&view=acp")
    assert select(view) == answers(True)


def test_what_an_agent_does_not_announce_is_false(stage: Stage) -> None:
    view = stage.asks("/agents/bare/capabilities?probe=1&view=acp")
    expected = answers(False)
    expected["mcp"]["stdio"] = expected["prompt"]["text"] = True  # every agent has these two
    assert select(view) == expected


def test_the_handshake_is_in_aguis_own_fields_too(stage: Stage) -> None:
    found = stage.asks("/agents/plain/capabilities?probe=1")
    own = {"acp": {"name": "scripted", "title": "Scripted"}}
    assert found["identity"] == {"name": "plain", "type": "acp", "version": "1.2.3", "metadata": own}
    image, audio = found["multimodal"]["input"]["image"], found["multimodal"]["input"]["audio"]
    assert (image, audio, found["custom"]["acp"]["loadSession"]) == (True, False, True)
    assert found["custom"]["acp"]["authMethods"] == [{"id": "key", "name": "A key", "type": "agent"}]


def test_every_value_has_its_source(stage: Stage) -> None:
    explained = stage.asks("/agents/plain/capabilities?probe=1&explain=1")["explain"]
    assert explained["multimodal.input.image"]["layer"] == "handshake"
    assert explained["identity.type"]["layer"] == "profile"


def test_an_image_for_an_agent_that_takes_none_is_left_out_or_refused(stage: Stage) -> None:
    stage.asks("/agents/bare/capabilities?probe=1")
    picture = {"type": "image", "source": {"type": "data", "value": "AAAA", "mimeType": "image/png"}}
    message = {"id": "m", "role": "user", "content": [{"type": "text", "text": "look"}, picture]}
    talk, strict = Talk(stage, "bare"), Talk(stage, "bare", strict=True)
    assert text_of(talk.say("", messages=[message])) == "You said: look"
    refusal = answered(stage.post("bare", strict.input("", messages=[message])), 422)
    assert (refusal["capability"], refusal["source"].split()[0]) == ("multimodal.input.image", "handshake")


def test_a_threads_view_has_what_its_session_has_and_is_set_to(stage: Stage) -> None:
    first, second = Talk(stage, "full"), Talk(stage, "full")
    first.say("hello")
    second.say("hello")
    stage.asks(f"{first.path}/mode", {"mode": "auto"})
    own, other = (stage.asks(f"/agents/full/capabilities?thread={talk.id}")["custom"] for talk in (first, second))
    assert [mode["id"] for mode in own["session"]["modes"]["available"]] == ["ask", "auto"]
    assert (own["session"]["modes"]["current"], other["session"]["modes"]["current"]) == ("auto", "ask")
    assert own["session"]["cwd"] == str(stage.workspace)
    assert select(own["acp"]) == answers(True)
    assert own["acp"] == stage.asks("/agents/full/capabilities")["custom"]["acp"]  # a session adds nothing there


@pytest.mark.parametrize("thread", ["", "?thread=unknown"])
def test_without_a_session_the_view_is_the_agents(stage: Stage, thread: str) -> None:
    stage.asks("/agents/full/capabilities?probe=1")
    found = stage.asks(f"/agents/full/capabilities{thread}")
    assert "session" not in found["custom"]


def test_an_unknown_view_is_refused_with_those_there_are(stage: Stage) -> None:
    assert "agui, acp" in stage.asks("/agents/full/capabilities?view=moon", status=400)["detail"]


def test_the_version_changes_with_the_content(stage: Stage) -> None:
    talk = Talk(stage, "full")
    talk.say("hello")
    path = f"/agents/full/capabilities?thread={talk.id}"
    tag = stage.client.get(path).headers["etag"]
    assert stage.client.get(path, headers={"if-none-match": tag}).status_code == 304
    stage.asks(f"{talk.path}/model", {"model": "large"})
    assert stage.client.get(path, headers={"if-none-match": tag}).status_code == 200
