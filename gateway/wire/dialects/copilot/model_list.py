"""The models that Copilot's SDK server lists."""

from __future__ import annotations

from typing import Any

from gateway.wire.fields import count, items, non_empty, obj, present, text

Data = dict[str, Any]


def models(result: Data) -> list[Data]:
    """`models.list`; only for somebody who is signed in."""
    return [_model(one) for one in items(result.get("models")) if non_empty(one.get("id"))]


def _model(told: Data) -> Data:
    able, limits = (obj(obj(told.get("capabilities")).get(key)) for key in ("supports", "limits"))
    efforts = told.get("supportedReasoningEfforts")
    return present(
        {
            "id": told["id"],
            "name": text(told.get("name")),
            "context": count(limits.get("max_context_window_tokens")),
            "output": count(limits.get("max_output_tokens")),
            "image_input": _flag(able.get("vision")),
            "tools": _flag(able.get("toolCalls")),
            "efforts": [one for one in efforts if isinstance(one, str)] if isinstance(efforts, list) else None,
            "provider": text(told.get("vendor")),
        }
    )


def _flag(value: Any) -> bool | None:
    return value if isinstance(value, bool) else None
