"""What Codex asks the client → AG-UI's questions.

In: the app server's requests for approval and for input. Out: a `Interrupt`. Codex takes no changed arguments: to run
the old ones after an edit would be worse than to refuse, and the schema says so.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from gateway.events import Interrupt
from gateway.wire.dialects.codex.permission_options import COMMAND, FILES, INPUT, PERMISSIONS, Option, Pending
from gateway.wire.elicitations import elicitation_interrupt
from gateway.wire.fields import items, non_empty, obj, present, text

SHOWN = (
    "kind", "command", "cwd", "reason", "commandActions", "networkApprovalContext", "additionalPermissions",
    "proposedExecpolicyAmendment", "proposedNetworkPolicyAmendments", "grantRoot", "permissions", "serverName",
)  # fmt: skip
"""Of a request: what somebody must know to decide."""
PLAIN = {
    COMMAND: "The agent wants to run a command.",
    FILES: "The agent wants to change files.",
    PERMISSIONS: "The agent asks for more permissions.",
}
"""Said where the request itself says nothing."""


def question(
    pending: Pending, question_id: str, tool_call_id: str | None, subagent: str | None, files: Sequence[str] = ()
) -> Interrupt:
    """`files`: what would be changed, which the request itself does not say."""
    if pending.about_tool:
        asked = _approval(pending, question_id, tool_call_id, subagent)
        return replace(asked, message="\n".join([asked.message or "", *files]))
    if pending.method == INPUT:
        return _form(pending, question_id, tool_call_id, subagent)
    asked = elicitation_interrupt(question_id, pending.params, tool_call_id, subagent=subagent)
    about = {"serverName": text(pending.params.get("serverName")), "mode": text(pending.params.get("mode"))}
    url = text(pending.params.get("url"))
    return replace(asked, metadata={"codex": present(about)} | ({"url": url} if url else {}))


def _approval(pending: Pending, question_id: str, tool_call_id: str | None, subagent: str | None) -> Interrupt:
    options = pending.options
    told = [{"optionId": option.id, "name": option.name, "kind": option.kind} for option in options]
    return Interrupt(
        id=question_id,
        reason="confirmation" if tool_call_id is None else "tool_call",
        message=_message(pending),
        tool_call_id=tool_call_id,
        response_schema=_schema(options),
        metadata={"codex": {"options": told} | _shown(pending.params)},
        subagent=subagent,
    )


def _message(pending: Pending) -> str:
    params = pending.params
    host, root = text(obj(params.get("networkApprovalContext")).get("host")), text(params.get("grantRoot"))
    lines = [text(params.get("message")), text(params.get("reason"))]
    lines += [f"Connect to {host}?" if host else None, f"Allow changes below {root}?" if root else None]
    lines.append(text(params.get("command")))
    words = "\n".join(dict.fromkeys(line for line in lines if line))
    return words or PLAIN.get(pending.method, "The agent wants to call a tool.")


def _shown(params: dict[str, Any]) -> dict[str, Any]:
    meta = obj(params.get("_meta"))
    told = {"toolDescription": text(meta.get("tool_description")), "toolParams": meta.get("tool_params")}
    return present({key: params.get(key) for key in SHOWN} | told)


def _schema(options: list[Option]) -> dict[str, Any]:
    named = [{"const": option.id, "title": option.name} for option in options]
    approved = {"type": "boolean", "title": "Approve", "description": "A plain yes or no, instead of an option."}
    choice = {"type": "string", "enum": [option.id for option in options], "oneOf": named}
    return {
        "type": "object",
        "properties": {"optionId": choice, "approved": approved},
        "anyOf": [{"required": ["optionId"]}, {"required": ["approved"]}],
        "not": {"required": ["editedArgs"]},
    }


def _form(pending: Pending, question_id: str, tool_call_id: str | None, subagent: str | None) -> Interrupt:
    asked = pending.questions
    properties = {name: _field(one) for name, one in asked.items()}
    lines = [text(one.get("question")) for one in asked.values()]
    return Interrupt(
        id=question_id,
        reason="input_required",
        message="\n".join(line for line in lines if line) or "The agent asks for input.",
        tool_call_id=tool_call_id,
        response_schema={"type": "object", "properties": properties, "required": list(properties)},
        metadata={"codex": present({"questions": list(asked.values())})},
        subagent=subagent,
    )


def _field(one: dict[str, Any]) -> dict[str, Any]:
    about = {"title": text(one.get("header")), "description": text(one.get("question"))}
    field: dict[str, Any] = {"type": "string"} | present(about)
    if one.get("isSecret") is True:
        field["format"] = "password"
    labels = [label for option in items(one.get("options")) if (label := non_empty(option.get("label"))) is not None]
    if not labels:
        return field
    # With `isOther` words of one's own are as good.
    return field | {"examples" if one.get("isOther") is True else "enum": list(dict.fromkeys(labels))}
