"""Which feedback a run reports as dropped."""

from __future__ import annotations

from typing import Any

import pytest

from gateway.runs.dropped_feedback import find_dropped_feedback
from gateway.runs.interrupts import Interrupts
from gateway.turn import Answer, Notice

APPROVED = {"approved": {"type": "boolean"}}
APPROVAL = {"type": "object", "properties": APPROVED}
WITH_FEEDBACK = {"type": "object", "properties": APPROVED | {"feedback": {"type": "string"}}}
FORM = {"type": "object", "properties": {"name": {"type": "string"}}}


def find(schema: Any, payload: Any, status: Any = "resolved", used: tuple[str, ...] = ("b",)) -> list[Notice]:
    """Of the second of two answers; the first has no feedback."""
    interrupts = Interrupts()
    asked = [{"id": "a", "responseSchema": APPROVAL}, {"id": "b", "responseSchema": schema}]
    interrupts.add(asked, "r1", parked=True)
    answers = [Answer("a", "resolved", {"approved": True}), Answer("b", status, payload)]
    return find_dropped_feedback(interrupts, answers, used)


def test_feedback_for_an_approval_that_takes_none_is_reported_with_its_place() -> None:
    [notice] = find(APPROVAL, {"approved": False, "feedback": "Use tree."})
    assert (notice.code, notice.pointer) == ("FEEDBACK_DROPPED", "/resume/1/payload/feedback")


@pytest.mark.parametrize(
    ("schema", "payload"),
    [
        (WITH_FEEDBACK, {"approved": False, "feedback": "Use tree."}),
        (FORM, {"name": "x", "feedback": "Use tree."}),
        (None, {"feedback": "Use tree."}),
        (True, {"feedback": "Use tree."}),
        (APPROVAL, {"approved": False, "feedback": ""}),
        (APPROVAL, {"approved": False}),
        (APPROVAL, "no"),
    ],
)
def test_nothing_else_is_reported(schema: Any, payload: Any) -> None:
    assert find(schema, payload) == []


def test_an_answer_that_was_cancelled_or_was_given_before_is_not_reported() -> None:
    payload = {"approved": False, "feedback": "Use tree."}
    assert find(APPROVAL, payload, status="cancelled") == []
    assert find(APPROVAL, payload, used=("a",)) == []
