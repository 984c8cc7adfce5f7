"""Which model a name means.

In: models and a name that somebody wrote. Out: a verdict in agent-mux's words. A name is never stretched: the start of
one model's name is not taken for it, for `gpt-5` is not `gpt-5-mini`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from typing import Any, Literal

from gateway.catalog.models.definition import Model

Status = Literal["ok", "deprecated", "alias", "unknown", "ambiguous"]

SUGGESTED = 5
ALIKE = 0.5
"""How much of two names must agree before one is suggested for the other."""
COMPARED = 100
"""Characters of a name: comparing takes the square of them."""


@dataclass(frozen=True, slots=True)
class Verdict:
    status: Status
    message: str
    model: Model | None = None
    suggestions: tuple[str, ...] = ()
    resolved: str | None = None
    """The id that another name stands for."""

    @property
    def valid(self) -> bool:
        return self.model is not None

    def json(self) -> dict[str, Any]:
        """agent-mux's `ModelValidationResult`, but for the model's own object."""
        told: dict[str, Any] = {"valid": self.valid, "status": self.status, "message": self.message}
        if not self.valid:
            told["suggestions"] = list(self.suggestions)
        if self.resolved is not None:
            told["resolvedModelId"] = self.resolved
        if self.model is not None and self.status == "deprecated" and self.model.successor is not None:
            told["successorModelId"] = self.model.successor
        return told


def find_model(models: Iterable[Model], name: str) -> Model | None:
    """The model of exactly this name; None: there is none, or several."""
    known = list(models)
    for matches in (_by_id, _by_other):
        if found := [model for model in known if matches(model, name)]:
            return found[0] if len(found) == 1 else None
    return None


def judge(agent: str, models: Sequence[Model], name: str) -> Verdict:
    for matches in WAYS:
        found = [model for model in models if matches(model, name)]
        if len(found) == 1:
            return _good(name, found[0])
        if found:
            return _ambiguous(agent, name, found)
    begun = [model for model in models if name and any(each.startswith(name.lower()) for each in _names(model))]
    if len(begun) > 1:
        return _ambiguous(agent, name, begun)
    suggestions = suggest(models, name)
    message = f"Model {name[:COMPARED]!r} not found for agent {agent!r}."
    hint = f" Did you mean {' or '.join(suggestions)}?" if suggestions else ""
    return Verdict("unknown", message + hint, suggestions=suggestions)


def _good(name: str, model: Model) -> Verdict:
    resolved = None if name == model.id else model.id
    if model.deprecated:
        instead = f": use {model.successor!r} instead" if model.successor else ""
        return Verdict("deprecated", f"Model {model.id!r} is deprecated{instead}", model, (), resolved)
    if resolved is not None:
        return Verdict("alias", f"{name!r} is an alias for {model.id!r}", model, (), resolved)
    return Verdict("ok", f"Model {name!r} is valid", model)


def _ambiguous(agent: str, name: str, found: Sequence[Model]) -> Verdict:
    candidates = tuple(model.id for model in found)
    some = ", ".join(candidates[:SUGGESTED]) + (", …" if len(candidates) > SUGGESTED else "")
    message = f"Model {name[:COMPARED]!r} of agent {agent!r} could be any of {some}"
    return Verdict("ambiguous", message, suggestions=candidates)


# -- ways to mean a model, the surest first


def _by_id(model: Model, name: str) -> bool:
    return name == model.id


def _by_other(model: Model, name: str) -> bool:
    return name == model.argument or name in model.aliases


def _by_any_case(model: Model, name: str) -> bool:
    return name.lower() in [each.lower() for each in (model.id, model.argument, *model.aliases) if each]


def _without_provider(model: Model, name: str) -> bool:
    return bool(name) and model.id.lower().endswith(f"/{name.lower()}")


WAYS: tuple[Callable[[Model, str], bool], ...] = (_by_id, _by_other, _by_any_case, _without_provider)


def _names(model: Model) -> list[str]:
    """All that it is called, in lower case."""
    return [each.lower() for each in (model.id, model.id.rpartition("/")[2], *model.aliases)]


def suggest(models: Iterable[Model], name: str) -> tuple[str, ...]:
    """Ids of the models whose names are most like this one, at most `SUGGESTED`."""
    wanted = name.lower()[:COMPARED]
    matcher = SequenceMatcher(None, "", wanted, autojunk=False)  # it remembers what it found out about the second
    scored = [(max(_alike(matcher, wanted, each[:COMPARED]) for each in _names(model)), model.id) for model in models]
    best = sorted((one for one in scored if one[0] >= ALIKE), key=lambda one: -one[0])
    return tuple(name for _, name in best[:SUGGESTED])


def _alike(matcher: SequenceMatcher[str], wanted: str, known: str) -> float:
    """A name inside the other counts more than any likeness. The quick looks come first: they tell most apart."""
    inside = bool(wanted) and (wanted in known or known in wanted)
    matcher.set_seq1(known)
    if not inside and (matcher.real_quick_ratio() < ALIKE or matcher.quick_ratio() < ALIKE):
        return 0.0
    return inside + matcher.ratio()
