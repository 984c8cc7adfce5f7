"""MCP elicitations ↔ AG-UI interrupts: a server asks the user to fill in a form, or to open a URL.

In: the params of `elicitation/create`, which ACP, codex and copilot hand on in MCP's form
(https://modelcontextprotocol.io/specification/2025-11-25/client/elicitation), and the user's answer. Out: an
`Interrupt`, and the result for the server. An answer that is not clearly a yes is never an `accept`.
"""

from __future__ import annotations

from typing import Any

from gateway.events import Interrupt
from gateway.turn import Answer
from gateway.wire.fields import obj, present, text, without_meta

DEFAULT_MESSAGE = "The agent asks for input."
CONSENT_SCHEMA = {"type": "object", "properties": {"accepted": {"type": "boolean", "title": "Opened"}}}
"""For a URL: the user has opened it, which is all that `accept` means there."""


def elicitation_interrupt(
    interrupt_id: str,
    params: Any,
    tool_call_id: str | None = None,
    *,
    subagent: str | None = None,
    metadata: dict[str, Any] | None = None,
) -> Interrupt:
    """A form becomes the schema of the answer. A URL is shown whole, for the user to judge and open. `metadata`: what
    the dialect shows of the request, by the agent's name; the URL is added to it."""
    request = obj(params)
    message = text(request.get("message")) or DEFAULT_MESSAGE
    url = text(request.get("url"))
    schema = request.get("requestedSchema")
    return Interrupt(
        id=interrupt_id,
        reason="input_required",
        message=f"{message}\n{url}" if url else message,
        tool_call_id=tool_call_id,
        response_schema=without_meta(schema) if isinstance(schema, dict) else CONSENT_SCHEMA,
        metadata=(metadata or {}) | ({"url": url} if url else {}),
        subagent=subagent,
    )


def elicitation_metadata(params: Any, *keys: str) -> dict[str, Any]:
    """These fields of the request, as far as they are texts."""
    return present({key: text(obj(params).get(key)) for key in keys})


def elicitation_result(params: Any, answer: Answer) -> dict[str, Any]:
    """MCP's result: `action` and, for a form that was filled in, `content`."""
    if answer.status != "resolved":
        return {"action": "cancel"}
    if obj(params).get("mode") == "url":
        is_accepted = answer.payload is True or obj(answer.payload).get("accepted") is True
        return {"action": "accept" if is_accepted else "decline"}
    if not isinstance(answer.payload, dict):
        return {"action": "decline"}
    return {"action": "accept", "content": answer.payload}
