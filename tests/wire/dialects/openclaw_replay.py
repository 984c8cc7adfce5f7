"""Replays recordings of OpenClaw's gateway. The recorded run ids are replaced by the dialect's."""

from __future__ import annotations

import orjson

from gateway.turn import Approvals
from gateway.wire.dialects import Block, Prompt, SessionStart
from gateway.wire.dialects.openclaw import OpenClaw
from tests.replay import TRANSCRIPTS
from tests.replay.harness import DialectReplay, Json, read_entries

FOLDER = TRANSCRIPTS / "openclaw"
CWD = "/workspace"
PARAMS = {"connected": True, "agent": "main", "mode": "guarded"}


class OpenClawReplay(DialectReplay[OpenClaw]):
    def __init__(self, case: str, approvals: Approvals = "prompt") -> None:
        super().__init__(OpenClaw(), read_entries(FOLDER / f"{case}.jsonl"), approvals=approvals)
        self._run_ids: dict[str, str] = {}

    def translate(self, line: Json) -> bytes:
        if line.get("type") == "res":
            line = {**line, "id": self.ids.get(line["id"], f"other:{line['id']}")}
        message = orjson.dumps(line)
        for recorded_id, dialect_id in self._run_ids.items():
            message = message.replace(f'"{recorded_id}"'.encode(), f'"{dialect_id}"'.encode())
        return message

    def repeat(self, line: Json) -> None:
        method, params = line["method"], line["params"]
        if method == "sessions.list":  # called by the recorder for its own sake
            return
        if not self.next_is(method):
            self._trigger(method, params)
            self.collect_sent()
        request = self.match(line["id"], method)
        if method != "connect":
            wanted = {name: self._run_ids.get(str(value), value) for name, value in params.items()}
            wanted.pop("agentId", None)  # the session's key has it
            assert {**request["params"], **wanted} == request["params"]

    def _trigger(self, method: str, params: Json) -> None:
        match method:
            case "connect":
                self.dialect.start_session(SessionStart(CWD, params={"token": "REDACTED"}, tag="s"))
            case "sessions.create" if "fork" in params:
                self.dialect.start_action("fork")
            case "sessions.create":
                self.dialect.start_session(SessionStart(params["cwd"], params=PARAMS, tag="s"))
            case "sessions.resolve":
                self.dialect.start_session(SessionStart(CWD, params["key"], params=PARAMS, tag="s"))
            case "chat.abort":
                self.dialect.cancel()
            case "exec.approval.resolve":
                self._answer(params["id"], {"optionId": params["decision"]})
            case "question.resolve":
                answers = params["answers"]["answers"]
                self._answer(params["id"], {name: choices[0] for name, choices in answers.items()})
            case "models.list" | "sessions.delete":
                self.dialect.start_action("models" if method == "models.list" else "delete")
            case _:
                self._prompt()

    def _answer(self, request_id: str, payload: Json) -> None:
        if self.approvals == "prompt":
            self.answer(next(name for name in self.interrupts if name.rpartition(":")[2] == request_id), payload)

    def _prompt(self) -> None:
        mode = None
        params: Json = {}
        for request in self.next_requests():
            params = request["params"]
            if request["method"] == "sessions.patch":
                mode = params["permissionMode"]
            if request["method"] == "agent":
                break
        if not self.is_started:
            self._start_session(params["sessionKey"])
        blocks: list[Block] = [{"type": "text", "text": params["message"]}]
        for attachment in params.get("attachments", ()):
            kind, data, mime = attachment["type"], attachment["content"], attachment["mimeType"]
            blocks.append({"type": kind, "data": data, "mimeType": mime})
        model = f"{params['provider']}/{params['model']}" if "model" in params else None
        thinking = {"thinking": params["thinking"]} if "thinking" in params else {}
        key = f"k{self.turn_number}"
        self._run_ids[params["idempotencyKey"]] = f"{self.dialect.session_id}:{key}"
        self.prompt(Prompt(blocks, key, model=model, mode=mode, thinking=thinking, approvals=self.approvals))

    def _start_session(self, key: str) -> None:
        """For a recording that begins in the middle."""
        self.dialect.start_session(SessionStart(CWD, key, params=PARAMS, tag="s"))
        self.collect_sent()
        payload = {"ok": True, "key": key}
        response = {"type": "res", "id": self.unmatched.pop()["id"], "ok": True, "payload": payload}
        self.read([orjson.dumps(response)])
