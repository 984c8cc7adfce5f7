"""The tools of an agent as they were recorded: `tools/ID.json` beside the agent's file.

In: an agent's definition. Out: each tool that the agent offered to its model, with a description and the JSON Schema of
its arguments; and the tools of each mode that has others. Agents report at most the names of their tools, so this is
what a client can know of them before a session, and what a session's own list is completed with. The files are written
by `python -m tests.live.record_tools ID`, from the requests of the real agent. Read when first needed, and again when
the file has changed.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, ValidationError

from gateway.catalog.definition import AgentDefinition

FOLDER = "tools"
MAX_FILES = 64
"""Files that are kept in memory: one for each agent."""

Item = dict[str, Any]


class RecordedTool(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")

    description: str
    parameters: dict[str, Any]


class RecordedTools(BaseModel):
    """The content of one file."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    agent: str
    version: str
    """Of the agent, when it was recorded."""
    transport: str
    """How it was run: the dialect, or `acp`. Another way to run the agent may offer other tools."""
    names: tuple[str, ...]
    """The tools of a session in its first mode."""
    modes: Mapping[str, tuple[str, ...]] = {}
    """Mode → its tools, where they are others."""
    tools: Mapping[str, RecordedTool]

    @property
    def source(self) -> str:
        return f"tools of {self.agent} {self.version}, recorded"

    def items(self, mode: str | None = None) -> list[Item]:
        """AG-UI's `tools.items` of a session in this mode. Each item names its source."""
        return [self._item(name) for name in self.modes.get(mode or "", self.names)]

    def _item(self, name: str) -> Item:
        tool = self.tools[name]
        source = {"gateway": {"source": "recorded"}}
        return {"name": name, "description": tool.description, "parameters": tool.parameters, "metadata": source}

    def all_items(self) -> list[Item]:
        """The tools of all modes."""
        return [self._item(name) for name in self.tools]


def recorded_tools(definition: AgentDefinition) -> RecordedTools | None:
    """None: there is no file, it cannot be read, or it is about another way to run the agent."""
    file = definition.source.parent / FOLDER / f"{definition.source.stem}.json"
    try:
        changed = file.stat().st_mtime_ns
    except OSError:
        return None
    recorded = _read(file, changed)
    transport = definition.driver if definition.cli is None else definition.cli.dialect
    return recorded if recorded is not None and recorded.transport == transport else None


@lru_cache(maxsize=MAX_FILES)
def _read(file: Path, changed: int) -> RecordedTools | None:
    try:
        return RecordedTools.model_validate_json(file.read_bytes())
    except (OSError, ValidationError):
        return None
