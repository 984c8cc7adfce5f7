"""Replays recordings of pi and omp through their dialects, as the driver would.

A recording of rpc mode has both directions. What the client sent is sent by the dialect itself (the prompt, answers,
abort), and the agent's responses get the ids that the dialect chose. Where a dialect asks for the state, which the
recorder did not, an idle agent answers one line later, as a real one would.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import orjson

from gateway.agui.outbound import Outbound
from gateway.events import Event, InterruptRequested, TurnEnded, TurnFailed, Wire
from gateway.turn import Answer
from gateway.wire.dialects import Dialect, Prompt, SessionStart
from gateway.wire.dialects.pi import OmpJson, OmpRpc, PiJson, PiRpc
from tests import replay
from tests.wire.acp.replay import interrupt

TRANSCRIPTS = replay.TRANSCRIPTS
AGENTS = ("pi", "pi-1.5", "omp")
NAMES = sorted(f"{agent}/{path.stem}" for agent in AGENTS for path in (TRANSCRIPTS / agent).glob("*.jsonl"))
STATE = {
    "sessionId": "01a1e206-afc8-73d8-9dd1-8cbc754ea652",
    "model": {"id": "fake-model", "provider": "lab"},
    "thinkingLevel": "high",
    "isStreaming": False,
    "isCompacting": False,
}
READY = {"type": "ready", "protocolVersion": 1, "supportedProtocolVersions": [1, 2]}

Json = dict[str, Any]


def dialect_of(name: str) -> Dialect:
    kinds: dict[tuple[bool, bool], type[Dialect]] = {
        (False, False): PiJson,
        (False, True): PiRpc,
        (True, False): OmpJson,
        (True, True): OmpRpc,
    }
    return kinds[name.startswith("omp/"), "/rpc-" in name]()


def opened(dialect: Dialect, start: SessionStart | None = None, **state: Any) -> Dialect:
    """Ready for a prompt."""
    dialect.start_session(start or SessionStart("/workspace"))
    if isinstance(dialect, OmpRpc):
        dialect.read([line(READY)])
    for command in sent(dialect):
        dialect.read([reply(command, {**STATE, **state} if command["type"] == "get_state" else {})])
    assert dialect.is_ready
    return dialect


def sent(dialect: Dialect) -> list[Json]:
    """What the dialect has for the agent; taken, as the driver takes it."""
    messages, dialect.outbox = dialect.outbox, []
    return [orjson.loads(message) for message in messages]


def line(message: Json) -> bytes:
    return orjson.dumps(message)


def reply(command: Json, data: Json | None = None, **fields: Any) -> bytes:
    line_message = {"id": command["id"], "type": "response", "command": command["type"], "success": True}
    return line({**line_message, **({"data": data} if data else {}), **fields})


class Play:
    """One recording, played once."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.dialect = opened(dialect_of(name)) if "/rpc-" in name else dialect_of(name)
        self.events: list[Event] = []
        self.messages: list[bytes] = []
        """All lines of the agent, with the dialect's request ids."""
        self.commands: list[Json] = []
        """What the dialect sent in the turn, but for questions about the state."""
        self._ids: dict[str, str] = {}
        self._late: list[bytes] = []
        self._interrupt_ids: list[str] = []
        if "/rpc-" in name:
            self._rpc()
        else:
            self._json()

    def _json(self) -> None:
        self.dialect.start_session(SessionStart("/workspace"))
        self.dialect.prompt(Prompt([{"type": "text", "text": "hello"}], "t1"))
        assert self.dialect.outbox == [b"hello"]
        for raw in lines(self.name):
            self._read(raw)
        if self.dialect.is_busy:
            self.events += self.dialect.on_process_exit(*EXITS.get(self.name, (0, "")))

    def _rpc(self) -> None:
        for entry in map(orjson.loads, lines(self.name)):
            if entry["dir"] == "in":
                self._client(entry["line"])
            else:
                self._agent(entry["line"])
        for late in self._late:
            self._read(late)

    def _client(self, line_message: Json) -> None:
        match line_message:
            case {"type": "prompt", "message": str(message)} if not self.dialect.is_busy:
                self.dialect.prompt(Prompt([{"type": "text", "text": message}], "t1"))
            case {"type": "abort"}:
                assert self.dialect.cancel()
            case {"type": "extension_ui_response"}:
                self._answer(line_message)
            case _:
                return
        for command in self._sent():
            if command["type"] == line_message["type"] and "id" in line_message:
                self._ids[line_message["id"]] = command["id"]

    def _answer(self, line_message: Json) -> None:
        """The dialect sends the same as the recorded client."""
        question_id = self._interrupt_ids.pop(0)
        match line_message:
            case {"confirmed": bool(yes)}:
                answer = Answer(question_id, "resolved", {"approved": yes})
            case {"value": str(value)}:
                answer = Answer(question_id, "resolved", _payload(value))
            case _:
                answer = Answer(question_id, "cancelled")
        before = len(self.commands)
        self.dialect.answer(question_id, answer)
        self._sent()
        if not self.dialect.is_cancelled:
            assert self.commands[before:] == [line_message]

    def _agent(self, line_message: Json) -> None:
        if line_message.get("type") == "response" and line_message.get("id") in self._ids:
            line_message = {**line_message, "id": self._ids[line_message["id"]]}
        late, self._late = self._late, []
        self._read(line(line_message))
        for message in late:
            self._read(message)

    def _read(self, message: bytes) -> None:
        self.messages.append(message)
        events = self.dialect.read([message])
        self.events += events
        self._interrupt_ids += [
            question.id for event in events if isinstance(event, InterruptRequested) for question in event.interrupts
        ]
        self._sent()

    def _sent(self) -> list[Json]:
        found = sent(self.dialect) if "/rpc-" in self.name else []
        for command in found:
            if command["type"] == "get_state":
                self._late.append(reply(command, STATE))
            else:
                self.commands.append(command)
        return found


def _payload(value: str) -> Json:
    """The gate's answers are JSON, omp's are options."""
    line_message: Json = orjson.loads(value) if value.startswith("{") else {"optionId": value}
    return line_message


def runs_of(events: list[Event]) -> list[list[Wire]]:
    """What a client sees: a question ends a run, and its answer begins the next."""
    runs: list[list[Wire]] = []
    out = Outbound("thread", "run1", "r1", merging=False)
    stream = out.started()
    for event in events:
        stream += out.feed([event])
        if isinstance(event, InterruptRequested):
            suspended = out.suspended()
            runs.append(stream + out.finished(out.check_interrupts([interrupt(item) for item in out.open_interrupts])))
            out = Outbound("thread", f"run{len(runs) + 1}", f"r{len(runs) + 1}", merging=False)
            stream = out.started(suspended=suspended)
    match out.ended:
        case TurnFailed(message, code):
            stream += out.failed(message, code)
        case TurnEnded(stop_reason="cancelled"):
            stream += out.finished(cancelled=True)
        case _:
            stream += out.finished()
    return [*runs, stream]


EXITS = {
    "pi/json-no-credentials": (1, "No API key found for anthropic.\n\nUse /login or set a key in the environment."),
    "pi-1.5/json-no-credentials": (1, "No API key found for anthropic."),
    "pi/json-cancel-tool": (None, ""),
    "omp/json-cancel": (130, ""),
    "omp/json-cancel-tool": (130, ""),
    "omp/json-error-retry": (-9, ""),
}
"""How the process ended, where that was not with 0."""


@cache
def lines(name: str) -> tuple[bytes, ...]:
    # By bytes: some texts hold characters that only Python takes for the end of a line.
    return tuple(raw for raw in (TRANSCRIPTS / f"{name}.jsonl").read_bytes().split(b"\n") if raw)


@cache
def played(name: str) -> Play:
    """Once per worker."""
    return Play(name)


def recording(name: str) -> tuple[Dialect, list[bytes]]:
    """A dialect with the turn begun, and all lines of the agent in it."""
    messages = list(played(name).messages)
    dialect = opened(dialect_of(name)) if "/rpc-" in name else dialect_of(name)
    if "/rpc-" not in name:
        dialect.start_session(SessionStart("/workspace"))
    dialect.prompt(Prompt([{"type": "text", "text": "hello"}], "t1"))
    return dialect, messages
