"""What an agent is started with, by whether its folder is trusted: `[trust.untrusted]` and `[trust.trusted]`.

In: the agent's definition and a session's `Confinement`. Out: arguments, environment and files of the process;
parameters of the dialect; `_meta` of ACP sessions. Never: a decision about trust.
"""

from __future__ import annotations

import hashlib
import os
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from gateway.catalog.definition import AgentDefinition
from gateway.catalog.trust import TrustFlags
from gateway.errors import AgentFault
from gateway.settings import data_dir

CWD = "{cwd}"


def flags_of(definition: AgentDefinition, is_trusted: bool) -> TrustFlags:
    return definition.trust.trusted if is_trusted else definition.trust.untrusted


@dataclass(frozen=True, slots=True)
class TrustedCommand:
    run: tuple[str, ...]
    env: dict[str, str]


def apply_flags(flags: TrustFlags, run: tuple[str, ...], env: Mapping[str, str], cwd: Path) -> TrustedCommand:
    """Arguments go right after the program's name: those of a program stand before its subcommand."""
    args = tuple(part.replace(CWD, str(cwd)) for part in flags.args)
    files = {name: str(_write_file(content)) for name, content in flags.files.items()}
    variables = {name: value.replace(CWD, str(cwd)) for name, value in flags.env.items()}
    return TrustedCommand((run[0], *args, *run[1:]), {**env, **variables, **files})


def dialect_params(params: Mapping[str, Any], flags: TrustFlags, cwd: Path) -> dict[str, Any]:
    """The parameters of the dialect, with those of the flags over them, key by key."""
    return _merge(params, _fill(flags.params, str(cwd)))


def session_meta(flags: TrustFlags, cwd: Path) -> dict[str, Any]:
    filled: dict[str, Any] = _fill(flags.session_meta, str(cwd))
    return filled


def _fill(value: Any, cwd: str) -> Any:
    if isinstance(value, str):
        return value.replace(CWD, cwd)
    if isinstance(value, Mapping):
        return {_fill(key, cwd): _fill(child, cwd) for key, child in value.items()}
    return [_fill(child, cwd) for child in value] if isinstance(value, list) else value


def _merge(lower: Mapping[str, Any], upper: Mapping[str, Any]) -> dict[str, Any]:
    tree = dict(lower)
    for key, value in upper.items():
        current = tree.get(key)
        tree[key] = _merge(current, value) if isinstance(current, Mapping) and isinstance(value, Mapping) else value
    return tree


def settings_dir() -> Path:
    """Where the files of `[trust.…] files` are: settings from agents' files, no secrets."""
    return data_dir() / "agent-settings"


def _write_file(content: str) -> Path:
    """One file for each content, written again for every start, so that nothing else can have changed it meanwhile."""
    folder = settings_dir()
    path = folder / f"{hashlib.sha256(content.encode()).hexdigest()[:16]}.json"
    try:
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        descriptor, name = tempfile.mkstemp(dir=folder)  # mode 0600
        with os.fdopen(descriptor, "w", encoding="utf-8") as file:
            file.write(content)
        os.replace(name, path)
    except OSError as exc:
        detail = f"the settings that the agent is started with cannot be written to {path}: {exc.strerror}"
        raise AgentFault(detail, code="AGENT_NOT_FOUND") from exc
    return path
