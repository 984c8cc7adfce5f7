"""What an agent does: the one vocabulary between `wire`, `drivers` and `agui`, and of Python agents.

In: what a dialect, a protocol or a Python agent reports. Out: batches (lists) of these events, which `agui.outbound`
turns into AG-UI events (https://docs.ag-ui.com/concepts/events). Nothing here knows a wire format, a clock or a scheme
of ids: an id that is left out is made by `agui.outbound`, which also remembers what is open and closes it.

`subagent` is always the id of one invocation (`SubagentStarted.id`); None means the agent itself. `metadata` goes into
the AG-UI event as it is. The classes that are made for every token are not frozen, because a frozen one takes five
times as long to make; they are not changed either.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

Json: TypeAlias = Any
"""Any JSON value."""

Wire: TypeAlias = dict[str, Any]
"""One AG-UI event as its JSON object: camelCase keys, no key for what is absent."""

Layer: TypeAlias = Mapping[str, Any]
"""Capabilities from one source: dotted AG-UI path → value (`{"multimodal.input.image": True}`)."""


# -- messages


@dataclass(slots=True)
class TextMessageContent:
    """A piece of the answer's text: `TEXT_MESSAGE_CONTENT`. Without `message_id` it continues the open message, or
    opens a new one."""

    text: str
    message_id: str | None = None
    subagent: str | None = None
    role: str | None = None
    metadata: dict[str, Any] | None = None


@dataclass(frozen=True, slots=True)
class TextMessageEnd:
    """The message is complete: `TEXT_MESSAGE_END`. Optional: a message that must be closed is closed without it."""

    message_id: str | None = None
    subagent: str | None = None


@dataclass(slots=True)
class ReasoningMessageContent:
    """A piece of the visible reasoning: `REASONING_MESSAGE_CONTENT`."""

    text: str
    message_id: str | None = None
    subagent: str | None = None
    metadata: dict[str, Any] | None = None


@dataclass(frozen=True, slots=True)
class ReasoningMessageEnd:
    """The reasoning message is complete: `REASONING_MESSAGE_END` and `REASONING_END`. Optional, like
    `TextMessageEnd`."""

    message_id: str | None = None
    subagent: str | None = None


@dataclass(frozen=True, slots=True)
class ReasoningEncryptedValue:
    """An opaque value that a provider wants back with a message or a tool call: `REASONING_ENCRYPTED_VALUE`."""

    subtype: Literal["message", "tool-call"]
    entity_id: str
    value: str
    subagent: str | None = None


@dataclass(frozen=True, slots=True)
class MessagesSnapshot:
    """The whole conversation, as AG-UI messages: `MESSAGES_SNAPSHOT`."""

    messages: list[dict[str, Any]]


# -- tool calls


@dataclass(frozen=True, slots=True)
class ToolCallStart:
    """A tool call begins: `TOOL_CALL_START`. `message_id` is the assistant message it belongs to; None: the current
    one."""

    id: str
    name: str
    message_id: str | None = None
    subagent: str | None = None
    metadata: dict[str, Any] | None = None


@dataclass(slots=True)
class ToolCallArgs:
    """A piece of the call's arguments, as JSON text: `TOOL_CALL_ARGS`."""

    id: str
    delta: str


@dataclass(frozen=True, slots=True)
class ToolCallEnd:
    """The arguments are complete, and the tool may run: `TOOL_CALL_END`."""

    id: str
    metadata: dict[str, Any] | None = None


@dataclass(frozen=True, slots=True)
class ToolCallResult:
    """What the tool gave back, as text or as AG-UI content parts: `TOOL_CALL_RESULT`."""

    id: str
    content: str | list[dict[str, Any]]
    message_id: str | None = None
    subagent: str | None = None
    metadata: dict[str, Any] | None = None
    is_error: bool | None = None
    """Whether the tool failed; None: the agent did not report it. AG-UI has no field for it, so it is sent in
    metadata."""


# -- state and activities


@dataclass(frozen=True, slots=True)
class StateSnapshot:
    """The shared state as a whole: `STATE_SNAPSHOT`."""

    snapshot: Json
    subagent: str | None = None


@dataclass(frozen=True, slots=True)
class StateDelta:
    """JSON Patch operations on the shared state: `STATE_DELTA`."""

    delta: list[dict[str, Any]]
    subagent: str | None = None


@dataclass(frozen=True, slots=True)
class ActivitySnapshot:
    """Something shown beside the conversation (a plan, a search, live output): `ACTIVITY_SNAPSHOT`."""

    id: str
    type: str
    content: dict[str, Any]
    replace: bool = True
    subagent: str | None = None


@dataclass(frozen=True, slots=True)
class ActivityDelta:
    """JSON Patch operations on the content of an activity: `ACTIVITY_DELTA`."""

    id: str
    type: str
    patch: list[dict[str, Any]]
    subagent: str | None = None


# -- steps and subagents


@dataclass(frozen=True, slots=True)
class StepStarted:
    """A named step of the work begins: `STEP_STARTED`."""

    name: str
    subagent: str | None = None


@dataclass(frozen=True, slots=True)
class StepFinished:
    """The step of this name is over: `STEP_FINISHED`."""

    name: str
    subagent: str | None = None


@dataclass(frozen=True, slots=True)
class SubagentStarted:
    """A subagent begins: `SUBAGENT_STARTED`. `id` names this invocation; the subagent's own events carry it as
    `subagent`."""

    id: str
    name: str
    description: str | None = None
    parent: str | None = None
    """The subagent that started this one."""
    tool_call_id: str | None = None
    message_id: str | None = None


@dataclass(frozen=True, slots=True)
class SubagentFinished:
    """The subagent is done: `SUBAGENT_FINISHED`."""

    id: str
    result: Json = None


@dataclass(frozen=True, slots=True)
class SubagentError:
    """The subagent failed, and the agent goes on: `SUBAGENT_ERROR`."""

    id: str
    message: str
    code: str | None = None


# -- other events


@dataclass(frozen=True, slots=True)
class Custom:
    """An event of the agent's own, which an application may know by its name: `CUSTOM`."""

    name: str
    value: Json
    subagent: str | None = None


@dataclass(frozen=True, slots=True)
class Raw:
    """A message of the agent's that its reader does not understand: `RAW`. It is never dropped."""

    event: Json
    source: str | None = None


@dataclass(frozen=True, slots=True)
class Warning:
    """A run option that could not be carried out, or content that was left out: `CUSTOM gateway.warning`, once."""

    code: str
    message: str
    detail: dict[str, Any] = field(default_factory=dict)


@dataclass(slots=True)
class AguiEvent:
    """An AG-UI event that the agent made itself, an official object or its JSON: sent as that event, after
    `agui.outbound` has validated it and put it in order."""

    event: Any


@dataclass(slots=True)
class EncodedText:
    """Text of one message by an agent that speaks AG-UI itself: `TEXT_MESSAGE_CONTENT` events, each as the line of JSON
    that the gateway would write for it. Lines that need no change are sent as they are."""

    message_id: str
    lines: list[bytes]


@dataclass(frozen=True, slots=True)
class UserMessageAccepted:
    """The agent has taken up a user's message that reached it during the turn (`LiveTurn.steer`): a text message of the
    role `user`."""

    message_id: str
    text: str


@dataclass(frozen=True, slots=True)
class TokenUsage:
    """Tokens of one provider and model, added up over the run: `usage` of `RUN_FINISHED`. By AG-UI's accounting: totals
    include their parts."""

    provider: str | None = None
    model: str | None = None
    input_tokens: int | None = None
    output_tokens: int | None = None
    total_tokens: int | None = None
    reasoning_tokens: int | None = None
    cached_input_tokens: int | None = None
    cache_write_input_tokens: int | None = None


# -- what a turn waits for, and its end


@dataclass(frozen=True, slots=True)
class Interrupt:
    """One thing that the agent waits for: an entry of `outcome.interrupts` in `RUN_FINISHED`. `id` must be unique in
    the thread."""

    id: str
    reason: str
    message: str | None = None
    tool_call_id: str | None = None
    response_schema: dict[str, Any] | None = None
    expires_in: float | None = None
    """Seconds until the gateway answers it as `cancelled`; None: the gateway's default."""
    metadata: dict[str, Any] | None = None
    subagent: str | None = None


@dataclass(frozen=True, slots=True)
class InterruptRequested:
    """The turn waits for answers to these: `RUN_FINISHED` with the outcome `interrupt`. The turn stays parked until a
    run resumes it."""

    interrupts: tuple[Interrupt, ...]


@dataclass(frozen=True, slots=True)
class ClientToolCall:
    """A call of one of the client's own tools; `id` and `name` are those of its `ToolCallStart`."""

    id: str
    name: str
    subagent: str | None = None
    expires_in: float | None = None
    """Seconds until the gateway answers it as `cancelled`; None: the gateway's default."""


@dataclass(frozen=True, slots=True)
class ClientToolsCalled:
    """The turn waits for results of the client's own tools: `RUN_FINISHED` with these calls pending. The turn stays
    parked until a run brings the results, which come like answers, under the ids of the calls."""

    calls: tuple[ClientToolCall, ...]


@dataclass(frozen=True, slots=True)
class TurnEnded:
    """The turn is over: `RUN_FINISHED`. `interrupts` (AG-UI objects) are to be answered by a *new* turn."""

    stop_reason: str = "end_turn"
    result: Json = None
    interrupts: Sequence[dict[str, Any]] = ()


@dataclass(frozen=True, slots=True)
class TurnFailed:
    """The turn failed: `RUN_ERROR`. `code` is for programs, `message` for people."""

    message: str
    code: str = "AGENT_ERROR"


Event: TypeAlias = (
    TextMessageContent
    | TextMessageEnd
    | ReasoningMessageContent
    | ReasoningMessageEnd
    | ReasoningEncryptedValue
    | ToolCallStart
    | ToolCallArgs
    | ToolCallEnd
    | ToolCallResult
    | StateSnapshot
    | StateDelta
    | MessagesSnapshot
    | ActivitySnapshot
    | ActivityDelta
    | StepStarted
    | StepFinished
    | SubagentStarted
    | SubagentFinished
    | SubagentError
    | Custom
    | Raw
    | Warning
    | AguiEvent
    | EncodedText
    | InterruptRequested
    | ClientToolsCalled
    | UserMessageAccepted
    | TokenUsage
    | TurnEnded
    | TurnFailed
)
