"""Dialogs of extensions, of the gateway's gate and of omp's approvals as AG-UI interrupts, and their responses.

In: `extension_ui_request` with a dialog (`confirm`, `select`, `input`, `editor`), and the user's answer or the run's
policy. Out: an `Interrupt`, and the `extension_ui_response`. Whether an answer approves is decided by `wire/approvals`;
an answer that does not fit its dialog is sent as `cancelled`, which every dialog takes for a no.

Two dialogs are about a tool call. The gate's (`agents/pi-gate.ts`) is an `input` with a title of its own; it names the
call's id and takes changed arguments. omp's is a `select` of Approve and Deny whose title names the tool.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

from gateway.events import Interrupt
from gateway.turn import Answer
from gateway.wire.approvals import ALLOW_ONCE, FEEDBACK_SCHEMA, REJECT_ONCE, Approval, Decision, Option
from gateway.wire.dialects.pi.tool_calls import PiCall
from gateway.wire.fields import amount, if_small, json_text, non_empty, obj, parse_json, present, strings, text

Json = dict[str, Any]

DIALOG_METHODS = frozenset(("confirm", "select", "input", "editor"))
GATE_TITLE = "agui-gateway:tool_call"
APPROVAL_TITLE = "Allow tool: "
APPROVE = "Approve"
DENY = "Deny"
OPTION_KINDS = {APPROVE: ALLOW_ONCE, DENY: REJECT_ONCE}
MAX_SHOWN_CHARS = 20_000
"""Longer arguments are not repeated in the interrupt: the tool call has them."""
REFUSED_BY_USER = "The user refused this tool call."
REFUSED_BY_POLICY = "Tool calls that change anything are not allowed in this run."
SUMMARY_KEYS = ("command", "path")
"""The argument that says most about what a call will do."""
EDITS_SCHEMA = {"type": "object", "title": "Changed arguments, all of them"}


@dataclass(frozen=True, slots=True)
class Dialog:
    """One dialog of an `extension_ui_request`."""

    request: Json

    @property
    def method(self) -> str | None:
        return text(self.request.get("method"))

    @property
    def title(self) -> str:
        return text(self.request.get("title")) or ""

    @property
    def options(self) -> list[str]:
        return strings(self.request.get("options"))

    @property
    def is_gate(self) -> bool:
        return self.method == "input" and self.title == GATE_TITLE

    @property
    def is_omp_approval(self) -> bool:
        return self.method == "select" and self.title.startswith(APPROVAL_TITLE) and APPROVE in self.options

    @property
    def is_about_call(self) -> bool:
        return self.is_gate or self.is_omp_approval

    @property
    def gated_call(self) -> Json:
        """What the gate says about the call: `toolCallId`, `toolName`, `argumentNames`."""
        return obj(parse_json(text(self.request.get("placeholder")) or ""))

    @property
    def _argument_names(self) -> frozenset[str] | None:
        """Of the call, as the gate lists them. None: it does not."""
        names = self.gated_call.get("argumentNames")
        return frozenset(strings(names)) if isinstance(names, list) else None

    @property
    def approved_tool(self) -> str | None:
        """The name of the tool that omp's approval is about."""
        return self.title.splitlines()[0].removeprefix(APPROVAL_TITLE).strip() if self.is_omp_approval else None

    @property
    def approval(self) -> Approval | None:
        """None: the dialog is no yes-or-no question."""
        if self.is_gate:
            return Approval(edits=EDITS_SCHEMA, editable=self._argument_names, feedback=FEEDBACK_SCHEMA)
        if self.is_omp_approval:
            return Approval([Option(option, kind=OPTION_KINDS.get(option)) for option in self.options])
        return Approval() if self.method == "confirm" else None

    def find_call(self, calls: list[PiCall]) -> PiCall | None:
        """The call that omp's approval is about. The title has the tool and some of the arguments, but no id."""
        details = "\n".join(self.title.splitlines()[1:])
        candidates = [call for call in calls if call.name == self.approved_tool]
        for call in candidates:
            if any(value and value in details for value in strings(list(call.arguments.values()))):
                return call
        return candidates[0] if candidates else None

    # -- for the client

    def to_interrupt(self, agent: str, interrupt_id: str, call: PiCall | None, subagent: str | None) -> Interrupt:
        timeout_ms = amount(self.request.get("timeout"))
        return Interrupt(
            id=interrupt_id,
            reason=self._reason(call),
            message=self._message(call),
            tool_call_id=call.id if call is not None and self.is_about_call else None,
            response_schema=self._response_schema(),
            expires_in=timeout_ms / 1000 if timeout_ms is not None else None,
            metadata={agent: self._metadata(call)},
            subagent=subagent,
        )

    def _reason(self, call: PiCall | None) -> str:
        if self.is_about_call:
            return "confirmation" if call is None else "tool_call"
        return "confirmation" if self.method == "confirm" else "input_required"

    def _message(self, call: PiCall | None) -> str:
        if not self.is_gate:
            lines = (self.title, text(self.request.get("message")))
            return "\n".join(line for line in lines if line) or "The agent asks for input."
        if call is None:
            return f"Allow {non_empty(self.gated_call.get('toolName')) or 'this tool'}?"
        summary = next((call.arguments[key] for key in SUMMARY_KEYS if key in call.arguments), call.arguments)
        return f"Allow {call.name}? {(summary if isinstance(summary, str) else json_text(summary))[:MAX_SHOWN_CHARS]}"

    def _metadata(self, call: PiCall | None) -> Json:
        metadata: Json = {"method": "tool_call" if self.is_gate else self.method}
        if call is not None:
            metadata["toolName"] = call.name
            metadata["input"] = if_small(call.arguments, MAX_SHOWN_CHARS, {"tooLarge": True})
        return metadata | present({"options": self.options, "prefill": text(self.request.get("prefill"))})

    def _response_schema(self) -> Json:
        if self.approval is not None:
            return self.approval.response_schema(approved_description=None, has_titles=False)
        if self.method == "select":
            choice: Json = {"type": "string"} | ({"enum": self.options} if self.options else {})
            return {"type": "object", "properties": {"optionId": choice}, "required": ["optionId"]}
        value = {"type": "string", "title": text(self.request.get("placeholder")) or "Value"}
        return {"type": "object", "properties": {"value": value}, "required": ["value"]}

    # -- for the agent

    def decide(self, answer: Answer) -> Decision:
        """What the user's answer means for a yes-or-no question."""
        choice = _read_choice(answer.payload)
        if self.is_omp_approval and choice is not None:
            payload = {**obj(answer.payload), "optionId": choice}
            answer = Answer(answer.interrupt_id, answer.status, payload)
        return self.approval.decide(answer) if self.approval is not None else Decision()

    def to_response(self, answer: Answer) -> Json:
        if self.approval is not None:
            return self._to_response(self._write_decision(self.decide(answer), REFUSED_BY_USER))
        choice = _read_choice(answer.payload) if answer.status == "resolved" else None
        is_valid = choice is not None and (self.method != "select" or choice in self.options)
        return self._to_response({"value": choice} if is_valid else None)

    def to_policy_response(self, policy: Literal["auto", "deny"]) -> Json:
        """The response that needs no user. A question that is not yes or no gets no answer."""
        decision = self.approval.decide_by_policy(policy) if self.approval is not None else None
        return self._to_response(self._write_decision(decision, REFUSED_BY_POLICY) if decision is not None else None)

    def _write_decision(self, decision: Decision, refusal: str) -> Json | None:
        if decision.is_cancelled:
            return None
        if self.is_gate:
            reason = f"{refusal} {decision.feedback}" if decision.feedback else refusal
            verdict: Json = {"approved": True} if decision.is_allowed else {"approved": False, "reason": reason}
            return {"value": json_text(verdict | present({"editedArgs": decision.edited_args}))}
        if self.is_omp_approval:
            return {"value": decision.option.id} if decision.option is not None else None
        return {"confirmed": decision.is_allowed}

    def _to_response(self, fields: Json | None) -> Json:
        return {"type": "extension_ui_response", "id": self.request.get("id"), **(fields or {"cancelled": True})}


class PermissionRequests:
    """The dialogs of one turn that wait for an answer, each with the tool call it is about."""

    def __init__(self) -> None:
        self._dialogs: dict[str, tuple[Dialog, PiCall | None]] = {}

    def clear(self) -> None:
        self._dialogs.clear()

    def add(self, interrupt_id: str, dialog: Dialog, call: PiCall | None) -> None:
        self._dialogs[interrupt_id] = (dialog, call)
        if call is not None:
            call.note_permission_request()

    def withdraw(self, interrupt_id: str) -> None:
        """The agent no longer waits for an answer."""
        self._dialogs.pop(interrupt_id, None)

    def answer(self, interrupt_id: str, answer: Answer) -> Json | None:
        """The response to send; None: the dialog is gone."""
        dialog, call = self._dialogs.pop(interrupt_id, (None, None))
        if dialog is None:
            return None
        if call is not None:
            call.note_edit(dialog.decide(answer).edited_args)
        return dialog.to_response(answer)

    def cancel_all(self) -> list[Json]:
        """The responses that dismiss every dialog: omp waits for them before it stops, and pi's gate takes them for a
        no."""
        responses = [dialog.to_response(Answer("", "cancelled")) for dialog, _ in self._dialogs.values()]
        self._dialogs.clear()
        return responses


def _read_choice(payload: Any) -> str | None:
    if isinstance(payload, str):
        return payload
    return text(obj(payload).get("optionId", obj(payload).get("value")))
