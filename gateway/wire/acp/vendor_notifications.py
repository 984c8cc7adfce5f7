"""Notifications of vendors' own methods → events, for the methods that are known.

In: a method that ACP does not describe, and its params. Out: what it means to a client; nothing for the vendor's own
bookkeeping, which repeats what ACP's updates say; `Raw` for a method or kind that is not known. Never: IO.
"""

from __future__ import annotations

from typing import Any

from gateway.events import Custom, Event, Raw
from gateway.wire.acp.session_state import SessionState
from gateway.wire.fields import count, non_empty, obj, present, text, without_meta

QUIET_METHODS = frozenset(
    (
        "_x.ai/mcp/init_progress",
        "_x.ai/mcp/servers_updated",
        "_x.ai/mcp_initialized",
        "_x.ai/queue/changed",
        "_x.ai/session/prompt_complete",
        "_x.ai/session/setup",
        "_x.ai/sessions/changed",
    )
)
"""grok: phases of a request, the queue of prompts, the list of sessions. The response to the request says the same."""

GROK_UPDATE = "_x.ai/session_notification"
GROK_SERVER = "_x.ai/mcp/server_status"
QUIET_GROK_UPDATES = frozenset(
    (
        "background_tasks",
        "interaction_resolved",
        "last_turn_summary",
        "pending_interaction",
        "reasoning_completed",
        "response_completed",
        "session_summary_generated",
        "tool_call_delta_chunk",
        "turn_completed",
    )
)
"""Each is followed, or was preceded, by a message of ACP with the same content: the call, its permission, the title,
the end of the turn with its tokens."""


def read_notification(method: str, params: Any, state: SessionState) -> list[Event]:
    """`state`: of the session that the notification is about; it follows what is known of MCP servers."""
    if method in QUIET_METHODS:
        return []
    if method == GROK_SERVER:
        status = obj(params)
        state.set_mcp_server(text(status.get("name")), text(status.get("status")), text(status.get("reason")))
        return []
    if method == GROK_UPDATE:
        update = obj(obj(params).get("update"))
        kind = update.get("sessionUpdate")
        if kind in QUIET_GROK_UPDATES:
            return []
        if kind == "retry_state":
            return [_read_retry(update)]
        if kind == "model_changed" and (model := non_empty(update.get("model_id"))) is not None:
            state.set_model(model)
            return []
    return [Raw({"method": method, "params": without_meta(params)}, "acp")]


def _read_retry(update: dict[str, Any]) -> Custom:
    """The model failed, and the agent tries again."""
    attempt, limit = count(update.get("attempt")), count(update.get("max_retries"))
    tries = "" if attempt is None else f" (attempt {attempt}" + ("" if limit is None else f" of {limit}") + ")"
    fields = {
        "severity": "warning",
        "title": f"The model failed; the agent tries again{tries}",
        "description": text(update.get("reason")),
    }
    return Custom("acp.notice", present(fields))
