"""Agents that are registered and removed while the gateway runs: who may, what is checked, what happens to runs."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.behaviour.acp.harness import Stage, Talk, outcome_of, pid_of
from tests.runs.harness import eventually, interrupts_of
from tests.support.gateway import Gateway, text_of
from tests.web.problem import problem_in

ADMIN = {"authorization": "Bearer boss-0123456789abcdef"}
RUNNER = {"authorization": "Bearer runs-0123456789abcdef"}


@pytest.fixture(scope="module")
def stage(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stage]:
    stage = Stage(tmp_path_factory.mktemp("stage"), cancel_grace=0.5)
    stage.agent("filed")
    with stage:
        yield stage


def definition(stage: Stage, name: str, *flags: str, **more: Any) -> dict[str, Any]:
    return {"driver": "acp", "identity": {"name": name.title()}, "command": stage.command(name, *flags), **more}


def put(stage: Gateway, name: str, body: Any, **headers: str) -> httpx.Response:
    return stage.client.put(f"/agents/{name}", json=body, headers=headers)


# -- coming and going


def test_an_agent_is_registered_used_replaced_and_removed(stage: Stage) -> None:
    first = put(stage, "guest", definition(stage, "guest"))
    assert (first.status_code, first.json()["identity"]["name"]) == (201, "Guest")
    assert text_of(Talk(stage, "guest").say("hello")) == "You said: hello"
    second = put(stage, "guest", definition(stage, "guest", identity={"name": "Other"}, stall_timeout=30))
    assert (second.status_code, second.json()["identity"]["name"]) == (200, "Other")
    assert stage.client.delete("/agents/guest").status_code == 204
    problem_in(stage.client.get("/agents/guest"), 404, "UNKNOWN_AGENT")
    problem_in(stage.client.delete("/agents/guest"), 404, "UNKNOWN_AGENT")
    eventually(lambda: not stage.processes("guest"))


def test_it_may_be_sent_as_the_file_would_be(stage: Stage) -> None:
    text = 'driver = "acp"\ncommand = { run = ["nowhere"] }\nidentity = { name = "Filed" }\nverified = 2026-01-15\n'
    text += '[[models]]\nid = "m"\nprice = { input = 0.30 }\n'
    answer = stage.client.put("/agents/toml", content=text, headers={"content-type": "application/toml"})
    assert (answer.status_code, answer.json()["availability"]["status"]) == (201, "not-installed")
    cost = stage.asks("/agents/toml/models/m/cost?inputTokens=1000000&outputTokens=0")
    assert cost["usd"] == "0.3"
    assert stage.client.delete("/agents/toml").status_code == 204


def test_a_file_s_agent_is_covered_and_comes_back(stage: Stage) -> None:
    problem = problem_in(stage.client.delete("/agents/filed"), 409, "AGENT_FROM_FILE")
    assert str(stage.agents) in problem["detail"]
    covered = put(stage, "filed", definition(stage, "filed", identity={"name": "Cover"}))
    assert (covered.status_code, covered.json()["identity"]["name"]) == (200, "Cover")
    assert stage.client.delete("/agents/filed").status_code == 204
    assert stage.asks("/agents/filed")["identity"]["name"] == "filed"


def test_the_index_and_the_feed_know_at_once(stage: Stage) -> None:
    put(stage, "brief", definition(stage, "brief", capabilities={"reasoning": {"supported": True}}))
    assert "brief" in stage.asks("/")["agents"]
    before = stage.client.get("/agents/brief/capabilities")
    put(stage, "brief", definition(stage, "brief", capabilities={"reasoning": {"supported": False}}))
    after = stage.client.get("/agents/brief/capabilities")
    supported = [answer.json()["reasoning"]["supported"] for answer in (before, after)]
    assert supported == [True, False]
    assert before.headers["etag"] != after.headers["etag"]


# -- nothing is torn


def test_a_live_run_goes_on_in_the_old_one_and_the_next_is_in_the_new(stage: Stage) -> None:
    put(stage, "swap", definition(stage, "swap", stage.state("swap")))
    talk = Talk(stage, "swap")
    with talk.streaming("slow") as events:
        first = next(event for event in events if event["type"] == "TEXT_MESSAGE_CONTENT")
        old = pid_of(talk.session)
        assert put(stage, "swap", definition(stage, "swap", stage.state("swap"), merge=False)).status_code == 200
        other = Talk(stage, "swap")
        assert text_of(other.say("hello")) == "You said: hello", "a new run does not wait for the old one"
        assert pid_of(other.session) != old
        texts = (event for event in events if event["type"] == "TEXT_MESSAGE_CONTENT")
        assert {next(texts)["messageId"] for _ in range(20)} == {first["messageId"]}
        assert old in stage.processes("swap")
        talk.cancel()
        assert outcome_of(list(events)) == "cancelled"
    eventually(lambda: old not in stage.processes("swap"))
    session = talk.session
    assert text_of(talk.say("turns")) == f"turns: 2, in {session}", "the thread came back in the new one"


def test_a_question_that_waits_is_answered_in_the_old_one(stage: Stage) -> None:
    put(stage, "asks", definition(stage, "asks"))
    talk = Talk(stage, "asks")
    [interrupt] = interrupts_of(talk.say("tool"))
    old = pid_of(talk.session)
    put(stage, "asks", definition(stage, "asks", merge=False))
    assert old in stage.processes("asks")
    answer = {"interruptId": interrupt["id"], "status": "resolved", "payload": {"approved": True}}
    assert "chose allow" in text_of(talk.resume(answer))
    eventually(lambda: old not in stage.processes("asks"))


def test_idle_sessions_of_a_removed_agent_are_closed_in_order(stage: Stage) -> None:
    put(stage, "leaver", definition(stage, "leaver"))
    talk = Talk(stage, "leaver")
    talk.say("hello")
    session = talk.session
    stage.client.delete("/agents/leaver")
    eventually(lambda: not stage.processes("leaver"))
    assert stage.received("leaver", session, "session/close")


# -- what is checked


def test_everything_that_is_wrong_is_reported_by_its_place(stage: Stage) -> None:
    body = {"driver": "acp", "command": {"run": [], "shell": 1}, "id": "other", "capabilities": {"tools": 3}, "x": 1}
    problem = problem_in(put(stage, "wrong", body), 422, "INVALID_DEFINITION")
    pointers = {error["pointer"] for error in problem["errors"]}
    assert pointers == {"/command/run", "/command/shell", "/id", "/capabilities/tools", "/x", "/identity"}
    assert all(error["message"] for error in problem["errors"])
    problem_in(stage.client.get("/agents/wrong"), 404, "UNKNOWN_AGENT")


def test_every_value_that_is_wrong_is_reported_by_its_own_place(stage: Stage) -> None:
    wrong = {"tools": {"suported": True}, "execution": {"max_iterations": -1}, "colour": "red"}
    command, remote = {"run": [""]}, {"url": "https://far.example", "headers": {"a b": "c", "d": "e\nf"}}
    body = {"driver": "acp", "identity": {"name": "Wrong"}, "options": ["model", "nosuch"], "capabilities": wrong}
    answer = put(stage, "wrong", {**body, "command": command, "remote": remote})
    problem = problem_in(answer, 422, "INVALID_DEFINITION")
    assert {error["pointer"] for error in problem["errors"]} == {
        "/capabilities/tools/suported",
        "/capabilities/execution/max_iterations",
        "/capabilities/colour",
        "/options/1",
        "/command/run",
        "/remote/headers/a b",
        "/remote/headers/d",
    }
    assert "did you mean supported?" in problem["detail"]


@pytest.mark.parametrize(
    ("body", "pointer"),
    [
        ({"driver": "python", "entry": "os:system"}, "/entry"),
        ({"driver": "acp", "command": {"run": ["x"]}, "capabilities_entry": "os:getcwd"}, "/capabilities_entry"),
        ({"driver": "acp", "command": {"run": ["x"]}, "source": "/x"}, "/source"),
        ({"driver": "acp", "command": {"run": ["x"]}, "private": True}, "/private"),
    ],
    ids=["entry", "capabilities_entry", "source", "private"],
)
def test_no_client_may_send_code_for_the_gateway_itself(stage: Stage, body: dict[str, Any], pointer: str) -> None:
    problem = problem_in(put(stage, "inside", {"identity": {"name": "x"}, **body}), 422, "INVALID_DEFINITION")
    assert pointer in {error["pointer"] for error in problem["errors"]}


@pytest.mark.parametrize(
    ("content", "kind", "status", "code"),
    [
        (b"{", "application/json", 400, "NOT_JSON"),
        (b"[]", "application/json", 422, "INVALID_INPUT"),
        (b"= 1", "application/toml", 400, "NOT_TOML"),
        (b"{}", "text/plain", 415, "UNSUPPORTED_CONTENT_TYPE"),
    ],
)
def test_a_body_that_is_none_is_refused(stage: Stage, content: bytes, kind: str, status: int, code: str) -> None:
    answer = stage.client.put("/agents/none", content=content, headers={"content-type": kind})
    problem_in(answer, status, code)


# -- who may


@pytest.mark.parametrize("header", ["origin", "sec-fetch-site", "x-forwarded-for", "forwarded"])
def test_without_tokens_no_page_and_no_proxy_may(stage: Stage, header: str) -> None:
    value = stage.url if header == "origin" else "same-origin"
    problem_in(put(stage, "page", definition(stage, "page"), **{header: value}), 403, "ADMIN_REQUIRED")
    problem_in(stage.client.delete("/agents/filed", headers={header: value}), 403, "ADMIN_REQUIRED")
    problem_in(stage.client.get("/agents/page"), 404, "UNKNOWN_AGENT")


def test_with_tokens_only_an_administrator_may(tmp_path: Path) -> None:
    tokens = tmp_path / "tokens.txt"
    tokens.write_text("boss:boss-0123456789abcdef\nruns[read,run]:runs-0123456789abcdef\n")
    tokens.chmod(0o600)
    body = {"driver": "acp", "command": {"run": ["nowhere"]}, "identity": {"name": "Kept"}}
    with Gateway(tmp_path / "home", "--token-file", str(tokens)) as gateway:
        problem_in(put(gateway, "kept", body), 401, "UNAUTHORIZED")
        problem_in(put(gateway, "kept", body, **RUNNER), 403, "SCOPE_MISSING")
        problem_in(gateway.client.delete("/agents/demo", headers=RUNNER), 403, "SCOPE_MISSING")
        assert put(gateway, "kept", body, **ADMIN).status_code == 201


# -- what outlives the process


def test_it_is_there_after_a_restart_and_the_audit_log_says_who(tmp_path: Path) -> None:
    body = {"driver": "acp", "command": {"run": ["nowhere"]}, "identity": {"name": "Kept"}}
    gateway = Gateway(tmp_path)
    with gateway:
        put(gateway, "kept", body)
        put(gateway, "dropped", body)
        gateway.client.delete("/agents/dropped")
        gateway.kill()
        gateway.start()
        assert gateway.client.get("/agents/kept").json()["identity"]["name"] == "Kept"
        assert gateway.client.get("/agents/dropped").status_code == 404
    with sqlite3.connect(tmp_path / "gateway.db") as store:
        noted = store.execute(
            "select action, agent, principal from audit_log where agent is not null order by number"
        ).fetchall()
    store.close()
    assert noted == [
        ("agent.register", "kept", "local"),
        ("agent.register", "dropped", "local"),
        ("agent.remove", "dropped", "local"),
    ]
    assert "agent kept: registered by local" in gateway.log.read_text()


# -- secrets

SECRET = "Bearer hunter2-90ab12cd"


def remote(**fields: Any) -> dict[str, Any]:
    return {
        "driver": "remote",
        "identity": {"name": "Far"},
        "remote": {"url": "http://203.0.113.9/agents/far", **fields},
    }


def assert_no_trace(stage: Stage, secret: str) -> None:
    answers = [stage.client.get(path).text for path in ("/agents", "/audit", "/agents/far")]
    stored = b"".join(path.read_bytes() for path in stage.log.parent.glob("gateway.db*"))
    assert stored
    assert [place for place in (*answers, stage.log.read_text(), stored.decode("latin-1")) if secret in place] == []


@pytest.mark.parametrize(
    ("fields", "pointer"),
    [
        ({"headers": {"Authorization": SECRET}}, "/remote/headers/Authorization"),
        ({"headers": {"x-api-key": SECRET}}, "/remote/headers/x-api-key"),
        ({"headers": {"Cookie": f"session={SECRET}"}}, "/remote/headers/Cookie"),
        ({"url": "http://ann:hunter2-90ab12cd@203.0.113.9/agents/far"}, "/remote/url"),
    ],
)
def test_a_secret_in_a_registered_definition_is_refused_and_left_nowhere(
    stage: Stage, fields: dict[str, Any], pointer: str
) -> None:
    response = put(stage, "far", remote(**fields))
    problem = problem_in(response, 422, "INVALID_DEFINITION")
    assert [error["pointer"] for error in problem["errors"]] == [pointer]
    assert "the gateway's environment" in problem["detail"]
    assert "hunter2" not in response.text
    assert_no_trace(stage, "hunter2-90ab12cd")


def test_a_secret_of_the_environment_is_stored_and_shown_by_its_name_only(tmp_path: Path) -> None:
    stage = Stage(tmp_path, allow_private_addresses=True)
    stage._env["FAR_TOKEN"] = SECRET
    with stage:
        headers = {"authorization": "{FAR_TOKEN}", "x-tenant": "acme"}
        assert put(stage, "far", remote(url="http://127.0.0.1:9/x", headers=headers)).status_code == 201
        stage.client.get("/agents/far/capabilities?explain=1&probe=1")
        assert stage.run("far", "hello")[-1]["type"] == "RUN_ERROR"
        assert_no_trace(stage, "hunter2-90ab12cd")
