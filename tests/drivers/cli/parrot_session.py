"""The parrot's dialect and definitions, and helpers for tests of its driver."""

from __future__ import annotations

import sys
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import anyio
import orjson

from gateway.catalog.definition import AgentDefinition
from gateway.drivers import make_driver
from gateway.drivers.base import Driver, LiveTurn, Opening, Session
from gateway.errors import AgentFault
from gateway.events import (
    ClientToolCall,
    ClientToolsCalled,
    Event,
    Interrupt,
    InterruptRequested,
    TextMessageContent,
    ToolCallArgs,
    ToolCallEnd,
    ToolCallStart,
    TurnEnded,
    TurnFailed,
)
from gateway.turn import Answer, Options, Turn
from gateway.wire.dialects import ActionResult, Dialect, Prompt, SessionStart
from gateway.wire.dialects.base import NO_PARAMS, parse_message
from tests.support.project import ROOT

LIMIT = 20.0


class ParrotDialect(Dialect):
    name = "parrot"
    actions = frozenset(("fork", "models"))
    can_call_client_tools = True

    def start_session(self, start_session: SessionStart) -> None:
        super().start_session(start_session)
        self.is_ready = False
        self._post({"begin": start_session.session_id})

    def prompt(self, prompt: Prompt) -> None:
        self.start_turn(prompt)
        self._post({"prompt": prompt.text})

    def read(self, messages: Sequence[bytes]) -> list[Event]:
        events: list[Event] = []
        for message in messages:
            events += self._read_message(parse_message(message))
        return events

    def _read_message(self, message: Any) -> list[Event]:
        match message:
            case {"session": str(session)}:
                self.session_id, self.is_ready = session, True
                self.handshake_layer = {"identity.version": "1.0-parrot"}
            case {"refused": str(code)}:
                self.failure = AgentFault("the parrot refuses", code=code)
            case {"text": str(text)}:
                return [TextMessageContent(text)]
            case {"ask": str(question)}:
                return [InterruptRequested((Interrupt(question, "confirmation"),))]
            case {"call": str(call)}:
                name = self.qualify_id(call)
                start = ToolCallStart(name, "show_card")
                return [
                    start,
                    ToolCallArgs(name, "{}"),
                    ToolCallEnd(name),
                    ClientToolsCalled((ClientToolCall(name, "show_card"),)),
                ]
            case {"broke": str(code)}:
                self.is_busy = False
                return [TurnFailed("the parrot broke", code)]
            case {"end": str(reason)}:
                return self.end_turn(reason)
            case {"ticket": str(ticket), "value": value}:
                self.action_results[ticket] = ActionResult(value)
            case {"status": _}:
                pass
            case other:
                return [self.to_raw(other)]
        return []

    def answer(self, question_id: str, answer: Answer) -> None:
        self._post({"answer": [answer.status, answer.payload]})

    def cancel(self) -> bool:
        super().cancel()
        if self.session_start.params.get("own_cancel", True):
            self._post({"stop": True})
            return True
        return False

    def start_action(self, action: str, params: Mapping[str, Any] = NO_PARAMS) -> str:
        self._post({"do": action, "ticket": f"{self.session_start.tag}-t"})
        return f"{self.session_start.tag}-t"

    @classmethod
    def list_modes(cls, params: Mapping[str, Any]) -> list[dict[str, Any]]:
        return [{"id": mode} for mode in params.get("modes", ())]

    @classmethod
    def read_owner(cls, message: bytes) -> str | None:
        payload = parse_message(message)
        return payload.get("who") or payload.get("id") if isinstance(payload, dict) else None

    def _post(self, message: dict[str, Any]) -> None:
        message = {"who": self.session_start.tag, **message}
        if self.session_start.params.get("over_http"):
            message = {"id": self.session_start.tag, "method": "POST", "path": "/call", "body": message}
        self.outbox.append(orjson.dumps(message))


class PlainDialect(Dialect):
    """All output is the answer."""

    name = "parrot-plain"

    def prompt(self, prompt: Prompt) -> None:
        self.start_turn(prompt)
        self.outbox.append(prompt.text.encode())

    def read(self, messages: Sequence[bytes]) -> list[Event]:
        return [TextMessageContent(message.decode()) for message in messages]

    def on_process_exit(self, exit_code: int | None, stderr: str) -> list[Event]:
        return self.end_turn() if self.is_busy and exit_code == 0 else super().on_process_exit(exit_code, stderr)


def definition(transport: str = "lines", process: str = "session", *flags: str, **cli: Any) -> AgentDefinition:
    run = [sys.executable, "-m", "tests.fakes.parrot", transport, *flags]
    net: dict[str, Any] = {}
    if transport in ("http", "websocket"):
        run[4:4] = ["{port}"]
        scheme = "http" if transport == "http" else "ws"
        net = {
            "url": f"{scheme}://parrot:{{token}}@127.0.0.1:{{port}}"
            if transport == "http"
            else "ws://127.0.0.1:{port}/",
            "health": "http://127.0.0.1:{port}/health",
            "events": "/events?directory={cwd}" if transport == "http" else None,
            "params": {"over_http": True} if transport == "http" else {},
        }
    dialect = "parrot-plain" if transport == "whole" else "parrot"
    flag_table = {"model": ["--model", "{model}"], "resume": ["--resume", "{session}"]}
    section = {
        "dialect": dialect,
        "process": process,
        "transport": transport if net else f"stdio-{transport}",
        "flags": flag_table,
        **net,
        **cli,
    }
    return AgentDefinition.model_validate(
        {
            "id": "parrot",
            "driver": "cli",
            "identity": {"name": "Parrot"},
            "command": {"run": run, "env": {"PYTHONPATH": str(ROOT)}},
            "cli": section,
            "capabilities": {"multimodal": {"input": {"image": True}}},
            "source": Path("parrot.toml"),
        }
    )


@asynccontextmanager
async def driving(*definitions: AgentDefinition) -> AsyncIterator[Driver]:
    """The driver, closed at the end."""
    with anyio.fail_after(60):
        async with anyio.create_task_group() as tasks:
            driver = make_driver(definitions[0], tasks)
            try:
                yield driver
            finally:
                await driver.aclose()
                tasks.cancel_scope.cancel()


def opening(cwd: Path, **fields: Any) -> Opening:
    return Opening("thread", cwd=cwd, **fields)


_count = iter(range(1, 1_000_000))


def turn(text: str, *before: str, **options: Any) -> Turn:
    messages = [{"id": f"m{next(_count)}", "role": "user", "content": content} for content in (*before, text)]
    return Turn("thread", "run", messages=messages, options=Options(**options))


async def to_end(live: LiveTurn) -> list[Event]:
    events: list[Event] = []
    with anyio.fail_after(LIMIT):
        while batch := await live.next():
            events += batch
    await live.aclose()
    return events


async def until(live: LiveTurn, kind: type[Event]) -> list[Event]:
    events: list[Event] = []
    with anyio.fail_after(LIMIT):
        while not any(isinstance(event, kind) for event in events):
            events += await live.next()
    return events


async def say(session: Session, text: str, *before: str, **options: Any) -> str:
    """A whole turn; its text."""
    events = await to_end(await session.start(turn(text, *before, **options)))
    assert isinstance(events[-1], TurnEnded), events
    return "".join(event.text for event in events if isinstance(event, TextMessageContent))


async def ask(session: Session, text: str, **options: Any) -> dict[str, Any]:
    """The parrot's report of itself."""
    report: dict[str, Any] = orjson.loads(await say(session, text, **options))
    return report
