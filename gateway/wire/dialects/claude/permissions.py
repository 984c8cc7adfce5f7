"""Requests that Claude Code sends to its host ↔ AG-UI interrupts and their answers.

In: `can_use_tool` and `elicitation` requests, and the user's answer or the run's policy. Out: an `Interrupt`, and the
response to send. Only a clear yes is sent as one. A permission that lasts is offered for the session only: a client of
the gateway could neither see nor revoke a rule that Claude writes into the project's settings.

`AskUserQuestion` becomes a form: a field for each question, and beside it one for a free answer, as Claude promises its
model. The tool gets the answers by the text of their questions.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from gateway.events import Interrupt
from gateway.turn import Answer, Approvals
from gateway.wire.approvals import ALLOW_ALWAYS, ALLOW_ONCE, FEEDBACK_SCHEMA, REJECT_ONCE, Approval, Option
from gateway.wire.elicitations import elicitation_interrupt, elicitation_result
from gateway.wire.fields import if_small, items, non_empty, obj, present, text, unique_strings

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
EDITS_SCHEMA = {
    "type": "object",
    "title": "Changed arguments",
    "description": "Run with these arguments instead: all of them, not only those that change.",
}
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
    def input(self) -> Json:
        return obj(self.params.get("input"))

    @property
    def is_plan(self) -> bool:
        return self.tool == EXIT_PLAN_TOOL

    @property
    def approval(self) -> Approval:
        allow, deny = ("Yes, carry it out", "No, keep planning") if self.is_plan else ("Allow once", "Deny")
        lasting = [
            Option(f"session-{number}", f"Allow, and for this session {_describe_rule(rule)}", ALLOW_ALWAYS, [rule])
            for number, rule in enumerate(self.session_rules, 1)
        ]
        options = [Option("allow", allow, ALLOW_ONCE), *lasting, Option("deny", deny, REJECT_ONCE)]
        edits = None if self.is_plan else EDITS_SCHEMA
        return Approval(options, edits=edits, editable=frozenset(self.input), feedback=FEEDBACK_SCHEMA)

    @property
    def session_rules(self) -> list[Json]:
        """Claude's suggestions of what to allow from now on, limited to the session."""
        if self.params.get("suppress_always_allow_rule") is True:
            return []
        suggestions = items(self.params.get("permission_suggestions"))
        return [{**rule, "destination": "session"} for rule in suggestions if _describe_rule(rule) is not None]


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
    is_plan, approval = request.is_plan, request.approval
    shown_input = if_small(request.input, MAX_INPUT_CHARS, {"tooLarge": True})
    details = {"toolName": request.tool, "input": shown_input, "options": approval.options_json()}
    details |= {_to_camel_case(field): request.params.get(field) for field in SHOWN_FIELDS}
    return Interrupt(
        id=interrupt_id,
        reason="confirmation" if is_plan or tool_call_id is None else "tool_call",
        message=_plan_message(request.input) if is_plan else _permission_message(request),
        tool_call_id=tool_call_id,
        response_schema=approval.response_schema(),
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


def _elicitation_interrupt(params: Json, interrupt_id: str, subagent: str | None) -> Interrupt:
    """A form of an MCP server, or a URL that the user decides to open."""
    url, schema = text(params.get("url")), params.get("requested_schema")
    request = {
        "message": text(params.get("message")) or "An MCP server asks for input.",
        "url": url,
        "requestedSchema": schema if isinstance(schema, dict) and not url else CONSENT_SCHEMA,
    }
    details = {"server": text(params.get("mcp_server_name")), "mode": text(params.get("mode"))}
    return elicitation_interrupt(interrupt_id, request, subagent=subagent, metadata={"claude": present(details)})


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
        mode = "url" if non_empty(request.params.get("url")) else "form"
        return elicitation_result({"mode": mode}, answer)
    if request.tool == ASK_USER_TOOL:
        answers = _form_answers(request.input, obj(answer.payload)) if answer.status == "resolved" else {}
        return _allow({**request.input, "answers": answers}) if answers else _deny(UNANSWERED)
    decision = request.approval.decide(answer)
    if decision.is_cancelled:
        return _deny(UNANSWERED)
    if not decision.is_allowed:
        return _deny(f"{DENIED} {decision.feedback}" if decision.feedback else DENIED)
    arguments = request.input if decision.edited_args is None else decision.edited_args
    rules = decision.option.value if decision.option else None
    return _allow(arguments) | ({"updatedPermissions": rules} if rules else {})


def policy_response(request: PermissionRequest, policy: Approvals) -> Json | None:
    """The response that needs no user; None: the user must be asked. No policy can fill in a form."""
    decision = request.approval.decide_by_policy(policy)
    if decision is None:
        return None
    if request.tool is None:
        return {"action": "decline"}
    if request.tool == ASK_USER_TOOL:
        return _deny(NO_USER)
    return _allow(request.input) if decision.is_allowed else _deny(DENIED_BY_POLICY)


def _allow(arguments: Json) -> Json:
    return {"behavior": "allow", "updatedInput": arguments}


def _deny(message: str) -> Json:
    return {"behavior": "deny", "message": message}


def _to_camel_case(name: str) -> str:
    head, *rest = name.split("_")
    return head + "".join(part.title() for part in rest)
