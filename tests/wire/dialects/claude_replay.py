"""Plays recordings of Claude Code through its dialects and `Outbound`, as a driver and runs do.

A recording of both directions has what its client sent: the dialect does the same (begins, prompts, answers, cancels,
sets), and the agent's lines get the ids that the dialect chose. What the recorded client asked for and no dialect does
is left out with its answer. A question ends a run, its answer begins the next, and what comes between turns opens it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cache
from typing import Any

import orjson

from gateway.agui.outbound import Outbound, Suspended
from gateway.events import Event, Interrupt, InterruptRequested, TurnEnded, TurnFailed, Wire
from gateway.turn import Answer
from gateway.wire.dialects import Dialect, Prompt, SessionStart
from gateway.wire.dialects.claude import ClaudeDialect, ClaudePrint
from gateway.wire.lines import Lines
from tests import replay
from tests.wire.acp.replay import interrupt

TRANSCRIPTS = replay.TRANSCRIPTS / "claude"
NAMES = sorted(path.stem for path in TRANSCRIPTS.glob("*.jsonl"))
EXITS: dict[str, tuple[int, str]] = {
    "cancel-sigterm": (143, ""),
    "resume-unknown": (1, "No conversation found with session ID: 11111111-2222-3333-4444-555555555555"),
}
"""How the process ended, where that says more than its lines."""
SETTING = {
    "set_permission_mode": ("set_mode", "mode"),
    "set_model": ("set_model", "model"),
    "list_models": ("models", ""),
}

Json = dict[str, Any]
Cut = Callable[[bytes], Iterator[bytes]]


def whole(data: bytes) -> Iterator[bytes]:
    yield data


@cache
def lines(name: str) -> tuple[bytes, ...]:
    # By bytes: some texts hold characters that only Python takes for the end of a line.
    return tuple(line for line in (TRANSCRIPTS / f"{name}.jsonl").read_bytes().split(b"\n") if line)


def text(content: str) -> list[Json]:
    return [{"type": "text", "text": content}]


def sent(dialect: Dialect) -> list[Json]:
    """What the dialect has for the agent; taken, as the driver takes it."""
    messages, dialect.outbox = dialect.outbox, []
    return [orjson.loads(message) for message in messages]


class Runs:
    """The runs that a client sees."""

    def __init__(self) -> None:
        self.streams: list[list[Wire]] = []
        self._late: list[Event] = []
        self._out: Outbound | None = None
        self._suspended: Suspended | None = None

    def start(self) -> None:
        if self._out is not None:
            return
        number = len(self.streams) + 1
        self._out = Outbound("thread", f"run{number}", f"r{number}", merging=False)
        late, self._late = self._late, []
        self.streams.append(self._out.started(suspended=self._suspended) + self._out.feed(late))
        self._suspended = None

    def add(self, event: Event) -> None:
        if self._out is None:
            self._late.append(event)
            return
        self.streams[-1] += self._out.feed([event])
        if isinstance(event, InterruptRequested):
            interrupts = self._out.check_interrupts([interrupt(question) for question in event.interrupts])
            self._suspended = self._out.suspended()
            self._end(self._out.finished(interrupts))
        elif isinstance(event, TurnFailed):
            self._end(self._out.failed(event.message, event.code))
        elif isinstance(event, TurnEnded):
            self._end(self._out.finished(cancelled=event.stop_reason == "cancelled"))

    def _end(self, last: list[Wire]) -> None:
        self.streams[-1] += last
        self._out = None

    def close(self) -> None:
        """Events that no run has taken make a last run."""
        if self._late:
            self.start()
            assert self._out is not None
            self._end(self._out.finished())


class Play:
    def __init__(self, name: str, cut: Cut = whole) -> None:
        self.name, self._cut, self._lines = name, cut, Lines(100_000_000)
        self.events: list[Event] = []
        self.messages: list[bytes] = []
        """What the agent said, with the dialect's ids."""
        self.commands: list[Json] = []
        """What the dialect sent."""
        self.runs = Runs()
        self._ids: list[tuple[bytes, bytes]] = []
        self._waiting: list[bytes] = []
        self._foreign: set[str] = set()
        self._questions: dict[str, Interrupt] = {}
        self._early: dict[str, Json] = {}
        """Answers that the recorded client gave before the dialect asks: it lets a message come to its end first."""
        self._turns = 0
        self.dialect: Dialect = ClaudeDialect() if name.startswith("bidir-") else ClaudePrint()
        if name.startswith("bidir-"):
            self._both_ways()
        else:
            self._one_way()
        self._flush()
        if self.dialect.is_busy:
            self._add_events(self.dialect.on_process_exit(*EXITS.get(name, (0, ""))))
        self.runs.close()

    def _one_way(self) -> None:
        self.dialect.start_session(SessionStart("/workspace"))
        self.dialect.prompt(Prompt(text("hello"), "t1"))
        self.dialect.is_cancelled = self.name.startswith("cancel-")
        self.runs.start()
        self._waiting += lines(self.name)

    def _both_ways(self) -> None:
        for entry in map(orjson.loads, lines(self.name)):
            line = entry["line"]
            if entry["dir"] == "out":
                if not self._of_others(line):
                    self._waiting.append(orjson.dumps(line))
                continue
            self._flush()
            if isinstance(line, dict):
                self._client(line)

    # -- what the recorded client did

    def _client(self, line: Json) -> None:
        match line:
            case {"type": "user", "message": {"content": content}}:
                self._prompt(content, line.get("uuid"))
            case {"type": "control_request", "request_id": str(number), "request": dict(request)}:
                self._request(number, request["subtype"], request)
            case {"type": "control_response", "response": {"request_id": str(number), "response": dict(response)}}:
                self._answer(number, response)
        self.commands += sent(self.dialect)

    def _prompt(self, content: Any, uuid: str | None) -> None:
        self._turns += 1
        blocks = text(content) if isinstance(content, str) else [_block(part) for part in content]
        self.runs.start()
        self.dialect.prompt(Prompt(blocks, f"t{self._turns}"))
        [command] = sent(self.dialect)
        self.commands.append(command)
        if uuid is not None:
            self._ids.append((uuid.encode(), command["uuid"].encode()))

    def _request(self, number: str, subtype: str, request: Json) -> None:
        match subtype:
            case "initialize":
                self.dialect.start_session(SessionStart("/workspace"))
            case "interrupt":
                self.runs.start()
                assert self.dialect.cancel()
            case "set_permission_mode" | "set_model" | "list_models":
                action, field = SETTING[subtype]
                self.dialect.start_action(action, {field: request[field]} if field else {})
            case _:
                self._foreign.add(number)
                return
        requests = sent(self.dialect)
        self.commands += requests
        own_ids = [command["request_id"] for command in requests if command["type"] == "control_request"]
        # A list of models that is known is not asked for again.
        self._foreign |= set() if own_ids else {number}
        self._ids += [(b'"%b"' % number.encode(), b'"%b"' % name.encode()) for name in own_ids]

    def _answer(self, number: str, response: Json) -> None:
        question = next((one for name, one in self._questions.items() if name.endswith(number)), None)
        if question is None:
            self._early[number] = response
            return
        del self._questions[question.id]
        self.runs.start()
        if response.get("interrupt") is True:
            assert self.dialect.cancel()
        else:
            self.dialect.answer(question.id, Answer(question.id, "resolved", _payload(question, response)))

    # -- what the agent says

    def _of_others(self, line: Json) -> bool:
        """An answer to what no dialect asks, or a conversation with a server that the recorded client was."""
        return line.get("type") == "control_response" and line["response"]["request_id"] in self._foreign

    def _flush(self) -> None:
        waiting, self._waiting = self._waiting, []
        for old, new in self._ids:
            waiting = [line.replace(old, new) for line in waiting]
        self.messages += waiting
        for piece in self._cut(b"".join(line + b"\n" for line in waiting)):
            batch = [line for line in self._lines.feed(piece) if isinstance(line, bytes)]
            self._add_events(self.dialect.read(batch))
            self.commands += sent(self.dialect) if isinstance(self.dialect, ClaudeDialect) else []

    def _add_events(self, events: list[Event]) -> None:
        self.events += events
        for event in events:
            self.runs.add(event)
            if isinstance(event, InterruptRequested):
                self._questions |= {question.id: question for question in event.interrupts}
                for number in list(self._early):
                    self._answer(number, self._early.pop(number))


def _block(part: Json) -> Json:
    if part["type"] == "text":
        return part
    return {"type": part["type"], "data": part["source"]["data"], "mimeType": part["source"]["media_type"]}


def _payload(question: Interrupt, response: Json) -> Json:
    """The recorded answer as a client of the gateway gives it."""
    details = (question.metadata or {})["claude"]
    if response["behavior"] == "deny":
        return {"approved": False, "feedback": response["message"]}
    if question.reason == "input_required":
        return {f"question_{at}": answer for at, answer in enumerate(response["updatedInput"]["answers"].values())}
    edited = {"editedArgs": response["updatedInput"]} if response["updatedInput"] != details["input"] else {}
    return {"approved": True, **edited}


@cache
def played(name: str) -> Play:
    """Whole, once per worker."""
    return Play(name)


def recording(name: str) -> tuple[Dialect, list[bytes]]:
    """A dialect with a turn begun, and all that the agent says in it."""
    dialect: Dialect = ClaudeDialect() if name.startswith("bidir-") else ClaudePrint()
    dialect.start_session(SessionStart("/workspace"))
    dialect.is_ready = True
    dialect.prompt(Prompt(text("hello"), "t1"))
    return dialect, played(name).messages
