"""What an agent does, in the house's own words: the one vocabulary between `wire`, `drivers` and `agui`.

In: what a dialect, a protocol or an in-process agent reports. Out: a batch (a list) of these, read by
`agui.outbound`, which turns them into AG-UI events. Nothing here knows a wire format, a clock or an id scheme:
an id that is left out is made by `outbound`, and whatever is open is remembered there.

`subagent` is always the id of one invocation (`SubagentStarted.id`); None means the agent itself. The three deltas and
`AguiEvent` are not frozen: one is made for every token, and a frozen one takes five times as long to make. Nobody
changes them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

Json: TypeAlias = Any
"""Any JSON value."""

Wire: TypeAlias = dict[str, Any]
"""One AG-UI event exactly as its JSON object: camelCase keys, no key for what is absent."""

Layer: TypeAlias = Mapping[str, Any]
"""One party's word on capabilities: dotted AG-UI path → value (`{"multimodal.input.image": True}`)."""


@dataclass(slots=True)
class TextMessageContent:
    """Text of the answer. Without `message_id` it goes on with the message that is open, or opens a new one."""

    text: str
    message_id: str | None = None
    subagent: str | None = None
    role: str | None = None
    metadata: dict[str, Any] | None = None


@dataclass(frozen=True, slots=True)
class TextMessageEnd:
    """The message is complete. Optional: whatever must be closed is closed without it."""

    message_id: str | None = None
    subagent: str | None = None


@dataclass(slots=True)
class ReasoningMessageContent:
    """Visible thinking."""

    text: str
    message_id: str | None = None
    subagent: str | None = None
    metadata: dict[str, Any] | None = None


@dataclass(frozen=True, slots=True)
class ReasoningMessageEnd:
    """The reasoning message is complete. Optional, like `TextMessageEnd`."""

    message_id: str | None = None
    subagent: str | None = None


@dataclass(frozen=True, slots=True)
class ReasoningEncryptedValue:
    """An opaque value that a provider wants back with the message or the tool call it names."""

    subtype: Literal["message", "tool-call"]
    entity_id: str
    value: str
    subagent: str | None = None


@dataclass(frozen=True, slots=True)
class ToolCallStart:
    """A tool call begins. `message_id` names the assistant message it belongs to; left out, the current one."""

    id: str
    name: str
    message_id: str | None = None
    subagent: str | None = None
    metadata: dict[str, Any] | None = None


@dataclass(slots=True)
class ToolCallArgs:
    """A piece of the call's arguments, as JSON text."""

    id: str
    delta: str


@dataclass(frozen=True, slots=True)
class ToolCallEnd:
    """The arguments are complete; the tool may run now."""

    id: str
    metadata: dict[str, Any] | None = None


@dataclass(frozen=True, slots=True)
class ToolCallResult:
    """What the tool gave back: text, or AG-UI content parts."""

    id: str
    content: str | list[dict[str, Any]]
    message_id: str | None = None
    subagent: str | None = None
    metadata: dict[str, Any] | None = None


@dataclass(frozen=True, slots=True)
class StateSnapshot:
    """The shared state as a whole; it replaces what the client has."""

    snapshot: Json
    subagent: str | None = None


@dataclass(frozen=True, slots=True)
class StateDelta:
    """JSON Patch operations on the shared state."""

    delta: list[dict[str, Any]]
    subagent: str | None = None


@dataclass(frozen=True, slots=True)
class MessagesSnapshot:
    """The whole conversation, as AG-UI messages."""

    messages: list[dict[str, Any]]


@dataclass(frozen=True, slots=True)
class ActivitySnapshot:
    """Something shown beside the conversation (a plan, a search, live output); patched by `ActivityDelta`."""

    id: str
    type: str
    content: dict[str, Any]
    replace: bool = True
    subagent: str | None = None


@dataclass(frozen=True, slots=True)
class ActivityDelta:
    """JSON Patch operations on the content of an activity."""

    id: str
    type: str
    patch: list[dict[str, Any]]
    subagent: str | None = None


@dataclass(frozen=True, slots=True)
class StepStarted:
    """A named step of the work begins."""

    name: str
    subagent: str | None = None


@dataclass(frozen=True, slots=True)
class StepFinished:
    """The step of this name is over."""

    name: str
    subagent: str | None = None


@dataclass(frozen=True, slots=True)
class SubagentStarted:
    """A subagent begins. `id` names this invocation; its own events carry it as `subagent`."""

    id: str
    name: str
    description: str | None = None
    parent: str | None = None
    """The subagent that started this one."""
    tool_call_id: str | None = None
    message_id: str | None = None


@dataclass(frozen=True, slots=True)
class SubagentFinished:
    """The subagent is done."""

    id: str
    result: Json = None


@dataclass(frozen=True, slots=True)
class SubagentError:
    """The subagent failed; the agent itself goes on."""

    id: str
    message: str
    code: str | None = None


@dataclass(frozen=True, slots=True)
class Custom:
    """An event of the agent's own, which a frontend may know by its name."""

    name: str
    value: Json
    subagent: str | None = None


@dataclass(frozen=True, slots=True)
class Raw:
    """Something the reader did not understand: leaves the house as a RAW event, never dropped."""

    event: Json
    source: str | None = None


@dataclass(frozen=True, slots=True)
class Warning:
    """A wish that could not be met, or material that had to be left out: told to the client, once."""

    code: str
    message: str
    detail: dict[str, Any] = field(default_factory=dict)


@dataclass(slots=True)
class AguiEvent:
    """An AG-UI event by the agent itself, an official object or its JSON. Checked and put in order by `outbound`."""

    event: Any


@dataclass(slots=True)
class EncodedText:
    """Text of one message by an agent that speaks AG-UI itself: `TEXT_MESSAGE_CONTENT` events, each as the very line of
    JSON that the gateway would write for it. They go on as they are wherever nothing has to be changed."""

    message_id: str
    lines: list[bytes]


@dataclass(frozen=True, slots=True)
class Interrupt:
    """One thing the agent waits for. Becomes an AG-UI Interrupt; `id` must be unique in the thread."""

    id: str
    reason: str
    message: str | None = None
    tool_call_id: str | None = None
    response_schema: dict[str, Any] | None = None
    expires_in: float | None = None
    """Seconds until the question is answered `cancelled` by itself; None: the gateway's own bound."""
    metadata: dict[str, Any] | None = None
    subagent: str | None = None


@dataclass(frozen=True, slots=True)
class InterruptRequested:
    """The turn waits for answers to these. The run ends with an interrupt; the turn stays parked."""

    questions: tuple[Interrupt, ...]


@dataclass(frozen=True, slots=True)
class ClientToolCall:
    """A call of one of the client's own tools: `id` and `name` as its `ToolCallStart` told them."""

    id: str
    name: str
    subagent: str | None = None
    expires_in: float | None = None
    """Seconds until it is answered `cancelled` by itself; None: the gateway's own bound."""


@dataclass(frozen=True, slots=True)
class ClientToolsCalled:
    """The turn waits for what the client's own tools give back. The run ends well, with these calls pending; the turn
    stays parked until a run brings their results. They come as answers do, under the ids of the calls."""

    calls: tuple[ClientToolCall, ...]


@dataclass(frozen=True, slots=True)
class UserMessageAccepted:
    """The agent has taken up a message of the user's that reached it during the turn (`LiveTurn.steer`)."""

    message_id: str
    text: str


@dataclass(frozen=True, slots=True)
class TokenUsage:
    """Tokens of one (provider, model), by AG-UI's accounting: totals include their parts. Added up over the run."""

    provider: str | None = None
    model: str | None = None
    input_tokens: int | None = None
    output_tokens: int | None = None
    total_tokens: int | None = None
    reasoning_tokens: int | None = None
    cached_input_tokens: int | None = None
    cache_write_input_tokens: int | None = None


@dataclass(frozen=True, slots=True)
class TurnEnded:
    """The turn is over. `interrupts` (AG-UI objects) are questions that the agent wants answered by a *new* turn."""

    stop_reason: str = "end_turn"
    result: Json = None
    interrupts: Sequence[dict[str, Any]] = ()


@dataclass(frozen=True, slots=True)
class TurnFailed:
    """The turn failed. `code` is for programs, `message` for people."""

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
