"""What cannot be delivered is refused before anything is kept: with the reason, who said so, and what to do."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.behaviour.delivery.harness import IMAGE, Stage, Thread
from tests.runs.harness import attached
from tests.web.problem import problem_in


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stage]:
    """With room for two on a thread, four in all, and two runs."""
    with Stage(tmp_path_factory.mktemp("small"), max_queued_per_thread=2, max_queued=4, max_runs=2) as running:
        yield running


def nothing_is_kept(thread: Thread) -> None:
    """The next one is reported first, and the thread knows of no other."""
    receipt = thread.post("hello")
    with thread.feed() as events:
        receipts = [next(e for e in events if e["type"].startswith("delivery.")) for _ in range(1)]
    assert receipts[0]["deliveryId"] == receipt["deliveryId"]
    attached(thread.gateway, receipt["runId"])
    assert thread.contents() == ["hello"]


def test_an_agent_that_takes_no_message_in_its_turn_says_so(thread: Thread) -> None:
    problem = problem_in(thread.send("hello", delivery="next-tool-call"), 422, "CAPABILITY_ERROR")
    assert problem["capability"] == "custom.gateway.steering" and problem["pointer"] == "/delivery"
    assert problem["detail"] == (
        "'doer' takes no message while its turn is running: custom.gateway.steering is not known. "
        "Post it with the delivery on-idle or immediate."
    )
    nothing_is_kept(thread)


def test_an_image_for_an_agent_that_takes_none(thread: Thread) -> None:
    problem = problem_in(thread.send([{"type": "text", "text": "look"}, IMAGE]), 422, "CAPABILITY_ERROR")
    assert problem["detail"] == (
        "/message/content/1: the agent takes no such input: multimodal.input.image is false, "
        "stated by profile (doer.toml). Remove the part, or choose an agent that takes it."
    )
    assert (problem["capability"], problem["source"]) == ("multimodal.input.image", "profile (doer.toml)")
    assert problem["pointer"] == "/message/content/1"
    nothing_is_kept(thread)


def test_an_option_that_the_agent_does_not_know(thread: Thread) -> None:
    options = {"gateway": {"effort": "high"}}
    problem = problem_in(thread.send("hello", forwardedProps=options), 422, "CAPABILITY_ERROR")
    assert problem["pointer"] == "/forwardedProps/gateway/effort"
    nothing_is_kept(thread)


@pytest.mark.parametrize(
    ("body", "pointer"),
    [
        ({}, "/message"),
        ({"message": "hello"}, "/message"),
        ({"message": {"role": "user"}}, "/message/content"),
        ({"message": {"role": "assistant", "content": "hello"}}, "/message/role"),
        ({"message": {"content": "hello"}, "delivery": "soon"}, "/delivery"),
        ({"message": {"content": "hello"}, "deliverey": "on-idle"}, "/deliverey"),
        ({"message": {"content": "hello"}, "deliveryId": ""}, "/deliveryId"),
        ({"message": {"content": "hello"}, "deliveryId": "x" * 600}, "/deliveryId"),
        ({"message": {"content": "hello", "id": 7}}, "/message/id"),
        ({"message": {"content": "hello"}, "forwardedProps": {"gateway": {"no": 1}}}, "/forwardedProps/gateway/no"),
    ],
)
def test_a_body_that_is_none_is_refused_by_the_place_of_the_mistake(
    thread: Thread, body: dict[str, Any], pointer: str
) -> None:
    response = thread.gateway.client.post(f"{thread.path}/messages", json=body)
    assert problem_in(response, 422, "INVALID_INPUT")["pointer"] == pointer


def test_what_is_not_json_and_an_agent_that_is_not_there(stage: Stage, thread: Thread) -> None:
    client = stage.client
    typed = {"content-type": "application/json"}
    problem_in(client.post(f"{thread.path}/messages", content=b"{", headers=typed), 400, "NOT_JSON")
    problem_in(client.post(f"{thread.path}/messages", content=b"{}"), 415, "UNSUPPORTED_CONTENT_TYPE")
    problem_in(stage.thread("unknown").send("hello"), 404, "UNKNOWN_AGENT")
    problem_in(client.get("/agents/unknown/threads/t/events"), 404, "UNKNOWN_AGENT")


def test_a_message_id_that_the_thread_knows_is_refused(stage: Stage, thread: Thread) -> None:
    """A session gets only what it does not know: the message would be lost."""
    message = {"id": "mine", "role": "user", "content": "hello"}
    receipt = thread.post(None, message=message)
    attached(stage, receipt["runId"])
    problem = problem_in(thread.send(None, message=message), 409, "MESSAGE_KNOWN")
    assert problem["messageId"] == "mine" and "another id, or none" in problem["detail"]
    gate = f"gate-{thread.id}"
    with thread.holding(gate):
        thread.named("waits")
        problem_in(thread.send(None, message=message | {"id": "waits"}), 409, "MESSAGE_KNOWN")
    (stage.folder / gate).touch()
    assert thread.fate("waits")["type"] == "delivery.delivered"


# -- the same again


def test_the_same_delivery_twice_is_one(stage: Stage, thread: Thread) -> None:
    first = thread.post("hello", deliveryId="once")
    attached(stage, first["runId"])
    thread.fate("once")
    again = thread.post("hello", deliveryId="once")
    assert again == first | {"status": "delivered"}
    assert len(stage.prompts(thread.id)) == 1
    assert thread.receipts("once") == ["accepted", "delivered"]


def test_the_same_delivery_from_many_at_once_is_one(stage: Stage, thread: Thread) -> None:
    with ThreadPoolExecutor(12) as pool:
        receipt = list(pool.map(lambda _: thread.post("hello", deliveryId="once"), range(12)))
    thread.fate("once")
    thread.idle()
    assert {(one["deliveryId"], one["messageId"]) for one in receipt} == {("once", receipt[0]["messageId"])}
    assert len(stage.prompts(thread.id)) == 1


def test_a_delivery_id_of_another_message_is_refused(thread: Thread) -> None:
    thread.post("hello", deliveryId="once")
    problem = problem_in(thread.send("something else", deliveryId="once"), 409, "DELIVERY_ID_IN_USE")
    assert problem["deliveryId"] == "once" and "give every message its own" in problem["detail"]


# -- bounds


def test_a_thread_s_queue_that_is_full_takes_no_more_and_says_so(small: Stage) -> None:
    thread, gate = small.thread(), "gate-full"
    with thread.holding(gate):
        thread.named("one")
        thread.named("two")
        problem = problem_in(thread.send("three"), 503, "QUEUE_FULL")
        assert problem["detail"].startswith(
            "2 messages wait for this thread already (max_queued_per_thread): post it again"
        )
        assert thread.named("two")["status"] == "deferred"  # that one is there already
    (small.folder / gate).touch()
    thread.fate("two")
    assert small.prompts(thread.id)[1:] == ["one", "two"]


def test_all_queues_together_are_bounded_too(small: Stage) -> None:
    one, two, gate = small.thread(), small.thread(), "gate-all"
    with one.holding(gate), two.holding(gate):
        for thread in (one, two):
            thread.named("a")
            thread.named("b")
        problem = problem_in(small.thread().send("hello"), 503, "QUEUE_FULL")
        assert "max_queued" in problem["detail"]
    (small.folder / gate).touch()
    assert one.fate("b")["type"] == two.fate("b")["type"] == "delivery.delivered"


def test_where_no_run_can_begin_a_message_waits_for_one(small: Stage) -> None:
    one, two, third, gate = small.thread(), small.thread(), small.thread(), "gate-runs"
    with one.holding(gate), two.holding(gate):
        receipt = third.post("hello")
        assert receipt["status"] == "deferred" and "max_runs" in receipt["reason"]
    (small.folder / gate).touch()
    assert third.receipts(receipt["deliveryId"]) == ["accepted", "deferred", "delivered"]


def test_a_thread_that_only_waits_can_be_deleted(small: Stage) -> None:
    one, two, third, gate = small.thread(), small.thread(), small.thread(), "gate-delete"
    with one.holding(gate), two.holding(gate):
        receipt = third.post("hello")
        assert receipt["status"] == "deferred"
        assert small.client.delete(third.path).status_code == 204
        failed = third.fate(receipt["deliveryId"])
        assert (failed["type"], failed["reason"]) == ("delivery.failed", "the thread was deleted")
    (small.folder / gate).touch()
    one.idle()
    two.idle()
    assert small.prompts(third.id) == []


def test_the_scope_run_is_needed_to_post_and_read_to_look(tmp_path: Path) -> None:
    tokens = tmp_path / "tokens"
    tokens.write_text("looker[read]:0123456789abcdef\nrunner[run]:fedcba9876543210\n")
    tokens.chmod(0o600)
    with Stage(tmp_path, "--token-file", str(tokens)) as stage:
        looker = stage.thread(authorization="Bearer 0123456789abcdef")
        runner = stage.thread(authorization="Bearer fedcba9876543210")
        problem_in(looker.send("hello"), 403, "SCOPE_MISSING")
        assert runner.send("hello").status_code == 202
        problem_in(_look(runner), 403, "SCOPE_MISSING")
        with looker.feed():
            pass


def _look(thread: Thread) -> httpx.Response:
    return thread.gateway.client.get(f"{thread.path}/events", headers=thread.headers)
