"""Agents that ask. What becomes of one that no client reads any more, it writes into a file."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Mapping
from pathlib import Path
from typing import Any

from ag_ui import core
from ag_ui.core import EventType, RunFinishedEvent, RunFinishedInterruptOutcome

from gateway.events import (
    Interrupt,
    InterruptRequested,
    SubagentFinished,
    SubagentStarted,
    TextMessageContent,
    ToolCallEnd,
    ToolCallResult,
    ToolCallStart,
)
from gateway.turn import Answer, Turn

BOOLEAN = {"type": "boolean"}
SOON = 0.2


def _write(turn: Turn, text: str) -> None:
    file = Path(turn.forwarded_props["file"])
    file.write_text(file.read_text() + text + "\n" if file.exists() else text + "\n")


def _describe(answers: Mapping[str, Answer]) -> str:
    return ", ".join(f"{name.rpartition('-')[2]}={a.status}:{a.payload}" for name, a in sorted(answers.items()))


async def asks(turn: Turn) -> AsyncGenerator[Any, Any]:
    yield "May I? "
    answers = yield InterruptRequested((Interrupt(f"{turn.run_id}-a", "confirmation", response_schema=BOOLEAN),))
    yield _describe(answers)


async def asks_twice(turn: Turn) -> AsyncGenerator[Any, Any]:
    for name in ("a", "b"):
        answers = yield InterruptRequested((Interrupt(f"{turn.run_id}-{name}", "confirmation"),))
        yield _describe(answers)


async def asks_two_at_once(turn: Turn) -> AsyncGenerator[Any, Any]:
    answers = yield InterruptRequested(
        (Interrupt(f"{turn.run_id}-a", "confirmation"), Interrupt(f"{turn.run_id}-b", "confirmation"))
    )
    yield _describe(answers)


async def asks_for_a_new_turn(turn: Turn) -> AsyncIterator[Any]:
    if turn.resume:
        yield "; ".join(f"{answer.interrupt_id}={answer.status}:{answer.payload}" for answer in turn.resume)
        return
    yield "I will not wait. "
    interrupt = core.Interrupt(id="stateless", reason="confirmation", response_schema=BOOLEAN)
    yield RunFinishedEvent(
        type=EventType.RUN_FINISHED,
        thread_id="any",
        run_id="any",
        outcome=RunFinishedInterruptOutcome(type="interrupt", interrupts=[interrupt]),
    )


async def asks_for_a_moment(turn: Turn) -> AsyncGenerator[Any, Any]:
    answers = yield InterruptRequested(
        (
            Interrupt(f"{turn.run_id}-a", "confirmation", expires_in=SOON),
            Interrupt(f"{turn.run_id}-b", "confirmation", expires_in=3600),
        )
    )
    await asyncio.sleep(0)  # it may take its time: it was not cancelled
    _write(turn, _describe(answers))
    yield "to no client"


async def waits_to_be_stopped(turn: Turn) -> AsyncGenerator[Any, Any]:
    try:
        answers = yield InterruptRequested((Interrupt(f"{turn.run_id}-a", "confirmation"),))
        _write(turn, _describe(answers))
        await asyncio.sleep(3600)
    finally:
        _write(turn, "stopped")


async def never_answers(turn: Turn) -> AsyncIterator[Any]:
    yield "one moment"
    await asyncio.sleep(3600)


async def delegates(turn: Turn) -> AsyncGenerator[Any, Any]:
    yield SubagentStarted("scout", "Scout")
    yield TextMessageContent("I am the scout. ", subagent="scout")
    yield ToolCallStart("call", "swim", subagent="scout")
    yield ToolCallEnd("call")
    question = Interrupt(f"{turn.run_id}-a", "tool_call", tool_call_id="call", subagent="scout")
    yield (yield InterruptRequested((question,))) and ToolCallResult("call", "swam")
    yield TextMessageContent("Back again.", subagent="scout")
    yield SubagentFinished("scout")


async def asks_badly(turn: Turn) -> AsyncGenerator[Any, Any]:
    yield "Well? "
    yield InterruptRequested((Interrupt("q", "confirmation", response_schema="none"),))  # type: ignore[arg-type] # that is the fault


async def asks_with_a_broken_schema(turn: Turn) -> AsyncGenerator[Any, Any]:
    answers = yield InterruptRequested((Interrupt(f"{turn.run_id}-a", "confirmation", response_schema={"type": 5}),))
    yield _describe(answers)
