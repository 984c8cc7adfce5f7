"""The models of one agent: those of its file and, after a refresh, those that the live agent lists.

In: an agent's definition; later, the list of the live agent. Out: its models, one found by name, a verdict on a name,
and agent-mux's JSON of each. Once the agent has listed its models, these are the ones that it offers; what only the
file has is known by name where the agent takes any. In memory only: a restart begins with the file again.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from decimal import Decimal
from typing import Any

from gateway.catalog.definition import AgentDefinition
from gateway.catalog.models.definition import Model
from gateway.catalog.models.discovery import merge_listed_model
from gateway.catalog.models.lookup import Verdict, find_model, validate_name
from gateway.catalog.models.mux_json import Source, describe
from gateway.catalog.models.prices import Tokens, calculate_cost, read_tokens

OPEN_MESSAGE = "A run may name it all the same: the agent takes names that are not listed."
FILE_MESSAGE = "So its file says; `models:refresh` asks the agent itself."


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
        return find_model(self.models(), name) or find_model(self._unlisted(), name)

    def find_known(self, name: str) -> Model | None:
        """Also by the provider's own name, which a run gives to have exactly that version."""
        return self.find(name) or next((model for model in self.models() if name == model.provider_model), None)

    def _unlisted(self) -> list[Model]:
        """Models of the file that the agent did not list and takes by their names."""
        if self._refreshed is None or not self.is_open:
            return []
        return [model for model in self._definition.models if model.id not in self._entries]

    def default(self) -> Model | None:
        """The model that is used when a run names none; None: unknown."""
        return next((model for model in self.models() if model.default), None)

    def validate(self, name: str) -> Verdict:
        verdict = validate_name(self._definition.id, self.models(), name)
        if verdict.model is None and (model := find_model(self._unlisted(), name)) is not None:
            verdict = validate_name(self._definition.id, [model], name)
        return verdict

    def validate_json(self, name: str) -> dict[str, Any]:
        """agent-mux's `ModelValidationResult`. `allowed`: whether a run may name it; `source`: who lists it."""
        verdict = self.validate(name)
        result = {**verdict.to_json(), "allowed": verdict.is_valid or self.is_open, "source": self.source}
        if verdict.model is not None:
            result["model"] = self.describe(verdict.model)
            result["source"] = result["model"]["source"]
            result["message"] += f". {FILE_MESSAGE}" if self.depends_on_user else ""
        elif self.is_open:
            result["message"] = f"{verdict.message.rstrip('.')}. {OPEN_MESSAGE}"
        return result

    def describe(self, model: Model) -> dict[str, Any]:
        """agent-mux's `ModelCapabilities`."""
        entry = self._entries.get(model.id, Entry(model))
        updated = (
            self._refreshed if entry.source == "remote" else _midnight(model.verified or self._definition.verified)
        )
        return describe(self._definition, model, entry.source, updated)

    def cost_json(self, model: Model, tokens: Tokens) -> dict[str, Any]:
        """What so many tokens cost; `reason` where that cannot be calculated."""
        cost = calculate_cost(model.price, tokens)
        result = {"agent": self._definition.id, "modelId": model.id, **cost.to_json()}
        if cost.is_priced:
            return result
        note = f": {self._definition.price_note}" if self._definition.price_note else ""
        return {**result, "reason": f"no price is known for {', '.join(cost.missing)} tokens of {model.id!r}{note}"}

    def usage_cost(self, entries: Iterable[Mapping[str, Any]], model: str | None) -> float | None:
        """US dollars of AG-UI's usage entries of a run. `model`: of an entry that names none. None: a price is not
        known, or depends on the length of each request, of which the entries have only the sum."""
        usd = Decimal(0)
        for entry in entries:
            name = entry.get("model") or model
            known = None if name is None else self.find(name) or self.validate(name).model
            if known is None:
                return None
            cost = calculate_cost(known.price, read_tokens(entry))
            if not cost.is_priced or cost.above is not None:
                return None
            usd += cost.usd
        return float(usd)

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
    def is_open(self) -> bool:
        """Whether the agent takes names that are not listed here.

        Where its file does not state it (`open_models`): the list of the agent itself is complete. A file's list is
        complete unless it shows that the agent also takes other models of its user: ids that begin with a provider
        (`anthropic/…`), a model that can be served on this machine or by a gateway. An empty list says nothing."""
        if self._definition.open_models is not None:
            return self._definition.open_models
        if not self._entries:
            return True
        return self._refreshed is None and any(map(_is_served_elsewhere, self.models()))

    @property
    def depends_on_user(self) -> bool:
        """The file lists models that the agent's user may or may not have, and the agent has not been asked yet."""
        is_stated = self._definition.open_models is not None
        return self._refreshed is None and bool(self._entries) and not is_stated and self.is_open

    def refresh(self, listed: Iterable[Any], at: datetime) -> None:
        """Takes over the list of the live agent: models that only the file has are not offered any more. Of a model
        that both have, what the agent does not state stays as in the file. An empty list changes nothing."""
        entries: dict[str, Entry] = {}
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
        if not entries:
            return
        self._entries = _with_default(entries, defaults[0]) if defaults else entries
        self._refreshed = at.isoformat(timespec="seconds").replace("+00:00", "Z")


def _find_known(entries: Mapping[str, Entry], bundled: Sequence[Model], name: str) -> Model | None:
    """An agent may list a model under a short name, which the file has as an alias."""
    model = find_model(bundled, name)
    entry = entries.get(name if model is None else model.id)
    return model if entry is None else entry.model


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
