"""The WebSocket of `openclaw gateway run`: one connection that serves all sessions.

In: `{"type": "res", "id", "ok", "payload" | "error"}` and `{"type": "event", "event", "payload"}`. Out: events, and
requests. A turn is one run of the session; its request is answered twice, and the second answer is its end. After an
abort both an `end` and an `error` come before that, and mean nothing more. Runs of other sessions (heartbeats, cron,
channels) are passed over unread; what another run says in this session is told, but never ends a turn.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from gateway.capability_paths import MODEL
from gateway.events import Custom, Event, InterruptRequested, Warning
from gateway.turn import Answer
from gateway.wire.dialects.base import NO_PARAMS, Prompt, SessionStart, parse_message
from gateway.wire.dialects.openclaw.attachments import attachments
from gateway.wire.dialects.openclaw.errors import broke, words_of
from gateway.wire.dialects.openclaw.permissions import REQUESTS, Pending, by_policy, question, reply, session_of
from gateway.wire.dialects.openclaw.rpc_calls import Then, nothing
from gateway.wire.dialects.openclaw.session_state import model_list
from gateway.wire.dialects.openclaw.sessions import CONNECT, MODES, Sessions
from gateway.wire.dialects.openclaw.turn_events import Speech
from gateway.wire.dialects.openclaw.usage import spent
from gateway.wire.fields import items, non_empty, obj, text

NOISE = {
    "chat": "the same words as `agent`, a second time",
    "task": "a row of a task list",
    "session.tool": "calls a second time, for who watches sessions",
    "session.message": "messages a second time, likewise",
    "session.operation": "a row of a list of operations",
    "sessions.changed": "a list of sessions to be fetched again",
    "chat.metadata.changed": "likewise",
}
"""Events about this session that have no meaning for a client → why. Others about everybody never come so far."""

RESOLVED = {event.replace(".requested", ".resolved") for event in REQUESTS}

STOPS = {"length": "max_tokens", "max_tokens": "max_tokens", "refusal": "refusal", "content_filter": "refusal"}
"""Why the model stopped → ACP's word for it; any other is `end_turn`."""


class OpenClaw(Sessions):
    name = "openclaw"
    actions = frozenset(("models", "fork", "set_model", "set_mode", "delete"))

    def __init__(self) -> None:
        super().__init__()
        self._tag = b""
        self._speech = Speech(self.qualify_id)
        self._run: str | None = None
        """Of our turn, by OpenClaw's name."""
        self._heard: str | None = None
        """The run that spoke last."""
        self._pending: dict[str, Pending] = {}
        self._left_out: list[Warning] = []

    # -- driven by the gateway

    def start_session(self, begin: SessionStart) -> None:
        self._tag = f'"{begin.tag}:'.encode()
        self._run = self._heard = None
        self._pending.clear()
        super().start_session(begin)

    def prompt(self, prompt: Prompt) -> None:
        self.start_turn(prompt)
        self._pending.clear()
        self._run = f"{self.session_id}:{prompt.id_prefix}"
        mode = prompt.mode or self.permission
        if mode in MODES and mode != self.permission:
            self._patch({"permissionMode": mode}, self._allowed(mode))
        else:
            self._submit()

    def _allowed(self, mode: str) -> Then:
        def then(payload: dict[str, Any], error: Any) -> list[Event]:
            if error is not None:
                return self._break(f"the session's mode cannot be {mode}: {words_of(error)}")
            self.permits(mode)
            self._submit()
            return []

        return then

    def _submit(self) -> None:
        if not self.is_busy:
            return
        given, self._left_out = attachments(self.turn.blocks)
        params: dict[str, Any] = {
            "message": self.turn.text or "See the attachments.",
            "sessionKey": self.session_id,
            "idempotencyKey": self._run,
        }
        if given:
            params["attachments"] = given
        if self.turn.model is not None:
            provider, slash, model = self.turn.model.partition("/")
            params |= {"provider": provider, "model": model} if slash else {"model": provider}
        if isinstance(level := self.turn.thinking.get("thinking"), str):
            params["thinking"] = level
        self.call("agent", params, self._ran)

    def cancel(self) -> bool:
        self.is_cancelled = True
        self._abort()
        return True

    def _abort(self) -> None:
        self.call("chat.abort", {"sessionKey": self.session_id, "runId": self._run}, nothing)

    def start_action(self, action: str, params: Mapping[str, Any] = NO_PARAMS) -> str:
        ticket = self.ticket(action)
        match action:
            case "models":
                self.call("models.list", {}, self.replying(ticket, "models.list", model_list))
            case "fork":
                self.fork(ticket)
            case "set_model":
                self._patch({"model": params.get("model")}, self.replying(ticket, "sessions.patch"))
            case "set_mode":
                self._set_mode(ticket, non_empty(params.get("mode")))
            case "delete":
                self.delete(ticket)
        return ticket

    def _set_mode(self, ticket: str, mode: str | None) -> None:
        then = self.replying(ticket, "sessions.patch")

        def patched(payload: dict[str, Any], error: Any) -> list[Event]:
            self.permits(mode if error is None else self.permission)
            return then(payload, error)

        self._patch({"permissionMode": mode}, patched)

    def _patch(self, changes: dict[str, Any], then: Then) -> None:
        self.call("sessions.patch", {"key": self.session_id, **changes}, then)

    # -- what comes

    def read(self, messages: Sequence[bytes]) -> list[Event]:
        found: list[Event] = []
        for message in messages:
            if self.mark not in message and self._tag not in message and not self._concerns(message):
                continue
            told = parse_message(message)
            if type(told) is not dict:
                continue
            if told.get("type") == "event":
                found += self._event(told.get("event"), told.get("payload"))
            elif told.get("id") == CONNECT:
                self.connected(told)
            elif told.get("type") == "res":
                found += self.answered(told)
        return found

    def _concerns(self, message: bytes) -> bool:
        """It names no session: the greeting, and what came of questions."""
        return b'"id":"connect"' in message or (bool(self._pending) and b'.resolved"' in message)

    def _event(self, name: Any, payload: Any) -> list[Event]:
        if type(payload) is not dict or type(name) is not str:
            return []
        if name == "agent":
            return self._spoke(payload) if payload.get("sessionKey") == self.session_id else []
        if name in REQUESTS:
            return self._asked(name, payload)
        if name in RESOLVED:
            return self._withdrawn(payload)
        if name in NOISE or self.session_id not in (payload.get("sessionKey"), payload.get("key")):
            return []
        return [self.to_raw({"event": name, "payload": payload})]

    def _spoke(self, payload: dict[str, Any]) -> list[Event]:
        stream, data, run = payload.get("stream"), payload.get("data"), text(payload.get("runId"))
        if type(stream) is not str or type(data) is not dict:
            return [self.to_raw({"event": "agent", "payload": payload})]
        ended: list[Event] = []
        if run != self._heard:
            ended = self._speech.end_text()
            self._speech.begin_run()
            self._heard = run
        if stream == "lifecycle":
            return [*ended, *self._moment(data, ours=run == self._run)]
        found = self._speech.read(stream, data)
        unread = {"event": "agent", "payload": {"stream": stream, "data": data}}
        return [*ended, self.to_raw(unread)] if found is None else [*ended, *found]

    def _moment(self, data: dict[str, Any], *, ours: bool) -> list[Event]:
        match data.get("phase"):
            case "start" if ours and self.is_busy and self.is_cancelled:
                self._abort()  # the first one came before there was anything to stop
            case "model" if (model := non_empty(data.get("model"))) is not None:
                self.session_layer[MODEL] = f"{non_empty(data.get('provider')) or ''}/{model}".lstrip("/")
            case "end" | "error" if not ours:
                return self._speech.end_text()
        return []

    def _ran(self, payload: dict[str, Any], error: Any) -> list[Event]:
        """Both answers to a run's request."""
        if error is None and payload.get("status") == "accepted":
            return self._accepted()
        if not self.is_busy:
            return []
        self._pending.clear()
        ended = self._speech.end_text()
        if self.is_cancelled or payload.get("summary") == "aborted":
            return [*ended, *self.end_turn("cancelled")]
        if error is not None or payload.get("status") not in ("ok", None):
            words = words_of(error) if error is not None else text(payload.get("summary")) or "the run failed"
            return [*ended, *self._break(words)]
        return [*ended, *self._concluded(obj(payload.get("result")))]

    def _accepted(self) -> list[Event]:
        if self.is_busy and self.is_cancelled:
            self._abort()
        left_out, self._left_out = self._left_out, []
        return list(left_out)

    def _concluded(self, result: dict[str, Any]) -> list[Event]:
        found: list[Event] = []
        if not self._speech.spoke or self._heard != self._run:
            words = [said for one in items(result.get("payloads")) if (said := non_empty(one.get("text")))]
            found += self._speech.whole("\n\n".join(words)) if words else []
        meta = obj(result.get("meta"))
        agent = obj(meta.get("agentMeta"))
        found += spent(agent.get("usage"), agent.get("provider"), agent.get("model"), agent.get("costUsd"))
        return [*found, *self.end_turn(STOPS.get(str(meta.get("stopReason")), "end_turn"))]

    def _break(self, words: str) -> list[Event]:
        if not self.is_busy:
            return []
        self.is_busy = False
        return [broke(words)]

    # -- questions

    def _asked(self, event: str, payload: dict[str, Any]) -> list[Event]:
        session, run = session_of(payload)
        asked = non_empty(payload.get("id"))
        if session != self.session_id or asked is None:
            return []
        pending = Pending(event, asked, payload)
        if not self.is_busy or self.is_cancelled or (run is not None and run != self._run):
            return []  # another run's: whoever began that is asked
        decided = by_policy(pending, self.turn.approvals)
        if decided is not None:
            self.call(*reply(pending, decided), nothing)
            return []
        question_id = self.qualify_id(asked)
        self._pending[question_id] = pending
        call = self._speech.calls.get(pending.call_id or "")
        asking = question(question_id, pending, call.id if call is not None else None)
        return [*self._speech.end_text(), InterruptRequested((asking,))]

    def answer(self, question_id: str, answer: Answer) -> None:
        if (pending := self._pending.pop(question_id, None)) is not None:
            self.call(*reply(pending, answer), nothing)

    def _withdrawn(self, payload: dict[str, Any]) -> list[Event]:
        """It was answered elsewhere, or nobody answered in time."""
        gone = [known for known, pending in self._pending.items() if pending.id == payload.get("id")]
        for known in gone:
            del self._pending[known]
        return [Custom("openclaw.question_withdrawn", {"id": known}) for known in gone]
