"""Models as pi and omp list them → as the gateway's files do, and back.

In: answers to `get_available_models`: only models that somebody is signed in for. Out: entries with the keys of
`[[models]]`, and the two words that `set_model` wants. A model's name is `provider/id`; an id may have slashes, too.
"""

from __future__ import annotations

from typing import Any

from gateway.wire.fields import count, items, non_empty, obj, present, text

UNKNOWN = "unknown"
"""The provider of no model at all: nobody is signed in."""


def reference(model: Any) -> str | None:
    told = obj(model)
    provider, model_id = non_empty(told.get("provider")), non_empty(told.get("id"))
    return f"{provider}/{model_id}" if provider and model_id and provider != UNKNOWN else None


def listed(answer: dict[str, Any]) -> list[dict[str, Any]]:
    return [_entry(model, name) for model in _models(answer) if (name := reference(model)) is not None]


def named(answer: dict[str, Any], wished: str) -> dict[str, str] | None:
    """By its whole name, else the first that has this id."""
    models = _models(answer)
    whole = (model for model in models if reference(model) == wished)
    found = next(whole, None) or next((model for model in models if model.get("id") == wished), None)
    if found is None or reference(found) is None:
        return None
    return {"provider": found["provider"], "modelId": found["id"]}


def _models(answer: dict[str, Any]) -> list[dict[str, Any]]:
    return items(obj(answer.get("data")).get("models"))


def _entry(model: dict[str, Any], name: str) -> dict[str, Any]:
    takes = model.get("input") if isinstance(model.get("input"), list) else None
    cost = obj(model.get("cost"))
    prices = {"input": cost.get("input"), "cached_input": cost.get("cacheRead"), "output": cost.get("output")}
    entry = {
        "id": name,
        "name": text(model.get("name")),
        "provider": text(model.get("provider")),
        "context": count(model.get("contextWindow")),
        "output": count(model.get("maxTokens")),
        "thinking": model.get("reasoning") if isinstance(model.get("reasoning"), bool) else None,
        "image_input": None if takes is None else "image" in takes,
        "price": {key: value for key, value in prices.items() if _is_price(value)} or None,
    }
    return present(entry)


def _is_price(value: Any) -> bool:
    """A price of nothing is how a provider's own list says that it does not know."""
    return isinstance(value, int | float) and not isinstance(value, bool) and value > 0
