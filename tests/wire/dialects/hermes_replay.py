"""Replays a recorded conversation with Hermes, with the dialect in the recorder's place.

The recording has requests, responses and events in their order. For each request of the recorder's the dialect is made
to send the same one; responses reach it under the ids of its own requests.
"""

from __future__ import annotations

from typing import Any

import orjson

from gateway.events import Event, InterruptRequested, TurnEnded, TurnFailed
from gateway.turn import Answer, Approvals
from gateway.wire.dialects import Block, Prompt, SessionStart
from gateway.wire.dialects.hermes import Hermes
from tests.wire.dialects.golden import TRANSCRIPTS

FOLDER = TRANSCRIPTS / "hermes"
CWD = "/workspace"
STORED = "20261116_020418_cd929b"
Json = dict[str, Any]

RECORDER_METHODS = ("session.title", "session.close", "session.list")
"""Called by the recorder for its own sake."""


def entries(case: str) -> list[Json]:
    return [orjson.loads(line) for line in (FOLDER / f"{case}.jsonl").read_bytes().splitlines()]


class Conversation:
    """`turns`: the events of each; `late`: what came after the last."""

    def __init__(self, case: str, approvals: Approvals = "prompt") -> None:
        self.dialect = Hermes()
        self.turns: list[list[Event]] = []
        self.late: list[Event] = []
        self.sent: list[Json] = []
        self._entries = entries(case)
        self._approvals = approvals
        self._unmatched: list[Json] = []
        self._ids: dict[int, str] = {}
        self._interrupt_ids: list[str] = []

    def play(self) -> Conversation:
        for number, entry in enumerate(self._entries):
            self._play_entry(number, entry)
        return self

    def play_to_prompt(self) -> list[bytes]:
        """Up to the first prompt; and what comes then."""
        for number, entry in enumerate(self._entries):
            self._play_entry(number, entry)
            if self.dialect.is_busy and any(request["method"] == "prompt.submit" for request in self.sent):
                rest = self._entries[number + 1 :]
                return [orjson.dumps(self._with_dialect_id(entry["line"])) for entry in rest if entry["dir"] == "out"]
        raise AssertionError("there is no prompt in it")

    def feed(self, *messages: Json) -> list[Event]:
        """One after the other, as the driver does."""
        return [event for message in messages for event in self._feed(message)]

    def _feed(self, message: Json) -> list[Event]:
        busy = self.dialect.is_busy
        events = self.dialect.read([orjson.dumps(message)])
        self._flush()
        last = next((at for at, event in enumerate(events) if isinstance(event, TurnEnded | TurnFailed)), len(events))
        if busy:
            self.turns[-1] += events[: last + 1]
        self.late += events[last + 1 :] if busy else events
        self._interrupt_ids += [
            question.id for event in events if isinstance(event, InterruptRequested) for question in event.interrupts
        ]
        return events

    # -- the recorder's part

    def _play_entry(self, number: int, entry: Json) -> None:
        line = entry["line"]
        if entry["dir"] == "out":
            if self.dialect.session_start.cwd:
                self._feed(self._with_dialect_id(line))
        elif line["method"] not in RECORDER_METHODS or self._unmatched:
            self._trigger(number, line["method"], line["params"])
            self._match(line)

    def _with_dialect_id(self, line: Json) -> Json:
        return {**line, "id": self._ids.get(line["id"], f"other:{line['id']}")} if "id" in line else line

    def _trigger(self, number: int, method: str, params: Json) -> None:
        if self._unmatched and self._unmatched[0]["method"] == method:
            return
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
                self._prompt(number, params["session_id"])
        self._flush()

    def _answer(self, payload: Json) -> None:
        if self._approvals == "prompt":
            interrupt_id = self._interrupt_ids.pop(0)
            self.dialect.answer(interrupt_id, Answer(interrupt_id, "resolved", payload))

    def _prompt(self, number: int, live: str) -> None:
        """With all that was set before it, which the dialect does as a part of it."""
        if not self.dialect.session_start.cwd:
            self.start_session(live)
        model, effort, message = None, {}, ""
        blocks: list[Block] = []
        for entry in self._entries[number:]:
            match entry["line"]:
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
        self.turns.append(self.late)
        self.late = []
        key = f"k{len(self.turns)}"
        self.dialect.prompt(Prompt(blocks, key, model=model, thinking=effort, approvals=self._approvals))

    def start_session(self, live: str) -> None:
        """For a recording that begins in the middle."""
        self.dialect.start_session(SessionStart(CWD, tag="s"))
        self._flush()
        answer = {"session_id": live, "stored_session_id": STORED}
        self._feed({"id": self._unmatched.pop()["id"], "result": answer})

    def _flush(self) -> None:
        for message in self.dialect.outbox:
            self.sent.append(orjson.loads(message))
            self._unmatched.append(self.sent[-1])
        self.dialect.outbox.clear()

    def _match(self, line: Json) -> None:
        """The dialect's own call for it; what it says beyond the recorder's comes unanswered."""
        for at, call in enumerate(self._unmatched):
            if call["method"] == line["method"]:
                wanted = {key: value for key, value in line["params"].items() if value is not None}
                assert wanted.items() <= {"limit": 200, **call["params"]}.items()
                self._ids[line["id"]] = call["id"]
                del self._unmatched[: at + 1]
                return
        raise AssertionError(f"the dialect did not call {line['method']}; it has {self._unmatched}")
