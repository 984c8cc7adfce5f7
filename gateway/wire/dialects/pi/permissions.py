"""What extensions, the gateway's own gate and omp's approvals ask ↔ AG-UI's questions and answers.

In: `extension_ui_request` with a dialog (`confirm`, `select`, `input`, `editor`), and the human's answer or a policy.
Out: a `Interrupt`, and the `extension_ui_response`. An answer that is not clearly a yes is never sent as one: whatever
does not fit the dialog is sent as `cancelled`, which every dialog takes for a no.

Two dialogs are about a tool call: the gate's (`agents/pi-gate.ts`), an `input` with a title of its own that names the
call's id and takes changed arguments, and omp's, a `select` of Approve and Deny whose title names the tool.
"""

from __future__ import annotations

from typing import Any, Literal

import orjson

from gateway.events import Interrupt
from gateway.turn import Answer
from gateway.wire.dialects.pi.tool_calls import Call
from gateway.wire.fields import json_text, non_empty, obj, present, text

DIALOGS = frozenset(("confirm", "select", "input", "editor"))
GATE = "agui-gateway:tool_call"
"""The title of the gate's dialog."""
APPROVAL = "Allow tool: "
APPROVE, DENY = "Approve", "Deny"
SHOWN_CHARS = 20_000
"""More of a call's arguments is not shown again in the question: the call itself has it."""
REFUSED = "The user refused this tool call."
FORBIDDEN = "Tool calls that change anything are not allowed in this run."

_APPROVED = {"type": "boolean", "title": "Approve"}
_YES_OR_NO = {"type": "object", "properties": {"approved": _APPROVED}, "required": ["approved"]}
_EDITABLE = {
    "type": "object",
    "properties": {"approved": _APPROVED, "editedArgs": {"type": "object", "title": "Changed arguments, all of them"}},
    "required": ["approved"],
}


def is_gate(request: dict[str, Any]) -> bool:
    return request.get("method") == "input" and request.get("title") == GATE


def is_approval(request: dict[str, Any]) -> bool:
    """Of omp's own."""
    title, options = text(request.get("title")) or "", _options(request)
    return request.get("method") == "select" and title.startswith(APPROVAL) and APPROVE in options


def approves(request: dict[str, Any]) -> str | None:
    """The tool that omp's own approval is about, by its name."""
    lines = (text(request.get("title")) or "").splitlines()
    return lines[0].removeprefix(APPROVAL).strip() if is_approval(request) and lines else None


def about(request: dict[str, Any]) -> dict[str, Any]:
    """What the gate says of the call: `toolCallId`, `toolName`."""
    try:
        return obj(orjson.loads(text(request.get("placeholder")) or ""))
    except orjson.JSONDecodeError:
        return {}


def among(request: dict[str, Any], calls: list[Call]) -> Call | None:
    """Which of the calls omp's dialog is about. It names the tool and tells some of the arguments, but no id."""
    lines = (text(request.get("title")) or "").splitlines()
    name, rest = lines[0].removeprefix(APPROVAL).strip(), "\n".join(lines[1:])
    named = [call for call in calls if call.name == name]
    shown = (call for call in named if any(isinstance(v, str) and v and v in rest for v in call.arguments.values()))
    return next(shown, named[0] if named else None)


# -- the question


def question(agent: str, question_id: str, request: dict[str, Any], call: Call | None, lane: str | None) -> Interrupt:
    tool_call, timeout = is_gate(request) or is_approval(request), request.get("timeout")
    seconds = timeout / 1000 if isinstance(timeout, int | float) and timeout > 0 else None
    return Interrupt(
        id=question_id,
        reason=_reason(request, call, tool_call=tool_call),
        message=_message(request, call),
        tool_call_id=call.id if call is not None and tool_call else None,
        response_schema=_schema(request),
        expires_in=seconds,
        metadata={agent: _shown(request, call)},
        subagent=lane,
    )


def _reason(request: dict[str, Any], call: Call | None, *, tool_call: bool) -> str:
    if tool_call:
        return "confirmation" if call is None else "tool_call"
    return "confirmation" if request.get("method") == "confirm" else "input_required"


def _message(request: dict[str, Any], call: Call | None) -> str:
    if is_gate(request):
        return (
            _summary(call) if call is not None else f"Allow {non_empty(about(request).get('toolName')) or 'this tool'}?"
        )
    words = (text(request.get(key)) for key in ("title", "message"))
    return "\n".join(line for line in words if line) or "The agent asks for input."


def _summary(call: Call) -> str:
    """A command or a path says most of what a call will do."""
    told = next((call.arguments[key] for key in ("command", "path") if key in call.arguments), call.arguments)
    words = told if isinstance(told, str) else json_text(told)
    return f"Allow {call.name}? {words[:SHOWN_CHARS]}"


def _shown(request: dict[str, Any], call: Call | None) -> dict[str, Any]:
    shown: dict[str, Any] = {"method": "tool_call" if is_gate(request) else request.get("method")}
    if call is not None:
        small = len(json_text(call.arguments)) <= SHOWN_CHARS
        shown |= {"toolName": call.name, "input": call.arguments if small else {"tooLarge": True}}
    return shown | present({"options": _options(request), "prefill": text(request.get("prefill"))})


def _schema(request: dict[str, Any]) -> dict[str, Any]:
    if is_gate(request):
        return _EDITABLE
    match request.get("method"):
        case "confirm":
            return _YES_OR_NO
        case "select":
            return _choice(_options(request), approval=is_approval(request))
        case _:
            value = {"type": "string", "title": text(request.get("placeholder")) or "Value"}
            return {"type": "object", "properties": {"value": value}, "required": ["value"]}


def _choice(options: list[str], *, approval: bool) -> dict[str, Any]:
    choice: dict[str, Any] = {"type": "string"} | ({"enum": options} if options else {})
    if not approval:
        return {"type": "object", "properties": {"optionId": choice}, "required": ["optionId"]}
    return {
        "type": "object",
        "properties": {"optionId": choice, "approved": _APPROVED},
        "anyOf": [{"required": ["optionId"]}, {"required": ["approved"]}],
        # omp takes no changed arguments: to run the old ones after an edit would be worse than to refuse.
        "not": {"required": ["editedArgs"]},
    }


# -- the answer


def response(request: dict[str, Any], answer: Answer) -> dict[str, Any]:
    told = _answered(request, answer.payload) if answer.status == "resolved" else None
    return _response(request, told)


def edited(request: dict[str, Any], answer: Answer) -> dict[str, Any] | None:
    """The arguments that run instead of the model's own."""
    verdict = _verdict(obj(answer.payload)) if is_gate(request) and answer.status == "resolved" else {}
    return verdict.get("editedArgs")


def by_policy(request: dict[str, Any], policy: Literal["auto", "deny"]) -> dict[str, Any]:
    """The answer that needs no human. What is no yes-or-no question gets none."""
    yes = policy == "auto"
    if is_gate(request):
        told = {"approved": True} if yes else {"approved": False, "reason": FORBIDDEN}
        return _response(request, {"value": json_text(told)})
    if is_approval(request):
        return _response(request, {"value": APPROVE if yes else DENY})
    return _response(request, {"confirmed": yes} if request.get("method") == "confirm" else None)


def _answered(request: dict[str, Any], payload: Any) -> dict[str, Any] | None:
    approved = obj(payload).get("approved")
    if is_gate(request):
        return {"value": json_text(_verdict(obj(payload)))}
    if request.get("method") == "confirm":
        return {"confirmed": approved is True and "editedArgs" not in obj(payload)}
    chosen = _chosen(payload)
    if request.get("method") == "select":
        if chosen is None and is_approval(request) and isinstance(approved, bool):
            chosen = APPROVE if approved and "editedArgs" not in obj(payload) else DENY
        return {"value": chosen} if chosen in _options(request) else None
    return None if chosen is None else {"value": chosen}


def _verdict(payload: dict[str, Any]) -> dict[str, Any]:
    edited = payload.get("editedArgs")
    if payload.get("approved") is not True or not isinstance(edited, dict | None):
        return {"approved": False, "reason": REFUSED}
    return {"approved": True} | ({} if edited is None else {"editedArgs": edited})


def _chosen(payload: Any) -> str | None:
    told = obj(payload)
    return text(payload) if isinstance(payload, str) else text(told.get("optionId", told.get("value")))


def _response(request: dict[str, Any], told: dict[str, Any] | None) -> dict[str, Any]:
    return {"type": "extension_ui_response", "id": request.get("id"), **(told or {"cancelled": True})}


def _options(request: dict[str, Any]) -> list[str]:
    options = request.get("options")
    return [option for option in options if isinstance(option, str)] if isinstance(options, list) else []
