"""Audit tampering: what an attacker did, removed from the log, drowned in it, or read out of it.

The incident class: an intruder who can act can also hide it, if the log can be changed by the same means, or if a flood
of noise fills it; and a log that keeps arguments as they are is a second copy of every secret.

The promise: no route changes or deletes an entry, and the database itself refuses to; only administrators read it; a
flood of refusals is a few entries; secrets are masked in every entry.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import httpx
import pytest

from tests.attacks.principals import Principal, principals, write_tokens
from tests.behaviour.acp.harness import Stage
from tests.support.gateway import run_input

GATEWAY_SECRET = "correct-horse-battery-staple"
FLOOD = 400


class Scene:
    def __init__(self, stage: Stage, home: Path, people: list[Principal]) -> None:
        self.stage = stage
        self.store = home / "gateway.db"
        self.ann, self.root = people


@pytest.fixture(scope="module")
def scene(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Scene]:
    home = tmp_path_factory.mktemp("tampering")
    with pytest.MonkeyPatch.context() as environment:
        environment.setenv("PAYMENT_API_KEY", GATEWAY_SECRET)
        stage = Stage(home, "--token-file", str(write_tokens(home.parent / "tampering-tokens")))
        stage.agent("full", "--full", options=["mode", "mcpServers", "sessionId"])
        with stage, principals(stage, "ann", "root") as people:
            yield Scene(stage, home, people)


def count(scene: Scene) -> int:
    entries = scene.root.client.get("/audit?limit=1000").json()["entries"]
    return len(entries)


@pytest.mark.parametrize("method", ["POST", "PUT", "PATCH", "DELETE"])
def test_no_route_writes_to_the_log(scene: Scene, method: str) -> None:
    before = count(scene)
    for path in ("/audit", "/audit/1", "/audit?after=0"):
        assert scene.root.client.request(method, path, json={}).status_code in (404, 405)
    assert count(scene) >= before


def test_a_principal_without_admin_reads_nothing_of_it(scene: Scene) -> None:
    for headers in ({}, {"accept": "text/event-stream"}):
        response = scene.ann.client.get("/audit", headers=headers)
        assert (response.status_code, response.json()["code"]) == (403, "SCOPE_MISSING")
    assert httpx.get(f"{scene.stage.url}/audit").status_code == 401


@pytest.mark.parametrize(
    "statement",
    [
        "update audit_log set principal = 'somebody-else'",
        "delete from audit_log",
        "delete from audit_log where number = (select max(number) from audit_log)",
        "insert or replace into audit_log (number, at, action, principal, detail) "
        "select number, at, action, 'x', detail from audit_log",
    ],
)
def test_the_database_refuses_to_change_what_was_written(scene: Scene, statement: str) -> None:
    scene.ann.say("full", "hello", "t1")
    before = scene.root.client.get("/audit?limit=1000&action=run").json()["entries"]
    store = sqlite3.connect(scene.store)
    try:
        with pytest.raises(sqlite3.IntegrityError, match="append-only"):
            store.execute(statement)
        store.rollback()
    finally:
        store.close()
    assert scene.root.client.get("/audit?limit=1000&action=run").json()["entries"][: len(before)] == before


def test_deleting_a_thread_leaves_its_entries(scene: Scene) -> None:
    scene.ann.say("full", "hello", "t2")
    assert scene.ann.client.delete("/agents/full/threads/t2").status_code == 204
    entries = scene.root.client.get("/audit?limit=1000").json()["entries"]
    actions = [entry["action"] for entry in entries if entry.get("threadId") == "t2"]
    assert actions == ["run.start", "thread.delete"]


def test_a_flood_of_refusals_is_a_few_entries_and_hides_nothing(scene: Scene) -> None:
    before = count(scene)

    def knock(number: int) -> int:
        headers = {"authorization": f"Bearer wrong-{number}-0123456789abcdef"}
        return httpx.get(f"{scene.stage.url}/agents/full/threads/{number}", headers=headers).status_code

    with ThreadPoolExecutor(8) as pool:
        statuses = {*pool.map(knock, range(FLOOD))}
    assert statuses <= {401, 429}
    scene.ann.say("full", "hello", "t-during")
    entries = scene.root.client.get("/audit?limit=1000").json()["entries"]
    assert len(entries) - before < 20
    assert "t-during" in [entry.get("threadId") for entry in entries]


def test_secrets_do_not_appear(scene: Scene) -> None:
    """Of the gateway's environment, of an MCP server that a client names, and in what a client asks the agent to
    do."""
    server = {
        "name": "pay",
        "type": "http",
        "url": "http://127.0.0.1:9/mcp?token=url-secret-0123456789",
        "headers": [{"name": "Authorization", "value": "Bearer header-secret-0123456789"}],
    }
    options = {"gateway": {"mcpServers": [server], "sessionId": f"x-{GATEWAY_SECRET}"}}
    body = run_input("hello", threadId=f"t-{GATEWAY_SECRET}", forwardedProps=options)
    scene.root.client.post("/agents/full", json=body)
    scene.root.client.post(
        "/agents/full/threads/t2/acp",
        json={"method": "_vendor/echo", "params": {"apiKey": "param-secret-0123456789", "note": GATEWAY_SECRET}},
    )
    response = scene.root.client.get("/audit?limit=1000")
    details = [entry.get("detail") for entry in response.json()["entries"]]
    text = repr(details)
    assert "_vendor/echo" in text or "mcpServers" in text
    for secret in ("url-secret", "header-secret", "param-secret", GATEWAY_SECRET):
        assert secret not in text, secret
