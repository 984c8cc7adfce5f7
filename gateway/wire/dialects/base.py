"""The seam that every dialect implements: one conversation with one agent in that agent's own format, without IO.

In: whole messages as the agent sent them, already cut out of their framing (a line of stdout, a Content-Length frame, a
WebSocket message, an HTTP response or event), and calls by the gateway's CLI driver. Out: events (`gateway.events`),
returned by `read` and `on_process_exit`, and messages for the agent in `outbox`, which the driver empties after every
call. Never: a dialect does not wait, does not read a clock, does not raise on foreign input (what it does not
understand becomes `Raw`), and does not approve anything that the user or the run's policy did not approve.

The order of calls:

1. `start_session(SessionStart)`, once for each process. The dialect puts its handshake in `outbox` and sets `is_ready`
   when the agent takes a prompt (at once if the format has no handshake), or `failure` when it never will.
2. `prompt(Prompt)`, when `is_ready`. It calls `start_turn`, which sets `is_busy`, and puts the request in `outbox`.
3. `read(messages)`, as often as the agent sends something. The event that ends the turn is `TurnEnded` (`end_turn`) or
   `TurnFailed`; the dialect clears `is_busy` with it.
4. Between 2 and the end of the turn: `answer` for each interrupt of an `InterruptRequested` and each call of a
   `ClientToolsCalled`; `steer` for a message of the user's during the turn; `cancel` at any moment.
5. `start_action` for what is not a turn: list models, set the mode, copy the session. The result is put in
   `action_results`.
6. `release_session`, when the session leaves a process that other sessions go on using.
7. `on_process_exit`, when the process has ended or its output is closed.

One object serves one thread for its whole life. A new process means a new `start_session` on the same object, which
keeps what it knows about the conversation (`session_id`, `session_layer`).

Only `prompt` and `read` must be written. Shared parts for them: `wire/fields` (reading foreign JSON), `wire/requests`
(requests and their responses), `wire/tool_calls`, `wire/text_parts`, `wire/approvals`, `wire/client_tools`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal

from gateway.capability_paths import CWD
from gateway.errors import AgentFault, NotJson
from gateway.events import Event, Raw, TurnEnded, TurnFailed, Warning
from gateway.jsonio import dumps, loads
from gateway.turn import Answer, Approvals
from gateway.wire.fields import MESSAGE_MAX_DEPTH

Block = dict[str, Any]
"""One content block of a prompt, in ACP's shape: `text`, `image`, `audio`, `resource`, `resource_link`.
https://agentclientprotocol.com/protocol/content"""

NO_PARAMS: Mapping[str, Any] = {}


@dataclass(frozen=True, slots=True)
class SessionStart:
    """What a process is started for: one session of the agent, new, resumed or copied."""

    cwd: str
    session_id: str | None = None
    """The agent's own id of the session to resume; None: a new session."""
    fork: bool = False
    """Continue in a copy of `session_id`; the original stays as it is."""
    directories: tuple[str, ...] = ()
    """Additional directories that the agent may work in."""
    mcp_servers: tuple[Mapping[str, Any], ...] = ()
    """In ACP's shape: `{"name", "command", "args", "env": [{"name", "value"}]}` or `{"type": "http", "url", …}`.
    https://agentclientprotocol.com/protocol/session-setup"""
    params: Mapping[str, Any] = field(default_factory=dict)
    """`[cli.params]` of the agent's TOML file, and what the driver made for this process (its port, its token). The
    dialect decides what each key means."""
    tag: str = "s"
    """Unique among the sessions that share a process. Every request id begins with it, so that `read_owner` can find
    the session that a response is for."""
    tools: tuple[Mapping[str, Any], ...] = ()
    """The client's tools as AG-UI writes them: `{"name", "description", "parameters"}`. Empty unless
    `can_call_client_tools`. Each `Prompt` has the tools of its turn as well."""
    skills: tuple[str, ...] = ()
    """Directories of skills to load. Empty unless the dialect has a `skill_scope`."""


@dataclass(frozen=True, slots=True)
class Prompt:
    """The input of one turn.

    An option that the agent's TOML file turns into a command-line flag is not repeated here. A dialect uses those of
    the remaining options that its protocol can express and ignores the others; the capability profile in the TOML file
    must agree with that choice.
    """

    blocks: Sequence[Block]
    id_prefix: str
    """Unique to the turn. Every id in the turn's events begins with it (`qualify_id`)."""
    model: str | None = None
    mode: str | None = None
    thinking: Mapping[str, Any] = field(default_factory=dict)
    """The agent's own parameters for reasoning, translated from effort and token budget by its TOML file."""
    approvals: Approvals = "prompt"
    """`auto` and `deny`: the dialect answers every approval request itself. `prompt`: it asks the user through
    `InterruptRequested`. See `wire/approvals`."""
    output_schema: Mapping[str, Any] | None = None
    max_turns: int | None = None
    skills: tuple[str, ...] = ()
    """Names of the agent's own skills that the turn uses, for a dialect that `can_use_skills`."""
    files: Mapping[int, str] = field(default_factory=dict)
    """Index of a block → path of the file that holds its bytes, for agents that take media only as files."""
    tools: tuple[Mapping[str, Any], ...] = ()
    """The client's tools that this turn may call, in the shape of `SessionStart.tools`."""

    @property
    def text(self) -> str:
        """All text blocks, for a format that takes text only."""
        return "\n\n".join(block["text"] for block in self.blocks if block.get("type") == "text")


@dataclass(frozen=True, slots=True)
class ActionResult:
    """The outcome of one `start_action`: a value, or an error."""

    value: Any = None
    error: AgentFault | None = None


class Dialect:
    """Base class of all dialects. The defaults are those of an agent that can do nothing but answer prompts."""

    name: ClassVar[str]
    """The name in `DIALECTS` and in the TOML file's `dialect`; the `source` of `Raw` events."""

    actions: ClassVar[frozenset[str]] = frozenset()
    """What `start_action` takes, out of `models`, `fork`, `set_model`, `set_mode`, `set_config`, `delete`."""

    can_call_client_tools: ClassVar[bool] = False
    """The agent can be offered the client's tools. A call of one is reported by `ClientToolsCalled` and waits for
    `answer`. Its result is reported like any other tool result; the driver drops it where the client has it already."""

    can_steer: ClassVar[bool] = False
    """`steer` can add a message of the user's to the turn under way."""

    skill_scope: ClassVar[Literal["session", "process"] | None] = None
    """The dialect loads the directories of skills (`SessionStart.skills`): for the session, or for all sessions of the
    process, which then has only sessions with the same skills. None: the driver brings skills by flags or in the
    prompt."""

    can_use_skills: ClassVar[bool] = False
    """The dialect makes the agent use the skills that a prompt names. False: the prompt's text mentions them."""

    can_ask: ClassVar[bool] = False
    """The agent can ask the user: `read` may return `InterruptRequested`, which waits for `answer`."""

    takes_feedback: ClassVar[bool] = False
    """The text that a user gives with a denial reaches the agent."""

    sends_state: ClassVar[bool] = False
    """The agent may send AG-UI's state events."""

    has_unlisted_sessions: ClassVar[bool] = False
    """The agent opens sessions that the gateway did not ask for (those of its subagents). In a process that serves
    several sessions, a message whose owner is unknown then goes to every dialect, and each must recognise its own."""

    def __init__(self) -> None:
        self.outbox: list[bytes] = []
        """Messages for the agent, without framing, in order. The driver empties it."""
        self.action_results: dict[str, ActionResult] = {}
        """Action id → outcome. The driver removes each."""
        self.session_id: str | None = None
        """The agent's own id of the session, once known. The gateway stores it to resume the session later."""
        self.is_ready = False
        """The agent takes a prompt."""
        self.failure: AgentFault | None = None
        """Why `is_ready` will never become true in this process. Code `SESSION_NOT_FOUND` makes the driver start again
        with a new session and send the whole conversation."""
        self.has_lost_history = False
        """The session could not be resumed and the agent started an empty one instead: the driver sends the whole
        conversation with the next prompt."""
        self.is_busy = False
        """A turn is under way: from `prompt` until the event that ends it was read."""
        self.is_cancelled = False
        """`cancel` was called during the current turn."""
        self.session_layer: dict[str, Any] = {}
        """Dotted capability path → value: what this session has and is set to (`gateway.capability_paths`)."""
        self.handshake_layer: dict[str, Any] = {}
        """Dotted capability path → value: what holds for every session of the agent."""
        self.session_start = SessionStart("")
        """The argument of the latest `start_session`."""
        self.turn = Prompt((), "")
        """The prompt of the current turn, or of the latest one."""

    # -- called by the driver

    def start_session(self, start: SessionStart) -> None:
        """A process has been started, or a shared one joined.

        Overrides call this first. A format with a handshake then sets `is_ready` to False, sends its first request, and
        sets `is_ready` when the agent has answered.
        """
        self.session_start = start
        self.is_ready = True
        self.is_busy = False
        self.failure = None
        self.has_lost_history = False
        if start.cwd:
            self.session_layer[CWD] = start.cwd

    def prompt(self, prompt: Prompt) -> None:
        """Start a turn: call `start_turn(prompt)`, then send the prompt. Only called when `is_ready` and not
        `is_busy`."""
        raise NotImplementedError

    def read(self, messages: Sequence[bytes]) -> list[Event]:
        """Turn the agent's messages into events. One call has all messages that arrived together.

        The end of the turn is `TurnEnded` or `TurnFailed`, and clears `is_busy`; what follows it belongs to the next
        turn. A message that is not understood becomes `to_raw(message)`. Never raises, whatever the bytes.
        """
        raise NotImplementedError

    def answer(self, interrupt_id: str, answer: Answer) -> None:
        """The user's answer to one interrupt, or the client's result of one tool call (`interrupt_id` is then the id of
        the `ClientToolCall`, and the payload AG-UI's `tool` message). An answer that is `cancelled` approves nothing
        and is no result."""

    def steer(self, message_id: str, text: str) -> bool:
        """Add a message of the user's to the turn under way. False: not possible now, and nothing was sent.

        After True, `read` returns `UserMessageAccepted(message_id)` once the agent has taken the message up. The turn
        must not end while the agent holds a message that it would act upon later.
        """
        return False

    def cancel(self) -> bool:
        """Stop the turn in the agent's own way. False: the format has none, and the driver signals the process.

        The turn then ends like any other, in `read` or `on_process_exit`, with `TurnEnded("cancelled")`.
        """
        self.is_cancelled = True
        return False

    def start_action(self, action: str, params: Mapping[str, Any] = NO_PARAMS) -> str:
        """Start one of `actions`. Returns the action's id; `action_results` has the outcome under it, now or later."""
        raise ValueError(f"{self.name} has no action {action!r}")

    def release_session(self) -> None:
        """The session leaves a process that other sessions go on using. Send what frees it in the agent; the session
        can be resumed later."""

    def on_process_exit(self, exit_code: int | None, stderr: str) -> list[Event]:
        """The process has ended. Returns the remaining events of the turn.

        If they do not end the turn, the driver fails it with `AGENT_DIED`. Exit codes are often wrong: a dialect that
        has read the real outcome reports that one.
        """
        self.is_ready = False
        return self.end_turn("cancelled") if self.is_busy and self.is_cancelled else []

    @classmethod
    def list_modes(cls, params: Mapping[str, Any]) -> list[dict[str, Any]]:
        """The modes that every session can be set to, as a session lists them: `id`, `name`, `description`. `params`:
        `[cli.params]` of the agent's file. Empty: only a session knows, or there are none."""
        return []

    @classmethod
    def read_owner(cls, message: bytes) -> str | None:
        """In a process that serves several sessions: the `session_id` or `tag` that a message is for; None: all."""
        return None

    # -- for subclasses

    def send(self, message: Any) -> None:
        """Put a JSON message in `outbox`."""
        self.outbox.append(dumps(message))

    def send_text(self, message: str) -> None:
        """Put a plain text in `outbox`, for agents that read their prompt from stdin."""
        self.outbox.append(message.encode("utf-8", "replace"))

    def qualify_id(self, native_id: str) -> str:
        """An agent's id, made unique in the thread: many agents count from one in every turn."""
        return f"{self.turn.id_prefix}:{native_id}"

    def start_turn(self, prompt: Prompt) -> None:
        self.turn = prompt
        self.is_busy = True
        self.is_cancelled = False

    def end_turn(self, stop_reason: str = "end_turn", result: Any = None) -> list[Event]:
        """The event that ends the turn. A turn that was cancelled ends as `cancelled`, whatever the agent reports."""
        self.is_busy = False
        return [TurnEnded("cancelled" if self.is_cancelled else stop_reason, result)]

    def fail_turn(self, failure: TurnFailed) -> list[Event]:
        """The event that fails the turn."""
        self.is_busy = False
        return [failure]

    def finish_action(self, action_id: str, value: Any = None, error: AgentFault | None = None) -> None:
        """The outcome of a `start_action`."""
        self.action_results[action_id] = ActionResult(error=error) if error is not None else ActionResult(value)

    def to_raw(self, message: Any) -> Raw:
        """The event for a message that this dialect does not understand."""
        return Raw(message, self.name)

    def make_warning(self, code: str, message: str, **detail: Any) -> Warning:
        return Warning(code, message, detail)


def parse_message(message: bytes) -> Any:
    """The message as JSON; None if it is not JSON, or nested so deep that the gateway could not pass it on. Many agents
    print other lines now and then."""
    try:
        return loads(message, MESSAGE_MAX_DEPTH)
    except NotJson:
        return None
