"""Plays a recorded conversation with `opencode serve`, the dialect taking the recorder's part.

The recording tells what was called, answered and streamed, in this order. Whatever the recorder called, the dialect is
brought to call, and must do it in the same words; answers reach it under the ids of its own calls.
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


class Served:
    """`events` of its turns, `late` what came after them, `called` all calls without their ids."""

    def __init__(self, case: str, *, approvals: Approvals = "prompt") -> None:
        self.dialect = OpenCode()
        self.events: list[Event] = []
        self.late: list[Event] = []
        self.called: list[Json] = []
        self._ids: dict[str, str] = {}
        self._approvals = approvals
        self._asked: list[str] = []
        self._told = entries(case)

    def play(self) -> Served:
        for batch in self.batches():
            self.feed(batch)
        return self

    def prompted(self) -> list[bytes]:
        """Up to the prompt; and what comes then, as if nobody did anything any more."""
        for batch in self.batches():
            self.feed(batch)
            if self.dialect.is_busy:
                break
        self._told = [entry for entry in self._told if entry["dir"] == "out"]
        return [message for batch in self.batches() for message in batch]

    def batches(self) -> Iterator[list[bytes]]:
        """One message at a time, each when it is its turn."""
        while self._told:
            entry = self._told.pop(0)
            line = entry["line"]
            if "http" not in line:
                if self.dialect.session_start.cwd:  # else nobody listens yet
                    yield [orjson.dumps(line)]
            elif entry["dir"] == "in":
                self._does(line["http"], line.get("body"))
                yield []
            elif (call_id := self._ids.pop(line["http"], None)) is not None:
                yield [orjson.dumps({"id": call_id, "status": line["status"], "body": line["response"]})]

    def feed(self, batch: Sequence[bytes]) -> None:
        busy = self.dialect.is_busy
        events = self.dialect.read(batch)
        (self.events if busy else self.late).extend(events)
        self._asked += [
            question.id for event in events if isinstance(event, InterruptRequested) for question in event.interrupts
        ]
        self._sent()

    # -- the recorder's part

    def _does(self, call: str, body: Any) -> None:
        method, _, path = call.partition(" ")
        if not self.dialect.session_start.cwd and not path.endswith("/prompt_async"):
            self._begin(path, body)
        match path.split("/")[1:]:
            case ["session", session_id, "prompt_async"]:
                self._prompt(session_id, body)
            case ["session", _, "abort"]:
                self.dialect.cancel()
            case ["permission" | "question" as kind, _, "reply" | "reject" as what]:
                self._answer(kind, what, body)
        self._sent()
        if method == "POST" and self._approvals == "prompt":
            assert {"method": method, "path": path, "body": body} in self.called

    def _begin(self, path: str, body: Any) -> None:
        match path.split("/")[1:]:
            case ["session"]:
                self.dialect.start_session(SessionStart(CWD, params=body, tag="s"))
            case ["session", session_id, "fork"]:
                self.dialect.start_session(SessionStart(CWD, session_id, fork=True, tag="s"))

    def _prompt(self, session_id: str, body: Json) -> None:
        if not self.dialect.session_start.cwd:
            self.dialect.start_session(SessionStart(CWD, session_id, tag="s"))
            self._sent()
            answer = {"id": self._ids.pop(f"GET /session/{session_id}"), "status": 200, "body": {"id": session_id}}
            self.dialect.read([orjson.dumps(answer)])
        assert self.dialect.is_ready
        model, variant = body.get("model"), body.get("variant")
        self.dialect.prompt(
            Prompt(
                [_block(part) for part in body["parts"]],
                "k",
                model=f"{model['providerID']}/{model['modelID']}" if model else None,
                mode=body.get("agent"),
                thinking={"variant": variant} if variant else {},
                approvals=self._approvals,
                output_schema=body["format"]["schema"] if "format" in body else None,
            )
        )
        if "format" in body:
            body["format"]["retryCount"] = 2  # the recorder's own

    def _answer(self, kind: str, what: str, body: Any) -> None:
        """To all that was asked: a client answers everything at once."""
        match kind, what, body:
            case "permission", _, {"reply": "reject", "message": str(words)}:
                payload: Any = {"approved": False, "message": words}
            case "permission", _, {"reply": "once" | "always" as option}:
                payload = {"optionId": option}
            case "question", "reply", {"answers": list(answers)}:
                payload = {f"q{number}": labels for number, labels in enumerate(answers, 1)}
            case _:
                payload = None
        asked, self._asked = self._asked, []
        for question_id in asked:
            status: Literal["resolved", "cancelled"] = "cancelled" if payload is None else "resolved"
            self.dialect.answer(question_id, Answer(question_id, status, payload))

    def _sent(self) -> None:
        for message in self.dialect.outbox:
            call = orjson.loads(message)
            path, _, query = call["path"].partition("?")
            assert query == "directory=%2Fworkspace"
            self._ids[f"{call['method']} {path}"] = call.pop("id")
            self.called.append({**call, "path": path})
        self.dialect.outbox.clear()


def _block(part: Json) -> Json:
    if part["type"] == "text":
        return {"type": "text", "text": part["text"]}
    data = part["url"].partition(";base64,")[2]
    return {"type": "image", "data": data, "mimeType": part["mime"]}
