"""`RunAgentInput` → `Turn`, and back.

In: the bytes of a request's body, from a client of any AG-UI version. Out: a `Turn`. Parts that are newer than this
version are skipped with a notice, older ones are upgraded, malformed ones are refused with every problem named by JSON
pointer. Nothing is refused for its version. Never: whether the agent can do it; that is `capabilities.check`.
The fields: https://docs.ag-ui.com/sdk/js/core/types#runagentinput.
"""

from __future__ import annotations

import re

from gateway import jsonio
from gateway.agui import options
from gateway.agui.run_input_schema import RUN_AGENT_INPUT
from gateway.agui.schema import Findings
from gateway.events import Json
from gateway.turn import Answer, Turn

# ASCII digits, and few: int() refuses thousands of digits, and versions are compared as numbers.
VERSION = re.compile(r"[0-9]{1,9}\.[0-9]{1,9}")

# The input becomes part of other objects (RUN_STARTED's `input`, a socket's message), which must be writable too.
MAX_DEPTH = jsonio.MAX_DEPTH - 10

KNOWN_KEYS = frozenset(field.key for field in RUN_AGENT_INPUT.fields)


def read_run_input(body: bytes) -> Turn:
    """Raises `errors.NotJson` or `errors.BadInput`, and nothing else."""
    findings = Findings()
    fields = RUN_AGENT_INPUT.read(jsonio.loads(body, MAX_DEPTH), (), findings)
    findings.raise_if_refused()
    _notice_ignored_keys(fields, findings)
    return Turn(
        thread_id=fields["threadId"],
        run_id=fields["runId"],
        messages=fields["messages"],
        tools=fields.get("tools", []),
        context=fields.get("context", []),
        state=fields.get("state"),
        forwarded_props=fields.get("forwardedProps"),
        resume=_read_answers(fields.get("resume", []), findings),
        parent_run_id=fields.get("parentRunId"),
        protocol_version=_check_version(fields.get("protocolVersion"), findings),
        options=options.read_options(fields.get("forwardedProps")),
        warnings=findings.notices,
    )


def dump_run_input(turn: Turn) -> dict[str, Json]:
    """The turn as a `RunAgentInput`, from which `read_run_input` makes an equal turn. Shares the turn's own lists."""
    run_input = {
        "threadId": turn.thread_id,
        "runId": turn.run_id,
        "protocolVersion": turn.protocol_version,
        "parentRunId": turn.parent_run_id,
        "state": turn.state,
        "messages": turn.messages,
        # Always sent: clients before 1.0 fail a run whose RUN_STARTED.input lacks them.
        "tools": turn.tools,
        "context": turn.context,
        "forwardedProps": turn.forwarded_props,
        "resume": [_dump_answer(answer) for answer in turn.resume] or None,
    }
    return {key: value for key, value in run_input.items() if value is not None}


def _dump_answer(answer: Answer) -> dict[str, Json]:
    entry = {"interruptId": answer.interrupt_id, "status": answer.status}
    return entry if answer.payload is None else {**entry, "payload": answer.payload}


def _read_answers(entries: list[dict[str, Json]], findings: Findings) -> tuple[Answer, ...]:
    return tuple(_read_answer(index, entry, findings) for index, entry in enumerate(entries))


def _read_answer(index: int, entry: dict[str, Json], findings: Findings) -> Answer:
    is_resolved = entry["status"] == "resolved"
    used_keys = ("interruptId", "status", "payload") if is_resolved else ("interruptId", "status")
    for key in entry:
        if key not in used_keys:
            findings.notice(("resume", index, key), "FIELD_IGNORED", f"is not used in a {entry['status']} answer")
    return Answer(entry["interruptId"], entry["status"], entry.get("payload") if is_resolved else None)


def _check_version(version: str | None, findings: Findings) -> str | None:
    if version is None or VERSION.fullmatch(version):
        return version
    message = 'is no version like "1.0": the client counts as one from before 1.0'
    findings.notice(("protocolVersion",), "INVALID_PROTOCOL_VERSION", message)
    return None


def _notice_ignored_keys(fields: dict[str, Json], findings: Findings) -> None:
    for key in fields:
        if key not in KNOWN_KEYS:
            findings.notice((key,), "FIELD_IGNORED", "is not known here and not used")
