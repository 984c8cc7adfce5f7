"""Hermes' requests to the user as AG-UI interrupts, and the answers as requests to Hermes.

In: `approval.request`, `clarify.request`, `sudo.request`, `secret.request`, and the user's answer or the run's policy.
Out: an `Interrupt`, and the request that answers it. Whether an answer approves is decided by `wire/approvals`. A
password or a secret that the user types stands in that one request and nowhere else.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from gateway.events import Interrupt
from gateway.turn import Answer, Approvals
from gateway.wire.approvals import ALLOW_ALWAYS, ALLOW_ONCE, REJECT_ONCE, Approval, Option
from gateway.wire.fields import amount, non_empty, obj, present, strings, text, unique_strings

APPROVAL = "approval"
DENY = "deny"
OPTIONS = {
    "once": ("Allow once", ALLOW_ONCE),
    "session": ("Allow for this session", ALLOW_ALWAYS),
    "always": ("Always allow", ALLOW_ALWAYS),
    DENY: ("Deny", REJECT_ONCE),
}
"""Hermes' choices → the label that Hermes shows, and the kind."""

TIMEOUT_SECONDS = {APPROVAL: 60.0, "clarify": 300.0, "sudo": 120.0, "secret": 300.0}
"""After which Hermes goes on without an answer. For approvals it is `approvals.timeout` of the user's config.yaml;
`[cli.params] approval_timeout` in the agent's TOML file states a value other than 60."""

ANSWER_FIELDS = {"clarify": "answer", "sudo": "password", "secret": "value"}
"""Kind → the field of the answer, in the response schema and in Hermes' request."""


@dataclass(frozen=True, slots=True)
class PermissionRequest:
    kind: str
    payload: dict[str, Any]

    @property
    def request_id(self) -> str | None:
        """None for approvals: Hermes takes an answer for the oldest one."""
        return non_empty(self.payload.get("request_id"))

    @property
    def approval(self) -> Approval:
        """A request that names no choices takes a plain yes or no."""
        choices = unique_strings(self.payload.get("choices")) or ["once", DENY]
        options = [Option(choice, *OPTIONS.get(choice, (choice, None))) for choice in choices]
        return Approval(options, plain_allow=("once",), plain_reject=(DENY,))

    def known_arguments(self) -> dict[str, Any]:
        """The arguments of the tool call, as far as the request names them."""
        return {key: self.payload[key] for key in ("question", "choices") if key in self.payload}


class PermissionRequests:
    """The requests of one session that wait for an answer. `respond` sends a request to Hermes: (method, params)."""

    def __init__(self, respond: Callable[[str, dict[str, Any]], None]) -> None:
        self._respond = respond
        self._requests: dict[str, PermissionRequest] = {}
        self._answers: dict[str, Answer] = {}
        self._count = 0

    def clear(self) -> None:
        """The turn is over, and with it whatever waited."""
        self._requests.clear()
        self._answers.clear()

    def next_id(self) -> str:
        self._count += 1
        return f"question:{self._count}"

    def add(self, interrupt_id: str, request: PermissionRequest) -> None:
        self._requests[interrupt_id] = request

    def answer(self, interrupt_id: str, answer: Answer) -> None:
        """Approvals have no ids: Hermes takes an answer for the oldest, so each waits for the answers before it."""
        request = self._requests.get(interrupt_id)
        if request is None:
            return
        if request.kind != APPROVAL:
            del self._requests[interrupt_id]
            self._respond(*to_response(request, answer))
            return
        self._answers[interrupt_id] = answer
        for known_id in [known_id for known_id, known in self._requests.items() if known.kind == APPROVAL]:
            if known_id not in self._answers:
                return
            self._respond(*to_response(self._requests.pop(known_id), self._answers.pop(known_id)))


def to_interrupt(
    interrupt_id: str, request: PermissionRequest, tool_call_id: str | None, params: Mapping[str, Any]
) -> Interrupt:
    if request.kind == APPROVAL:
        timeout = amount(params.get("approval_timeout")) or TIMEOUT_SECONDS[APPROVAL]
        return _approval_interrupt(interrupt_id, request, tool_call_id, float(timeout))
    message, field, metadata = _read_input(request)
    name = ANSWER_FIELDS.get(request.kind, "value")
    return Interrupt(
        id=interrupt_id,
        reason="input_required",
        message=message,
        tool_call_id=tool_call_id,
        response_schema={"type": "object", "properties": {name: field}, "required": [name]},
        expires_in=TIMEOUT_SECONDS.get(request.kind),
        metadata={"hermes": {"kind": request.kind, **metadata}},
    )


def _approval_interrupt(
    interrupt_id: str, request: PermissionRequest, tool_call_id: str | None, timeout_seconds: float
) -> Interrupt:
    command = non_empty(request.payload.get("command"))
    description = non_empty(request.payload.get("description"))
    approval = request.approval
    choices = [option.id for option in approval.options]
    return Interrupt(
        id=interrupt_id,
        reason="tool_call" if tool_call_id is not None else "confirmation",
        message="\n".join(line for line in (description, command) if line) or "The agent asks for permission.",
        tool_call_id=tool_call_id,
        response_schema=approval.response_schema(approved_description="A plain yes or no."),
        expires_in=timeout_seconds,
        metadata={"hermes": present({"command": command, "description": description, "choices": choices})},
    )


def _read_input(request: PermissionRequest) -> tuple[str, dict[str, Any], dict[str, Any]]:
    """Of a request for input: the message, the schema of the answer's field, metadata."""
    secret = {"type": "string", "format": "password", "writeOnly": True}
    match request.kind:
        case "clarify":
            message = non_empty(request.payload.get("question")) or "The agent asks a question."
            choices = strings(request.payload.get("choices"))
            field = {"type": "string", "title": message} | ({"examples": choices} if choices else {})
            return message, field, present({"choices": choices})
        case "sudo":
            return "A command asks for the password of sudo.", secret, {}
        case _:
            name = non_empty(request.payload.get("env_var"))
            default = f"The agent asks for the value of {name or 'a secret'}."
            return non_empty(request.payload.get("prompt")) or default, secret, present({"envVar": name})


def to_response(request: PermissionRequest, answer: Answer) -> tuple[str, dict[str, Any]]:
    """The method and params that answer a request, without the session's id."""
    if request.kind == APPROVAL:
        option = request.approval.decide(answer).option
        return "approval.respond", {"choice": option.id if option is not None else DENY}
    name = ANSWER_FIELDS.get(request.kind, "value")
    payload = answer.payload if answer.status == "resolved" else None
    # Empty: Hermes goes on without it.
    value = text(payload if isinstance(payload, str) else obj(payload).get(name)) or ""
    return f"{request.kind}.respond", {"request_id": request.request_id, name: value}


def decide_by_policy(request: PermissionRequest, policy: Approvals) -> Answer | None:
    """The answer that needs no user; None: the user is asked. A policy cannot answer a question, or type a secret."""
    if policy == "prompt":
        return None
    if request.kind == APPROVAL and policy == "auto":
        return Answer("", "resolved", {"approved": True})
    return Answer("", "cancelled")
