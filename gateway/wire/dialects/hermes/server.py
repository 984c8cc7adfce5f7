"""`hermes serve`: JSON-RPC over one WebSocket that serves all sessions; over stdio the same, a line for a message.

In: answers to our calls, and `{"method": "event", "params": {"type", "session_id", "payload"}}`. Out: events and calls.
Messages about other sessions are passed over unread: everybody on the connection hears everything.

Where Hermes is silent, its silence is read: a turn that is cancelled before its agent was built ends without a word,
and one that failed inside Hermes ends with an `error` and the session at rest. It also begins turns by itself, for a
process that ended or a goal: what it says in them is told with the next turn, and they never end one of ours.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from gateway.capability_paths import TITLE
from gateway.events import Custom, Event, Warning
from gateway.wire.dialects.base import NO_PARAMS, Prompt, SessionStart, parse_message
from gateway.wire.dialects.hermes.errors import broke
from gateway.wire.dialects.hermes.pending_permissions import Questions
from gateway.wire.dialects.hermes.session_state import facts_of
from gateway.wire.fields import non_empty, text

NOISE = {
    "gateway.ready": "the greeting, with colours for a terminal",
    "thinking.delta": "a spinner's words, no thoughts",
    "reasoning.available": "thoughts again, or the answer again where there were none",
    "tool.generating": "a call that has no id yet",
    "notification.clear": "a notice that is no longer shown",
    "reaction": "hearts",
    "agent.terminal.output": "of processes in the background; the call that reads them has it",
    "terminal.close": "likewise",
    "subagent.thinking": "a spinner's words, or the answer that its end tells whole",
    "subagent.progress": "names of calls that came one by one before",
    "sudo.expire": "Hermes went on without the answer",
    "secret.expire": "likewise",
}
"""Events without meaning for a client → why."""

TOLD = {
    "status.update": "hermes.status",
    "notification.show": "hermes.notice",
    "tool.output_risk": "hermes.tool_output_risk",
    "moa.reference": "hermes.reference",
    "moa.aggregating": "hermes.aggregating",
    "review.summary": "hermes.review",
    "background.complete": "hermes.background",
}
"""Events that AG-UI has no word for → the name of the CUSTOM event that hands them on."""

SUBAGENT = ("subagent_id", "parent_id", "goal", "tool_name", "tool_preview", "text", "status", "summary")
"""Of a subagent's doings: what is handed on."""


class Hermes(Questions):
    name = "hermes"
    actions = frozenset(("models", "fork", "set_model", "delete"))

    def __init__(self) -> None:
        super().__init__()
        self._tag = b""
        self._resting = True
        """It takes a prompt at once. It does not for a moment after a turn's last word."""
        self._begun = self._started = False
        """Of our turn: it was begun to be said; Hermes began it."""
        self._foreign = False
        """The turn that is under way is not ours."""
        self._ghost = False
        """A turn that was cancelled before it began; if it begins after all, it is stopped and passed over."""
        self._error: str | None = None

    # -- driven by the gateway

    def start_session(self, begin: SessionStart) -> None:
        self._tag = f'"{begin.tag}:'.encode()
        self._resting, self._foreign, self._ghost, self._error = True, False, False, None
        self.forget_questions()
        super().start_session(begin)

    def prompt(self, prompt: Prompt) -> None:
        self.start_turn(prompt)
        self.forget_questions()
        self._started, self._ghost, self._error = False, False, None
        self._foreign = self.open
        self.plan(prompt)
        self._begun = self._resting and not self._foreign
        if self._foreign:
            self._interrupt()  # the human's turn goes first
        elif self._begun:
            self.step()

    def cancel(self) -> bool:
        self.is_cancelled = True
        self._interrupt()
        return True

    def _interrupt(self) -> None:
        self.call("session.interrupt", {"session_id": self.live}, self._interrupted)

    def _interrupted(self, result: Any, error: Any) -> list[Event]:
        """What has not begun by now never will, or is a ghost."""
        if not self.is_busy or not self.is_cancelled or self._started:
            return []
        self._ghost = self.submitted
        return self.end_turn("cancelled")

    def start_action(self, action: str, params: Mapping[str, Any] = NO_PARAMS) -> str:
        ticket = self.ticket(action)
        match action:
            case "models":
                self.list_models(lambda listed: self.replied(ticket, listed))
            case "fork":
                self.fork(ticket)
            case "set_model":
                self.set_model(ticket, str(params.get("model") or ""))
            case "delete":
                self.delete(ticket)
        return ticket

    # -- what comes

    def read(self, messages: Sequence[bytes]) -> list[Event]:
        found: list[Event] = []
        for message in messages:
            if self.mark not in message and self._tag not in message:
                continue
            told = parse_message(message)
            if type(told) is not dict:
                continue
            params = told.get("params")
            if type(params) is not dict:
                found += self.answered(told)
            elif params.get("session_id") == self.live:
                found += self._event(params.get("type"), params.get("payload"))
        return found

    def _event(self, kind: Any, told: Any) -> list[Event]:
        payload: dict[str, Any] = told if type(told) is dict else {}
        if type(kind) is not str:
            return [self.to_raw({"type": kind, "payload": told})]
        if self._ghost and kind not in ("message.start", "message.complete", "session.info"):
            return []
        if (read := READERS.get(kind)) is not None:
            found = read(self, payload)
            return [self.to_raw({"type": kind, "payload": told})] if found is None else found
        if kind in NOISE:
            return []
        if kind in TOLD:
            return [Custom(TOLD[kind], payload)]
        if kind.startswith("subagent."):
            return self._subagent(kind, payload)
        return [self.to_raw({"type": kind, "payload": told})]

    def _subagent(self, kind: str, payload: dict[str, Any]) -> list[Event]:
        """One that works on in the background may outlive the turn: its end is then just told."""
        found = self.speech.subagent(kind.removeprefix("subagent."), payload) if self.is_busy else None
        shown = {key: payload[key] for key in SUBAGENT if key in payload}
        return [Custom("hermes.subagent", {"type": kind, **shown})] if found is None else found

    def _title(self, payload: dict[str, Any]) -> list[Event] | None:
        title = non_empty(payload.get("title"))
        if title is None:
            return None
        self.session_layer[TITLE] = title
        return [Custom("session.info", {"title": title})]

    # -- a turn's beginning and end

    def _message_began(self, payload: dict[str, Any]) -> list[Event]:
        self.open, self._resting = True, False
        if self._ghost or (self.is_busy and self.is_cancelled):
            self._interrupt()  # the first one came too early to be heard
        if self.is_busy and not self._foreign:
            self._started = True
        closed = self.speech.end_text()
        self.speech.begin_turn()
        return closed

    def _message_ended(self, payload: dict[str, Any]) -> list[Event]:
        self.open = False
        used = self.totals.difference(payload.get("usage"), self.provider)
        spent: list[Event] = [] if used is None else [used]
        if self._ghost:
            self._ghost = False
            return spent
        if not self.is_busy or self._foreign:
            self._foreign = False
            return [*self.speech.last({} if payload.get("status") == "error" else payload), *spent]
        return [*spent, *self._conclude(payload)]

    def _conclude(self, payload: dict[str, Any]) -> list[Event]:
        self.forget_questions()
        match payload.get("status"):
            case "error" if not self.is_cancelled:
                self.is_busy = False
                return [*self.speech.end_text(), broke(text(payload.get("text")) or "the model failed")]
            case "interrupted" | "error":
                return [*self.speech.end_text(), *self.end_turn("cancelled")]
            case _:
                warning = non_empty(payload.get("warning"))
                notes: list[Event] = [Warning("HISTORY", warning)] if warning else []
                return [*self.speech.last(payload), *notes, *self.end_turn()]

    def _info(self, payload: dict[str, Any]) -> list[Event]:
        self.session_layer |= facts_of(payload)
        self.provider = non_empty(payload.get("provider")) or self.provider
        if (version := non_empty(payload.get("version"))) is not None:
            self.handshake_layer["identity.version"] = version
        if (stored := non_empty(payload.get("stored_session_id"))) is not None:
            self.session_id = stored  # after a compression it goes on under a new one
        return self._at_rest() if payload.get("running") is False else []

    def _at_rest(self) -> list[Event]:
        silent, self.open, self._resting = self.open, False, True
        if not self.is_busy:
            return []
        if silent and self._started:
            return self._broke_inside()
        self._foreign = False
        if not self._begun:
            self._begun = True
            self.step()
        return []

    def _broke_inside(self) -> list[Event]:
        """No `message.complete` came, and none will."""
        if self.is_cancelled:
            return [*self.speech.end_text(), *self.end_turn("cancelled")]
        self.is_busy = False
        words = self._error or "the turn ended without an answer"
        return [*self.speech.end_text(), broke(words, fallback="AGENT_ERROR")]

    def _errored(self, payload: dict[str, Any]) -> list[Event] | None:
        """Inside a turn it may be the end or just a notice: the session at rest tells. Before one it is the end."""
        words = non_empty(payload.get("message"))
        if words is None:
            return None
        known, self._error = self._error, words
        if not self.is_busy:
            return [] if known is not None and words in known else [Warning("AGENT_ERROR", words)]
        if self._started or self._foreign or not self.submitted:
            return []
        if self.is_cancelled:
            return self.end_turn("cancelled")
        self.is_busy = False
        return [broke(words.removeprefix("agent init failed: "), fallback="AGENT_ERROR")]

    def asked(self, kind: str, payload: dict[str, Any]) -> list[Event]:
        heard = self.is_busy and not self._foreign and not self.is_cancelled
        return self.ask(kind, payload, heard=heard)


Reader = Callable[[Hermes, dict[str, Any]], list[Event] | None]

READERS: dict[str, Reader] = {
    "message.delta": lambda hermes, payload: hermes.speech.delta(payload),
    "reasoning.delta": lambda hermes, payload: hermes.speech.thought(payload),
    "message.start": Hermes._message_began,
    "message.interim": lambda hermes, payload: hermes.speech.interim(payload),
    "message.complete": Hermes._message_ended,
    "tool.start": lambda hermes, payload: hermes.speech.call_began(payload),
    "tool.complete": lambda hermes, payload: hermes.speech.call_done(payload),
    "approval.request": lambda hermes, payload: hermes.asked("approval", payload),
    "clarify.request": lambda hermes, payload: hermes.asked("clarify", payload),
    "sudo.request": lambda hermes, payload: hermes.asked("sudo", payload),
    "secret.request": lambda hermes, payload: hermes.asked("secret", payload),
    "terminal.read.request": lambda hermes, payload: hermes.read_terminal(payload),
    "session.info": Hermes._info,
    "session.title": Hermes._title,
    "error": Hermes._errored,
}
"""Event → its reader; None from it: a payload that is not what it should be."""
