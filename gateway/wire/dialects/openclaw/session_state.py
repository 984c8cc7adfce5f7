"""OpenClaw's list of models as the gateway's list."""

from __future__ import annotations

from typing import Any

from gateway.wire.fields import count, flag, items, non_empty, obj, present, strings, text


def read_models(payload: Any) -> list[dict[str, Any]]:
    """Models as `provider/model`, the form that a run's `model` takes."""
    models = []
    for model in items(obj(payload).get("models")):
        name = non_empty(model.get("id"))
        provider = non_empty(model.get("provider"))
        if name is None or provider is None or model.get("available") is False:
            continue
        levels = [level_id for level in items(model.get("thinkingLevels")) if (level_id := non_empty(level.get("id")))]
        entry = {
            "id": f"{provider}/{name}",
            "name": text(model.get("name")),
            "provider": provider,
            "context": count(model.get("contextWindow")),
            "thinking": flag(model.get("reasoning")),
            "efforts": levels,
            "default": True if "default" in strings(model.get("tags")) else None,
        }
        models.append(present(entry))
    return models
