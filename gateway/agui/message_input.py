"""The body of `POST …/messages`: a message to a thread, outside of a run.

In: the bytes of the body. Out: AG-UI's user message and its delivery mode. A malformed body is refused with every
problem named by JSON pointer. So is an unknown key: a misspelt option must not be ignored silently.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any, Literal, cast
from uuid import uuid4

from gateway import jsonio
from gateway.agui import inbound
from gateway.agui.options import FORWARDED_PROPS
from gateway.agui.run_input_schema import NAMED_MESSAGE_FIELDS, TEXT_OR_PARTS
from gateway.agui.schema import Field, Findings, Name, Object, OneOf
from gateway.events import Json
from gateway.jsonio import dumps
from gateway.turn import Turn

Delivery = Literal["immediate", "next-tool-call", "on-idle"]
DELIVERY_MODES: tuple[Delivery, ...] = ("immediate", "next-tool-call", "on-idle")
DEFAULT_DELIVERY: Delivery = "on-idle"
"""It interrupts no turn."""

NAME = Name(512, "it is a name")

USER_MESSAGE = Object(
    (
        Field("role", OneOf(("user",)), default="user"),
        Field("id", NAME),
        *(field for field in NAMED_MESSAGE_FIELDS if field.key != "id"),
        Field("content", TEXT_OR_PARTS, "a message has content"),
    )
)
MESSAGE_INPUT = Object(
    (
        Field("message", USER_MESSAGE, "there is nothing to deliver"),
        Field("delivery", OneOf(DELIVERY_MODES), default=DEFAULT_DELIVERY),
        Field("deliveryId", NAME),
        Field("forwardedProps", FORWARDED_PROPS),
    ),
    is_closed=True,
)


@dataclass(frozen=True, slots=True)
class MessageInput:
    message: dict[str, Any]
    """AG-UI's user message, with an id."""
    has_client_id: bool
    """The client chose the message's id."""
    delivery: Delivery
    delivery_id: str | None
    forwarded_props: Json

    @property
    def is_plain_text(self) -> bool:
        """Whether the message has text only."""
        content = self.message["content"]
        return isinstance(content, str) or all(part.get("type") == "text" for part in content)

    def identity_bytes(self) -> bytes:
        """The same bytes for a post and for its repetition."""
        message = self.message if self.has_client_id else {**self.message, "id": None}
        return json.dumps([message, self.delivery, self.forwarded_props], sort_keys=True).encode()


def read_message_input(body: bytes) -> MessageInput:
    """Raises `errors.NotJson` or `errors.BadInput`, and nothing else."""
    findings = Findings()
    fields = MESSAGE_INPUT.read(jsonio.loads(body, inbound.MAX_DEPTH), (), findings)
    findings.raise_if_refused()
    message = fields["message"]
    return MessageInput(
        message if "id" in message else {"id": uuid4().hex, **message},
        "id" in message,
        cast(Delivery, fields["delivery"]),
        fields.get("deliveryId"),
        fields.get("forwardedProps"),
    )


def to_turn(message: dict[str, Any], forwarded_props: Json, thread_id: str, run_id: str) -> Turn:
    """The turn of a run that consists of the message."""
    body: dict[str, Any] = {"threadId": thread_id, "runId": run_id, "protocolVersion": "1.0", "messages": [message]}
    if forwarded_props is not None:
        body["forwardedProps"] = forwarded_props
    return inbound.read_run_input(dumps(body))
