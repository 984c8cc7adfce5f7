"""Replays recordings of Hermes. Requests and responses are JSON-RPC; what was set before a prompt is part of it."""

from __future__ import annotations

import orjson

from gateway.turn import Approvals
from gateway.wire.dialects import Block, Prompt, SessionStart
from gateway.wire.dialects.hermes import Hermes
from tests.replay import TRANSCRIPTS
from tests.replay.harness import DialectReplay, Json, read_entries

FOLDER = TRANSCRIPTS / "hermes"
CWD = "/workspace"
STORED = "20261116_020418_cd929b"

RECORDER_METHODS = ("session.title", "session.close", "session.list")
"""Called by the recorder for its own sake."""


class HermesReplay(DialectReplay[Hermes]):
    def __init__(self, case: str, approvals: Approvals = "prompt") -> None:
        super().__init__(Hermes(), read_entries(FOLDER / f"{case}.jsonl"), approvals=approvals)

    @property
    def has_prompted(self) -> bool:
        return self.dialect.is_busy and any(request["method"] == "prompt.submit" for request in self.sent)

    def translate(self, line: Json) -> bytes:
        message = {**line, "id": self.ids.get(line["id"], f"other:{line['id']}")} if "id" in line else line
        return orjson.dumps(message)

    def repeat(self, line: Json) -> None:
        method, params = line["method"], line["params"]
        if method in RECORDER_METHODS and not self.unmatched:
            return
        if not self.next_is(method):
            self._trigger(method, params)
            self.collect_sent()
        request = self.match(line["id"], method)
        wanted = {key: value for key, value in params.items() if value is not None}
        assert wanted.items() <= {"limit": 200, **request["params"]}.items()

    def _trigger(self, method: str, params: Json) -> None:
        match method:
            case "session.create":
                self.dialect.start_session(SessionStart(params["cwd"], tag="s"))
            case "session.resume":
                self.dialect.start_session(SessionStart(CWD, params["session_id"], tag="s"))
            case "session.interrupt":
                self.dialect.cancel()
            case "approval.respond":
                self._answer({"optionId": params["choice"]})
            case "clarify.respond":
                self._answer({"answer": params["answer"]})
            case "session.branch":
                self.dialect.start_action("fork")
            case _:
                self._prompt(params["session_id"])

    def _answer(self, payload: Json) -> None:
        if self.approvals == "prompt":
            self.answer(next(iter(self.interrupts)), payload)

    def _prompt(self, live: str) -> None:
        """With all that was set before it, which the dialect does as a part of it."""
        if not self.is_started:
            self._start_session(live)
        model, effort, message = None, {}, ""
        blocks: list[Block] = []
        for request in self.next_requests():
            match request:
                case {"method": "prompt.submit", "params": {"text": str(message)}}:
                    break
                case {"method": "config.set", "params": {"key": "model", "value": str(value)}}:
                    model = f"custom:{value.split()[0]}"
                case {"method": "config.set", "params": {"key": "reasoning", "value": str(value)}}:
                    effort = {"reasoning": value}
                case {"method": "image.attach_bytes", "params": {"content_base64": str(data)}}:
                    blocks.append({"type": "image", "data": data, "mimeType": "image/png"})
                case {"method": "file.attach", "params": {"data_url": str(url), "name": str(name)}}:
                    blob = {"uri": f"file:///{name}", "mimeType": "application/octet-stream"}
                    blocks.append({"type": "resource", "resource": {**blob, "blob": url.partition(",")[2]}})
        blocks.insert(0, {"type": "text", "text": message.partition("\n\n@file:")[0]})
        key = f"k{self.turn_number}"
        self.prompt(Prompt(blocks, key, model=model, thinking=effort, approvals=self.approvals))

    def _start_session(self, live: str) -> None:
        """For a recording that begins in the middle."""
        self.dialect.start_session(SessionStart(CWD, tag="s"))
        self.collect_sent()
        result = {"session_id": live, "stored_session_id": STORED}
        self.read([orjson.dumps({"id": self.unmatched.pop()["id"], "result": result})])
