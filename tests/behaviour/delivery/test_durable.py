"""What was accepted outlives the gateway, killed or stopped: the next one delivers it, or it fails with a reason."""

from __future__ import annotations

import sqlite3
import sys
from collections import Counter
from contextlib import suppress
from itertools import count
from pathlib import Path
from signal import SIGKILL
from threading import Thread as Task

import httpx
import pytest

from tests.behaviour.acp.harness import Stage as AcpStage
from tests.behaviour.acp.harness import Talk
from tests.behaviour.delivery.harness import Stage, Thread, until
from tests.runs.harness import attached, eventually, interrupts_of, resolved
from tests.web.agent_folder import write_agent


def test_after_kill_9_what_waited_is_delivered_in_its_order_and_the_receipts_are_there(tmp_path: Path) -> None:
    with Stage(tmp_path) as stage:
        thread, names = stage.thread(), ["one", "two", "three"]
        with thread.holding():
            for name in names:
                assert thread.named(name)["status"] == "deferred"
        stage.kill()
        stage.start()
        assert thread.fate("three")["type"] == "delivery.delivered"
        assert stage.prompts(thread.id)[1:] == names
        for name in names:
            assert thread.receipts(name) == ["accepted", "deferred", "delivered"]
        assert thread.contents() == ["hold never", "hello", "hello", "hello"]
        assert thread.named("one")["status"] == "delivered", "and a retry is still understood"


def test_a_feed_goes_on_with_its_numbers_after_kill_9(tmp_path: Path) -> None:
    with Stage(tmp_path) as stage:
        thread = stage.thread()
        with thread.feed() as events:
            thread.named("before")
            seen = until(events, "status.changed", status="idle")
        stage.kill()
        stage.start()
        with thread.feed(after=seen[-1]["id"]) as events:
            thread.named("after")
            rest = until(events, "delivery.delivered", deliveryId="after")
        assert [event["id"] for event in rest] == list(range(seen[-1]["id"] + 1, rest[-1]["id"] + 1))
        with thread.feed() as events:
            assert until(events, "delivery.delivered", deliveryId="after") == [*seen, *rest]


def test_after_kill_9_a_message_that_was_delivered_is_not_delivered_again(tmp_path: Path) -> None:
    with Stage(tmp_path) as stage:
        thread = stage.thread()
        thread.named("held", "hold never")
        assert thread.fate("held")["type"] == "delivery.delivered"
        stage.kill()
        stage.start()
        thread.named("next")
        assert thread.fate("next")["type"] == "delivery.delivered"
        assert stage.prompts(thread.id) == ["held", "next"]
        assert thread.receipts("held") == ["accepted", "delivered"]


def test_a_message_whose_agent_was_being_started_is_given_to_it_by_the_next_gateway(tmp_path: Path) -> None:
    stage = AcpStage(tmp_path)
    stage.agent("sleepy", "--slow-start=1.5")
    with stage:
        talk = Talk(stage, "sleepy")
        thread = Thread(stage, "sleepy", id=talk.id)
        receipt = thread.named("lucky", "good morning")
        assert receipt["status"] == "accepted"
        stage.kill()
        stage.start()
        delivered = thread.fate("lucky")
        assert delivered["type"] == "delivery.delivered" and delivered["runId"] != receipt["runId"]
        assert attached(stage, receipt["runId"])[-1]["code"] == "GATEWAY_RESTARTED"
        attached(stage, delivered["runId"])
        assert talk.prompts == ["good morning"]
        assert thread.contents() == ["good morning"]


def test_a_message_that_another_run_brings_is_not_delivered_again(stage: Stage, thread: Thread) -> None:
    """A page may show what it has posted, and send it along with its next run."""
    [asked] = interrupts_of(thread.run("ask"))
    thread.named("both", "hello")
    message = {"id": "both", "role": "user", "content": "hello"}
    others = f"theirs-{thread.id}"
    stage.run(thread.agent, threadId=thread.id, runId=others, messages=[message], resume=[resolved(asked)])
    delivered = thread.fate("both")
    assert (delivered["type"], delivered["runId"]) == ("delivery.delivered", others)
    assert thread.contents() == ["ask", "hello"]


def test_an_agent_that_cannot_be_started_fails_its_message_with_the_reason(tmp_path: Path) -> None:
    stage = AcpStage(tmp_path)
    stage.agent("leaving", command={"run": [sys.executable, "-c", "raise SystemExit(3)"]})
    with stage:
        thread = Thread(stage, "leaving")
        receipt = thread.post("hello")
        failed = thread.fate(receipt["deliveryId"])
        assert failed["type"] == "delivery.failed" and failed["reason"]
        assert attached(stage, failed["runId"])[-1]["type"] == "RUN_ERROR"


def test_a_message_whose_agent_is_gone_fails_with_the_reason(tmp_path: Path) -> None:
    with Stage(tmp_path) as stage:
        write_agent(stage.folder, "leaver", LEAVER)
        eventually(lambda: stage.client.get("/agents/leaver").status_code == 200)
        thread = stage.thread("leaver")
        thread.post("begin")
        receipt = thread.post("hello")
        assert receipt["status"] == "deferred"
        stage.kill()
        (stage.folder / "leaver.toml").unlink()
        stage.start()
        problem = stage.client.get(f"{thread.path}/events")
        assert (problem.status_code, problem.json()["code"]) == (404, "UNKNOWN_AGENT")
        eventually(lambda: _final(tmp_path, receipt["deliveryId"]) == ("failed", "there is no agent 'leaver'"))


LEAVER = """
import asyncio


async def agent(turn):
    yield "hello"
    await asyncio.sleep(60)
"""


def _final(home: Path, delivery_id: str) -> tuple[str, str]:
    """Of an agent that is not there any more nothing can be asked."""
    with sqlite3.connect(home / "gateway.db") as connection:
        query = "select status, reason from deliveries where delivery_id = ?"
        status, reason = connection.execute(query, (delivery_id,)).fetchone()
    return status, (reason or "").partition(".")[0]


def test_a_gateway_that_is_stopped_leaves_what_waits_for_the_next_one(tmp_path: Path) -> None:
    with Stage(tmp_path, shutdown_grace=0.2, cancel_grace=0.2) as stage:
        thread = stage.thread()
        with thread.holding():
            thread.named("patient")
        ended: list[bool] = []

        def follow() -> None:
            with thread.feed() as events:
                ended.append(bool(list(events)))

        reader = Task(target=follow)
        reader.start()
        assert stage.terminate() == 0
        reader.join(20)
        assert ended == [True], "the stream ends in order"
        stage.start()
        assert thread.fate("patient")["type"] == "delivery.delivered"
        assert thread.receipts("patient") == ["accepted", "deferred", "delivered"]


def test_a_question_keeps_a_message_waiting_beyond_a_restart(tmp_path: Path) -> None:
    with Stage(tmp_path) as stage:
        thread = stage.thread()
        [asked] = interrupts_of(thread.run("ask"))
        thread.named("patient")
        stage.kill()
        stage.start()
        assert thread.named("patient")["status"] == "deferred"
        thread.run("too late", resume=[resolved(asked)])
        assert thread.fate("patient")["type"] == "delivery.delivered"


def test_a_message_that_waited_for_an_answer_is_delivered_when_a_restart_expires_the_question(tmp_path: Path) -> None:
    with Stage(tmp_path) as stage:
        thread = stage.thread()
        thread.run("ask")
        thread.named("patient")
        refused = stage.client.delete(thread.path)
        assert (refused.status_code, refused.json()["code"]) == (409, "RUN_IN_PROGRESS")
        stage.kill()
        stage.start()  # the turn is gone, and the question with it
        with thread.feed() as events:
            until(events, "delivery.delivered", deliveryId="patient")
            until(events, "status.changed", status="idle")
            assert stage.client.delete(thread.path).status_code == 204
            until(events, "status.changed", status="offline")
        assert stage.prompts(thread.id)[-1] == "patient"


@pytest.mark.parametrize("moment", [1, 2, 5, 17])
def test_whenever_the_gateway_is_killed_nothing_is_lost_and_nothing_comes_twice(tmp_path: Path, moment: int) -> None:
    """It dies in the middle of posts and runs. What it had answered for is delivered once, or reported as failed."""
    with Stage(tmp_path) as stage:
        thread, answered = stage.thread(), list[str]()
        killer = Task(target=_kill_when, args=(stage, answered, moment))
        killer.start()
        with suppress(httpx.TransportError):
            for number in count():
                thread.named(f"m{number}", "hello", "immediate" if number % 7 == 3 else "on-idle")
                answered.append(f"m{number}")
        killer.join()
        stage.kill()
        stage.start()
        fates = _fates(thread, set(answered))
        receipt = Counter(stage.prompts(thread.id))
        assert set(receipt.values()) <= {1}, "the only message may be the one that failed"
        assert all(receipt[name] for name, fate in fates.items() if fate == "delivered")
        assert len([name for name, fate in fates.items() if fate == "failed"]) <= 1, "given to the agent that moment"


def _kill_when(stage: Stage, answered: list[str], moment: int) -> None:
    eventually(lambda: len(answered) >= moment)
    stage.signal(SIGKILL)


def _fates(thread: Thread, names: set[str]) -> dict[str, str]:
    """Exactly one of each."""
    found: dict[str, str] = {}
    with thread.feed() as events:
        for event in events:
            if event["type"] in ("delivery.delivered", "delivery.failed"):
                assert event["deliveryId"] not in found
                found[event["deliveryId"]] = event["type"].removeprefix("delivery.")
                if names <= found.keys():
                    return found
    raise AssertionError(found)
