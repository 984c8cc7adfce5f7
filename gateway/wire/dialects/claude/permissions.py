"""What Claude Code asks its host ↔ AG-UI's questions and answers.

In: `can_use_tool` and `elicitation` requests, and the human's answer or a policy. Out: a `Interrupt`, and the response
to send. What is not clearly a yes is never sent as one. What outlasts this once is offered for the session only: a rule
that Claude writes into the project's settings is nothing that a client of the gateway can see or take back.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

from gateway.events import Interrupt
from gateway.turn import Answer
from gateway.wire.dialects.claude.question_forms import form, form_answers
from gateway.wire.fields import items, json_text, non_empty, obj, present, text

ASK_USER, EXIT_PLAN = "AskUserQuestion", "ExitPlanMode"
SHOWN = ("title", "display_name", "description", "decision_reason", "blocked_path", "mcp_server")
"""Of a request: what somebody must know to decide."""
SHOWN_CHARS = 200_000
"""Arguments that are longer are not shown again in the question: the call itself has them."""
REFUSED = "The user refused this."
UNANSWERED = "The user gave no answer."
BY_POLICY = "This session refuses whatever needs permission, and nobody can be asked."
NOBODY = "Nobody can be asked in this session: decide yourself, and say what you assumed."


@dataclass(frozen=True, slots=True)
class Pending:
    """One request that waits for an answer."""

    request_id: str
    request: dict[str, Any]

    @property
    def tool(self) -> str | None:
        """The tool that wants to run; None: somebody else asks."""
        return non_empty(self.request.get("tool_name")) if self.request.get("subtype") == "can_use_tool" else None

    @property
    def input(self) -> dict[str, Any]:
        return obj(self.request.get("input"))

    @property
    def lasting(self) -> list[dict[str, Any]]:
        """What the session may be told to allow from now on."""
        if self.request.get("suppress_always_allow_rule") is True:
            return []
        told = items(self.request.get("permission_suggestions"))
        return [{**one, "destination": "session"} for one in told if _described(one) is not None]


# -- questions


def question(pending: Pending, question_id: str, tool_call_id: str | None, subagent: str | None) -> Interrupt:
    match pending.tool:
        case None:
            return _elicitation(pending.request, question_id, subagent)
        case tool if tool == ASK_USER:
            message, schema = form(pending.input)
            about = {"claude": {"toolName": tool}}
            return Interrupt(question_id, "input_required", message, tool_call_id, schema, None, about, subagent)
        case tool:
            return _permission(pending, question_id, tool_call_id, subagent, plan=tool == EXIT_PLAN)


def _permission(
    pending: Pending, question_id: str, tool_call_id: str | None, subagent: str | None, *, plan: bool
) -> Interrupt:
    options = _options(pending, plan=plan)
    request = pending.request
    about = {"toolName": pending.tool, "input": _bounded(pending.input), "options": options}
    about |= {_camel(key): request.get(key) for key in SHOWN}
    return Interrupt(
        id=question_id,
        reason="confirmation" if plan or tool_call_id is None else "tool_call",
        message=_message(pending, plan=plan),
        tool_call_id=tool_call_id,
        response_schema=_schema(options, edits=not plan),
        metadata={"claude": present(about)},
        subagent=subagent,
    )


def _message(pending: Pending, *, plan: bool) -> str:
    if plan:
        told = text(pending.input.get("plan")) or ""
        return f"The agent asks to leave plan mode and to carry out its plan.\n\n{told}".strip()
    request = pending.request
    name = text(request.get("display_name")) or pending.tool
    named = text(request.get("title")) or f"The agent wants to use {name}."
    lines = [named, text(request.get("description")), text(request.get("decision_reason"))]
    return "\n".join(dict.fromkeys(line for line in lines if line))


def _options(pending: Pending, *, plan: bool) -> list[dict[str, str]]:
    yes, no = ("Yes, carry it out", "No, keep planning") if plan else ("Allow once", "Refuse")
    found = [{"optionId": "allow", "name": yes, "kind": "allow_once"}]
    for number, update in enumerate(pending.lasting, 1):
        name = f"Allow, and for this session {_described(update)}"
        found.append({"optionId": f"session-{number}", "name": name, "kind": "allow_always"})
    return [*found, {"optionId": "deny", "name": no, "kind": "reject_once"}]


def _described(update: dict[str, Any]) -> str | None:
    """In words; None: not understood, or nothing that allows more."""
    match update:
        case {"type": "addRules", "behavior": "allow", "rules": [*rules]}:
            named = [_rule(rule) for rule in items(rules)]
            return f"allow {', '.join(named)}" if named and all(named) else None
        case {"type": "addDirectories", "directories": [*folders]} if folders:
            return f"let it work in {', '.join(map(str, folders))}"
        case {"type": "setMode", "mode": str(mode)}:
            return f"switch to the mode {mode}"
    return None


def _rule(rule: dict[str, Any]) -> str:
    tool, what = non_empty(rule.get("toolName")), non_empty(rule.get("ruleContent"))
    return f"{tool}({what})" if tool and what else tool or ""


def _schema(options: list[dict[str, str]], *, edits: bool) -> dict[str, Any]:
    named = [{"const": option["optionId"], "title": option["name"]} for option in options]
    choice = {"type": "string", "enum": [option["optionId"] for option in options], "oneOf": named}
    approved = {"type": "boolean", "title": "Approve", "description": "A plain yes or no, instead of an option."}
    feedback = {"type": "string", "title": "Feedback", "description": "What the agent is told with a no."}
    properties: dict[str, Any] = {"optionId": choice, "approved": approved, "feedback": feedback}
    if edits:
        what = "Run with these arguments instead: all of them, not only those that change."
        properties["editedArgs"] = {"type": "object", "title": "Changed arguments", "description": what}
    schema = {
        "type": "object",
        "properties": properties,
        "anyOf": [{"required": ["optionId"]}, {"required": ["approved"]}],
    }
    return schema if edits else schema | {"not": {"required": ["editedArgs"]}}


def _elicitation(request: dict[str, Any], question_id: str, subagent: str | None) -> Interrupt:
    """A form of an MCP server's, or a URL for the user to judge and open."""
    message, url = text(request.get("message")) or "An MCP server asks for input.", text(request.get("url"))
    schema = request.get("requested_schema")
    about = {"server": text(request.get("mcp_server_name")), "mode": text(request.get("mode"))}
    return Interrupt(
        id=question_id,
        reason="input_required",
        message=f"{message}\n{url}" if url else message,
        response_schema=schema if isinstance(schema, dict) and not url else CONSENT,
        metadata={"claude": present(about)} | ({"url": url} if url else {}),
        subagent=subagent,
    )


OPENED = {"type": "boolean", "title": "Opened"}
CONSENT = {"type": "object", "properties": {"accepted": OPENED}, "required": ["accepted"]}


# -- answers


def answered(pending: Pending, answer: Answer) -> dict[str, Any]:
    payload = obj(answer.payload) if answer.status == "resolved" else {}
    if pending.tool is None:
        return _elicited(pending.request, answer)
    if answer.status != "resolved":
        return denied(UNANSWERED)
    if pending.tool == ASK_USER:
        answers = form_answers(pending.input, payload)
        filled = {**pending.input, "answers": answers}
        return {"behavior": "allow", "updatedInput": filled} if answers else denied(UNANSWERED)
    updates = _granted(pending, payload)
    edited = payload.get("editedArgs", pending.input)
    if updates is None or not isinstance(edited, dict) or (pending.tool == EXIT_PLAN and "editedArgs" in payload):
        words = non_empty(payload.get("feedback"))
        return denied(f"{REFUSED} {words}" if words else REFUSED)
    return {"behavior": "allow", "updatedInput": edited, **({"updatedPermissions": updates} if updates else {})}


def _granted(pending: Pending, payload: dict[str, Any]) -> list[dict[str, Any]] | None:
    """What is allowed beyond this once; None: not even this."""
    lasting = {f"session-{number}": [update] for number, update in enumerate(pending.lasting, 1)}
    if "optionId" in payload:
        chosen = payload["optionId"]
        return ({"allow": []} | lasting).get(chosen) if isinstance(chosen, str) else None
    return [] if payload.get("approved") is True else None


def by_policy(pending: Pending, policy: Literal["auto", "deny"]) -> dict[str, Any]:
    """The answer that needs no human. A form is nothing that a policy can fill in."""
    if pending.tool is None:
        return {"action": "decline"}
    if pending.tool == ASK_USER:
        return denied(NOBODY)
    return denied(BY_POLICY) if policy == "deny" else {"behavior": "allow", "updatedInput": pending.input}


def denied(words: str) -> dict[str, Any]:
    return {"behavior": "deny", "message": words}


def withdrawn(pending: Pending) -> dict[str, Any]:
    """The response to a question that nobody will answer any more."""
    return {"action": "cancel"} if pending.tool is None else denied(UNANSWERED)


def _elicited(request: dict[str, Any], answer: Answer) -> dict[str, Any]:
    if answer.status != "resolved":
        return {"action": "cancel"}
    if non_empty(request.get("url")):
        return {"action": "accept" if obj(answer.payload).get("accepted") is True else "decline"}
    if not isinstance(answer.payload, dict):
        return {"action": "decline"}
    return {"action": "accept", "content": answer.payload}


def _bounded(value: Any) -> Any:
    return value if len(json_text(value)) <= SHOWN_CHARS else {"tooLarge": True}


def _camel(name: str) -> str:
    head, *rest = name.split("_")
    return head + "".join(part.title() for part in rest)
