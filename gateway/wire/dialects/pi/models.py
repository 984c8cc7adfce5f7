"""Models as pi and omp list them, in the gateway's form, and back.

In: responses to `get_available_models`, which has only models with a sign-in. Out: entries with the keys of
`[[models]]` in an agent's TOML file, and the params of `set_model`. A model's name is `provider/id`; an id may have
slashes, too.
"""

from __future__ import annotations

from typing import Any

from gateway.errors import AgentFault
from gateway.wire.fields import amount, count, flag, items, non_empty, obj, present, strings, text

NO_PROVIDER = "unknown"
"""The provider of the placeholder model that pi has without a sign-in."""

PRICE_FIELDS = {"input": "input", "cached_input": "cacheRead", "cache_write": "cacheWrite", "output": "output"}
"""Keys of a price in `[[models]]` → the agent's."""


def model_name(model: Any) -> str | None:
    """`provider/id`; None: no model."""
    provider = non_empty(obj(model).get("provider"))
    model_id = non_empty(obj(model).get("id"))
    return f"{provider}/{model_id}" if provider and model_id and provider != NO_PROVIDER else None


def read_models(response: dict[str, Any]) -> list[dict[str, Any]]:
    return [_to_entry(model, name) for model in _models(response) if (name := model_name(model)) is not None]


def find_model(response: dict[str, Any], wanted: str) -> dict[str, str] | None:
    """The params of `set_model` for a whole name, or for the first model with this id."""
    models = [model for model in _models(response) if model_name(model) is not None]
    by_name = next((model for model in models if model_name(model) == wanted), None)
    model = by_name or next((model for model in models if model.get("id") == wanted), None)
    return None if model is None else {"provider": model["provider"], "modelId": model["id"]}


def missing_model(agent: str, response: dict[str, Any], wanted: str) -> AgentFault:
    """Why `find_model` has no model of this name."""
    if not read_models(response):
        return AgentFault(f"{agent} offers no model at all: there is no sign-in for any provider", code="AUTH_REQUIRED")
    return AgentFault(f"{agent} offers no model {wanted!r}, or has no sign-in for it", code="MODEL_NOT_FOUND")


def _models(response: dict[str, Any]) -> list[dict[str, Any]]:
    return items(obj(response.get("data")).get("models"))


def _to_entry(model: dict[str, Any], name: str) -> dict[str, Any]:
    inputs = model.get("input")
    cost = obj(model.get("cost"))
    # A price of 0 is how a provider's list says that the price is unknown.
    prices = {key: amount(cost.get(field)) for key, field in PRICE_FIELDS.items()}
    entry = {
        "id": name,
        "name": text(model.get("name")),
        "provider": text(model.get("provider")),
        "context": count(model.get("contextWindow")),
        "output": count(model.get("maxTokens")),
        "thinking": flag(model.get("reasoning")),
        "image_input": "image" in strings(inputs) if isinstance(inputs, list) else None,
        "price": present(prices) or None,
    }
    return present(entry)
