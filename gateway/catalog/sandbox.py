"""`[sandbox]` and `[limits]` of an agent's file: what the agent's process can reach, and how much it may use.

The docstrings of the fields are the reference documentation of the format. Both hold for every way to run the agent.
"""

from __future__ import annotations

import re
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BeforeValidator, Field

from gateway.catalog.sections import Section

SandboxMode = Literal["auto", "none", "bubblewrap", "container"]

_HOST = re.compile(r"(\*\.)?[A-Za-z0-9_]([A-Za-z0-9_.-]*[A-Za-z0-9_])?(:\d{1,5})?|\[[0-9A-Fa-f:.]+\](:\d{1,5})?")


def check_host(text: str) -> str:
    """`api.example.com`, `*.example.com`, `127.0.0.1:8080`, `[::1]:8080`."""
    if not _HOST.fullmatch(text):
        raise ValueError(f"{text!r} is not a host: write a name or an address, perhaps with a port, without a scheme")
    return text.lower()


HostPattern = Annotated[str, AfterValidator(check_host)]


def _read_mode(value: Any) -> Any:
    """A plain string stands for `mode`."""
    return {"mode": value} if isinstance(value, str) else value


def _check_home_path(text: str) -> str:
    parts = text.removesuffix("/").split("/")
    if parts[0] != "~" or len(parts) < 2 or "" in parts[1:] or ".." in parts or "." in parts[1:]:
        raise ValueError(f"{text!r} is not a path below the home directory: write it as ~/NAME, a directory as ~/NAME/")
    return text


HomePath = Annotated[str, AfterValidator(_check_home_path)]


class SandboxTable(Section):
    """What the agent's process can reach in a sandbox. `sandbox = "none"` is short for a table with only `mode`."""

    mode: SandboxMode = "auto"
    """Whether the process runs in a sandbox. `auto`: in untrusted folders, and where tool calls are approved without
    a question (`approvals: auto`, `auto_approve_modes`). `none`: never. `bubblewrap`: always. `container`: the gateway
    itself runs in a container, which is the boundary. The gateway's setting `sandbox` takes precedence."""
    home_read: tuple[HomePath, ...] = ()
    """What the process sees of the home directory, besides what it may write. A directory, written with a final `/`, is
    read-only. Of a file the process gets a copy: it may change the copy, and the changes are dropped."""
    home_write: tuple[HomePath, ...] = ()
    """What the process may change in the home directory. A directory, written with a final `/`, is created if it is
    missing. Never name anything here that is executed outside of the sandbox: hooks, settings, plugins, caches of
    programs."""
    hosts: tuple[HostPattern, ...] = ()
    """The hosts that the process may connect to, at ports 80 and 443 or at the one that is named:
    `["api.anthropic.com", "*.example.com", "example.org:8443"]`. The gateway's setting `sandbox_hosts` adds to them."""


Sandbox = Annotated[SandboxTable, BeforeValidator(_read_mode, json_schema_input_type=SandboxTable | SandboxMode)]


class LimitTable(Section):
    """The most that one process of the agent may use, with all that it starts. A missing key: the gateway's setting
    `limit_…`."""

    memory: int | None = Field(default=None, gt=0)
    """Bytes of memory: of all its processes together in a cgroup, otherwise of each one."""
    processes: int | None = Field(default=None, gt=0)
    """Processes at the same time; in a cgroup threads count too."""
    cpu_seconds: int | None = Field(default=None, gt=0)
    """Seconds of processor time of each process."""
    file_bytes: int | None = Field(default=None, gt=0)
    """The largest file that it may write, in bytes."""
