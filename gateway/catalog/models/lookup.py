"""Finds the model that a name means.

In: models and a name from a user. Out: a verdict in agent-mux's terms. A name is never completed: the beginning of a
model's name does not stand for it, because `gpt-5` is not `gpt-5-mini`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from typing import Any, Literal

from gateway.catalog.models.definition import Model

Status = Literal["ok", "deprecated", "alias", "unknown", "ambiguous"]

MAX_SUGGESTIONS = 5
MIN_SIMILARITY = 0.5
"""How much of two names must agree for one to be suggested instead of the other."""
MAX_COMPARED_CHARS = 100
"""The time to compare two names grows with the square of their length."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """Whether a name is valid, and which model it means."""

    status: Status
    message: str
    model: Model | None = None
    suggestions: tuple[str, ...] = ()
    resolved: str | None = None
    """The model's id, where the name is another one."""

    @property
    def is_valid(self) -> bool:
        return self.model is not None

    def to_json(self) -> dict[str, Any]:
        """agent-mux's `ModelValidationResult`, without the model's own object."""
        result: dict[str, Any] = {"valid": self.is_valid, "status": self.status, "message": self.message}
        if not self.is_valid:
            result["suggestions"] = list(self.suggestions)
        if self.resolved is not None:
            result["resolvedModelId"] = self.resolved
        if self.model is not None and self.status == "deprecated" and self.model.successor is not None:
            result["successorModelId"] = self.model.successor
        return result


def find_model(models: Iterable[Model], name: str) -> Model | None:
    """The model with exactly this name; None: there is none, or more than one."""
    known = list(models)
    for is_match in (_has_id, _has_alias):
        if matches := [model for model in known if is_match(model, name)]:
            return matches[0] if len(matches) == 1 else None
    return None


def validate_name(agent: str, models: Sequence[Model], name: str) -> Verdict:
    """The verdict on a name, with suggestions where no model has it."""
    for is_match in MATCHERS:
        matches = [model for model in models if is_match(model, name)]
        if len(matches) == 1:
            return _valid(name, matches[0])
        if matches:
            return _ambiguous(agent, name, matches)
    longer = [model for model in models if name and any(each.startswith(name.lower()) for each in _names(model))]
    if len(longer) > 1:
        return _ambiguous(agent, name, longer)
    suggestions = suggest_models(models, name)
    message = f"Model {name[:MAX_COMPARED_CHARS]!r} not found for agent {agent!r}."
    hint = f" Did you mean {' or '.join(suggestions)}?" if suggestions else ""
    return Verdict("unknown", message + hint, suggestions=suggestions)


def _valid(name: str, model: Model) -> Verdict:
    resolved = None if name == model.id else model.id
    if model.deprecated:
        instead = f": use {model.successor!r} instead" if model.successor else ""
        return Verdict("deprecated", f"Model {model.id!r} is deprecated{instead}", model, (), resolved)
    if resolved is not None:
        return Verdict("alias", f"{name!r} is an alias for {model.id!r}", model, (), resolved)
    return Verdict("ok", f"Model {name!r} is valid", model)


def _ambiguous(agent: str, name: str, matches: Sequence[Model]) -> Verdict:
    candidates = tuple(model.id for model in matches)
    some = ", ".join(candidates[:MAX_SUGGESTIONS]) + (", …" if len(candidates) > MAX_SUGGESTIONS else "")
    message = f"Model {name[:MAX_COMPARED_CHARS]!r} of agent {agent!r} could be any of {some}"
    return Verdict("ambiguous", message, suggestions=candidates)


# -- how a name can match, the most certain first


def _has_id(model: Model, name: str) -> bool:
    return name == model.id


def _has_alias(model: Model, name: str) -> bool:
    return name == model.argument or name in model.aliases


def _has_name_in_any_case(model: Model, name: str) -> bool:
    return name.lower() in [each.lower() for each in (model.id, model.argument, *model.aliases) if each]


def _has_id_without_provider(model: Model, name: str) -> bool:
    return bool(name) and model.id.lower().endswith(f"/{name.lower()}")


MATCHERS: tuple[Callable[[Model, str], bool], ...] = (
    _has_id,
    _has_alias,
    _has_name_in_any_case,
    _has_id_without_provider,
)


def _names(model: Model) -> list[str]:
    """All names of the model, in lower case."""
    return [each.lower() for each in (model.id, model.id.rpartition("/")[2], *model.aliases)]


def suggest_models(models: Iterable[Model], name: str) -> tuple[str, ...]:
    """Ids of the models with the most similar names, at most `MAX_SUGGESTIONS`."""
    wanted = name.lower()[:MAX_COMPARED_CHARS]
    matcher = SequenceMatcher(None, "", wanted, autojunk=False)  # it analyses its second text only once
    scores = [
        (max(_similarity(matcher, wanted, each[:MAX_COMPARED_CHARS]) for each in _names(model)), model.id)
        for model in models
    ]
    best = sorted((pair for pair in scores if pair[0] >= MIN_SIMILARITY), key=lambda pair: -pair[0])
    return tuple(model_id for _, model_id in best[:MAX_SUGGESTIONS])


def _similarity(matcher: SequenceMatcher[str], wanted: str, known: str) -> float:
    """From 0 to 2: a name that contains the other scores above 1. The quick estimates come first; they exclude most."""
    is_contained = bool(wanted) and (wanted in known or known in wanted)
    matcher.set_seq1(known)
    if not is_contained and (matcher.real_quick_ratio() < MIN_SIMILARITY or matcher.quick_ratio() < MIN_SIMILARITY):
        return 0.0
    return is_contained + matcher.ratio()
