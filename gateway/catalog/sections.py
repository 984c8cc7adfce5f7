"""The tables of an agent's file. The field docstrings are the format's manual."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field

from gateway.catalog.capability_table import CapabilityTable
from gateway.catalog.field_types import CommandLine, Headers, OptionNames


class Section(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", use_attribute_docstrings=True)


class Identity(Section):
    name: str
    """Shown to people."""
    description: str | None = None
    """What it is for, in one sentence."""
    provider: str | None = None
    """Who makes it."""
    version: str | None = None
    """Only where it is fixed; else it is asked."""
    type: str | None = None
    """The framework behind it; left out: the driver's name."""
    documentation_url: str | None = None


class Mode(Section):
    """One of the ways in which an agent of this process may work. A thread is in one at a time."""

    id: str = Field(pattern=r"^[A-Za-z0-9._-]{1,64}$")
    """What the function is told as `turn.options.mode`."""
    name: str | None = None
    """Shown to people; left out: the id."""
    description: str | None = None
    """What is particular about it, in one sentence."""
    capabilities: CapabilityTable = Field(default_factory=dict)
    """What differs in this mode, laid over the definition's own."""

    def to_json(self) -> dict[str, str]:
        """As one of those that a session can be set to."""
        return self.model_dump(include={"id", "name", "description"}, exclude_none=True)


class Command(Section):
    """How an agent's process is started. Lists, never a shell."""

    run: CommandLine = Field(min_length=1)
    """The program and its arguments. cli: `{agents}` is the folder of this file, `{cwd}` the session's."""
    version: CommandLine = ()
    """Prints the version; asked by the probe."""
    env: dict[str, str] = Field(default_factory=dict)
    """Added to the trimmed environment."""
    inherit_env: tuple[str, ...] = ()
    """Names passed on from the gateway's own environment; `PREFIX_*` for a family. Values never live here."""


class Acp(Section):
    """What is particular about an agent that speaks ACP."""

    protocol: Literal[1, 2] = 1
    """2 asks for the draft; it is spoken only if the answer really is of that version."""
    fs: bool = False
    """Offer it `fs/*`. Agents do their own file work; offered, it goes through the gateway, inside the workspace."""
    terminal: bool = False
    """Offer it `terminal/*`."""
    sessions: Literal["many", "one"] = "many"
    """Sessions that one process may serve."""
    auth: str | None = None
    """The method to authenticate with when the agent asks for it."""
    start_timeout: float = Field(default=60.0, gt=0)
    """Seconds until `initialize` must be answered."""
    drain_seconds: float = Field(default=0.05, ge=0, le=10)
    """Seconds after the end of a turn in which what still comes belongs to it."""
    tools: Literal["follow", "begin"] = "follow"
    """When its model sees the client's own tools: `begin`: those that a session began with, whatever it asks later."""
    usage_covers: Literal["turn", "session"] = "turn"
    """What its token counts are about; `session`: they add up over all turns."""
    error_text_patterns: tuple[str, ...] = ()
    """Patterns of answers that are a model's failure in disguise."""


Platform = Literal["darwin", "linux", "win32"]


class Install(Section):
    """One way to get the agent; offered in order, never run unasked."""

    kind: Literal["npm", "uv", "pip", "brew", "shell", "manual", "gh-extension", "curl", "winget", "scoop", "nix"]
    package: str
    """Package name, or the command for `shell`, `curl` and `nix`, or a sentence for `manual`."""
    version: str | None = None
    """The version that was tried last."""
    platform: Platform | Literal["all"] = "all"
    notes: str | None = None
    """What one should know before: a runtime, memory."""
    needs: CommandLine = ()
    """A command that succeeds where the prerequisite is there: `["node", "--version"]`."""


class Auth(Section):
    """A sign that somebody is signed in; the first that holds is enough."""

    kind: Literal["env", "file", "command", "none"]
    name: str | None = None
    """`env`: the variable. `file`: the path; `~` is the home."""
    run: CommandLine = ()
    """`command`: exits 0 when signed in."""
    timeout: float = Field(default=5.0, gt=0)
    hint: str | None = None
    """What to do when no sign holds."""


def _flag(value: Any) -> Any:
    """A plain list is arguments."""
    return {"args": value} if isinstance(value, list | tuple) else value


class FlagTable(Section):
    """What a wish adds to the command. `{name}` stands for a value; which names there are, each wish says."""

    args: tuple[str, ...] = ()
    env: dict[str, str] = Field(default_factory=dict)


Flag = Annotated[FlagTable, BeforeValidator(_flag, json_schema_input_type=FlagTable | tuple[str, ...])]


class Flags(Section):
    """What a run may wish for, as arguments of the command: `model = ["--model", "{model}"]`. A wish that the dialect
    itself carries out in its protocol is not listed here."""

    model: Flag | None = None
    """`{model}`"""
    mode: Flag | None = None
    """`{mode}`"""
    session_id: Flag | None = None
    """`{session}`: a UUID for a new session, chosen by the gateway."""
    resume: Flag | None = None
    """`{session}`: to come back to."""
    fork: Flag | None = None
    """`{session}`: to come back to a copy of; `{new}`: a UUID for the copy."""
    directory: Flag | None = None
    """`{path}`, once for each additional directory."""
    mcp: Flag | None = None
    """`{json}`: `{"mcpServers": {name: {…}}}`; `{file}`: the path of a file with it."""
    schema_: Flag | None = Field(default=None, alias="schema")
    """`{json}` or `{file}`: the JSON Schema that the answer must fit."""
    max_turns: Flag | None = None
    """`{n}`"""
    skill: Flag | None = None
    """`{name}`, once for each."""
    media: Flag | None = None
    """`{path}`, once for each image or file of the prompt, which is written there first."""
    approvals: dict[Literal["prompt", "auto", "deny"], Flag] = Field(default_factory=dict)
    """Who decides about the agent's tools; `prompt` is the default."""
    thinking: dict[str, Flag] = Field(default_factory=dict)
    """The agent's own parameter (as in `[effort]`) → `{value}`."""


class Cli(Section):
    """What is particular about a command-line agent."""

    dialect: str
    """Its format: a name in `gateway/wire/dialects`."""
    process: Literal["turn", "session", "agent"] = "session"
    """How long one process serves: one turn, one thread, or all threads."""
    exclusive: bool = False
    """agent: no second process can work beside the first, so a turn that will not stop is left to it."""
    transport: Literal["stdio-lines", "stdio-raw", "stdio-frames", "stdio-whole", "http", "websocket"] = "stdio-lines"
    """How messages are framed: `lines` of stdout, stdout `raw` as it comes, `frames` with a Content-Length, the `whole`
    stdout as one message, events and calls over `http`, a `websocket`. For the last two the process listens on a port
    of loopback."""
    url: str | None = None
    """http, websocket: where it listens. `{port}` is a free port, `{token}` a secret made for it; both may stand in the
    command's arguments and environment too."""
    health: str | None = None
    """http, websocket: the URL that answers 200 when it is ready to be talked to."""
    events: str | None = None
    """http: the path of its server-sent events; `{cwd}` is the session's directory."""
    flags: Flags = Field(default_factory=Flags)
    cancel: Literal["SIGINT", "SIGTERM"] = "SIGINT"
    """The signal that stops a turn where the dialect has no word for it; sent to the whole process group."""
    start_timeout: float = Field(default=60.0, gt=0)
    """Seconds until it must be ready for a prompt."""
    drain_seconds: float = Field(default=0.0, ge=0, le=10)
    """Seconds after the end of a turn in which what still comes belongs to it."""
    error_text_patterns: tuple[str, ...] = ()
    """Patterns of answers that are a model's failure in disguise."""
    params: dict[str, Any] = Field(default_factory=dict)
    """For the dialect: what it says of them."""


Level = Literal["low", "medium", "high", "max"]


class Effort(Section):
    """The gateway's words for thinking → the agent's own."""

    parameter: str | None = None
    """The agent's parameter that takes a level."""
    values: dict[Level, str | int] = Field(default_factory=dict)
    """Level → what the parameter is set to. A level that is not here is not offered."""
    budget: str | None = None
    """The agent's parameter that takes a number of tokens."""
    budget_range: tuple[int, int] | None = None
    """The numbers it takes, where no model says otherwise."""
    parameters: tuple[str, ...] = ()
    """Further parameters that `thinkingOverride` may set. Any other is refused: it could be one about permissions."""


class CircuitBreaker(Section):
    """When an endpoint that fails is left alone for a while."""

    failures: int = Field(default=5, gt=0)
    """Failures in a row that open the circuit."""
    cooldown: float = Field(default=15.0, gt=0)
    """Seconds until the next request is sent."""


class Remote(Section):
    """An agent that is reached by AG-UI itself: another gateway's, or any HTTP endpoint."""

    url: str = Field(pattern=r"^https?://[^\s/]+")
    """Takes `POST` with a RunAgentInput, gives events. With `agents`: where another agui-gateway is."""
    agents: Literal["*"] | tuple[str, ...] | None = None
    """Mounts another agui-gateway: all of its agents, or these, each as `ID.THEIRS`."""
    capabilities: str | None = None
    """Where its capabilities are; left out: the URL and `/capabilities`. An empty string: it tells none."""
    headers: Headers = Field(default_factory=dict)
    """Sent with every request. `{NAME}` is taken from the gateway's environment: values never live here."""
    format: Literal["protobuf", "sse"] = "sse"
    """Asked for; whichever really comes is read. `protobuf` is a third of the bytes, `sse` is read faster."""
    connect_timeout: float = Field(default=10.0, gt=0)
    retries: int = Field(default=2, ge=0, le=10)
    """Further tries before the first byte; after it there is none, for the agent has begun."""
    refresh: float = Field(default=30.0, gt=0)
    """Seconds after which its capabilities, and a mounted gateway's agents, are asked for again."""
    circuit_breaker: CircuitBreaker = Field(default_factory=CircuitBreaker)


class Fallback(Section):
    """A further way in, tried when those before it cannot be had."""

    name: str = Field(pattern=r"^[a-z0-9-]+$")
    driver: Literal["acp", "cli"]
    command: Command
    acp: Acp = Field(default_factory=Acp)
    cli: Cli | None = None
    options: OptionNames | None = None
    """The wishes that it takes; left out: as the first way."""
    capabilities: CapabilityTable = Field(default_factory=dict)
    """What differs through it, laid over the definition's own."""
