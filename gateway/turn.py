"""A run's input, read and checked, without anything of HTTP.

In: what `agui.inbound` read of a `RunAgentInput` (https://docs.ag-ui.com/concepts/agents). Out: `Turn`, which drivers
and Python agents take.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

HOPS = "agui-gateway-hops"
"""The header in which gateways list the gateways that a run has passed."""

OnDisconnect = Literal["cancel", "continue"]
Approvals = Literal["prompt", "auto", "deny"]

NO_RESULT = "The application gave no result for this call."
"""The result of a call of the client's own tools that the client did not answer: for the agent, and in the thread."""
FEEDBACK_DROPPED = "FEEDBACK_DROPPED"
"""The code of the warning that the text with a user's answer did not reach the agent."""
UNREPORTED = "The agent ended its turn without a result for this call."
CANCELLED = "The turn was cancelled before this call had a result."
"""The results of the agent's own calls that never had one."""


@dataclass(frozen=True, slots=True)
class Options:
    """`forwardedProps.gateway`: the options of a run beyond `RunAgentInput`. None: the client did not set it."""

    model: str | None = None
    effort: str | None = None
    thinking_budget_tokens: int | None = None
    thinking_override: Mapping[str, Any] | None = None
    mode: str | None = None
    approvals: Approvals | None = None
    cwd: str | None = None
    additional_directories: tuple[str, ...] | None = None
    mcp_servers: tuple[Mapping[str, Any], ...] | None = None
    output_schema: Mapping[str, Any] | None = None
    output_format: Literal["text", "json"] | None = None
    max_turns: int | None = None
    stream: bool | Literal["auto"] | None = None
    """True: the run must stream token by token; None and `auto`: it streams if the agent can."""
    session_id: str | None = None
    fork_session_id: str | None = None
    skills: tuple[str, ...] | None = None
    on_disconnect: OnDisconnect | None = None
    worktree: bool | None = None
    """The thread works in a git worktree of its own; None: the agent's file or the setting decides."""
    strict: bool = False
    merge: bool | None = None
    """Join adjacent deltas that arrived together; None: the agent's definition decides."""
    merge_window_ms: float | None = None
    """Wait this long for more deltas to join; None: the agent's definition decides."""


TITLE_MAX_CHARS = 80


@dataclass(frozen=True, slots=True)
class Answer:
    """The user's answer to one interrupt, or a client tool's result. `payload` only when resolved."""

    interrupt_id: str
    status: Literal["resolved", "cancelled"]
    payload: Any = None


@dataclass(frozen=True, slots=True)
class Notice:
    """A part of the input that was left out or changed by the gateway."""

    code: str
    message: str
    pointer: str
    detail: Mapping[str, Any] = field(default_factory=dict)
    """Details for programs."""


@dataclass(frozen=True, slots=True)
class Turn:
    """One run's input. Messages, tools and context are AG-UI's own objects, in the current version's form."""

    thread_id: str
    run_id: str
    messages: list[dict[str, Any]] = field(default_factory=list)
    tools: list[dict[str, Any]] = field(default_factory=list)
    context: list[dict[str, Any]] = field(default_factory=list)
    state: Any = None
    forwarded_props: Any = None
    resume: tuple[Answer, ...] = ()
    parent_run_id: str | None = None
    protocol_version: str | None = None
    """None: the client is older than AG-UI 1.0."""
    options: Options = field(default_factory=Options)
    warnings: tuple[Notice, ...] = ()
    hops: tuple[str, ...] = ()
    """The gateways that the run has passed, this one last. A run must not pass one twice."""
    thinking: Mapping[str, Any] | None = None
    """The agent's own parameters for `effort`, `thinkingBudgetTokens` and `thinkingOverride`, for the model that the
    session has. None: they were not translated; then the driver does, by the agent's file."""

    @property
    def text(self) -> str:
        """The newest user message, its text parts joined."""
        for message in reversed(self.messages):
            if message["role"] == "user":
                return text_of(message["content"])
        return ""

    @property
    def parts(self) -> list[dict[str, Any]]:
        """The newest user message as content parts."""
        for message in reversed(self.messages):
            if message["role"] == "user":
                content = message["content"]
                return [{"type": "text", "text": content}] if isinstance(content, str) else list(content)
        return []

    @property
    def tool_results(self) -> dict[str, str]:
        """Results of the client's own tools since the last user or assistant message: tool call id → text."""
        results: dict[str, str] = {}
        for message in reversed(self.messages):
            if message["role"] != "tool":
                break
            results[message["toolCallId"]] = text_of(message["content"])
        return dict(reversed(results.items()))


def title_of(messages: Sequence[Mapping[str, Any]]) -> str | None:
    """The beginning of the first user message, for a list of threads; None: it has no text."""
    for message in messages:
        if message["role"] == "user" and (title := " ".join(text_of(message["content"])[:1000].split())):
            return title if len(title) <= TITLE_MAX_CHARS else f"{title[: TITLE_MAX_CHARS - 1]}…"
    return None


def tool_calls_of(message: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The calls of an assistant's message. Other roles have none: their schema does not know the key, so whatever a
    client puts there was not checked."""
    calls = message.get("toolCalls") if message["role"] == "assistant" else None
    return calls or []


def answered_call_of(message: Mapping[str, Any]) -> str | None:
    """The id of the call that a tool message answers. Other roles answer none."""
    return message.get("toolCallId") if message["role"] == "tool" else None


def text_of(content: str | list[dict[str, Any]]) -> str:
    """The text in a message's content."""
    if isinstance(content, str):
        return content
    return "\n".join(part["text"] for part in content if part.get("type") == "text")
