"""Requests that Claude Code sends to its host ↔ AG-UI interrupts and their answers.

In: `can_use_tool` and `elicitation` requests, and the user's answer or the run's policy. Out: an `Interrupt`, and the
response to send. Only a clear yes is sent as one. A permission that lasts is offered for the session only: a client of
the gateway could neither see nor revoke a rule that Claude writes into the project's settings.

`AskUserQuestion` becomes a form: a field for each question, and beside it one for a free answer, as Claude promises its
model. The tool gets the answers by the text of their questions.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

from gateway.events import Event, Interrupt, InterruptRequested
from gateway.turn import Answer
from gateway.wire.fields import items, json_text, non_empty, obj, present, text, unique_strings

Json = dict[str, Any]

ASK_USER_TOOL = "AskUserQuestion"
EXIT_PLAN_TOOL = "ExitPlanMode"
SHOWN_FIELDS = ("title", "display_name", "description", "decision_reason", "blocked_path", "mcp_server")
"""Fields of a request that the user needs for a decision."""
MAX_INPUT_CHARS = 200_000
"""Longer arguments are not repeated in the interrupt; the tool call itself has them."""
DENIED = "The user refused this."
UNANSWERED = "The user gave no answer."
DENIED_BY_POLICY = "This session refuses whatever needs permission, and no user can be asked."
NO_USER = "No user can be asked in this session: decide yourself, and state what you assumed."
CONSENT_SCHEMA: Json = {
    "type": "object",
    "properties": {"accepted": {"type": "boolean", "title": "Opened"}},
    "required": ["accepted"],
}


@dataclass(frozen=True, slots=True)
class PermissionRequest:
    """One request that waits for an answer."""

    request_id: str
    params: Json

    @property
    def tool(self) -> str | None:
        """The tool that Claude wants to run; None: the request is no `can_use_tool`."""
        return non_empty(self.params.get("tool_name")) if self.params.get("subtype") == "can_use_tool" else None

    @property
    def is_elicitation(self) -> bool:
        return self.params.get("subtype") == "elicitation"

    @property
    def input(self) -> Json:
        return obj(self.params.get("input"))

    @property
    def session_rules(self) -> list[Json]:
        """Claude's suggestions of what to allow from now on, limited to the session."""
        if self.params.get("suppress_always_allow_rule") is True:
            return []
        suggestions = items(self.params.get("permission_suggestions"))
        return [{**rule, "destination": "session"} for rule in suggestions if _describe_rule(rule) is not None]


class PermissionRequests:
    """The requests that wait for the user, and the interrupts that the client has not seen yet."""

    def __init__(self) -> None:
        self._open: dict[str, PermissionRequest] = {}
        self._unreported: list[Interrupt] = []

    def __contains__(self, interrupt_id: str) -> bool:
        return interrupt_id in self._open

    @property
    def has_reported(self) -> bool:
        """The client has seen an interrupt that is still open."""
        return len(self._open) > len(self._unreported)

    def add(self, request: PermissionRequest, interrupt: Interrupt) -> None:
        self._open[interrupt.id] = request
        self._unreported.append(interrupt)

    def take_unreported(self) -> list[Event]:
        interrupts = tuple(self._unreported)
        self._unreported.clear()
        return [InterruptRequested(interrupts)] if interrupts else []

    def pop(self, interrupt_id: str) -> PermissionRequest | None:
        return self._open.pop(interrupt_id, None)

    def withdraw(self, request_id: str | None) -> str | None:
        """Claude takes a request back. Returns the id of its interrupt if the client has seen it."""
        for interrupt_id, request in self._open.items():
            if request.request_id == request_id:
                del self._open[interrupt_id]
                others = [interrupt for interrupt in self._unreported if interrupt.id != interrupt_id]
                was_reported = len(others) == len(self._unreported)
                self._unreported = others
                return interrupt_id if was_reported else None
        return None

    def clear(self) -> list[PermissionRequest]:
        """Forget all requests; returns those that were open."""
        requests = list(self._open.values())
        self._open.clear()
        self._unreported.clear()
        return requests


# -- interrupts


def to_interrupt(
    request: PermissionRequest, interrupt_id: str, tool_call_id: str | None, subagent: str | None
) -> Interrupt:
    match request.tool:
        case None:
            return _elicitation_interrupt(request.params, interrupt_id, subagent)
        case tool if tool == ASK_USER_TOOL:
            message, schema = _question_form(request.input)
            metadata = {"claude": {"toolName": tool}}
            return Interrupt(interrupt_id, "input_required", message, tool_call_id, schema, None, metadata, subagent)
        case _:
            return _permission_interrupt(request, interrupt_id, tool_call_id, subagent)


def _permission_interrupt(
    request: PermissionRequest, interrupt_id: str, tool_call_id: str | None, subagent: str | None
) -> Interrupt:
    is_plan = request.tool == EXIT_PLAN_TOOL
    options = _options(request)
    shown_input = request.input if len(json_text(request.input)) <= MAX_INPUT_CHARS else {"tooLarge": True}
    details = {"toolName": request.tool, "input": shown_input, "options": options}
    details |= {_to_camel_case(field): request.params.get(field) for field in SHOWN_FIELDS}
    return Interrupt(
        id=interrupt_id,
        reason="confirmation" if is_plan or tool_call_id is None else "tool_call",
        message=_plan_message(request.input) if is_plan else _permission_message(request),
        tool_call_id=tool_call_id,
        response_schema=_response_schema(options, can_edit=not is_plan),
        metadata={"claude": present(details)},
        subagent=subagent,
    )


def _plan_message(arguments: Json) -> str:
    plan = text(arguments.get("plan")) or ""
    return f"The agent asks to leave plan mode and to carry out its plan.\n\n{plan}".strip()


def _permission_message(request: PermissionRequest) -> str:
    params = request.params
    name = text(params.get("display_name")) or request.tool
    title = text(params.get("title")) or f"The agent wants to use {name}."
    lines = [title, text(params.get("description")), text(params.get("decision_reason"))]
    return "\n".join(dict.fromkeys(line for line in lines if line))


def _options(request: PermissionRequest) -> list[dict[str, str]]:
    is_plan = request.tool == EXIT_PLAN_TOOL
    allow, deny = ("Yes, carry it out", "No, keep planning") if is_plan else ("Allow once", "Refuse")
    options = [{"optionId": "allow", "name": allow, "kind": "allow_once"}]
    for number, rule in enumerate(request.session_rules, 1):
        name = f"Allow, and for this session {_describe_rule(rule)}"
        options.append({"optionId": f"session-{number}", "name": name, "kind": "allow_always"})
    return [*options, {"optionId": "deny", "name": deny, "kind": "reject_once"}]


def _describe_rule(rule: Json) -> str | None:
    """A permission update in a few words. None: unknown, or it allows nothing more."""
    match rule:
        case {"type": "addRules", "behavior": "allow", "rules": [*rules]}:
            names = [_describe_tool_rule(tool_rule) for tool_rule in items(rules)]
            return f"allow {', '.join(names)}" if names and all(names) else None
        case {"type": "addDirectories", "directories": [*directories]} if directories:
            return f"let it work in {', '.join(map(str, directories))}"
        case {"type": "setMode", "mode": str(mode)}:
            return f"switch to the mode {mode}"
    return None


def _describe_tool_rule(rule: Json) -> str:
    tool, content = non_empty(rule.get("toolName")), non_empty(rule.get("ruleContent"))
    return f"{tool}({content})" if tool and content else tool or ""


def _response_schema(options: list[dict[str, str]], *, can_edit: bool) -> Json:
    named = [{"const": option["optionId"], "title": option["name"]} for option in options]
    choice = {"type": "string", "enum": [option["optionId"] for option in options], "oneOf": named}
    approved = {"type": "boolean", "title": "Approve", "description": "A plain yes or no, instead of an option."}
    feedback = {"type": "string", "title": "Feedback", "description": "What the agent is told with a no."}
    properties: Json = {"optionId": choice, "approved": approved, "feedback": feedback}
    if can_edit:
        description = "Run with these arguments instead: all of them, not only those that change."
        properties["editedArgs"] = {"type": "object", "title": "Changed arguments", "description": description}
    schema = {
        "type": "object",
        "properties": properties,
        "anyOf": [{"required": ["optionId"]}, {"required": ["approved"]}],
    }
    return schema if can_edit else schema | {"not": {"required": ["editedArgs"]}}


def _elicitation_interrupt(params: Json, interrupt_id: str, subagent: str | None) -> Interrupt:
    """A form of an MCP server, or a URL that the user decides to open."""
    message, url = text(params.get("message")) or "An MCP server asks for input.", text(params.get("url"))
    schema = params.get("requested_schema")
    details = {"server": text(params.get("mcp_server_name")), "mode": text(params.get("mode"))}
    return Interrupt(
        id=interrupt_id,
        reason="input_required",
        message=f"{message}\n{url}" if url else message,
        response_schema=schema if isinstance(schema, dict) and not url else CONSENT_SCHEMA,
        metadata={"claude": present(details)} | ({"url": url} if url else {}),
        subagent=subagent,
    )


# -- the form of AskUserQuestion


def _question_form(arguments: Json) -> tuple[str, Json]:
    """The message, and the schema of the answer."""
    properties: Json = {}
    questions = items(arguments.get("questions"))
    for number, question in enumerate(questions):
        properties[f"question_{number}"] = _question_field(question)
        description = "Another answer than those, or a further one."
        properties[f"question_{number}_custom"] = {"type": "string", "title": "Other", "description": description}
    message = "\n".join(line for question in questions if (line := text(question.get("question"))))
    return message or "The agent asks for input.", {"type": "object", "properties": properties}


def _question_field(question: Json) -> Json:
    labels = present({"title": text(question.get("header")), "description": text(question.get("question"))})
    options = [
        present({"const": label, "title": label, "description": text(option.get("description"))})
        for option in items(question.get("options"))
        if (label := non_empty(option.get("label"))) is not None
    ]
    choice = {"type": "string", "oneOf": options} if options else {"type": "string"}
    if question.get("multiSelect") is True:
        return {"type": "array", "items": choice, "uniqueItems": True, **labels}
    return {**choice, **labels}


def _form_answers(arguments: Json, payload: Json) -> dict[str, str]:
    """Text of a question → its answer; questions without an answer are left out."""
    answers: dict[str, str] = {}
    for number, question in enumerate(items(arguments.get("questions"))):
        choice, custom = payload.get(f"question_{number}"), payload.get(f"question_{number}_custom")
        labels = unique_strings([*(choice if isinstance(choice, list) else [choice]), custom])
        if labels and (question_text := text(question.get("question"))) is not None:
            answers[question_text] = ", ".join(labels)
    return answers


# -- responses


def to_response(request: PermissionRequest, answer: Answer) -> Json:
    if request.tool is None:
        return _elicitation_response(request.params, answer)
    if answer.status != "resolved":
        return deny(UNANSWERED)
    payload = obj(answer.payload)
    if request.tool == ASK_USER_TOOL:
        answers = _form_answers(request.input, payload)
        return (
            {"behavior": "allow", "updatedInput": {**request.input, "answers": answers}}
            if answers
            else deny(UNANSWERED)
        )
    rules = _granted_rules(request, payload)
    arguments = payload.get("editedArgs", request.input)
    is_edited_plan = request.tool == EXIT_PLAN_TOOL and "editedArgs" in payload
    if rules is None or not isinstance(arguments, dict) or is_edited_plan:
        feedback = non_empty(payload.get("feedback"))
        return deny(f"{DENIED} {feedback}" if feedback else DENIED)
    return {"behavior": "allow", "updatedInput": arguments, **({"updatedPermissions": rules} if rules else {})}


def _granted_rules(request: PermissionRequest, payload: Json) -> list[Json] | None:
    """What is allowed beyond this call. None: this call is not allowed either."""
    by_option = {f"session-{number}": [rule] for number, rule in enumerate(request.session_rules, 1)}
    if "optionId" in payload:
        return ({"allow": []} | by_option).get(non_empty(payload["optionId"]) or "")
    return [] if payload.get("approved") is True else None


def policy_response(request: PermissionRequest, policy: Literal["auto", "deny"]) -> Json:
    """The response that needs no user. No policy can fill in a form."""
    if request.tool is None:
        return {"action": "decline"}
    if request.tool == ASK_USER_TOOL:
        return deny(NO_USER)
    return deny(DENIED_BY_POLICY) if policy == "deny" else {"behavior": "allow", "updatedInput": request.input}


def deny(message: str) -> Json:
    return {"behavior": "deny", "message": message}


def withdrawn_response(request: PermissionRequest) -> Json:
    """The response to a request that the user can no longer answer."""
    return {"action": "cancel"} if request.tool is None else deny(UNANSWERED)


def _elicitation_response(params: Json, answer: Answer) -> Json:
    if answer.status != "resolved":
        return {"action": "cancel"}
    if non_empty(params.get("url")):
        return {"action": "accept" if obj(answer.payload).get("accepted") is True else "decline"}
    if not isinstance(answer.payload, dict):
        return {"action": "decline"}
    return {"action": "accept", "content": answer.payload}


def _to_camel_case(name: str) -> str:
    head, *rest = name.split("_")
    return head + "".join(part.title() for part in rest)
