"""A message posted to a thread reaches it at its boundary: idle or busy, one or several, and once."""

from __future__ import annotations

from typing import Any
from uuid import uuid4

import pytest

from tests.behaviour.delivery.harness import Stage, Thread
from tests.runs.harness import attached, interrupts_of, resolved
from tests.support.gateway import text_of

# -- on-idle


def test_a_message_to_a_new_thread_begins_a_run_that_can_be_followed(thread: Thread) -> None:
    receipt = thread.post("hello")
    assert (receipt["status"], receipt["delivery"]) == ("accepted", "on-idle")
    assert text_of(attached(thread.gateway, receipt["runId"])) == "you said hello"
    assert thread.receipts(receipt["deliveryId"]) == ["accepted", "delivered"]


def test_the_message_stands_in_the_history_and_its_run_has_all_that_came_before(thread: Thread) -> None:
    thread.run("first")
    receipt = thread.post("count", message={"id": "mine", "content": "count"})
    assert receipt["messageId"] == "mine"
    assert text_of(attached(thread.gateway, receipt["runId"])).startswith("messages: 3,")
    assert [message["id"] for message in thread.messages() if message["role"] == "user"][-1] == "mine"
    assert thread.contents() == ["first", "count"]


def test_a_reloaded_page_is_shown_the_message(thread: Thread) -> None:
    receipt = thread.post("hello")
    attached(thread.gateway, receipt["runId"])
    body = {"threadId": thread.id, "runId": "r", "messages": [], "tools": [], "context": [], "state": {}}
    shown = thread.gateway.client.post("/copilotkit/agent/doer/connect", json=body | {"forwardedProps": {}})
    assert '"MESSAGES_SNAPSHOT"' in shown.text and receipt["messageId"] in shown.text


def test_a_message_to_a_busy_thread_waits_until_it_is_idle(stage: Stage, thread: Thread) -> None:
    gate = f"gate-{thread.id}"
    with thread.holding(gate) as live:
        receipt = thread.post("hello")
        assert (receipt["status"], "runId" in receipt) == ("deferred", False)
        assert receipt["reason"] == f"the thread has a live run, {live!r}"
        (stage.folder / gate).touch()
    done = thread.fate(receipt["deliveryId"])
    assert (done["type"], done["messageId"]) == ("delivery.delivered", receipt["messageId"])
    assert text_of(attached(stage, done["runId"])) == "you said hello"
    assert thread.receipts(receipt["deliveryId"]) == ["accepted", "deferred", "delivered"]


def test_several_messages_are_delivered_in_their_order(stage: Stage, thread: Thread) -> None:
    gate, names = f"gate-{thread.id}", [f"m{number}" for number in range(8)]
    with thread.holding(gate):
        for name in names:
            assert thread.named(name)["status"] == "deferred"
        (stage.folder / gate).touch()
    assert thread.fate(names[-1])["type"] == "delivery.delivered"
    assert stage.prompts(thread.id)[1:] == names


def test_a_message_waits_for_an_open_question_and_goes_when_it_is_answered(thread: Thread) -> None:
    [asked] = interrupts_of(thread.run("ask"))
    receipt = thread.post("hello")
    assert receipt["status"] == "deferred" and "waits for an answer" in receipt["reason"]
    thread.run("the answer is in `resume`", resume=[resolved(asked)])
    assert thread.fate(receipt["deliveryId"])["type"] == "delivery.delivered"


def test_a_message_waits_for_a_question_until_that_is_too_old(thread: Thread) -> None:
    thread.run("ask-briefly")
    receipt = thread.post("hello")
    assert thread.fate(receipt["deliveryId"])["type"] == "delivery.delivered"
    deferred = thread.fate(receipt["deliveryId"], "deferred", "delivered")
    assert deferred["type"] == "delivery.delivered" or deferred["availableAt"].endswith("Z")


def test_a_message_waits_for_the_client_s_own_tool(thread: Thread) -> None:
    run = thread.run("call", tools=[CARD])[0]["runId"]
    receipt = thread.post("hello")
    assert receipt["status"] == "deferred" and "the client's own tools" in receipt["reason"]
    result = {"id": uuid4().hex, "role": "tool", "toolCallId": f"{run}-c", "content": "shown"}
    thread.gateway.run(thread.agent, threadId=thread.id, tools=[CARD], messages=[result])
    assert thread.fate(receipt["deliveryId"])["type"] == "delivery.delivered"


CARD: dict[str, Any] = {"name": "show_card", "description": "Shows a card.", "parameters": {"type": "object"}}


# -- immediate


def test_an_immediate_message_interrupts_the_live_run(stage: Stage, thread: Thread) -> None:
    with thread.holding() as live:
        receipt = thread.post("hello", "immediate")
    done = thread.fate(receipt["deliveryId"])
    assert attached(stage, live)[-1]["outcome"] == {"type": "cancelled"}
    assert text_of(attached(stage, done["runId"])) == "you said hello"
    assert thread.receipts(receipt["deliveryId"]) == ["accepted", "delivered"]


def test_an_immediate_message_to_an_idle_thread_is_delivered_at_once(thread: Thread) -> None:
    receipt = thread.post("hello", "immediate")
    assert text_of(attached(thread.gateway, receipt["runId"])) == "you said hello"


def test_an_immediate_message_goes_before_those_that_wait(stage: Stage, thread: Thread) -> None:
    with thread.holding():
        thread.named("patient")
        thread.named("urgent", delivery="immediate")
    assert thread.fate("patient")["type"] == "delivery.delivered"
    assert stage.prompts(thread.id)[1:] == ["urgent", "patient"]


def test_an_immediate_message_gives_up_an_open_question(thread: Thread) -> None:
    thread.run("ask")
    receipt = thread.post("hello", "immediate")
    assert text_of(attached(thread.gateway, thread.fate(receipt["deliveryId"])["runId"])) == "you said hello"
    assert thread.gateway.client.get(thread.path).json()["interrupts"] == []


def test_an_immediate_message_goes_on_without_the_client_s_tool(thread: Thread) -> None:
    thread.run("call", tools=[CARD])
    receipt = thread.post("never mind", "immediate")
    assert text_of(attached(thread.gateway, thread.fate(receipt["deliveryId"])["runId"])) == "you said never mind"


def test_of_two_immediate_messages_each_is_given_to_the_agent(stage: Stage, thread: Thread) -> None:
    with thread.holding():
        thread.named("one", "hold never", "immediate")
        thread.named("two", "hello", "immediate")
    assert thread.receipts("one")[-1] == thread.receipts("two")[-1] == "delivered"
    assert stage.prompts(thread.id)[1:] == ["one", "two"]


# -- what goes along, and what goes wrong


def test_the_options_of_a_message_are_its_run_s(stage: Stage) -> None:
    thread = stage.thread("echo")
    receipt = thread.post("one two three", forwardedProps={"gateway": {"merge": False}})
    assert len([e for e in attached(stage, receipt["runId"]) if e["type"] == "TEXT_MESSAGE_CONTENT"]) == 3


def test_a_run_that_fails_after_it_began_has_delivered_its_message(thread: Thread) -> None:
    receipt = thread.post("raise")
    assert thread.receipts(receipt["deliveryId"])[-1] == "delivered"
    assert attached(thread.gateway, receipt["runId"])[-1]["code"] == "AGENT_EXCEPTION"


@pytest.mark.parametrize("delivery", ["on-idle", "immediate"])
def test_a_session_of_its_own_gets_only_what_is_new(stage: Stage, delivery: str) -> None:
    """`echo` has none; what its run is given is the whole conversation."""
    thread = stage.thread("echo")
    for content in ("one", "two"):
        receipt = thread.post(content, delivery)
        attached(stage, receipt["runId"])
    assert thread.contents() == ["one", "two"]
    assert thread.contents("assistant") == ["one ", "two "]
