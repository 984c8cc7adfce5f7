"""Replays recordings of Copilot's SDK server: JSON-RPC in frames with a `Content-Length`."""

from __future__ import annotations

from functools import cache
from typing import Any

import orjson

from gateway.turn import Approvals
from gateway.wire.content_length import Frames, frame
from gateway.wire.dialects import Prompt, SessionStart
from gateway.wire.dialects.copilot import CopilotDialect
from gateway.wire.dialects.copilot.permissions import REQUEST_KINDS
from tests import replay
from tests.replay.harness import MAX_MESSAGE_BYTES, Cut, DialectReplay, Framing, Json, read_entries, uncut

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


@cache
def text_of(name: str) -> bytes:
    return (TRANSCRIPTS / f"{name}.jsonl").read_bytes()


class CopilotReplay(DialectReplay[CopilotDialect]):
    reads_one_by_one = False

    def __init__(self, name: str, cut: Cut = uncut) -> None:
        approvals: Approvals = "auto" if name in POLICY_CASES else "prompt"
        super().__init__(CopilotDialect(), read_entries(TRANSCRIPTS / f"{name}.jsonl"), approvals=approvals, cut=cut)
        self.log: list[tuple[str, Any]] = []
        """Calls of the dialect: `start_session`, `prompt`, `read`."""
        self.answers: list[tuple[Json, Json]] = []
        """Answers to interrupts: what was recorded, and what the dialect sent in its place."""
        self._options: Json = {}
        self.play()
        self.end_process()

    def make_framing(self) -> Framing:
        return Frames(MAX_MESSAGE_BYTES)

    def frame(self, message: bytes) -> bytes:
        return frame(message)

    def translate(self, line: Json) -> bytes | None:
        if "method" in line:
            return orjson.dumps(line)
        if self.ids.get(line["id"]) is None:
            self.flush()  # the dialect may have sent its request by itself
        own_id = self.ids.get(line["id"])
        return None if own_id is None else orjson.dumps({**line, "id": own_id})

    def read(self, batch: list[bytes]) -> None:
        self.log.append(("read", batch))
        super().read(batch)

    def repeat(self, line: Json) -> None:
        if "method" not in line:
            return
        method, params = line["method"], line.get("params", {})
        self._act(method, params)
        self.collect_sent()
        request = self.take_request(method)
        self.ids[line.get("id")] = None if request is None else request["id"]
        if method in ANSWER_FIELDS and request is not None:
            field = ANSWER_FIELDS[method]
            self.answers.append((params[field], request["params"][field]))

    def _act(self, method: str, params: Json) -> None:
        has_sent = any(request.get("method") == method for request in self.unmatched)
        if method in ("session.create", "session.resume", "sessions.fork") and not self.is_started:
            session_id = None if method == "session.create" else params["sessionId"]
            start = SessionStart("/workspace", session_id, fork=method == "sessions.fork")
            self.log.append(("start_session", start))
            self.dialect.start_session(start)
        elif method in OPTION_METHODS and self._precedes_prompt():
            self._options |= params
            if len(self._options) == len(params):
                self._prompt(self._first_send())
        elif method == "session.send" and not self._options:
            self._prompt(params)
        elif method == "session.send":
            self._options = {}
        elif method == "session.abort":
            self.dialect.cancel()
        elif method in ANSWER_FIELDS and not has_sent:
            interrupt_id = next(name for name in self.interrupts if name.endswith(params["requestId"]))
            self.answer(interrupt_id, _to_payload(params[ANSWER_FIELDS[method]]))
        elif method in ACTIONS:
            self.dialect.start_action(ACTIONS[method], {"model": params.get("modelId"), "mode": params.get("mode")})

    def _precedes_prompt(self) -> bool:
        """Whether the option belongs to a prompt: the next request that sets no option is the prompt."""
        methods = (request.get("method") for request in self.next_requests())
        return next((method for method in methods if method not in OPTION_METHODS), None) == "session.send"

    def _first_send(self) -> Json:
        """The params of the next prompt, with the options that are set before it."""
        params: Json = {}
        for request in self.next_requests():
            params |= request["params"]
            if request["method"] == "session.send":
                break
        return params

    def _prompt(self, params: Json) -> None:
        blocks: list[Json] = [{"type": "text", "text": params["prompt"]}]
        for attachment in params.get("attachments", []):
            blocks.append({"type": "image", "data": attachment["data"], "mimeType": attachment["mimeType"]})
        effort = params.get("reasoningEffort")
        prompt = Prompt(
            blocks,
            f"t{self.turn_number}",
            model=params.get("modelId"),
            mode=params.get("mode"),
            thinking={"reasoningEffort": effort} if effort else {},
            approvals=self.approvals,
        )
        self.log.append(("prompt", prompt))
        self.prompt(prompt)


def _to_payload(reply: Json) -> Any:
    """The user's answer that the recorded request carries; None: cancelled."""
    match reply:
        case {"kind": "user-not-available"} | {"action": "cancel"}:
            return None
        case {"kind": str(option)}:
            feedback = {"feedback": reply["feedback"]} if "feedback" in reply else {}
            return {"optionId": option, **feedback}
        case {"action": "accept", "content": content}:
            return content
        case {"approved": True, "selectedAction": str(action)}:
            return {"optionId": action}
        case _:
            return reply


@cache
def replay_case(name: str) -> CopilotReplay:
    """The whole recording, replayed once per worker."""
    return CopilotReplay(name)
