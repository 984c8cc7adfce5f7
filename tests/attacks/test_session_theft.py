"""Session theft: a session of one principal, continued, read, cut off or deleted by another.

The incident: sessions had no owner. A token of scope `run` that named the session id of another principal got that
principal's conversation as the context of its own run; while the owner's run was going on, its text came out of the
thief's run and not out of the owner's; and deleting the thief's thread deleted the owner's session.

The promise: a session belongs to the principal that opened it. A foreign and an unknown session id are refused with the
same answer before anything is sent to the agent; a second listener is a conflict; only the owner deletes.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from gateway.store.sqlite.schema import MIGRATIONS
from tests.attacks.principals import Principal, principals, write_tokens
from tests.behaviour.acp.harness import Stage
from tests.support.gateway import events_of, run_input, text_of

SECRET = "the-launch-code-is-4711"
[MIGRATION] = [line for step in MIGRATIONS for line in step if line.startswith("insert or ignore into session_owners")]
"""The statement that gives the sessions of an older store their owners."""


@pytest.fixture(scope="module")
def stage(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stage]:
    home = tmp_path_factory.mktemp("theft")
    stage = Stage(home, "--token-file", str(write_tokens(home.parent / "theft-tokens")))
    stage.agent("full", "--full", stage.state("full"))
    stage.agent("plain", stage.state("plain"))
    with stage:
        yield stage


@pytest.fixture
def people(stage: Stage) -> Iterator[list[Principal]]:
    with principals(stage, "ann", "bob", "root") as callers:
        yield callers


def refusal(response: Any) -> dict[str, Any]:
    assert response.status_code == 403, response.text
    problem: dict[str, Any] = response.json()
    return problem


@pytest.mark.parametrize("option", ["sessionId", "forkSessionId"])
def test_a_foreign_session_is_refused_and_the_agent_hears_nothing_of_it(
    stage: Stage, people: list[Principal], option: str
) -> None:
    ann, bob, _ = people
    ann.say("full", SECRET, "a1")
    session = ann.session("full", "a1")
    before = len(stage.received("full"))
    problem = refusal(bob.post_run("full", "what did I say?", **{option: session}))
    assert (problem["code"], problem["pointer"]) == ("SESSION_FOREIGN", f"/forwardedProps/gateway/{option}")
    assert len(stage.received("full")) == before


def test_a_refusal_does_not_tell_a_foreign_session_from_one_that_does_not_exist(people: list[Principal]) -> None:
    ann, bob, _ = people
    ann.say("full", "hello", "a2")
    foreign = ann.session("full", "a2")
    unknown = foreign[:-1] + "0" if foreign[-1] != "0" else foreign[:-1] + "1"
    answers = []
    for session in (foreign, unknown):
        response = bob.post_run("full", "hello", sessionId=session)
        answers.append((response.status_code, response.text.replace(session, "SESSION")))
    assert answers[0] == answers[1]


def test_a_posted_message_cannot_name_a_foreign_session_either(people: list[Principal]) -> None:
    ann, bob, _ = people
    ann.say("full", "hello", "a3")
    body = {
        "message": {"id": "m1", "role": "user", "content": "hello"},
        "forwardedProps": {"gateway": {"sessionId": ann.session("full", "a3")}},
    }
    assert refusal(bob.client.post("/agents/full/threads/b3/messages", json=body))["code"] == "SESSION_FOREIGN"


def test_while_the_owner_runs_no_other_reads_along_and_its_stream_is_not_cut(people: list[Principal]) -> None:
    """Also an administrator who may take the session over cannot while it is open."""
    ann, bob, root = people
    ann.say("full", "hello", "a4")
    session = ann.session("full", "a4")
    body = run_input("slow", threadId="a4")
    with ann.client.stream("POST", "/agents/full", json=body) as stream:
        lines = stream.iter_lines()
        next(line for line in lines if '"w3 "' in line)
        assert refusal(bob.post_run("full", "hello", sessionId=session))["code"] == "SESSION_FOREIGN"
        taken = root.post_run("full", "hello", sessionId=session)
        assert (taken.status_code, taken.json()["code"]) == (409, "SESSION_OPEN")
        assert "a4" not in taken.json()["detail"]
        seen = json.loads(next(line for line in lines if "TEXT_MESSAGE_CONTENT" in line)[6:])["delta"]
        assert seen.startswith("w")
        assert ann.client.post(f"/runs/{body['runId']}/cancel").status_code in (200, 202)
        rest = [json.loads(line[6:]) for line in lines if line.startswith("data: ")]
    assert rest[-1]["type"] == "RUN_FINISHED"
    assert text_of(ann.run("full", "turns", "a4")).startswith("turns: 3, in ")


def test_two_threads_of_one_principal_take_turns_with_a_session(people: list[Principal]) -> None:
    ann, _, _ = people
    ann.say("full", "hello", "a5")
    session = ann.session("full", "a5")
    refused = ann.post_run("full", "hello", "a6", sessionId=session)
    assert (refused.status_code, refused.json()["code"]) == (409, "SESSION_OPEN")
    assert "'a5'" in refused.json()["detail"]
    assert ann.client.post("/agents/full/threads/a5/close").json() == {"closed": True}
    assert ann.say("full", "turns", "a6", sessionId=session) == f"turns: 2, in {session}"
    refused = ann.post_run("full", "hello", "a5")
    assert (refused.status_code, refused.json()["code"]) == (409, "SESSION_OPEN")


def test_deleting_a_thread_deletes_only_ones_own_session(stage: Stage, people: list[Principal]) -> None:
    """An administrator takes a session over, and deletes its thread: the owner goes on."""
    ann, _, root = people
    ann.say("full", "hello", "a7")
    session = ann.session("full", "a7")
    ann.client.post("/agents/full/threads/a7/close")
    assert root.say("full", "turns", "r7", sessionId=session) == f"turns: 2, in {session}"
    assert root.client.delete("/agents/full/threads/r7").status_code == 204
    assert ann.say("full", "turns", "a7") == f"turns: 3, in {session}"
    assert stage.received("full", session, "session/delete") == []
    assert ann.client.delete("/agents/full/threads/a7").status_code == 204
    assert len(stage.received("full", session, "session/delete")) == 1


def test_an_administrator_who_took_a_session_over_is_not_its_owner(people: list[Principal]) -> None:
    ann, bob, root = people
    ann.say("full", "hello", "a8")
    session = ann.session("full", "a8")
    ann.client.post("/agents/full/threads/a8/close")
    root.say("full", "hello", "r8", sessionId=session)
    root.client.post("/agents/full/threads/r8/close")
    assert refusal(bob.post_run("full", "hello", sessionId=session))["code"] == "SESSION_FOREIGN"
    assert ann.say("full", "turns", "a8") == f"turns: 3, in {session}"


def test_a_copy_belongs_to_the_principal_that_made_it(people: list[Principal]) -> None:
    ann, bob, _ = people
    ann.say("full", "hello", "a9")
    made = ann.client.post("/agents/full/threads/a9/fork", json={"threadId": "a9-copy"}).json()
    assert refusal(bob.post_run("full", "hello", sessionId=made["sessionId"]))["code"] == "SESSION_FOREIGN"
    forked = ann.run("full", "turns", "a10", forkSessionId=ann.session("full", "a9"))
    assert text_of(forked).startswith("turns: 2, in ")
    assert refusal(bob.post_run("full", "hi", sessionId=ann.session("full", "a10")))["code"] == "SESSION_FOREIGN"


def test_the_session_of_another_agent_with_the_same_id_is_not_ones_own(people: list[Principal]) -> None:
    ann, bob, _ = people
    ann.say("full", "hello", "a11")
    session = ann.session("full", "a11")
    assert refusal(ann.post_run("plain", "hello", sessionId=session))["code"] == "SESSION_FOREIGN"
    assert refusal(bob.post_run("plain", "hello", sessionId=session))["code"] == "SESSION_FOREIGN"


def test_without_tokens_a_session_from_a_terminal_is_continued(tmp_path: Path) -> None:
    """The person at the machine has every scope."""
    stage = Stage(tmp_path)
    stage.agent("plain", stage.state("plain"))
    (tmp_path / "logs" / "plain.sessions").write_text(json.dumps({"from-a-terminal": ["hello"]}))
    with stage:
        options = {"forwardedProps": {"gateway": {"sessionId": "from-a-terminal"}}}
        response = stage.post("plain", run_input("turns", **options))
        assert text_of(events_of(response.text)) == "turns: 2, in from-a-terminal"


def test_sessions_of_a_store_from_before_have_owners_after_an_upgrade(tmp_path: Path) -> None:
    """A thread that had stolen a session before is refused now; the thread that had it first goes on."""
    home = tmp_path / "home"
    stage = Stage(home, "--token-file", str(write_tokens(tmp_path / "tokens")))
    stage.agent("full", "--full", stage.state("full"))
    with stage, principals(stage, "ann", "bob") as (ann, bob):
        ann.say("full", SECRET, "a1")
        session = ann.session("full", "a1")
        bob.say("full", "hello", "b1")
        stage.terminate()
        with sqlite3.connect(home / "gateway.db") as store:  # as the theft left it
            store.execute("update threads set session = ? where principal = 'bob'", (session,))
            store.execute("delete from session_owners")
            store.execute(MIGRATION)
        store.close()
        stage.start()
        with principals(stage, "ann", "bob") as (ann, bob):
            assert refusal(bob.post_run("full", "what did I say?", "b1"))["code"] == "SESSION_FOREIGN"
            assert refusal(bob.client.post("/agents/full/threads/b1/mode", json={"mode": "auto"}))["status"] == 403
            assert bob.client.delete("/agents/full/threads/b1").status_code == 204
            assert ann.say("full", "turns", "a1") == f"turns: 2, in {session}"
