"""One frozen `Settings`: defaults < `gateway.toml` < environment (`AGUI_GATEWAY_*`) < flags.

In: a file, the environment, flags. Out: `Settings`, or a `ConfigError` that names the flag, the variable or the key.
Every limit of the gateway is a setting, and an error that a limit causes names it. The docstrings of the fields are
the reference documentation.
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
LIST_SETTINGS = ("agents", "acp", "workspace", "allow_origin", "allow_host")
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


def data_dir() -> Path:
    """The directory of the user's data (XDG Base Directory)."""
    return Path(os.environ.get("XDG_DATA_HOME") or Path.home() / ".local" / "share") / "agui-gateway"


def default_store() -> str:
    """The URL of a database in the user's data directory."""
    return f"sqlite://{data_dir() / 'gateway.db'}"


class Settings(BaseModel):
    """All settings of the gateway. Times are seconds, sizes are bytes.

    Each can be set in `gateway.toml` (`port = 8123`), by an environment variable (`AGUI_GATEWAY_PORT`) and, where
    `agui-gateway serve --help` lists it, by a flag (`--port`)."""

    model_config = ConfigDict(frozen=True, extra="forbid", use_attribute_docstrings=True, allow_inf_nan=False)

    host: str = "127.0.0.1"
    """The address to listen on. Any address but a loopback one requires `token_file`."""
    port: int = Field(default=8123, ge=0, le=65535)
    """The port to listen on; 0 chooses a free one."""
    agents: tuple[Path, ...] = ()
    """Directories of agent files, added to the bundled agents in this order. An agent with the same id replaces the
    earlier one."""
    watch: bool = True
    """Apply changes of agent files while the gateway runs."""
    allow_private_addresses: bool = False
    """Allow private and loopback addresses for agents that are registered over HTTP and for MCP servers that clients
    name. Agents of files may always be there."""
    probe_mcp_stdio: bool = True
    """Start the stdio MCP servers that clients name, to list their tools, as the agents themselves do. Turn this off
    where agents run in a sandbox and the gateway does not."""
    acp: tuple[str, ...] = ()
    """Command lines of ACP agents without a file: `"gemini --acp"` becomes the agent `gemini`."""
    store: str = Field(default_factory=default_store)
    """Where threads and run logs are kept: `sqlite:///PATH`, or `memory:` to keep nothing. Default: `gateway.db` in the
    user's data directory."""
    token_file: Path | None = None
    """A file with one token per line, as `name:token` or just the token; `#` begins a comment. Default: no token is
    required."""
    allow_origin: tuple[str, ...] = ()
    """Web origins, besides the gateway's own, whose pages may call it: `http://localhost:5173`."""
    allow_host: tuple[str, ...] = ()
    """Host names, besides loopback names and `host`, that a request may use: `gateway.example.org`."""
    default_agent: str | None = None
    """The agent behind CopilotKit's `default`. Default: `demo`, or the first agent where there is no `demo`."""

    body_limit: int = Field(default=8 * 1024 * 1024, gt=0)
    """The largest request body, and the largest message of a WebSocket; a larger body is refused with 413."""
    max_body_items: int = Field(default=100_000, gt=0)
    """How many values (members of arrays and objects) a request's JSON may have; more are refused with 413 before they
    are parsed."""
    body_timeout: float = Field(default=30.0, gt=0)
    """Seconds within which a request's body must be complete; otherwise it is refused with 408."""
    header_limit: int = Field(default=64 * 1024, gt=0)
    """The largest size of request line and headers together; more is refused with 431."""
    header_timeout: float = Field(default=10.0, gt=0)
    """Seconds within which a request's headers must be complete; otherwise the connection is closed."""
    keep_alive: float = Field(default=15.0, gt=0)
    """Seconds of silence after which an SSE stream gets a comment line, so that proxies keep it open."""
    send_timeout: float = Field(default=600.0, gt=0)
    """Seconds without reading after which a client is disconnected. It can reconnect and loses nothing."""

    workspace: tuple[Path, ...] = Field(default_factory=lambda: (Path.cwd(),))
    """Directories in which agents may work. Agents start in the first; a run may choose another directory inside any of
    them. Default: the current directory."""
    session_idle_timeout: float = Field(default=900.0, gt=0)
    """Seconds after which an unused session of an agent is closed. The thread's next run resumes it."""
    max_runs: int = Field(default=256, gt=0)
    """How many runs may be live at once; one more is refused with 503."""
    max_sessions: int = Field(default=512, gt=0)
    """How many sessions with agents may be open at once, most of them with a process of their own. For one more an idle
    session of the same principal is closed; if it has none it is refused with 503."""
    max_watchers: int = Field(default=10_000, gt=0)
    """How many clients may watch capabilities at once; one more is refused with 503."""
    max_thread_feeds: int = Field(default=4000, gt=0)
    """How many clients may read the events of threads at once; one more is refused with 503."""
    max_sockets: int = Field(default=256, gt=0)
    """How many WebSockets may be open at once; one more is refused with 503."""
    max_body_bytes: int = Field(default=128 * 1024 * 1024, gt=0)
    """How many bytes of request bodies may be in memory at once, until they are parsed; more are refused with 503."""
    max_mcp_servers: int = Field(default=64, gt=0)
    """To how many MCP servers that clients name the gateway connects at once, to list their tools."""
    stall_timeout: float = Field(default=900.0, gt=0)
    """Seconds without an event after which a run fails with `AGENT_STALLED`. An agent's file may set its own."""
    cancel_grace: float = Field(default=3.0, ge=0)
    """Seconds that a cancelled agent has to end its turn itself."""
    shutdown_grace: float = Field(default=8.0, ge=0)
    """Seconds that live runs may go on after SIGTERM before they end with `GATEWAY_STOPPING`."""
    interrupt_ttl: float = Field(default=3600.0, gt=0)
    """Seconds after which an unanswered interrupt is cancelled."""
    max_queued_per_thread: int = Field(default=100, gt=0)
    """How many messages may be queued for one thread; one more is refused with 503 `QUEUE_FULL`."""
    max_queued: int = Field(default=10_000, gt=0)
    """How many messages may be queued for all threads together; one more is refused with 503 `QUEUE_FULL`."""
    max_interrupts: int = Field(default=100, gt=0)
    """How many interrupts an agent may request at once; a run with more fails with `TOO_MANY_INTERRUPTS`."""

    max_runs_per_principal: int | None = Field(default=None, gt=0)
    """How many runs of one principal may be live at once; one more is refused with 429. Default: a quarter of
    `max_runs`; where no token is required, `max_runs`."""
    max_sessions_per_principal: int | None = Field(default=None, gt=0)
    """How many sessions with agents one principal may have open at once. For one more its oldest idle session is
    closed; if all are in use it is refused with 429. Default: a quarter of `max_sessions`; where no token is required,
    `max_sessions`."""
    max_sockets_per_principal: int | None = Field(default=None, gt=0)
    """How many WebSockets of one principal may be open at once; one more is refused with 429. Default: a quarter of
    `max_sockets`; where no token is required, `max_sockets`."""
    max_thread_feeds_per_principal: int | None = Field(default=None, gt=0)
    """How many feeds of thread events one principal may read at once; one more is refused with 429. Default: a quarter
    of `max_thread_feeds`; where no token is required, `max_thread_feeds`."""
    max_watchers_per_principal: int | None = Field(default=None, gt=0)
    """How many capability feeds one principal may watch at once; one more is refused with 429. Default: a quarter of
    `max_watchers`; where no token is required, `max_watchers`."""
    max_mcp_servers_per_principal: int | None = Field(default=None, gt=0)
    """To how many MCP servers of one principal the gateway connects at once. The tools of one more are not listed, and
    its status names this limit; the agent has it all the same. Default: a quarter of `max_mcp_servers`; where no token
    is required, `max_mcp_servers`."""
    max_queued_per_principal: int | None = Field(default=None, gt=0)
    """How many messages of one principal may be queued for its threads together; one more is refused with 429.
    Default: a quarter of `max_queued`; where no token is required, `max_queued`."""
    max_body_bytes_per_principal: int | None = Field(default=None, gt=0)
    """How many bytes of one principal's request bodies may be in memory at once, until they are parsed; more are
    refused with 429. Default: a quarter of `max_body_bytes`; where no token is required, `max_body_bytes`."""
    max_requests_per_second: float | None = Field(default=None, gt=0)
    """How many requests one principal may send in a second, messages of WebSockets included; more are refused with 429.
    A body counts as one request more for each 16 KiB. Default: 200; where no token is required, any number."""
    max_request_burst: int = Field(default=1000, gt=0)
    """How many requests a principal that was quiet may send at once before `max_requests_per_second` holds."""
    max_tokens_per_day: int | None = Field(default=None, gt=0)
    """How many tokens the runs of one principal may use in a day (UTC), by what agents report; the next run is refused
    with 429 until the day is over. A run that is live is not cut. Default: any number."""
    max_cost_per_day: float | None = Field(default=None, gt=0)
    """How many US dollars the runs of one principal may cost in a day (UTC), by what agents report and their models'
    prices; the next run is refused with 429. Tokens of a model without a known price cost nothing here: limit them by
    `max_tokens_per_day`. Default: any amount."""
    max_failed_logins: int = Field(default=20, gt=0)
    """How many wrong tokens one address may send in a minute; after that it is refused with 429, even with a right
    token, unless that token's principal was there before."""

    log_tail_bytes: int = Field(default=4 * 1024 * 1024, gt=0)
    """How much of a live run's log is kept in memory. Clients that are further behind read from the store."""
    max_run_log_bytes: int = Field(default=1024 * 1024 * 1024, gt=0)
    """The largest log of one run; a run with more fails with `RUN_TOO_LARGE`."""
    max_event_bytes: int = Field(default=10_000_000, gt=0, le=10_400_000)
    """The largest single event; clients refuse more than 10 MiB. Longer deltas are split, other events fail the run."""
    retain_seconds: float = Field(default=30 * 86400.0, gt=0)
    """How long the logs of ended runs are kept."""
    retain_bytes: int = Field(default=2 * 1024 * 1024 * 1024, gt=0)
    """How much log the store keeps. Above this, the oldest ended runs are deleted."""
    prune_interval: float = Field(default=600.0, gt=0)
    """Seconds between two deletions of old logs."""
    retain_thread_events: int = Field(default=2000, gt=0)
    """How many events of a thread, delivery receipts among them, are kept; the oldest are deleted first."""
    retain_all_thread_events: int = Field(default=500_000, gt=0)
    """How many events of all threads together are kept. `retain_seconds` applies to them too."""

    @field_validator("allow_origin")
    @classmethod
    def _check_origins(cls, origins: tuple[str, ...]) -> tuple[str, ...]:
        for origin in origins:
            scheme, _, rest = origin.partition("://")
            if scheme not in ("http", "https") or not rest or "/" in rest:
                raise ValueError(f"{origin!r} is not an origin: write it as scheme://host[:port], without a path")
        return tuple(origin.lower() for origin in origins)


def load(flags: Mapping[str, Any], environ: Mapping[str, str], file: Path | None = None) -> Settings:
    """`flags`: only those that the user has set. Without `file`: `gateway.toml` of the current directory, if any."""
    path = file or Path("gateway.toml")
    from_file = _read_file(path) if file or path.is_file() else {}
    from_env = _read_environment(environ)
    try:
        return Settings(**{**from_file, **from_env, **flags})
    except ValidationError as exc:
        raise ConfigError(_explain(exc, path, from_env, flags)) from exc


def _read_file(path: Path) -> dict[str, Any]:
    try:
        table = tomllib.loads(path.read_text("utf-8"))
    except OSError as exc:
        raise ConfigError(f"{path}: cannot be read: {exc.strerror}") from exc
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as exc:
        raise ConfigError(f"{path}: not TOML: {exc}") from exc
    # A path in a file is relative to the file.
    base = path.resolve().parent
    for key in ("agents", "workspace"):
        if isinstance(table.get(key), list):
            table[key] = [base / str(folder) for folder in table[key]]
    if isinstance(table.get("token_file"), str):
        table["token_file"] = base / table["token_file"]
    return table


def _read_environment(environ: Mapping[str, str]) -> dict[str, Any]:
    values: dict[str, Any] = {}
    for name, value in environ.items():
        if name.startswith(ENV_PREFIX) and value:
            key = name.removeprefix(ENV_PREFIX).lower()
            values[key] = _split(key, value) if key in LIST_SETTINGS else value
    return values


def _split(key: str, value: str) -> list[str]:
    separator = os.pathsep if key in ("agents", "workspace") else ","
    return [part.strip() for part in value.split(separator) if part.strip()]


def _explain(exc: ValidationError, path: Path, from_env: Mapping[str, Any], flags: Mapping[str, Any]) -> str:
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
