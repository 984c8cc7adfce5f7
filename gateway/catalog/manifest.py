"""What agent-mux's manifest has beyond AG-UI's capabilities: `[manifest]` of an agent's file."""

from __future__ import annotations

from typing import Literal

from gateway.catalog.sections import Platform, Section

PluginFormat = Literal["npm-package", "skill-file", "skill-directory", "extension-ts", "channel-plugin", "mcp-server"]


class PluginRegistry(Section):
    name: str
    url: str
    searchable: bool = False


class Manifest(Section):
    """Absent means unknown. What AG-UI has a word for (thinking, images, tools, …) is said under `[capabilities]`."""

    can_resume: bool | None = None
    can_fork: bool | None = None
    supports_multi_turn: bool | None = None
    session_persistence: Literal["none", "file", "sqlite", "in-memory"] | None = None
    supports_text_streaming: bool | None = None
    supports_tool_call_streaming: bool | None = None
    supports_thinking_streaming: bool | None = None
    supports_mcp: bool | None = None
    requires_tool_approval: bool | None = None
    """By default, before a tool runs."""
    approval_modes: tuple[Literal["yolo", "prompt", "deny"], ...] | None = None
    supports_json_mode: bool | None = None
    supports_skills: bool | None = None
    supports_agents_md: bool | None = None
    skills_format: Literal["file", "directory", "npm-package"] | None = None
    supports_parallel_execution: bool | None = None
    max_parallel_tasks: int | None = None
    supports_interactive_mode: bool | None = None
    supports_stdin_injection: bool | None = None
    supports_file_attachments: bool | None = None
    supports_plugins: bool | None = None
    plugin_formats: tuple[PluginFormat, ...] | None = None
    plugin_install_cmd: str | None = None
    plugin_list_cmd: str | None = None
    plugin_uninstall_cmd: str | None = None
    plugin_search_cmd: str | None = None
    plugin_marketplace_url: str | None = None
    plugin_registries: tuple[PluginRegistry, ...] | None = None
    supported_platforms: tuple[Platform, ...] | None = None
    requires_git_repo: bool | None = None
    requires_pty: bool | None = None
    auth_methods: tuple[Literal["api-key", "oauth", "github-token", "browser", "config-file"], ...] | None = None
    auth_files: tuple[str, ...] | None = None
    """Where it keeps what it needs to sign in; `~` is the home."""
