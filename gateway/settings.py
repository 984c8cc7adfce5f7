"""One frozen `Settings`, and the directories that belong to the user.

In: values from `configuration`. Out: `Settings`, checked. Every limit of the gateway is a setting, and an error that a
limit causes names it. The docstrings of the fields are the reference documentation.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from ipaddress import ip_network
from pathlib import Path
from typing import Any, Literal, TypeAlias
from urllib.parse import urlsplit

from pydantic import BaseModel, ConfigDict, Field, field_validator

Scope: TypeAlias = Literal["read", "run", "approve", "programs", "admin"]
"""Of `identity.SCOPES`."""

ENV_PREFIX = "AGUI_GATEWAY_"

MAX_RUN_SECONDS = 366 * 86400.0
"""The largest `run_timeout`. Timers take no more than this, and clients read it as an integer of milliseconds."""

LOOPBACK_NAMES = ("localhost", "127.0.0.1", "::1")


def data_dir() -> Path:
    """The directory of the user's data (XDG Base Directory)."""
    return _user_directory(os.environ, "XDG_DATA_HOME", ".local/share")


def config_dir(environ: Mapping[str, str]) -> Path:
    """The directory of the user's configuration (XDG Base Directory)."""
    return _user_directory(environ, "XDG_CONFIG_HOME", ".config")


def _user_directory(environ: Mapping[str, str], variable: str, default: str) -> Path:
    """A relative path counts as none, as the convention has it: it would mean the current directory
    (https://specifications.freedesktop.org/basedir-spec/latest/)."""
    base = environ.get(variable, "")
    return (Path(base) if os.path.isabs(base) else Path.home() / default) / "agui-gateway"


def default_homes() -> Path:
    return data_dir() / "homes"


def default_store() -> str:
    """The URL of a database in the user's data directory."""
    return f"sqlite://{data_dir() / 'gateway.db'}"


class SettingsGroup(BaseModel):
    """Base of all groups: frozen, and a key that there is not is an error."""

    model_config = ConfigDict(frozen=True, extra="forbid", use_attribute_docstrings=True, allow_inf_nan=False)


class ServerSettings(SettingsGroup):
    """Where the gateway listens, which agents it has, where it keeps its data, how it reads requests."""

    config: Path | None = None
    """The settings file, as a flag or a variable names it. Default: `agui-gateway/gateway.toml` in the user's
    configuration directory (`$XDG_CONFIG_HOME` or `~/.config`), if it exists. A `gateway.toml` in the current directory
    is read only if it is named."""
    host: str = "127.0.0.1"
    """The address to listen on. At any address but a loopback one every request needs a token."""
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


class AccessSettings(SettingsGroup):
    """Who may call the gateway, and with whose accounts agents work."""

    token_file: Path | None = None
    """The file of tokens that `agui-gateway token add` makes; every request then needs one. It is read again when it
    changes. Default: only the person at the machine may call (`local_auth`)."""
    local_auth: Literal["auto", "user", "token", "none"] = "auto"
    """How the person at the machine is known where no tokens are given out. `user`: the calling process must run as the
    gateway's own user or as root, and be none that the gateway started; this needs Linux and a loopback `host`.
    `token`: by a token in the user's data directory, which the gateway makes and prints as a part of its URL. `auto`:
    `user` where it can be known, otherwise `token`. `none`: everybody, for an application that embeds the gateway and
    checks its callers itself; `serve` refuses it."""
    oidc_issuer: str | None = None
    """The OpenID Connect issuer whose tokens (JWTs) are accepted: `https://login.example.org/realms/main`. Needs
    `oidc_audience`."""
    oidc_audience: str | None = None
    """The audience (`aud`) that such a token must be for."""
    oidc_jwks_url: str | None = None
    """Where the issuer's keys are. Default: where its discovery document says."""
    oidc_principal_claim: str = "sub"
    """The claim that names the principal, which becomes `oidc:NAME`."""
    oidc_scope_claim: str = "scope"
    """The claim whose values `oidc_scopes` maps to scopes; dots lead into objects: `realm_access.roles`."""
    oidc_scopes: dict[str, tuple[Scope, ...]] = Field(default={"*": ("read", "run")})
    """Values of that claim, and the scopes that each gives; `"*"` is for every token of the issuer:
    `{ "*" = ["read"], "agents-user" = ["run", "approve"] }`. As an environment variable: JSON."""
    oidc_leeway: float = Field(default=60.0, ge=0, le=600)
    """Seconds by which the issuer's clock may differ from this one."""
    proxy: tuple[str, ...] = ()
    """Addresses or networks of proxies whose forwarded headers are trusted: `127.0.0.1`, `10.0.0.0/24`. The host and
    the origin that they forward are then this gateway's own. Their requests always need a credential."""
    proxy_user_header: str | None = None
    """The header in which these proxies name the user that they have authenticated, who becomes the principal
    `proxy:NAME`: `X-Forwarded-User`. The proxy must remove this header from what its clients send."""
    proxy_user_scopes: tuple[Scope, ...] = ("read", "run")
    """The scopes of such users."""
    allow_programs: tuple[str, ...] = ()
    """What runs may start without the scope `programs`: command lines of stdio MCP servers, exactly as they are
    started (`"uvx mcp-server-time"`), and folders of skills outside the workspace."""
    allow_install: bool = False
    """Allow administrators to install agents, and their plugins, over HTTP, by the commands of the agents' files."""
    allow_origin: tuple[str, ...] = ()
    """Web origins, besides the gateway's own, whose pages may call it: `http://localhost:5173`."""
    allow_host: tuple[str, ...] = ()
    """Host names, besides loopback names and `host`, that a request may use: `gateway.example.org`."""
    credentials: Literal["shared", "principal"] = "shared"
    """Whose account agents use, unless their file says otherwise. `shared`: all principals use the sign-in and the keys
    of the gateway's own user. `principal`: each principal's agents run in a home directory of its own, with its own
    sign-in, keys and session files (`agui-gateway login`): providers forbid to serve others through one account."""
    homes: Path = Field(default_factory=default_homes)
    """The directory of the principals' home directories. Default: `homes` in the user's data directory."""
    credentials_dir: Path | None = None
    """A directory with one directory for each principal, which has one file for each environment variable, such as a
    mounted volume of secrets: `CREDENTIALS_DIR/ann/ANTHROPIC_API_KEY`. Used with `credentials = "principal"`."""
    shared_env: tuple[str, ...] = ()
    """Variables of the gateway's environment that agents get even with `credentials = "principal"`:
    `["ANTHROPIC_BASE_URL"]`; `"CORP_*"` for all with that prefix. Default: none."""

    @field_validator("allow_origin")
    @classmethod
    def _check_origins(cls, origins: tuple[str, ...]) -> tuple[str, ...]:
        for origin in origins:
            scheme, _, rest = origin.partition("://")
            if scheme not in ("http", "https") or not rest or "/" in rest:
                raise ValueError(f"{origin!r} is not an origin: write it as scheme://host[:port], without a path")
        return tuple(origin.lower() for origin in origins)

    @field_validator("proxy")
    @classmethod
    def _check_proxies(cls, proxies: tuple[str, ...]) -> tuple[str, ...]:
        for proxy in proxies:
            try:
                network = ip_network(proxy)
            except ValueError as exc:
                raise ValueError(f"{proxy!r} is no address or network: write it as 127.0.0.1 or 10.0.0.0/24") from exc
            if network.prefixlen == 0:
                raise ValueError(f"{proxy!r} is every address: name your proxies")
        return proxies

    @field_validator("oidc_scopes", mode="before")
    @classmethod
    def _parse_scope_table(cls, table: Any) -> Any:
        if not isinstance(table, str):
            return table
        try:
            return json.loads(table)
        except ValueError as exc:
            raise ValueError("must be a JSON object") from exc

    @field_validator("oidc_issuer", "oidc_jwks_url")
    @classmethod
    def _check_issuer_urls(cls, url: str | None) -> str | None:
        parts = urlsplit(url or "https://none")
        if parts.scheme != "https" and (parts.scheme != "http" or parts.hostname not in LOOPBACK_NAMES):
            raise ValueError(f"{url!r} must begin with https:// (http:// is for this machine only)")
        return url


class WorkspaceSettings(SettingsGroup):
    """Where agents work, and how they are isolated."""

    workspace: tuple[Path, ...] = Field(default_factory=lambda: (Path.cwd(),))
    """Directories in which agents may work. Agents start in the first; a run may choose another directory inside any of
    them. Default: the current directory."""
    worktree: bool = False
    """Each new thread works in a git worktree and on a branch of its own, so that threads do not change each other's
    files. An agent's file or a run's option `worktree` may say otherwise. A folder that is in no git repository is used
    as it is, with a warning."""
    worktrees: Path = Field(default_factory=lambda: data_dir() / "worktrees")
    """The directory of the threads' worktrees. Default: `worktrees` in the user's data directory."""
    trust: tuple[Path, ...] = ()
    """Directories that are trusted for everybody: agents read the configuration (hooks, MCP servers, plugins) of
    projects in them. Other directories are trusted with `agui-gateway trust`, or when the user is asked."""
    trust_file: Path = Field(default_factory=lambda: data_dir() / "trust.json")
    """Where trusted directories of users are kept. Default: `trust.json` in the user's data directory."""
    unknown_folder: Literal["ask", "untrusted", "refuse"] = "ask"
    """What happens in a directory that is not known to be trusted. `ask`: the first run asks the user before the agent
    starts. `untrusted`: the agent starts without the project's configuration, where it can. `refuse`: no run
    starts."""
    sandbox: Literal["auto", "none", "bubblewrap", "container"] | None = None
    """How the processes of all agents are isolated, whatever their files say: `auto`, `none`, `bubblewrap` or
    `container` (docs/isolation.md). Default: each agent's own `sandbox`, which is `auto` unless its file says
    otherwise."""
    sandbox_hosts: tuple[str, ...] = ()
    """Hosts that every agent in a sandbox may connect to, besides those of its file: `api.example.com`,
    `*.example.com`, `127.0.0.1:8080`. Only what is listed here may have a private address."""
    limit_memory: int | None = Field(default=None, gt=0)
    """The most memory of one agent process. An agent's file may set its own limits."""
    limit_processes: int | None = Field(default=2048, gt=0)
    """The most processes that one agent process may have at the same time, itself included."""
    limit_cpu_seconds: int | None = Field(default=None, gt=0)
    """The most processor time of each process of an agent."""
    limit_file_bytes: int | None = Field(default=None, gt=0)
    """The largest file that a process of an agent may write."""


class LimitSettings(SettingsGroup):
    """How much there may be of everything, in all and for each principal."""

    session_idle_timeout: float = Field(default=900.0, gt=0)
    """Seconds after which an unused session of an agent is closed. The thread's next run resumes it."""
    max_idle_sessions: int = Field(default=32, ge=0)
    """How many unused sessions may stay open; of more, the ones that were used first are closed. The next run of their
    thread resumes them."""
    max_idle_memory: int | None = Field(default=None, gt=0)
    """Bytes that the processes of agents may use together before unused sessions are closed, the ones that were used
    first at the beginning. Default: half of the machine's memory."""
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
    run_timeout: float = Field(default=86400.0, gt=0, le=MAX_RUN_SECONDS)
    """Seconds after which a run is stopped with `RUN_TIMEOUT`, whatever it does. The time that an interrupt waits for
    its answer does not count: the answer begins another run. An agent's file may set its own."""
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


class RetentionSettings(SettingsGroup):
    """How much of the logs is kept, and how long."""

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

    audit_retain_seconds: float = Field(default=365 * 86400.0, gt=0)
    """How long entries of the audit log are kept, independent of the other limits."""


class Settings(RetentionSettings, LimitSettings, WorkspaceSettings, AccessSettings, ServerSettings):
    """All settings of the gateway. Times are seconds, sizes are bytes.

    Each can be set in `gateway.toml` (`port = 8123`), by an environment variable (`AGUI_GATEWAY_PORT`) and, where
    `agui-gateway serve --help` lists it, by a flag (`--port`)."""
