"""Replays recordings of `codex app-server`, one process with several sessions; and helpers for one session by hand.

Each thread that the recorded client opened is a session with a dialect of its own. The server's messages are routed to
them by `read_owner`, as the driver does, and responses get the ids of the dialects' own requests.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from functools import cache
from typing import Any

from gateway.events import Event, Interrupt, InterruptRequested, Wire
from gateway.turn import Answer
from gateway.wire.dialects import Prompt, SessionStart
from gateway.wire.dialects.codex import Codex
from gateway.wire.lines import Lines
from tests import replay
from tests.replay.harness import MAX_MESSAGE_BYTES, Cut, Json, read_entries, uncut
from tests.replay.runs import DIED, Runs

TRANSCRIPTS = replay.TRANSCRIPTS / "codex"
NAMES = sorted(path.stem for path in TRANSCRIPTS.glob("appserver-*.jsonl"))
OPENING = ("thread/start", "thread/resume", "thread/fork")
PERSISTED = {"session": "acceptForSession", "always": "acceptAlways"}


def entries(name: str) -> list[Json]:
    return read_entries(TRANSCRIPTS / f"{name}.jsonl")


def compact(line: Json) -> bytes:
    """As the server writes it."""
    return json.dumps(line, ensure_ascii=False, separators=(",", ":")).encode()


class CodexSession:
    """One of the sessions that share the process."""

    def __init__(self) -> None:
        self.dialect = Codex()
        self.events: list[Event] = []
        self.client = Runs(parks_at_once=False)
        """What a client sees. Requests that come together end one run."""
        self.interrupts: dict[str, Interrupt] = {}

    @property
    def runs(self) -> list[list[Wire]]:
        return self.client.streams

    def add_events(self, events: list[Event]) -> None:
        self.events += events
        for event in events:
            if isinstance(event, InterruptRequested):
                self.interrupts |= {interrupt.id: interrupt for interrupt in event.interrupts}
        self.client.add(events)


class CodexReplay:
    def __init__(self, name: str, cut: Cut = uncut) -> None:
        self._cut = cut
        self._lines = Lines(MAX_MESSAGE_BYTES)
        self.sessions: list[CodexSession] = []
        self.sent: list[Json] = []
        self.answers: list[tuple[Json, Json]] = []
        """What the recorded client answered, and what the dialect sent."""
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
                self._repeat(entry["line"])
        self._flush()
        for session in self.sessions:
            if session.client.is_open:
                session.add_events([*session.dialect.on_process_exit(0, ""), DIED])

    # -- what the recorded client did

    def _repeat(self, line: Json) -> None:
        match line:
            case {"method": "initialize", "id": number}:
                self._open(self._first)
                self._match(number, "initialize")
            case {"method": str(method), "id": number} if method in OPENING:
                if line is not self._first and line["id"] != self._first["id"]:
                    self._open(line, connected=True)
                self._match(number, method)
            case {"method": "turn/start", "id": number, "params": {"threadId": thread}} if self._sessions_of(thread):
                self._prompt(self._sessions_of(thread)[0], line["params"])
                self._match(number, "turn/start")
            case {"method": "turn/interrupt", "id": number, "params": {"threadId": thread}}:
                [session] = self._sessions_of(thread)
                if not session.client.is_open:  # parked: the end is seen in a run of its own
                    session.interrupts.clear()
                    session.client.start()
                session.dialect.cancel()
                self._collect_sent(session)
                self._match(number, "turn/interrupt")
            case {"method": "model/list", "id": number}:
                self.sessions[0].dialect.start_action("models")
                self._collect_sent(self.sessions[0])
                self._match(number, "model/list")
            case {"id": number, "result": dict(result)}:
                self._answer(number, result, line)
            case _:
                self._ids[line.get("id")] = None  # nothing that the gateway does

    def _open(self, line: Json, *, connected: bool = False) -> None:
        params = line.get("params", {})
        session = CodexSession()
        options = {key: params[key] for key in ("approvalPolicy", "sandbox", "model") if key in params}
        cli_params = {"thread": options, "connected": connected}
        begin = SessionStart(
            params.get("cwd", "/workspace"), params.get("threadId"), line["method"] == "thread/fork", params=cli_params,
            tag=f"s{len(self.sessions)}",
        )  # fmt: skip
        self.sessions.append(session)
        session.dialect.start_session(begin)
        self._collect_sent(session)

    def _prompt(self, session: CodexSession, params: Json) -> None:
        number = sum(len(known.runs) for known in self.sessions) + 1
        session.client.start()
        session.dialect.prompt(Prompt(params["input"], f"t{number}"))
        self._collect_sent(session)

    def _answer(self, number: Any, result: Json, line: Json) -> None:
        for session in self.sessions:
            name = next((name for name in session.interrupts if name.endswith(f":ask:{number}")), None)
            if name is not None:
                interrupt = session.interrupts.pop(name)
                if not session.interrupts and session.dialect.is_busy:
                    session.client.start()
                session.dialect.answer(name, Answer(name, "resolved", payload(result)))
                before = len(self.sent)
                self._collect_sent(session)
                if is_offered(interrupt, payload(result)):
                    self.answers.append((line, self.sent[before]))

    def _collect_sent(self, session: CodexSession) -> None:
        messages = [json.loads(message) for message in session.dialect.outbox]
        session.dialect.outbox = []
        self.sent += messages
        self._unmatched += [message for message in messages if "method" in message]

    def _match(self, number: Any, method: str) -> None:
        request = next((message for message in self._unmatched if message["method"] == method), None)
        self._ids[number] = request["id"] if request else None
        if request:
            self._unmatched.remove(request)

    def _sessions_of(self, thread: Any) -> list[CodexSession]:
        return [session for session in self.sessions if session.dialect.session_id == thread]

    # -- what the server sent

    def _flush(self) -> None:
        lines = self._pending
        self._pending = []
        data = b"".join(compact(line) + b"\n" for line in map(self._translate, lines) if line)
        for piece in self._cut(data):
            self._route([line for line in self._lines.feed(piece) if isinstance(line, bytes)])
        for session in self.sessions:
            session.client.park()

    def _translate(self, line: Json) -> Json | None:
        if "method" in line:
            return line
        own_id = self._ids.get(line.get("id"))
        return None if own_id is None else {**line, "id": own_id}

    def _route(self, messages: list[bytes]) -> None:
        for session in list(self.sessions):
            own = [message for message in messages if self._is_for(session, Codex.read_owner(message))]
            if own:
                session.add_events(session.dialect.read(own))
                self._collect_sent(session)

    def _is_for(self, session: CodexSession, owner: str | None) -> bool:
        owners = [
            known for known in self.sessions if owner in (known.dialect.session_start.tag, known.dialect.session_id)
        ]
        return session in owners if owner is not None and owners else True


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


def is_offered(interrupt: Interrupt, answer_payload: Json) -> bool:
    """The recorded client also tried a decision that was not offered."""
    choices = (interrupt.response_schema or {})["properties"].get("optionId", {}).get("enum", [])
    return "optionId" not in answer_payload or answer_payload["optionId"] in choices


@cache
def replay_case(name: str) -> CodexReplay:
    """The whole recording, replayed once per worker."""
    return CodexReplay(name)


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
    messages = [json.loads(message) for message in dialect.outbox]
    dialect.outbox = []
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
