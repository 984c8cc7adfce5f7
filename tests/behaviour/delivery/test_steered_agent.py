"""A real agent, in a process of its own, that takes words while its turn is under way."""

from __future__ import annotations

import sys
from collections.abc import Iterator

import pytest

from tests.behaviour.acp.harness import ROOT, Stage
from tests.behaviour.delivery.harness import IMAGE, Thread, until
from tests.runs.harness import attached, eventually
from tests.support.gateway import text_of
from tests.web.problem import problem_in


@pytest.fixture(scope="module")
def acp(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stage]:
    stage = Stage(tmp_path_factory.mktemp("steered"))
    run = [sys.executable, "-S", "-m", "tests.behaviour.delivery.steered_agent"]
    stage.agent("steered", command={"run": run, "env": {"PYTHONPATH": str(ROOT)}})
    with stage:
        known = stage.client.get("/agents/steered/capabilities", params={"probe": "1"}).json()
        assert known["custom"]["gateway"]["steering"] is True
        yield stage


def test_its_view_declares_the_boundary(acp: Stage) -> None:
    receipt = acp.client.get("/agents/steered/capabilities", params={"view": "relay"}).json()
    assert receipt["delivery"] == {"modes": ["immediate", "on-idle", "next-tool-call"], "queue": True}


def test_a_message_reaches_it_at_its_next_step_and_stands_in_the_conversation(acp: Stage) -> None:
    thread = Thread(acp, "steered")
    with thread.feed() as events:
        first = thread.post("work")
        until(events, "tool.called")
        receipt = thread.post("and be careful", "next-tool-call")
        assert (receipt["status"], receipt["runId"]) == ("accepted", first["runId"])
        found = until(events, "delivery.delivered", deliveryId=receipt["deliveryId"])[-1]
        assert found["runId"] == first["runId"]
    stream = attached(acp, first["runId"])
    assert "meanwhile you said: and be careful" in text_of(stream)
    assert thread.contents() == ["work", "and be careful"]
    eventually(lambda: acp.client.get(thread.path).json()["pendingRunId"] is None)
    assert thread.receipts(receipt["deliveryId"]) == ["accepted", "delivered"]


def test_it_takes_text_only(acp: Stage) -> None:
    content = [{"type": "text", "text": "look"}, IMAGE]
    problem = problem_in(Thread(acp, "steered").send(content, delivery="next-tool-call"), 422, "CAPABILITY_ERROR")
    assert problem["pointer"] in ("/message/content", "/message/content/1")
    text = [{"type": "text", "text": "only text"}]
    assert Thread(acp, "steered").send(text, delivery="next-tool-call").status_code == 202
