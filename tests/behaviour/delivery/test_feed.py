"""The feed of a thread: what happens there, by Agent Relay's names, numbered, from where one was."""

from __future__ import annotations

import socket
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from gateway.turn import NO_RESULT, UNREPORTED
from tests.behaviour.acp.harness import Stage as AcpStage
from tests.behaviour.acp.harness import Talk
from tests.behaviour.delivery.harness import Stage, Thread, until
from tests.capabilities.views.test_relay import EVENTS
from tests.runs.harness import attached, eventually, interrupts_of, resolved
from tests.support.gateway import numbers_of
from tests.web.problem import problem_in


def kinds(events: list[dict[str, Any]]) -> list[str]:
    return [event["type"] for event in events]


def without_time(event: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in event.items() if key not in ("id", "at")}


def test_a_posted_message_is_reported_from_its_acceptance_to_the_end_of_its_run(stage: Stage) -> None:
    thread = stage.thread("demo")
    with thread.feed() as events:
        [idle] = until(events, "status.changed")
        assert without_time(idle) == {"type": "status.changed", "status": "idle"}
        receipt = thread.post("tool")
        found = [idle, *until(events, "status.changed", status="idle")]
    run, names = receipt["runId"], {"deliveryId": receipt["deliveryId"], "messageId": receipt["messageId"]}
    assert set(kinds(found)) <= EVENTS
    assert [event["id"] for event in found] == list(range(1, len(found) + 1))
    assert {"type": "delivery.delivered", **names, "mode": "on-idle", "runId": run} in map(without_time, found)
    assert {"type": "message.received", **names, "run": run} in map(without_time, found)
    statuses = [event["status"] for event in found if event["type"] == "status.changed"]
    assert statuses == ["idle", "starting", "active", "idle"]
    called, completed = (next(e for e in found if e["type"] == f"tool.{kind}") for kind in ("called", "completed"))
    assert (called["tool"], called["run"]) == (completed["tool"], run)
    assert isinstance(called["input"], dict) and isinstance(completed["output"], str)
    order = ["delivery.accepted", "message.received", "tool.called", "tool.completed", "status.changed"]
    assert [kinds(found).index(kind) for kind in order[:4]] == sorted(kinds(found).index(kind) for kind in order[:4])
    chunks = [event["chunk"] for event in found if event["type"] == "transcript.chunk"]
    assert chunks[0]["role"] == "user" and chunks[0]["content"] == "tool"
    transcript = "".join(chunk["content"] for chunk in chunks if chunk["role"] == "agent")
    assert transcript == "".join(thread.contents("assistant"))
    assert all(chunk["at"].endswith("Z") for chunk in chunks)


def test_an_ordinary_run_is_reported_too_once_the_thread_is_looked_at(thread: Thread) -> None:
    with thread.feed() as events:
        until(events, "status.changed")
        run = thread.run("hello")[0]["runId"]
        found = until(events, "status.changed", status="idle")
    received = next(event for event in found if event["type"] == "message.received")
    assert received["run"] == run and "deliveryId" not in received


def test_usage_and_errors_are_reported(stage: Stage) -> None:
    thread = stage.thread("demo")
    with thread.feed() as events:
        thread.run("usage")
        used = until(events, "usage.updated")[-1]
        assert used["tokens"] > 0 and used["metadata"]["usage"]
        thread.run("error")
        assert until(events, "error")[-1]["error"]


@pytest.mark.parametrize(
    ("text", "cost"),
    [
        ("use priced", 0.003),
        ("use tiered", None),  # by the sum of several requests no tier can be told
        ("use unpriced", None),
        ("use another", None),
        ("tell-cost", 0.75),  # the agent's own word comes before the prices
    ],
)
def test_usage_has_its_cost_where_it_is_known(thread: Thread, text: str, cost: float | None) -> None:
    with thread.feed() as events:
        until(events, "status.changed")
        thread.run(text)
        used = until(events, "usage.updated")[-1]
    assert (used["tokens"], used.get("costUsd")) == (1100, cost)


def test_a_question_blocks_and_a_tool_of_the_client_s_makes_it_wait(thread: Thread) -> None:
    card = {"name": "show_card", "description": "Shows a card.", "parameters": {"type": "object"}}
    with thread.feed() as events:
        [asked] = interrupts_of(thread.run("ask"))
        until(events, "status.changed", status="blocked")
        thread.run("resumed", resume=[resolved(asked)])
        until(events, "status.changed", status="idle")
        run = thread.run("call", tools=[card])[0]["runId"]
        found = until(events, "status.changed", status="waiting")
        called = next(event for event in found if event["type"] == "tool.called")
        result = {"id": "r", "role": "tool", "toolCallId": f"{run}-c", "content": "it is shown"}
        thread.gateway.run(thread.agent, threadId=thread.id, tools=[card], messages=[result])
        done = until(events, "tool.completed")[-1]
    assert (done["tool"], done["toolCallId"], done["output"]) == ("show_card", called["toolCallId"], "it is shown")


# -- coming back


def test_a_client_that_comes_back_with_a_number_misses_nothing_and_gets_nothing_twice(
    stage: Stage, thread: Thread
) -> None:
    first = thread.post("one")
    attached(stage, first["runId"])
    with thread.feed() as events:
        seen = until(events, "delivery.delivered")
    second = thread.post("two")
    attached(stage, second["runId"])
    with thread.feed(after=seen[-1]["id"]) as events:
        rest = until(events, "delivery.delivered")
    with thread.feed(None, **{"last-event-id": str(seen[-1]["id"])}) as events:
        assert until(events, "delivery.delivered") == rest
    with thread.feed() as events:
        whole = until(events, "delivery.delivered", deliveryId=second["deliveryId"])
    assert whole == [*seen, *rest]
    assert [event["id"] for event in whole] == list(range(1, len(whole) + 1))


def test_a_number_from_the_future_begins_again(thread: Thread) -> None:
    thread.post("one")
    with thread.feed(after=1_000_000) as events:
        assert next(events)["id"] == 1


def test_a_number_that_is_none_is_refused(thread: Thread) -> None:
    problem = problem_in(thread.gateway.client.get(f"{thread.path}/events?after=x"), 422, "INVALID_INPUT")
    assert problem["pointer"] == "?after"


def test_many_readers_see_the_same(stage: Stage, thread: Thread) -> None:
    with thread.feed() as one, thread.feed() as two, thread.feed() as three:
        receipt = thread.post("hello")
        found = [until(feed, "status.changed", status="idle") for feed in (one, two, three)]
    assert found[0] == found[1] == found[2]
    attached(stage, receipt["runId"])


def test_an_answer_to_head_has_no_end_to_wait_for(thread: Thread) -> None:
    response = thread.gateway.client.head(f"{thread.path}/events")
    assert (response.status_code, response.headers["content-type"]) == (200, "text/event-stream; charset=utf-8")


def test_a_thread_whose_id_has_slashes_has_a_feed(stage: Stage) -> None:
    thread = Thread(stage, id="a/b/c")
    receipt = thread.post("hello")
    assert thread.fate(receipt["deliveryId"])["type"] == "delivery.delivered"


# -- bounds


def test_a_silent_feed_is_kept_alive(tmp_path: Path) -> None:
    with (
        Stage(tmp_path, keep_alive=0.1) as stage,
        stage.client.stream("GET", f"{stage.thread().path}/events") as response,
    ):
        assert next(line for line in response.iter_lines() if line.startswith(":")) == ": keep-alive"


def test_only_so_many_events_are_kept_and_the_numbers_go_on(tmp_path: Path) -> None:
    with Stage(tmp_path, retain_thread_events=5) as stage:
        thread = stage.thread()
        for number in range(4):
            attached(stage, thread.post(f"message {number}")["runId"])
        thread.idle()

        def newest() -> list[dict[str, Any]]:
            with thread.feed() as events:
                return until(events, "status.changed", status="idle")

        found = newest()
        assert len(found) <= 5 and found[-1]["id"] > 15


def test_readers_are_bounded(tmp_path: Path) -> None:
    with Stage(tmp_path, max_thread_feeds=1) as stage:
        thread = stage.thread()
        with thread.feed():
            problem_in(stage.client.get(f"{thread.path}/events"), 503, "GATEWAY_BUSY")
        assert eventually(lambda: opens(thread)), "when the first has left"


def opens(thread: Thread) -> bool:
    with thread.gateway.client.stream("GET", f"{thread.path}/events") as response:
        return response.status_code == 200


def test_a_reader_that_reads_nothing_slows_no_run(stage: Stage) -> None:
    thread, address = stage.thread("demo"), httpx.URL(stage.url)
    with socket.socket() as slow:
        slow.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        slow.connect((address.host, address.port))
        slow.sendall(f"GET {thread.path}/events HTTP/1.1\r\nHost: {address.host}:{address.port}\r\n\r\n".encode())
        begun = time.monotonic()
        for _ in range(30):
            attached(stage, thread.post("long")["runId"])
        assert time.monotonic() - begun < 15
    with thread.feed() as events:
        last = thread.post("usage")
        assert until(events, "delivery.delivered", deliveryId=last["deliveryId"])


# -- whose it is


def test_two_principals_do_not_see_each_other(tmp_path: Path) -> None:
    tokens = tmp_path / "tokens"
    tokens.write_text("ann:ann-0123456789abcdef\nbob:bob-0123456789abcdef\n")
    tokens.chmod(0o600)
    with Stage(tmp_path, "--token-file", str(tokens)) as stage:
        ann, bob = (
            Thread(stage, id="same", headers={"authorization": f"Bearer {who}-0123456789abcdef"})
            for who in ("ann", "bob")
        )
        own = ann.post("ann's own words", deliveryId="d")
        others = bob.post("bob's", deliveryId="d")
        assert own["messageId"] != others["messageId"]
        assert ann.fate("d")["messageId"] == own["messageId"]
        assert bob.fate("d")["messageId"] == others["messageId"]
        with bob.feed() as events:
            found = until(events, "status.changed", status="idle")
        assert "ann" not in str(found)
        assert bob.contents() == ["bob's"]


# -- sessions


@pytest.fixture(scope="module")
def acp(tmp_path_factory: pytest.TempPathFactory) -> Iterator[AcpStage]:
    stage = AcpStage(tmp_path_factory.mktemp("acp"))
    stage.agent("full", "--full")
    with stage:
        yield stage


def test_a_session_is_reported_when_it_starts_is_released_and_forked(acp: AcpStage) -> None:
    talk = Talk(acp, "full")
    thread = Thread(acp, "full", id=talk.id)
    with thread.feed() as events:
        receipt = thread.post("hello")
        started = until(events, "session.started")[-1]
        assert started["sessionId"] == talk.session
        until(events, "status.changed", status="idle")
        forked = acp.asks(f"{talk.path}/fork", {"threadId": f"{talk.id}-2"}, 201)
        found = until(events, "session.forked")[-1]
        assert (found["sessionId"], found["parentSessionId"]) == (forked["sessionId"], started["sessionId"])
        acp.asks(f"{talk.path}/close", {})
        assert until(events, "session.released")[-1]["sessionId"] == started["sessionId"]
    assert numbers_of(acp.client.get(f"/runs/{receipt['runId']}/events").text)[0] == 1


def test_a_released_session_that_is_used_again_is_reported_as_resumed(acp: AcpStage) -> None:
    talk = Talk(acp, "full")
    thread = Thread(acp, "full", id=talk.id)
    with thread.feed() as events:
        thread.post("hello")
        session = until(events, "session.started")[-1]["sessionId"]
        until(events, "status.changed", status="idle")
        acp.asks(f"{talk.path}/close", {})
        assert kinds(until(events, "status.changed", status="released")) == [
            *("status.changed", "session.released", "status.changed")  # releasing, then released
        ]
        thread.post("hello again")
        found = until(events, "status.changed", status="idle")
    resumed = [event["sessionId"] for event in found if event["type"].startswith("session.")]
    assert (resumed, "session.resumed" in kinds(found)) == ([session], True)


def test_a_session_that_is_brought_back_after_a_restart_is_reported_as_resumed(tmp_path: Path) -> None:
    stage = AcpStage(tmp_path)
    stage.agent("lasting", "--full", stage.state("lasting"))
    with stage:
        talk = Talk(stage, "lasting")
        talk.say("hello")
        session, thread = talk.session, Thread(stage, "lasting", id=talk.id)
        stage.terminate()
        stage.start()
        with thread.feed() as events:
            thread.post("hello again")
            found = until(events, "status.changed", status="active") + until(events, "status.changed", status="idle")
    receipt = [(event["type"], event["sessionId"]) for event in found if event["type"].startswith("session.")]
    assert receipt == [("session.resumed", session)]


def test_an_agent_that_dies_leaves_its_thread_failed_until_the_next_run(acp: AcpStage) -> None:
    thread = Thread(acp, "full", id=Talk(acp, "full").id)
    with thread.feed() as events:
        thread.post("die")
        found = until(events, "status.changed", status="failed")
        assert found[-1]["previousStatus"] == "active"
        assert next(event for event in found if event["type"] == "error")["code"] == "AGENT_DIED"
        thread.post("hello")
        statuses = [event["status"] for event in until(events, "status.changed", status="idle") if "status" in event]
    assert statuses[-2:] == ["active", "idle"]


def test_an_agent_with_sessions_gets_each_message_once(acp: AcpStage) -> None:
    talk = Talk(acp, "full")
    thread = Thread(acp, "full", id=talk.id)
    for content in ("one", "two", "three"):
        attached(acp, thread.post(content)["runId"])
    assert talk.prompts == ["one", "two", "three"]
    assert thread.contents() == ["one", "two", "three"]


# -- tools


def test_a_tool_that_failed_and_one_that_never_answered_are_reported_as_that(acp: AcpStage) -> None:
    thread = Thread(acp, "full", id=Talk(acp, "full").id)
    with thread.feed() as events:
        thread.post("tools")
        until(events, "status.changed", status="active")
        found = [event for event in until(events, "status.changed", status="idle") if event["type"][:5] == "tool."]
    ends = [event for event in found if event["type"] != "tool.called"]
    assert [(end["type"], end["tool"]) for end in ends] == [
        ("tool.completed", "edit"),
        ("tool.failed", "fetch"),
        ("tool.failed", "search"),
    ]
    assert [end["error"] for end in ends[1:]] == ["no network", UNREPORTED]
    assert {end["toolCallId"] for end in ends} == {event["toolCallId"] for event in found}


def test_what_the_feed_reported_of_tools_the_thread_s_own_view_declares(acp: AcpStage) -> None:
    thread, capabilities = Thread(acp, "full", id=Talk(acp, "full").id), "/agents/full/capabilities"
    with thread.feed() as events:
        thread.post("tools")
        until(events, "status.changed", status="active")
        receipt = kinds(until(events, "status.changed", status="idle"))
    assert "tool.failed" in receipt
    assert {*receipt} <= {*acp.asks(f"{capabilities}?view=relay&thread={thread.id}")["events"]["emits"]}
    explained = acp.asks(f"{capabilities}?explain=1&thread={thread.id}")["explain"]["tools.supported"]
    assert (explained["value"], explained["source"]) == (True, "calls that were seen")
    assert "supported" not in acp.asks(capabilities).get("tools", {})


def test_a_tool_of_the_client_s_that_failed_there_is_reported_as_that(thread: Thread) -> None:
    card = {"name": "show_card", "description": "Shows a card.", "parameters": {"type": "object"}}
    with thread.feed() as events:
        run = thread.run("call", tools=[card])[0]["runId"]
        result = {"id": "r", "role": "tool", "toolCallId": f"{run}-c", "content": "", "error": "no screen"}
        thread.gateway.run(thread.agent, threadId=thread.id, tools=[card], messages=[result])
        failed = until(events, "tool.failed")[-1]
        assert (failed["tool"], failed["error"]) == ("show_card", "no screen")
        thread.run("call", tools=[card])
        thread.run("never mind", tools=[card])
        assert until(events, "tool.failed")[-1]["error"] == NO_RESULT
