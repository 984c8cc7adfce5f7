"""What an agent's process can reach, decided before it starts."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from gateway.capability_paths import GATEWAY_SANDBOX
from gateway.drivers.process.resource_limits import ResourceLimits
from gateway.drivers.sandbox.hosts import HostRule
from gateway.events import Layer


@dataclass(frozen=True, slots=True)
class SandboxPolicy:
    """Equal policies may share a process."""

    kind: Literal["none", "bubblewrap", "container"] = "none"
    reason: str = field(default="", compare=False)
    """Why it is this kind, in a sentence."""
    warning: str | None = field(default=None, compare=False)
    """What the user should know: the process runs with less isolation than it should have."""
    folders: tuple[Path, ...] = ()
    """Writable; the first is the one in which the session works."""
    home_read: tuple[str, ...] = ()
    """Below the home directory, each beginning with `~/`; a directory ends with `/`."""
    home_write: tuple[str, ...] = ()
    visible: tuple[Path, ...] = ()
    """Read-only, besides the system's directories: the folder of the agent's file."""
    hidden: tuple[Path, ...] = ()
    """Never visible, wherever they are: the gateway's own files."""
    hosts: tuple[HostRule, ...] = ()
    owner: str = ""
    """The principal. Processes in a sandbox are never shared between principals."""
    exchange: Path = Path()
    """A directory of the gateway's that is visible inside, read-only: sockets and files for the agent."""
    limits: ResourceLimits = ResourceLimits()

    @property
    def is_wrapped(self) -> bool:
        return self.kind == "bubblewrap"

    def to_layer(self) -> Layer:
        """The facts, by path of the snapshot."""
        facts: dict[str, Any] = {
            "kind": self.kind,
            "reason": self.reason,
            "warning": self.warning,
            **{f"limits.{name}": value for name, value in self.limits.to_json().items()},
        }
        if self.is_wrapped:
            facts["hosts"] = [str(rule) for rule in self.hosts]
            facts["writable"] = [*map(str, self.folders), *self.home_write]
        return {f"{GATEWAY_SANDBOX}.{name}": value for name, value in facts.items() if value is not None}
