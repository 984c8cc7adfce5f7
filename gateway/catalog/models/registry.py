"""The models of one agent: those of its file and, after a refresh, those that the live agent lists.

In: an agent's definition; later, the list of the live agent. Out: its models, one found by name, a verdict on a name,
and agent-mux's JSON of each. In memory only: a restart begins with the file again.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from typing import Any

from gateway.catalog.definition import AgentDefinition
from gateway.catalog.models.definition import Model
from gateway.catalog.models.discovery import merge_listed_model
from gateway.catalog.models.lookup import Verdict, find_model, validate_name
from gateway.catalog.models.mux_json import Source, describe


@dataclass(frozen=True, slots=True)
class Entry:
    """A model and where it is from."""

    model: Model
    source: Source = "bundled"


class ModelRegistry:
    """The models of one agent."""

    def __init__(self, definition: AgentDefinition) -> None:
        self._definition = definition
        self._entries = {model.id: Entry(model) for model in definition.models}
        self._refreshed: str | None = None

    def models(self) -> list[Model]:
        return [entry.model for entry in self._entries.values()]

    def to_json(self) -> list[dict[str, Any]]:
        """Each model's `ModelCapabilities`, and whether it is the default."""
        default = self.default()
        return [{**self.describe(model), "isDefault": model is default} for model in self.models()]

    def find(self, name: str) -> Model | None:
        """By its id, by its name for the agent, or by an alias that no other model has."""
        return find_model(self.models(), name)

    def default(self) -> Model | None:
        """The model that is used when a run names none; None: unknown."""
        return next((model for model in self.models() if model.default), None)

    def validate(self, name: str) -> Verdict:
        return validate_name(self._definition.id, self.models(), name)

    def validate_json(self, name: str) -> dict[str, Any]:
        """agent-mux's `ModelValidationResult`."""
        verdict = self.validate(name)
        result = verdict.to_json()
        return result if verdict.model is None else {**result, "model": self.describe(verdict.model)}

    def describe(self, model: Model) -> dict[str, Any]:
        """agent-mux's `ModelCapabilities`."""
        entry = self._entries.get(model.id, Entry(model))
        updated = (
            self._refreshed if entry.source == "remote" else _midnight(model.verified or self._definition.verified)
        )
        return describe(self._definition, model, entry.source, updated)

    @property
    def source(self) -> Source:
        """`remote` once the agent has listed its models."""
        return "bundled" if self._refreshed is None else "remote"

    @property
    def last_updated(self) -> str | None:
        """When the agent last listed its models, otherwise when its file was last verified. None: never."""
        if self._refreshed is not None:
            return self._refreshed
        days = [model.verified for model in self._definition.models] + [self._definition.verified]
        return _midnight(max((day for day in days if day is not None), default=None))

    @property
    def is_complete(self) -> bool:
        """Whether a model that is missing here is not available.

        True once the agent itself has listed its models. A file's list counts as complete unless it shows that the
        agent also takes other models of its user: ids that begin with a provider (`anthropic/…`), a model that can be
        served on this machine or by a gateway. An empty list says nothing."""
        if self._refreshed is not None:
            return bool(self._entries)
        return bool(self._entries) and not any(map(_is_served_elsewhere, self.models()))

    def refresh(self, listed: Iterable[Any], at: datetime) -> None:
        """Takes over the list of the live agent. What it does not state stays as in the file, and so do models that
        only the file has."""
        entries = {model.id: Entry(model) for model in self._definition.models}
        defaults: list[str] = []
        for item in listed:
            if not isinstance(item, Mapping):
                continue  # an agent's list may contain anything
            name = item.get("id")
            known = _find_known(entries, self._definition.models, name) if isinstance(name, str) else None
            model = merge_listed_model(item, known, self._definition.effort.values)
            if model is not None:
                entries[model.id] = Entry(model, "remote")
                defaults += [model.id] if item.get("default") is True else []
        self._entries = _with_default(entries, defaults[0]) if defaults else entries
        self._refreshed = at.isoformat(timespec="seconds").replace("+00:00", "Z")


def _find_known(entries: Mapping[str, Entry], bundled: Sequence[Model], name: str) -> Model | None:
    """An agent may list a model under a short name, which the file has as an alias."""
    model = find_model(bundled, name)
    entry = entries.get(name if model is None else model.id)
    return None if entry is None else entry.model


def _with_default(entries: Mapping[str, Entry], default: str) -> dict[str, Entry]:
    """The default that the agent states replaces the file's."""
    return {
        name: Entry(entry.model.model_copy(update={"default": name == default}), entry.source)
        for name, entry in entries.items()
    }


def _is_served_elsewhere(model: Model) -> bool:
    return "/" in model.id or model.local is True or model.deployment in ("local", "gateway", "hybrid")


def _midnight(day: date | None) -> str | None:
    return None if day is None else f"{day.isoformat()}T00:00:00Z"
