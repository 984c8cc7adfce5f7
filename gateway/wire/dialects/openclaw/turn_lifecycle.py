"""The run of a turn: sent, accepted, read, stopped, ended.

In: the prompt, `agent` events, the two responses to the run's request. Out: the request, events, the end of the turn.
The first response says that the run is accepted, the second ends the turn. After an abort both an `end` and an `error`
come before it, and are ignored. The output of another run in this session is sent, but never ends a turn.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from gateway.events import Event, Warning
from gateway.wire.dialects.base import Dialect
from gateway.wire.dialects.openclaw.attachments import read_attachments
from gateway.wire.dialects.openclaw.errors import error_message, to_turn_failed
from gateway.wire.dialects.openclaw.exec import join_payloads
from gateway.wire.dialects.openclaw.sessions import Call
from gateway.wire.dialects.openclaw.turn_events import TurnEvents
from gateway.wire.dialects.openclaw.usage import read_usage
from gateway.wire.fields import non_empty, obj, text

STOP_REASONS = {"length": "max_tokens", "max_tokens": "max_tokens", "refusal": "refusal", "content_filter": "refusal"}
"""Why the model stopped → ACP's stop reason; any other is `end_turn`.
https://agentclientprotocol.com/protocol/prompt-turn"""


class TurnLifecycle:
    """`on_model` is called with the model that a run reports, as `provider/model`."""

    def __init__(self, dialect: Dialect, call: Call, events: TurnEvents, on_model: Callable[[str], None]) -> None:
        self._dialect = dialect
        self._call = call
        self._events = events
        self._on_model = on_model
        self._warnings: list[Warning] = []
        self.run_id: str | None = None
        """OpenClaw's id of the turn's run."""
        self._current_run_id: str | None = None
        """The run whose events came last."""

    def reset(self) -> None:
        """A new process."""
        self.run_id = None
        self._current_run_id = None

    def start(self) -> None:
        """A turn starts; `submit` sends it."""
        self.run_id = f"{self._dialect.session_id}:{self._dialect.turn.id_prefix}"

    def submit(self) -> None:
        if not self._dialect.is_busy:
            return
        prompt = self._dialect.turn
        attachments, self._warnings = read_attachments(prompt.blocks)
        params: dict[str, Any] = {
            "message": prompt.text or "See the attachments.",
            "sessionKey": self._dialect.session_id,
            "idempotencyKey": self.run_id,
        }
        if attachments:
            params["attachments"] = attachments
        if prompt.model is not None:
            provider, slash, model = prompt.model.partition("/")
            params |= {"provider": provider, "model": model} if slash else {"model": provider}
        if isinstance(level := prompt.thinking.get("thinking"), str):
            params["thinking"] = level
        self._call("agent", params, self._read_response)

    def abort(self) -> None:
        params = {"sessionKey": self._dialect.session_id, "runId": self.run_id}
        self._call("chat.abort", params, lambda payload, error: [])

    def fail(self, message: str) -> list[Event]:
        return self._dialect.fail_turn(to_turn_failed(message)) if self._dialect.is_busy else []

    # -- events of runs

    def read_event(self, payload: dict[str, Any]) -> list[Event] | None:
        """An `agent` event; None: it cannot be read."""
        stream = payload.get("stream")
        data = payload.get("data")
        run_id = text(payload.get("runId"))
        if not isinstance(stream, str) or not isinstance(data, dict):
            return None
        closed: list[Event] = []
        if run_id != self._current_run_id:
            closed = self._events.close_text()
            self._events.begin_run()
            self._current_run_id = run_id
        if stream == "lifecycle":
            return [*closed, *self._read_lifecycle(data, is_turn=run_id == self.run_id)]
        events = self._events.read(stream, data)
        if events is None:
            raw = {"event": "agent", "payload": {"stream": stream, "data": data}}
            return [*closed, self._dialect.to_raw(raw)]
        return [*closed, *events]

    def _read_lifecycle(self, data: dict[str, Any], *, is_turn: bool) -> list[Event]:
        match data.get("phase"):
            case "start" if is_turn and self._dialect.is_busy and self._dialect.is_cancelled:
                self.abort()  # the first request came before there was a run to stop
            case "model" if (model := non_empty(data.get("model"))) is not None:
                self._on_model(f"{non_empty(data.get('provider')) or ''}/{model}".lstrip("/"))
            case "end" | "error" if not is_turn:
                return self._events.close_text()
        return []

    # -- the turn's end

    def _read_response(self, payload: dict[str, Any], error: Any) -> list[Event]:
        """Both responses to a run's request."""
        if error is None and payload.get("status") == "accepted":
            return self._read_accepted()
        if not self._dialect.is_busy:
            return []
        closed = self._events.close_text()
        if self._dialect.is_cancelled or payload.get("summary") == "aborted":
            return [*closed, *self._dialect.end_turn("cancelled")]
        if error is not None:
            return [*closed, *self.fail(error_message(error))]
        if payload.get("status") not in ("ok", None):
            return [*closed, *self.fail(text(payload.get("summary")) or "the run failed")]
        return [*closed, *self._conclude(obj(payload.get("result")))]

    def _read_accepted(self) -> list[Event]:
        if self._dialect.is_busy and self._dialect.is_cancelled:
            self.abort()
        warnings = self._warnings
        self._warnings = []
        return list(warnings)

    def _conclude(self, result: dict[str, Any]) -> list[Event]:
        events: list[Event] = []
        if not self._events.has_answer or self._current_run_id != self.run_id:
            answer = join_payloads(result)
            events += self._events.send_answer(answer) if answer else []
        meta = obj(result.get("meta"))
        agent = obj(meta.get("agentMeta"))
        events += read_usage(agent.get("usage"), agent.get("provider"), agent.get("model"), agent.get("costUsd"))
        return [*events, *self._dialect.end_turn(STOP_REASONS.get(text(meta.get("stopReason")) or "", "end_turn"))]
