"""What a model provider says inside an agent's error text."""

from __future__ import annotations

from gateway.wire.fields import count, non_empty, obj, parse_json


def unwrap_provider_json(message: str) -> tuple[str, int | None]:
    """The provider's own message and HTTP status, if the text is the JSON body of its error; else the text as it is.

    Known bodies: `{"error": {"message", "code"}}` (Google, OpenAI, Anthropic) and `{"message"}`.
    """
    if not message.lstrip().startswith("{"):
        return message, None
    body = obj(parse_json(message))
    error = obj(body.get("error"))
    text = non_empty(error.get("message")) or non_empty(body.get("message")) or message
    return text, count(error.get("code"))
