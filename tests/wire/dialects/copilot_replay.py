"""Plays recordings of Copilot's SDK server through the dialect and `Outbound`, the way a driver and its runs do.

What the recorded client sent is taken as said: it opens a session, prompts, answers, cancels. The dialect's own
requests take the place of the recorded ones, and the recorded answers get their ids. What the server sent goes through
`Frames`, in any cut. A question ends a run, and its answer begins the next.
"""

from __future__ import annotations

import json
from collections import defaultdict, deque
from collections.abc import Callable, Iterator
from functools import cache
from typing import Any

from gateway.agui.outbound import Outbound, Suspended
from gateway.events import Event, Interrupt, InterruptRequested, TurnEnded, TurnFailed, Wire
from gateway.turn import Answer
from gateway.wire.content_length import Frames, frame
from gateway.wire.dialects import Prompt, SessionStart
from gateway.wire.dialects.copilot import CopilotDialect
from gateway.wire.dialects.copilot.permissions import KINDS
from tests import replay
from tests.agui.replay import accepted
from tests.wire.acp.replay import interrupt

TRANSCRIPTS = replay.TRANSCRIPTS / "copilot"
SERVED = sorted(path.stem for path in TRANSCRIPTS.glob("*.jsonl") if path.stem.startswith(("server-", "headless-")))
BY_POLICY = ("server-background",)
"""Recorded with every question answered by policy."""
ANSWERS = {kind.method: kind.field for kind in KINDS.values()}
WISHES = ("session.model.switchTo", "session.model.setReasoningEffort", "session.mode.set")
ACTIONS = {
    "models.list": "models",
    "sessions.fork": "fork",
    "session.model.switchTo": "set_model",
    "session.mode.set": "set_mode",
}

Json = dict[str, Any]
Cut = Callable[[bytes], Iterator[bytes]]


@cache
def text_of(name: str) -> bytes:
    return (TRANSCRIPTS / f"{name}.jsonl").read_bytes()


def whole(data: bytes) -> Iterator[bytes]:
    yield data


class Play:
    def __init__(self, name: str, cut: Cut = whole) -> None:
        self._cut, self._policy = cut, name in BY_POLICY
        self.dialect = CopilotDialect()
        self.log: list[tuple[str, Any]] = []
        """What was done with the dialect: `begin`, `prompt`, `read`."""
        self.sent: list[tuple[Json, Json]] = []
        """Answers to questions: what was recorded, and what the dialect sent in its place."""
        self.events: list[Event] = []
        self.runs: list[list[Wire]] = []
        self._requests: dict[str, deque[Json]] = defaultdict(deque)
        self._ids: dict[Any, Any] = {}
        self._frames, self._pending = Frames(100_000_000), b""
        self._questions: dict[str, Interrupt] = {}
        self._out: Outbound | None = None
        self._suspended: Suspended | None = None
        self._late: list[Event] = []
        self._turns = 0
        self._wishes: Json = {}
        self._entries = [json.loads(line) for line in text_of(name).split(b"\n") if line]
        for at, entry in enumerate(self._entries):
            if entry["dir"] == "out":
                self._came(entry["line"])
            elif "method" in entry["line"]:
                self._flush()
                self._said(at, entry["line"])
        self._flush()
        self._let_go()

    # -- what the recorded client did

    def _said(self, at: int, line: Json) -> None:
        method, params = line["method"], line.get("params", {})
        self._act(at, method, params)
        self._drain()
        mine = self._requests[method].popleft() if self._requests[method] else None
        self._ids[line.get("id")] = None if mine is None else mine["id"]
        if method in ANSWERS and mine is not None:
            field = ANSWERS[method]
            self.sent.append((params[field], mine["params"][field]))

    def _act(self, at: int, method: str, params: Json) -> None:
        begun = self.dialect.session_start.cwd != ""
        if method in ("session.create", "session.resume", "sessions.fork") and not begun:
            again = None if method == "session.create" else params["sessionId"]
            self._do("start_session", SessionStart("/workspace", again, fork=method == "sessions.fork"))
        elif method in WISHES and self._wished(at):
            self._wishes |= params
            if len(self._wishes) == len(params):
                self._prompt(self._first_send(at))
        elif method == "session.send" and not self._wishes:
            self._prompt(params)
        elif method == "session.send":
            self._wishes = {}
        elif method == "session.abort":
            self.dialect.cancel()
        elif method in ANSWERS and not self._requests[method]:
            self._answer(method, params)
        elif method in ACTIONS and begun and method != "sessions.fork" or method == "sessions.fork":
            self.dialect.start_action(ACTIONS[method], {"model": params.get("modelId"), "mode": params.get("mode")})

    def _wished(self, at: int) -> bool:
        """A setting that a prompt brings along: the next thing that is not one is the prompt."""
        said = [entry["line"].get("method") for entry in self._entries[at:] if entry["dir"] == "in"]
        return next((method for method in said if method not in WISHES), None) == "session.send"

    def _first_send(self, at: int) -> Json:
        lines = [entry["line"] for entry in self._entries[at:] if entry["dir"] == "in"]
        wished = [line["params"] for line in lines[: [line["method"] for line in lines].index("session.send")]]
        told = {key: value for params in wished for key, value in params.items()}
        send: Json = next(line["params"] for line in lines if line["method"] == "session.send")
        return {**told, **send}

    def _prompt(self, params: Json) -> None:
        self._turns += 1
        blocks: list[Json] = [{"type": "text", "text": params["prompt"]}]
        for told in params.get("attachments", []):
            blocks.append({"type": "image", "data": told["data"], "mimeType": told["mimeType"]})
        effort = params.get("reasoningEffort")
        prompt = Prompt(
            blocks,
            f"t{self._turns}",
            model=params.get("modelId"),
            mode=params.get("mode"),
            thinking={"reasoningEffort": effort} if effort else {},
            approvals="auto" if self._policy else "prompt",
        )
        self._run()
        self._do("prompt", prompt)

    def _answer(self, method: str, params: Json) -> None:
        asked = next(name for name in self._questions if name.endswith(params["requestId"]))
        del self._questions[asked]
        if not self._questions:
            self._run()
        self.dialect.answer(asked, _answer_of(asked, params[ANSWERS[method]]))

    def _do(self, what: str, given: Any) -> None:
        self.log.append((what, given))
        getattr(self.dialect, what)(given)

    def _drain(self) -> None:
        for message in self.dialect.outbox:
            request = json.loads(message)
            self._requests[request.get("method", "")].append(request)
        self.dialect.outbox = []

    # -- what the server did

    def _came(self, line: Json) -> None:
        if "method" not in line:
            if self._ids.get(line["id"]) is None:
                self._flush()  # its request may be one that the dialect makes by itself
            if self._ids.get(line["id"]) is None:
                return
            line = {**line, "id": self._ids[line["id"]]}
        self._pending += frame(json.dumps(line, ensure_ascii=False, separators=(",", ":")).encode())

    def _flush(self) -> None:
        data, self._pending = self._pending, b""
        for piece in self._cut(data):
            messages = self._frames.feed(piece)
            if messages:
                self.log.append(("read", messages))
                self._tell(self.dialect.read(messages))
                self._drain()

    # -- runs

    def _run(self) -> None:
        if self._out is None:
            number = len(self.runs) + 1
            self._out = Outbound("thread", f"run{number}", f"r{number}", merging=False)
            self.runs.append(self._out.started(suspended=self._suspended))
            self._suspended = None
            held, self._late = self._late, []
            self._feed(held)

    def _tell(self, events: list[Event]) -> None:
        self.events += events
        self._feed(events)

    def _feed(self, events: list[Event]) -> None:
        for event in events:
            if self._out is None:
                self._late.append(event)
                continue
            self.runs[-1] += self._out.feed([event])
            if isinstance(event, InterruptRequested):
                self._questions |= {question.id: question for question in event.interrupts}
                self._suspended = self._out.suspended()
                self._finish(self._out.finished([interrupt(question) for question in event.interrupts]))
            elif isinstance(event, TurnEnded):
                self._finish(self._out.finished(cancelled=event.stop_reason == "cancelled"))
            elif isinstance(event, TurnFailed):
                self._finish(self._out.failed(event.message, event.code))

    def _finish(self, last: list[Wire]) -> None:
        self.runs[-1] = accepted(self.runs[-1] + last)
        self._out = None

    def _let_go(self) -> None:
        """The process is gone."""
        self._tell(self.dialect.on_process_exit(0, ""))
        if self._out is not None:
            self._finish(self._out.failed("the agent is gone", "AGENT_DIED"))


def _answer_of(question_id: str, told: Json) -> Answer:
    """The human's answer that the recorded call tells."""
    match told:
        case {"kind": "user-not-available"} | {"action": "cancel"}:
            return Answer(question_id, "cancelled")
        case {"kind": str(option)}:
            words = {"feedback": told["feedback"]} if "feedback" in told else {}
            return Answer(question_id, "resolved", {"optionId": option, **words})
        case {"action": "accept", "content": content}:
            return Answer(question_id, "resolved", content)
        case {"approved": True, "selectedAction": str(action)}:
            return Answer(question_id, "resolved", {"optionId": action})
        case _:
            return Answer(question_id, "resolved", told)


@cache
def played(name: str) -> Play:
    """Whole, once per worker."""
    return Play(name)
