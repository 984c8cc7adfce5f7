"""Agents that call tools of the client's own, and wait for what they give."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Iterator, Mapping
from pathlib import Path
from typing import Any

from gateway.events import (
    ClientToolCall,
    ClientToolsCalled,
    Event,
    SubagentFinished,
    SubagentStarted,
    ToolCallArgs,
    ToolCallEnd,
    ToolCallResult,
    ToolCallStart,
)
from gateway.turn import Answer, Turn

SOON = 0.2


def _call(name: str, tool: str = "show_card", subagent: str | None = None) -> Iterator[Event]:
    yield ToolCallStart(name, tool, subagent=subagent)
    yield ToolCallArgs(name, "{}")
    yield ToolCallEnd(name)


def _describe(answers: Mapping[str, Answer]) -> str:
    contents = {name.rpartition("-")[2]: (a.payload or {}).get("content", a.status) for name, a in answers.items()}
    return ", ".join(f"{name}={line}" for name, line in sorted(contents.items()))


def _write(turn: Turn, line: str) -> None:
    Path(turn.forwarded_props["file"]).write_text(line)


async def calls(turn: Turn) -> AsyncGenerator[Any, Any]:
    if not turn.tools:
        yield f"you said {turn.text}"
        return
    name = f"{turn.run_id}-a"
    yield "Look: "
    for event in _call(name):
        yield event
    answers = yield ClientToolsCalled((ClientToolCall(name, "show_card"),))
    yield ToolCallResult(name, "as the agent names it")
    yield _describe(answers)


async def calls_two(turn: Turn) -> AsyncGenerator[Any, Any]:
    if turn.text == "never mind":
        yield "all right"
        return
    names = [f"{turn.run_id}-a", f"{turn.run_id}-b"]
    for name in names:
        for event in _call(name):
            yield event
    answers = yield ClientToolsCalled(tuple(ClientToolCall(name, "show_card") for name in names))
    yield _describe(answers)


async def calls_twice(turn: Turn) -> AsyncGenerator[Any, Any]:
    """The second call was started with the first."""
    names = [f"{turn.run_id}-a", f"{turn.run_id}-b"]
    for name in names:
        for event in _call(name):
            yield event
    for name in names:
        answers = yield ClientToolsCalled((ClientToolCall(name, "show_card"),))
        yield f"{_describe(answers)}. "


async def calls_from_a_subagent(turn: Turn) -> AsyncGenerator[Any, Any]:
    name = f"{turn.run_id}-a"
    yield SubagentStarted("scout", "scout")
    for event in _call(name, subagent="scout"):
        yield event
    yield ClientToolsCalled((ClientToolCall(name, "show_card", "scout"),))
    yield SubagentFinished("scout")


async def calls_for_a_moment(turn: Turn) -> AsyncGenerator[Any, Any]:
    """What becomes of it, it writes into a file, because no client reads it any more."""
    for event in _call(f"{turn.run_id}-a"):
        yield event
    answers = yield ClientToolsCalled((ClientToolCall(f"{turn.run_id}-a", "show_card", None, SOON),))
    _write(turn, _describe(answers))


async def calls_nothing(turn: Turn) -> AsyncGenerator[Any, Any]:
    yield ClientToolsCalled(())
