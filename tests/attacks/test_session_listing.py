"""Session listing: the ids and titles of all principals' sessions, read by one of them.

The incident: `session/list` of the agent's own protocol, passed through by `POST …/acp`, answered with every session of
the agent, with the titles that tell what other people work on; and the ids are what a theft of a session needs.

The promise: the list has one's own sessions only, and parameters that name a foreign session are refused, unless the
caller has the scope `admin`. Nothing else that lists sessions or threads shows those of another principal.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.attacks.principals import Principal, principals, write_tokens
from tests.behaviour.acp.harness import Stage


@pytest.fixture(scope="module")
def people(tmp_path_factory: pytest.TempPathFactory) -> Iterator[list[Principal]]:
    home = tmp_path_factory.mktemp("listing")
    stage = Stage(home, "--token-file", str(write_tokens(home.parent / "listing-tokens")))
    stage.agent("full", "--full")
    with stage, principals(stage, "ann", "bob", "root") as callers:
        for caller in callers:
            caller.say("full", "hello", f"{caller.name}-1")
        callers[0].say("full", "hello", "ann-2")
        yield callers


def listed(caller: Principal, thread: str) -> set[str]:
    response = caller.call("full", thread, "session/list")
    assert response.status_code == 200, response.text
    return {session["sessionId"] for session in response.json()["result"]["sessions"]}


def test_the_agents_list_of_sessions_has_only_ones_own(people: list[Principal]) -> None:
    ann, bob, root = people
    sessions = {name: ann.session("full", name) for name in ("ann-1", "ann-2")}
    assert listed(ann, "ann-1") == {*sessions.values()}
    assert listed(bob, "bob-1") == {bob.session("full", "bob-1")}
    assert listed(root, "root-1") >= {*sessions.values(), bob.session("full", "bob-1")}


@pytest.mark.parametrize("spelling", ["sessionId", "session_id", "parentSessionId"])
def test_a_foreign_session_in_the_parameters_is_refused(people: list[Principal], spelling: str) -> None:
    ann, bob, root = people
    foreign = ann.session("full", "ann-1")
    refused = bob.call("full", "bob-1", "session/list", filter=[{spelling: foreign}])
    assert (refused.status_code, refused.json()["code"]) == (403, "SESSION_FOREIGN")
    unknown = bob.call("full", "bob-1", "session/list", filter=[{spelling: "s0-0"}])
    assert unknown.json()["detail"].replace("s0-0", foreign) == refused.json()["detail"]
    assert ann.call("full", "ann-1", "session/list", **{spelling: foreign}).status_code == 200
    assert root.call("full", "root-1", "_vendor/echo", **{spelling: foreign}).status_code == 200


def test_every_other_method_of_the_protocol_needs_admin(people: list[Principal]) -> None:
    _, bob, _ = people
    for method in ("_vendor/echo", "session/delete", "logout", "session/List", "session/list "):
        refused = bob.call("full", "bob-1", method)
        assert (refused.status_code, refused.json()["code"]) == (403, "SCOPE_MISSING"), method


def test_the_path_with_a_newline_lists_no_more(people: list[Principal]) -> None:
    """The scope was decided by how the path ends, and a router that ignores a final newline found the route all the
    same."""
    ann, bob, _ = people
    body = {"method": "session/list"}
    response = bob.client.post("/agents/full/threads/bob-1/acp%0A", json=body)
    assert ann.session("full", "ann-1") not in response.text


def test_threads_of_another_are_neither_listed_nor_shown(people: list[Principal]) -> None:
    ann, bob, _ = people
    threads = bob.client.get("/agents/full/threads").json()["threads"]
    assert [thread["threadId"] for thread in threads] == ["bob-1"]
    for path in ("/agents/full/threads/ann-1", "/agents/full/threads/ann-1/acp"):
        assert ann.session("full", "ann-1") not in bob.client.get(path).text
