"""Session events of Copilot that say nothing to a client, and why: everything else is read or handed on as RAW.

Its own schema (`schemas/session-events.schema.json` in the unpacked package) lists them all; those beginning with
`model.` that are not in there come from the SDK server only, and repeat what the others tell.
"""

from __future__ import annotations

NOISE: frozenset[str] = frozenset(
    (
        # our own words, and what was made of them
        *("user.message", "system.message", "pending_messages.modified", "session.mode_notice_delivered"),
        # a counter of bytes beside every delta; the whole text after its deltas is read where it is needed
        *("assistant.message_start", "assistant.streaming_delta"),
        # where a turn is, which the dialects look at: its end is `session.idle` or `result`
        *("assistant.idle", "session.idle", "abort", "agent.interrupted", "session.shutdown"),
        # the plan itself is asked for, where it can be
        *("session.todos_changed", "session.plan_changed"),
        # the outcome of a question shows in what the agent does next
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
        # every model call again, with its whole prompt; failures end as `session.error`, retries as `turn_retry`
        *("model.call_start", "model.call_failure", "model.call_finished", "model.call_final_result", "model.log"),
        *("model.turn_started", "model.turn_ended", "model.turn_failed", "model.turn_retry", "model.telemetry"),
        *("model.model_call_started", "model.model_call_success", "model.model_call_failure", "model.response"),
        *("model.message", "model.messages_snapshot", "model.tool_execution", "model.image_processing"),
    )
)

NOISY_METHODS: frozenset[str] = frozenset(
    (
        # times of sessions, tasks in the background: the events tell both
        *("session.lifecycle", "host.event", "gitHubTelemetry.event"),
        # the same question as the event of its name, which can be answered by its id; that answer settles both
        *("userInput.request", "exitPlanMode.request", "autoModeSwitch.request"),
    )
)
"""Messages of the server that are no session events."""
