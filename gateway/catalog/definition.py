"""One agent as its file tells it. The field docstrings are the format's manual."""

from __future__ import annotations

from datetime import date
from pathlib import Path
from typing import Any, Literal

from pydantic import Field, model_validator

from gateway.catalog.capability_table import CapabilityTable
from gateway.catalog.field_types import OptionNames
from gateway.catalog.manifest import Manifest
from gateway.catalog.models.definition import Model
from gateway.catalog.sections import Acp, Auth, Cli, Command, Effort, Fallback, Identity, Install, Mode, Remote, Section

NEEDED = {"python": ("entry",), "acp": ("command",), "cli": ("command", "cli"), "remote": ("remote",)}


class AgentDefinition(Section):
    """`agents/ID.toml`."""

    id: str = Field(pattern=r"^[a-z0-9][a-z0-9._-]{0,63}$")
    """Its name in URLs; lower case letters, digits, `.`, `_`, `-`."""
    driver: Literal["python", "acp", "cli", "remote"]
    """How it is reached: `python`, a function in the gateway's own process; `acp`, a process that speaks ACP; `cli`,
    one that speaks a format of its own; `remote`, an AG-UI endpoint."""
    entry: str | None = Field(default=None, pattern=r"^[\w.]+:[\w.]+$")
    """python: `module:name`. A module that stands beside this file is found first, then any that can be imported. The
    name is an async generator function, a generator function (run in a thread) or a coroutine function of a `Turn`."""
    capabilities_entry: str | None = Field(default=None, pattern=r"^[\w.]+:[\w.]+$")
    """python: `module:name` of capabilities: a mapping, or a function asked at every snapshot."""
    modes: tuple[Mode, ...] = ()
    """python: the modes that a thread can be in; it begins in the first. Every other agent tells its own."""
    command: Command | None = None
    """acp, cli: the process."""
    acp: Acp = Field(default_factory=Acp)
    """acp: what is particular about it."""
    cli: Cli | None = None
    """cli: what is particular about it."""
    remote: Remote | None = None
    """remote: where it is."""
    fallback: tuple[Fallback, ...] = ()
    """Further ways in, best first: when the first cannot be had, the next is taken, and the snapshot says so."""
    install: tuple[Install, ...] = ()
    """How to get it."""
    auth: tuple[Auth, ...] = ()
    """How to see that somebody is signed in."""
    identity: Identity
    """What people see."""
    capabilities: CapabilityTable = Field(default_factory=dict)
    """AG-UI's capabilities in snake_case. Absent means unknown, so say only what is so."""
    manifest: Manifest = Field(default_factory=Manifest)
    """What agent-mux asks of an agent and AG-UI has no word for; shown under `custom.mux` and as `?view=mux`."""
    effort: Effort = Field(default_factory=Effort)
    """How it is told to think more or less."""
    models: tuple[Model, ...] = ()
    """The models that it is known to offer."""
    options: OptionNames = ()
    """Which of `forwardedProps.gateway`'s wishes it takes (`model`, `effort`, …); any other is refused."""
    mcp_tool_names: str | None = Field(default=None, pattern=r"^[^{}]*\{server\}[^{}]+\{tool\}[^{}]*$|^\{tool\}$")
    """What it calls a tool of an MCP server: `mcp__{server}__{tool}`; left out: nobody knows."""
    merge: bool = True
    """Join adjacent deltas that arrive together. remote: false where it is left out, for events pass as they are."""
    merge_window_ms: float = Field(default=0.0, ge=0, le=1000)
    """Wait so long for more to join. 0 adds no delay."""
    stall_timeout: float | None = Field(default=None, gt=0)
    """Seconds of silence before a run fails; left out: the gateway's own bound."""
    verified: date | None = None
    """When somebody last held this file against the real agent."""
    sources: tuple[str, ...] = ()
    """Where its facts are from."""

    source: Path = Path()
    """The file it came from; set by the loader."""
    private: bool = True
    """remote: it may be at a private address; set by the loader."""
    via: tuple[str, ...] = ()
    """remote: the gateways that it is reached through; set by the mount."""

    @model_validator(mode="before")
    @classmethod
    def _untouched(cls, table: Any) -> Any:
        if isinstance(table, dict) and table.get("driver") == "remote":
            return {"merge": False, **table}
        return table

    @model_validator(mode="after")
    def _reachable(self) -> AgentDefinition:
        for needed in NEEDED[self.driver]:
            if getattr(self, needed) is None:
                raise ValueError(f"driver {self.driver!r} needs `{needed}`")
        return self

    @model_validator(mode="after")
    def _modes(self) -> AgentDefinition:
        if self.modes and self.driver != "python":
            raise ValueError(f"`modes` are for driver 'python': one of driver {self.driver!r} tells its own")
        if twice := {one.id for one in self.modes if sum(one.id == other.id for other in self.modes) > 1}:
            raise ValueError(f"`modes` has {', '.join(sorted(twice))} more than once")
        return self
