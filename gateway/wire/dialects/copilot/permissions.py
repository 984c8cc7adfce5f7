"""What Copilot asks its user ↔ AG-UI's questions and answers.

In: the data of a `….requested` event, and the human's answer or a policy. Out: a `Interrupt`, and what the server's
call for that kind of answer takes. What is not clearly a yes is never sent as one, and "for the session" only on the
user's own word.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Literal

from gateway.events import Interrupt
from gateway.turn import Answer
from gateway.wire.acp.permissions import SHOWN_MAX_CHARS
from gateway.wire.elicitations import elicitation_interrupt, elicitation_result
from gateway.wire.fields import json_text, non_empty, obj, present, text

Data = dict[str, Any]
Policy = Literal["auto", "deny"]

ONCE, SESSION, NO = "approve-once", "approve-for-session", "reject"
NAMES = {ONCE: "Allow once", SESSION: "Allow for this session", NO: "Reject"}
LINES = (
    *("hookMessage", "intention", "fullCommandText", "fileName", "path", "url", "fact", "toolTitle", "toolDescription"),
    *("extensionName", "name", "description", "warning", "requestSandboxBypassReason"),
)
"""Of a permission request, what a person reads, whichever of these its kind has."""
DENIED = "The policy of this run denies every tool that needs approval."
NOBODY = "No user is there to answer. Use your own judgement."
UNANSWERED = "The user did not answer."


@dataclass(frozen=True, slots=True)
class Kind:
    """One kind of question: how it is put, and how it is answered."""

    method: str
    """The server's call that takes the answer…"""
    field: str
    """…under this name."""
    question: Callable[[str, Data, str | None, str | None], Interrupt]
    """(our id, data, AG-UI's id of the tool call, subagent)"""
    answered: Callable[[Data, Answer], Any]
    by_policy: Callable[[Data, Policy], Any]


# -- permission to use a tool


def _permission(question_id: str, data: Data, call: str | None, subagent: str | None) -> Interrupt:
    request = obj(data.get("permissionRequest"))
    lines = dict.fromkeys(line for key in LINES if (line := text(request.get(key))))
    if (server := non_empty(request.get("serverName"))) is not None:
        lines = {": ".join([server, *lines]): None}
    shown = request if len(json_text(request)) <= SHOWN_MAX_CHARS else {"kind": request.get("kind"), "tooLarge": True}
    options = _options(data)
    return Interrupt(
        id=question_id,
        reason="confirmation" if call is None else "tool_call",
        message="\n".join(lines) or f"Copilot asks for permission: {text(request.get('kind')) or 'unknown'}.",
        tool_call_id=call,
        response_schema=_schema(options),
        metadata={"copilot": {"options": options, "permissionRequest": shown}},
        subagent=subagent,
    )


def _options(data: Data) -> list[Data]:
    ids = (ONCE, *((SESSION,) if _for_session(data) else ()), NO)
    return [{"optionId": option, "name": NAMES[option]} for option in ids]


def _for_session(data: Data) -> Data | None:
    """What would be approved for the session. Without it the server takes such a yes for once."""
    shown = obj(data.get("promptRequest"))
    match shown:
        case {"kind": "commands", "canOfferSessionApproval": True, "commandIdentifiers": list(commands)}:
            return {"kind": "commands", "commandIdentifiers": [one for one in commands if isinstance(one, str)]}
        case {"kind": "write", "canOfferSessionApproval": True}:
            return {"kind": "write"}
        case {"kind": "mcp", "serverName": str(server), "toolName": str(tool)}:
            return {"kind": "mcp", "serverName": server, "toolName": tool}
        case {"kind": "custom-tool", "toolName": str(tool)}:
            return {"kind": "custom-tool", "toolName": tool}
        case _:
            return None


def _schema(options: list[Data]) -> Data:
    named = [{"const": option["optionId"], "title": option["name"]} for option in options]
    choice = {"type": "string", "enum": [option["optionId"] for option in options], "oneOf": named}
    approved = {"type": "boolean", "title": "Approve", "description": "A plain yes or no, instead of an option."}
    words = "With a no: what to do instead. The agent goes on with it; without a word it ends its turn."
    return {
        "type": "object",
        "properties": {
            "optionId": choice,
            "approved": approved,
            "feedback": {"type": "string", "title": "Feedback", "description": words},
        },
        "anyOf": [{"required": ["optionId"]}, {"required": ["approved"]}],
        # The server cannot carry changed arguments: to run the old ones after an edit would be worse than to refuse.
        "not": {"required": ["editedArgs"]},
    }


def _permission_given(data: Data, answer: Answer) -> Data:
    payload = obj(answer.payload) if answer.status == "resolved" else {}
    session = _for_session(data)
    match text(payload.get("optionId")), payload.get("approved"):
        case _ if "editedArgs" in payload:
            return _no(payload)
        case ("approve-once", _) | (None, True):
            return {"kind": ONCE, "approvedInteractively": True}
        case "approve-for-session", _ if session is not None:
            return {"kind": SESSION, "approval": session}
        case ("reject", _) | (None, False):
            return _no(payload)
        case _:
            return {"kind": "user-not-available"}


def _no(payload: Data) -> Data:
    return present({"kind": NO, "feedback": text(payload.get("feedback"))})


def _permission_policy(data: Data, policy: Policy) -> Data:
    return {"kind": ONCE} if policy == "auto" else {"kind": NO, "feedback": DENIED}


# -- a question of the agent's own


def _input(question_id: str, data: Data, call: str | None, subagent: str | None) -> Interrupt:
    choices, free = _choices(data), data.get("allowFreeform") is not False
    told: Data = {"type": "string", "title": "Answer"}
    if choices:
        told |= {"anyOf": [{"enum": choices}, {"type": "string"}]} if free else {"enum": choices}
    return Interrupt(
        id=question_id,
        reason="input_required",
        message=text(data.get("question")) or "Copilot asks a question.",
        tool_call_id=call,
        response_schema={"type": "object", "properties": {"answer": told}, "required": ["answer"]},
        metadata={"copilot": {"choices": choices, "allowFreeform": free}},
        subagent=subagent,
    )


def _choices(data: Data) -> list[str]:
    listed = data.get("choices")
    return [one for one in listed if isinstance(one, str)] if isinstance(listed, list) else []


def _input_given(data: Data, answer: Answer) -> Data:
    payload = answer.payload if answer.status == "resolved" else None
    words = text(payload) or text(obj(payload).get("answer")) or text(obj(payload).get("optionId"))
    return _said(data, words or UNANSWERED)


def _said(data: Data, words: str) -> Data:
    return {"answer": words, "wasFreeform": words not in _choices(data)}


def _input_policy(data: Data, policy: Policy) -> Data:
    return _said(data, NOBODY if policy == "auto" else UNANSWERED)


# -- a form


def _form(question_id: str, data: Data, call: str | None, subagent: str | None) -> Interrupt:
    asked = elicitation_interrupt(question_id, data, call, subagent=subagent)
    about = present({key: text(data.get(key)) for key in ("mode", "url", "elicitationSource")})
    url = {"url": about["url"]} if "url" in about else {}
    return replace(asked, metadata={"copilot": about, **url})


def _form_policy(data: Data, policy: Policy) -> Data:
    """Nobody can fill it in."""
    return {"action": "decline"}


# -- a plan to be carried out


def _plan(question_id: str, data: Data, call: str | None, subagent: str | None) -> Interrupt:
    actions = _actions(data)
    named = [{"const": action, "title": action.replace("_", " ")} for action in (*actions, NO)]
    lines = [text(data.get("summary")), text(data.get("planContent"))]
    choice = {"type": "string", "enum": [*actions, NO], "oneOf": named}
    approved = {"type": "boolean", "title": "Approve", "description": "A plain yes or no, instead of an option."}
    return Interrupt(
        id=question_id,
        reason="confirmation" if call is None else "tool_call",
        message="\n\n".join(line for line in lines if line) or "Copilot has a plan.",
        tool_call_id=call,
        response_schema={
            "type": "object",
            "properties": {"optionId": choice, "approved": approved, "feedback": {"type": "string"}},
            "anyOf": [{"required": ["optionId"]}, {"required": ["approved"]}],
        },
        metadata={"copilot": present({"actions": actions, "recommended": non_empty(data.get("recommendedAction"))})},
        subagent=subagent,
    )


def _actions(data: Data) -> list[str]:
    listed = data.get("actions")
    return [one for one in listed if isinstance(one, str)] if isinstance(listed, list) else []


def _plan_given(data: Data, answer: Answer) -> Data:
    payload = obj(answer.payload) if answer.status == "resolved" else {}
    chosen = text(payload.get("optionId"))
    if chosen in _actions(data):
        return {"approved": True, "selectedAction": chosen}
    if chosen is None and payload.get("approved") is True:
        return _carry_out(data)
    return present({"approved": False, "feedback": text(payload.get("feedback"))})


def _carry_out(data: Data) -> Data:
    """A plain yes is one to go on step by step. What the agent recommends may be to go on without asking."""
    action = next((one for one in ("interactive", "exit_only") if one in _actions(data)), None)
    return present({"approved": True, "selectedAction": action})


def _plan_policy(data: Data, policy: Policy) -> Data:
    return _carry_out(data) if policy == "auto" else {"approved": False, "feedback": DENIED}


KINDS: dict[str, Kind] = {
    "permission.requested": Kind(
        "session.permissions.handlePendingPermissionRequest",
        "result",
        _permission,
        _permission_given,
        _permission_policy,
    ),
    "user_input.requested": Kind("session.ui.handlePendingUserInput", "response", _input, _input_given, _input_policy),
    "elicitation.requested": Kind(
        "session.ui.handlePendingElicitation", "result", _form, elicitation_result, _form_policy
    ),
    "exit_plan_mode.requested": Kind(
        "session.ui.handlePendingExitPlanMode", "response", _plan, _plan_given, _plan_policy
    ),
}

UNASKED: dict[str, tuple[str, Data]] = {
    "auto_mode_switch.requested": ("session.ui.handlePendingAutoModeSwitch", {"response": "no"}),
    "external_tool.requested": ("session.tools.handlePendingToolCall", {"error": "this tool is not served here"}),
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
"""Requests that nobody can be asked about here. They are declined at once: else the agent would wait for ever."""
