"""Plays a recorded conversation with OpenClaw's gateway, the dialect taking the recorder's part.

The recording tells what was asked, answered and told, in this order. Whatever the recorder asked, the dialect is
brought to ask, and must do it in the same words; answers reach it under the ids of its own requests, and its own name
of a run stands wherever the recorder's stood.
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


class Talk:
    """`turns`: the events of each; `late`: what came after the last."""

    def __init__(self, case: str, approvals: Approvals = "prompt") -> None:
        self.dialect = OpenClaw()
        self.turns: list[list[Event]] = []
        self.late: list[Event] = []
        self._told = entries(case)
        self._approvals = approvals
        self._unmatched: list[Json] = []
        self._ids: dict[str, str] = {}
        self._runs: dict[str, str] = {}
        self._asked: dict[str, str] = {}

    def play(self) -> Talk:
        for number, entry in enumerate(self._told):
            self._take(number, entry)
        return self

    def prompted(self) -> list[bytes]:
        """Up to the first prompt; and what comes then."""
        for number, entry in enumerate(self._told):
            self._take(number, entry)
            if self.dialect.is_busy and self._runs:
                rest = self._told[number + 1 :]
                return [self._as_ours(entry["line"]) for entry in rest if entry["dir"] == "out"]
        raise AssertionError("there is no prompt in it")

    # -- the recorder's part

    def _take(self, number: int, entry: Json) -> None:
        line = entry["line"]
        if entry["dir"] == "out":
            if self.dialect.session_start.cwd:
                self._feed(self._as_ours(line))
        elif line["method"] != "sessions.list":  # for the recorder's own sake
            self._does(number, line["method"], line["params"])
            self._match(line)

    def _as_ours(self, line: Json) -> bytes:
        if line.get("type") == "res":
            line = {**line, "id": self._ids.get(line["id"], f"other:{line['id']}")}
        told = orjson.dumps(line)
        for theirs, ours in self._runs.items():
            told = told.replace(f'"{theirs}"'.encode(), f'"{ours}"'.encode())
        return told

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
            self._asked[question.id.rpartition(":")[2]] = question.id

    def _does(self, number: int, method: str, params: Json) -> None:
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
                self._answer(params["id"], {name: told[0] for name, told in params["answers"]["answers"].items()})
            case "models.list" | "sessions.delete":
                self.dialect.start_action("models" if method == "models.list" else "delete")
            case _:
                self._prompt(number)
        self._flush()

    def _answer(self, asked: str, payload: Json) -> None:
        if self._approvals == "prompt":
            question_id = self._asked.pop(asked)
            self.dialect.answer(question_id, Answer(question_id, "resolved", payload))

    def _prompt(self, number: int) -> None:
        mode = None
        for entry in self._told[number:]:
            if entry["line"].get("method") == "sessions.patch":
                mode = entry["line"]["params"]["permissionMode"]
            if entry["line"].get("method") == "agent":
                break
        params = entry["line"]["params"]
        if not self.dialect.session_start.cwd:
            self._begun(params["sessionKey"])
        blocks: list[Block] = [{"type": "text", "text": params["message"]}]
        for given in params.get("attachments", ()):
            blocks.append({"type": given["type"], "data": given["content"], "mimeType": given["mimeType"]})
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
