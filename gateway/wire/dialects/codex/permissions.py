"""Requests for approval and input that Codex sends ↔ AG-UI interrupts and their answers.

In: requests of the app server, and the user's answer or the run's policy. Out: an `Interrupt`, and the result to send.
Codex takes no changed arguments: to run the old ones after an edit would be worse than to refuse, and the schema says
so. A permission that lasts is given only if the user chooses that option.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from gateway.events import Interrupt
from gateway.turn import Answer, Approvals
from gateway.wire.approvals import ALLOW_ALWAYS, ALLOW_ONCE, REJECT_ALWAYS, REJECT_ONCE, Approval, Decision, Option
from gateway.wire.elicitations import elicitation_interrupt, elicitation_metadata, elicitation_result
from gateway.wire.fields import items, non_empty, obj, present, strings, text, unique_strings

Json = dict[str, Any]

COMMAND = "item/commandExecution/requestApproval"
FILES = "item/fileChange/requestApproval"
PERMISSIONS = "item/permissions/requestApproval"
INPUT = "item/tool/requestUserInput"
ELICITATION = "mcpServer/elicitation/request"
METHODS = (COMMAND, FILES, PERMISSIONS, INPUT, ELICITATION)

LABELS = {
    "accept": ("Allow once", ALLOW_ONCE),
    "acceptForSession": ("Allow for this session", ALLOW_ALWAYS),
    "acceptWithExecpolicyAmendment": ("Allow this, and commands like it from now on", ALLOW_ALWAYS),
    "acceptAlways": ("Always allow", ALLOW_ALWAYS),
    "decline": ("Decline, and let the agent go on", REJECT_ONCE),
    "cancel": ("Decline, and stop the turn", REJECT_ONCE),
}
"""Decision → the label of its option, and its kind."""
FEEDBACK_SCHEMA = {
    "type": "string",
    "title": "Feedback",
    "description": "Sent to the agent as a message after a denial, unless the denial stops the turn.",
}
DEFAULT_DECISIONS = ("accept", "acceptForSession", "decline", "cancel")
PERSISTENCE = {"acceptForSession": "session", "acceptAlways": "always"}
"""Option → Codex's name for how long an MCP tool is allowed."""
SHOWN_FIELDS = (
    "kind", "command", "cwd", "reason", "commandActions", "networkApprovalContext", "additionalPermissions",
    "proposedExecpolicyAmendment", "proposedNetworkPolicyAmendments", "grantRoot", "permissions", "serverName",
)  # fmt: skip
"""Fields of a request that the user needs for a decision."""
DEFAULT_MESSAGES = {
    COMMAND: "The agent wants to run a command.",
    FILES: "The agent wants to change files.",
    PERMISSIONS: "The agent asks for more permissions.",
}
"""Used if the request has no text of its own."""


@dataclass(frozen=True, slots=True)
class PermissionRequest:
    """One request that waits for an answer."""

    request_id: int | str
    method: str
    params: Json
    takes_feedback: bool = False
    """The turn that asks can be given a message after a denial."""

    @property
    def meta(self) -> Json:
        return obj(self.params.get("_meta"))

    @property
    def is_approval(self) -> bool:
        """It asks whether something may be done; otherwise it is a form. Codex asks whether it may call an MCP tool by
        an elicitation with an empty form."""
        if self.method == ELICITATION:
            return self.meta.get("codex_approval_kind") == "mcp_tool_call"
        return self.method != INPUT

    @property
    def approval(self) -> Approval:
        """A plain yes allows once; where that is not offered, for the session at most."""
        return Approval(
            self._options(),
            plain_allow=("accept", "acceptForSession"),
            plain_reject=("decline",),
            feedback=FEEDBACK_SCHEMA if self.takes_feedback else None,
        )

    def _options(self) -> list[Option]:
        if self.method == PERMISSIONS:
            return [_option(name) for name in ("accept", "acceptForSession", "decline")]
        if self.method == ELICITATION:
            allowed = strings(self.meta.get("persist"))
            lasting = [name for name, persist in PERSISTENCE.items() if persist in allowed]
            return [_option(name) for name in ("accept", *lasting, "decline", "cancel")]
        decisions = self.params.get("availableDecisions")
        if not isinstance(decisions, list):
            return [_option(name) for name in DEFAULT_DECISIONS]
        options: dict[str, Option] = {}
        for decision in decisions:
            if (option := _read_decision(decision, len(options))) is not None:
                options.setdefault(option.id, option)
        # Codex does not always list it, but always takes it: the only no that does not end the turn.
        options.setdefault("decline", _option("decline"))
        return list(options.values())

    @property
    def questions(self) -> dict[str, Json]:
        """The questions of a request for input, by their ids."""
        questions = items(self.params.get("questions"))
        return {name: question for question in questions if (name := non_empty(question.get("id"))) is not None}


def _option(name: str, value: Any = None) -> Option:
    label, kind = LABELS.get(name, (name, ALLOW_ALWAYS))
    return Option(name, label, kind, name if value is None else value)


def _read_decision(decision: Any, number: int) -> Option | None:
    """A decision is a name, or an object with one key: a rule to add."""
    if isinstance(decision, str) and decision:
        return _option(decision)
    if not isinstance(decision, dict) or len(decision) != 1:
        return None
    [(name, rule)] = decision.items()
    amendment = obj(obj(rule).get("network_policy_amendment"))
    if not amendment:
        return _option(name, decision)
    action = text(amendment.get("action")) or "set"
    label = f"{action.capitalize()} {text(amendment.get('host')) or 'this host'} from now on"
    return Option(f"{name}:{number}", label, ALLOW_ALWAYS if action == "allow" else REJECT_ALWAYS, decision)


# -- interrupts


def to_interrupt(
    request: PermissionRequest,
    interrupt_id: str,
    tool_call_id: str | None,
    subagent: str | None,
    changed_files: Sequence[str] = (),
) -> Interrupt:
    """`changed_files`: what the call would change, which the request itself does not say."""
    if request.is_approval:
        return _approval_interrupt(request, interrupt_id, tool_call_id, subagent, changed_files)
    if request.method == INPUT:
        return _form_interrupt(request, interrupt_id, tool_call_id, subagent)
    metadata = {"codex": elicitation_metadata(request.params, "serverName", "mode")}
    return elicitation_interrupt(interrupt_id, request.params, tool_call_id, subagent=subagent, metadata=metadata)


def _approval_interrupt(
    request: PermissionRequest,
    interrupt_id: str,
    tool_call_id: str | None,
    subagent: str | None,
    changed_files: Sequence[str],
) -> Interrupt:
    meta = request.meta
    tool = {"toolDescription": text(meta.get("tool_description")), "toolParams": meta.get("tool_params")}
    details = present({key: request.params.get(key) for key in SHOWN_FIELDS} | tool)
    return Interrupt(
        id=interrupt_id,
        reason="confirmation" if tool_call_id is None else "tool_call",
        message="\n".join([_approval_message(request), *changed_files]),
        tool_call_id=tool_call_id,
        response_schema=request.approval.response_schema(),
        metadata={"codex": {"options": request.approval.options_json()} | details},
        subagent=subagent,
    )


def _approval_message(request: PermissionRequest) -> str:
    params = request.params
    host, root = text(obj(params.get("networkApprovalContext")).get("host")), text(params.get("grantRoot"))
    lines = [text(params.get("message")), text(params.get("reason"))]
    lines += [f"Connect to {host}?" if host else None, f"Allow changes below {root}?" if root else None]
    lines.append(text(params.get("command")))
    message = "\n".join(dict.fromkeys(line for line in lines if line))
    return message or DEFAULT_MESSAGES.get(request.method, "The agent wants to call a tool.")


def _form_interrupt(
    request: PermissionRequest, interrupt_id: str, tool_call_id: str | None, subagent: str | None
) -> Interrupt:
    questions = request.questions
    properties = {name: _form_field(question) for name, question in questions.items()}
    lines = [text(question.get("question")) for question in questions.values()]
    return Interrupt(
        id=interrupt_id,
        reason="input_required",
        message="\n".join(line for line in lines if line) or "The agent asks for input.",
        tool_call_id=tool_call_id,
        response_schema={"type": "object", "properties": properties, "required": list(properties)},
        metadata={"codex": present({"questions": list(questions.values())})},
        subagent=subagent,
    )


def _form_field(question: Json) -> Json:
    labels = {"title": text(question.get("header")), "description": text(question.get("question"))}
    field: Json = {"type": "string"} | present(labels)
    if question.get("isSecret") is True:
        field["format"] = "password"
    choices = unique_strings([option.get("label") for option in items(question.get("options"))])
    if not choices:
        return field
    # With `isOther` the user may also write a free answer.
    return field | {"examples" if question.get("isOther") is True else "enum": choices}


# -- results


def to_result(request: PermissionRequest, answer: Answer) -> Json:
    """A cancelled answer approves nothing, and stops the turn if Codex has a decision for that."""
    if request.is_approval:
        return _approval_result(request, request.approval.decide(answer))
    if request.method == INPUT:
        return {"answers": _form_answers(request, answer)}
    return _elicitation_result(**elicitation_result(request.params, answer))


def read_feedback(request: PermissionRequest, answer: Answer) -> tuple[str, bool] | None:
    """The text that the user gives with a denial, and whether the turn goes on after it. None: there is none."""
    if not request.is_approval or not request.takes_feedback:
        return None
    decision = request.approval.decide(answer)
    if decision.is_allowed or decision.feedback is None:
        return None
    return decision.feedback, decision.option is None or decision.option.id != "cancel"


def policy_result(request: PermissionRequest, policy: Approvals) -> Json | None:
    """The result that needs no user; None: the user must be asked. No policy can fill in a form, so it is declined."""
    decision = request.approval.decide_by_policy(policy)
    if decision is None:
        return None
    if request.is_approval:
        return _approval_result(request, decision)
    return {"answers": {}} if request.method == INPUT else _elicitation_result("decline")


def _approval_result(request: PermissionRequest, decision: Decision) -> Json:
    option = decision.option or _option("cancel" if decision.is_cancelled else "decline")
    if request.method == PERMISSIONS:
        permissions = {key: value for key, value in obj(request.params.get("permissions")).items() if value is not None}
        scope = "session" if option.id == "acceptForSession" else "turn"
        return {"permissions": permissions if decision.is_allowed else {}, "scope": scope}
    if request.method != ELICITATION:
        return {"decision": option.value}
    if not decision.is_allowed:
        return _elicitation_result("cancel" if option.id == "cancel" else "decline")
    persist = PERSISTENCE.get(option.id)
    return _elicitation_result("accept", {}, {"persist": persist} if persist else None)


def _elicitation_result(action: str, content: Any = None, meta: Any = None) -> Json:
    return {"action": action, "content": content, "_meta": meta}


def _form_answers(request: PermissionRequest, answer: Answer) -> Json:
    payload = obj(answer.payload) if answer.status == "resolved" else {}
    answers: Json = {}
    for name in request.questions:
        match payload.get(name):
            case str(choice):
                answers[name] = {"answers": [choice]}
            case list(choices):
                answers[name] = {"answers": strings(choices)}
    return answers
