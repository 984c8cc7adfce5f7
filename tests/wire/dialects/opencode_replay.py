"""Replays recordings of `opencode serve`. Requests are HTTP calls; each must have the recorded path and body."""

from __future__ import annotations

from typing import Any

import orjson

from gateway.turn import Approvals
from gateway.wire.dialects import Prompt, SessionStart
from gateway.wire.dialects.opencode import OpenCode
from tests.replay import TRANSCRIPTS
from tests.replay.harness import DialectReplay, Json, read_entries

FOLDER = TRANSCRIPTS / "opencode"
CWD = "/workspace"


def entries(case: str) -> list[Json]:
    return read_entries(FOLDER / f"{case}.jsonl")


class OpenCodeReplay(DialectReplay[OpenCode]):
    """`sent` has the calls without their ids and queries; `ids` has their ids, by method and path."""

    def __init__(self, case: str, *, approvals: Approvals = "prompt") -> None:
        super().__init__(OpenCode(), entries(case), approvals=approvals)

    def translate(self, line: Json) -> bytes | None:
        if "http" not in line:
            return orjson.dumps(line)
        call_id = self.ids.pop(line["http"], None)
        response = {"id": call_id, "status": line["status"], "body": line["response"]}
        return None if call_id is None else orjson.dumps(response)

    def read_sent(self, message: bytes) -> Json:
        call = orjson.loads(message)
        path, _, query = call["path"].partition("?")
        assert query == "directory=%2Fworkspace"
        self.ids[f"{call['method']} {path}"] = call.pop("id")
        return {**call, "path": path}

    def repeat(self, line: Json) -> None:
        method, _, path = line["http"].partition(" ")
        body = line.get("body")
        if not self.is_started and not path.endswith("/prompt_async"):
            self._start_session(path, body)
        match path.split("/")[1:]:
            case ["session", session_id, "prompt_async"]:
                assert body is not None
                self._prompt(session_id, body)
            case ["session", _, "abort"]:
                self.dialect.cancel()
            case ["permission" | "question" as kind, _, "reply" | "reject" as verb]:
                self._answer_all(kind, verb, body)
        self.collect_sent()
        if method == "POST" and self.approvals == "prompt":
            assert {"method": method, "path": path, "body": body} in self.sent

    def _start(self, start: SessionStart) -> None:
        """The recorded server was not asked for its agents; it is taken for one that cannot list them."""
        self.dialect.start_session(start)
        self.collect_sent()
        self.read([orjson.dumps({"id": self.ids.pop("GET /agent"), "status": 404, "body": None})])

    def _start_session(self, path: str, body: Any) -> None:
        match path.split("/")[1:]:
            case ["session"]:
                self._start(SessionStart(CWD, params=body, tag="s"))
            case ["session", session_id, "fork"]:
                self._start(SessionStart(CWD, session_id, fork=True, tag="s"))

    def _prompt(self, session_id: str, body: Json) -> None:
        if not self.is_started:
            self._start(SessionStart(CWD, session_id, tag="s"))
            self.collect_sent()
            response = {"id": self.ids.pop(f"GET /session/{session_id}"), "status": 200, "body": {"id": session_id}}
            self.read([orjson.dumps(response)])
        assert self.dialect.is_ready
        model, variant = body.get("model"), body.get("variant")
        self.prompt(
            Prompt(
                [_to_block(part) for part in body["parts"]],
                "k",
                model=f"{model['providerID']}/{model['modelID']}" if model else None,
                mode=body.get("agent"),
                thinking={"variant": variant} if variant else {},
                approvals=self.approvals,
                output_schema=body["format"]["schema"] if "format" in body else None,
            )
        )
        if "format" in body:
            body["format"]["retryCount"] = 2  # the recorded client had another

    def _answer_all(self, kind: str, verb: str, body: Any) -> None:
        """A client answers every open interrupt at once."""
        match kind, verb, body:
            case "permission", _, {"reply": "reject", "message": str(message)}:
                payload: Any = {"approved": False, "feedback": message}
            case "permission", _, {"reply": "once" | "always" as option}:
                payload = {"optionId": option}
            case "question", "reply", {"answers": list(answers)}:
                payload = {f"q{number}": labels for number, labels in enumerate(answers, 1)}
            case _:
                payload = None
        for interrupt_id in list(self.interrupts):
            self.answer(interrupt_id, payload)


def _to_block(part: Json) -> Json:
    if part["type"] == "text":
        return {"type": "text", "text": part["text"]}
    data = part["url"].partition(";base64,")[2]
    return {"type": "image", "data": data, "mimeType": part["mime"]}
