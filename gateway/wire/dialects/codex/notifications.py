"""Notifications of `codex app-server` → events.

In: a method and its parameters. Out: events, and what is known of the thread and of its turn. What is told about a
thread that is neither the session's own nor one of its subagents' is somebody else's, and left alone.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from gateway.capability_paths import EFFORT, MODEL, PROVIDER, TITLE
from gateway.errors import AgentFault
from gateway.events import Custom, Event, TurnFailed, UserMessageAccepted
from gateway.wire.dialects.base import Dialect, Prompt
from gateway.wire.dialects.codex import session_state
from gateway.wire.dialects.codex.errors import turn_fault
from gateway.wire.dialects.codex.ignored_notifications import NOISE, TOLD
from gateway.wire.dialects.codex.items import Lane
from gateway.wire.dialects.codex.subagents import Family
from gateway.wire.dialects.codex.tool_calls import changes
from gateway.wire.dialects.codex.usage import Book
from gateway.wire.fields import count, items, non_empty, obj, present, text

Params = dict[str, Any]
Found = list[Event] | None
"""None: the message lacks what makes sense of it."""


class Hearing(Dialect):
    """The half of the dialect that listens."""

    def __init__(self) -> None:
        super().__init__()
        self.family = Family()
        self.told: list[Event] = []
        """Waits for the next `read`."""
        self.turn_id: str | None = None
        """Codex's own id of the turn, as soon as it is known."""
        self.running = False
        """…and it can be interrupted."""
        self.model: str | None = None
        self.provider: str | None = None
        self.effort: str | None = None
        self._book = Book()
        self._error: Any = None
        self._diff = ""
        self._past: set[str] = set()
        """Turns that are over."""
        self._warned: set[str] = set()
        self.tool_names: dict[str, str] = {}
        """Codex's names of the client's own tools → theirs."""
        self.words: dict[str, UserMessageAccepted] = {}
        """For the turn under way, by the ids that Codex was given with them: it has not taken them up."""

    # -- for the half that speaks

    def interrupt(self) -> None:
        raise NotImplementedError

    def resolved(self, request_id: Any) -> None:
        raise NotImplementedError

    def learn(self, told: dict[str, Any]) -> None:
        """None: no longer, or nobody knows."""
        self.session_layer.update({path: value for path, value in told.items() if value is not None})
        for path in [path for path, value in told.items() if value is None]:
            self.session_layer.pop(path, None)
        self.model = self.session_layer.get(MODEL)
        self.provider = self.session_layer.get(PROVIDER)
        self.effort = self.session_layer.get(EFFORT)

    def opened(self, thread_id: str, result: Params, *, new: bool) -> None:
        if thread_id != self.session_id:
            self._book = Book({} if new else None)
        self.session_id = thread_id
        self.turn_id, self.running = None, False
        self.learn(session_state.of_thread(result))

    def hear_turn(self, prompt: Prompt) -> None:
        self.family.begin(prompt.id_prefix)
        self.turn_id, self.running, self._error, self._diff = None, False, None, ""
        self.words.clear()

    def turn_known(self, turn: Params) -> None:
        if (turn_id := non_empty(turn.get("id"))) is not None and turn_id not in self._past:
            self.turn_id = turn_id
            self.family.turns.add(turn_id)

    def refused(self, fault: AgentFault) -> list[Event]:
        """The turn never began."""
        if not self.is_busy:
            return []
        return self.end_turn() if self.is_cancelled else self._broke(fault.detail, fault.code)

    def concerns(self, thread_id: Any) -> bool:
        return thread_id == self.session_id or self.family.child(thread_id) is not None

    def lane_of(self, thread_id: Any) -> tuple[Lane, list[Event]]:
        child = None if thread_id == self.session_id else self.family.child(thread_id)
        return (self.family.main, []) if child is None else self.family.lane(child)

    # -- what is heard

    def hear(self, method: str, params: Params) -> Found:
        if method in NOISE:
            return []
        thread_id = params.get("threadId")
        if not isinstance(thread_id, str | None):
            return None
        if method == "turn/started" and not self.concerns(thread_id):
            self.family.met_turn(thread_id, obj(params.get("turn")))
        if thread_id is not None and not self.concerns(thread_id):
            return []
        if (read := HANDLERS.get(method)) is not None:
            return read(self, params)
        name = TOLD.get(method)
        if name is None:
            return None
        lane, found = self.lane_of(thread_id)
        value = {key: value for key, value in params.items() if key != "threadId"}
        call = lane.call_id(params.get("itemId"))
        return [*found, Custom(name, {"method": method, **value, **present({"toolCallId": call})}, lane.subagent)]

    def _item(self, params: Params, moment: Callable[[Lane, Params], Found]) -> Found:
        item = obj(params.get("item"))
        if non_empty(item.get("id")) is None or non_empty(item.get("type")) is None:
            return None
        if item["type"] == "dynamicToolCall" and item.get("namespace") is None:
            name = text(item.get("tool")) or ""
            item = {**item, "tool": self.tool_names.get(name, name)}
        lane, found = self.lane_of(params.get("threadId"))
        told = moment(lane, item)
        owner = None if lane.subagent is None else text(params.get("threadId"))
        self.family.met(item, owner, lane)
        return None if told is None else [*found, *told]

    def _started(self, params: Params) -> Found:
        words = self.words.pop(text(obj(params.get("item")).get("clientId")) or "", None)
        found = self._item(params, Lane.started)
        return found if words is None or found is None else [*found, words]

    def _completed(self, params: Params) -> Found:
        return self._item(params, Lane.completed)

    def _delta(self, params: Params, told: Callable[[Lane, str, str], Found], key: str = "delta") -> Found:
        item_id, delta = non_empty(params.get("itemId")), text(params.get(key))
        if item_id is None or delta is None:
            return None
        lane, found = self.lane_of(params.get("threadId"))
        events = told(lane, item_id, delta) if delta else []
        return None if events is None else [*found, *events]

    def _text(self, params: Params) -> Found:
        return self._delta(params, lambda lane, item, delta: [lane.text(item, delta)])

    def _summary(self, params: Params) -> Found:
        part = f"s{count(params.get('summaryIndex')) or 0}"
        return self._delta(params, lambda lane, item, delta: [lane.thought(item, part, delta)])

    def _content(self, params: Params) -> Found:
        part = f"c{count(params.get('contentIndex')) or 0}"
        return self._delta(params, lambda lane, item, delta: [lane.thought(item, part, delta)])

    def _output(self, params: Params) -> Found:
        return self._delta(params, Lane.output)

    def _progress(self, params: Params) -> Found:
        return self._delta(params, Lane.progress, "message")

    def _patch(self, params: Params) -> Found:
        """The change grows while the model writes it; what it is in the end, the call's result says."""
        lane, found = self.lane_of(params.get("threadId"))
        call = lane.call_id(params.get("itemId"))
        return [*found, Custom("codex.patch", present({"toolCallId": call, "changes": changes(params)}), lane.subagent)]

    def _plan(self, params: Params) -> Found:
        if not isinstance(params.get("plan"), list):
            return None
        lane, found = self.lane_of(params.get("threadId"))
        entries = [{"content": step.get("step"), "status": _status(step)} for step in items(params["plan"])]
        return [*found, *lane.plans.show_entries(entries)]

    def _changed(self, params: Params) -> Found:
        """The whole difference so far, told again and again."""
        diff = text(params.get("diff"))
        if diff is None:
            return None
        if diff == self._diff or params.get("threadId") != self.session_id:
            return []
        self._diff = diff
        return [Custom("codex.diff", {"diff": diff})]

    def _counted(self, params: Params) -> Found:
        usage = obj(params.get("tokenUsage"))
        child = None if params.get("threadId") == self.session_id else self.family.child(params.get("threadId"))
        if child is None:
            self.learn(session_state.of_usage(usage))
            if not self.is_busy or self.turn_id is None or params.get("turnId") != self.turn_id:
                self._book.note(usage.get("total"))  # of turns that were before: a thread that comes back tells it
                return []
        book = self._book if child is None else child.book
        used = book.read(usage.get("total"), usage.get("last"), self.model, self.provider)
        return [] if used is None else [used]

    # -- turns

    def _turn_started(self, params: Params) -> Found:
        if params.get("threadId") != self.session_id:
            return self.lane_of(params.get("threadId"))[1]
        self.turn_known(obj(params.get("turn")))
        if self.is_busy and self.turn_id is not None:
            self.running = True
            if self.is_cancelled:
                self.interrupt()
        return []

    def _turn_completed(self, params: Params) -> Found:
        turn = obj(params.get("turn"))
        child = None if params.get("threadId") == self.session_id else self.family.child(params.get("threadId"))
        if child is not None:
            return self.family.ended(child, turn)
        turn_id = non_empty(turn.get("id"))
        if turn_id is None or turn.get("status") not in ("completed", "interrupted", "failed"):
            return None
        # Codex may work unasked between our turns: what it has begun by itself is not the one that we wait for.
        ours = turn_id == self.turn_id or (self.turn_id is None and turn_id not in self.family.turns)
        self._past.add(turn_id)
        if not self.is_busy or not ours:
            return []
        self.running = False
        return self._over(turn)

    def _over(self, turn: Params) -> list[Event]:
        stopped = self.is_cancelled or turn["status"] == "interrupted"
        found = self.family.rest(cancelled=stopped)
        if turn["status"] == "failed" and not stopped:
            return [*found, *self._broke(*turn_fault(turn.get("error") or self._error))]
        if stopped:
            return [*found, *self.end_turn("cancelled")]
        return [*found, *self.end_turn(result=self.family.main.fitted(self.turn.output_schema))]

    def _broke(self, words: str, code: str) -> list[Event]:
        self.is_busy = False
        return [TurnFailed(words, code)]

    def _failed(self, params: Params) -> Found:
        """What is tried again is no end; what is not is told once more, as the end of the turn."""
        words, code = turn_fault(params.get("error"))
        if params.get("willRetry") is True:
            return [self.make_warning("MODEL_RETRY", words, reason=code)]
        if params.get("threadId") == self.session_id:
            self._error = params.get("error")
        return []

    # -- the rest

    def _warning(self, params: Params) -> Found:
        """Once: Codex says it again in every turn, and for every subagent."""
        words = non_empty(params.get("message"))
        if words is None or words in self._warned:
            return None if words is None else []
        self._warned.add(words)
        return [self.make_warning("AGENT_WARNING", words)]

    def _server_status(self, params: Params) -> Found:
        self.learn(session_state.of_server(self.session_layer, params))
        if params.get("status") != "failed":
            return []
        name, why = text(params.get("name")) or "", text(params.get("error")) or "no reason given"
        return [self.make_warning("MCP_SERVER_FAILED", f"the MCP server {name!r} did not start: {why}", server=name)]

    def _settings(self, params: Params) -> Found:
        if params.get("threadId") == self.session_id:
            self.learn(session_state.of_settings(obj(params.get("threadSettings"))))
        return []

    def _renamed(self, params: Params) -> Found:
        if params.get("threadId") == self.session_id:
            self.learn(present({TITLE: text(params.get("threadName"))}))
        return []

    def _rerouted(self, params: Params) -> Found:
        model = non_empty(params.get("toModel"))
        if params.get("threadId") == self.session_id and model is not None:
            self.learn({MODEL: model})
        told = {"model": model, "instead": non_empty(params.get("fromModel")), "reason": params.get("reason")}
        return [self.make_warning("MODEL_REROUTED", "the provider answers with another model", **present(told))]

    def _resolved(self, params: Params) -> Found:
        self.resolved(params.get("requestId"))
        return []


def _status(step: Params) -> str | None:
    """In ACP's words."""
    told = text(step.get("status"))
    return "in_progress" if told == "inProgress" else told


HANDLERS: dict[str, Callable[[Hearing, Params], Found]] = {
    "item/agentMessage/delta": Hearing._text,
    "item/plan/delta": Hearing._text,
    "item/reasoning/summaryTextDelta": Hearing._summary,
    "item/reasoning/textDelta": Hearing._content,
    "item/started": Hearing._started,
    "item/completed": Hearing._completed,
    "item/commandExecution/outputDelta": Hearing._output,
    "item/mcpToolCall/progress": Hearing._progress,
    "item/fileChange/patchUpdated": Hearing._patch,
    "turn/plan/updated": Hearing._plan,
    "turn/diff/updated": Hearing._changed,
    "turn/started": Hearing._turn_started,
    "turn/completed": Hearing._turn_completed,
    "thread/tokenUsage/updated": Hearing._counted,
    "thread/settings/updated": Hearing._settings,
    "thread/name/updated": Hearing._renamed,
    "error": Hearing._failed,
    "warning": Hearing._warning,
    "guardianWarning": Hearing._warning,
    "mcpServer/startupStatus/updated": Hearing._server_status,
    "model/rerouted": Hearing._rerouted,
    "serverRequest/resolved": Hearing._resolved,
}
