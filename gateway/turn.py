"""What a run asks of an agent: the client's input, read and checked, with nothing of HTTP left in it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

HOPS = "agui-gateway-hops"
"""The header by which gateways tell each other through whom a run has come."""

OnDisconnect = Literal["cancel", "continue"]
Approvals = Literal["prompt", "auto", "deny"]

NO_RESULT = "The application gave no result for this call."
"""Told of a call of the client's own tools that nobody answered: to the agent, and in the conversation."""
UNREPORTED = "The agent ended its turn without a result for this call."
CANCELLED = "The turn was cancelled before this call had a result."
"""Told of calls of the agent's own that never had a result."""


@dataclass(frozen=True, slots=True)
class Options:
    """`forwardedProps.gateway`: what a run may ask beyond `RunAgentInput`. None means not asked."""

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
    """True: token by token or not at all; None and `auto`: as the agent can, whole where it cannot."""
    session_id: str | None = None
    fork_session_id: str | None = None
    skills: tuple[str, ...] | None = None
    on_disconnect: OnDisconnect | None = None
    strict: bool = False
    merge: bool | None = None
    """Join adjacent deltas that arrived together; None: as the agent's definition says."""
    merge_window_ms: float | None = None
    """Wait this long for more to join; None: as the agent's definition says."""


TITLE_CHARS = 80


@dataclass(frozen=True, slots=True)
class Answer:
    """A human's answer to one question. `payload` only when resolved."""

    interrupt_id: str
    status: Literal["resolved", "cancelled"]
    payload: Any = None


@dataclass(frozen=True, slots=True)
class Notice:
    """Something of the input that was left out or changed on the way in."""

    code: str
    message: str
    pointer: str
    detail: Mapping[str, Any] = field(default_factory=dict)
    """What programs need of it."""


@dataclass(frozen=True, slots=True)
class Turn:
    """One run's input. Messages, tools and context are AG-UI's own objects, in today's shape."""

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
    """None: a client from before AG-UI 1.0."""
    options: Options = field(default_factory=Options)
    warnings: tuple[Notice, ...] = ()
    hops: tuple[str, ...] = ()
    """The gateways that it came through, this one last: none must be met twice."""

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
        """Answers of the client's own tools since the last user or assistant word: tool call id → text."""
        found: dict[str, str] = {}
        for message in reversed(self.messages):
            if message["role"] != "tool":
                break
            found[message["toolCallId"]] = text_of(message["content"])
        return dict(reversed(found.items()))


def title_of(messages: Sequence[Mapping[str, Any]]) -> str | None:
    """The first words that a user says, for a list of conversations; None: only pictures, or nothing."""
    for message in messages:
        if message["role"] == "user" and (words := " ".join(text_of(message["content"])[:1000].split())):
            return words if len(words) <= TITLE_CHARS else f"{words[: TITLE_CHARS - 1]}…"
    return None


def text_of(content: str | list[dict[str, Any]]) -> str:
    """The text in a message's content."""
    if isinstance(content, str):
        return content
    return "\n".join(part["text"] for part in content if part.get("type") == "text")
