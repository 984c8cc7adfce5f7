"""`[manifest]` of an agent's file: facts that agent-mux has fields for and AG-UI's capabilities do not.

The docstrings of the fields are the reference documentation of the format. A missing key means unknown. What AG-UI has
a capability for (thinking, images, tools, …) belongs under `[capabilities]`.
"""

from __future__ import annotations

from typing import Literal

from gateway.catalog.sections import Platform, Section

PluginFormat = Literal["npm-package", "skill-file", "skill-directory", "extension-ts", "channel-plugin", "mcp-server"]


class PluginRegistry(Section):
    """A place from which the agent's plugins can be installed."""

    name: str
    """The registry's name."""
    url: str
    """Its address."""
    searchable: bool = False
    """Whether it can be searched from the command line."""


class Manifest(Section):
    """agent-mux's manifest, as far as AG-UI has no field for it."""

    can_resume: bool | None = None
    """Whether a session can be continued in a new process."""
    can_fork: bool | None = None
    """Whether a session can be continued in a copy."""
    supports_multi_turn: bool | None = None
    """Whether a session can have several turns."""
    session_persistence: Literal["none", "file", "sqlite", "in-memory"] | None = None
    """Where the agent stores its sessions."""
    supports_text_streaming: bool | None = None
    """Whether text is streamed."""
    supports_tool_call_streaming: bool | None = None
    """Whether arguments of tool calls are streamed."""
    supports_thinking_streaming: bool | None = None
    """Whether thinking is streamed."""
    supports_mcp: bool | None = None
    """Whether the agent can use MCP servers."""
    requires_tool_approval: bool | None = None
    """Whether the agent asks for approval before it runs a tool, unless configured otherwise."""
    approval_modes: tuple[Literal["yolo", "prompt", "deny"], ...] | None = None
    """The approval policies that the agent has, in agent-mux's words."""
    supports_json_mode: bool | None = None
    """Whether the agent has a mode in which it answers with JSON."""
    supports_skills: bool | None = None
    """Whether the agent reads skills."""
    supports_agents_md: bool | None = None
    """Whether the agent reads `AGENTS.md`."""
    skills_format: Literal["file", "directory", "npm-package"] | None = None
    """What a skill is."""
    supports_parallel_execution: bool | None = None
    """Whether several tasks can run at once."""
    max_parallel_tasks: int | None = None
    """How many tasks can run at once."""
    supports_interactive_mode: bool | None = None
    """Whether the agent has an interactive mode for a terminal."""
    supports_stdin_injection: bool | None = None
    """Whether a running turn accepts further input on stdin."""
    supports_file_attachments: bool | None = None
    """Whether a prompt can have files attached."""
    supports_plugins: bool | None = None
    """Whether the agent has plugins."""
    plugin_formats: tuple[PluginFormat, ...] | None = None
    """What a plugin can be."""
    plugin_install_cmd: str | None = None
    """The command that installs a plugin."""
    plugin_list_cmd: str | None = None
    """The command that lists the installed plugins."""
    plugin_uninstall_cmd: str | None = None
    """The command that removes a plugin."""
    plugin_search_cmd: str | None = None
    """The command that searches for plugins."""
    plugin_marketplace_url: str | None = None
    """The address of the plugin marketplace."""
    plugin_registries: tuple[PluginRegistry, ...] | None = None
    """The registries of plugins."""
    supported_platforms: tuple[Platform, ...] | None = None
    """The operating systems on which the agent runs."""
    requires_git_repo: bool | None = None
    """Whether the agent works only inside a Git repository."""
    requires_pty: bool | None = None
    """Whether the agent needs a pseudo terminal."""
    auth_methods: tuple[Literal["api-key", "oauth", "github-token", "browser", "config-file"], ...] | None = None
    """How a user can sign in."""
    auth_files: tuple[str, ...] | None = None
    """Files in which the agent keeps its credentials: `["~/.codex/auth.json"]`."""
