"""The table `[[fallback]]` of an agent's file: another way to run the agent.

In: the keys of the table. Out: a frozen section, checked. The docstrings are the reference documentation of the format.
"""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from gateway.catalog.capability_table import CapabilityTable
from gateway.catalog.field_types import OptionNames
from gateway.catalog.sections import Acp, Cli, Command, Section
from gateway.catalog.trust import FallbackTrust


class Fallback(Section):
    """Another way to run the agent, used when those before it are not available."""

    name: str = Field(pattern=r"^[a-z0-9-]+$")
    """A short name, shown as `custom.gateway.transport` while it is in use."""
    driver: Literal["acp", "cli"]
    """The driver of this way."""
    command: Command
    """The command of this way."""
    acp: Acp = Field(default_factory=Acp)
    """Settings of driver `acp`."""
    cli: Cli | None = None
    """Settings of driver `cli`."""
    options: OptionNames | None = None
    """The options that a run may set. Default: the `options` of the file."""
    capabilities: CapabilityTable = Field(default_factory=dict)
    """Capabilities that differ. They are merged over the `[capabilities]` of the file."""
    trust: FallbackTrust | None = None
    """What is added to the command of this way, by whether the folder is trusted. Default: the `[trust.untrusted]` and
    `[trust.trusted]` of the file."""
