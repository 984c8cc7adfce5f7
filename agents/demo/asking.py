"""Scenes that stop and ask: the run ends with an interrupt, and the same function goes on when the answer is here.

Asking is one line, `answers = yield Asked((Question(…), …))`: question id → `Answer`. What a resolved answer carries
has been held against the question's schema by then; a cancelled one carries nothing.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Mapping
from typing import Any, TypeAlias

from gateway.events import Event, Interrupt, InterruptRequested, ToolCallResult
from gateway.turn import Answer, Turn

from .voice import call, say

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

AGREED = Answer("", "resolved", {"approved": True})
"""What the mode `auto` answers to every question."""


async def approve(turn: Turn) -> AsyncGenerator[Event, Answers]:
    id_, auto = f"{turn.run_id}-delete", turn.options.mode == "auto"
    ask = "In this mode I need not ask." if auto else "I had better ask."
    async for event in say(f"There is a file I would like to be rid of. {ask}"):
        yield event
    async for event in call(id_, "delete_file", {"path": "notes.txt"}):
        yield event
    question = may_i(id_, "notes.txt")
    answers = {question.id: AGREED} if auto else (yield InterruptRequested((question,)))
    outcome = verdict(answers[question.id], "notes.txt")
    yield ToolCallResult(id_, outcome)
    async for event in say(f"{outcome} Thank you for looking."):
        yield event


async def two_approvals(turn: Turn) -> AsyncGenerator[Event, Answers]:
    paths = {f"{turn.run_id}-delete-{number}": path for number, path in enumerate(("notes.txt", "draft.txt"), 1)}
    auto = turn.options.mode == "auto"
    ask = "In this mode I wait for nobody." if auto else "You decide on each, and I wait for both."
    async for event in say(f"Two files this time. {ask}"):
        yield event
    for id_, path in paths.items():
        async for event in call(id_, "delete_file", {"path": path}):
            yield event
    questions = {id_: may_i(id_, path) for id_, path in paths.items()}
    asked = tuple(questions.values())
    answers = {question.id: AGREED for question in asked} if auto else (yield InterruptRequested(asked))
    outcomes = {id_: verdict(answers[question.id], paths[id_]) for id_, question in questions.items()}
    for id_, outcome in outcomes.items():
        yield ToolCallResult(id_, outcome)
    async for event in say(" ".join(outcomes.values())):
        yield event


async def form(turn: Turn) -> AsyncGenerator[Event, Answers]:
    async for event in say("I can keep you a table, if you fill in a form."):
        yield event
    id_ = f"ask-{turn.run_id}-booking"
    answers = yield InterruptRequested((Interrupt(id_, "input_required", "Who is coming?", response_schema=BOOKING),))
    async for event in say(booked(answers[id_])):
        yield event


def may_i(call_id: str, path: str) -> Interrupt:
    """`call_id` has the run's id in it, so the question's is unique in the thread too."""
    message = f"May I delete {path}? You may also name another file."
    return Interrupt(f"ask-{call_id}", "tool_call", message, tool_call_id=call_id, response_schema=APPROVAL)


def verdict(answer: Answer, path: str) -> str:
    """What became of the call. Edited arguments replace the call's own."""
    if answer.status == "cancelled":
        return f"{path} stays: the question was cancelled."
    if not answer.payload["approved"]:
        return f"{path} stays: you refused."
    path = answer.payload.get("editedArgs", {"path": path})["path"]
    return f"{path} is deleted (not really: this is a demo)."


def booked(answer: Answer) -> str:
    if answer.status == "cancelled":
        return "No table, then: the form was cancelled. Perhaps another evening."
    guest = answer.payload
    # A client may write 2 as 2.0: that is an integer too in JSON Schema.
    reach = f", and I would write to {guest['email']}" if guest.get("email") else ""
    return f"A table for {int(guest['seats'])} in the name of {guest['name']}{reach}."
