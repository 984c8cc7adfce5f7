"""Plays recordings of Copilot's SDK server through the dialect and `Outbound`, the way a driver and its runs do.

What the recorded client sent is repeated with the dialect: it opens a session, prompts, answers, cancels. The dialect's
own requests replace the recorded ones, and the recorded answers get their ids. What the server sent goes through
`Frames`, cut anywhere. An interrupt ends a run, and its answer starts the next.
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
from gateway.wire.dialects.copilot.permissions import REQUEST_KINDS
from tests import replay
from tests.agui.replay import accepted
from tests.wire.acp.replay import interrupt as to_interrupt

TRANSCRIPTS = replay.TRANSCRIPTS / "copilot"
SERVER_CASES = sorted(
    path.stem for path in TRANSCRIPTS.glob("*.jsonl") if path.stem.startswith(("server-", "headless-"))
)
POLICY_CASES = ("server-background",)
"""Recorded with every request answered by policy."""
ANSWER_FIELDS = {kind.method: kind.field for kind in REQUEST_KINDS.values()}
OPTION_METHODS = ("session.model.switchTo", "session.model.setReasoningEffort", "session.mode.set")
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
    """One recording, played. `runs` has what a client sees of each run."""

    def __init__(self, name: str, cut: Cut = whole) -> None:
        self._cut = cut
        self._has_policy = name in POLICY_CASES
        self.dialect = CopilotDialect()
        self.log: list[tuple[str, Any]] = []
        """Calls of the dialect: `start_session`, `prompt`, `read`."""
        self.sent: list[tuple[Json, Json]] = []
        """Answers to interrupts: what was recorded, and what the dialect sent in its place."""
        self.events: list[Event] = []
        self.runs: list[list[Wire]] = []
        self._requests: dict[str, deque[Json]] = defaultdict(deque)
        self._ids: dict[Any, Any] = {}
        self._frames = Frames(100_000_000)
        self._pending = b""
        self._interrupts: dict[str, Interrupt] = {}
        self._out: Outbound | None = None
        self._suspended: Suspended | None = None
        self._late: list[Event] = []
        self._turns = 0
        self._options: Json = {}
        self._entries = [json.loads(line) for line in text_of(name).split(b"\n") if line]
        for at, entry in enumerate(self._entries):
            if entry["dir"] == "out":
                self._read_recorded(entry["line"])
            elif "method" in entry["line"]:
                self._flush()
                self._repeat(at, entry["line"])
        self._flush()
        self._close()

    # -- what the recorded client sent

    def _repeat(self, at: int, line: Json) -> None:
        method, params = line["method"], line.get("params", {})
        self._act(at, method, params)
        self._drain()
        request = self._requests[method].popleft() if self._requests[method] else None
        self._ids[line.get("id")] = None if request is None else request["id"]
        if method in ANSWER_FIELDS and request is not None:
            field = ANSWER_FIELDS[method]
            self.sent.append((params[field], request["params"][field]))

    def _act(self, at: int, method: str, params: Json) -> None:
        is_started = self.dialect.session_start.cwd != ""
        if method in ("session.create", "session.resume", "sessions.fork") and not is_started:
            session_id = None if method == "session.create" else params["sessionId"]
            self._call("start_session", SessionStart("/workspace", session_id, fork=method == "sessions.fork"))
        elif method in OPTION_METHODS and self._precedes_prompt(at):
            self._options |= params
            if len(self._options) == len(params):
                self._prompt(self._first_send(at))
        elif method == "session.send" and not self._options:
            self._prompt(params)
        elif method == "session.send":
            self._options = {}
        elif method == "session.abort":
            self.dialect.cancel()
        elif method in ANSWER_FIELDS and not self._requests[method]:
            self._answer(method, params)
        elif method in ACTIONS and is_started and method != "sessions.fork" or method == "sessions.fork":
            self.dialect.start_action(ACTIONS[method], {"model": params.get("modelId"), "mode": params.get("mode")})

    def _precedes_prompt(self, at: int) -> bool:
        """Whether the option belongs to a prompt: the next request that sets no option is the prompt."""
        methods = [entry["line"].get("method") for entry in self._entries[at:] if entry["dir"] == "in"]
        return next((method for method in methods if method not in OPTION_METHODS), None) == "session.send"

    def _first_send(self, at: int) -> Json:
        lines = [entry["line"] for entry in self._entries[at:] if entry["dir"] == "in"]
        option_params = [line["params"] for line in lines[: [line["method"] for line in lines].index("session.send")]]
        options = {key: value for params in option_params for key, value in params.items()}
        send: Json = next(line["params"] for line in lines if line["method"] == "session.send")
        return {**options, **send}

    def _prompt(self, params: Json) -> None:
        self._turns += 1
        blocks: list[Json] = [{"type": "text", "text": params["prompt"]}]
        for attachment in params.get("attachments", []):
            blocks.append({"type": "image", "data": attachment["data"], "mimeType": attachment["mimeType"]})
        effort = params.get("reasoningEffort")
        prompt = Prompt(
            blocks,
            f"t{self._turns}",
            model=params.get("modelId"),
            mode=params.get("mode"),
            thinking={"reasoningEffort": effort} if effort else {},
            approvals="auto" if self._has_policy else "prompt",
        )
        self._run()
        self._call("prompt", prompt)

    def _answer(self, method: str, params: Json) -> None:
        interrupt_id = next(name for name in self._interrupts if name.endswith(params["requestId"]))
        del self._interrupts[interrupt_id]
        if not self._interrupts:
            self._run()
        self.dialect.answer(interrupt_id, _to_answer(interrupt_id, params[ANSWER_FIELDS[method]]))

    def _call(self, method: str, argument: Any) -> None:
        self.log.append((method, argument))
        getattr(self.dialect, method)(argument)

    def _drain(self) -> None:
        for message in self.dialect.outbox:
            request = json.loads(message)
            self._requests[request.get("method", "")].append(request)
        self.dialect.outbox = []

    # -- what the server sent

    def _read_recorded(self, line: Json) -> None:
        if "method" not in line:
            if self._ids.get(line["id"]) is None:
                self._flush()  # the dialect may have sent its request by itself
            if self._ids.get(line["id"]) is None:
                return
            line = {**line, "id": self._ids[line["id"]]}
        self._pending += frame(json.dumps(line, ensure_ascii=False, separators=(",", ":")).encode())

    def _flush(self) -> None:
        data = self._pending
        self._pending = b""
        for piece in self._cut(data):
            messages = self._frames.feed(piece)
            if messages:
                self.log.append(("read", messages))
                self._add_events(self.dialect.read(messages))
                self._drain()

    # -- runs

    def _run(self) -> None:
        if self._out is None:
            number = len(self.runs) + 1
            self._out = Outbound("thread", f"run{number}", f"r{number}", merging=False)
            self.runs.append(self._out.started(suspended=self._suspended))
            self._suspended = None
            late = self._late
            self._late = []
            self._feed(late)

    def _add_events(self, events: list[Event]) -> None:
        self.events += events
        self._feed(events)

    def _feed(self, events: list[Event]) -> None:
        for event in events:
            if self._out is None:
                self._late.append(event)
                continue
            self.runs[-1] += self._out.feed([event])
            if isinstance(event, InterruptRequested):
                self._interrupts |= {interrupt.id: interrupt for interrupt in event.interrupts}
                self._suspended = self._out.suspended()
                self._finish(self._out.finished([to_interrupt(interrupt) for interrupt in event.interrupts]))
            elif isinstance(event, TurnEnded):
                self._finish(self._out.finished(cancelled=event.stop_reason == "cancelled"))
            elif isinstance(event, TurnFailed):
                self._finish(self._out.failed(event.message, event.code))

    def _finish(self, last: list[Wire]) -> None:
        self.runs[-1] = accepted(self.runs[-1] + last)
        self._out = None

    def _close(self) -> None:
        """The process has ended."""
        self._add_events(self.dialect.on_process_exit(0, ""))
        if self._out is not None:
            self._finish(self._out.failed("the agent is gone", "AGENT_DIED"))


def _to_answer(interrupt_id: str, reply: Json) -> Answer:
    """The user's answer that the recorded request carries."""
    match reply:
        case {"kind": "user-not-available"} | {"action": "cancel"}:
            return Answer(interrupt_id, "cancelled")
        case {"kind": str(option)}:
            feedback = {"feedback": reply["feedback"]} if "feedback" in reply else {}
            return Answer(interrupt_id, "resolved", {"optionId": option, **feedback})
        case {"action": "accept", "content": content}:
            return Answer(interrupt_id, "resolved", content)
        case {"approved": True, "selectedAction": str(action)}:
            return Answer(interrupt_id, "resolved", {"optionId": action})
        case _:
            return Answer(interrupt_id, "resolved", reply)


@cache
def replay_case(name: str) -> Play:
    """The whole recording, played once per worker."""
    return Play(name)
