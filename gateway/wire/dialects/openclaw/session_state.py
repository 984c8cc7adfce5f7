"""OpenClaw's list of models, as the gateway tells it."""

from __future__ import annotations

from typing import Any

from gateway.wire.fields import count, items, non_empty, obj, present, text


def model_list(payload: Any) -> list[dict[str, Any]]:
    """`provider/model`, as `model` of a run takes it."""
    found = []
    for model in items(obj(payload).get("models")):
        name, provider = non_empty(model.get("id")), non_empty(model.get("provider"))
        if name is None or provider is None or model.get("available") is False:
            continue
        levels = [level_id for level in items(model.get("thinkingLevels")) if (level_id := non_empty(level.get("id")))]
        about = {
            "id": f"{provider}/{name}",
            "name": text(model.get("name")),
            "provider": provider,
            "context": count(model.get("contextWindow")),
            "thinking": model["reasoning"] if isinstance(model.get("reasoning"), bool) else None,
            "thinkingLevels": levels,
            "default": True if "default" in (model.get("tags") or ()) else None,
        }
        found.append(present(about))
    return found
