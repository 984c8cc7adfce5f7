"""One frozen `Settings`: defaults < `gateway.toml` < environment (`AGUI_GATEWAY_*`) < flags.

Every bound of the gateway has its name here; an error that a bound causes names it.
"""

from __future__ import annotations

import os
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator

from gateway.errors import ConfigError

ENV_PREFIX = "AGUI_GATEWAY_"
LISTS = ("agents", "acp", "workspace", "allow_origin", "allow_host")


def data_dir() -> Path:
    """Where a user's data lives by convention (XDG)."""
    return Path(os.environ.get("XDG_DATA_HOME") or Path.home() / ".local" / "share") / "agui-gateway"


def default_store() -> str:
    return f"sqlite://{data_dir() / 'gateway.db'}"


class Settings(BaseModel):
    """Everything that can be set. Times are seconds, sizes are bytes."""

    model_config = ConfigDict(frozen=True, extra="forbid", use_attribute_docstrings=True, allow_inf_nan=False)

    host: str = "127.0.0.1"
    """Address to listen on. Anything but loopback needs `token_file`."""
    port: int = Field(default=8123, ge=0, le=65535)
    """Port to listen on; 0 takes a free one."""
    agents: tuple[Path, ...] = ()
    """Folders of agent files, laid over the bundled ones in order: the same id replaces."""
    watch: bool = True
    """Apply changes of agent files while it runs."""
    allow_private_addresses: bool = False
    """Let agents that are registered by HTTP be at private addresses and on loopback; those of files always may. MCP
    servers that clients name are asked for their tools there, too."""
    probe_mcp_stdio: bool = True
    """Start the MCP servers over stdio that clients name, to ask them for their tools, as the agents themselves start
    them. Turn it off where agents are shut in a sandbox and the gateway is not."""
    acp: tuple[str, ...] = ()
    """Command lines of ACP agents to try without a file: `"gemini --acp"` becomes the agent `gemini`."""
    store: str = Field(default_factory=default_store)
    """`sqlite:///PATH` or `memory:`."""
    token_file: Path | None = None
    """File with one token per line (`name:token` or just the token; `#` begins a comment)."""
    allow_origin: tuple[str, ...] = ()
    """Web origins, beside the gateway's own, whose pages may call it (`http://localhost:5173`)."""
    allow_host: tuple[str, ...] = ()
    """Host names, beside loopback and `host`, that a request may name (`gateway.example.org`)."""
    default_agent: str | None = None
    """The agent that CopilotKit's `default` stands for; unset: `demo`, or else the first."""

    body_limit: int = Field(default=32 * 1024 * 1024, gt=0)
    """Largest request body; more is refused with 413."""
    body_timeout: float = Field(default=30.0, gt=0)
    """A request's body must be complete within this; else 408."""
    header_limit: int = Field(default=64 * 1024, gt=0)
    """Largest request line and headers together; more is refused with 431."""
    header_timeout: float = Field(default=10.0, gt=0)
    """A request's headers must be complete within this; else the connection is closed."""
    keep_alive: float = Field(default=15.0, gt=0)
    """An SSE stream that is silent this long gets a comment line."""
    send_timeout: float = Field(default=600.0, gt=0)
    """A reader that takes nothing for this long is let go; it may attach again and loses nothing."""

    workspace: tuple[Path, ...] = Field(default_factory=lambda: (Path.cwd(),))
    """Folders that agents work in. The first is where they start; a run may choose another inside any of them."""
    session_idle_timeout: float = Field(default=900.0, gt=0)
    """A session that was not used so long is closed; the thread brings it back."""
    max_runs: int = Field(default=256, gt=0)
    """Runs live at once; one more is refused with 503."""
    max_watchers: int = Field(default=10_000, gt=0)
    """Watchers of the capability feed at once; one more is refused with 503."""
    stall_timeout: float = Field(default=900.0, gt=0)
    """A run whose agent says nothing this long fails with `AGENT_STALLED`; an agent's file may set its own."""
    cancel_grace: float = Field(default=3.0, ge=0)
    """How long a cancelled agent may take to end its turn by itself."""
    shutdown_grace: float = Field(default=8.0, ge=0)
    """At SIGTERM: how long live runs may go on before they are ended with `GATEWAY_STOPPING`."""
    interrupt_ttl: float = Field(default=3600.0, gt=0)
    """A question that nobody answers within this is answered `cancelled`."""
    max_queued_per_thread: int = Field(default=100, gt=0)
    """Messages that wait for one thread; one more is refused with 503 `QUEUE_FULL`."""
    max_queued: int = Field(default=10_000, gt=0)
    """Messages that wait for all threads together; one more is refused with 503 `QUEUE_FULL`."""

    log_tail_bytes: int = Field(default=4 * 1024 * 1024, gt=0)
    """How much of a live run's log is kept in memory; readers further behind are served from the store."""
    max_run_log_bytes: int = Field(default=1024 * 1024 * 1024, gt=0)
    """Largest log of one run; more fails the run with `RUN_TOO_LARGE`."""
    max_event_bytes: int = Field(default=10_000_000, gt=0, le=10_400_000)
    """Largest single event; clients refuse anything over 10 MiB. Long deltas are split, others fail the run."""
    retain_seconds: float = Field(default=30 * 86400.0, gt=0)
    """Logs of runs that ended longer ago are deleted."""
    retain_bytes: int = Field(default=2 * 1024 * 1024 * 1024, gt=0)
    """Above this much log in the store, the oldest ended runs are deleted."""
    prune_interval: float = Field(default=600.0, gt=0)
    """How often old logs are looked for."""
    retain_thread_events: int = Field(default=2000, gt=0)
    """Events of a thread's feed, receipts among them, that are kept; the oldest go first."""
    retain_all_thread_events: int = Field(default=500_000, gt=0)
    """The same for all threads together. `retain_seconds` holds for them too."""

    @field_validator("allow_origin")
    @classmethod
    def _origins(cls, origins: tuple[str, ...]) -> tuple[str, ...]:
        for origin in origins:
            scheme, _, rest = origin.partition("://")
            if scheme not in ("http", "https") or not rest or "/" in rest:
                raise ValueError(f"{origin!r} is not an origin: write it as scheme://host[:port], without a path")
        return tuple(origin.lower() for origin in origins)


def load(flags: Mapping[str, Any], environ: Mapping[str, str], file: Path | None = None) -> Settings:
    """`flags` holds only what was really given. Without `file`, `gateway.toml` in the working folder, if any."""
    path = file or Path("gateway.toml")
    from_file = _read_file(path) if file or path.is_file() else {}
    from_env = _read_environment(environ)
    try:
        return Settings(**{**from_file, **from_env, **flags})
    except ValidationError as exc:
        raise ConfigError(_explain(exc, path, from_env, flags)) from exc


def _read_file(path: Path) -> dict[str, Any]:
    try:
        found = tomllib.loads(path.read_text("utf-8"))
    except OSError as exc:
        raise ConfigError(f"{path}: cannot be read: {exc.strerror}") from exc
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as exc:
        raise ConfigError(f"{path}: not TOML: {exc}") from exc
    # A path in a file is meant from where the file stands.
    here = path.resolve().parent
    for key in ("agents", "workspace"):
        if isinstance(found.get(key), list):
            found[key] = [here / str(folder) for folder in found[key]]
    if isinstance(found.get("token_file"), str):
        found["token_file"] = here / found["token_file"]
    return found


def _read_environment(environ: Mapping[str, str]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for name, value in environ.items():
        if name.startswith(ENV_PREFIX) and value:
            key = name.removeprefix(ENV_PREFIX).lower()
            found[key] = _split(key, value) if key in LISTS else value
    return found


def _split(key: str, value: str) -> list[str]:
    separator = os.pathsep if key in ("agents", "workspace") else ","
    return [part.strip() for part in value.split(separator) if part.strip()]


def _explain(exc: ValidationError, path: Path, from_env: Mapping[str, Any], flags: Mapping[str, Any]) -> str:
    error = exc.errors(include_url=False)[0]
    key = str(error["loc"][0]) if error["loc"] else "settings"
    if key in flags:
        where = f"--{key.replace('_', '-')}"
    elif key in from_env:
        where = f"{ENV_PREFIX}{key.upper()}"
    else:
        where = f"{path}: {key}"
    if error["type"] == "extra_forbidden":
        return f"{where}: there is no such setting. Known: {', '.join(sorted(Settings.model_fields))}."
    return f"{where}: {error['msg'].removeprefix('Value error, ')}"
