"""Threads over HTTP: looked at, set, forked, closed, deleted, each by leave of what the agent offers."""

from __future__ import annotations

from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest

from tests.behaviour.acp.harness import Stage, Talk, answered, warnings_of
from tests.runs.harness import interrupts_of, until
from tests.support.gateway import text_of

CONFIG = "set_config_option"


def start_thread(stage: Stage, agent: str) -> Talk:
    talk = Talk(stage, agent)
    talk.say("hello")
    return talk


# -- looking


def test_threads_are_listed_newest_first(stage: Stage) -> None:
    first, second = start_thread(stage, "full"), start_thread(stage, "full")
    listed = [thread["threadId"] for thread in stage.asks("/agents/full/threads")["threads"]]
    assert listed[:2] == [second.id, first.id]


def test_a_thread_shows_its_conversation_and_its_session(stage: Stage) -> None:
    talk = start_thread(stage, "full")
    shown = stage.asks(talk.path)
    assert [message["content"] for message in shown["messages"]] == ["hello", "You said: hello"]
    assert (shown["session"]["open"], shown["session"]["id"]) == (True, shown["sessionId"])
    assert shown["session"]["modes"]["current"] == "ask"
    assert (shown["runId"], shown["pendingRunId"], shown["interrupts"]) == (None, None, [])


def test_a_thread_that_waits_shows_what_for(stage: Stage) -> None:
    talk = Talk(stage)
    (interrupt,) = interrupts_of(talk.say("tool"))
    shown = stage.asks(talk.path)
    assert (shown["pendingRunId"], shown["interrupts"]) == (talk.runs[-1], [interrupt])


@pytest.mark.parametrize(("way", "method"), [("", "GET"), ("", "DELETE"), ("/close", "POST"), ("/fork", "POST")])
def test_an_unknown_thread_is_not_found(stage: Stage, way: str, method: str) -> None:
    response = stage.client.request(method, f"/agents/full/threads/unknown{way}")
    assert answered(response, 404)["code"] == "UNKNOWN_THREAD"


# -- setting


@pytest.mark.parametrize(
    ("what", "body", "method", "params"),
    [
        ("mode", {"mode": "auto"}, "set_mode", {"modeId": "auto"}),
        ("model", {"model": "large"}, "set_model", {"modelId": "large"}),
        ("config", {"id": "effort", "value": "high"}, CONFIG, {"configId": "effort", "value": "high"}),
        ("config", {"id": "thought_level", "value": "low"}, CONFIG, {"configId": "effort", "value": "low"}),
        ("config", {"id": "web", "value": True}, CONFIG, {"configId": "web", "type": "boolean", "value": True}),
    ],
)
def test_what_the_session_offers_can_be_set(stage: Stage, what: str, body: Any, method: str, params: Any) -> None:
    talk = start_thread(stage, "full")
    now = stage.asks(f"{talk.path}/{what}", body)
    last = stage.received("full", talk.session)[-1]
    assert (last["method"], last["params"]) == (f"session/{method}", {"sessionId": talk.session, **params})
    assert now == {key: value for key, value in stage.asks(talk.path)["session"].items() if key not in ("id", "open")}


def test_what_is_set_shows(stage: Stage) -> None:
    talk = start_thread(stage, "full")
    assert stage.asks(f"{talk.path}/mode", {"mode": "auto"})["modes"]["current"] == "auto"
    assert stage.asks(f"{talk.path}/model", {"model": "large"})["models"]["current"] == "large"
    options = stage.asks(f"{talk.path}/config", {"id": "effort", "value": "high"})["config"]
    assert [option["value"] for option in options] == ["high", False]


@pytest.mark.parametrize(
    ("what", "body", "capability"),
    [
        ("mode", {"mode": "auto"}, "custom.gateway.options.mode"),
        ("model", {"model": "large"}, "custom.gateway.options.model"),
        ("config", {"id": "effort", "value": "high"}, "custom.session.config"),
        ("fork", {"threadId": "copy"}, "custom.acp.forkSession"),
        ("acp", {"method": "session/list"}, "custom.acp.listSessions"),
        ("acp", {"method": "session/delete"}, "custom.acp.deleteSession"),
        ("acp", {"method": "session/archive"}, "custom.acp.archive"),
        ("acp", {"method": "session/set_title", "params": {"title": "t"}}, "custom.acp.title"),
        ("acp", {"method": "logout"}, "custom.acp.logout"),
        ("acp", {"method": "providers/list"}, "custom.acp.providers"),
    ],
)
def test_what_the_agent_does_not_offer_is_refused_by_name(stage: Stage, what: str, body: Any, capability: str) -> None:
    talk = start_thread(stage, "bare")
    before = stage.received("bare")
    refusal = stage.asks(f"{talk.path}/{what}", body, status=422)
    assert (refusal["code"], refusal["capability"]) == ("CAPABILITY_ERROR", capability)
    assert refusal["source"].split()[0] in ("handshake", "session")
    assert stage.received("bare") == before


def test_a_value_that_the_session_does_not_have_is_refused_with_those_it_has(stage: Stage) -> None:
    talk = start_thread(stage, "full")
    assert stage.asks(f"{talk.path}/mode", {"mode": "sleep"}, status=422)["known"] == ["ask", "auto"]
    assert stage.asks(f"{talk.path}/config", {"id": "effort", "value": "mad"}, status=422)["known"] == ["low", "high"]


@pytest.mark.parametrize("what", ["mode", "model", "config", "acp"])
@pytest.mark.parametrize("body", [{}, {"mode": 1, "model": 1, "id": 1, "method": 1}, []])
def test_a_body_of_another_shape_is_refused(stage: Stage, what: str, body: Any) -> None:
    response = stage.client.post(f"{start_thread(stage, 'full').path}/{what}", json=body)
    assert answered(response, 422)["code"] == "INVALID_INPUT"


def test_a_thread_can_be_set_before_its_first_run(stage: Stage) -> None:
    talk = Talk(stage, "full")
    stage.asks(f"{talk.path}/mode", {"mode": "auto"})
    session = talk.session
    events = talk.say("turns")
    assert (text_of(events), warnings_of(events)) == (f"turns: 1, in {session}", [])


def test_a_closed_session_is_resumed_to_be_set(stage: Stage) -> None:
    talk = start_thread(stage, "full")
    session = talk.session
    stage.asks(f"{talk.path}/close", {})
    stage.asks(f"{talk.path}/mode", {"mode": "auto"})
    methods = [message["method"] for message in stage.received("full", session)]
    assert methods[-3:] == ["session/close", "session/resume", "session/set_mode"]


# -- any method


def test_any_method_of_the_protocol_can_be_called(stage: Stage) -> None:
    talk = start_thread(stage, "full")
    listed = stage.asks(f"{talk.path}/acp", {"method": "session/list"})["result"]["sessions"]
    assert talk.session in [session["sessionId"] for session in listed]
    echoed = stage.asks(f"{talk.path}/acp", {"method": "_vendor/echo", "params": {"a": [1]}})
    assert echoed == {"result": {"echo": {"a": [1]}}}


def test_a_method_that_the_agent_does_not_know_is_its_own_answer(stage: Stage) -> None:
    problem = stage.asks(f"{start_thread(stage, 'full').path}/acp", {"method": "no/such"}, status=502)
    assert (problem["code"], problem["agentCode"]) == ("METHOD_NOT_FOUND", -32601)


@pytest.mark.parametrize("method", ["initialize", "session/new", "session/prompt", "session/load", "session/cancel"])
def test_methods_that_only_the_gateway_calls_are_refused(stage: Stage, method: str) -> None:
    refusal = stage.asks(f"{start_thread(stage, 'full').path}/acp", {"method": method}, status=422)
    assert "only the gateway calls" in refusal["detail"]


def test_a_thread_reaches_no_session_but_its_own(stage: Stage) -> None:
    own, other = start_thread(stage, "full"), start_thread(stage, "full")
    session = own.session
    body = {"method": "session/delete", "params": {"sessionId": other.session}}
    stage.asks(f"{own.path}/acp", body)
    assert stage.received("full")[-1]["params"]["sessionId"] == session
    assert text_of(other.say("turns")) == f"turns: 2, in {other.session}"


# -- forking, closing, deleting


def test_a_fork_begins_where_its_thread_is_and_goes_its_own_way(stage: Stage) -> None:
    talk, name = start_thread(stage, "full"), f"fork-{uuid4().hex}"
    made = stage.asks(f"{talk.path}/fork", {"threadId": name}, status=201)
    fork = talk.copy(name)
    assert (made["threadId"], made["sessionId"]) == (name, fork.session)
    assert [message["content"] for message in stage.asks(fork.path)["messages"]] == ["hello", "You said: hello"]
    assert text_of(fork.say("turns")) == f"turns: 2, in {fork.session}"
    assert fork.prompts == ["turns"]
    assert text_of(talk.say("turns")) == f"turns: 2, in {talk.session}"


def test_a_fork_without_a_name_gets_one(stage: Stage) -> None:
    response = stage.client.post(f"{start_thread(stage, 'full').path}/fork")
    assert answered(response, 201)["threadId"].startswith("fork-")


def test_a_fork_does_not_replace_a_thread(stage: Stage) -> None:
    talk, other = start_thread(stage, "full"), start_thread(stage, "full")
    assert stage.asks(f"{talk.path}/fork", {"threadId": other.id}, status=409)["code"] == "THREAD_EXISTS"


def test_a_closed_thread_comes_back_when_it_is_used(stage: Stage) -> None:
    talk = start_thread(stage, "plain")
    session = talk.session
    assert stage.asks(f"{talk.path}/close", {}) == {"closed": True}
    assert stage.asks(f"{talk.path}/close", {}) == {"closed": False}
    assert stage.received("plain", session)[-1]["method"] == "session/close"
    shown = stage.asks(talk.path)["session"]
    assert (shown["id"], shown["open"], shown["modes"]["current"]) == (session, False, "ask")
    assert text_of(talk.say("turns")) == f"turns: 2, in {session}"


@pytest.mark.parametrize(("agent", "methods"), [("full", ["session/delete"]), ("bare", [])])
def test_a_deleted_thread_is_gone_at_the_agent_too_where_it_can(stage: Stage, agent: str, methods: list[str]) -> None:
    talk = start_thread(stage, agent)
    session = talk.session
    assert stage.client.delete(talk.path).status_code == 204
    assert stage.client.get(talk.path).status_code == 404
    assert [m["method"] for m in stage.received(agent, session) if m["method"] == "session/delete"] == methods
    assert text_of(talk.say("hello again")) != ""


def test_a_thread_can_be_deleted_when_its_agent_is_gone(tmp_path: Path) -> None:
    with Stage(tmp_path).agent("plain") as stage:
        talk = start_thread(stage, "plain")
        stage.terminate()
        stage.agent("plain", command={"run": ["no-such-agent"]}).start()
        assert stage.client.delete(talk.path).status_code == 204
        assert stage.client.get(talk.path).status_code == 404


@pytest.mark.parametrize("what", ["mode", "model", "config", "fork", "close", "delete"])
def test_a_thread_with_a_run_under_way_is_left_alone(stage: Stage, what: str) -> None:
    talk = Talk(stage, "full")
    body = {"mode": "auto", "model": "large", "id": "web", "value": True, "threadId": "copy"}
    with talk.streaming("slow") as events:
        until(events, "TEXT_MESSAGE_CONTENT")
        if what == "delete":
            response = stage.client.delete(talk.path)
        else:
            response = stage.client.post(f"{talk.path}/{what}", json=body)
        assert answered(response, 409)["runId"] == talk.runs[-1]
