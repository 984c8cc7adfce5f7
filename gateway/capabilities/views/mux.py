"""The snapshot as agent-mux's `AgentCapabilities`: `?view=mux`.

In: a snapshot and the agent's definition. Out: the JSON object, with the interface's own names and order. An unknown
field is absent, because `false` would be a claim. The interface requires most fields, so `unknown` names those.
"""

from __future__ import annotations

import shlex
from collections.abc import Callable
from typing import Any

from gateway.capabilities.merge import Snapshot
from gateway.capabilities.views.mux_lookup import find_fact, is_refused
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
"""Marks an absent field; `null` is a value of `skillsFormat`."""

INSTALL_TYPES = {"uv": "pip", "shell": "curl", "powershell": "manual"}
"""Kind of installation → agent-mux's name of it. It has none for an installer of PowerShell: `curl` would be wrong."""

AUTH_NAMES = {
    "api-key": "API key",
    "oauth": "OAuth",
    "github-token": "GitHub token",
    "browser": "Browser login",
    "config-file": "Configuration file",
}


def view(snapshot: Snapshot, definition: AgentDefinition) -> dict[str, Any]:
    fields = {name: _read_field(name, snapshot, definition) for name in FIELDS}
    unknown = [name for name, value in fields.items() if value is UNKNOWN and name not in OPTIONAL]
    known = {name: value for name, value in fields.items() if value is not UNKNOWN}
    return known | ({"unknown": unknown} if unknown else {})


def _read_field(name: str, snapshot: Snapshot, definition: AgentDefinition) -> Any:
    if definition.is_local_process and is_refused(snapshot, name):
        return False  # whatever the program itself can do
    if name in DERIVED_FIELDS:
        return DERIVED_FIELDS[name](snapshot, definition)
    value = find_fact(snapshot, name).value
    return UNKNOWN if value is None else value


def _effort_levels(snapshot: Snapshot, definition: AgentDefinition) -> Any:
    levels = find_fact(snapshot, "thinkingEffortLevels").value
    if levels is None and _lacks_effort(snapshot, definition):
        levels = []
    return UNKNOWN if levels is None else levels


def _budget_support(snapshot: Snapshot, definition: AgentDefinition) -> Any:
    is_supported = find_fact(snapshot, "supportsThinkingBudgetTokens").value
    if is_supported is None and _lacks_effort(snapshot, definition):
        is_supported = False
    return UNKNOWN if is_supported is None else is_supported


def _lacks_effort(snapshot: Snapshot, definition: AgentDefinition) -> bool:
    """For an agent without thinking, and for one whose file has agent-mux's manifest: then what `[effort]` leaves out
    is not supported."""
    has_manifest = bool(definition.manifest.model_dump(exclude_none=True))
    return has_manifest or find_fact(snapshot, "supportsThinking").value is False


def _skills_format(snapshot: Snapshot, definition: AgentDefinition) -> Any:
    skills_format = find_fact(snapshot, "skillsFormat").value
    has_skills = not is_refused(snapshot, "supportsSkills") and find_fact(snapshot, "supportsSkills").value is not False
    if skills_format is None and has_skills:
        return UNKNOWN
    return skills_format


def _plugin_list(name: str) -> Callable[[Snapshot, AgentDefinition], Any]:
    def read_list(snapshot: Snapshot, definition: AgentDefinition) -> Any:
        value = find_fact(snapshot, name).value
        if value is None:
            return UNKNOWN if find_fact(snapshot, "supportsPlugins").value is not False else []
        return value

    return read_list


def _auth_methods(snapshot: Snapshot, definition: AgentDefinition) -> Any:
    kinds = find_fact(snapshot, "authMethods").value
    if kinds is None:
        signs = {sign.kind for sign in definition.auth}
        if not signs & {"env", "none"}:
            return UNKNOWN  # A file or a command shows that the user signed in, not how.
        kinds = ["api-key"] if "env" in signs else []
    return [{"type": kind, "name": AUTH_NAMES.get(kind, kind)} for kind in kinds]


def _auth_files(snapshot: Snapshot, definition: AgentDefinition) -> Any:
    files = find_fact(snapshot, "authFiles").value
    if files is None and definition.auth:
        files = [sign.name for sign in definition.auth if sign.kind == "file" and sign.name is not None]
    return UNKNOWN if files is None else files


def _install_method(install: Install) -> dict[str, Any]:
    method = {
        "platform": install.platform,
        "type": INSTALL_TYPES.get(install.kind, install.kind),
        "command": command_line(install),
        "notes": install.notes,
        "prerequisiteCheck": shlex.join(install.prerequisite_check) or None,
    }
    return {key: value for key, value in method.items() if value is not None}


DERIVED_FIELDS: dict[str, Callable[[Snapshot, AgentDefinition], Any]] = {
    "agent": lambda _, definition: definition.id,
    "thinkingEffortLevels": _effort_levels,
    "supportsThinkingBudgetTokens": _budget_support,
    "skillsFormat": _skills_format,
    "pluginFormats": _plugin_list("pluginFormats"),
    "pluginRegistries": _plugin_list("pluginRegistries"),
    "authMethods": _auth_methods,
    "authFiles": _auth_files,
    "installMethods": lambda _, definition: [_install_method(install) for install in definition.install],
}
"""Fields that depend on more than one capability."""
