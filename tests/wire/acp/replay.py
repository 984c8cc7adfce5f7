"""Plays recorded ACP traffic the way a driver would: each session through a reader, each run through `Outbound`.

The recorded bytes of the agent go through `Lines` and `JsonRpc`, in any cut. What the client sent is taken as said: it
opens sessions, begins turns, answers questions. A question ends the run and its answer begins the next, so that every
run is a stream of its own. What comes between turns opens the next run.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from copy import deepcopy
from dataclasses import dataclass, field
from functools import cache
from typing import Any

from gateway.agui.outbound import Outbound
from gateway.events import Event, Interrupt, InterruptRequested, TurnEnded, TurnFailed, Wire
from gateway.wire.acp.errors import ERROR_TEXTS
from gateway.wire.acp.initialize import Handshake, read_handshake
from gateway.wire.acp.permissions import selected_option_name
from gateway.wire.acp.session import SessionReader
from gateway.wire.acp.session_state import SessionState
from gateway.wire.acp.usage import Covers
from gateway.wire.jsonrpc import JsonRpc, Noise, Notification, Request, Response
from gateway.wire.lines import Lines
from tests import replay

TRANSCRIPTS = replay.TRANSCRIPTS / "acp"
NAMES = sorted(f"{path.parent.name}/{path.stem}" for path in TRANSCRIPTS.glob("*/*.jsonl"))
COUNT_THE_SESSION = ("copilot-cli", "hermes-agent")
"""Agents whose token counts go on over all turns."""
OPENING = ("session/new", "session/load", "session/resume", "session/fork")

Cut = Callable[[bytes], Iterator[bytes]]


@dataclass
class Seen:
    """One `session/update` and what became of it."""

    session_id: str
    update: dict[str, Any]
    events: list[Event]
    facts: bool
    replayed: bool
    child: bool
    opened: dict[str, Any]
    """The answer that last told the session's options."""


@dataclass
class Talk:
    """One session."""

    reader: SessionReader
    runs: list[list[Wire]] = field(default_factory=list)
    outside: list[Event] = field(default_factory=list)
    """What came while no run was there to take it."""
    prompts: list[int] = field(default_factory=list)
    questions: set[Any] = field(default_factory=set)
    cancelled: bool = False
    opened: dict[str, Any] = field(default_factory=dict)
    outbound: Outbound | None = None
    histories: list[list[dict[str, Any]]] = field(default_factory=list)


class Play:
    def __init__(self, name: str, cut: Cut = lambda data: iter((data,))) -> None:
        self.agent = name.split("/")[0]
        self._cut = cut
        self.talks: dict[str, Talk] = {}
        self.handshakes: list[Handshake] = []
        self.seen: list[Seen] = []
        self.noise: list[Noise] = []
        self._turns = 0
        self._new_process()
        for entry in entries(name):
            self._take(entry)
        self._flush()
        for talk in self.talks.values():
            self._let_go(talk)

    # -- the recording

    def _new_process(self) -> None:
        self._rpc, self._lines = JsonRpc(), Lines(100_000_000)
        self._asked: dict[Any, dict[str, Any]] = {}
        self._unanswered: dict[Any, str] = {}
        self._waiting: dict[Any, tuple[Talk, dict[str, Any]]] = {}
        self._pending = b""
        self._version = 1

    def _take(self, entry: dict[str, Any]) -> None:
        if entry.get("dir") == "in":
            data = entry["raw"].encode() if "raw" in entry else json.dumps(entry["msg"]).encode()
            self._pending += data + b"\n"
            return
        self._flush()
        if "ended" in entry.get("note", ""):
            for talk in self.talks.values():
                self._let_go(talk)
            self._new_process()
        elif isinstance(entry.get("msg"), dict):
            self._sent(entry["msg"])

    def _flush(self) -> None:
        data, self._pending = self._pending, b""
        for piece in self._cut(data):
            for message in self._rpc.read(self._lines.feed(piece)):
                self._came(message)

    def _sent(self, message: dict[str, Any]) -> None:
        params = message.get("params") or {}
        match message:
            case {"method": str(method), "id": int(number)}:
                while True:  # the recorder's numbers are ours; a broken line may have cost it one
                    ours, _ = self._rpc.request(method, params)
                    if ours >= number:
                        break
                self._asked[number], self._unanswered[number] = params, method
                self._requested(number, method, params)
            case {"method": "session/cancel"} if params.get("sessionId") in self.talks:
                self.talks[params["sessionId"]].cancelled = True
            case {"result": dict(result), "id": number} if number in self._waiting:
                self._answered(number, result)

    def _requested(self, number: int, method: str, params: dict[str, Any]) -> None:
        if method in ("session/load", "session/resume"):
            self._talk(params["sessionId"]).reader.begin_replay()
        elif method == "session/prompt" and params.get("sessionId") in self.talks:
            talk = self.talks[params["sessionId"]]
            talk.prompts.append(number)
            if not talk.reader.in_turn:
                self._begin(talk)

    def _came(self, message: Any) -> None:
        if isinstance(message, Response):
            self._unanswered.pop(message.id, None)
        match message:
            case Notification("session/update", {"sessionId": str(session_id), "update": dict(update)}):
                self._update(session_id, update)
            case Request(number, "session/request_permission" | "elicitation/create" as method, dict(params)):
                self._question(number, method, params)
            case Response(int(number), "session/prompt"):
                self._prompt_answered(number, message)
            case Response(int(number), "initialize", dict(result)):
                self.handshakes.append(read_handshake(result))
                self._version = self.handshakes[-1].protocol_version
            case Response(int(number), method) if method in OPENING:
                self._opened(method, self._asked[number], message)
            case Response(int(number), "session/set_config_option", dict(result)):
                self._told(self._talk(self._asked[number]["sessionId"]), result)
            case Noise():
                self.noise.append(message)

    # -- sessions

    def _talk(self, session_id: str) -> Talk:
        if session_id not in self.talks:
            covers: Covers = "session" if self.agent in COUNT_THE_SESSION else "turn"
            facts = SessionState(version=self._version)
            self.talks[session_id] = Talk(SessionReader(facts, error_texts=ERROR_TEXTS, usage_covers=covers))
        return self.talks[session_id]

    def _opened(self, method: str, params: dict[str, Any], answer: Response) -> None:
        session_id = (answer.result or {}).get("sessionId") or params.get("sessionId")
        if session_id is None:
            return
        talk = self._talk(session_id)
        if talk.reader.replaying:
            talk.histories.append(talk.reader.end_replay())
        if answer.error is None:
            self._told(talk, answer.result or {})

    def _told(self, talk: Talk, result: dict[str, Any]) -> None:
        talk.reader.facts.read_result(result)
        kept = {key: result[key] for key in ("configOptions", "availableCommands") if key in result}
        talk.opened = talk.opened | kept

    def _update(self, session_id: str, update: dict[str, Any]) -> None:
        parent = next((talk for talk in self.talks.values() if talk.reader.owns(session_id)), None)
        if parent is None and session_id not in self.talks and "session/fork" in self._unanswered.values():
            self._talk(session_id).reader.begin_replay()  # opencode tells a fork's past before its answer
        talk = parent or self._talk(session_id)
        before, replaying = deepcopy(talk.reader.facts), talk.reader.replaying
        events = talk.reader.read(update, session_id)
        changed = talk.reader.facts != before
        self.seen.append(Seen(session_id, update, events, changed, replaying, parent is not None, talk.opened))
        self._tell(talk, events)
        if any(isinstance(event, TurnEnded | TurnFailed) for event in events):  # version 2: the turn ends by an update
            talk.prompts.pop(0)
            self._over(talk)

    # -- turns

    def _begin(self, talk: Talk) -> None:
        self._turns += 1
        talk.cancelled = False
        talk.reader.begin_turn(f"t{self._turns}")
        self._run(talk)

    def _run(self, talk: Talk) -> None:
        number = sum(len(known.runs) for known in self.talks.values()) + 1
        talk.outbound = Outbound("thread", f"run{number}", f"r{number}", merging=False)
        talk.runs.append(talk.outbound.started())
        held, talk.outside = talk.outside, []
        talk.runs[-1] += talk.outbound.feed(held)

    def _tell(self, talk: Talk, events: list[Event]) -> None:
        if talk.outbound is None:
            talk.outside += events
        else:
            talk.runs[-1] += talk.outbound.feed(events)

    def _prompt_answered(self, number: int, answer: Response) -> None:
        talk = next((talk for talk in self.talks.values() if number in talk.prompts), None)
        result = answer.result or {}
        if talk is None or (answer.error is None and "stopReason" not in result):
            return  # to a session that nobody knows; or version 2, where the turn lives on in updates
        talk.prompts.remove(number)
        reader = talk.reader
        if answer.error is not None:
            self._tell(talk, reader.fail_turn(answer.error, cancelled=talk.cancelled))
        else:
            end = (result["stopReason"], result.get("usage"))
            self._tell(talk, reader.end_turn(*end, cancelled=talk.cancelled, meta=result.get("_meta")))
        self._over(talk)

    def _over(self, talk: Talk) -> None:
        if talk.outbound is not None:
            talk.runs[-1] += _last(talk.outbound)
        talk.outbound = None
        if talk.prompts:
            self._begin(talk)  # another prompt waits in the same session

    def _let_go(self, talk: Talk) -> None:
        """The process is gone. A turn that never ended fails; what nobody has taken yet makes a last run."""
        if talk.reader.in_turn:
            self._tell(talk, talk.reader.end_turn("cancelled"))
        elif talk.outside:
            self._run(talk)
        if talk.outbound is not None:
            talk.runs[-1] += _last(talk.outbound)
        talk.outbound, talk.prompts = None, []

    # -- questions

    def _question(self, number: Any, method: str, params: dict[str, Any]) -> None:
        session_id = params["sessionId"]
        parent = next((talk for talk in self.talks.values() if talk.reader.owns(session_id)), None)
        talk = parent or self._talk(session_id)
        ask = talk.reader.permission if method == "session/request_permission" else talk.reader.elicitation
        events, question = ask(number, params)
        self._tell(talk, [*events, *talk.reader.park(), InterruptRequested((question,))])
        self._waiting[number] = (talk, params)
        talk.questions.add(number)
        if talk.outbound is not None:
            talk.runs[-1] += talk.outbound.finished([interrupt(asked) for asked in talk.outbound.open_interrupts])
            talk.outbound = None

    def _answered(self, number: Any, result: dict[str, Any]) -> None:
        talk, params = self._waiting.pop(number)
        talk.questions.discard(number)
        if "outcome" in result:
            talk.reader.permission_given(params, selected_option_name(params, result))
        if talk.outbound is None and not talk.questions:
            self._run(talk)


def interrupt(question: Interrupt) -> dict[str, Any]:
    """AG-UI's object, without the time."""
    fields = {
        "id": question.id,
        "reason": question.reason,
        "message": question.message,
        "toolCallId": question.tool_call_id,
        "responseSchema": question.response_schema,
        "metadata": question.metadata,
        "subagentRunId": question.subagent,
    }
    return {key: value for key, value in fields.items() if value is not None}


def _last(outbound: Outbound) -> list[Wire]:
    match outbound.ended:
        case TurnEnded(stop_reason="cancelled"):
            return outbound.finished(cancelled=True)
        case None | TurnEnded():
            return outbound.finished()
        case broke:
            return outbound.failed(broke.message, broke.code)


@cache
def lines(name: str) -> tuple[bytes, ...]:
    # By bytes: some texts hold characters that only Python takes for the end of a line.
    return tuple(line for line in (TRANSCRIPTS / f"{name}.jsonl").read_bytes().split(b"\n") if line)


def entries(name: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in lines(name)]


@cache
def played(name: str) -> Play:
    """Whole, once per worker."""
    return Play(name)
