"""What a user approved, denied or answered, for the audit log.

In: the answers that a run brings, the thread's interrupts, its conversation. Out: an entry for each answer: the tool
call with its name and arguments, the decision, the arguments that the user changed. Written before the agent is given
the answers.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from gateway.audit import Action, AuditLog
from gateway.errors import StoreError
from gateway.identity import ThreadKey
from gateway.jsonio import loads
from gateway.runs.history import read_history
from gateway.runs.interrupts import InterruptEntry, Interrupts
from gateway.store.base import Store
from gateway.turn import Answer

APPROVAL_REASONS = ("tool_call", "confirmation")
DECISIONS: dict[Action, str] = {"interrupt.approve": "approved", "interrupt.deny": "denied"}
"""Entry of the audit log → the decision, as a thread states it."""


async def record_answers(
    audit: AuditLog, store: Store, thread: ThreadKey, run_id: str, interrupts: Interrupts, answers: Mapping[str, Answer]
) -> None:
    """Stored on return. Raises `StoreError`."""
    answered = [(entry, answer) for name, answer in answers.items() if (entry := interrupts.find(name)) is not None]
    if not answered:
        return  # results of the client's own tools
    calls = await _read_calls(store, thread)
    for entry, answer in answered:
        call = calls.get(entry.interrupt.get("toolCallId"), {})
        await audit.record_durably(
            classify(entry, answer),
            thread.principal,
            agent=thread.agent,
            thread=thread.thread_id,
            run=run_id,
            detail=_describe(entry, answer, call),
        )


def classify(entry: InterruptEntry, answer: Answer) -> Action:
    """Only a clear yes is an approval; everything else that is about a tool call is a denial."""
    if entry.interrupt.get("reason") not in APPROVAL_REASONS:
        return "interrupt.answer"
    payload = answer.payload if isinstance(answer.payload, dict) else {}
    kinds = {str(option.get("optionId")): str(option.get("kind")) for option in _find_options(entry.interrupt)}
    kind = kinds.get(str(payload.get("optionId")), "")
    is_allowed = payload.get("approved") is True or kind.startswith("allow")
    is_rejected = payload.get("approved") is False or kind.startswith("reject")
    return "interrupt.approve" if answer.status == "resolved" and is_allowed and not is_rejected else "interrupt.deny"


def list_decisions(interrupts: Interrupts) -> list[dict[str, str]]:
    """How the user decided about tool calls, oldest first: `toolCallId`, and `approved` or `denied`."""
    decisions = []
    for entry in interrupts.answered():
        call_id, given = entry.interrupt.get("toolCallId"), entry.answer or {}
        action = classify(entry, Answer(entry.id, given.get("status", "cancelled"), given.get("payload")))
        if isinstance(call_id, str) and action in DECISIONS:
            decisions.append({"toolCallId": call_id, "decision": DECISIONS[action]})
    return decisions


def _describe(entry: InterruptEntry, answer: Answer, call: Mapping[str, Any]) -> dict[str, Any]:
    payload = answer.payload if isinstance(answer.payload, dict) else {"answer": answer.payload}
    edited = payload.get("editedArgs")
    return {
        "interrupt": entry.id,
        "message": entry.interrupt.get("message"),
        "toolCallId": entry.interrupt.get("toolCallId"),
        "tool": call.get("name"),
        "arguments": call.get("arguments"),
        "subject": _find_subject(entry.interrupt.get("metadata")),
        "status": answer.status,
        "decision": {name: value for name, value in payload.items() if name != "editedArgs"} or None,
        "edited": edited is not None,
        "editedArguments": edited,
    }


def _find_options(interrupt: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    """Each agent's metadata is below its own name."""
    for table in _tables(interrupt.get("metadata")):
        options = table.get("options")
        if isinstance(options, list):
            yield from (option for option in options if isinstance(option, dict))


def _find_subject(metadata: Any) -> Any:
    """What the agent stated of the call in its request, without the options."""
    subjects = [{name: value for name, value in table.items() if name != "options"} for table in _tables(metadata)]
    return next((subject for subject in subjects if subject), None)


def _tables(metadata: Any) -> Iterator[Mapping[str, Any]]:
    if isinstance(metadata, dict):
        yield from (table for table in metadata.values() if isinstance(table, dict))


async def _read_calls(store: Store, thread: ThreadKey) -> dict[Any, dict[str, Any]]:
    """Tool call id → its name and arguments, from the conversation. A conversation that cannot be read tells none: the
    entry itself is what must be written."""
    try:
        messages = (await read_history(store, *thread)).messages
    except StoreError:
        return {}
    return dict(_list_calls(messages))


def _list_calls(messages: Iterable[Mapping[str, Any]]) -> Iterator[tuple[Any, dict[str, Any]]]:
    for message in messages:
        for call in message.get("toolCalls") or ():
            function = call.get("function", {})
            yield call.get("id"), {"name": function.get("name"), "arguments": _parse(function.get("arguments"))}


def _parse(arguments: Any) -> Any:
    """As an object, so that secrets in it are found by their names; as text where it is none."""
    try:
        return loads(arguments) if isinstance(arguments, str) and arguments else arguments
    except Exception:  # an agent may have sent anything
        return arguments
