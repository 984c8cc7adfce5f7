"""Scenes that wait for the user: the run ends with an interrupt, and the same function goes on with the answer.

It takes one line, `answers = yield InterruptRequested((Interrupt(…), …))`, which gives interrupt id → `Answer`. The
gateway has checked the payload of a resolved answer against the interrupt's schema; a cancelled one has no payload.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Mapping
from typing import Any, TypeAlias

from gateway import Answer, Event, Interrupt, InterruptRequested, ToolCallResult, Turn

from .streams import call, say

Answers: TypeAlias = Mapping[str, Answer]

APPROVAL: dict[str, Any] = {
    "type": "object",
    "properties": {
        "approved": {"type": "boolean"},
        "editedArgs": {"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"]},
    },
    "required": ["approved"],
}
BOOKING: dict[str, Any] = {
    "type": "object",
    "properties": {
        "name": {"type": "string"},
        "email": {"type": "string"},
        "seats": {"type": "integer", "minimum": 1},
    },
    "required": ["name", "seats"],
}

APPROVED = Answer("", "resolved", {"approved": True})
"""The answer to every interrupt in the mode `auto`."""


async def approve(turn: Turn) -> AsyncGenerator[Event, Answers]:
    id_, auto = f"{turn.run_id}-delete", turn.options.mode == "auto"
    policy = "In this mode I need not ask." if auto else "I will ask first."
    async for event in say(f"I would like to delete a file. {policy}"):
        yield event
    async for event in call(id_, "delete_file", {"path": "notes.txt"}):
        yield event
    interrupt = delete_interrupt(id_, "notes.txt")
    answers = {interrupt.id: APPROVED} if auto else (yield InterruptRequested((interrupt,)))
    outcome = describe_outcome(answers[interrupt.id], "notes.txt")
    yield ToolCallResult(id_, outcome)
    async for event in say(f"{outcome} Thank you for looking."):
        yield event


async def two_approvals(turn: Turn) -> AsyncGenerator[Event, Answers]:
    paths = {f"{turn.run_id}-delete-{number}": path for number, path in enumerate(("notes.txt", "draft.txt"), 1)}
    auto = turn.options.mode == "auto"
    policy = "In this mode I need not ask." if auto else "You decide on each, and I wait for both answers."
    async for event in say(f"Two files this time. {policy}"):
        yield event
    for id_, path in paths.items():
        async for event in call(id_, "delete_file", {"path": path}):
            yield event
    interrupts = {id_: delete_interrupt(id_, path) for id_, path in paths.items()}
    if auto:
        answers: Answers = {interrupt.id: APPROVED for interrupt in interrupts.values()}
    else:
        answers = yield InterruptRequested(tuple(interrupts.values()))
    outcomes = {id_: describe_outcome(answers[interrupt.id], paths[id_]) for id_, interrupt in interrupts.items()}
    for id_, outcome in outcomes.items():
        yield ToolCallResult(id_, outcome)
    async for event in say(" ".join(outcomes.values())):
        yield event


async def form(turn: Turn) -> AsyncGenerator[Event, Answers]:
    async for event in say("I can book a table for you. Please fill in the form."):
        yield event
    id_ = f"ask-{turn.run_id}-booking"
    answers = yield InterruptRequested((Interrupt(id_, "input_required", "Who is coming?", response_schema=BOOKING),))
    async for event in say(describe_booking(answers[id_])):
        yield event


def delete_interrupt(call_id: str, path: str) -> Interrupt:
    """`call_id` contains the run's id, so the interrupt's id is unique in the thread."""
    message = f"May I delete {path}? You may also name another file."
    return Interrupt(f"ask-{call_id}", "tool_call", message, tool_call_id=call_id, response_schema=APPROVAL)


def describe_outcome(answer: Answer, path: str) -> str:
    """The result of the call. Edited arguments replace the call's own."""
    if answer.status == "cancelled":
        return f"{path} stays: the question was cancelled."
    if not answer.payload["approved"]:
        return f"{path} stays: you refused."
    path = answer.payload.get("editedArgs", {"path": path})["path"]
    return f"{path} is deleted (not really: this is a demo)."


def describe_booking(answer: Answer) -> str:
    if answer.status == "cancelled":
        return "No table, then: the form was cancelled. Perhaps another evening."
    booking = answer.payload
    # A client may write 2 as 2.0: in JSON Schema that is an integer too.
    contact = f", and I would write to {booking['email']}" if booking.get("email") else ""
    return f"A table for {int(booking['seats'])} in the name of {booking['name']}{contact}."
