"""`GET /audit`: what was done, as pages and as a live feed."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.attacks.principals import Principal, principals, token_of, write_tokens
from tests.attacks.trust_stage import TrustStage
from tests.behaviour.acp.harness import OPTIONS, Stage, Talk
from tests.behaviour.worktrees.harness import make_repository
from tests.support.gateway import Gateway, events_of, run_input


@pytest.fixture(scope="module")
def stage(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stage]:
    home = tmp_path_factory.mktemp("audit")
    stage = Stage(home, "--token-file", str(write_tokens(home.parent / "audit-tokens")))
    stage.agent("full", "--full")
    with stage:
        yield stage


@pytest.fixture
def people(stage: Stage) -> Iterator[list[Principal]]:
    with principals(stage, "ann", "bob", "root") as callers:
        yield callers


def entries(root: Principal, **query: Any) -> list[dict[str, Any]]:
    response = root.client.get("/audit", params={"limit": 1000, **query})
    assert response.status_code == 200, response.text
    found: list[dict[str, Any]] = response.json()["entries"]
    return found


def of_thread(root: Principal, thread: str) -> list[dict[str, Any]]:
    return [entry for entry in entries(root) if entry.get("threadId") == thread]


def test_a_run_is_an_entry_with_the_options_that_matter(people: list[Principal]) -> None:
    ann, _, root = people
    events = ann.run("full", "hello", "t-run", mode="ask")
    [entry] = of_thread(root, "t-run")
    assert (entry["action"], entry["principal"], entry["agent"]) == ("run.start", "ann", "full")
    assert (entry["runId"], entry["detail"]) == (events[0]["runId"], {"mode": "ask"})


@pytest.mark.parametrize(
    ("payload", "action"),
    [
        ({"approved": True}, "interrupt.approve"),
        ({"approved": False}, "interrupt.deny"),
        ({"optionId": "allow-always"}, "interrupt.approve"),
        ({"optionId": "reject-once"}, "interrupt.deny"),
    ],
)
def test_an_approval_says_what_was_approved_with_which_arguments(
    people: list[Principal], payload: dict[str, Any], action: str
) -> None:
    ann, _, root = people
    thread = f"t-ask-{json.dumps(payload)}"
    [*_, last] = ann.run("full", "tool", thread)
    [interrupt] = last["outcome"]["interrupts"]
    answer = {"interruptId": interrupt["id"], "status": "resolved", "payload": payload}
    body = run_input("tool", threadId=thread, resume=[answer])
    assert events_of(ann.client.post("/agents/full", json=body).text)[-1]["type"] == "RUN_FINISHED"
    [entry] = [entry for entry in of_thread(root, thread) if entry["action"].startswith("interrupt.")]
    assert (entry["action"], entry["principal"], entry["runId"]) == (action, "ann", body["runId"])
    assert entry["detail"]["toolCallId"] == interrupt["toolCallId"]
    assert entry["detail"]["decision"] == payload
    assert entry["detail"]["edited"] is False
    assert entry["detail"]["subject"]["subject"]["title"]
    assert entry["detail"]["arguments"]


def test_settings_copies_calls_cancellations_and_deletions_are_entries(people: list[Principal]) -> None:
    ann, _, root = people
    ann.say("full", "hello", "t-set")
    path = "/agents/full/threads/t-set"
    assert ann.client.post(f"{path}/mode", json={"mode": "ask"}).status_code == 200
    assert ann.client.post(f"{path}/fork", json={"threadId": "t-copy"}).status_code == 201
    assert ann.call("full", "t-set", "session/list").status_code == 200
    assert ann.client.delete(path).status_code == 204
    found = [(entry["action"], entry.get("detail")) for entry in of_thread(root, "t-set")]
    actions = [action for action, _ in found]
    assert actions == ["run.start", "thread.set", "thread.fork", "thread.call", "thread.delete"]
    assert found[1][1] == {"mode": "ask"}
    assert found[3][1] == {"method": "session/list", "params": {}}


def test_an_administrators_takeover_is_an_entry(people: list[Principal]) -> None:
    ann, _, root = people
    ann.say("full", "hello", "t-mine")
    session = ann.session("full", "t-mine")
    ann.client.post("/agents/full/threads/t-mine/close")
    root.say("full", "hello", "t-taken", sessionId=session)
    found = [entry for entry in of_thread(root, "t-taken") if entry["action"] == "session.take"]
    assert [(entry["principal"], entry["detail"]) for entry in found] == [("root", {"session": session, "copy": False})]


def test_refusals_are_entries_by_code_and_route(stage: Stage, people: list[Principal]) -> None:
    _, bob, root = people
    assert bob.client.get("/audit").status_code == 403
    assert httpx.get(f"{stage.url}/agents/full/threads/secret-name").status_code == 401
    found = [(entry["principal"], entry["detail"]) for entry in entries(root, action="request.refuse")]
    forbidden = {"code": "SCOPE_MISSING", "route": "GET /audit", "status": 403, "count": 1}
    assert ("bob", forbidden) in found
    route = "GET /agents/{agent}/threads/{thread:path}"
    assert ("127.0.0.1", {"code": "UNAUTHORIZED", "route": route, "status": 401, "count": 1}) in found


def test_a_principal_that_connects_is_one_entry(people: list[Principal]) -> None:
    ann, _, root = people
    for _ in range(3):
        assert ann.client.get("/agents/full/threads").status_code == 200
    assert len(entries(root, action="principal.connect", principal="ann")) == 1


def test_pages_follow_each_other_without_gaps(people: list[Principal]) -> None:
    *_, root = people
    everything = entries(root)
    pages: list[dict[str, Any]] = []
    after: int | None = 0
    while after is not None:
        page = root.client.get("/audit", params={"after": after, "limit": 2}).json()
        pages += page["entries"]
        after = page.get("next")
    assert pages[: len(everything)] == everything
    numbers = [entry["number"] for entry in pages]
    assert numbers == sorted(set(numbers))


def test_filters_select(people: list[Principal]) -> None:
    ann, _, root = people
    ann.say("full", "hello", "t-filter")
    runs = entries(root, principal="ann", action="run")
    assert {(entry["principal"], entry["action"].partition(".")[0]) for entry in runs} == {("ann", "run")}
    last = runs[-1]
    assert entries(root, principal="ann", action="run.start", since=last["at"])[0]["at"] == last["at"]
    assert entries(root, since="2999-01-01T00:00:00Z") == []


@pytest.mark.parametrize("query", ["since=yesterday", "limit=0", "limit=x", "limit=99999", "after=-1", "since=1e999x"])
def test_a_wrong_query_is_refused(people: list[Principal], query: str) -> None:
    response = people[2].client.get(f"/audit?{query}")
    assert (response.status_code, response.json()["code"]) == (422, "INVALID_INPUT")


def test_the_feed_goes_on_where_the_reader_was(people: list[Principal]) -> None:
    ann, _, root = people
    last = entries(root)[-1]["number"]
    headers = {"accept": "text/event-stream", "last-event-id": str(last)}
    with root.client.stream("GET", "/audit?action=run.start", headers=headers) as stream:
        assert stream.headers["content-type"].startswith("text/event-stream")
        sender = threading.Thread(target=ann.say, args=("full", "hello", "t-feed"))
        sender.start()
        lines = stream.iter_lines()
        number = next(line for line in lines if line.startswith("id: "))
        entry = json.loads(next(line for line in lines if line.startswith("data: "))[6:])
        sender.join()
    assert (entry["action"], entry["threadId"]) == ("run.start", "t-feed")
    assert number == f"id: {entry['number']}"


def test_entries_outlive_the_gateway_and_the_numbers_go_on(tmp_path: Path) -> None:
    stage = Stage(tmp_path / "home", "--token-file", str(write_tokens(tmp_path / "tokens")))
    stage.agent("full", "--full")
    with stage:
        headers = {"authorization": f"Bearer {token_of('root')}"}
        with principals(stage, "ann", "root") as (ann, root):
            ann.say("full", "hello", "t1")
            before = entries(root)
            stage.terminate()
        stage.start()
        after = stage.client.get("/audit", headers=headers).json()["entries"]
        assert after[: len(before)] == before
        numbers = [entry["number"] for entry in after]
        assert numbers == sorted(set(numbers))


def test_tokens_that_come_and_go_are_entries(tmp_path: Path) -> None:
    tokens = write_tokens(tmp_path / "tokens", ("root", "bob"))
    with Gateway(tmp_path / "home", "--token-file", str(tokens)) as gateway, principals(gateway, "root") as [root]:
        write_tokens(tmp_path / "tokens", ("root", "ann"))
        found: list[tuple[str, str]] = []
        headers = {"accept": "text/event-stream"}
        with root.client.stream("GET", "/audit?action=token", headers=headers) as stream:
            for line in stream.iter_lines():
                if line.startswith("data: "):
                    entry = json.loads(line[6:])
                    found.append((entry["action"], entry["principal"]))
                if len(found) == 2:
                    break
    assert found == [("token.add", "ann"), ("token.revoke", "bob")]


def follow(gateway: Gateway, action: str, count: int, after: int = 0) -> list[dict[str, Any]]:
    """The first entries of an action, as soon as they are there."""
    found: list[dict[str, Any]] = []
    headers = {"accept": "text/event-stream"}
    with gateway.client.stream("GET", f"/audit?action={action}&after={after}", headers=headers) as stream:
        for line in stream.iter_lines():
            if line.startswith("data: "):
                found.append(json.loads(line[6:]))
            if len(found) == count:
                break
    return found


def trust(stage: TrustStage, *arguments: str) -> None:
    """The command, with the gateway's trust file."""
    environ = {**os.environ, "AGUI_GATEWAY_TRUST_FILE": str(stage.trust_file)}
    subprocess.run([sys.executable, "-m", "gateway", "trust", *arguments], env=environ, check=True, timeout=60)


def test_trust_given_and_taken_by_the_command_are_entries(tmp_path: Path) -> None:
    project = tmp_path / "project"
    project.mkdir()
    stage = TrustStage(tmp_path / "stage")
    with stage:
        trust(stage, str(project), "--principal", "ann")
        [given] = follow(stage, "folder", 1)
        trust(stage, str(project), "--principal", "ann", "--remove")
        [taken] = follow(stage, "folder", 1, given["number"])
    assert (given["action"], taken["action"]) == ("folder.trust", "folder.distrust")
    assert given["principal"] == taken["principal"] == "ann"
    assert given["detail"] == {"folders": [str(project)], "for": "always", "by": "trust file"}


def test_trust_that_was_given_while_no_gateway_ran_is_an_entry_once(tmp_path: Path) -> None:
    project = tmp_path / "project"
    project.mkdir()
    stage = TrustStage(tmp_path / "stage")
    trust(stage, str(project))
    with stage:
        [entry] = follow(stage, "folder", 1)
        assert entry["detail"]["folders"] == [str(project)]
        assert entry["detail"]["since"]
        stage.terminate()
        stage.start()
        assert len(stage.client.get("/audit?action=folder").json()["entries"]) == 1


def test_the_answer_always_is_one_entry(tmp_path: Path) -> None:
    project = tmp_path / "project"
    project.mkdir()
    stage = TrustStage(tmp_path / "stage")
    with stage:
        stage.answer("restricted", stage.ask("restricted"), "trust_always")
        trust(stage, str(project))  # when this is an entry, the file has been looked at
        own, other = follow(stage, "folder", 2)
        assert len(stage.client.get("/audit?action=folder").json()["entries"]) == 2
    assert (own["threadId"], own["detail"]["folders"]) == ("t", [str(stage.workspace)])
    assert other["detail"]["folders"] == [str(project)]


def test_what_happens_to_a_worktree_is_an_entry(tmp_path: Path) -> None:
    stage = Stage(tmp_path / "home")
    stage.agent("full", "--full", options=[*OPTIONS, "worktree"])
    make_repository(stage.workspace)
    with stage:
        talk = Talk(stage, "full", worktree=True)
        talk.say("hello")
        path = f"/agents/full/threads/{talk.id}/worktree"
        folder = Path(stage.asks(path)["path"])
        (folder / "notes.txt").write_text("changed\n")
        commit = stage.asks(f"{path}/commit", {"message": "By an agent"})["commit"]
        stage.asks(f"{path}/merge", {})
        assert stage.client.delete(path).status_code == 200
        entries = stage.client.get("/audit?action=worktree").json()["entries"]
    assert [entry["action"] for entry in entries] == ["worktree.commit", "worktree.merge", "worktree.discard"]
    assert {entry["threadId"] for entry in entries} == {talk.id}
    assert entries[0]["detail"]["commit"] == entries[1]["detail"]["commit"] == commit
    assert (entries[1]["detail"]["folder"], entries[1]["detail"]["into"]) == (str(stage.workspace), "main")
