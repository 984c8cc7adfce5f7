"""AG-UI's ordering rules as a machine: V1–V23 of what the 1.0 client enforces, checked before anything is sent.

In: valid AG-UI events with chunks already expanded (`validate`, `chunks`), one by one. Out: `OutOfOrder` for an event
that would fail the run in the client, and, to be read, whatever is open. It never changes an event, and an event that
it refuses leaves no trace.

The rules, by number. Run: V1 first event, V2 one run at a time, V3 after its end, V4 after its error, V5 nothing open
at its end. Text: V6, V7. Tool calls: V8, V9. Steps: V10, V11. Reasoning: V12, V13. Subagents: V14–V16. Owners:
V17–V22, and nulls: V23 (`owners`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Literal, TypeAlias

from gateway.agui.attribution import Attribution, Owner, nulls, tagged
from gateway.events import Wire

Phase: TypeAlias = Literal["before", "running", "finished", "errored"]
_Step: TypeAlias = Callable[[Wire], None]

MOVES: dict[Phase, dict[str, Phase]] = {
    "before": {"RUN_STARTED": "running", "RUN_ERROR": "errored"},
    "running": {"RUN_FINISHED": "finished", "RUN_ERROR": "errored"},
    "finished": {"RUN_STARTED": "running", "RUN_ERROR": "errored"},
    "errored": {"RUN_STARTED": "running"},
}
"""Outside a run only these events may come; inside one, RUN_STARTED alone may not."""
_OUTSIDE: dict[Phase, tuple[str, str]] = {
    "before": ("V1", "cannot come first: only RUN_STARTED or RUN_ERROR can"),
    "finished": ("V3", "cannot follow RUN_FINISHED: only RUN_STARTED or RUN_ERROR can"),
    "errored": ("V4", "cannot follow RUN_ERROR: only RUN_STARTED can"),
}


class OutOfOrder(ValueError):
    """The client would fail the run over this event. `rule` is the number of the rule that it breaks."""

    def __init__(self, rule: str, event: Wire, why: str) -> None:
        super().__init__(f"{rule}: {event.get('type')} {why}")
        self.rule = rule


class _Streams:
    """One kind of thing that opens, goes on and closes under an id: messages, spans, tool calls."""

    __slots__ = ("_goes_on", "_starts", "key", "noun", "open", "page")

    def __init__(self, noun: str, key: str, page: dict[str, Owner], starts: str, goes_on: str) -> None:
        self.noun, self.key, self.page = noun, key, page
        self._starts, self._goes_on = starts, goes_on
        self.open: dict[str, None] = {}

    def may_start(self, event: Wire) -> None:
        if event[self.key] in self.open:
            raise OutOfOrder(self._starts, event, f"opens the {self.noun} {event[self.key]!r}, which is open already")
        _agree("V19", event, self.noun, event[self.key], self.page)

    def may_go_on(self, event: Wire) -> None:
        if event[self.key] not in self.open:
            raise OutOfOrder(self._goes_on, event, f"names the {self.noun} {event[self.key]!r}, which is not open")
        if "subagentRunId" in event:  # asked here, so that the hottest events are spared a call
            _agree("V17", event, self.noun, event[self.key], self.page)

    def start(self, event: Wire) -> None:
        self.open[event[self.key]] = None
        self.page.setdefault(event[self.key], event.get("subagentRunId"))

    def end(self, event: Wire) -> None:
        del self.open[event[self.key]]

    def owned(self) -> dict[str, Owner]:
        return {key: self.page[key] for key in self.open}

    def ends(self, kind: str) -> Iterator[Wire]:
        for key in reversed(self.open):
            yield tagged({"type": kind, self.key: key}, self.page[key])


class Order:
    """Follows one stream, which may hold several runs. `take` each event before it is sent."""

    def __init__(self) -> None:
        self._phase: Phase = "before"
        self._begin()

    def _begin(self) -> None:
        book = self._owners = Attribution()
        self._texts = _Streams("text message", "messageId", book.messages, "V6", "V7")
        self._thoughts = _Streams("reasoning message", "messageId", book.reasoning, "V12", "V13")
        self._spans = _Streams("reasoning span", "messageId", book.reasoning, "V12", "V13")
        self._calls = _Streams("tool call", "toolCallId", book.calls, "V8", "V9")
        self._steps: dict[tuple[str, Owner], None] = {}
        self._subagents: dict[str, Owner] = {}
        self._gone: set[str] = set()
        self._made: dict[str, None] = {}
        self._answered: set[str] = set()
        self._table = self._rules_and_records()

    def take(self, event: Wire) -> None:
        """Checks the event and records it."""
        record = self._judge(event)
        if record is not None:
            record(event)

    def check(self, event: Wire) -> None:
        """Raises `OutOfOrder` if the event may not come now."""
        self._judge(event)

    def _judge(self, event: Wire) -> _Step | None:
        kind = event.get("type", "")
        try:
            rule, record = self._table[kind]
        except KeyError:
            why = "must be expanded first" if kind.endswith("_CHUNK") else "is no AG-UI 1.0 event"
            raise OutOfOrder("unknown", event, why) from None
        if self._phase != "running" and kind not in MOVES[self._phase]:
            raise OutOfOrder(_OUTSIDE[self._phase][0], event, _OUTSIDE[self._phase][1])
        if rule is not None:
            rule(event)
        return record

    # -- what is to be read

    @property
    def phase(self) -> Phase:
        return self._phase

    @property
    def open_text_messages(self) -> dict[str, Owner]:
        """Here and below: id → owner, in opening order. Kept after the run's end, until the next run starts."""
        return self._texts.owned()

    @property
    def streaming_texts(self) -> dict[str, None]:
        """The text messages that may go on now. Changed by nobody else, and by the next event that is taken."""
        return self._texts.open if self._phase == "running" else {}

    @property
    def open_reasoning_messages(self) -> dict[str, Owner]:
        return self._thoughts.owned()

    @property
    def open_reasoning_spans(self) -> dict[str, Owner]:
        return self._spans.owned()

    @property
    def open_tool_calls(self) -> dict[str, Owner]:
        return self._calls.owned()

    @property
    def open_steps(self) -> list[tuple[str, Owner]]:
        """(name, owner): parent and subagents may each have a step of the same name open."""
        return list(self._steps)

    @property
    def open_subagents(self) -> dict[str, Owner]:
        """Id → the subagent that started it."""
        return dict(self._subagents)

    def unanswered(self) -> list[str]:
        """Tool calls of this run that have no result yet, in the order made."""
        return [call for call in self._made if call not in self._answered]

    def closing(self) -> list[Wire]:
        """What closes all that is open, each in its owner's name, last opened first. Then RUN_FINISHED may come."""
        if self._phase != "running":
            return []
        return [
            *self._texts.ends("TEXT_MESSAGE_END"),
            *self._thoughts.ends("REASONING_MESSAGE_END"),
            *self._spans.ends("REASONING_END"),
            *self._calls.ends("TOOL_CALL_END"),
            *(tagged({"type": "STEP_FINISHED", "stepName": name}, owner) for name, owner in reversed(self._steps)),
            # A subagent starts after its parent, so backwards is innermost first.
            *({"type": "SUBAGENT_FINISHED", "subagentRunId": key} for key in reversed(self._subagents)),
        ]

    # -- the rules: they look, and change nothing

    def _run_starts(self, event: Wire) -> None:
        if self._phase == "running":
            raise OutOfOrder("V2", event, "cannot come while a run is active")
        _no_null(event)

    def _run_ends(self, event: Wire) -> None:
        open_now = [
            ("step", [name if owner is None else f"{name} (of {owner})" for name, owner in self._steps]),
            *((kind.noun, list(kind.open)) for kind in (self._texts, self._thoughts, self._spans, self._calls)),
            ("subagent", list(self._subagents)),
        ]
        for noun, names in open_now:
            if names:
                raise OutOfOrder("V5", event, f"cannot come while a {noun} is open: {', '.join(names)}")
        _no_null(event)

    def _call_starts(self, event: Wire) -> None:
        self._calls.may_start(event)
        parent, call, book = event.get("parentMessageId"), event["toolCallId"], self._owners
        if parent is None or parent not in book.messages:
            return
        _agree("V18", event, "parent message", parent, book.messages)
        if book.calls.get(call, book.messages[parent]) != book.messages[parent]:
            raise OutOfOrder("V19", event, f"puts the tool call {call!r} into {parent!r}, a message of another owner")

    def _step_starts(self, event: Wire) -> None:
        _no_null(event)
        if _step(event) in self._steps:
            raise OutOfOrder("V10", event, f"opens the step {event['stepName']!r}, which its owner has open already")

    def _step_ends(self, event: Wire) -> None:
        _no_null(event)
        if _step(event) not in self._steps:
            raise OutOfOrder("V11", event, f"names the step {event['stepName']!r}, which its owner has not open")

    def _subagent_starts(self, event: Wire) -> None:
        _no_null(event)
        key, parent = event["subagentRunId"], event.get("parentSubagentRunId")
        if key in self._subagents or key in self._gone:
            raise OutOfOrder("V14", event, f"starts the subagent {key!r}, which was started before in this run")
        if parent is not None and parent not in self._subagents and parent not in self._gone:
            raise OutOfOrder("V15", event, f"starts {key!r} under the subagent {parent!r}, which has not started")

    def _subagent_ends(self, event: Wire) -> None:
        _no_null(event)
        if event["subagentRunId"] not in self._subagents:
            raise OutOfOrder("V16", event, f"names the subagent {event['subagentRunId']!r}, which is not active")

    def _encrypted(self, event: Wire) -> None:
        noun = "tool call" if event["subtype"] == "tool-call" else "message"
        _agree("V20", event, noun, event["entityId"], self._owners.encrypted(event))

    def _activity(self, event: Wire) -> None:
        _agree("V21", event, "activity", event["messageId"], self._owners.activities)

    # -- the records: what an accepted event changes

    def _run_started(self, event: Wire) -> None:
        self._begin()
        self._phase = "running"
        self._owners.echo(event)

    def _run_over(self, event: Wire) -> None:
        self._phase = MOVES[self._phase][event["type"]]

    def _call_started(self, event: Wire) -> None:
        self._owners.call(event)
        self._calls.start(event)
        self._made[event["toolCallId"]] = None

    def _call_answered(self, event: Wire) -> None:
        self._owners.result(event)
        self._answered.add(event["toolCallId"])

    def _step_started(self, event: Wire) -> None:
        self._steps[_step(event)] = None

    def _step_ended(self, event: Wire) -> None:
        del self._steps[_step(event)]

    def _subagent_started(self, event: Wire) -> None:
        self._subagents[event["subagentRunId"]] = event.get("parentSubagentRunId")

    def _subagent_ended(self, event: Wire) -> None:
        del self._subagents[event["subagentRunId"]]
        self._gone.add(event["subagentRunId"])

    def _rules_and_records(self) -> dict[str, tuple[_Step | None, _Step | None]]:
        """Type → (rule, record): all events that may be sent, and nothing else."""
        texts, thoughts, spans, calls = self._texts, self._thoughts, self._spans, self._calls
        return {
            "RUN_STARTED": (self._run_starts, self._run_started),
            "RUN_FINISHED": (self._run_ends, self._run_over),
            "RUN_ERROR": (None, self._run_over),
            "STEP_STARTED": (self._step_starts, self._step_started),
            "STEP_FINISHED": (self._step_ends, self._step_ended),
            "TEXT_MESSAGE_START": (texts.may_start, texts.start),
            "TEXT_MESSAGE_CONTENT": (texts.may_go_on, None),
            "TEXT_MESSAGE_END": (texts.may_go_on, texts.end),
            "TOOL_CALL_START": (self._call_starts, self._call_started),
            "TOOL_CALL_ARGS": (calls.may_go_on, None),
            "TOOL_CALL_END": (calls.may_go_on, calls.end),
            "TOOL_CALL_RESULT": (_no_null, self._call_answered),
            "STATE_SNAPSHOT": (_no_null, None),
            "STATE_DELTA": (_no_null, None),
            "MESSAGES_SNAPSHOT": (_no_null, self._owners.snapshot),
            "ACTIVITY_SNAPSHOT": (_no_null, self._owners.activity),
            "ACTIVITY_DELTA": (self._activity, None),
            "REASONING_START": (spans.may_start, spans.start),
            "REASONING_END": (spans.may_go_on, spans.end),
            "REASONING_MESSAGE_START": (thoughts.may_start, thoughts.start),
            "REASONING_MESSAGE_CONTENT": (thoughts.may_go_on, None),
            "REASONING_MESSAGE_END": (thoughts.may_go_on, thoughts.end),
            "REASONING_ENCRYPTED_VALUE": (self._encrypted, None),
            "SUBAGENT_STARTED": (self._subagent_starts, self._subagent_started),
            "SUBAGENT_FINISHED": (self._subagent_ends, self._subagent_ended),
            "SUBAGENT_ERROR": (self._subagent_ends, self._subagent_ended),
            "RAW": (_no_null, None),
            "CUSTOM": (_no_null, None),
        }


def _step(event: Wire) -> tuple[str, Owner]:
    return event["stepName"], event.get("subagentRunId")


def _agree(rule: str, event: Wire, noun: str, key: str, page: dict[str, Owner]) -> None:
    """A tag, where there is one, must be the owner's. An absent one agrees with everybody; so does an unknown id."""
    _no_null(event)
    tag = event.get("subagentRunId")
    if tag is not None and page.get(key, tag) != tag:
        owner = "the parent agent" if page[key] is None else repr(page[key])
        raise OutOfOrder(rule, event, f"is tagged {tag!r}, but the {noun} {key!r} belongs to {owner}")


def _no_null(event: Wire) -> None:
    for field in nulls(event):
        raise OutOfOrder("V23", event, f"has null for {field}: leave it out")
