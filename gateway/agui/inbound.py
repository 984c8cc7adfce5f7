"""`RunAgentInput` → `Turn`, and back.

In: the bytes of a request's body. Out: a `Turn`, in today's shape whoever sent it: what is newer than us is skipped
with a notice, what is older is upgraded, what is malformed is refused with every problem named by JSON pointer. Nothing
is refused for its version. Only shapes are known here: whether the agent can do it is for `capabilities.check` to say.
"""

from __future__ import annotations

import re

from gateway import jsonio
from gateway.agui import options
from gateway.agui.run_input_schema import RUN_AGENT_INPUT
from gateway.agui.schema import Findings
from gateway.events import Json
from gateway.turn import Answer, Turn

# ASCII digits, and few enough that whoever compares versions can make numbers of them: int() refuses thousands.
VERSION = re.compile(r"[0-9]{1,9}\.[0-9]{1,9}")

# An input travels on inside other objects (RUN_STARTED's `input`, a socket's frame), which must be writable too.
MAX_DEPTH = jsonio.MAX_DEPTH - 10

TAKEN = frozenset(field.key for field in RUN_AGENT_INPUT.fields)


def read(body: bytes) -> Turn:
    """Raises `errors.NotJson` or `errors.BadInput`, and nothing else."""
    found = Findings()
    given = RUN_AGENT_INPUT.read(jsonio.loads(body, MAX_DEPTH), (), found)
    found.settle()
    _tell_ignored(given, found)
    return Turn(
        thread_id=given["threadId"],
        run_id=given["runId"],
        messages=given["messages"],
        tools=given.get("tools", []),
        context=given.get("context", []),
        state=given.get("state"),
        forwarded_props=given.get("forwardedProps"),
        resume=_answers(given.get("resume", []), found),
        parent_run_id=given.get("parentRunId"),
        protocol_version=_version(given.get("protocolVersion"), found),
        options=options.read_options(given.get("forwardedProps")),
        warnings=found.notices,
    )


def dump(turn: Turn) -> dict[str, Json]:
    """`RunAgentInput` as it was understood; `read` makes the same turn of it. Shares the turn's own lists."""
    whole = {
        "threadId": turn.thread_id,
        "runId": turn.run_id,
        "protocolVersion": turn.protocol_version,
        "parentRunId": turn.parent_run_id,
        "state": turn.state,
        "messages": turn.messages,
        # Always there: clients before 1.0 fail a run whose RUN_STARTED.input lacks them.
        "tools": turn.tools,
        "context": turn.context,
        "forwardedProps": turn.forwarded_props,
        "resume": [_entry(answer) for answer in turn.resume] or None,
    }
    return {key: value for key, value in whole.items() if value is not None}


def _entry(answer: Answer) -> dict[str, Json]:
    entry = {"interruptId": answer.interrupt_id, "status": answer.status}
    return entry if answer.payload is None else {**entry, "payload": answer.payload}


def _answers(entries: list[dict[str, Json]], found: Findings) -> tuple[Answer, ...]:
    return tuple(_answer(index, entry, found) for index, entry in enumerate(entries))


def _answer(index: int, entry: dict[str, Json], found: Findings) -> Answer:
    resolved = entry["status"] == "resolved"
    used = ("interruptId", "status", "payload") if resolved else ("interruptId", "status")
    for key in entry:
        if key not in used:
            found.notice(("resume", index, key), "FIELD_IGNORED", f"is not used in a {entry['status']} answer")
    return Answer(entry["interruptId"], entry["status"], entry.get("payload") if resolved else None)


def _version(given: str | None, found: Findings) -> str | None:
    if given is None or VERSION.fullmatch(given):
        return given
    says = 'is no version like "1.0": the client counts as one from before 1.0'
    found.notice(("protocolVersion",), "INVALID_PROTOCOL_VERSION", says)
    return None


def _tell_ignored(given: dict[str, Json], found: Findings) -> None:
    for key in given:
        if key not in TAKEN:
            found.notice((key,), "FIELD_IGNORED", "is not known here and not used")
