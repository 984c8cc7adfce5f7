"""The snapshot as agent-mux's `AgentCapabilities`: `?view=mux`.

In: a snapshot and the agent's definition. Out: the JSON object, in the interface's own names and order. What nobody
knows is absent: a bare `false` would be a claim. The interface requires some of that, so `unknown` names those fields.
"""

from __future__ import annotations

import shlex
from collections.abc import Callable
from typing import Any

from gateway.capabilities.merge import Snapshot
from gateway.capabilities.views.mux_lookup import fact
from gateway.catalog.definition import AgentDefinition
from gateway.catalog.install import command_line
from gateway.catalog.sections import Install

FIELDS = (
    "agent",
    "canResume",
    "canFork",
    "supportsMultiTurn",
    "sessionPersistence",
    "supportsTextStreaming",
    "supportsToolCallStreaming",
    "supportsThinkingStreaming",
    "supportsNativeTools",
    "supportsMCP",
    "supportsParallelToolCalls",
    "requiresToolApproval",
    "approvalModes",
    "supportsThinking",
    "thinkingEffortLevels",
    "supportsThinkingBudgetTokens",
    "supportsJsonMode",
    "supportsStructuredOutput",
    "supportsSkills",
    "supportsAgentsMd",
    "skillsFormat",
    "supportsSubagentDispatch",
    "supportsParallelExecution",
    "maxParallelTasks",
    "supportsInteractiveMode",
    "supportsStdinInjection",
    "supportsImageInput",
    "supportsImageOutput",
    "supportsFileAttachments",
    "supportsPlugins",
    "pluginFormats",
    "pluginInstallCmd",
    "pluginListCmd",
    "pluginUninstallCmd",
    "pluginMarketplaceUrl",
    "pluginSearchCmd",
    "pluginRegistries",
    "supportedPlatforms",
    "requiresGitRepo",
    "requiresPty",
    "authMethods",
    "authFiles",
    "installMethods",
)

OPTIONAL = frozenset(
    (
        "maxParallelTasks",
        "pluginInstallCmd",
        "pluginListCmd",
        "pluginUninstallCmd",
        "pluginMarketplaceUrl",
        "pluginSearchCmd",
    )
)

UNKNOWN: Any = object()
"""Absent; `null` is a value of `skillsFormat`."""

INSTALL_TYPES = {"uv": "pip", "shell": "curl"}
"""Ways to install that agent-mux has under another name."""

AUTH_NAMES = {
    "api-key": "API key",
    "oauth": "OAuth",
    "github-token": "GitHub token",
    "browser": "Browser login",
    "config-file": "Configuration file",
}


def view(snapshot: Snapshot, definition: AgentDefinition) -> dict[str, Any]:
    told = {name: _told(name, snapshot, definition) for name in FIELDS}
    unknown = [name for name, value in told.items() if value is UNKNOWN and name not in OPTIONAL]
    shown = {name: value for name, value in told.items() if value is not UNKNOWN}
    return shown | ({"unknown": unknown} if unknown else {})


def _told(name: str, snapshot: Snapshot, definition: AgentDefinition) -> Any:
    if name in OTHERWISE:
        return OTHERWISE[name](snapshot, definition)
    value = fact(snapshot, name).value
    return UNKNOWN if value is None else value


def _levels(snapshot: Snapshot, definition: AgentDefinition) -> Any:
    told = fact(snapshot, "thinkingEffortLevels").value
    if told is None and (_declared(definition) or fact(snapshot, "supportsThinking").value is False):
        told = []
    return UNKNOWN if told is None else told


def _budget(snapshot: Snapshot, definition: AgentDefinition) -> Any:
    told = fact(snapshot, "supportsThinkingBudgetTokens").value
    if told is None and (_declared(definition) or fact(snapshot, "supportsThinking").value is False):
        told = False
    return UNKNOWN if told is None else told


def _declared(definition: AgentDefinition) -> bool:
    """Its file has agent-mux's manifest, so what it leaves out of `[effort]` is not there."""
    return bool(definition.manifest.model_dump(exclude_none=True))


def _skills_format(snapshot: Snapshot, definition: AgentDefinition) -> Any:
    told = fact(snapshot, "skillsFormat").value
    if told is None and fact(snapshot, "supportsSkills").value is not False:
        return UNKNOWN
    return told


def _plugins(name: str) -> Callable[[Snapshot, AgentDefinition], Any]:
    def told(snapshot: Snapshot, definition: AgentDefinition) -> Any:
        value = fact(snapshot, name).value
        if value is None:
            return UNKNOWN if fact(snapshot, "supportsPlugins").value is not False else []
        return value

    return told


def _auth_methods(snapshot: Snapshot, definition: AgentDefinition) -> Any:
    kinds = fact(snapshot, "authMethods").value
    if kinds is None:
        signs = {sign.kind for sign in definition.auth}
        if not signs & {"env", "none"}:
            return UNKNOWN  # a file or a command tells that somebody signed in, not how
        kinds = ["api-key"] if "env" in signs else []
    return [{"type": kind, "name": AUTH_NAMES.get(kind, kind)} for kind in kinds]


def _auth_files(snapshot: Snapshot, definition: AgentDefinition) -> Any:
    files = fact(snapshot, "authFiles").value
    if files is None and definition.auth:
        files = [sign.name for sign in definition.auth if sign.kind == "file" and sign.name is not None]
    return UNKNOWN if files is None else files


def _install(way: Install) -> dict[str, Any]:
    told = {
        "platform": way.platform,
        "type": INSTALL_TYPES.get(way.kind, way.kind),
        "command": command_line(way),
        "notes": way.notes,
        "prerequisiteCheck": shlex.join(way.prerequisite_check) or None,
    }
    return {key: value for key, value in told.items() if value is not None}


OTHERWISE: dict[str, Callable[[Snapshot, AgentDefinition], Any]] = {
    "agent": lambda _, definition: definition.id,
    "thinkingEffortLevels": _levels,
    "supportsThinkingBudgetTokens": _budget,
    "skillsFormat": _skills_format,
    "pluginFormats": _plugins("pluginFormats"),
    "pluginRegistries": _plugins("pluginRegistries"),
    "authMethods": _auth_methods,
    "authFiles": _auth_files,
    "installMethods": lambda _, definition: [_install(way) for way in definition.install],
}
"""Fields that are more than one fact."""
