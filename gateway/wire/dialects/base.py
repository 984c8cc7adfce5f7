"""The seam of a dialect: one conversation with one agent in one format, without IO.

In: whole messages as the agent sent them, however they were framed (a line of stdout, a Content-Length frame, a
WebSocket message, an answer or an event over HTTP), and what the gateway wants. Out: events, and messages for the agent
in `outbox`, which whoever drives takes after every call. A dialect never waits, never fails on what it does not
understand (`Raw`), and never sends a yes that nobody gave.

Its life: `begin` once for a process; when `ready`, `prompt` and then `read` until `busy` is over, with `answer` for
what was `Asked` or `ClientToolsCalled`, and `cancel` at any moment; `closed` when the process is gone. One object
serves a thread for good: it is begun again with every new process, and keeps what it knows of the conversation.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

import orjson

from gateway.capability_paths import CWD
from gateway.errors import AgentFault
from gateway.events import Event, Raw, TurnEnded, Warning
from gateway.turn import Answer, Approvals

Block = dict[str, Any]
"""Content of a prompt, in ACP's words: `text`, `image`, `audio`, `resource`, `resource_link`."""

NOTHING: Mapping[str, Any] = {}


@dataclass(frozen=True, slots=True)
class Begin:
    """What a process is begun for."""

    cwd: str
    session_id: str | None = None
    """The agent's own id of the session to come back to; None: a new one."""
    fork: bool = False
    """Come back to a copy of it."""
    directories: tuple[str, ...] = ()
    mcp_servers: tuple[Mapping[str, Any], ...] = ()
    """As ACP writes them: `{"name", "command", "args", "env": [{"name", "value"}]}` or `{"type": "http", "url", …}`."""
    params: Mapping[str, Any] = field(default_factory=dict)
    """The definition's `[cli.params]`: what is particular about this agent, for the dialect to use or send as it is."""
    tag: str = "s"
    """Unique among the sessions that share the process: every request id begins with it."""
    tools: tuple[Mapping[str, Any], ...] = ()
    """The client's own, as AG-UI writes them: `{"name", "description", "parameters"}`. A prompt has them too."""


@dataclass(frozen=True, slots=True)
class Prompt:
    """One turn. What the definition says by arguments of the command is not in here twice: a dialect takes of the rest
    what its protocol has a word for."""

    blocks: Sequence[Block]
    key: str
    """Unique to the turn: every id that the dialect gives begins with it (`own`)."""
    model: str | None = None
    mode: str | None = None
    thinking: Mapping[str, Any] = field(default_factory=dict)
    """The agent's own parameters, translated from effort and budget by its definition."""
    approvals: Approvals = "prompt"
    """`auto`, `deny`: every question of the agent's is answered so at once, and none is asked of a human."""
    output_schema: Mapping[str, Any] | None = None
    max_turns: int | None = None
    skills: tuple[str, ...] = ()
    files: Mapping[int, str] = field(default_factory=dict)
    """Index of a block → the file that its bytes were written to, for an agent that takes files only."""
    tools: tuple[Mapping[str, Any], ...] = ()
    """The client's own, as `Begin` has them: those that this turn may call."""

    @property
    def text(self) -> str:
        """All text blocks, for a format that takes nothing else."""
        return "\n\n".join(block["text"] for block in self.blocks if block.get("type") == "text")


@dataclass(frozen=True, slots=True)
class Reply:
    """What came of `do`."""

    value: Any = None
    error: AgentFault | None = None


class Dialect:
    """Every dialect is one of these; what is not said otherwise is that nothing happens."""

    name: ClassVar[str]
    actions: ClassVar[frozenset[str]] = frozenset()
    """What `do` can: of `models`, `fork`, `set_model`, `set_mode`, `set_config`, `delete`."""

    serves_tools: ClassVar[bool] = False
    """Its agent can be offered the client's own tools: a call of one is told by `ClientToolsCalled`, and waits for
    `answer`. What came of it is told as any result; whoever has it from the client drops it."""

    steers: ClassVar[bool] = False
    """A message can be put into the turn under way: `steer`."""

    strays: ClassVar[bool] = False
    """Of a process that serves many: what `owner` says is for none of them is for everybody, and the dialect knows its
    own. For agents whose subagents have sessions that nobody was told of."""

    def __init__(self) -> None:
        self.outbox: list[bytes] = []
        """Messages for the agent, unframed and in order; emptied by the driver."""
        self.replies: dict[str, Reply] = {}
        """Ticket → what came of it; emptied by the driver."""
        self.session_id: str | None = None
        """The agent's own, once it is known."""
        self.ready = False
        """It takes a prompt."""
        self.failure: AgentFault | None = None
        """Why it will never be ready."""
        self.anew = False
        """The session that was to come back is gone, and this one knows nothing of it."""
        self.busy = False
        """A turn is under way: from `prompt` until the event that ended it was read."""
        self.cancelled = False
        """…and was told to stop."""
        self.facts: dict[str, Any] = {}
        """The session layer: dotted AG-UI path → what this session has and is set to."""
        self.handshake_layer: dict[str, Any] = {}
        """The handshake layer, likewise: what holds for every session of the agent."""
        self.given = Begin("")
        self.turn = Prompt((), "")

    # -- driven by the gateway

    def begin(self, begin: Begin) -> None:
        """A process stands ready. What must be said first goes to `outbox`; it is `ready` at once if nothing must."""
        self.given, self.ready, self.busy, self.failure, self.anew = begin, True, False, None, False
        self.facts |= {CWD: begin.cwd} if begin.cwd else {}

    def prompt(self, prompt: Prompt) -> None:
        raise NotImplementedError

    def read(self, messages: Sequence[bytes]) -> list[Event]:
        """What these mean; one call for all that came together. A turn's end is `TurnEnded` or `TurnFailed`, and clears
        `busy`; what comes after it belongs to the next turn."""
        raise NotImplementedError

    def answer(self, question_id: str, answer: Answer) -> None:
        """To one question of an `Asked`, or with what one call of a `ClientToolsCalled` gave back: AG-UI's `tool`
        message is the payload then. `cancelled` approves of nothing, and is no result."""

    def steer(self, message_id: str, text: str) -> bool:
        """Words of the user's for the turn under way. `UserMessageAccepted` is read once the agent has taken them up; a
        turn must not end with words that its agent still holds and would act upon later. False: not now, and nothing
        was sent."""
        return False

    def cancel(self) -> bool:
        """Stop the turn in the agent's own way. False: it has none, and is sent a signal instead. The turn then ends
        like any other, by `read` or `closed`, with `TurnEnded("cancelled")`."""
        self.cancelled = True
        return False

    def do(self, action: str, params: Mapping[str, Any] = NOTHING) -> str:
        """One of `actions`: its ticket; `replies` has what came of it, sooner or later."""
        raise NotImplementedError

    def leave(self) -> None:
        """The session leaves a process that others go on with: what frees it there goes to `outbox`. It can be brought
        back."""

    def closed(self, exit_code: int | None, stderr: str) -> list[Event]:
        """The agent's output is at its end. What is left to say of the turn; if that does not end it, the driver does,
        as `AGENT_DIED`. Exit codes lie: a dialect that knows better says what really happened."""
        self.ready = False
        return self.end("cancelled") if self.busy and self.cancelled else []

    @classmethod
    def owner(cls, message: bytes) -> str | None:
        """Of a process that serves many: the `session_id` or `tag` that the message is for; None: for everybody."""
        return None

    # -- for dialects

    def send(self, message: Any) -> None:
        self.outbox.append(orjson.dumps(message))

    def own(self, agents_id: str) -> str:
        """An id of the agent's, made unique in the thread: many count from one in every turn."""
        return f"{self.turn.key}:{agents_id}"

    def start_turn(self, prompt: Prompt) -> None:
        self.turn, self.busy, self.cancelled = prompt, True, False

    def end(self, stop_reason: str = "end_turn", result: Any = None) -> list[Event]:
        self.busy = False
        return [TurnEnded("cancelled" if self.cancelled else stop_reason, result)]

    def unread(self, message: Any) -> Raw:
        return Raw(message, self.name)

    def warned(self, code: str, message: str, **detail: Any) -> Warning:
        return Warning(code, message, detail)


def parsed(message: bytes) -> Any:
    """The JSON; None for a line that is none, which many agents print now and then."""
    try:
        return orjson.loads(message)
    except orjson.JSONDecodeError:
        return None
