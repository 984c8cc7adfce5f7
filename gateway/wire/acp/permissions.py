"""ACP's permission and elicitation requests ↔ AG-UI interrupts.

In: `session/request_permission` and `elicitation/create` of both versions, and the user's answer or the run's policy.
Out: an `Interrupt`, and the result for the agent. `wire/approvals` decides what is a yes.
See https://agentclientprotocol.com/protocol/tool-calls#requesting-permission.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

from gateway.events import Interrupt
from gateway.turn import Answer
from gateway.wire.approvals import Approval, Option
from gateway.wire.elicitations import elicitation_interrupt as mcp_elicitation_interrupt
from gateway.wire.elicitations import elicitation_metadata, elicitation_result
from gateway.wire.fields import if_small, items, non_empty, obj, present, text, without_meta

__all__ = [
    "SHOWN_MAX_CHARS",
    "ask_about_calls",
    "decide_by_policy",
    "elicitation_interrupt",
    "elicitation_result",
    "permission_interrupt",
    "permission_result",
    "selected_option_name",
    "tool_call_in_question",
]

SHOWN_FIELDS = ("title", "kind", "rawInput", "content", "locations")
"""Fields of the tool call in question: what it is going to do."""
SHOWN_MAX_CHARS = 200_000
"""A longer field is not shown again in the interrupt: the call itself has it."""
TOO_LARGE = {"tooLarge": True}


def tool_call_in_question(params: dict[str, Any]) -> dict[str, Any]:
    """The tool call that a permission is about: `toolCall`, or inside version 2's `subject`. Empty: about none."""
    subject = obj(params.get("subject"))
    if subject.get("type") == "command":
        return present({"toolCallId": non_empty(subject.get("toolCallId"))})
    return obj(params.get("toolCall")) or obj(subject.get("toolCall"))


def ask_about_calls(params: dict[str, Any], calls: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """The request as if it were about these calls, the last of which is the one in question. The others are named."""
    *others, last = calls
    titles = [title for call in others if (title := text(call.get("title")))]
    about = present({"title": text(tool_call_in_question(params).get("title")), "description": "\n".join(titles)})
    return params | about | {"toolCall": last}


def permission_interrupt(
    interrupt_id: str, params: Any, tool_call_id: str | None, *, subagent: str | None = None
) -> Interrupt:
    """`tool_call_id`: AG-UI's id of the call, which the client has seen. Without one it is a plain confirmation."""
    request = obj(params)
    approval = _approval(params)
    call = tool_call_in_question(request)
    subject = obj(request.get("subject"))
    shown = present({"command": text(subject.get("command")), "cwd": text(subject.get("cwd"))})
    shown |= {key: if_small(without_meta(call[key]), SHOWN_MAX_CHARS, TOO_LARGE) for key in SHOWN_FIELDS if key in call}
    lines = [text(request.get("title")), text(request.get("description")), text(call.get("title"))]
    lines.append(shown.get("command"))
    message = dict.fromkeys(line for line in lines if line)
    return Interrupt(
        id=interrupt_id,
        reason="confirmation" if tool_call_id is None else "tool_call",
        message="\n".join(message) or "The agent asks for permission.",
        tool_call_id=tool_call_id,
        response_schema=approval.response_schema(),
        metadata={"acp": present({"options": approval.options_json()}) | ({"subject": shown} if shown else {})},
        subagent=subagent,
    )


def permission_result(params: Any, answer: Answer) -> dict[str, Any]:
    """The option that the answer names, else the one that its yes or no means."""
    return _selected(_approval(params).decide(answer).option)


def decide_by_policy(params: Any, policy: Literal["auto", "deny"]) -> dict[str, Any]:
    """The result that needs no user."""
    decision = _approval(params).decide_by_policy(policy)
    return _selected(None if decision is None else decision.option)


def selected_option_name(params: Any, result: dict[str, Any]) -> str:
    """What was decided, for people: the name of the option."""
    option_id = obj(result.get("outcome")).get("optionId")
    for option in _approval(params).options:
        if option.id == option_id:
            return option.label or option.id
    return "cancelled"


def elicitation_interrupt(
    interrupt_id: str, params: Any, tool_call_id: str | None = None, *, subagent: str | None = None
) -> Interrupt:
    shown = {"acp": elicitation_metadata(params, "mode", "url", "elicitationId")}
    return mcp_elicitation_interrupt(interrupt_id, params, tool_call_id, subagent=subagent, metadata=shown)


def _approval(params: Any) -> Approval:
    """Each option id once: a JSON Schema that lists one twice matches neither."""
    options: dict[str, Option] = {}
    for option in items(obj(params).get("options")):
        if (option_id := text(option.get("optionId"))) is not None:
            options.setdefault(option_id, Option(option_id, text(option.get("name")), text(option.get("kind"))))
    return Approval(tuple(options.values()))


def _selected(option: Option | None) -> dict[str, Any]:
    """None: no option says it, and `cancelled` is the result that approves of nothing."""
    if option is None:
        return {"outcome": {"outcome": "cancelled"}}
    return {"outcome": {"outcome": "selected", "optionId": option.id}}
