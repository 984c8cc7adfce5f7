"""Plays a recorded conversation with `opencode serve`; the dialect replaces the recording client.

The recording has calls, answers and streamed events, in order. The dialect is made to send every recorded call,
with the same path and body; answers reach it under the ids of its own calls.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Literal

import orjson

from gateway.events import Event, InterruptRequested
from gateway.turn import Answer, Approvals
from gateway.wire.dialects import Prompt, SessionStart
from gateway.wire.dialects.opencode import OpenCode
from tests.wire.dialects.golden import TRANSCRIPTS

FOLDER = TRANSCRIPTS / "opencode"
CWD = "/workspace"
Json = dict[str, Any]


def entries(case: str) -> list[Json]:
    return [orjson.loads(line) for line in (FOLDER / f"{case}.jsonl").read_bytes().splitlines()]


class Play:
    """One recording. `events` of its turns, `late` those after a turn, `calls` all calls without their ids."""

    def __init__(self, case: str, *, approvals: Approvals = "prompt") -> None:
        self.dialect = OpenCode()
        self.events: list[Event] = []
        self.late: list[Event] = []
        self.calls: list[Json] = []
        self._ids: dict[str, str] = {}
        self._approvals = approvals
        self._interrupt_ids: list[str] = []
        self._entries = entries(case)

    def play(self) -> Play:
        for batch in self.batches():
            self.feed(batch)
        return self

    def play_to_prompt(self) -> list[bytes]:
        """Plays up to the first prompt; returns the server's messages after it, whatever the client did then."""
        for batch in self.batches():
            self.feed(batch)
            if self.dialect.is_busy:
                break
        self._entries = [entry for entry in self._entries if entry["dir"] == "out"]
        return [message for batch in self.batches() for message in batch]

    def batches(self) -> Iterator[list[bytes]]:
        """The server's messages, one at a time, in the recorded order."""
        while self._entries:
            entry = self._entries.pop(0)
            line = entry["line"]
            if "http" not in line:
                if self.dialect.session_start.cwd:  # otherwise the session is not started
                    yield [orjson.dumps(line)]
            elif entry["dir"] == "in":
                self._repeat(line["http"], line.get("body"))
                yield []
            elif (call_id := self._ids.pop(line["http"], None)) is not None:
                yield [orjson.dumps({"id": call_id, "status": line["status"], "body": line["response"]})]

    def feed(self, batch: Sequence[bytes]) -> None:
        is_in_turn = self.dialect.is_busy
        events = self.dialect.read(batch)
        (self.events if is_in_turn else self.late).extend(events)
        self._interrupt_ids += [
            interrupt.id for event in events if isinstance(event, InterruptRequested) for interrupt in event.interrupts
        ]
        self._take_calls()

    # -- what the recording client did

    def _repeat(self, call: str, body: Any) -> None:
        method, _, path = call.partition(" ")
        if not self.dialect.session_start.cwd and not path.endswith("/prompt_async"):
            self._start_session(path, body)
        match path.split("/")[1:]:
            case ["session", session_id, "prompt_async"]:
                self._prompt(session_id, body)
            case ["session", _, "abort"]:
                self.dialect.cancel()
            case ["permission" | "question" as kind, _, "reply" | "reject" as verb]:
                self._answer(kind, verb, body)
        self._take_calls()
        if method == "POST" and self._approvals == "prompt":
            assert {"method": method, "path": path, "body": body} in self.calls

    def _start_session(self, path: str, body: Any) -> None:
        match path.split("/")[1:]:
            case ["session"]:
                self.dialect.start_session(SessionStart(CWD, params=body, tag="s"))
            case ["session", session_id, "fork"]:
                self.dialect.start_session(SessionStart(CWD, session_id, fork=True, tag="s"))

    def _prompt(self, session_id: str, body: Json) -> None:
        if not self.dialect.session_start.cwd:
            self.dialect.start_session(SessionStart(CWD, session_id, tag="s"))
            self._take_calls()
            answer = {"id": self._ids.pop(f"GET /session/{session_id}"), "status": 200, "body": {"id": session_id}}
            self.dialect.read([orjson.dumps(answer)])
        assert self.dialect.is_ready
        model, variant = body.get("model"), body.get("variant")
        self.dialect.prompt(
            Prompt(
                [_to_block(part) for part in body["parts"]],
                "k",
                model=f"{model['providerID']}/{model['modelID']}" if model else None,
                mode=body.get("agent"),
                thinking={"variant": variant} if variant else {},
                approvals=self._approvals,
                output_schema=body["format"]["schema"] if "format" in body else None,
            )
        )
        if "format" in body:
            body["format"]["retryCount"] = 2  # the recording client had another

    def _answer(self, kind: str, verb: str, body: Any) -> None:
        """Answers every open interrupt: a client answers all of them at once."""
        match kind, verb, body:
            case "permission", _, {"reply": "reject", "message": str(message)}:
                payload: Any = {"approved": False, "message": message}
            case "permission", _, {"reply": "once" | "always" as option}:
                payload = {"optionId": option}
            case "question", "reply", {"answers": list(answers)}:
                payload = {f"q{number}": labels for number, labels in enumerate(answers, 1)}
            case _:
                payload = None
        interrupt_ids = self._interrupt_ids
        self._interrupt_ids = []
        for interrupt_id in interrupt_ids:
            status: Literal["resolved", "cancelled"] = "cancelled" if payload is None else "resolved"
            self.dialect.answer(interrupt_id, Answer(interrupt_id, status, payload))

    def _take_calls(self) -> None:
        for message in self.dialect.outbox:
            call = orjson.loads(message)
            path, _, query = call["path"].partition("?")
            assert query == "directory=%2Fworkspace"
            self._ids[f"{call['method']} {path}"] = call.pop("id")
            self.calls.append({**call, "path": path})
        self.dialect.outbox.clear()


def _to_block(part: Json) -> Json:
    if part["type"] == "text":
        return {"type": "text", "text": part["text"]}
    data = part["url"].partition(";base64,")[2]
    return {"type": "image", "data": data, "mimeType": part["mime"]}
