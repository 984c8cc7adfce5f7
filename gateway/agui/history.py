"""AG-UI events → the messages and the state that a client holds after them.

In: valid events with chunks already expanded, in order. Out: `messages` and `state` as the 1.0 client would have
them, to be shown to a page that reloads. Whatever is given is copied, never changed and never kept. What the client
only warns about (a patch that does not fit, text for an activity) is passed over here as it is there.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, TypeAlias

from jsonpatch import JsonPatchException, apply_patch
from jsonpointer import JsonPointerException

from gateway.events import Json, Wire

Message: TypeAlias = dict[str, Any]

_AT_FIRST: Json = {}
"""The state of a thread that nobody has touched."""


class History:
    """Feed it one thread's events; read `messages` and `state` at any time. They are to be looked at, not changed."""

    def __init__(self, messages: Iterable[Message] = (), state: Json = _AT_FIRST) -> None:
        self.state: Json = _copied(state)
        self.pending_interrupts: list[dict[str, Any]] = []
        """What the last run to finish asks."""
        self.pending_tool_call_ids: list[str] = []
        """The tool calls that it left for the client to answer."""
        self.result: Json = None
        self.run_error: str | None = None
        """What the last run to fail said. A run that goes well afterwards does not unsay it."""
        self._messages: list[Message] = [_copied(message) for message in messages]
        self._made: dict[str, None] = {}
        self._answered: set[str] = set()
        self._growing: dict[int, tuple[dict[str, Any], str, list[str]]] = {}
        self._index()

    @property
    def messages(self) -> list[Message]:
        self._settle()
        return self._messages

    def ids(self) -> frozenset[str]:
        """Of every message, and of every tool call that has its result: that of another is still news."""
        answered = {message.get("toolCallId") for message in self.messages if message["role"] == "tool"}
        made = (call["id"] for message in self.messages for call in message.get("toolCalls", ()))
        calls = [call for call in made if call in answered]
        return frozenset([message["id"] for message in self.messages] + calls)

    def add_input(self, messages: Iterable[Message]) -> None:
        """What a run's input brings along: messages that are already known stay as they are."""
        for message in messages:
            if message["id"] not in self._by_id:
                self._append(_copied(message))

    def feed(self, event: Wire) -> None:
        fold = _FOLDS.get(event["type"])
        if fold is not None:
            fold(self, event)

    # -- the list of messages, and what is looked up in it

    def _append(self, message: Message) -> Message:
        self._messages.append(message)
        self._note(message)
        return message

    def _note(self, message: Message) -> None:
        # Ids should be unique. Where they are not, the client takes the first, and so do we.
        self._by_id.setdefault(message["id"], message)
        for call in message.get("toolCalls") or ():
            self._calls.setdefault(call["id"], call)
            self._callers.setdefault(call["id"], message)

    def _index(self) -> None:
        self._by_id: dict[str, Message] = {}
        self._calls: dict[str, dict[str, Any]] = {}
        self._callers: dict[str, Message] = {}
        for message in self._messages:
            self._note(message)

    def _grow(self, target: dict[str, Any], key: str, delta: str) -> None:
        # Joined once, when somebody looks: adding every delta to a long text would copy the text every time.
        self._growing.setdefault(id(target), (target, key, []))[2].append(delta)

    def _settle(self) -> None:
        for target, key, deltas in self._growing.values():
            text = target.get(key)
            target[key] = "".join([text if isinstance(text, str) else "", *deltas])
        self._growing.clear()

    # -- the run

    def _run_started(self, event: Wire) -> None:
        self._made, self._answered = {}, set()
        self.add_input((event.get("input") or {}).get("messages", ()))

    def _run_finished(self, event: Wire) -> None:
        outcome = event.get("outcome") or {"type": "success"}
        success = outcome["type"] == "success"
        unanswered = [call for call in self._made if call not in self._answered]
        self.pending_interrupts = _copied(outcome.get("interrupts", []))
        self.pending_tool_call_ids = list(outcome.get("pendingToolCallIds") or unanswered) if success else []
        self.result = _copied(event.get("result")) if success else None

    def _run_failed(self, event: Wire) -> None:
        self.run_error = event["message"]

    # -- text and reasoning

    def _text_started(self, event: Wire) -> None:
        key = event["messageId"]
        if key not in self._by_id:
            message = {"id": key, "role": event.get("role", "assistant"), "content": ""}
            self._append(message | {field: event[field] for field in ("name", "subagentRunId") if field in event})
        self._text_ended(event)

    def _text_went_on(self, event: Wire) -> None:
        message = self._by_id.get(event["messageId"])
        if message is not None and message["role"] != "activity":
            self._grow(message, "content", event["delta"])
            _merge_metadata(message, event)

    def _text_ended(self, event: Wire) -> None:
        message = self._by_id.get(event["messageId"])
        if message is not None and message["role"] != "activity":
            _merge_metadata(message, event)

    # -- tool calls

    def _call_started(self, event: Wire) -> None:
        key = event["toolCallId"]
        self._made[key] = None
        call = self._calls.get(key)
        if call is None:
            call = {"id": key, "type": "function", "function": {"name": "", "arguments": ""}}
            caller = self._caller(event)
            caller.setdefault("toolCalls", []).append(call)
            self._note(caller)
        call["function"]["name"] = event["toolCallName"]
        _merge_metadata(call, event)

    def _caller(self, event: Wire) -> Message:
        """The assistant message that is to carry the call; a new one if there is none."""
        parent = event.get("parentMessageId") or None  # the client reads an empty id as none here
        known = None if parent is None else self._by_id.get(parent)
        if known is not None and known["role"] == "assistant":
            return known
        key = event["toolCallId"] if parent is None or known is not None else parent
        message = {"id": key, "role": "assistant"}
        return self._append(message if key in self._by_id else _owned(message, event))

    def _call_went_on(self, event: Wire) -> None:
        call = self._calls.get(event["toolCallId"])
        if call is not None:
            self._grow(call["function"], "arguments", event["delta"])
            _merge_metadata(call, event)

    def _call_ended(self, event: Wire) -> None:
        call = self._calls.get(event["toolCallId"])
        if call is not None:
            _merge_metadata(call, event)

    def _call_answered(self, event: Wire) -> None:
        """The result stands right behind the message that made the call, after the results that are there already."""
        call = event["toolCallId"]
        self._answered.add(call)
        message = _owned({"id": event["messageId"], "toolCallId": call, "role": "tool"}, event)
        message["content"] = _copied(event["content"])
        _merge_metadata(message, event)
        place = len(self._messages)
        if call in self._callers:
            place = next(i for i, known in enumerate(self._messages, 1) if known is self._callers[call])
            while place < len(self._messages) and self._messages[place]["role"] == "tool":
                place += 1
        self._messages.insert(place, message)
        self._index()

    def _encrypted(self, event: Wire) -> None:
        known = self._calls if event["subtype"] == "tool-call" else self._by_id
        target = known.get(event["entityId"])
        if target is not None and target.get("role") != "activity":
            target["encryptedValue"] = event["encryptedValue"]

    # -- state, activities, snapshots

    def _state_set(self, event: Wire) -> None:
        self.state = _copied(event["snapshot"])

    def _state_patched(self, event: Wire) -> None:
        self.state = _patched(self.state, event["delta"])

    def _activity_set(self, event: Wire) -> None:
        known = self._by_id.get(event["messageId"])
        if known is not None and event.get("replace") is False:
            if known["role"] == "activity":
                _merge_metadata(known, event)
            return
        activity = _owned({"id": event["messageId"], "role": "activity", "activityType": event["activityType"]}, event)
        activity["content"] = _copied(event["content"])
        if known is not None and known["role"] == "activity" and "metadata" in known:
            activity["metadata"] = known["metadata"]
        _merge_metadata(activity, event)
        if known is None:
            self._append(activity)
        else:
            self._messages = [activity if message is known else message for message in self._messages]
            self._index()

    def _activity_patched(self, event: Wire) -> None:
        known = self._by_id.get(event["messageId"])
        if known is None or known["role"] != "activity":
            return
        _merge_metadata(known, event)
        content = _patched(known["content"], event["patch"])
        if content is not known["content"]:
            known.update(content=content, activityType=event["activityType"])

    def _messages_set(self, event: Wire) -> None:
        """Known messages are replaced where they stand, new ones come last, and what is left out goes, or stays."""
        self._settle()
        given: list[Message] = _copied(event["messages"])
        by_id = {message["id"]: message for message in given}
        roles = {message["role"] for message in given}
        kept = [
            by_id.get(message["id"], message)
            for message in self._messages
            if message["id"] in by_id or _survives(message, event, roles)
        ]
        held = {message["id"] for message in kept}
        self._messages = kept + [message for message in given if message["id"] not in held]
        self._index()


def _survives(message: Message, snapshot: Wire, roles: set[str]) -> bool:
    """Backends often know nothing of activities and reasoning: only a snapshot that has some speaks for all."""
    if message["role"] == "activity":
        owned = _owns(snapshot, message["activityType"])
        return "activity" not in roles if owned is None else not owned
    return message["role"] == "reasoning" and "reasoning" not in roles


def _owns(snapshot: Wire, activity_type: str) -> bool | None:
    """Does the snapshot declare that it is complete for this type of activity? None: it declares nothing."""
    metadata = snapshot.get("metadata") or {}
    space = metadata.get("@ag-ui/client", {})
    if not isinstance(space, dict):
        return False
    if "authoritativeActivityTypes" not in space:
        return None
    types = space["authoritativeActivityTypes"]
    return types is None or (isinstance(types, list) and _all_text(types) and activity_type in types)


def _all_text(values: list[Any]) -> bool:
    return all(isinstance(value, str) for value in values)


def _owned(message: Message, event: Wire) -> Message:
    if event.get("subagentRunId") is not None:
        message["subagentRunId"] = event["subagentRunId"]
    return message


def _merge_metadata(target: dict[str, Any], event: Wire) -> None:
    """Key by key, the last one wins, never deeper."""
    if event.get("metadata") is not None:
        target["metadata"] = {**target.get("metadata", {}), **_copied(event["metadata"])}


def _patched(document: Json, operations: list[dict[str, Any]]) -> Json:
    """A patched copy; the very document if any operation fails."""
    try:
        return apply_patch(_copied(document), _copied(operations), in_place=True)
    except (JsonPatchException, JsonPointerException, TypeError):
        # TypeError: what some releases of jsonpatch raise where the path leads through a number or a text.
        return document


def _copied(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _copied(item) for key, item in value.items()}
    return [_copied(item) for item in value] if isinstance(value, list) else value


_FOLDS: dict[str, Callable[[History, Wire], None]] = {
    "RUN_STARTED": History._run_started,
    "RUN_FINISHED": History._run_finished,
    "RUN_ERROR": History._run_failed,
    "TEXT_MESSAGE_START": History._text_started,
    "TEXT_MESSAGE_CONTENT": History._text_went_on,
    "TEXT_MESSAGE_END": History._text_ended,
    "REASONING_MESSAGE_START": History._text_started,
    "REASONING_MESSAGE_CONTENT": History._text_went_on,
    "REASONING_MESSAGE_END": History._text_ended,
    "REASONING_ENCRYPTED_VALUE": History._encrypted,
    "TOOL_CALL_START": History._call_started,
    "TOOL_CALL_ARGS": History._call_went_on,
    "TOOL_CALL_END": History._call_ended,
    "TOOL_CALL_RESULT": History._call_answered,
    "STATE_SNAPSHOT": History._state_set,
    "STATE_DELTA": History._state_patched,
    "MESSAGES_SNAPSHOT": History._messages_set,
    "ACTIVITY_SNAPSHOT": History._activity_set,
    "ACTIVITY_DELTA": History._activity_patched,
}
