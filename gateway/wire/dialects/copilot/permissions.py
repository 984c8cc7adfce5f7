"""What Copilot asks its user ↔ AG-UI interrupts and answers.

In: the data of a `….requested` event, and the user's answer or the run's policy. Out: an `Interrupt`, and the params of
the server's method for that kind of answer. An answer that is not a clear yes is never sent as one, and "for the
session" is sent only if the user chose it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from gateway.events import ClientToolCall, ClientToolsCalled, Event, Interrupt, InterruptRequested
from gateway.turn import Answer, Approvals
from gateway.wire.acp.permissions import SHOWN_MAX_CHARS
from gateway.wire.approvals import ALLOW_ALWAYS, ALLOW_ONCE, REJECT_ONCE, Approval, Decision, Option
from gateway.wire.client_tools import result_text
from gateway.wire.dialects.base import Dialect
from gateway.wire.dialects.copilot.requests import Data, Requests
from gateway.wire.dialects.copilot.session_events import SessionEvents
from gateway.wire.dialects.copilot.subagents import AgentStream
from gateway.wire.elicitations import elicitation_interrupt, elicitation_metadata, elicitation_result
from gateway.wire.fields import if_small, non_empty, obj, present, strings, text, unique_strings, value_at

NO_ID = ""
CONFIRMATION = "confirmation"
"""The reason of an approval that is about no tool call."""
ONCE = "approve-once"
SESSION = "approve-for-session"
REJECT = "reject"
MESSAGE_FIELDS = (
    *("hookMessage", "intention", "fullCommandText", "fileName", "path", "url", "fact", "toolTitle", "toolDescription"),
    *("extensionName", "name", "description", "warning", "requestSandboxBypassReason"),
)
"""The fields of a permission request that the user reads; each kind of request has some of them."""
FEEDBACK_SCHEMA = {
    "type": "string",
    "title": "Feedback",
    "description": "With a no: what to do instead. The agent continues with it; without feedback it ends its turn.",
}
POLICY_REFUSAL = "The policy of this run denies every tool that needs approval."
USER_ABSENT = "No user is there to answer. Use your own judgement."
NO_ANSWER = "The user did not answer."


@dataclass(frozen=True, slots=True)
class RequestKind:
    """One kind of request: its interrupt, and its answer."""

    method: str
    """The server's method that takes the answer."""
    field: str
    """The name of the answer in that method's params."""
    to_interrupt: Callable[[Data], Interrupt]
    """The interrupt without its id, its tool call and its subagent."""
    to_reply: Callable[[Data, Answer], Any]
    policy_reply: Callable[[Data, Approvals], Any]


# -- permission to use a tool


def _permission_interrupt(data: Data) -> Interrupt:
    request = obj(data.get("permissionRequest"))
    lines = list(dict.fromkeys(line for key in MESSAGE_FIELDS if (line := text(request.get(key)))))
    if (server := non_empty(request.get("serverName"))) is not None:
        lines = [": ".join([server, *lines])]
    approval = _permission_approval(data)
    details = {
        "options": [{"optionId": option.id, "name": option.label} for option in approval.options],
        "permissionRequest": if_small(request, SHOWN_MAX_CHARS, {"kind": request.get("kind"), "tooLarge": True}),
    }
    return Interrupt(
        id=NO_ID,
        reason=CONFIRMATION,
        message="\n".join(lines) or f"Copilot asks for permission: {text(request.get('kind')) or 'unknown'}.",
        response_schema=approval.response_schema(),
        metadata={"copilot": details},
    )


def _permission_approval(data: Data) -> Approval:
    options = [Option(ONCE, "Allow once", ALLOW_ONCE)]
    if (session := _session_approval(data)) is not None:
        options.append(Option(SESSION, "Allow for this session", ALLOW_ALWAYS, session))
    options.append(Option(REJECT, "Reject", REJECT_ONCE))
    return Approval(options, feedback=FEEDBACK_SCHEMA)


def _session_approval(data: Data) -> Data | None:
    """What an approval for the session covers. None: the server would take it as an approval for once."""
    match obj(data.get("promptRequest")):
        case {"kind": "commands", "canOfferSessionApproval": True, "commandIdentifiers": list(commands)}:
            return {"kind": "commands", "commandIdentifiers": strings(commands)}
        case {"kind": "write", "canOfferSessionApproval": True}:
            return {"kind": "write"}
        case {"kind": "mcp", "serverName": str(server), "toolName": str(tool)}:
            return {"kind": "mcp", "serverName": server, "toolName": tool}
        case {"kind": "custom-tool", "toolName": str(tool)}:
            return {"kind": "custom-tool", "toolName": tool}
        case _:
            return None


def _permission_reply(data: Data, answer: Answer) -> Data:
    decision = _permission_approval(data).decide(answer)
    if decision.is_rejected:
        return present({"kind": REJECT, "feedback": decision.feedback})
    if not decision.is_allowed or decision.option is None:
        return {"kind": "user-not-available"}
    if decision.option.id == SESSION:
        return {"kind": SESSION, "approval": decision.option.value}
    return {"kind": ONCE, "approvedInteractively": True}


def _permission_policy(data: Data, policy: Approvals) -> Data:
    decision = _permission_approval(data).decide_by_policy(policy)
    is_allowed = decision is not None and decision.is_allowed
    return {"kind": ONCE} if is_allowed else {"kind": REJECT, "feedback": POLICY_REFUSAL}


# -- a question of the agent


def _input_interrupt(data: Data) -> Interrupt:
    choices = strings(data.get("choices"))
    is_free = data.get("allowFreeform") is not False
    schema: Data = {"type": "string", "title": "Answer"}
    if choices:
        schema |= {"anyOf": [{"enum": choices}, {"type": "string"}]} if is_free else {"enum": choices}
    return Interrupt(
        id=NO_ID,
        reason="input_required",
        message=text(data.get("question")) or "Copilot asks a question.",
        response_schema={"type": "object", "properties": {"answer": schema}, "required": ["answer"]},
        metadata={"copilot": {"choices": choices, "allowFreeform": is_free}},
    )


def _input_reply(data: Data, answer: Answer) -> Data:
    payload = answer.payload if answer.status == "resolved" else None
    content = text(payload) or text(obj(payload).get("answer")) or text(obj(payload).get("optionId"))
    return _input_answer(data, content or NO_ANSWER)


def _input_answer(data: Data, content: str) -> Data:
    return {"answer": content, "wasFreeform": content not in strings(data.get("choices"))}


def _input_policy(data: Data, policy: Approvals) -> Data:
    return _input_answer(data, USER_ABSENT if policy == "auto" else NO_ANSWER)


# -- a form


def _form_interrupt(data: Data) -> Interrupt:
    metadata = {"copilot": elicitation_metadata(data, "mode", "url", "elicitationSource")}
    return elicitation_interrupt(NO_ID, data, metadata=metadata)


def _form_policy(data: Data, policy: Approvals) -> Data:
    """A policy cannot fill in a form."""
    return {"action": "decline"}


# -- a plan to carry out


def _plan_interrupt(data: Data) -> Interrupt:
    lines = [text(data.get("summary")), text(data.get("planContent"))]
    details = {"actions": _plan_actions(data), "recommended": non_empty(data.get("recommendedAction"))}
    return Interrupt(
        id=NO_ID,
        reason=CONFIRMATION,
        message="\n\n".join(line for line in lines if line) or "Copilot has a plan.",
        response_schema=_plan_approval(data).response_schema(forbids_edits=False),
        metadata={"copilot": present(details)},
    )


def _plan_actions(data: Data) -> list[str]:
    return [action for action in unique_strings(data.get("actions")) if action != REJECT]


def _plan_approval(data: Data) -> Approval:
    """A plain yes means step by step. The action that the agent recommends may be to continue without asking."""
    return Approval(
        [
            *(Option(action, action.replace("_", " "), ALLOW_ONCE) for action in _plan_actions(data)),
            Option(REJECT, REJECT, REJECT_ONCE),
        ],
        plain_allow=("interactive", "exit_only"),
        feedback={"type": "string"},
        allows_without_option=True,
    )


def _plan_reply(data: Data, answer: Answer) -> Data:
    return _plan_decision(_plan_approval(data).decide(answer))


def _plan_policy(data: Data, policy: Approvals) -> Data:
    decision = _plan_approval(data).decide_by_policy(policy) or Decision()
    return _plan_decision(decision if decision.is_allowed else replace(decision, feedback=POLICY_REFUSAL))


def _plan_decision(decision: Decision) -> Data:
    if decision.is_allowed:
        return present({"approved": True, "selectedAction": decision.option.id if decision.option else None})
    return present({"approved": False, "feedback": decision.feedback})


REQUEST_KINDS: dict[str, RequestKind] = {
    "permission.requested": RequestKind(
        "session.permissions.handlePendingPermissionRequest",
        "result",
        _permission_interrupt,
        _permission_reply,
        _permission_policy,
    ),
    "user_input.requested": RequestKind(
        "session.ui.handlePendingUserInput", "response", _input_interrupt, _input_reply, _input_policy
    ),
    "elicitation.requested": RequestKind(
        "session.ui.handlePendingElicitation", "result", _form_interrupt, elicitation_result, _form_policy
    ),
    "exit_plan_mode.requested": RequestKind(
        "session.ui.handlePendingExitPlanMode", "response", _plan_interrupt, _plan_reply, _plan_policy
    ),
}
"""Requests that become interrupts, by the type of their event."""

CLIENT_TOOL_REQUEST = "external_tool.requested"
CLIENT_TOOL_METHOD = "session.tools.handlePendingToolCall"

DECLINED_REQUESTS: dict[str, tuple[str, Data]] = {
    "auto_mode_switch.requested": ("session.ui.handlePendingAutoModeSwitch", {"response": "no"}),
    CLIENT_TOOL_REQUEST: (CLIENT_TOOL_METHOD, {"error": "this tool is not served here"}),
    "mcp.headers_refresh_required": (
        "session.mcp.headers.handlePendingHeadersRefreshRequest",
        {"result": {"kind": "none"}},
    ),
    "mcp.oauth_required": ("session.mcp.oauth.handlePendingRequest", {"result": {"kind": "cancelled"}}),
    "sampling.requested": ("session.ui.handlePendingSampling", {}),
    "session_limits_exhausted.requested": (
        "session.ui.handlePendingSessionLimitsExhausted",
        {"response": {"action": "cancel"}},
    ),
}
"""Requests that the gateway cannot put to a user: it declines them at once, else the agent would wait for ever."""

REQUEST_EVENTS = frozenset(REQUEST_KINDS) | frozenset(DECLINED_REQUESTS)


class PendingRequests:
    """Requests of the server that wait for the user's answer or for the result of a client tool."""

    def __init__(self, dialect: Dialect, requests: Requests, events: SessionEvents) -> None:
        self._dialect = dialect
        self._requests = requests
        self._events = events
        self._interrupts: dict[str, tuple[RequestKind, Data]] = {}
        """Interrupt id → the kind and the data of the request."""
        self._client_tool_calls: dict[str, str | None] = {}
        """AG-UI's id of the tool call → Copilot's request id."""

    def clear(self) -> None:
        self._interrupts.clear()
        self._client_tool_calls.clear()

    def read(self, kind: str, event: Data) -> list[Event] | None:
        """One of `REQUEST_EVENTS`. None: the request has no id."""
        data = obj(event.get("data"))
        if kind in REQUEST_KINDS:
            return self._add(REQUEST_KINDS[kind], event, data)
        if kind == CLIENT_TOOL_REQUEST and self._can_call(data):
            return self._add_client_tool_call(event, data)
        method, params = DECLINED_REQUESTS[kind]
        self._requests.send_to_session(method, {"requestId": text(data.get("requestId")), **params})
        message = f"Copilot's {kind} was declined: the gateway cannot put it to a user"
        return [self._dialect.make_warning("QUESTION_DECLINED", message)]

    def _add(self, kind: RequestKind, event: Data, data: Data) -> list[Event] | None:
        request_id = non_empty(data.get("requestId"))
        if request_id is None:
            return None
        if data.get("resolvedByHook") is True:
            return []
        policy = self._dialect.turn.approvals
        if policy != "prompt":
            self._reply(kind, data, kind.policy_reply(data, policy))
            return []
        interrupt_id = self._dialect.qualify_id(request_id)
        self._interrupts[interrupt_id] = (kind, data)
        stream, started = self._start_waiting(event)
        call_id = data.get("toolCallId") or value_at(data, "permissionRequest", "toolCallId")
        call = self._events.tool_calls.find(call_id)
        interrupt = replace(kind.to_interrupt(data), id=interrupt_id, subagent=stream.subagent)
        if call is not None:
            reason = "tool_call" if interrupt.reason == CONFIRMATION else interrupt.reason
            interrupt = replace(interrupt, reason=reason, tool_call_id=call.id)
        return [*started, InterruptRequested((interrupt,))]

    def _can_call(self, data: Data) -> bool:
        """Whether the client can be asked to run the tool now."""
        is_in_turn = self._dialect.is_busy and not self._dialect.is_cancelled
        has_id = non_empty(data.get("toolCallId")) is not None
        return is_in_turn and has_id and self._events.tool_calls.is_client_tool(data.get("toolName"))

    def _add_client_tool_call(self, event: Data, data: Data) -> list[Event] | None:
        stream, started = self._start_waiting(event)
        events = self._events.tool_calls.read_call(data, stream.subagent)
        call = self._events.tool_calls.find(data.get("toolCallId"))
        if events is None or call is None:
            return None
        self._client_tool_calls[call.id] = text(data.get("requestId"))
        return [*started, *events, ClientToolsCalled((ClientToolCall(call.id, call.name, call.subagent),))]

    def _start_waiting(self, event: Data) -> tuple[AgentStream, list[Event]]:
        """The agent that waits, and its start if no event announced it. The run ends: no text continues in it."""
        stream, started = self._events.streams.find(event.get("agentId"))
        self._events.streams.break_off()
        return stream, started

    def answer(self, interrupt_id: str, answer: Answer) -> None:
        if (pending := self._interrupts.pop(interrupt_id, None)) is not None:
            kind, data = pending
            self._reply(kind, data, kind.to_reply(data, answer))
        elif interrupt_id in self._client_tool_calls:
            content, is_error = result_text(answer)
            request_id = self._client_tool_calls.pop(interrupt_id)
            params = {"requestId": request_id, "error" if is_error else "result": content}
            self._requests.send_to_session(CLIENT_TOOL_METHOD, params)

    def _reply(self, kind: RequestKind, data: Data, value: Any) -> None:
        self._requests.send_to_session(kind.method, {"requestId": data.get("requestId"), kind.field: value})
