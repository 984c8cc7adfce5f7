"""AG-UI events → the messages and the state that a client has after them.

In: valid events with chunks already expanded, in order. Out: `messages` and `state` as the 1.0 client has them, for a
page that reloads. Input is copied, never changed and never kept. Events that the client ignores with a warning (a patch
that does not fit, text for an activity) are ignored here too.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, TypeAlias

from jsonpatch import JsonPatchException, apply_patch
from jsonpointer import JsonPointerException

from gateway.events import Json, Wire
from gateway.turn import tool_calls_of

Message: TypeAlias = dict[str, Any]

_INITIAL_STATE: Json = {}
"""The state of a thread before any event sets it."""


class History:
    """The history of one thread. `messages` and `state` can be read at any time, and must not be changed."""

    def __init__(self, messages: Iterable[Message] = (), state: Json = _INITIAL_STATE) -> None:
        self.state: Json = _copy(state)
        self.pending_interrupts: list[dict[str, Any]] = []
        """The interrupts of the last run that finished."""
        self.pending_tool_call_ids: list[str] = []
        """The tool calls that it left to the client."""
        self.result: Json = None
        self.run_error: str | None = None
        """The message of the last run that failed. A later success does not clear it."""
        self._messages: list[Message] = [_copy(message) for message in messages]
        self._started_calls: dict[str, None] = {}
        self._answered_calls: set[str] = set()
        self._pending_deltas: dict[int, tuple[dict[str, Any], str, list[str]]] = {}
        self._rebuild_index()

    @property
    def messages(self) -> list[Message]:
        self._join_deltas()
        return self._messages

    def known_ids(self) -> frozenset[str]:
        """The ids of all messages, and of the tool calls that have a result."""
        answered = {message.get("toolCallId") for message in self.messages if message["role"] == "tool"}
        made = (call["id"] for message in self.messages for call in tool_calls_of(message))
        calls = [call for call in made if call in answered]
        return frozenset([message["id"] for message in self.messages] + calls)

    def add_input(self, messages: Iterable[Message]) -> None:
        """Adds the messages of a run's input. Messages that are known already stay as they are."""
        for message in messages:
            if message["id"] not in self._by_id:
                self._append(_copy(message))

    def feed(self, event: Wire) -> None:
        handle = _HANDLERS.get(event["type"])
        if handle is not None:
            handle(self, event)

    # -- the list of messages, and its indexes

    def _append(self, message: Message) -> Message:
        self._messages.append(message)
        self._index_message(message)
        return message

    def _index_message(self, message: Message) -> None:
        # Ids should be unique. If they are not, the first counts, as in the client.
        self._by_id.setdefault(message["id"], message)
        for call in tool_calls_of(message):
            self._calls.setdefault(call["id"], call)
            self._callers.setdefault(call["id"], message)

    def _rebuild_index(self) -> None:
        self._by_id: dict[str, Message] = {}
        self._calls: dict[str, dict[str, Any]] = {}
        self._callers: dict[str, Message] = {}
        for message in self._messages:
            self._index_message(message)

    def _append_delta(self, target: dict[str, Any], key: str, delta: str) -> None:
        # Joined once, when the messages are read: appending each delta to a long text would copy the text every time.
        self._pending_deltas.setdefault(id(target), (target, key, []))[2].append(delta)

    def _join_deltas(self) -> None:
        for target, key, deltas in self._pending_deltas.values():
            text = target.get(key)
            target[key] = "".join([text if isinstance(text, str) else "", *deltas])
        self._pending_deltas.clear()

    # -- the run

    def _run_started(self, event: Wire) -> None:
        self._started_calls = {}
        self._answered_calls = set()
        self.add_input((event.get("input") or {}).get("messages", ()))

    def _run_finished(self, event: Wire) -> None:
        outcome = event.get("outcome") or {"type": "success"}
        is_success = outcome["type"] == "success"
        unanswered = [call for call in self._started_calls if call not in self._answered_calls]
        self.pending_interrupts = _copy(outcome.get("interrupts", []))
        self.pending_tool_call_ids = list(outcome.get("pendingToolCallIds") or unanswered) if is_success else []
        self.result = _copy(event.get("result")) if is_success else None

    def _run_error(self, event: Wire) -> None:
        self.run_error = event["message"]

    # -- text and reasoning

    def _text_started(self, event: Wire) -> None:
        key = event["messageId"]
        if key not in self._by_id:
            message = {"id": key, "role": event.get("role", "assistant"), "content": ""}
            self._append(message | {field: event[field] for field in ("name", "subagentRunId") if field in event})
        self._text_ended(event)

    def _text_content(self, event: Wire) -> None:
        message = self._by_id.get(event["messageId"])
        if message is not None and message["role"] != "activity":
            self._append_delta(message, "content", event["delta"])
            _merge_metadata(message, event)

    def _text_ended(self, event: Wire) -> None:
        message = self._by_id.get(event["messageId"])
        if message is not None and message["role"] != "activity":
            _merge_metadata(message, event)

    # -- tool calls

    def _call_started(self, event: Wire) -> None:
        key = event["toolCallId"]
        self._started_calls[key] = None
        call = self._calls.get(key)
        if call is None:
            call = {"id": key, "type": "function", "function": {"name": "", "arguments": ""}}
            caller = self._caller(event)
            caller.setdefault("toolCalls", []).append(call)
            self._index_message(caller)
        call["function"]["name"] = event["toolCallName"]
        _merge_metadata(call, event)

    def _caller(self, event: Wire) -> Message:
        """The assistant message that gets the call; a new one if there is none."""
        parent = event.get("parentMessageId") or None  # The client takes an empty id for none here.
        known = None if parent is None else self._by_id.get(parent)
        if known is not None and known["role"] == "assistant":
            return known
        key = event["toolCallId"] if parent is None or known is not None else parent
        message = {"id": key, "role": "assistant"}
        return self._append(message if key in self._by_id else _with_owner(message, event))

    def _call_args(self, event: Wire) -> None:
        call = self._calls.get(event["toolCallId"])
        if call is not None:
            self._append_delta(call["function"], "arguments", event["delta"])
            _merge_metadata(call, event)

    def _call_ended(self, event: Wire) -> None:
        call = self._calls.get(event["toolCallId"])
        if call is not None:
            _merge_metadata(call, event)

    def _call_result(self, event: Wire) -> None:
        """Inserts the result after the message with the call, and after the results that follow it already."""
        call = event["toolCallId"]
        self._answered_calls.add(call)
        message = _with_owner({"id": event["messageId"], "toolCallId": call, "role": "tool"}, event)
        message["content"] = _copy(event["content"])
        _merge_metadata(message, event)
        index = len(self._messages)
        if call in self._callers:
            index = next(i for i, known in enumerate(self._messages, 1) if known is self._callers[call])
            while index < len(self._messages) and self._messages[index]["role"] == "tool":
                index += 1
        self._messages.insert(index, message)
        self._rebuild_index()

    def _encrypted_value(self, event: Wire) -> None:
        known = self._calls if event["subtype"] == "tool-call" else self._by_id
        target = known.get(event["entityId"])
        if target is not None and target.get("role") != "activity":
            target["encryptedValue"] = event["encryptedValue"]

    # -- state, activities, snapshots

    def _state_snapshot(self, event: Wire) -> None:
        self.state = _copy(event["snapshot"])

    def _state_delta(self, event: Wire) -> None:
        self.state = _apply_patch(self.state, event["delta"])

    def _activity_snapshot(self, event: Wire) -> None:
        known = self._by_id.get(event["messageId"])
        if known is not None and event.get("replace") is False:
            if known["role"] == "activity":
                _merge_metadata(known, event)
            return
        activity = _with_owner(
            {"id": event["messageId"], "role": "activity", "activityType": event["activityType"]}, event
        )
        activity["content"] = _copy(event["content"])
        if known is not None and known["role"] == "activity" and "metadata" in known:
            activity["metadata"] = known["metadata"]
        _merge_metadata(activity, event)
        if known is None:
            self._append(activity)
        else:
            self._messages = [activity if message is known else message for message in self._messages]
            self._rebuild_index()

    def _activity_delta(self, event: Wire) -> None:
        known = self._by_id.get(event["messageId"])
        if known is None or known["role"] != "activity":
            return
        _merge_metadata(known, event)
        content = _apply_patch(known["content"], event["patch"])
        if content is not known["content"]:
            known.update(content=content, activityType=event["activityType"])

    def _messages_snapshot(self, event: Wire) -> None:
        """Replaces known messages in place and appends new ones. Messages that the snapshot lacks are removed, unless
        `_survives`."""
        self._join_deltas()
        messages: list[Message] = _copy(event["messages"])
        by_id = {message["id"]: message for message in messages}
        roles = {message["role"] for message in messages}
        remaining = [
            by_id.get(message["id"], message)
            for message in self._messages
            if message["id"] in by_id or _survives(message, event, roles)
        ]
        remaining_ids = {message["id"] for message in remaining}
        self._messages = remaining + [message for message in messages if message["id"] not in remaining_ids]
        self._rebuild_index()


def _survives(message: Message, snapshot: Wire, roles: set[str]) -> bool:
    """Whether a message that the snapshot lacks stays. Many back ends do not know activities and reasoning, so only a
    snapshot that contains some is complete for them."""
    if message["role"] == "activity":
        is_complete = _is_authoritative(snapshot, message["activityType"])
        return "activity" not in roles if is_complete is None else not is_complete
    return message["role"] == "reasoning" and "reasoning" not in roles


def _is_authoritative(snapshot: Wire, activity_type: str) -> bool | None:
    """Whether the snapshot declares that it is complete for this type of activity; None if it declares nothing."""
    metadata = snapshot.get("metadata") or {}
    space = metadata.get("@ag-ui/client", {})
    if not isinstance(space, dict):
        return False
    if "authoritativeActivityTypes" not in space:
        return None
    types = space["authoritativeActivityTypes"]
    return types is None or (isinstance(types, list) and _are_strings(types) and activity_type in types)


def _are_strings(values: list[Any]) -> bool:
    return all(isinstance(value, str) for value in values)


def _with_owner(message: Message, event: Wire) -> Message:
    if event.get("subagentRunId") is not None:
        message["subagentRunId"] = event["subagentRunId"]
    return message


def _merge_metadata(target: dict[str, Any], event: Wire) -> None:
    """Merges top-level keys; the last value wins."""
    if event.get("metadata") is not None:
        target["metadata"] = {**target.get("metadata", {}), **_copy(event["metadata"])}


def _apply_patch(document: Json, operations: list[dict[str, Any]]) -> Json:
    """A patched copy; the same document if any operation fails."""
    try:
        return apply_patch(_copy(document), _copy(operations), in_place=True)
    except (JsonPatchException, JsonPointerException, TypeError):
        # Some releases of jsonpatch raise TypeError where the path leads through a number or a string.
        return document


def _copy(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _copy(item) for key, item in value.items()}
    return [_copy(item) for item in value] if isinstance(value, list) else value


_HANDLERS: dict[str, Callable[[History, Wire], None]] = {
    "RUN_STARTED": History._run_started,
    "RUN_FINISHED": History._run_finished,
    "RUN_ERROR": History._run_error,
    "TEXT_MESSAGE_START": History._text_started,
    "TEXT_MESSAGE_CONTENT": History._text_content,
    "TEXT_MESSAGE_END": History._text_ended,
    "REASONING_MESSAGE_START": History._text_started,
    "REASONING_MESSAGE_CONTENT": History._text_content,
    "REASONING_MESSAGE_END": History._text_ended,
    "REASONING_ENCRYPTED_VALUE": History._encrypted_value,
    "TOOL_CALL_START": History._call_started,
    "TOOL_CALL_ARGS": History._call_args,
    "TOOL_CALL_END": History._call_ended,
    "TOOL_CALL_RESULT": History._call_result,
    "STATE_SNAPSHOT": History._state_snapshot,
    "STATE_DELTA": History._state_delta,
    "MESSAGES_SNAPSHOT": History._messages_snapshot,
    "ACTIVITY_SNAPSHOT": History._activity_snapshot,
    "ACTIVITY_DELTA": History._activity_delta,
}
