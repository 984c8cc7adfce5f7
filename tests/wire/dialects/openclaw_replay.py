"""Replays a recorded conversation with OpenClaw's gateway, with the dialect in the recorder's place.

The recording has requests, responses and events in their order. For each request of the recorder's the dialect is made
to send the same one; responses reach it under the ids of its own requests. The recorder's run ids are replaced by the
dialect's.
"""

from __future__ import annotations

from typing import Any

import orjson

from gateway.events import Event, InterruptRequested, TurnEnded, TurnFailed
from gateway.turn import Answer, Approvals
from gateway.wire.dialects import Block, Prompt, SessionStart
from gateway.wire.dialects.openclaw import OpenClaw
from tests.wire.dialects.golden import TRANSCRIPTS

FOLDER = TRANSCRIPTS / "openclaw"
CWD = "/workspace"
PARAMS = {"connected": True, "agent": "main", "mode": "guarded"}
Json = dict[str, Any]


def entries(case: str) -> list[Json]:
    return [orjson.loads(line) for line in (FOLDER / f"{case}.jsonl").read_bytes().splitlines()]


class Conversation:
    """`turns`: the events of each; `late`: what came after the last."""

    def __init__(self, case: str, approvals: Approvals = "prompt") -> None:
        self.dialect = OpenClaw()
        self.turns: list[list[Event]] = []
        self.late: list[Event] = []
        self._entries = entries(case)
        self._approvals = approvals
        self._unmatched: list[Json] = []
        self._ids: dict[str, str] = {}
        self._runs: dict[str, str] = {}
        self._interrupt_ids: dict[str, str] = {}

    def play(self) -> Conversation:
        for number, entry in enumerate(self._entries):
            self._play_entry(number, entry)
        return self

    def play_to_prompt(self) -> list[bytes]:
        """Up to the first prompt; and what comes then."""
        for number, entry in enumerate(self._entries):
            self._play_entry(number, entry)
            if self.dialect.is_busy and self._runs:
                rest = self._entries[number + 1 :]
                return [self._with_dialect_ids(entry["line"]) for entry in rest if entry["dir"] == "out"]
        raise AssertionError("there is no prompt in it")

    # -- the recorder's part

    def _play_entry(self, number: int, entry: Json) -> None:
        line = entry["line"]
        if entry["dir"] == "out":
            if self.dialect.session_start.cwd:
                self._feed(self._with_dialect_ids(line))
        elif line["method"] != "sessions.list":  # for the recorder's own sake
            self._trigger(number, line["method"], line["params"])
            self._match(line)

    def _with_dialect_ids(self, line: Json) -> bytes:
        if line.get("type") == "res":
            line = {**line, "id": self._ids.get(line["id"], f"other:{line['id']}")}
        message = orjson.dumps(line)
        for recorded_id, dialect_id in self._runs.items():
            message = message.replace(f'"{recorded_id}"'.encode(), f'"{dialect_id}"'.encode())
        return message

    def _feed(self, message: bytes) -> None:
        busy = self.dialect.is_busy
        events = self.dialect.read([message])
        self._flush()
        last = next((at for at, event in enumerate(events) if isinstance(event, TurnEnded | TurnFailed)), len(events))
        if busy:
            self.turns[-1] += events[: last + 1]
        self.late += events[last + 1 :] if busy else events
        for question in [
            question for event in events if isinstance(event, InterruptRequested) for question in event.interrupts
        ]:
            self._interrupt_ids[question.id.rpartition(":")[2]] = question.id

    def _trigger(self, number: int, method: str, params: Json) -> None:
        if self._unmatched and self._unmatched[0]["method"] == method:
            return
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
                self._answer(params["id"], {name: message[0] for name, message in params["answers"]["answers"].items()})
            case "models.list" | "sessions.delete":
                self.dialect.start_action("models" if method == "models.list" else "delete")
            case _:
                self._prompt(number)
        self._flush()

    def _answer(self, request_id: str, payload: Json) -> None:
        if self._approvals == "prompt":
            question_id = self._interrupt_ids.pop(request_id)
            self.dialect.answer(question_id, Answer(question_id, "resolved", payload))

    def _prompt(self, number: int) -> None:
        mode = None
        for entry in self._entries[number:]:
            if entry["line"].get("method") == "sessions.patch":
                mode = entry["line"]["params"]["permissionMode"]
            if entry["line"].get("method") == "agent":
                break
        params = entry["line"]["params"]
        if not self.dialect.session_start.cwd:
            self._begun(params["sessionKey"])
        blocks: list[Block] = [{"type": "text", "text": params["message"]}]
        for attachment in params.get("attachments", ()):
            blocks.append(
                {"type": attachment["type"], "data": attachment["content"], "mimeType": attachment["mimeType"]}
            )
        model = f"{params['provider']}/{params['model']}" if "model" in params else None
        thinking = {"thinking": params["thinking"]} if "thinking" in params else {}
        self.turns.append(self.late)
        self.late = []
        key = f"k{len(self.turns)}"
        self._runs[params["idempotencyKey"]] = f"{self.dialect.session_id}:{key}"
        policy = self._approvals
        self.dialect.prompt(Prompt(blocks, key, model=model, mode=mode, thinking=thinking, approvals=policy))

    def _begun(self, key: str) -> None:
        """For a recording that begins in the middle."""
        self.dialect.start_session(SessionStart(CWD, key, params=PARAMS, tag="s"))
        self._flush()
        answer = {"type": "res", "id": self._unmatched.pop()["id"], "ok": True, "payload": {"ok": True, "key": key}}
        self._feed(orjson.dumps(answer))

    def _flush(self) -> None:
        self._unmatched += map(orjson.loads, self.dialect.outbox)
        self.dialect.outbox.clear()

    def _match(self, line: Json) -> None:
        """The dialect's own request for it."""
        for at, call in enumerate(self._unmatched):
            if call["method"] == line["method"]:
                if line["method"] != "connect":
                    wanted = {name: self._runs.get(str(value), value) for name, value in line["params"].items()}
                    wanted.pop("agentId", None)  # the session's key says it
                    assert {**call["params"], **wanted} == call["params"]
                self._ids[line["id"]] = call["id"]
                del self._unmatched[: at + 1]
                return
        raise AssertionError(f"the dialect did not ask for {line['method']}; it has {self._unmatched}")
