"""The agent's requests to the user: which call each is about, and the interrupt that asks it.

In: `session/request_permission` and `elicitation/create`, and what was decided. Out: what the request reports of its
tool call, and the `Interrupt`. `permissions` has the forms of both. Never: a decision.
"""

from __future__ import annotations

from typing import Any

from gateway.events import Event, Interrupt
from gateway.wire.acp.permissions import (
    ask_about_calls,
    elicitation_interrupt,
    permission_interrupt,
    tool_call_in_question,
)
from gateway.wire.acp.subagents import AgentTurn
from gateway.wire.acp.tool_calls import AcpToolCall, shown_call
from gateway.wire.acp.updates import Updates
from gateway.wire.fields import non_empty, text
from gateway.wire.jsonrpc import Id


class Questions:
    """Of one session."""

    def __init__(self, updates: Updates) -> None:
        self._updates = updates
        self._subagents = updates.subagents

    def read_permission(
        self, request_id: Id, request: dict[str, Any], session_id: str | None = None
    ) -> tuple[list[Event], Interrupt]:
        """What the request reports of its tool call, and the interrupt."""
        agent, events = self._find_asking(request, session_id)
        reported = tool_call_in_question(request)
        if calls := self._open_calls_in_question(agent, request):
            call: AcpToolCall | None = calls[-1]
            request = ask_about_calls(request, [shown_call(each) for each in calls])
        else:
            events += agent.tools.update(reported) or []
            call = agent.tools.get(reported.get("toolCallId"))
        events += agent.tools.end_input(call) if call is not None else []
        self._updates.note_action(agent, events)
        interrupt_id = self._interrupt_id(request_id)
        call_id = call.id if call else None
        return events, permission_interrupt(interrupt_id, request, call_id, subagent=agent.subagent)

    def set_permission_outcome(self, request: dict[str, Any], outcome: str) -> None:
        """What was decided (`permissions.selected_option_name`), for the result of a call that never gets one."""
        agent, _ = self._find_asking(request, None)
        call = agent.tools.get(tool_call_in_question(request).get("toolCallId"))
        for each in self._open_calls_in_question(agent, request) if call is None else [call]:
            each.permission = outcome

    def _find_asking(self, request: dict[str, Any], session_id: str | None) -> tuple[AgentTurn, list[Event]]:
        """The turn of the agent or subagent that asks, and the events that start it."""
        owner = self._subagents.find_owner(tool_call_in_question(request).get("toolCallId"))
        if owner is not None:
            return owner, []
        return self._subagents.find(session_id or text(request.get("sessionId")))

    def _open_calls_in_question(self, agent: AgentTurn, request: dict[str, Any]) -> list[AcpToolCall]:
        """openhands asks once about all calls that wait, under an id that it makes from the session's."""
        call_id = text(tool_call_in_question(request).get("toolCallId")) or ""
        session_id = non_empty(request.get("sessionId"))
        if session_id is None or session_id not in call_id or agent.tools.get(call_id) is not None:
            return []
        return agent.tools.open_calls

    def read_elicitation(
        self, request_id: Id, request: dict[str, Any], session_id: str | None = None
    ) -> tuple[list[Event], Interrupt]:
        """`elicitation/create`. A tool call that it names is linked if the client has seen it."""
        agent, events = self._subagents.find(session_id or text(request.get("sessionId")))
        call = agent.tools.get(request.get("toolCallId"))
        events += agent.tools.end_input(call) if call is not None else []
        self._updates.note_action(agent, events)
        interrupt_id = self._interrupt_id(request_id)
        call_id = call.id if call else None
        return events, elicitation_interrupt(interrupt_id, request, call_id, subagent=agent.subagent)

    def _interrupt_id(self, request_id: Id) -> str:
        return f"{self._subagents.turn_key}:ask:{request_id}"
