"""Replays recordings of Claude Code. Those named `bidir-` have both directions, the others what `claude -p` printed.

What the recorded client requested and no dialect does is left out with its response.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import orjson

from gateway.events import Event, Interrupt
from gateway.wire.dialects import Dialect, Prompt, SessionStart
from gateway.wire.dialects.claude import ClaudeDialect, ClaudePrint
from tests import replay
from tests.replay.harness import Cut, DialectReplay, Json, PrintReplay, read_entries, read_lines, uncut

TRANSCRIPTS = replay.TRANSCRIPTS / "claude"
NAMES = sorted(path.stem for path in TRANSCRIPTS.glob("*.jsonl"))
EXITS: dict[str, tuple[int, str]] = {
    "cancel-sigterm": (143, ""),
    "resume-unknown": (1, "No conversation found with session ID: 11111111-2222-3333-4444-555555555555"),
}
"""How the process ended, where that says more than its lines."""
ACTIONS = {
    "set_permission_mode": ("set_mode", "mode"),
    "set_model": ("set_model", "model"),
    "list_models": ("models", ""),
}


def text(content: str) -> list[Json]:
    return [{"type": "text", "text": content}]


def sent(dialect: Dialect) -> list[Json]:
    """What the dialect has for the agent; taken, as the driver takes it."""
    messages = dialect.outbox
    dialect.outbox = []
    return [orjson.loads(message) for message in messages]


class ClaudeReplay(DialectReplay[Dialect]):
    """A recording of both directions."""

    reads_one_by_one = False
    resumes_at_first_answer = True
    is_started = True

    def __init__(self, name: str, cut: Cut = uncut) -> None:
        super().__init__(ClaudeDialect(), read_entries(TRANSCRIPTS / f"{name}.jsonl"), cut=cut)
        self._replacements: list[tuple[bytes, bytes]] = []
        """Recorded ids in the agent's lines → the dialect's."""
        self._foreign_requests: set[str] = set()
        """Requests of the recorded client that the dialect does not send."""
        self._early_responses: dict[str, Json] = {}
        """Responses that the recorded client sent before the dialect asks: it waits for the end of a message first."""
        self.play()
        if self.dialect.is_busy:
            self.end_process(*EXITS.get(name, (0, "")))
        self.runs.close()

    def translate(self, line: Json) -> bytes | None:
        if line.get("type") == "control_response" and line["response"]["request_id"] in self._foreign_requests:
            return None
        message = orjson.dumps(line)
        for recorded_id, dialect_id in self._replacements:
            message = message.replace(recorded_id, dialect_id)
        return message

    def repeat(self, line: Any) -> None:
        match line:
            case {"type": "user", "message": {"content": content}}:
                self._prompt(content, line.get("uuid"))
            case {"type": "control_request", "request_id": str(request_id), "request": dict(request)}:
                self._request(request_id, request["subtype"], request)
            case {"type": "control_response", "response": {"request_id": str(request_id), "response": dict(response)}}:
                self._respond(request_id, response)

    def add_events(self, events: list[Event], *, is_in_turn: bool) -> None:
        super().add_events(events, is_in_turn=is_in_turn)
        for request_id in list(self._early_responses) if self.interrupts else ():
            self._respond(request_id, self._early_responses.pop(request_id))

    def _prompt(self, content: Any, uuid: str | None) -> None:
        blocks = text(content) if isinstance(content, str) else [_block(part) for part in content]
        before = len(self.sent)
        self.prompt(Prompt(blocks, f"t{self.turn_number}"))
        [command] = self.sent[before:]
        if uuid is not None:
            self._replacements.append((uuid.encode(), command["uuid"].encode()))

    def _request(self, request_id: str, subtype: str, request: Json) -> None:
        match subtype:
            case "initialize":
                self.dialect.start_session(SessionStart("/workspace"))
            case "interrupt":
                self.runs.start()
                assert self.dialect.cancel()
            case "set_permission_mode" | "set_model" | "list_models":
                action, field = ACTIONS[subtype]
                self.dialect.start_action(action, {field: request[field]} if field else {})
            case _:
                self._foreign_requests.add(request_id)
                return
        own_ids = [command["request_id"] for command in self.collect_sent() if command["type"] == "control_request"]
        if not own_ids:  # a list of models that is known is not requested again
            self._foreign_requests.add(request_id)
        self._replacements += [(b'"%b"' % request_id.encode(), b'"%b"' % own_id.encode()) for own_id in own_ids]

    def _respond(self, request_id: str, response: Json) -> None:
        interrupt = next((known for name, known in self.interrupts.items() if name.endswith(request_id)), None)
        if interrupt is None:
            self._early_responses[request_id] = response
            return
        if response.get("interrupt") is True:
            del self.interrupts[interrupt.id]
            self.runs.start()
            assert self.dialect.cancel()
        else:
            self.answer(interrupt.id, _payload(interrupt, response))


def _block(part: Json) -> Json:
    if part["type"] == "text":
        return part
    return {"type": part["type"], "data": part["source"]["data"], "mimeType": part["source"]["media_type"]}


def _payload(interrupt: Interrupt, response: Json) -> Json:
    """The recorded answer as a client of the gateway gives it."""
    details = (interrupt.metadata or {})["claude"]
    if response["behavior"] == "deny":
        return {"approved": False, "feedback": response["message"]}
    if interrupt.reason == "input_required":
        return {f"question_{at}": answer for at, answer in enumerate(response["updatedInput"]["answers"].values())}
    edited = {"editedArgs": response["updatedInput"]} if response["updatedInput"] != details["input"] else {}
    return {"approved": True, **edited}


def replay_recording(name: str, cut: Cut = uncut) -> DialectReplay[Dialect]:
    if name.startswith("bidir-"):
        return ClaudeReplay(name, cut)
    lines = read_lines(TRANSCRIPTS / f"{name}.jsonl")
    exit_code, stderr = EXITS.get(name, (0, ""))
    is_cancelled = name.startswith("cancel-")
    return PrintReplay(ClaudePrint(), lines, exit_code=exit_code, stderr=stderr, is_cancelled=is_cancelled, cut=cut)


@cache
def replay_case(name: str) -> DialectReplay[Dialect]:
    """The whole recording, replayed once per worker."""
    return replay_recording(name)


def recording(name: str) -> tuple[Dialect, list[bytes]]:
    """A dialect in its first turn, and all messages of the agent."""
    dialect: Dialect = ClaudeDialect() if name.startswith("bidir-") else ClaudePrint()
    dialect.start_session(SessionStart("/workspace"))
    dialect.is_ready = True
    dialect.prompt(Prompt(text("hello"), "t1"))
    return dialect, replay_case(name).messages
