"""Notifications of `codex app-server` → events.

In: a method and its parameters. Out: events, and changes of the session layer and the turn. A notification about a
thread of another session is ignored.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from gateway.capability_paths import MODEL, PROVIDER, TITLE
from gateway.events import Custom, Event
from gateway.wire.dialects.base import Dialect
from gateway.wire.dialects.codex.client_tools import ClientTools
from gateway.wire.dialects.codex.errors import read_turn_error
from gateway.wire.dialects.codex.items import ThreadItems
from gateway.wire.dialects.codex.server_requests import ServerRequests
from gateway.wire.dialects.codex.session_state import TurnState, server_layer, settings_layer, update_layer, usage_layer
from gateway.wire.dialects.codex.subagents import Threads
from gateway.wire.dialects.codex.tool_calls import read_changes
from gateway.wire.dialects.codex.usage import UsageTotals
from gateway.wire.fields import count, items, non_empty, obj, present, text

Params = dict[str, Any]
Events = list[Event] | None
"""None: the notification lacks what is needed to understand it."""

IGNORED = frozenset(
    (
        "thread/started", "thread/status/changed", "thread/archived", "thread/unarchived", "thread/deleted",
        "thread/closed",  # known from our own requests, or from the turns
        "thread/readState/changed", "thread/queue/changed", "thread/project/updated", "thread/goal/cleared",
        "thread/prediction/updated", "thread/attachment/updated", "project/changed",  # for an editor's side panels
        "thread/environment/connected", "thread/environment/disconnected",
        "configWarning",  # about the machine; the operator finds it on stderr
        "thread/compacted",  # the same as the item `contextCompaction`
        "item/reasoning/summaryPartAdded",  # the index of the next delta says the same
        "item/fileChange/outputDelta",  # no longer sent
        "account/updated", "account/rateLimits/updated", "account/gatewayOAuth/changed", "account/login/completed",
        "app/list/updated", "skills/changed", "fs/changed", "remoteControl/status/changed", "deprecationNotice",
        "windows/worldWritableWarning", "windowsSandbox/setupCompleted", "mcpServer/oauthLogin/completed",
        "rawResponseItem/completed", "rawResponse/completed",
    )
)  # fmt: skip
"""Notifications that are not about a turn. The server is asked not to send them; those that come are dropped."""
CUSTOM = {
    "hook/started": "codex.hook",
    "hook/completed": "codex.hook",
    "item/autoApprovalReview/started": "codex.auto_review",
    "item/autoApprovalReview/completed": "codex.auto_review",
    "autoApprovalReview/strictReviewRequired": "codex.auto_review",
    "item/commandExecution/terminalInteraction": "codex.stdin",
    "model/verification": "codex.model",
    "model/safetyBuffering/updated": "codex.model",
    "modelProvider/authRecoveryStarted": "codex.model",
    "modelProvider/authRecoveryCompleted": "codex.model",
    "turn/moderationMetadata": "codex.moderation",
    "thread/goal/updated": "codex.goal",
    "thread/reverted": "codex.reverted",
}
"""Notifications that become CUSTOM events with these names."""


class Notifications:
    """`interrupt`: sends the request that interrupts the running turn."""

    def __init__(
        self,
        dialect: Dialect,
        threads: Threads,
        turn: TurnState,
        server_requests: ServerRequests,
        client_tools: ClientTools,
        interrupt: Callable[[], None],
    ) -> None:
        self._dialect = dialect
        self._threads = threads
        self._turn = turn
        self._server_requests = server_requests
        self._client_tools = client_tools
        self._interrupt = interrupt
        self._usage = UsageTotals()
        self._reported_warnings: set[str] = set()

    def open_thread(self, *, is_new: bool) -> None:
        """The session has another thread than before."""
        self._usage = UsageTotals({} if is_new else None)

    def read(self, method: str, params: Params) -> Events:
        if method in IGNORED:
            return []
        thread_id = params.get("threadId")
        if not isinstance(thread_id, str | None):
            return None
        if method == "turn/started" and not self._threads.owns(thread_id):
            self._threads.read_turn(thread_id, obj(params.get("turn")), self._turn.started_ids)
        if thread_id is not None and not self._threads.owns(thread_id):
            return []
        if (read := NOTIFICATION_READERS.get(method)) is not None:
            return read(self, params)
        name = CUSTOM.get(method)
        if name is None:
            return None
        thread_items, events = self._threads.find_items(thread_id)
        value = {key: value for key, value in params.items() if key != "threadId"}
        call = present({"toolCallId": thread_items.find_call_id(params.get("itemId"))})
        return [*events, Custom(name, {"method": method, **value, **call}, thread_items.subagent)]

    def _update_layer(self, values: Params) -> None:
        update_layer(self._dialect.session_layer, values)

    def _is_main(self, params: Params) -> bool:
        return self._threads.is_main(params.get("threadId"))

    # -- items

    def _read_item(self, params: Params, read: Callable[[ThreadItems, Params], Events]) -> Events:
        item = obj(params.get("item"))
        if non_empty(item.get("id")) is None or non_empty(item.get("type")) is None:
            return None
        if item["type"] == "dynamicToolCall" and item.get("namespace") is None:
            item = {**item, "tool": self._client_tools.client_name(text(item.get("tool")) or "")}
        thread_items, started = self._threads.find_items(params.get("threadId"))
        events = read(thread_items, item)
        self._threads.read_item(item, params.get("threadId"), thread_items)
        return None if events is None else [*started, *events]

    def _read_started(self, params: Params) -> Events:
        accepted = self._turn.steering.pop(text(obj(params.get("item")).get("clientId")) or "", None)
        events = self._read_item(params, ThreadItems.start_item)
        return events if accepted is None or events is None else [*events, accepted]

    def _read_delta(self, params: Params, add: Callable[[ThreadItems, str, str], Events], key: str = "delta") -> Events:
        item_id, delta = non_empty(params.get("itemId")), text(params.get(key))
        if item_id is None or delta is None:
            return None
        thread_items, started = self._threads.find_items(params.get("threadId"))
        events = add(thread_items, item_id, delta) if delta else []
        return None if events is None else [*started, *events]

    def _read_text(self, params: Params) -> Events:
        return self._read_delta(params, lambda items, item_id, delta: [items.add_text(item_id, delta)])

    def _read_reasoning(self, params: Params, key: str) -> Events:
        """`key`: the index of a part of the summary, or of the reasoning itself."""
        part = f"{key[0]}{count(params.get(key)) or 0}"
        return self._read_delta(params, lambda items, item_id, delta: [items.add_reasoning(item_id, part, delta)])

    def _read_patch(self, params: Params) -> Events:
        """The patch grows while the model writes it; the result of the call has the final one."""
        thread_items, events = self._threads.find_items(params.get("threadId"))
        value = {"toolCallId": thread_items.find_call_id(params.get("itemId")), "changes": read_changes(params)}
        return [*events, Custom("codex.patch", present(value), thread_items.subagent)]

    def _read_plan(self, params: Params) -> Events:
        if not isinstance(params.get("plan"), list):
            return None
        thread_items, events = self._threads.find_items(params.get("threadId"))
        entries = [{"content": step.get("step"), "status": _step_status(step)} for step in items(params["plan"])]
        return [*events, *thread_items.plans.show_entries(entries)]

    def _read_diff(self, params: Params) -> Events:
        """The whole diff of the turn so far. Codex repeats it."""
        diff = text(params.get("diff"))
        if diff is None:
            return None
        return [Custom("codex.diff", {"diff": diff})] if self._is_main(params) and self._turn.set_diff(diff) else []

    def _read_usage(self, params: Params) -> Events:
        usage = obj(params.get("tokenUsage"))
        subagent = self._threads.find_subagent(params.get("threadId"))
        if subagent is None:
            self._update_layer(usage_layer(usage))
            if not self._dialect.is_busy or self._turn.id is None or params.get("turnId") != self._turn.id:
                self._usage.set_total(usage.get("total"))  # of earlier turns: a resumed thread reports them
                return []
        totals = self._usage if subagent is None else subagent.usage
        layer = self._dialect.session_layer
        used = totals.read(usage.get("total"), usage.get("last"), layer.get(MODEL), layer.get(PROVIDER))
        return [] if used is None else [used]

    # -- turns

    def _read_turn_started(self, params: Params) -> Events:
        if not self._is_main(params):
            return self._threads.find_items(params.get("threadId"))[1]
        self._turn.set_id(obj(params.get("turn")))
        if self._dialect.is_busy and self._turn.id is not None:
            self._turn.start()
            if self._dialect.is_cancelled:
                self._interrupt()
        return []

    def _read_turn_completed(self, params: Params) -> Events:
        turn = obj(params.get("turn"))
        subagent = self._threads.find_subagent(params.get("threadId"))
        if subagent is not None:
            return self._threads.end_subagent(subagent, turn)
        turn_id, status = non_empty(turn.get("id")), turn.get("status")
        if turn_id is None or status not in ("completed", "interrupted", "failed"):
            return None
        if not self._turn.end(turn_id) or not self._dialect.is_busy:
            return []
        is_cancelled = self._dialect.is_cancelled or status == "interrupted"
        events = self._threads.end_turn(is_cancelled=is_cancelled)
        if is_cancelled:
            return [*events, *self._dialect.end_turn("cancelled")]
        if status == "failed":
            failure = read_turn_error(turn.get("error") or self._turn.error)
            return [*events, *self._dialect.fail_turn(failure)]
        output = self._threads.main.structured_output(self._dialect.turn.output_schema)
        return [*events, *self._dialect.end_turn(result=output)]

    def _read_error(self, params: Params) -> Events:
        """An error that Codex retries does not end the turn; any other is repeated when the turn ends."""
        if params.get("willRetry") is True:
            failure = read_turn_error(params.get("error"))
            return [self._dialect.make_warning("MODEL_RETRY", failure.message, reason=failure.code)]
        if self._is_main(params):
            self._turn.set_error(params.get("error"))
        return []

    # -- the session

    def _read_warning(self, params: Params) -> Events:
        """Reported once: Codex repeats a warning in every turn, and for every subagent."""
        message = non_empty(params.get("message"))
        if message is None or message in self._reported_warnings:
            return None if message is None else []
        self._reported_warnings.add(message)
        return [self._dialect.make_warning("AGENT_WARNING", message)]

    def _read_server_status(self, params: Params) -> Events:
        self._update_layer(server_layer(self._dialect.session_layer, params))
        if params.get("status") != "failed":
            return []
        name, reason = text(params.get("name")) or "", text(params.get("error")) or "no reason given"
        message = f"the MCP server {name!r} did not start: {reason}"
        return [self._dialect.make_warning("MCP_SERVER_FAILED", message, server=name)]

    def _read_settings(self, params: Params) -> Events:
        if self._is_main(params):
            self._update_layer(settings_layer(obj(params.get("threadSettings"))))
        return []

    def _read_name(self, params: Params) -> Events:
        if self._is_main(params):
            self._update_layer(present({TITLE: text(params.get("threadName"))}))
        return []

    def _read_reroute(self, params: Params) -> Events:
        model = non_empty(params.get("toModel"))
        if self._is_main(params) and model is not None:
            self._update_layer({MODEL: model})
        detail = {"model": model, "instead": non_empty(params.get("fromModel")), "reason": params.get("reason")}
        message = "the provider answers with another model"
        return [self._dialect.make_warning("MODEL_REROUTED", message, **present(detail))]

    def _read_resolved(self, params: Params) -> Events:
        self._server_requests.drop(params.get("requestId"))
        return []


def _step_status(step: Params) -> str | None:
    """The status of a plan's step, in ACP's spelling."""
    status = text(step.get("status"))
    return "in_progress" if status == "inProgress" else status


NOTIFICATION_READERS: dict[str, Callable[[Notifications, Params], Events]] = {
    "item/agentMessage/delta": Notifications._read_text,
    "item/plan/delta": Notifications._read_text,
    "item/reasoning/summaryTextDelta": lambda self, params: self._read_reasoning(params, "summaryIndex"),
    "item/reasoning/textDelta": lambda self, params: self._read_reasoning(params, "contentIndex"),
    "item/started": Notifications._read_started,
    "item/completed": lambda self, params: self._read_item(params, ThreadItems.complete_item),
    "item/commandExecution/outputDelta": lambda self, params: self._read_delta(params, ThreadItems.add_output),
    "item/mcpToolCall/progress": lambda self, params: self._read_delta(params, ThreadItems.add_progress, "message"),
    "item/fileChange/patchUpdated": Notifications._read_patch,
    "turn/plan/updated": Notifications._read_plan,
    "turn/diff/updated": Notifications._read_diff,
    "turn/started": Notifications._read_turn_started,
    "turn/completed": Notifications._read_turn_completed,
    "thread/tokenUsage/updated": Notifications._read_usage,
    "thread/settings/updated": Notifications._read_settings,
    "thread/name/updated": Notifications._read_name,
    "error": Notifications._read_error,
    "warning": Notifications._read_warning,
    "guardianWarning": Notifications._read_warning,
    "mcpServer/startupStatus/updated": Notifications._read_server_status,
    "model/rerouted": Notifications._read_reroute,
    "serverRequest/resolved": Notifications._read_resolved,
}
