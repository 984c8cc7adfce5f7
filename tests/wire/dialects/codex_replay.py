"""Plays recordings of `codex app-server` through the dialect and `Outbound` the way a driver and runs do.

What the recorded client sent is taken as said: it opens threads, begins turns, answers questions, cancels. Its numbers
are replaced by the dialect's own ids. Everything that the server sent goes through `Lines`, in any cut, and is routed
to the sessions of the process by `owner`. A question ends a run, and its answer begins the next.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Any

from gateway.agui.outbound import Outbound, Suspended
from gateway.events import Event, Interrupt, InterruptRequested, TurnEnded, TurnFailed, Wire
from gateway.turn import Answer
from gateway.wire.dialects import Prompt, SessionStart
from gateway.wire.dialects.codex import Codex
from gateway.wire.lines import Lines
from tests import replay
from tests.wire.acp.replay import interrupt

TRANSCRIPTS = replay.TRANSCRIPTS / "codex"
NAMES = sorted(path.stem for path in TRANSCRIPTS.glob("appserver-*.jsonl"))
OPENING = ("thread/start", "thread/resume", "thread/fork")
PERSISTED = {"session": "acceptForSession", "always": "acceptAlways"}

Json = dict[str, Any]
Cut = Callable[[bytes], Iterator[bytes]]


@cache
def text_of(name: str) -> bytes:
    return (TRANSCRIPTS / f"{name}.jsonl").read_bytes()


def entries(name: str) -> list[Json]:
    return [json.loads(line) for line in text_of(name).split(b"\n") if line]


def compact(line: Json) -> bytes:
    """As the server writes it."""
    return json.dumps(line, ensure_ascii=False, separators=(",", ":")).encode()


def whole(data: bytes) -> Iterator[bytes]:
    yield data


@dataclass
class Talk:
    """One session."""

    dialect: Codex
    events: list[Event] = field(default_factory=list)
    runs: list[list[Wire]] = field(default_factory=list)
    late: list[Event] = field(default_factory=list)
    questions: dict[str, Interrupt] = field(default_factory=dict)
    out: Outbound | None = None
    suspended: Suspended | None = None

    def add_events(self, events: list[Event]) -> None:
        self.events += events
        for event in events:
            if isinstance(event, InterruptRequested):
                self.questions |= {question.id: question for question in event.interrupts}
            if self.out is None:
                self.late.append(event)
                continue
            self.runs[-1] += self.out.feed([event])
            if isinstance(event, TurnEnded | TurnFailed):
                self.finish()

    def start(self) -> None:
        number = len(self.runs) + 1
        self.out = Outbound("thread", f"run{number}", f"r{number}", merging=False)
        self.runs.append(self.out.started(suspended=self.suspended) if self.suspended else self.out.started())
        late, self.late, self.suspended = self.late, [], None
        self.runs[-1] += self.out.feed(late)

    def finish(self) -> None:
        assert self.out is not None
        match self.out.ended:
            case TurnFailed(message, code):
                self.runs[-1] += self.out.failed(message, code)
            case TurnEnded(stop_reason="cancelled"):
                self.runs[-1] += self.out.finished(cancelled=True)
            case _:
                self.runs[-1] += self.out.finished()
        self.out = None

    def park(self) -> None:
        """Whatever was asked by now ends the run."""
        if self.out is not None and self.out.open_interrupts:
            interrupts = self.out.check_interrupts([interrupt(question) for question in self.out.open_interrupts])
            self.suspended = self.out.suspended()
            self.runs[-1] += self.out.finished(interrupts)
            self.out = None


class Play:
    def __init__(self, name: str, cut: Cut = whole) -> None:
        self._cut, self._lines = cut, Lines(100_000_000)
        self.talks: list[Talk] = []
        self.sent: list[Json] = []
        self.answers: list[tuple[Json, Json]] = []
        """What the recorded client answered, and what the dialect does."""
        self._ids: dict[Any, str | None] = {}
        self._unmatched: list[Json] = []
        self._pending: list[Json] = []
        recorded = entries(name)
        self._first = next(e["line"] for e in recorded if e["dir"] == "in" and e["line"].get("method") in OPENING)
        for entry in recorded:
            if entry["dir"] == "out":
                self._pending.append(entry["line"])
            else:
                self._flush()
                self._client(entry["line"])
        self._flush()
        for talk in self.talks:
            if talk.out is not None:
                talk.add_events([*talk.dialect.on_process_exit(0, ""), TurnFailed("the agent is gone", "AGENT_DIED")])

    # -- what the client did

    def _client(self, line: Json) -> None:
        match line:
            case {"method": "initialize", "id": number}:
                self._open(self._first)
                self._match(number, "initialize")
            case {"method": str(method), "id": number} if method in OPENING:
                if line is not self._first and line["id"] != self._first["id"]:
                    self._open(line, connected=True)
                self._match(number, method)
            case {"method": "turn/start", "id": number, "params": {"threadId": thread}} if self._of(thread):
                self._prompt(self._of(thread)[0], line["params"])
                self._match(number, "turn/start")
            case {"method": "turn/interrupt", "id": number, "params": {"threadId": thread}}:
                [talk] = self._of(thread)
                if talk.out is None:  # parked: how it ends is seen in a run of its own
                    talk.questions.clear()
                    talk.start()
                talk.dialect.cancel()
                self._take(talk)
                self._match(number, "turn/interrupt")
            case {"method": "model/list", "id": number}:
                self.talks[0].dialect.start_action("models")
                self._take(self.talks[0])
                self._match(number, "model/list")
            case {"id": number, "result": dict(result)}:
                self._answer(number, result, line)
            case _:
                self._ids[line.get("id")] = None  # nothing that the gateway does

    def _open(self, line: Json, *, connected: bool = False) -> None:
        params = line.get("params", {})
        talk = Talk(Codex())
        kept = {key: params[key] for key in ("approvalPolicy", "sandbox", "model") if key in params}
        cli_params = {"thread": kept, "connected": connected}
        begin = SessionStart(
            params.get("cwd", "/workspace"), params.get("threadId"), line["method"] == "thread/fork", params=cli_params,
            tag=f"s{len(self.talks)}",
        )  # fmt: skip
        self.talks.append(talk)
        talk.dialect.start_session(begin)
        self._take(talk)

    def _prompt(self, talk: Talk, params: Json) -> None:
        number = sum(len(known.runs) for known in self.talks) + 1
        talk.start()
        talk.dialect.prompt(Prompt(params["input"], f"t{number}"))
        self._take(talk)

    def _answer(self, number: Any, result: Json, line: Json) -> None:
        for talk in self.talks:
            name = next((name for name in talk.questions if name.endswith(f":ask:{number}")), None)
            if name is not None:
                question = talk.questions.pop(name)
                if talk.out is None and not talk.questions and talk.dialect.is_busy:
                    talk.start()
                talk.dialect.answer(name, Answer(name, "resolved", payload(result)))
                before = len(self.sent)
                self._take(talk)
                if offered(question, payload(result)):
                    self.answers.append((line, self.sent[before]))

    def _take(self, talk: Talk) -> None:
        """What the dialect has to say."""
        messages, talk.dialect.outbox = [json.loads(message) for message in talk.dialect.outbox], []
        self.sent += messages
        self._unmatched += [message for message in messages if "method" in message]

    def _match(self, number: Any, method: str) -> None:
        found = next((message for message in self._unmatched if message["method"] == method), None)
        self._ids[number] = found["id"] if found else None
        if found:
            self._unmatched.remove(found)

    def _of(self, thread: Any) -> list[Talk]:
        return [talk for talk in self.talks if talk.dialect.session_id == thread]

    # -- what the server sent

    def _flush(self) -> None:
        lines, self._pending = self._pending, []
        data = b"".join(compact(line) + b"\n" for line in map(self._renamed, lines) if line)
        for piece in self._cut(data):
            self._route([line for line in self._lines.feed(piece) if isinstance(line, bytes)])
        for talk in self.talks:
            talk.park()

    def _renamed(self, line: Json) -> Json | None:
        if "method" in line:
            return line
        own_id = self._ids.get(line.get("id"))
        return None if own_id is None else {**line, "id": own_id}

    def _route(self, messages: list[bytes]) -> None:
        for talk in list(self.talks):
            own = [message for message in messages if self._is_for(talk, Codex.read_owner(message))]
            if own:
                talk.add_events(talk.dialect.read(own))
                self._take(talk)

    def _is_for(self, talk: Talk, owner: str | None) -> bool:
        owners = [one for one in self.talks if owner in (one.dialect.session_start.tag, one.dialect.session_id)]
        return talk in owners if owner is not None and owners else True


def payload(result: Json) -> Json:
    match result:
        case {"decision": str(decision)}:
            return {"optionId": decision}
        case {"action": "accept", "_meta": {"persist": persist}}:
            return {"optionId": PERSISTED[persist]}
        case {"action": action}:
            return {"approved": action == "accept"}
        case {"permissions": dict(granted)}:
            return {"approved": bool(granted)}
        case {"answers": dict(answers)}:
            return {name: one["answers"][0] for name, one in answers.items()}
        case _:
            return {}


def offered(question: Interrupt, answer_payload: Json) -> bool:
    """The recorded client also tried a decision that was not offered."""
    choices = (question.response_schema or {})["properties"].get("optionId", {}).get("enum", [])
    return "optionId" not in answer_payload or answer_payload["optionId"] in choices


@cache
def played(name: str) -> Play:
    return Play(name)


# -- one session, by hand


def ready(thread: str = "th", **begin: Any) -> Codex:
    """A session whose thread is open."""
    dialect = Codex()
    dialect.start_session(SessionStart("/workspace", **begin))
    dialect.read([b'{"id":"s:1","result":{"userAgent":"agui_gateway/0.166.0 (Debian)"}}'])
    opened = {"thread": {"id": thread}, "model": "gpt-5.5", "modelProvider": "lab"}
    dialect.read([compact({"id": "s:2", "result": opened})])
    assert dialect.is_ready
    dialect.outbox.clear()
    return dialect


def sent(dialect: Codex) -> list[dict[str, Any]]:
    messages, dialect.outbox = [json.loads(message) for message in dialect.outbox], []
    return messages


def notification(method: str, **params: Any) -> bytes:
    return compact({"method": method, "params": {"threadId": "th", "turnId": "tu", **params}})


def notify(dialect: Codex, method: str, **params: Any) -> list[Event]:
    return dialect.read([notification(method, **params)])


def prompted(text: str = "hello", **fields: Any) -> Codex:
    """In a turn that Codex has begun, and calls `tu`."""
    dialect = ready()
    dialect.prompt(Prompt([{"type": "text", "text": text}], "t1", **fields))
    notify(dialect, "turn/started", turn={"id": "tu", "rootTurnId": "tu"})
    dialect.outbox.clear()
    return dialect


def completed(dialect: Codex, status: str = "completed", turn: str = "tu", error: Any = None) -> list[Event]:
    return notify(dialect, "turn/completed", turn={"id": turn, "status": status, "error": error})


def item(dialect: Codex, moment: str, **fields: Any) -> list[Event]:
    return notify(dialect, f"item/{moment}", item={"id": "i1", **fields})


def select(events: Sequence[Event], kind: type) -> list[Any]:
    return [event for event in events if isinstance(event, kind)]
