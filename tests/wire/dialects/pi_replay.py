"""Replays recordings of pi and omp, in rpc mode and in json mode; and helpers to write messages of rpc mode."""

from __future__ import annotations

from functools import cache
from typing import Any

import orjson

from gateway.wire.dialects import Dialect, Prompt, SessionStart
from gateway.wire.dialects.pi import OmpJson, OmpRpc, PiJson, PiRpc
from tests import replay
from tests.replay.harness import DialectReplay, PrintReplay, read_entries, read_lines

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
Json = dict[str, Any]

READY = {"type": "ready", "protocolVersion": 1, "supportedProtocolVersions": [1, 2]}


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
    messages = dialect.outbox
    dialect.outbox = []
    return [orjson.loads(message) for message in messages]


def line(message: Json) -> bytes:
    return orjson.dumps(message)


def reply(command: Json, data: Json | None = None, **fields: Any) -> bytes:
    response = {"id": command["id"], "type": "response", "command": command["type"], "success": True}
    return line({**response, **({"data": data} if data else {}), **fields})


class PiReplay(DialectReplay[Dialect]):
    """A recording of rpc mode, which has both directions. Where the dialect asks for the state, which the recorded
    client did not, an idle agent answers one message later, as a real one would."""

    resumes_at_first_answer = True
    is_started = True

    def __init__(self, name: str) -> None:
        self._state_replies: list[bytes] = []
        super().__init__(opened(dialect_of(name)), read_entries(TRANSCRIPTS / f"{name}.jsonl"))
        self.play()
        self._deliver_states()
        self.runs.close()

    def translate(self, line: Json) -> bytes:
        if line.get("type") == "response" and line.get("id") in self.ids:
            line = {**line, "id": self.ids[line["id"]]}
        return orjson.dumps(line)

    def read(self, batch: list[bytes]) -> None:
        due = self._state_replies
        self._state_replies = []
        super().read(batch)
        for message in due:
            self._read_state(message)

    def _deliver_states(self) -> None:
        for message in self._state_replies:
            self._read_state(message)

    def _read_state(self, message: bytes) -> None:
        self.messages.append(message)
        super().read([message])

    def collect_sent(self) -> list[Json]:
        messages = super().collect_sent()
        self._state_replies += [reply(message, STATE) for message in messages if message["type"] == "get_state"]
        self.sent = [message for message in self.sent if message["type"] != "get_state"]
        return messages

    def repeat(self, line: Json) -> None:
        before = len(self.sent)
        match line:
            case {"type": "prompt", "message": str(message)} if not self.dialect.is_busy:
                self.prompt(Prompt([{"type": "text", "text": message}], "t1"))
            case {"type": "abort"}:
                self.runs.start()
                assert self.dialect.cancel()
            case {"type": "extension_ui_response"}:
                self._answer(line)
            case _:
                return
        self.collect_sent()
        for command in self.sent[before:]:
            if command["type"] == line["type"] and "id" in line:
                self.ids[line["id"]] = command["id"]

    def _answer(self, line: Json) -> None:
        """The dialect sends the same as the recorded client."""
        before = len(self.sent)
        match line:
            case {"confirmed": bool(is_confirmed)}:
                payload: Any = {"approved": is_confirmed}
            case {"value": str(value)}:
                payload = _payload(value)
            case _:
                payload = None
        self.answer(next(iter(self.interrupts)), payload)
        if not self.dialect.is_cancelled:
            assert self.sent[before:] == [line]


def _payload(value: str) -> Json:
    """The gate's answers are JSON, omp's are options."""
    parsed: Json = orjson.loads(value) if value.startswith("{") else {"optionId": value}
    return parsed


EXITS = {
    "pi/json-no-credentials": (1, "No API key found for anthropic.\n\nUse /login or set a key in the environment."),
    "pi-1.5/json-no-credentials": (1, "No API key found for anthropic."),
    "pi/json-cancel-tool": (None, ""),
    "omp/json-cancel": (130, ""),
    "omp/json-cancel-tool": (130, ""),
    "omp/json-error-retry": (-9, ""),
}
"""How the process ended, where that was not with 0."""


def lines(name: str) -> tuple[bytes, ...]:
    return read_lines(TRANSCRIPTS / f"{name}.jsonl")


@cache
def replay_case(name: str) -> DialectReplay[Dialect]:
    """The whole recording, replayed once per worker."""
    if "/rpc-" in name:
        return PiReplay(name)
    exit_code, stderr = EXITS.get(name, (0, ""))
    return PrintReplay(dialect_of(name), lines(name), exit_code=exit_code, stderr=stderr)


def recording(name: str) -> tuple[Dialect, list[bytes]]:
    """A dialect in its first turn, and all messages of the agent."""
    messages = list(replay_case(name).messages)
    dialect = opened(dialect_of(name)) if "/rpc-" in name else dialect_of(name)
    if "/rpc-" not in name:
        dialect.start_session(SessionStart("/workspace"))
    dialect.prompt(Prompt([{"type": "text", "text": "hello"}], "t1"))
    return dialect, messages
