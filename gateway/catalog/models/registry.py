"""The models of one agent: those that its file lists and, once it was asked, those that it lists itself.

In: an agent's definition; later, what the live agent listed. Out: its models, one found by name, a verdict on a name,
and agent-mux's JSON of each. In memory only: a restart begins with the file again.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from typing import Any

from gateway.catalog.definition import AgentDefinition
from gateway.catalog.models.definition import Model
from gateway.catalog.models.discovery import heard
from gateway.catalog.models.lookup import Verdict, find_model, judge
from gateway.catalog.models.mux_json import Source, describe


@dataclass(frozen=True, slots=True)
class Entry:
    model: Model
    source: Source = "bundled"


class ModelRegistry:
    def __init__(self, definition: AgentDefinition) -> None:
        self._definition = definition
        self._entries = {model.id: Entry(model) for model in definition.models}
        self._refreshed: str | None = None

    def models(self) -> list[Model]:
        return [entry.model for entry in self._entries.values()]

    def catalog(self) -> list[dict[str, Any]]:
        """Each model's `ModelCapabilities`, and whether it is the default."""
        default = self.default()
        return [{**self.describe(model), "isDefault": model is default} for model in self.models()]

    def find(self, name: str) -> Model | None:
        """By its id, by what the agent is given as its name, or by an alias that is no other's."""
        return find_model(self.models(), name)

    def default(self) -> Model | None:
        """Used when a run asks for none; None: nobody says which."""
        return next((model for model in self.models() if model.default), None)

    def validate(self, name: str) -> Verdict:
        return judge(self._definition.id, self.models(), name)

    def validation(self, name: str) -> dict[str, Any]:
        """agent-mux's `ModelValidationResult`."""
        verdict = self.validate(name)
        told = verdict.json()
        return told if verdict.model is None else {**told, "model": self.describe(verdict.model)}

    def describe(self, model: Model) -> dict[str, Any]:
        """agent-mux's `ModelCapabilities`."""
        entry = self._entries.get(model.id, Entry(model))
        updated = self._refreshed if entry.source == "remote" else _stamp(model.verified or self._definition.verified)
        return describe(self._definition, model, entry.source, updated)

    @property
    def source(self) -> Source:
        return "bundled" if self._refreshed is None else "remote"

    @property
    def last_updated(self) -> str | None:
        """When the agent was last asked; else when its file was last held against the world. None: never."""
        if self._refreshed is not None:
            return self._refreshed
        days = [model.verified for model in self._definition.models] + [self._definition.verified]
        return _stamp(max((day for day in days if day is not None), default=None))

    @property
    def complete(self) -> bool:
        """Whether a model that is not here cannot be had.

        So it is once the agent itself has listed its models. A file's list is taken for complete unless it shows that
        the agent takes models from wherever its user has them: ids that begin with a provider (`anthropic/…`), a model
        that may be served on this machine, or by a gateway. An empty list says nothing."""
        if self._refreshed is not None:
            return bool(self._entries)
        return bool(self._entries) and not any(map(_from_elsewhere, self.models()))

    def refreshed(self, listed: Iterable[Any], at: datetime) -> None:
        """The live agent has listed its models. What it is silent about stays as the file has it, and so do models
        that only the file knows."""
        entries = {model.id: Entry(model) for model in self._definition.models}
        chosen: list[str] = []
        for told in listed:
            if not isinstance(told, Mapping):
                continue  # an agent's list may hold anything
            name = told.get("id")
            known = _known(entries, self._definition.models, name) if isinstance(name, str) else None
            model = heard(told, known, self._definition.effort.values)
            if model is not None:
                entries[model.id] = Entry(model, "remote")
                chosen += [model.id] if told.get("default") is True else []
        self._entries = _with_default(entries, chosen[0]) if chosen else entries
        self._refreshed = at.isoformat(timespec="seconds").replace("+00:00", "Z")


def _known(entries: Mapping[str, Entry], bundled: Sequence[Model], name: str) -> Model | None:
    """An agent may list a model under a short name that the file has as an alias."""
    found = find_model(bundled, name)
    entry = entries.get(name if found is None else found.id)
    return None if entry is None else entry.model


def _with_default(entries: Mapping[str, Entry], chosen: str) -> dict[str, Entry]:
    """The agent's own word on its default takes the place of the file's."""
    return {
        name: Entry(entry.model.model_copy(update={"default": name == chosen}), entry.source)
        for name, entry in entries.items()
    }


def _from_elsewhere(model: Model) -> bool:
    return "/" in model.id or model.local is True or model.deployment in ("local", "gateway", "hybrid")


def _stamp(day: date | None) -> str | None:
    return None if day is None else f"{day.isoformat()}T00:00:00Z"
