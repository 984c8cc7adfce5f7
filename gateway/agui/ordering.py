"""AG-UI's ordering rules as a state machine: what the 1.0 client's verify step enforces, checked before an event is
sent.

In: valid AG-UI events with chunks already expanded (`validate`, `chunks`), one by one. Out: `OutOfOrder` for an event
over which the client would fail the run; and, to be read, what is open. Never: a change of an event; an event that is
refused leaves no trace.

AG-UI describes the events at https://docs.ag-ui.com/concepts/events. Its client enforces the rules in its verify step,
without numbers. The numbers V1 to V23 are this project's; errors and tests cite them.

    rule  what must hold
    ----  --------------------------------------------------------------------------------------------------------
          Runs
    V1    The first event is RUN_STARTED or RUN_ERROR.
    V2    No RUN_STARTED while a run is active. After the run's end it is legal, and resets everything below.
    V3    After RUN_FINISHED only RUN_STARTED or RUN_ERROR may come.
    V4    After RUN_ERROR only RUN_STARTED may come.
    V5    At RUN_FINISHED no step, text message, reasoning message or span, tool call or subagent is open. RUN_ERROR
          may leave anything open.
          Text messages
    V6    TEXT_MESSAGE_START names an id that is not open. A closed id may be opened again: the text is appended.
    V7    TEXT_MESSAGE_CONTENT and TEXT_MESSAGE_END name an open message. Several may be open at once.
          Tool calls
    V8    TOOL_CALL_START names an id that is not open.
    V9    TOOL_CALL_ARGS and TOOL_CALL_END name an open call.
          Steps
    V10   STEP_STARTED has a name that its owner does not have open.
    V11   STEP_FINISHED has a name that its owner has open. Agent and subagent may have the same name open.
          Reasoning
    V12   REASONING_START and REASONING_MESSAGE_START name an id that is not open as a span, or as a message.
    V13   REASONING_END names an open span, REASONING_MESSAGE_CONTENT and _END an open message.
          Subagents
    V14   SUBAGENT_STARTED has an id that was not used before in this run.
    V15   Its parentSubagentRunId, if present, was started in this run; it may be over.
    V16   SUBAGENT_FINISHED and SUBAGENT_ERROR name an active subagent.
          Owners: the subagent in whose name a thing was opened, or the parent agent (`attribution`)
    V17   An event that continues or ends something and has a subagentRunId has the owner's.
    V18   TOOL_CALL_START with a subagentRunId has that of the owner of its parent message, if that is known. Without
          one the call inherits that owner.
    V19   A closed text message, tool call or reasoning id is opened again by its owner only.
    V20   REASONING_ENCRYPTED_VALUE with a subagentRunId has that of the owner of what it names, if known.
    V21   ACTIVITY_DELTA with a subagentRunId has that of the activity's owner: of its first ACTIVITY_SNAPSHOT, or the
          latest without `replace: false`.
    V22   Owners are also set by TOOL_CALL_RESULT (its message), by every message of MESSAGES_SNAPSHOT (overwriting) and
          of RUN_STARTED.input (unknown ids only), tool calls included.
          Nulls
    V23   subagentRunId is never null, nor is an optional field of a SUBAGENT_* event, nor `interruptIds`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, Literal, TypeAlias

from gateway.agui.attribution import Attribution, Owner, null_fields, tag_event
from gateway.events import Wire

Phase: TypeAlias = Literal["before", "running", "finished", "errored"]
_Action: TypeAlias = Callable[[Any, Wire], None]
"""A method of `Order`, or of one of its `_OpenEntities`."""

TRANSITIONS: dict[Phase, dict[str, Phase]] = {
    "before": {"RUN_STARTED": "running", "RUN_ERROR": "errored"},
    "running": {"RUN_FINISHED": "finished", "RUN_ERROR": "errored"},
    "finished": {"RUN_STARTED": "running", "RUN_ERROR": "errored"},
    "errored": {"RUN_STARTED": "running"},
}
"""Phase → event → next phase. Outside a run only these events may come; inside one, every event but RUN_STARTED may."""
_OUTSIDE: dict[Phase, tuple[str, str]] = {
    "before": ("V1", "cannot come first: only RUN_STARTED or RUN_ERROR can"),
    "finished": ("V3", "cannot follow RUN_FINISHED: only RUN_STARTED or RUN_ERROR can"),
    "errored": ("V4", "cannot follow RUN_ERROR: only RUN_STARTED can"),
}


class OutOfOrder(ValueError):
    """The client would fail the run over this event. `rule` is the rule that it breaks, as numbered above."""

    def __init__(self, rule: str, event: Wire, reason: str) -> None:
        super().__init__(f"{rule}: {event.get('type')} {reason}")
        self.rule = rule


class _OpenEntities:
    """One kind of entity that is opened, continued and closed under an id: messages, spans, tool calls."""

    __slots__ = ("_continue_rule", "_start_rule", "key", "noun", "open", "owners")

    def __init__(self, noun: str, key: str, owners: dict[str, Owner], start_rule: str, continue_rule: str) -> None:
        self.noun = noun
        self.key = key
        self.owners = owners
        self._start_rule = start_rule
        self._continue_rule = continue_rule
        self.open: dict[str, None] = {}

    def check_start(self, event: Wire) -> None:
        if event[self.key] in self.open:
            reason = f"opens the {self.noun} {event[self.key]!r}, which is open already"
            raise OutOfOrder(self._start_rule, event, reason)
        _check_owner("V19", event, self.noun, event[self.key], self.owners)

    def check_open(self, event: Wire) -> None:
        if event[self.key] not in self.open:
            reason = f"names the {self.noun} {event[self.key]!r}, which is not open"
            raise OutOfOrder(self._continue_rule, event, reason)
        if "subagentRunId" in event:  # Checked here to save the most frequent events a call.
            _check_owner("V17", event, self.noun, event[self.key], self.owners)

    def start(self, event: Wire) -> None:
        self.open[event[self.key]] = None
        self.owners.setdefault(event[self.key], event.get("subagentRunId"))

    def end(self, event: Wire) -> None:
        del self.open[event[self.key]]

    def owners_of_open(self) -> dict[str, Owner]:
        return {key: self.owners[key] for key in self.open}

    def end_events(self, kind: str) -> Iterator[Wire]:
        for key in reversed(self.open):
            yield tag_event({"type": kind, self.key: key}, self.owners[key])


class Order:
    """Follows one stream, which may have several runs. Every event is passed to `accept` before it is sent."""

    def __init__(self) -> None:
        self._phase: Phase = "before"
        self._reset()

    def _reset(self) -> None:
        owners = Attribution()
        self._owners = owners
        self._texts = _OpenEntities("text message", "messageId", owners.messages, "V6", "V7")
        self._reasoning = _OpenEntities("reasoning message", "messageId", owners.reasoning, "V12", "V13")
        self._spans = _OpenEntities("reasoning span", "messageId", owners.reasoning, "V12", "V13")
        self._calls = _OpenEntities("tool call", "toolCallId", owners.calls, "V8", "V9")
        self._steps: dict[tuple[str, Owner], None] = {}
        self._subagents: dict[str, Owner] = {}
        self._finished_subagents: set[str] = set()
        self._started_calls: dict[str, None] = {}
        self._answered_calls: set[str] = set()

    def accept(self, event: Wire) -> None:
        """Checks the event and records it."""
        target, record = self._check(event)
        if record is not None:
            record(target, event)

    def check(self, event: Wire) -> None:
        """Raises `OutOfOrder` if the event may not come now."""
        self._check(event)

    def _check(self, event: Wire) -> tuple[Any, _Action | None]:
        """The method that records the event, if one does, and its object."""
        kind = event.get("type", "")
        try:
            entities, check, record = RULES[kind]
        except KeyError:
            reason = "must be expanded first" if kind.endswith("_CHUNK") else "is no AG-UI 1.0 event"
            raise OutOfOrder("unknown", event, reason) from None
        if self._phase != "running" and kind not in TRANSITIONS[self._phase]:
            raise OutOfOrder(_OUTSIDE[self._phase][0], event, _OUTSIDE[self._phase][1])
        target = self if entities is None else getattr(self, entities)
        if check is not None:
            check(target, event)
        return target, record

    # -- state to be read

    @property
    def phase(self) -> Phase:
        return self._phase

    @property
    def open_text_messages(self) -> dict[str, Owner]:
        """Id → owner, in opening order. Kept after the run's end, until the next run starts."""
        return self._texts.owners_of_open()

    @property
    def open_text_ids(self) -> dict[str, None]:
        """The text messages that may be continued now. A view: it changes with the next event that is accepted."""
        return self._texts.open if self._phase == "running" else {}

    @property
    def open_subagents(self) -> dict[str, Owner]:
        """Id → the subagent that started it."""
        return dict(self._subagents)

    def unanswered_calls(self) -> list[str]:
        """Tool calls of this run that have no result yet, in the order made."""
        return [call for call in self._started_calls if call not in self._answered_calls]

    def close_events(self) -> list[Wire]:
        """Events that close everything open, each in its owner's name, last opened first. Then RUN_FINISHED may
        come."""
        if self._phase != "running":
            return []
        return [
            *self._texts.end_events("TEXT_MESSAGE_END"),
            *self._reasoning.end_events("REASONING_MESSAGE_END"),
            *self._spans.end_events("REASONING_END"),
            *self._calls.end_events("TOOL_CALL_END"),
            *(tag_event({"type": "STEP_FINISHED", "stepName": name}, owner) for name, owner in reversed(self._steps)),
            # A subagent starts after its parent, so the reverse order is innermost first.
            *({"type": "SUBAGENT_FINISHED", "subagentRunId": key} for key in reversed(self._subagents)),
        ]

    # -- checks: they raise `OutOfOrder`, and change nothing

    def _check_run_start(self, event: Wire) -> None:
        if self._phase == "running":
            raise OutOfOrder("V2", event, "cannot come while a run is active")
        _check_nulls(event)

    def _check_run_end(self, event: Wire) -> None:
        open_now = [
            ("step", [name if owner is None else f"{name} (of {owner})" for name, owner in self._steps]),
            *((kind.noun, list(kind.open)) for kind in (self._texts, self._reasoning, self._spans, self._calls)),
            ("subagent", list(self._subagents)),
        ]
        for noun, names in open_now:
            if names:
                raise OutOfOrder("V5", event, f"cannot come while a {noun} is open: {', '.join(names)}")
        _check_nulls(event)

    def _check_nulls(self, event: Wire) -> None:
        _check_nulls(event)

    def _check_call_start(self, event: Wire) -> None:
        self._calls.check_start(event)
        parent = event.get("parentMessageId")
        call = event["toolCallId"]
        owners = self._owners
        if parent is None or parent not in owners.messages:
            return
        _check_owner("V18", event, "parent message", parent, owners.messages)
        if owners.calls.get(call, owners.messages[parent]) != owners.messages[parent]:
            raise OutOfOrder("V19", event, f"puts the tool call {call!r} into {parent!r}, a message of another owner")

    def _check_step_start(self, event: Wire) -> None:
        _check_nulls(event)
        if _step_key(event) in self._steps:
            raise OutOfOrder("V10", event, f"opens the step {event['stepName']!r}, which its owner has open already")

    def _check_step_end(self, event: Wire) -> None:
        _check_nulls(event)
        if _step_key(event) not in self._steps:
            raise OutOfOrder("V11", event, f"names the step {event['stepName']!r}, which its owner does not have open")

    def _check_subagent_start(self, event: Wire) -> None:
        _check_nulls(event)
        key = event["subagentRunId"]
        parent = event.get("parentSubagentRunId")
        if key in self._subagents or key in self._finished_subagents:
            raise OutOfOrder("V14", event, f"starts the subagent {key!r}, which was started before in this run")
        if parent is not None and parent not in self._subagents and parent not in self._finished_subagents:
            raise OutOfOrder("V15", event, f"starts {key!r} under the subagent {parent!r}, which has not started")

    def _check_subagent_end(self, event: Wire) -> None:
        _check_nulls(event)
        if event["subagentRunId"] not in self._subagents:
            raise OutOfOrder("V16", event, f"names the subagent {event['subagentRunId']!r}, which is not active")

    def _check_encrypted(self, event: Wire) -> None:
        noun = "tool call" if event["subtype"] == "tool-call" else "message"
        _check_owner("V20", event, noun, event["entityId"], self._owners.owners_of_encrypted(event))

    def _check_activity(self, event: Wire) -> None:
        _check_owner("V21", event, "activity", event["messageId"], self._owners.activities)

    # -- records: what an accepted event changes

    def _record_run_start(self, event: Wire) -> None:
        if self._phase != "before":
            self._reset()
        self._phase = "running"
        self._owners.add_input(event)

    def _record_run_end(self, event: Wire) -> None:
        self._phase = TRANSITIONS[self._phase][event["type"]]

    def _record_call_start(self, event: Wire) -> None:
        self._owners.add_call(event)
        self._calls.start(event)
        self._started_calls[event["toolCallId"]] = None

    def _record_call_result(self, event: Wire) -> None:
        self._owners.add_result(event)
        self._answered_calls.add(event["toolCallId"])

    def _record_snapshot(self, event: Wire) -> None:
        self._owners.add_snapshot(event)

    def _record_activity(self, event: Wire) -> None:
        self._owners.add_activity(event)

    def _record_step_start(self, event: Wire) -> None:
        self._steps[_step_key(event)] = None

    def _record_step_end(self, event: Wire) -> None:
        del self._steps[_step_key(event)]

    def _record_subagent_start(self, event: Wire) -> None:
        self._subagents[event["subagentRunId"]] = event.get("parentSubagentRunId")

    def _record_subagent_end(self, event: Wire) -> None:
        del self._subagents[event["subagentRunId"]]
        self._finished_subagents.add(event["subagentRunId"])


def _step_key(event: Wire) -> tuple[str, Owner]:
    return event["stepName"], event.get("subagentRunId")


def _check_owner(rule: str, event: Wire, noun: str, key: str, owners: dict[str, Owner]) -> None:
    """A `subagentRunId`, if present, must be the owner's. An absent one always passes, and so does an unknown id."""
    _check_nulls(event)
    tag = event.get("subagentRunId")
    if tag is not None and owners.get(key, tag) != tag:
        owner = "the parent agent" if owners[key] is None else repr(owners[key])
        raise OutOfOrder(rule, event, f"is tagged {tag!r}, but the {noun} {key!r} belongs to {owner}")


def _check_nulls(event: Wire) -> None:
    for field in null_fields(event):
        raise OutOfOrder("V23", event, f"has null for {field}: leave it out")


RULES: dict[str, tuple[str | None, _Action | None, _Action | None]] = {
    "RUN_STARTED": (None, Order._check_run_start, Order._record_run_start),
    "RUN_FINISHED": (None, Order._check_run_end, Order._record_run_end),
    "RUN_ERROR": (None, None, Order._record_run_end),
    "STEP_STARTED": (None, Order._check_step_start, Order._record_step_start),
    "STEP_FINISHED": (None, Order._check_step_end, Order._record_step_end),
    "TEXT_MESSAGE_START": ("_texts", _OpenEntities.check_start, _OpenEntities.start),
    "TEXT_MESSAGE_CONTENT": ("_texts", _OpenEntities.check_open, None),
    "TEXT_MESSAGE_END": ("_texts", _OpenEntities.check_open, _OpenEntities.end),
    "TOOL_CALL_START": (None, Order._check_call_start, Order._record_call_start),
    "TOOL_CALL_ARGS": ("_calls", _OpenEntities.check_open, None),
    "TOOL_CALL_END": ("_calls", _OpenEntities.check_open, _OpenEntities.end),
    "TOOL_CALL_RESULT": (None, Order._check_nulls, Order._record_call_result),
    "STATE_SNAPSHOT": (None, Order._check_nulls, None),
    "STATE_DELTA": (None, Order._check_nulls, None),
    "MESSAGES_SNAPSHOT": (None, Order._check_nulls, Order._record_snapshot),
    "ACTIVITY_SNAPSHOT": (None, Order._check_nulls, Order._record_activity),
    "ACTIVITY_DELTA": (None, Order._check_activity, None),
    "REASONING_START": ("_spans", _OpenEntities.check_start, _OpenEntities.start),
    "REASONING_END": ("_spans", _OpenEntities.check_open, _OpenEntities.end),
    "REASONING_MESSAGE_START": ("_reasoning", _OpenEntities.check_start, _OpenEntities.start),
    "REASONING_MESSAGE_CONTENT": ("_reasoning", _OpenEntities.check_open, None),
    "REASONING_MESSAGE_END": ("_reasoning", _OpenEntities.check_open, _OpenEntities.end),
    "REASONING_ENCRYPTED_VALUE": (None, Order._check_encrypted, None),
    "SUBAGENT_STARTED": (None, Order._check_subagent_start, Order._record_subagent_start),
    "SUBAGENT_FINISHED": (None, Order._check_subagent_end, Order._record_subagent_end),
    "SUBAGENT_ERROR": (None, Order._check_subagent_end, Order._record_subagent_end),
    "RAW": (None, Order._check_nulls, None),
    "CUSTOM": (None, Order._check_nulls, None),
}
"""Event type → (attribute of `Order`, check, record), for all events that may be sent. The methods are those of the
attribute's entities, or of `Order` itself. One table for all streams: a table of bound methods in each `Order` would be
a reference cycle, and so wait for the garbage collector."""
