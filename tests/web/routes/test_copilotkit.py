"""CopilotKit's runtime protocol, request by request, as its browser client speaks it."""

from __future__ import annotations

from typing import Any
from urllib.parse import quote
from uuid import uuid4

import pytest

from gateway import __version__
from tests.support.gateway import Gateway, events_of, run_input, text_of, types_of
from tests.web.agent_folder import write_agent
from tests.web.conftest import PAGE, Guarded
from tests.web.event_order import well_ordered
from tests.web.problem import problem_in

STOPPED = {
    "stopped": True,
    "interrupt": {"type": "RUN_ERROR", "message": "Run stopped by user", "code": "STOPPED"},
}


def page_input(thread: str, text: str | None = None, **fields: Any) -> dict[str, Any]:
    """What its client sends: no version, and no messages from a page that was just opened."""
    body = run_input(text or "", threadId=thread, protocolVersion=..., **fields)
    return body if text else body | {"messages": []}


def new_thread() -> str:
    return f"thread-{uuid4().hex}"


def run(gateway: Gateway, thread: str, text: str, agent: str = "demo", **fields: Any) -> list[dict[str, Any]]:
    response = gateway.client.post(f"/copilotkit/agent/{agent}/run", json=page_input(thread, text, **fields))
    assert (response.status_code, response.headers["content-type"]) == (200, "text/event-stream"), response.text
    return events_of(response.text)


def connect(gateway: Gateway, thread: str, agent: str = "demo") -> list[dict[str, Any]]:
    response = gateway.client.post(f"/copilotkit/agent/{agent}/connect", json=page_input(thread))
    assert (response.status_code, response.headers["content-type"]) == (200, "text/event-stream"), response.text
    return events_of(response.text)


def stop(gateway: Gateway, thread: str, body: bytes = b"", agent: str = "demo") -> dict[str, Any]:
    path = f"/copilotkit/agent/{agent}/stop/{quote(thread, safe='')}"
    response = gateway.client.post(path, content=body)
    assert response.status_code == 200, response.text
    answer: dict[str, Any] = response.json()
    return answer


# -- info


def test_info_is_what_its_client_needs_to_connect(gateway: Gateway) -> None:
    info = gateway.client.get("/copilotkit/info").json()
    assert (info["version"], info["mode"]) == (__version__, "sse")
    assert not any(info["threadEndpoints"].values())
    assert {info[key] for key in ("audioFileTranscriptionEnabled", "a2uiEnabled", "openGenerativeUIEnabled")} == {False}
    assert info["telemetryDisabled"] is True


def test_info_describes_each_agent_by_what_it_can_do_in_the_older_spelling(gateway: Gateway) -> None:
    listed = [agent["id"] for agent in gateway.client.get("/agents").json()["agents"]]  # which looks at each
    agents = gateway.client.get("/copilotkit/info").json()["agents"]
    assert set(agents) == {*listed, "default"}
    for name in listed:
        assert agents[name]["name"] == name
        older = gateway.client.get(f"/agents/{name}/capabilities", params={"protocol": "0"}).json()
        assert agents[name]["capabilities"] == older
    assert agents["demo"]["capabilities"]["multiAgent"]["subAgents"]
    assert agents["echo"]["description"].startswith("Repeats your message.")


def test_default_is_another_name_for_the_demo(gateway: Gateway) -> None:
    agents = gateway.client.get("/copilotkit/info").json()["agents"]
    assert agents["default"] == agents["demo"]
    thread = new_thread()
    assert "I am the demo" in text_of(run(gateway, thread, "help", "default"))
    assert types_of(connect(gateway, thread, "demo")) == types_of(connect(gateway, thread, "default")) != []


def test_default_may_stand_for_another(tmp_path_factory: pytest.TempPathFactory) -> None:
    home = tmp_path_factory.mktemp("default")
    with Gateway(home, env={"AGUI_GATEWAY_DEFAULT_AGENT": "echo"}) as running:
        assert running.client.get("/copilotkit/info").json()["agents"]["default"]["name"] == "echo"
        assert text_of(run(running, "t", "say this", "default")) == "say this "


def test_an_agent_that_is_called_default_is_itself(tmp_path_factory: pytest.TempPathFactory) -> None:
    home = tmp_path_factory.mktemp("called-default")
    write_agent(home / "agents", "default", "async def agent(turn):\n    yield 'really me'\n")
    with Gateway(home, "--agents", str(home / "agents")) as running:
        assert running.client.get("/copilotkit/info").json()["agents"]["default"]["name"] == "default"
        assert text_of(run(running, "t", "help", "default")) == "really me"


def test_default_is_no_agent_beyond_copilotkit(gateway: Gateway) -> None:
    problem_in(gateway.post("default", run_input()), 404, "UNKNOWN_AGENT")


# -- run


@pytest.mark.parametrize("prompt", ["hello", "tools", "approve", "image", "error", "everything"])
def test_a_run_is_a_stream_that_its_client_accepts(gateway: Gateway, prompt: str) -> None:
    events = run(gateway, new_thread(), prompt)
    assert well_ordered(events)
    outcomes = [event["outcome"]["type"] for event in events if "outcome" in event]
    assert outcomes == (["interrupt"] if prompt == "approve" else [])  # an older client knows no other


def test_a_run_goes_on_when_the_page_is_closed_and_is_there_when_it_is_opened_again(gateway: Gateway) -> None:
    thread = new_thread()
    body = page_input(thread, "slow 4")
    with gateway.client.stream("POST", "/copilotkit/agent/demo/run", json=body) as response:
        next(response.iter_lines())
    followed = events_of(gateway.client.get(f"/runs/{body['runId']}/events").text)
    assert (text_of(followed), followed[-1]["type"]) == ("Slow and steady: stop ", "RUN_FINISHED")
    assert connect(gateway, thread)[1]["messages"][-1]["content"] == "Slow and steady: stop "


def test_a_run_may_be_asked_to_stop_when_the_page_is_closed(gateway: Gateway) -> None:
    body = page_input(new_thread(), "slow 600", forwardedProps={"gateway": {"onDisconnect": "cancel"}})
    with gateway.client.stream("POST", "/copilotkit/agent/demo/run", json=body) as response:
        next(response.iter_lines())
    events = events_of(gateway.client.get(f"/runs/{body['runId']}/events?protocol=1").text)
    assert events[-1]["outcome"] == {"type": "cancelled"}


def test_a_second_run_of_a_live_thread_is_refused_with_a_message_for_developers(gateway: Gateway) -> None:
    thread = new_thread()
    with gateway.client.stream("POST", "/copilotkit/agent/demo/run", json=page_input(thread, "slow 600")) as response:
        next(response.iter_lines())
        again = gateway.client.post("/copilotkit/agent/demo/run", json=page_input(thread, "hello"))
        assert problem_in(again, 409, "RUN_IN_PROGRESS")["message"]
        stop(gateway, thread)


# -- connect


def test_a_thread_that_is_unknown_is_an_empty_stream(gateway: Gateway) -> None:
    assert connect(gateway, new_thread()) == []


def test_a_thread_of_another_agent_is_one_that_is_unknown(gateway: Gateway) -> None:
    thread = new_thread()
    run(gateway, thread, "hello", "echo")
    assert connect(gateway, thread, "demo") == []


def test_a_known_thread_is_retold_as_one_run(gateway: Gateway) -> None:
    thread = new_thread()
    run(gateway, thread, "state")
    run(gateway, thread, "tools")
    events = connect(gateway, thread)
    assert well_ordered(events)
    assert types_of(events) == ["RUN_STARTED", "STATE_SNAPSHOT", "MESSAGES_SNAPSHOT", "RUN_FINISHED"]
    roles = [message["role"] for message in events[2]["messages"]]
    assert (roles[0], roles.count("user"), roles.count("tool")) == ("user", 2, 2)


def test_an_open_question_is_asked_again(gateway: Gateway) -> None:
    thread = new_thread()
    outcome = run(gateway, thread, "approve")[-1]["outcome"]
    assert connect(gateway, thread)[-1]["outcome"] == outcome


def test_a_live_thread_is_retold_and_then_followed_to_its_end(gateway: Gateway) -> None:
    thread = new_thread()
    first = run(gateway, thread, "hello")
    with (
        gateway.client.stream("POST", "/copilotkit/agent/demo/run", json=page_input(thread, "slow 600")) as response,
        gateway.client.stream("POST", "/copilotkit/agent/demo/connect", json=page_input(thread)) as page,
    ):
        live, joining = response.iter_text(), page.iter_text()
        came, seen = next(live), next(joining)
        while "TEXT_MESSAGE_CONTENT" not in seen:
            seen += next(joining)
        assert stop(gateway, thread) == STOPPED
        joined, whole = events_of(seen + "".join(joining)), events_of(came + "".join(live))
    past = types_of(joined).index("RUN_FINISHED") + 1
    assert well_ordered(joined[:past]) and well_ordered(joined[past:])
    snapshot = next(event for event in joined if event["type"] == "MESSAGES_SNAPSHOT")
    contents = [message["content"] for message in snapshot["messages"]]
    assert contents == ["hello", text_of(first), "slow 600"]
    assert joined[past:] == whole


# -- stop


def test_a_stop_finishes_the_stream_and_says_so(gateway: Gateway) -> None:
    thread = new_thread()
    with gateway.client.stream("POST", "/copilotkit/agent/demo/run", json=page_input(thread, "slow 600")) as response:
        lines = response.iter_lines()
        next(lines)
        assert stop(gateway, thread) == STOPPED
        rest = "\n".join(lines)
    assert types_of(events_of(rest))[-1] == "RUN_FINISHED"
    assert stop(gateway, thread)["stopped"] is False


@pytest.mark.parametrize("body", [b"", b"  ", b"{}"])
def test_without_a_run_id_it_stops_whatever_is_live(gateway: Gateway, body: bytes) -> None:
    thread = new_thread()
    with gateway.client.stream("POST", "/copilotkit/agent/demo/run", json=page_input(thread, "slow 600")) as response:
        next(response.iter_lines())
        assert stop(gateway, thread, body) == STOPPED


def test_with_a_run_id_it_stops_that_run_and_no_other(gateway: Gateway) -> None:
    thread = new_thread()
    body = page_input(thread, "slow 600", runId=thread[::-1])
    with gateway.client.stream("POST", "/copilotkit/agent/demo/run", json=body) as response:
        next(response.iter_lines())
        other = stop(gateway, thread, b'{"runId": "another"}')
        assert (other["stopped"], bool(other["message"])) == (False, True)
        assert stop(gateway, thread, b'{"runId": "%b"}' % thread[::-1].encode()) == STOPPED


@pytest.mark.parametrize("thread", ["a/b", "stop/me", "ünï cödé?#", "%41"])
def test_a_thread_is_found_whatever_its_id(gateway: Gateway, thread: str) -> None:
    with gateway.client.stream("POST", "/copilotkit/agent/demo/run", json=page_input(thread, "slow 600")) as response:
        next(response.iter_lines())
        assert stop(gateway, thread) == STOPPED


def test_a_question_can_be_stopped_too(gateway: Gateway) -> None:
    thread = new_thread()
    run(gateway, thread, "approve")
    assert stop(gateway, thread) == STOPPED
    assert "outcome" not in run(gateway, thread, "hello")[-1]


@pytest.mark.parametrize("body", [b'{"runid": "r"}', b'{"runId": 3}', b'{"runId": null}', b"[]", b'"r"', b"3", b"null"])
def test_a_misspelt_scope_stops_nothing(gateway: Gateway, body: bytes) -> None:
    thread = new_thread()
    with gateway.client.stream("POST", "/copilotkit/agent/demo/run", json=page_input(thread, "slow 600")) as response:
        next(response.iter_lines())
        problem_in(gateway.client.post(f"/copilotkit/agent/demo/stop/{thread}", content=body), 400, "BAD_REQUEST")
        assert stop(gateway, thread) == STOPPED


def test_a_scope_that_is_not_json_is_refused(gateway: Gateway) -> None:
    problem_in(gateway.client.post("/copilotkit/agent/demo/stop/t", content=b"runId=r"), 400, "NOT_JSON")


# -- bodies and pages


@pytest.mark.parametrize("route", ["run", "connect"])
@pytest.mark.parametrize(
    ("body", "status", "code"),
    [(b"", 400, "NOT_JSON"), (b"{", 400, "NOT_JSON"), (b"[]", 422, "INVALID_INPUT"), (b"{}", 422, "INVALID_INPUT")],
)
def test_a_wrong_body_is_refused(gateway: Gateway, route: str, body: bytes, status: int, code: str) -> None:
    headers = {"content-type": "application/json"}
    response = gateway.client.post(f"/copilotkit/agent/demo/{route}", content=body, headers=headers)
    problem = problem_in(response, status, code)
    assert problem["message"] == problem["detail"]


@pytest.mark.parametrize("path", ["/agent/ghost/run", "/agent/ghost/connect", "/agent/ghost/stop/t"])
def test_an_agent_that_is_unknown_is_refused(gateway: Gateway, path: str) -> None:
    problem_in(gateway.client.post(f"/copilotkit{path}", json=page_input("t", "hello")), 404, "UNKNOWN_AGENT")


@pytest.mark.parametrize("path", ["/info", "/agent/demo/run", "/agent/demo/connect", "/agent/demo/stop/t"])
def test_an_allowed_page_may_ask_before_it_calls(guarded: Guarded, path: str) -> None:
    outcome = {"access-control-request-method": "POST", "access-control-request-headers": "content-type"}
    response = guarded.gateway.client.options(f"/copilotkit{path}", headers={"origin": PAGE, **outcome})
    assert (response.status_code, response.headers["access-control-allow-origin"]) == (204, PAGE)
    assert response.headers["access-control-allow-credentials"] == "true"


def test_another_page_is_refused_before_it_calls(guarded: Guarded) -> None:
    outcome = {"origin": "https://evil.example", "access-control-request-method": "POST"}
    problem_in(guarded.gateway.client.options("/copilotkit/info", headers=outcome), 403, "ORIGIN_NOT_ALLOWED")
