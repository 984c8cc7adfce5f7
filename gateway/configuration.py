"""The settings from where the operator has put them: defaults < settings file < environment < flags.

In: a file, the environment, flags. Out: `Settings`, or a `ConfigError` that names the flag, the variable or the key.
Never: a file that only happens to lie in the current directory. The current directory is the agents' workspace, and a
cloned repository could bring a `gateway.toml` of its own, which names Python modules for the gateway to import.
"""

from __future__ import annotations

import os
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from gateway.errors import ConfigError
from gateway.settings import ENV_PREFIX, Settings, config_dir

FILE_NAME = "gateway.toml"
LIST_SETTINGS = (
    "agents",
    "acp",
    "workspace",
    "trust",
    "allow_origin",
    "allow_host",
    "allow_programs",
    "proxy",
    "proxy_user_scopes",
    "sandbox_hosts",
    "shared_env",
)
"""Settings with several values; in the environment they are separated by commas, paths as in `PATH`."""

RENAMED = {
    "allow_private": "allow_private_addresses",
    "event_bytes": "max_event_bytes",
    "feed_events": "retain_thread_events",
    "max_deliveries": "max_queued_per_thread",
    "max_waiting": "max_queued",
    "mcp_stdio": "probe_mcp_stdio",
    "retain_feed_events": "retain_all_thread_events",
    "run_bytes": "max_run_log_bytes",
    "session_idle": "session_idle_timeout",
    "tail_bytes": "log_tail_bytes",
}
"""Old name → new name. Used only for error messages: an old name is never accepted."""


def load(flags: Mapping[str, Any], environ: Mapping[str, str], file: Path | None = None) -> Settings:
    """`flags`: only those that the user has set. `file`: the settings file; without it `AGUI_GATEWAY_CONFIG` names one,
    or there is one in the user's configuration directory, or none."""
    from_env = _read_environment(environ)
    named = from_env.pop("config", None)
    path = file or (Path(named) if named else _users_file(environ))
    from_file = _read_file(path) if path is not None else {}
    try:
        return Settings(**{**from_file, **from_env, **flags, "config": path})
    except ValidationError as exc:
        raise ConfigError(_explain(exc, path, from_env, flags)) from exc


def _users_file(environ: Mapping[str, str]) -> Path | None:
    path = config_dir(environ) / FILE_NAME
    return path if path.is_file() else None


def _read_file(path: Path) -> dict[str, Any]:
    try:
        table = tomllib.loads(path.read_text("utf-8"))
    except OSError as exc:
        raise ConfigError(f"{path}: cannot be read: {exc.strerror}") from exc
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as exc:
        raise ConfigError(f"{path}: not TOML: {exc}") from exc
    if "config" in table:
        raise ConfigError(f"{path}: config: a settings file cannot name another one")
    # A path in a file is relative to the file.
    base = path.resolve().parent
    for key in ("agents", "workspace", "trust"):
        if isinstance(table.get(key), list):
            table[key] = [base / str(folder) for folder in table[key]]
    for key in ("token_file", "trust_file", "homes", "credentials_dir", "worktrees"):
        if isinstance(table.get(key), str):
            table[key] = base / table[key]
    return table


def _read_environment(environ: Mapping[str, str]) -> dict[str, Any]:
    values: dict[str, Any] = {}
    for name, value in environ.items():
        if name.startswith(ENV_PREFIX) and value:
            key = name.removeprefix(ENV_PREFIX).lower()
            values[key] = _split(key, value) if key in LIST_SETTINGS else value
    return values


def _split(key: str, value: str) -> list[str]:
    separator = os.pathsep if key in ("agents", "workspace", "trust") else ","
    return [part.strip() for part in value.split(separator) if part.strip()]


def _explain(exc: ValidationError, path: Path | None, from_env: Mapping[str, Any], flags: Mapping[str, Any]) -> str:
    error = exc.errors(include_url=False)[0]
    key = str(error["loc"][0]) if error["loc"] else "settings"
    if key in flags:
        location = f"--{key.replace('_', '-')}"
    elif key in from_env:
        location = f"{ENV_PREFIX}{key.upper()}"
    else:
        location = f"{path}: {key}"
    if error["type"] != "extra_forbidden":
        return f"{location}: {error['msg'].removeprefix('Value error, ')}"
    if (new := RENAMED.get(key)) is not None:
        old, new = (f"{ENV_PREFIX}{key.upper()}", f"{ENV_PREFIX}{new.upper()}") if key in from_env else (key, new)
        return f"{location}: `{old}` is called `{new}` now"
    return f"{location}: there is no such setting. Known: {', '.join(sorted(Settings.model_fields))}."
