"""The question about a folder, over the WebSocket and for messages that are delivered to a thread: no process of the
agent starts before its answer, whichever way the run came."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.attacks.trust_stage import TrustStage, question_of
from tests.behaviour.delivery.harness import Thread
from tests.runs.harness import attached
from tests.support.gateway import text_of
from tests.web.routes.test_websocket import opened, run


@pytest.fixture
def stage(tmp_path: Path) -> Iterator[TrustStage]:
    stage = TrustStage(tmp_path)
    stage.plant()
    with stage:
        yield stage


def answer_of(question: dict[str, Any], option: str) -> dict[str, Any]:
    return {"interruptId": question["id"], "status": "resolved", "payload": {"optionId": option}}


@pytest.mark.parametrize(("option", "runs_hooks"), [("reject_once", False), ("trust_once", True)])
def test_a_run_over_the_websocket_is_asked_about_and_answered_there(
    stage: TrustStage, option: str, runs_hooks: bool
) -> None:
    with opened(stage, "restricted") as socket:
        question = question_of(run(socket, "hello", threadId="t"))
        assert stage.starts() == []
        events = run(socket, "", threadId="t", messages=[], resume=[answer_of(question, option)])
        assert text_of(events) == "you said hello"
        assert stage.canary.exists() is runs_hooks


def test_a_question_over_the_websocket_outlives_the_connection(stage: TrustStage) -> None:
    with opened(stage, "restricted") as socket:
        question = question_of(run(socket, "hello", threadId="t"))
    assert stage.starts() == []
    assert text_of(stage.answer("restricted", question, "reject_once")) == "you said hello"


@pytest.mark.parametrize(("option", "runs_hooks"), [("reject_once", False), ("trust_always", True)])
def test_a_delivered_message_waits_for_the_answer(stage: TrustStage, option: str, runs_hooks: bool) -> None:
    thread = Thread(stage, "restricted")
    receipt = thread.post("hello")
    question = question_of(attached(stage, receipt["runId"]))
    assert stage.starts() == []
    assert stage.client.get(thread.path).json()["pendingRunId"] == receipt["runId"]
    second = thread.post("and this")
    assert second["status"] == "deferred", "another message is no answer"
    assert stage.starts() == []
    events = thread.run("", messages=[], resume=[answer_of(question, option)])
    assert text_of(events) == "you said hello"
    done = thread.fate(second["deliveryId"])
    assert done["type"] == "delivery.delivered"
    assert "and this" in text_of(attached(stage, done["runId"]))
    assert stage.canary.exists() is runs_hooks
    assert thread.contents() == ["hello", "and this"]


def test_a_message_that_takes_the_place_of_the_question_starts_nothing_without_another(stage: TrustStage) -> None:
    thread = Thread(stage, "restricted")
    question_of(attached(stage, thread.post("hello")["runId"]))
    second = thread.post("instead", "immediate")
    done = thread.fate(second["deliveryId"])
    question_of(attached(stage, done["runId"]))
    assert stage.starts() == [] and not stage.canary.exists()
