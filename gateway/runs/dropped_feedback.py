"""The text that a client sends with an answer to an approval, where the agent takes none.

In: a thread's interrupts and a run's answers. Out: one notice for each text that does not reach the agent. Pure.
"""

from __future__ import annotations

from collections.abc import Container, Iterable
from typing import Any

from gateway.runs.interrupts import Interrupts
from gateway.turn import FEEDBACK_DROPPED, Answer, Notice

KEY = "feedback"
MESSAGE = "the agent takes no text with an answer to an approval: the feedback was dropped; send it as a message"


def find_dropped_feedback(interrupts: Interrupts, resume: Iterable[Answer], used_ids: Container[str]) -> list[Notice]:
    """`used_ids`: the interrupts whose answers the agent gets. The others were answered before."""
    return [
        Notice(FEEDBACK_DROPPED, MESSAGE, f"/resume/{index}/payload/{KEY}", {"capability": f"humanInTheLoop.{KEY}"})
        for index, answer in enumerate(resume)
        if answer.interrupt_id in used_ids and _has_feedback(answer) and _takes_none(interrupts, answer.interrupt_id)
    ]


def _has_feedback(answer: Answer) -> bool:
    payload = answer.payload
    return answer.status == "resolved" and isinstance(payload, dict) and bool(payload.get(KEY))


def _takes_none(interrupts: Interrupts, interrupt_id: str) -> bool:
    """The interrupt is an approval of the gateway's making, without such a text. A form is the agent's own."""
    entry = interrupts.find(interrupt_id)
    schema: Any = None if entry is None else entry.interrupt.get("responseSchema")
    properties = schema.get("properties") if isinstance(schema, dict) else None
    return isinstance(properties, dict) and "approved" in properties and KEY not in properties
