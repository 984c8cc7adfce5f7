"""An agent's file, `agents/ID.toml`, as one object.

In: the keys of the file. Out: an `AgentDefinition`, checked. The docstrings of the fields are the reference
documentation of the format, together with those of `sections`, `manifest` and `models.definition`.
"""

from __future__ import annotations

from datetime import date
from pathlib import Path
from typing import Any, Literal

from pydantic import Field, model_validator

from gateway.catalog.capability_table import CapabilityTable
from gateway.catalog.fallback import Fallback
from gateway.catalog.field_types import OptionNames
from gateway.catalog.manifest import Manifest
from gateway.catalog.models.definition import Model
from gateway.catalog.sandbox import LimitTable, Sandbox, SandboxTable
from gateway.catalog.sections import Acp, Auth, Cli, Command, Effort, Identity, Install, Mode, Remote, Section
from gateway.catalog.trust import Trust
from gateway.settings import MAX_RUN_SECONDS

AUTO_APPROVE_MODES = (
    "acceptEdits",
    "accept-edits",
    "accept_edits",
    "auto",
    "auto-approve",
    "autoEdit",
    "auto-edit",
    "auto_edit",
    "autopilot",
    "bypassPermissions",
    "full-access",
    "yolo",
)
AUTO_APPROVE_CONFIG = ("allow_all", "auto_approve")

BARE_SOURCE = Path("--acp")
"""In place of the file of an agent that has none."""

REQUIRED_KEYS = {"python": ("entry",), "acp": ("command",), "cli": ("command", "cli"), "remote": ("remote",)}
"""Driver → the keys that it needs."""


class AgentDefinition(Section):
    """One agent: who it is, how it is run, and what it can do."""

    id: str = Field(pattern=r"^[a-z0-9][a-z0-9._-]{0,63}$")
    """The agent's name in URLs: lower case letters, digits, `.`, `_` and `-`, at most 64."""
    transport_of: str | None = Field(default=None, pattern=r"^[a-z0-9][a-z0-9._-]{0,63}$")
    """Drivers `acp` and `cli`: the id of the agent that this file is another transport of. That agent is used through
    this file when its own command does not work, and only it is listed. The id of this file leads to this transport
    alone. What this file does not state of the program, it takes from the file of the agent."""
    driver: Literal["python", "acp", "cli", "remote"]
    """How the agent is run. `python`: a function in the gateway's process. `acp`: a process that speaks the Agent
    Client Protocol. `cli`: a process with a protocol of its own. `remote`: an AG-UI endpoint."""
    entry: str | None = Field(default=None, pattern=r"^[\w.]+:[\w.]+$")
    """Driver `python`: the agent's function as `module:name`. A module next to this file is preferred to an installed
    one. The function takes a `Turn` and is an async generator, a generator (run in a thread) or a coroutine."""
    capabilities_entry: str | None = Field(default=None, pattern=r"^[\w.]+:[\w.]+$")
    """Driver `python`: capabilities as `module:name`: a mapping, or a function that is called for every snapshot.
    Default: those of this file."""
    modes: tuple[Mode, ...] = ()
    """What is different in each mode of a thread. Driver `python`: also which modes there are; a thread starts in the
    first. Other agents report their modes themselves; one that has a process for each turn reports none, so these are
    its modes."""
    command: Command | None = None
    """Drivers `acp` and `cli`: the agent's process."""
    credentials: Literal["shared", "principal"] | None = None
    """Drivers `acp` and `cli`: whose account the agent uses. `shared`: that of the gateway's own user, for all
    principals. `principal`: each principal has a home directory, a sign-in and keys of its own. Default: the gateway's
    setting `credentials`."""
    home_env: dict[str, str] = Field(default_factory=dict)
    """Variables that lead the agent to a principal's home directory, where `HOME` alone does not: `{home}` stands for
    it. Their names must be in `inherit_env`."""
    acp: Acp = Field(default_factory=Acp)
    """Driver `acp`: settings of the protocol."""
    cli: Cli | None = None
    """Driver `cli`: settings of the protocol."""
    remote: Remote | None = None
    """Driver `remote`: the endpoint."""
    fallback: tuple[Fallback, ...] = ()
    """Other ways to run the agent, the best first. The first one that is available is used, and the capabilities
    say which."""
    sandbox: Sandbox = Field(default_factory=SandboxTable)
    """Drivers `acp` and `cli`: what the agent's process can reach."""
    limits: LimitTable = Field(default_factory=LimitTable)
    """Drivers `acp` and `cli`: how much the agent's process may use."""
    trust: Trust = Field(default_factory=Trust)
    """Drivers `acp` and `cli`: how the agent works in folders that are not trusted."""
    install: tuple[Install, ...] = ()
    """Ways to install the agent, shown when its program is missing."""
    auth: tuple[Auth, ...] = ()
    """Checks of whether the user is signed in."""
    identity: Identity
    """What users see of the agent."""
    capabilities: CapabilityTable = Field(default_factory=dict)
    """AG-UI's capabilities (https://docs.ag-ui.com/concepts/capabilities), with keys in snake_case. A missing key means
    unknown, so state only what is known."""
    manifest: Manifest = Field(default_factory=Manifest)
    """Facts that agent-mux has fields for and AG-UI does not; shown under `custom.mux` and by `?view=mux`."""
    effort: Effort = Field(default_factory=Effort)
    """How the agent is asked for more or less thinking."""
    models: tuple[Model, ...] = ()
    """The models that the agent is known to offer."""
    open_models: bool | None = None
    """The agent takes any name of a model: dated names, those of cloud providers, of a server on this machine. A run
    with a name that is not listed then goes ahead with a warning; with `strict` it is refused. False: such a run is
    refused. Default: true before the agent itself has listed its models (`models:refresh`), if the ids in this file
    begin with a provider (`anthropic/…`) or a model can be served on this machine or by a gateway."""
    price_note: str | None = None
    """Why models of this file have no price, or not all of it. It is a part of the `reason` where a cost cannot be
    calculated."""
    options: OptionNames | None = None
    """The options of `forwardedProps.gateway` that a run may set: `["model", "effort"]`. All others are refused.
    Default: with driver `acp` those that the agent's handshake and session offer, with other drivers none."""
    without_options: OptionNames = ()
    """Options that the agent announces, or that its protocol has, and that do not work with it."""
    auto_approve_modes: tuple[str, ...] = AUTO_APPROVE_MODES
    """Ids of the agent's modes in which it does not ask about all tool calls: a caller needs the scope `approve` to
    choose one. Default: the ids that such modes have with most agents."""
    auto_approve_config: tuple[str, ...] = AUTO_APPROVE_CONFIG
    """Ids of the agent's session settings that turn questions about tool calls off."""
    mcp_tool_names: str | None = Field(default=None, pattern=r"^[^{}]*\{server\}[^{}]+\{tool\}[^{}]*$|^\{tool\}$")
    """How the agent names a tool of an MCP server: `"mcp__{server}__{tool}"`. Default: unknown."""
    skill_mention: str = Field(default="Use the skill {name}.", pattern=r"\{name\}")
    """What a prompt begins with so that the agent uses a skill that it has: `"/{name}"`. `{name}`: the skill's name."""
    merge: bool = True
    """Join adjacent deltas that arrive together. Default: true; with driver `remote` false, because its events are
    passed on unchanged."""
    merge_window_ms: float = Field(default=0.0, ge=0, le=1000)
    """How many milliseconds a delta waits for others to join. 0 adds no delay."""
    stall_timeout: float | None = Field(default=None, gt=0)
    """Seconds without an event after which a run fails. Default: the gateway's setting `stall_timeout`."""
    run_timeout: float | None = Field(default=None, gt=0, le=MAX_RUN_SECONDS)
    """Seconds after which a run is stopped. Default: the gateway's setting `run_timeout`."""
    worktree: bool | None = None
    """Drivers `acp` and `cli`: each thread works in a git worktree and on a branch of its own, so that threads do not
    change each other's files. Default: the gateway's setting `worktree`."""
    verified: date | None = None
    """The day on which this file was last compared with the real agent. Default: never."""
    sources: tuple[str, ...] = ()
    """Addresses of the documents from which the facts are taken."""

    source: Path = Path()
    """The file's path. Set by the loader; not a key of the file."""
    private: bool = True
    """Driver `remote`: the agent may be at a private address. Set by the loader; not a key of the file."""
    via: tuple[str, ...] = ()
    """Driver `remote`: the gateways through which it is reached. Set when it is mounted; not a key of the file."""
    other_transports: tuple[Any, ...] = ()
    """The definitions that are another transport of this agent. Set when all files are read; not a key of the file."""
    base: Any = None
    """The definition of the agent whose facts this transport shares. Set with its transports; not a key of the file."""
    fallback_name: str | None = None
    """The `[[fallback]]` table that this definition is of. Set with its transports; not a key of the file."""

    @property
    def is_listed(self) -> bool:
        """False: a transport of another agent, which is listed instead."""
        return self.transport_of is None or self.base is None

    @property
    def is_bare(self) -> bool:
        """It is known by its command line alone (`--acp`), and has no file."""
        return self.source == BARE_SOURCE

    @property
    def is_local_process(self) -> bool:
        """The agent runs as a process of this machine, with sessions of its own: it has a folder, a home and a
        sandbox."""
        return self.driver in ("acp", "cli")

    @model_validator(mode="before")
    @classmethod
    def _default_merge_of_remote(cls, table: Any) -> Any:
        if isinstance(table, dict) and table.get("driver") == "remote":
            return {"merge": False, **table}
        return table

    @model_validator(mode="after")
    def _check_required_keys(self) -> AgentDefinition:
        for key in REQUIRED_KEYS[self.driver]:
            if getattr(self, key) is None:
                raise ValueError(f"driver {self.driver!r} needs `{key}`")
        return self

    @model_validator(mode="after")
    def _check_credentials(self) -> AgentDefinition:
        if self.credentials == "principal" and self.command is None:
            raise ValueError(f"`credentials` are for drivers 'acp' and 'cli', not {self.driver!r}")
        return self

    @model_validator(mode="after")
    def _check_modes(self) -> AgentDefinition:
        if self.modes and self.driver == "remote":
            raise ValueError("`modes` are not for driver 'remote': the agent's own gateway states them")
        if self.driver == "python" and (other := next((mode for mode in self.modes if mode.setting != "mode"), None)):
            raise ValueError(f"`modes`: an agent of driver 'python' has no setting {other.setting!r}, only a mode")
        ids = [(mode.setting, mode.id) for mode in self.modes]
        if duplicates := {mode_id for setting, mode_id in ids if ids.count((setting, mode_id)) > 1}:
            raise ValueError(f"`modes` has {', '.join(sorted(duplicates))} more than once")
        return self
