"""The tables of an agent's file: `[command]`, `[acp]`, `[cli]`, `[remote]`, `[[install]]`, and so on.

In: the keys of one TOML table. Out: a frozen section, checked. The docstrings of the fields are the reference
documentation of the format: the JSON Schema and the manual are made from them. Times are seconds.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, field_validator

from gateway.catalog.capability_table import CapabilityTable
from gateway.catalog.field_types import CommandLine, Headers


class Section(BaseModel):
    """Base of all tables: frozen, and a key that it does not have is an error."""

    model_config = ConfigDict(frozen=True, extra="forbid", use_attribute_docstrings=True)


class Identity(Section):
    """What users see of the agent; shown as `identity` in its capabilities."""

    name: str
    """The agent's name, as users read it: `"Claude Code"`."""
    description: str | None = None
    """One sentence about what the agent is for."""
    provider: str | None = None
    """The company or project that makes the agent: `"Anthropic"`."""
    version: str | None = None
    """The agent's version, where it is fixed. Without it, the gateway runs `command.version`."""
    type: str | None = None
    """The framework behind the agent: `"pydantic-ai"`. Default: the name of the driver."""
    documentation_url: str | None = None
    """The address of the agent's documentation."""


class Mode(Section):
    """One mode of the agent, or one value of another setting of its sessions that changes what is true of them.

    A thread of a Python agent is in one of these modes, at first in the first. Other agents report their modes
    themselves: an entry adds to the one with its id what the agent does not report. An entry for a mode that the agent
    does not have changes nothing; so does a mode without an entry.
    """

    id: str = Field(pattern=r"^[A-Za-z0-9._:/#@+=-]{1,128}$")
    """The mode's id. A Python agent's function reads it as `turn.options.mode`. With `setting = "config"`: an option
    and its value, `"auto_approve=true"`."""
    setting: Literal["mode", "config", "permissions", "sandbox"] = "mode"
    """Which setting of a session has the id as its value: `custom.session.modes.current`, one of
    `custom.session.config`, `custom.session.permissions.mode` or `custom.session.permissions.sandbox`. Default: the
    mode."""
    name: str | None = None
    """The name that users see, where the agent reports none. Default: the id."""
    description: str | None = None
    """One sentence about what is different in this mode, where the agent reports none."""
    capabilities: CapabilityTable = Field(default_factory=dict)
    """Capabilities that differ while a session is in this mode. They are merged over the `[capabilities]` of the
    file, and over those of the settings before: mode, config, permissions, sandbox."""

    def to_json(self) -> dict[str, str]:
        """The mode as one of those that a session offers."""
        return self.model_dump(include={"id", "name", "description"}, exclude_none=True)


class Command(Section):
    """How the agent's process is started. Command lines are lists; no shell is involved."""

    run: CommandLine = Field(min_length=1)
    """The program and its arguments: `["gemini", "--acp"]`. With driver `cli`, `{agents}` stands for the directory of
    this file and `{cwd}` for the working directory of the session."""
    version: CommandLine = ()
    """A command that prints the agent's version: `["gemini", "--version"]`. The probe runs it."""
    env: dict[str, str] = Field(default_factory=dict)
    """Environment variables that are set for the process. Never put a secret here: name it in `inherit_env`."""
    inherit_env: tuple[str, ...] = ()
    """Names of environment variables that the process gets from the gateway's own environment: `["GEMINI_API_KEY"]`;
    `"AWS_*"` for all with that prefix, `"*"` for all. Others are withheld, except a few such as `PATH` and `HOME`."""


def _read_flag(value: Any) -> Any:
    """A plain list stands for `args`."""
    return {"args": value} if isinstance(value, list | tuple) else value


class FlagTable(Section):
    """What one option adds to the agent's command. `{name}` stands for a value; each option lists its names."""

    args: tuple[str, ...] = ()
    """Arguments that are appended: `["--model", "{model}"]`."""
    env: dict[str, str] = Field(default_factory=dict)
    """Environment variables that are set."""
    json_env: dict[str, str] = Field(default_factory=dict)
    """Environment variables that hold a JSON object: `{ AGENT_CONFIG = '{"skills": {json}}' }`. If the variable is set
    already, the object is merged into the one that it has."""


Flag = Annotated[FlagTable, BeforeValidator(_read_flag, json_schema_input_type=FlagTable | tuple[str, ...])]


class Acp(Section):
    """Driver `acp`: an agent that speaks the Agent Client Protocol (https://agentclientprotocol.com)."""

    protocol: Literal[1, 2] = 1
    """The protocol version that `initialize` requests. 2 is the draft; it is used only if the agent answers with 2."""
    fs: bool = False
    """Offer the client methods `fs/*`. The agent then reads and writes files through the gateway, which keeps it inside
    the workspace. Default: the agent accesses files itself."""
    terminal: bool = False
    """Offer the client methods `terminal/*`. The agent then runs commands through the gateway."""
    sessions_per_process: Literal["many", "one"] = "many"
    """How many sessions one process of the agent serves. With `one`, each thread gets a process of its own."""
    end_commands: bool = True
    """End the commands that a cancelled turn leaves running. `false`: the agent starts servers of its own during a
    turn, which must go on, and which the gateway cannot tell from commands."""
    auth_method: str | None = None
    """The id of the method to authenticate with when the agent requires it: `"gemini-api-key"`. Default: none; a run
    then fails with the agent's own message."""
    start_timeout: float = Field(default=60.0, gt=0)
    """Seconds within which the agent must answer `initialize`."""
    drain_seconds: float = Field(default=0.05, ge=0, le=10)
    """How long updates that arrive after the end of a turn still count as part of it, for agents that send their last
    updates late."""
    client_tools: Literal["per-turn", "per-session"] = "per-turn"
    """When the agent's model learns of the client's tools. `per-turn`: a change takes effect with the next turn.
    `per-session`: the model sees the tools with which the session was opened; after a change the gateway reopens it."""
    client_tools_server: Literal["agui", "unique"] = "agui"
    """The name of the MCP server by which the gateway serves the client's tools. `unique`: another name for every
    session, for agents that keep the servers of all their sessions in one table."""
    mcp_by_arguments: bool = False
    """The agent passes the configuration of MCP servers on by the arguments of a process, which every user of the
    machine can read. A server with headers, or with a key in its URL, is then refused."""
    usage_scope: Literal["turn", "session"] = "turn"
    """What the agent's token counts cover. With `session` they add up over all turns, and the gateway subtracts."""
    error_text_patterns: tuple[str, ...] = ()
    """Regular expressions. An answer in which one of them is found counts as a failed turn, for agents that report the
    failure of their model as text."""

    directory: Flag | None = None
    """The option `additionalDirectories`, for an agent that takes directories only in its command:
    `["--include-directories", "{path}"]`. Sessions with other directories then get a process of their own."""
    minute_file: str | None = None
    """For an agent that names the file of a session by the minute in which the session is opened, and empties the file
    when it loads the session in that same minute: the file's pattern, `"~/.agent/*/{minute}-{id}.jsonl"`. `{minute}`:
    in UTC, `2026-11-18T06-20`; `{id}`: the first eight characters of the session's id. While there is such a file of
    this minute, the gateway waits for the next minute before it loads the session."""


Platform = Literal["darwin", "linux", "win32"]


class Install(Section):
    """One way to install the agent. The gateway shows them in this order and never runs one without being asked."""

    kind: Literal[
        "npm", "uv", "pip", "brew", "shell", "powershell", "manual", "gh-extension", "curl", "winget", "scoop", "nix"
    ]
    """The installer."""
    package: str
    """The package's name; for `shell`, `powershell`, `curl` and `nix` the whole command; for `manual` a sentence."""
    version: str | None = None
    """The version with which this file was last verified."""
    platform: Platform | Literal["all"] = "all"
    """The platform on which this way works."""
    notes: str | None = None
    """What the user should know before: a runtime, the memory needed."""
    prerequisite_check: CommandLine = ()
    """A command that succeeds where the prerequisite is installed: `["node", "--version"]`."""


class Auth(Section):
    """One check of whether the user is signed in to the agent. The first check that succeeds is enough."""

    kind: Literal["env", "file", "command", "none"]
    """What is checked: an environment variable, a file, the exit code of a command; `none`: the agent needs no
    sign-in."""
    name: str | None = None
    """For `env` the variable: `"OPENAI_API_KEY"`. For `file` the path: `"~/.codex/auth.json"`."""
    run: CommandLine = ()
    """For `command`: a command that exits with 0 when the user is signed in."""
    timeout: float = Field(default=5.0, gt=0)
    """For `command`: seconds after which it counts as failed."""
    hint: str | None = None
    """What the user should do when no check succeeds: ``"run `codex login`"``."""
    login: CommandLine = ()
    """A command that signs the user in, at a terminal: `["codex", "login"]`. `agui-gateway login` runs it in the home
    directory of a principal."""


class Flags(Section):
    """The options of a run as arguments of the agent's command: `model = ["--model", "{model}"]`. An option that the
    dialect sends in the agent's protocol is not listed here."""

    model: Flag | None = None
    """The option `model`. `{model}`: the model's name for the agent."""
    mode: Flag | None = None
    """The option `mode`. `{mode}`: its id."""
    session_id: Flag | None = None
    """A new session. `{session}`: a UUID that the gateway chooses for it."""
    resume: Flag | None = None
    """A session that is continued. `{session}`: its id."""
    fork: Flag | None = None
    """A session that is continued in a copy. `{session}`: its id; `{new}`: a UUID for the copy."""
    directory: Flag | None = None
    """The option `additionalDirectories`. `{path}`: one directory; the flag is repeated for each."""
    mcp: Flag | None = None
    """The option `mcpServers`. `{file}`: the path of a file with `{"mcpServers": {name: {…}}}`, which only the user of
    the gateway can read; `{directory}`: a directory with only that file, `mcp.json`. `{json}`: this JSON itself, in an
    environment variable only: it has secrets in it, and every user of the machine can read the arguments of a
    process."""
    mcp_reserved: dict[Literal["any", "headers"], str] = Field(default_factory=dict)
    """Values of an MCP server that the agent would not take literally: it would replace a variable, or run a command. A
    regular expression for any value, and one for those of HTTP headers. A server with such a value is refused."""
    schema_: Flag | None = Field(default=None, alias="schema")
    """The option `outputSchema`. `{json}`: the JSON Schema of the answer; `{file}`: the path of a file with it."""
    max_turns: Flag | None = None
    """The option `maxTurns`. `{n}`: the number."""
    skill: Flag | None = None
    """The option `skills`; the flag is repeated for each skill. With `{path}`: loads the directory of a skill, which
    has its `SKILL.md`, or of several. With `{name}`: makes the agent use a skill that it has. What the flag does not
    take is put into the prompt: the instructions of a directory, the mention of a name (`skill_mention`)."""
    skills: Flag | None = None
    """The option `skills`, all directories at once. `{json}`: a JSON list of their paths."""
    media: Flag | None = None
    """Attachments of the prompt. `{path}`: one image or file, which the gateway has written there; the flag is repeated
    for each."""
    approvals: dict[Literal["prompt", "auto", "deny"], Flag] = Field(default_factory=dict)
    """The option `approvals`: for each policy what is added. `prompt` is the default policy."""
    thinking: dict[str, Flag] = Field(default_factory=dict)
    """Thinking parameters: for each parameter of `[effort]` what is added. `{value}`: its value."""

    @field_validator("mcp")
    @classmethod
    def _check_mcp(cls, flag: FlagTable | None) -> FlagTable | None:
        if flag is not None and any("{json}" in part for part in flag.args):
            raise ValueError("`{json}` would show secrets to every user of the machine; use `{file}`")
        return flag


class Cli(Section):
    """Driver `cli`: an agent with a protocol of its own on its command line or on a port."""

    dialect: str
    """The agent's protocol: a name in `gateway/wire/dialects`. `text` and `ag-ui` suit any program."""
    process: Literal["turn", "session", "agent"] = "session"
    """How long one process runs: for one turn, for one thread, or for all threads of the agent."""
    exclusive: bool = False
    """With `process = "agent"`: a second process cannot run beside the first. A turn that does not stop is then left
    running instead of being moved to a new process."""
    transport: Literal["stdio-lines", "stdio-raw", "stdio-frames", "stdio-whole", "http", "websocket"] = "stdio-lines"
    """How messages travel. `stdio-lines`: one message per line of stdout. `stdio-raw`: stdout as it arrives.
    `stdio-frames`: each message after a Content-Length header. `stdio-whole`: the whole output is one message. `http`:
    requests, and events as SSE. `websocket`: one message per frame. With the last two the process listens on a port of
    the loopback interface."""
    url: str | None = None
    """With `http` and `websocket`: the process's address, `"http://127.0.0.1:{port}"`. `{port}` is a free port and
    `{token}` a secret for this process. Both may also be used in the command: give the agent its token by a variable of
    the environment, because every user of the machine can read arguments."""
    health: str | None = None
    """With `http` and `websocket`: a URL that answers 200 when the process is ready."""
    events: str | None = None
    """With `http`: the path of the agent's server-sent events. `{cwd}` is the session's working directory."""
    flags: Flags = Field(default_factory=Flags)
    """The options of a run as arguments of the command."""
    client_tools: Literal["per-turn", "per-session"] = "per-turn"
    """When the agent accepts the client's tools. `per-session`: only when a session is opened; after a
    change the gateway reopens it."""
    cancel: Literal["SIGINT", "SIGTERM"] = "SIGINT"
    """The signal that cancels a turn where the protocol has no message for it; sent to the whole process group."""
    start_timeout: float = Field(default=60.0, gt=0)
    """Seconds within which the process must be ready for a prompt."""
    drain_seconds: float = Field(default=0.0, ge=0, le=10)
    """How long messages that arrive after the end of a turn still count as part of it."""
    error_text_patterns: tuple[str, ...] = ()
    """Regular expressions, passed to the dialect as a parameter. No bundled dialect uses them yet."""
    params: dict[str, Any] = Field(default_factory=dict)
    """Parameters of the dialect; its module documents them."""


Level = Literal["low", "medium", "high", "max"]


class Effort(Section):
    """How the options `effort` and `thinkingBudgetTokens` become parameters of the agent."""

    parameter: str | None = None
    """The agent's parameter that takes an effort level: `"reasoning_effort"`. `"model"`: the effort is a part of the
    model's name, and in `values` `{model}` stands for the name without it."""
    values: dict[Level, str | int] = Field(default_factory=dict)
    """For each level the parameter's value: `{ low = "low", max = "xhigh" }`. A level that is missing here is not
    offered."""
    budget_parameter: str | None = None
    """The agent's parameter that takes a number of thinking tokens."""
    budget_range: tuple[int, int] | None = None
    """The smallest and the largest number that it accepts, unless a model has its own `budget`."""
    override_parameters: tuple[str, ...] = ()
    """Further parameters that the option `thinkingOverride` may set. All others are refused, because they could be
    about permissions."""


class CircuitBreaker(Section):
    """When the gateway stops sending requests to an endpoint that fails."""

    failures: int = Field(default=5, gt=0)
    """Failures in a row after which the circuit opens and runs are refused."""
    cooldown: float = Field(default=15.0, gt=0)
    """Seconds until the next request is sent."""


class Remote(Section):
    """Driver `remote`: an agent behind an AG-UI endpoint, of another gateway or of any server."""

    url: str = Field(pattern=r"^https?://[^\s/]+")
    """The endpoint, which accepts `POST` with a RunAgentInput and answers with events. With `agents`: the base URL of
    another agui-gateway."""
    agents: Literal["*"] | tuple[str, ...] | None = None
    """Mounts agents of another agui-gateway: `"*"` for all, or a list of their ids. Each appears as `ID.THEIR-ID`.
    Default: `url` is a single agent."""
    capabilities: str | None = None
    """The URL of the agent's capabilities. Default: `url` + `/capabilities`; an empty string: the agent has none."""
    headers: Headers = Field(default_factory=dict)
    """HTTP headers of every request: `{ authorization = "Bearer {OTTER_TOKEN}" }`. `{NAME}` is replaced from the
    gateway's environment, so that no secret is in the file."""
    format: Literal["protobuf", "sse"] = "sse"
    """The format that the gateway requests; it reads whichever arrives. `protobuf` needs a third of the bytes, `sse` is
    read faster."""
    connect_timeout: float = Field(default=10.0, gt=0)
    """Seconds within which a connection must be open."""
    retries: int = Field(default=2, ge=0, le=10)
    """How often a request is repeated before its first byte arrives. After that it never is: the agent has started."""
    refresh: float = Field(default=30.0, gt=0)
    """Seconds after which capabilities, and the list of mounted agents, are read again."""
    circuit_breaker: CircuitBreaker = Field(default_factory=CircuitBreaker)
    """When requests are stopped for a while: `{ failures = 5, cooldown = 15 }`."""
