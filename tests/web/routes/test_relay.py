"""`?view=relay`: what Agent Relay reads of a session, and its status from one moment to the next."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest

from tests.behaviour.acp.harness import Stage, Talk
from tests.capabilities.views.test_relay import CATALOG, check_interface
from tests.runs.harness import eventually
from tests.support.gateway import Gateway
from tests.web.agent_folder import write_agent
from tests.web.conftest import Guarded
from tests.web.feed_reader import until, watching

DEMO = "/agents/demo/capabilities"
TOOL = {"name": "show_card", "description": "Shows a card.", "parameters": {"type": "object"}}

CALLING = """
from gateway.events import ClientToolsCalled, ClientToolCall, ToolCallArgs, ToolCallEnd, ToolCallStart

async def agent(turn):
    yield ToolCallStart(turn.run_id, "show_card")
    yield ToolCallArgs(turn.run_id, "{}")
    yield ToolCallEnd(turn.run_id)
    yield ClientToolsCalled((ClientToolCall(turn.run_id, "show_card"),))
    yield "shown"
"""


@pytest.fixture
def thread() -> str:
    return f"thread-{uuid4().hex[:8]}"


def relay_view(gateway: Gateway, thread: str | None = None, agent: str = "demo") -> dict[str, Any]:
    params = {"view": "relay"} | ({} if thread is None else {"thread": thread})
    response = gateway.client.get(f"/agents/{agent}/capabilities", params=params)
    assert response.status_code == 200, response.text
    found: dict[str, Any] = response.json()
    check_interface(found)
    return found


# -- what a session can do


def test_the_demo_agent_is_reported_whole(gateway: Gateway) -> None:
    assert relay_view(gateway) == {
        "messaging": {"receive": True, "send": False, "attachments": ["text", "image"]},
        "delivery": {"modes": ["immediate", "on-idle"], "queue": True},
        "events": {
            "emits": [
                "status.changed",
                "status.idle",
                "status.active",
                "status.blocked",
                "status.waiting",
                "status.offline",
                "message.received",
                "delivery.accepted",
                "delivery.delivered",
                "delivery.deferred",
                "delivery.failed",
                "transcript.chunk",
                "usage.updated",
                "error",
                "tool.called",
                "tool.completed",
                "tool.failed",
                "session.started",
                "session.resumed",
                "session.released",
                "session.forked",
            ]
        },
        "actions": {"invoke": True, "expose": False},
        "lifecycle": {"release": True, "pause": False, "snapshot": False, "resume": True, "fork": True},
        "status": "idle",
    }


def test_the_gateway_says_what_is_so_for_every_session(gateway: Gateway) -> None:
    answer = gateway.client.get(DEMO, params={"explain": "1"}).json()
    assert answer["capabilities"]["custom"]["relay"]["delivery"] == {"modes": ["immediate", "on-idle"], "queue": True}
    assert answer["explain"]["custom.relay.delivery.modes"]["layer"] == "gateway"
    source = answer["explain"]["custom.relay.messaging.attachments"]["source"]
    assert source == "made of multimodal.input.image by profile (demo.toml)"


def plain(gateway: Gateway, agent: str, thread: str | None = None) -> Any:
    """What a client that knows AG-UI alone finds."""
    params = {} if thread is None else {"thread": thread}
    return gateway.client.get(f"/agents/{agent}/capabilities", params=params).json()["custom"]["relay"]


@pytest.mark.parametrize("agent", sorted(CATALOG))
def test_a_plain_client_reads_of_every_agent_what_the_view_shows(gateway: Gateway, agent: str) -> None:
    assert plain(gateway, agent) == {
        key: value for key, value in relay_view(gateway, agent=agent).items() if key != "status"
    }


def test_a_client_that_has_the_view_is_answered_not_modified(gateway: Gateway, thread: str) -> None:
    params = {"view": "relay", "thread": thread}
    gateway.run("demo", threadId=thread)
    tag = gateway.client.get(DEMO, params=params).headers["etag"]
    assert gateway.client.get(DEMO, params=params, headers={"if-none-match": tag}).status_code == 304
    gateway.run("demo", "approve", threadId=thread)
    assert gateway.client.get(DEMO, params=params, headers={"if-none-match": tag}).status_code == 200


def test_a_busy_thread_takes_messages_as_its_view_declares(gateway: Gateway, thread: str) -> None:
    """A run is refused with the reason; a message waits, or interrupts. Nothing is lost."""
    with gateway.stream("demo", "slow 600", threadId=thread) as events:
        next(events)
        assert relay_view(gateway, thread)["delivery"] == {"modes": ["immediate", "on-idle"], "queue": True}
        second = gateway.client.post("/agents/demo", json=_message(thread))
        assert (second.status_code, second.json()["code"]) == (409, "RUN_IN_PROGRESS")
        for delivery, status in (("on-idle", "deferred"), ("immediate", "accepted")):
            body = {"message": {"content": "and another thing"}, "delivery": delivery}
            posted = gateway.client.post(f"/agents/demo/threads/{thread}/messages", json=body)
            assert (posted.status_code, posted.json()["status"]) == (202, status)
        assert [event["type"] for event in events][-1] == "RUN_FINISHED"
    eventually(lambda: relay_view(gateway, thread)["status"] == "idle")
    assert gateway.client.post("/agents/demo", json=_message(thread)).status_code == 200


def _message(thread: str) -> dict[str, Any]:
    message = {"id": uuid4().hex, "role": "user", "content": "and another thing"}
    return {"threadId": thread, "runId": uuid4().hex, "messages": [message], "state": {}, "tools": [], "context": []}


# -- the status of a thread


def test_a_thread_that_was_never_begun_is_idle(gateway: Gateway, thread: str) -> None:
    assert relay_view(gateway, thread)["status"] == "idle"


def test_a_thread_after_its_run_is_idle_and_offline_when_it_was_deleted(gateway: Gateway, thread: str) -> None:
    gateway.run("demo", threadId=thread)
    assert relay_view(gateway, thread)["status"] == "idle"
    assert gateway.client.delete(f"/agents/demo/threads/{thread}").status_code == 204
    assert relay_view(gateway, thread)["status"] == "offline"


def test_a_thread_with_a_live_run_is_active_and_idle_when_it_was_stopped(gateway: Gateway, thread: str) -> None:
    with gateway.stream("demo", "slow 600", threadId=thread) as events:
        run = next(events)["runId"]
        next(event for event in events if event["type"] == "TEXT_MESSAGE_CONTENT")
        assert relay_view(gateway, thread)["status"] == "active"
        assert relay_view(gateway)["status"] == "idle"  # the agent takes others meanwhile
        gateway.client.post(f"/runs/{run}/cancel")
        assert [event["type"] for event in events][-1] == "RUN_FINISHED"
    assert relay_view(gateway, thread)["status"] == "idle"


def test_a_thread_that_asks_is_blocked_until_it_is_answered(gateway: Gateway, thread: str) -> None:
    interrupt = gateway.run("demo", "approve", threadId=thread)[-1]["outcome"]["interrupts"][0]
    assert relay_view(gateway, thread)["status"] == "blocked"
    answer = {"interruptId": interrupt["id"], "status": "resolved", "payload": {"approved": True}}
    gateway.run("demo", threadId=thread, messages=[], resume=[answer])
    assert relay_view(gateway, thread)["status"] == "idle"


def test_a_thread_whose_question_was_given_up_is_idle(gateway: Gateway, thread: str) -> None:
    run = gateway.run("demo", "approve", threadId=thread)[0]["runId"]
    assert relay_view(gateway, thread)["status"] == "blocked"
    assert gateway.client.post(f"/runs/{run}/cancel").status_code == 200
    assert relay_view(gateway, thread)["status"] == "idle"


def test_a_thread_that_asked_is_blocked_until_a_restart_expires_its_question(tmp_path: Path, thread: str) -> None:
    """Nobody waits for the answer any more: the turn that asked has ended with the gateway."""
    for prompt, status in (("approve", "blocked"), (None, "idle")):
        with Gateway(tmp_path) as gateway:
            if prompt is not None:
                gateway.run("demo", prompt, threadId=thread)
            assert relay_view(gateway, thread)["status"] == status


def test_a_thread_belongs_to_one_principal(guarded: Guarded, thread: str) -> None:
    client, body = guarded.gateway.client, _message(thread)
    assert client.post("/agents/demo", json=body, headers=guarded.ann).status_code == 200
    params = {"view": "relay", "thread": thread}
    found = [client.get(DEMO, params=params, headers=who).json()["status"] for who in (guarded.ann, guarded.bob)]
    assert found == ["idle", "idle"]


# -- agents of their own


@pytest.fixture(scope="module")
def stage(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stage]:
    home = tmp_path_factory.mktemp("relay")
    stage = Stage(home)
    stage.agent("full", "--full")
    stage.agent("silent", stall_timeout=1)
    stage.agent("signed-out", auth=[{"kind": "file", "name": str(home / "signed-in")}])
    stage.agent("sleepy", "--never-initialize")
    write_agent(stage.agents, "calling", CALLING)
    write_agent(stage.agents, "bent", "raise RuntimeError('bent')")
    with stage:
        yield stage


def test_an_agent_that_cannot_run_is_offline_and_a_broken_one_has_failed(stage: Stage) -> None:
    assert relay_view(stage, agent="signed-out")["status"] == "offline"
    assert relay_view(stage, agent="bent")["status"] == "failed"
    assert relay_view(stage, "some-thread", agent="bent")["status"] == "failed"


@pytest.mark.parametrize("agent", ["full", "demo"])
def test_a_thread_that_was_released_is_that_until_it_is_used_again(stage: Stage, agent: str, thread: str) -> None:
    stage.run(agent, threadId=thread)
    stage.asks(f"/agents/{agent}/threads/{thread}/close", {})
    assert relay_view(stage, thread, agent=agent)["status"] == "released"
    stage.run(agent, threadId=thread)
    assert relay_view(stage, thread, agent=agent)["status"] == "idle"


def test_a_released_session_that_is_set_to_something_is_there_again(stage: Stage, thread: str) -> None:
    stage.run("demo", threadId=thread)
    path = f"/agents/demo/threads/{thread}"
    stage.asks(f"{path}/close", {})
    modes = stage.asks(f"{DEMO}?thread={thread}")["custom"]["session"]["modes"]["available"]
    stage.asks(f"{path}/mode", {"mode": modes[0]["id"]})
    assert relay_view(stage, thread)["status"] == "idle"
    stage.asks(f"{path}/close", {})
    assert stage.client.delete(path).status_code == 204
    assert relay_view(stage, thread)["status"] == "offline"


def test_a_thread_whose_agent_died_has_failed_until_its_next_run(stage: Stage, thread: str) -> None:
    assert stage.run("full", "die", threadId=thread)[-1]["code"] == "AGENT_DIED"
    assert relay_view(stage, thread, agent="full")["status"] == "failed"
    assert relay_view(stage, agent="full")["status"] == "idle"  # the agent takes others
    stage.run("full", threadId=thread)
    assert relay_view(stage, thread, agent="full")["status"] == "idle"


def test_a_thread_whose_agent_fell_silent_has_failed_too(stage: Stage, thread: str) -> None:
    assert stage.run("silent", "hang", threadId=thread)[-1]["code"] == "AGENT_STALLED"
    assert relay_view(stage, thread, agent="silent")["status"] == "failed"


def test_a_thread_whose_agent_only_says_that_something_went_wrong_is_idle(gateway: Gateway, thread: str) -> None:
    assert gateway.run("demo", "error", threadId=thread)[-1]["type"] == "RUN_ERROR"
    assert relay_view(gateway, thread)["status"] == "idle"


def test_a_thread_that_left_a_call_to_the_client_is_waiting_though_its_turn_is_over(
    gateway: Gateway, thread: str
) -> None:
    last = gateway.run("demo", "frontend", threadId=thread, tools=[TOOL])[-1]
    [call] = last["outcome"]["pendingToolCallIds"]
    assert relay_view(gateway, thread)["status"] == "waiting"
    result = {"id": uuid4().hex, "role": "tool", "toolCallId": call, "content": "it is shown"}
    gateway.run("demo", threadId=thread, tools=[TOOL], messages=[result])
    assert relay_view(gateway, thread)["status"] == "idle"


def test_a_thread_whose_waiting_turn_was_given_up_is_idle(stage: Stage, thread: str) -> None:
    run = stage.run("calling", threadId=thread, tools=[TOOL])[0]["runId"]
    assert stage.client.post(f"/runs/{run}/cancel").status_code == 200
    assert relay_view(stage, thread, agent="calling")["status"] == "idle"


def test_a_released_session_is_brought_back_by_the_next_message(stage: Stage) -> None:
    talk = Talk(stage, "full")
    talk.say("hello")
    lifecycle = relay_view(stage, talk.id, agent="full")["lifecycle"]
    assert (lifecycle["resume"], lifecycle["release"]) == (True, True)
    session = talk.session
    assert stage.asks(f"{talk.path}/close", {}) == {"closed": True}
    talk.say("hello again")
    assert talk.session == session


def test_a_thread_whose_session_is_being_opened_is_starting(stage: Stage, thread: str) -> None:
    with stage.stream("sleepy", threadId=thread) as events:
        run = next(events)["runId"]
        assert relay_view(stage, thread, agent="sleepy")["status"] == "starting"
        stage.client.post(f"/runs/{run}/cancel")
        assert [event["type"] for event in events][-1] == "RUN_FINISHED"
    assert relay_view(stage, thread, agent="sleepy")["status"] == "idle"


def test_a_thread_that_waits_for_the_client_s_tool_is_waiting_and_takes_the_result(stage: Stage, thread: str) -> None:
    run = stage.run("calling", threadId=thread, tools=[TOOL])[0]["runId"]
    assert relay_view(stage, thread, agent="calling")["status"] == "waiting"
    result = {"id": uuid4().hex, "role": "tool", "toolCallId": run, "content": "it is shown"}
    stage.run("calling", threadId=thread, tools=[TOOL], messages=[result])
    assert relay_view(stage, thread, agent="calling")["status"] == "idle"


# -- the feed


def test_every_status_that_lasts_is_reported_to_those_who_watch(gateway: Gateway, thread: str) -> None:
    with watching(gateway, f"{DEMO}?view=relay&thread={thread}") as feed:
        assert next(feed).snapshot["status"] == "idle"
        with gateway.stream("demo", "slow 600", threadId=thread) as events:
            run = next(events)["runId"]
            until(feed, "status", "active")
            gateway.client.post(f"/runs/{run}/cancel")
            assert [event["type"] for event in events][-1] == "RUN_FINISHED"
        until(feed, "status", "idle")
        gateway.run("demo", "approve", threadId=thread)
        until(feed, "status", "blocked")


def test_a_thread_that_is_deleted_while_it_is_watched_goes_offline(gateway: Gateway, thread: str) -> None:
    gateway.run("demo", threadId=thread)
    with watching(gateway, f"{DEMO}?view=relay&thread={thread}") as feed:
        before = next(feed)
        assert before.snapshot["status"] == "idle"
        assert gateway.client.delete(f"/agents/demo/threads/{thread}").status_code == 204
        after = next(feed)
    assert after.follows(before) and after.data["patch"] == [{"op": "replace", "path": "/status", "value": "offline"}]
