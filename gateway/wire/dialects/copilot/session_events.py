"""Session events of Copilot → events of the turn; and which events are ignored.

In: events as `session.event` carries them and as `copilot -p` prints them, one by one. Out: events, values of the
capability layers, and the error that the turn may end with. Requests to the user and the end of the turn belong to the
dialects: only the SDK server takes answers, and each mode ends a turn in its own way. Never raises: a field of the
wrong type counts as absent.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from gateway.events import (
    Custom,
    Event,
    StepFinished,
    StepStarted,
    TextMessageContent,
    TurnFailed,
    Warning,
)
from gateway.wire.acp.usage import parse_usage
from gateway.wire.dialects.copilot.errors import to_turn_failed
from gateway.wire.dialects.copilot.session_state import STATE_READERS
from gateway.wire.dialects.copilot.subagents import AgentStream, AgentStreams
from gateway.wire.dialects.copilot.tool_calls import CopilotToolCalls
from gateway.wire.fields import amount, count, items, non_empty, present, text, value_at

Data = dict[str, Any]

USAGE_FIELDS = {
    "inputTokens": "inputTokens",
    "outputTokens": "outputTokens",
    "thoughtTokens": "reasoningTokens",
    "cachedReadTokens": "cacheReadTokens",
    "cachedWriteTokens": "cacheWriteTokens",
}
"""ACP's name of a count → Copilot's."""

IGNORED_EVENTS: frozenset[str] = frozenset(
    (
        # the prompt, and what Copilot made of it
        *("user.message", "system.message", "pending_messages.modified", "session.mode_notice_delivered"),
        # a byte counter beside every delta; `assistant.message` has the whole text
        *("assistant.message_start", "assistant.streaming_delta"),
        # progress of the turn, read by the dialects: its end is `session.idle` or `result`
        *("assistant.idle", "session.idle", "abort", "agent.interrupted", "session.shutdown"),
        # the SDK server dialect requests the plan itself
        *("session.todos_changed", "session.plan_changed"),
        # what the agent does next shows the outcome of a request
        *("permission.completed", "user_input.completed", "elicitation.completed", "exit_plan_mode.completed"),
        *("external_tool.completed", "sampling.completed", "auto_mode_switch.completed", "human_response.recorded"),
        *("session_limits_exhausted.completed", "mcp.oauth_completed", "mcp.headers_refresh_completed"),
        *("permission.assentDetected", "permission.carriedForward", "session.permissions_changed"),
        # housekeeping, dozens for one tool call
        *("session.background_tasks_changed", "session.tools_updated", "session.binary_asset"),
        *("session.mcp_server_tools_loaded", "session.custom_agents_updated", "session.extensions_loaded"),
        *("session.managed_settings_resolved", "session.managed_settings_enforced", "session.indexed_search"),
        *("session.usage_checkpoint", "session.usage_record", "session.quota_observation", "prompt_cache_break"),
        *("session.completion_receipt", "session.memory_changed", "session.workspace_file_changed"),
        *("session.context_changed", "session.remote_steerable_changed", "sandbox.decision"),
        *("session.request_body_compression_disabled", "session.session_limits_changed", "capabilities.changed"),
        *("hook.start", "hook.progress", "hook.end", "tool_search.activated", "skill.context_delivered"),
        *("skill.invoked_ref", "skill.context_delivered_ref", "mcp.tools.list_changed", "mcp.prompts.list_changed"),
        *("mcp.resources.list_changed", "subagent.configured", "subagent.selected", "subagent.deselected"),
        # every model call again, with its whole prompt; `session.error` has failures, `turn_retry` retries
        *("model.call_start", "model.call_failure", "model.call_finished", "model.call_final_result", "model.log"),
        *("model.turn_started", "model.turn_ended", "model.turn_failed", "model.turn_retry", "model.telemetry"),
        *("model.model_call_started", "model.model_call_success", "model.model_call_failure", "model.response"),
        *("model.message", "model.messages_snapshot", "model.tool_execution", "model.image_processing"),
    )
)
"""Events that produce nothing; all others are read, or handed on as RAW. `schemas/session-events.schema.json` in the
unpacked package lists them; the `model.` events that are not in it come from the SDK server only, and repeat others."""

IGNORED_METHODS: frozenset[str] = frozenset(
    (
        # times of sessions, tasks in the background: session events report both
        *("session.lifecycle", "host.event", "gitHubTelemetry.event"),
        # the same request as the event of its name; the answer to the event answers both
        *("userInput.request", "exitPlanMode.request", "autoModeSwitch.request"),
    )
)
"""Messages of the server that are no session events and produce nothing."""


ReadAgent = Callable[["SessionEvents", AgentStream, Data], list[Event] | None]
ReadEvent = Callable[["SessionEvents", Data, Data], list[Event] | None]
"""Reads the data of an event. None: the event is malformed."""


class SessionEvents:
    """The reader of one session's events. `session_layer` and `handshake_layer` are updated in place."""

    def __init__(self, qualify_id: Callable[[str], str], session_layer: Data, handshake_layer: Data) -> None:
        self.streams = AgentStreams(qualify_id)
        self.tool_calls = CopilotToolCalls(qualify_id)
        self._session_layer = session_layer
        self._handshake_layer = handshake_layer
        self.error: TurnFailed | None = None
        """Why the turn fails, unless the agent continues."""

    def start_turn(self) -> None:
        self.streams.start_turn()
        self.tool_calls.start_turn()
        self.error = None

    def take_error(self) -> TurnFailed | None:
        error = self.error
        self.error = None
        return error

    def read(self, kind: str, event: Data) -> list[Event] | None:
        """None: the event is unknown."""
        data = event.get("data")
        if type(data) is not dict:
            data = {}
        if kind == "assistant.message_delta":  # nearly all events
            delta = data.get("deltaContent")
            is_open = "agentId" not in event and self.streams.main.parts.is_open("text", data.get("messageId"))
            if is_open and type(delta) is str:
                return [TextMessageContent(delta)] if delta else []
        if kind in IGNORED_EVENTS:
            return []
        if (read_state := STATE_READERS.get(kind)) is not None:
            is_main = "agentId" not in event
            return read_state(self._session_layer, self._handshake_layer, data) if is_main else []
        if (read_event := EVENT_READERS.get(kind)) is not None:
            return read_event(self, event, data)
        read_agent = AGENT_READERS.get(kind)
        return None if read_agent is None else self._read_for_agent(read_agent, event.get("agentId"), data)

    def _read_for_agent(self, read_agent: ReadAgent, agent_id: Any, data: Data) -> list[Event] | None:
        stream, started = self.streams.find(agent_id)
        events = read_agent(self, stream, data)
        if started and not events:
            self.streams.end_subagent(agent_id)  # it has produced nothing: the client never sees it
            return events
        return None if events is None else [*started, *events]

    # -- text and reasoning

    def _read_text_delta(self, stream: AgentStream, data: Data) -> list[Event] | None:
        message_id = non_empty(data.get("messageId"))
        delta = text(data.get("deltaContent"))
        return None if message_id is None or delta is None else stream.parts.add_text(delta, message_id)

    def _read_reasoning(self, stream: AgentStream, data: Data) -> list[Event] | None:
        """A delta, or the whole thought, which follows the message and is used only if there were no deltas."""
        thought_id = non_empty(data.get("reasoningId"))
        is_delta = "deltaContent" in data
        content = text(data.get("deltaContent" if is_delta else "content"))
        if thought_id is None or content is None:
            return None
        is_sent = not is_delta and thought_id in self.streams.streamed
        return [] if is_sent else stream.parts.add_reasoning(content, thought_id)

    def _read_message(self, stream: AgentStream, data: Data) -> list[Event] | None:
        """The whole answer of one model call; its text is used if there were no deltas."""
        message_id = non_empty(data.get("messageId"))
        content = text(data.get("content"))
        requests = items(data.get("toolRequests"))
        if message_id is None:
            return None
        events: list[Event] = []
        if content and message_id not in self.streams.streamed:
            events += stream.parts.add_text(content, message_id)
        if (content or requests) and stream.parts.is_open("text", message_id):
            events += stream.parts.close()
        for request in requests:
            stream.parts.break_off()
            events += self.tool_calls.read_call(request, stream.subagent) or []
        return events

    # -- model calls

    def _read_step_start(self, stream: AgentStream, data: Data) -> list[Event]:
        started = StepStarted(_step_name(data), stream.subagent)
        # An error after which the agent continues does not end the turn.
        error = self.take_error() if stream.subagent is None else None
        return [started] if error is None else [Warning(error.code, error.message), started]

    def _read_step_end(self, event: Data, data: Data) -> list[Event]:
        if not self.streams.is_known(event.get("agentId")):
            return []
        stream, _ = self.streams.find(event.get("agentId"))
        return [*stream.parts.close(), StepFinished(_step_name(data), stream.subagent)]

    def _read_usage(self, event: Data, data: Data) -> list[Event] | None:
        """`inputTokens` includes cached tokens, whatever the provider: 7 beside 1500 cached ones come as 1507."""
        usage = parse_usage({name: data.get(field) for name, field in USAGE_FIELDS.items()})
        events: list[Event] = []
        if usage is not None:
            provider = non_empty(data.get("modelProvider"))
            provider = None if provider == "other" else provider
            events.append(replace(usage, model=non_empty(data.get("model")), provider=provider))
        return events + to_cost(data.get("cost"))

    def _read_error(self, event: Data, data: Data) -> list[Event] | None:
        error = to_turn_failed(data)
        if "agentId" in event:
            return [Custom("copilot.error", {"message": error.message, "code": error.code})]
        self.error = error
        return []

    # -- subagents

    def _read_subagent_start(self, event: Data, data: Data) -> list[Event] | None:
        agent_id = non_empty(event.get("agentId")) or non_empty(data.get("toolCallId"))
        if agent_id is None:
            return None
        call = self.tool_calls.find(data.get("toolCallId"))
        return self.streams.start_subagent(
            agent_id,
            name=non_empty(data.get("agentDisplayName")) or non_empty(data.get("agentName")),
            description=non_empty(data.get("agentDescription")),
            parent_id=non_empty(data.get("parentId")),
            tool_call_id=None if call is None else call.id,
        )

    def _read_subagent_end(self, event: Data, data: Data) -> list[Event] | None:
        return self.streams.end_subagent(event.get("agentId") or data.get("toolCallId"))

    def _read_subagent_error(self, event: Data, data: Data) -> list[Event] | None:
        message = text(data.get("error")) or "the subagent failed"
        return self.streams.end_subagent(event.get("agentId") or data.get("toolCallId"), message)


def to_cost(premium_requests: Any) -> list[Event]:
    """Copilot counts its cost in premium requests."""
    cost = amount(premium_requests)
    return [] if cost is None else [Custom("cost", {"premiumRequests": cost})]


def _step_name(data: Data) -> str:
    return f"turn {non_empty(data.get('turnId')) or ''}".strip()


def _custom_reader(name: str, *keys: str) -> ReadAgent:
    """A reader that hands an event on with these of its fields."""

    def read(events: SessionEvents, stream: AgentStream, data: Data) -> list[Event]:
        value = {key: data.get(key) for key in keys if isinstance(data.get(key), str | int | float)}
        return [Custom(f"copilot.{name}", value, subagent=stream.subagent)]

    return read


def _tool_reader(read_data: Callable[[CopilotToolCalls, Data, str | None], list[Event] | None]) -> ReadAgent:
    """A reader of an event that interrupts the text of its agent."""

    def read(events: SessionEvents, stream: AgentStream, data: Data) -> list[Event] | None:
        stream.parts.break_off()
        return read_data(events.tool_calls, data, stream.subagent)

    return read


def _read_compaction(events: SessionEvents, stream: AgentStream, data: Data) -> list[Event]:
    success = data.get("success")
    value = {
        "status": "completed" if success is True else "failed" if success is False else "started",
        "trigger": text(data.get("trigger")),
        "error": text(data.get("error")),
        "tokensBefore": count(data.get("preCompactionTokens")),
        "tokensAfter": count(data.get("postCompactionTokens")),
    }
    return [Custom("copilot.compaction", present(value), subagent=stream.subagent)]


def _read_notification(events: SessionEvents, event: Data, data: Data) -> list[Event]:
    value = {"kind": text(value_at(data, "kind", "type")), "content": text(data.get("content"))}
    return [Custom("copilot.notification", present(value))]


AGENT_READERS: dict[str, ReadAgent] = {
    "assistant.message_delta": SessionEvents._read_text_delta,
    "assistant.message": SessionEvents._read_message,
    "assistant.reasoning_delta": SessionEvents._read_reasoning,
    "assistant.reasoning": SessionEvents._read_reasoning,
    "assistant.tool_call_delta": _tool_reader(CopilotToolCalls.read_delta),
    "assistant.turn_start": SessionEvents._read_step_start,
    "assistant.intent": _custom_reader("intent", "intent"),
    "assistant.turn_retry": _custom_reader("retry", "model", "reason"),
    "assistant.server_tool_progress": _custom_reader("server_tool", "kind", "status", "outputIndex"),
    "tool.execution_start": _tool_reader(CopilotToolCalls.read_call),
    "tool.execution_complete": _tool_reader(CopilotToolCalls.read_result),
    "session.info": _custom_reader("info", "infoType", "message", "url", "tip"),
    "session.warning": _custom_reader("warning", "warningType", "message", "url"),
    "session.task_complete": _custom_reader("task_complete", "summary", "success", "outcome", "reason"),
    "session.autopilot_stopped": _custom_reader("autopilot_stopped", "reason"),
    "session.truncation": _custom_reader("truncation", "tokenLimit", "tokensRemovedDuringTruncation"),
    "session.compaction_start": _read_compaction,
    "session.compaction_complete": _read_compaction,
    "skill.invoked": _custom_reader("skill", "name", "description", "trigger"),
}
"""Events that start their subagent if no event announced it."""

EVENT_READERS: dict[str, ReadEvent] = {
    "assistant.turn_end": SessionEvents._read_step_end,
    "assistant.usage": SessionEvents._read_usage,
    "tool.shell_output": lambda events, event, data: events.tool_calls.read_output_delta(data),
    "tool.execution_partial_result": lambda events, event, data: events.tool_calls.read_whole_output(data),
    "tool.execution_progress": lambda events, event, data: events.tool_calls.read_progress(data),
    "session.error": SessionEvents._read_error,
    "system.notification": _read_notification,
    "subagent.started": SessionEvents._read_subagent_start,
    "subagent.completed": SessionEvents._read_subagent_end,
    "subagent.failed": SessionEvents._read_subagent_error,
}
"""All other events."""
