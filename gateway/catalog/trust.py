"""The table `[trust]` of an agent's file: what the agent reads from a project, and how it is started without that.

In: the keys of the table. Out: a frozen section, checked. The docstrings are the reference documentation of the format.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Literal

from pydantic import Field, field_validator, model_validator

from gateway.catalog.sections import Section

ConfigurationKind = Literal["settings", "mcp", "hooks", "plugins", "commands", "environment"]


class TrustFlags(Section):
    """What is added to the start of the agent's process and of its sessions. `{cwd}` stands for the session's working
    directory."""

    args: tuple[str, ...] = ()
    """Arguments, inserted right after the program's name: `["--setting-sources", "user"]`."""
    env: dict[str, str] = Field(default_factory=dict)
    """Environment variables that are set; they take precedence over `command.env` and over inherited ones."""
    files: dict[str, str] = Field(default_factory=dict)
    """Environment variables that name a file: variable → content of the file. The gateway writes it, readable for its
    own user only."""
    params: dict[str, Any] = Field(default_factory=dict)
    """Driver `cli`: parameters of the dialect, merged over `[cli.params]` key by key."""
    session_meta: dict[str, Any] = Field(default_factory=dict)
    """Driver `acp`: `_meta` of the requests that open a session."""


class ProjectConfiguration(Section):
    """The files of a project that the agent reads as its own configuration: glob patterns, relative to the working
    directory and to each directory above it. `*` stays within a name, `**` descends. Listed in the question whether a
    folder is trusted. Instructions for the model (`AGENTS.md`) do not belong here: they start nothing."""

    settings: tuple[str, ...] = ()
    """Settings in JSON, TOML or text. Each key is listed with what it sets or runs."""
    mcp: tuple[str, ...] = ()
    """Files that define MCP servers."""
    hooks: tuple[str, ...] = ()
    """Files that define commands which run by themselves, or are such commands."""
    plugins: tuple[str, ...] = ()
    """Code that the agent loads: plugins, extensions, tools."""
    commands: tuple[str, ...] = ()
    """Skills, commands and subagents, which may run programs or loosen permissions."""
    environment: tuple[str, ...] = ()
    """Files with environment variables, such as `.env`."""

    @field_validator("*")
    @classmethod
    def _check_patterns(cls, patterns: tuple[str, ...]) -> tuple[str, ...]:
        for pattern in patterns:
            if not pattern or pattern.startswith("/") or ".." in pattern.split("/"):
                raise ValueError(f"{pattern!r} is not a pattern inside the project: write it without / in front and ..")
        return patterns

    def patterns(self) -> Iterator[tuple[ConfigurationKind, str]]:
        for kind in ProjectConfiguration.model_fields:
            for pattern in getattr(self, kind):
                yield kind, pattern  # type: ignore[misc] # the fields are named after the kinds


class FallbackTrust(Section):
    """Driver `acp` or `cli` of a fallback: what differs from the `[trust]` of the file."""

    untrusted: TrustFlags = Field(default_factory=TrustFlags)
    """Added in a folder that is not trusted."""
    trusted: TrustFlags = Field(default_factory=TrustFlags)
    """Added in a trusted folder."""


class Trust(Section):
    """Drivers `acp` and `cli`: how the agent works in folders that are not trusted. A project can hold hooks, MCP
    servers and plugins which run programs as soon as the agent starts there."""

    untrusted_start: Literal["restricted", "clean", "never"] = "never"
    """Whether the agent starts in a folder that is not trusted. `restricted`: yes, with the additions of
    `[trust.untrusted]`, with which it ignores the project's configuration. `clean`: only where the folder holds none
    of the files of `[trust.configuration]`, for agents that cannot ignore them. `never`: no. This is the default,
    because of an agent without this table nothing is known."""
    configuration: ProjectConfiguration = Field(default_factory=ProjectConfiguration)
    """The project's files that the agent reads as its configuration."""
    untrusted: TrustFlags = Field(default_factory=TrustFlags)
    """Added in a folder that is not trusted, and for probes: the agent ignores the project's configuration."""
    trusted: TrustFlags = Field(default_factory=TrustFlags)
    """Added in a trusted folder, for agents that would ask for trust again or ignore the project otherwise."""

    @model_validator(mode="after")
    def _check_configuration(self) -> Trust:
        if self.untrusted_start == "clean" and not any(self.configuration.patterns()):
            raise ValueError('`untrusted_start = "clean"` needs `[trust.configuration]`: the files that must not exist')
        return self
