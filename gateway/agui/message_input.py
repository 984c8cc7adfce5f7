"""A message that is posted to a thread, without a run around it.

In: the bytes of the body. Out: AG-UI's user message and how it is to be delivered. What is malformed is refused with
every problem named by JSON pointer, and so is a key that is not known: a misspelt wish must not become another one.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any, Literal, cast
from uuid import uuid4

from gateway import jsonio
from gateway.agui import inbound
from gateway.agui.options import FORWARDED_PROPS
from gateway.agui.run_input_schema import NAMED, TEXT_OR_PARTS
from gateway.agui.schema import Choice, Field, Findings, Line, Object
from gateway.events import Json
from gateway.jsonio import dumps
from gateway.turn import Turn

Delivery = Literal["immediate", "next-tool-call", "on-idle"]
MODES: tuple[Delivery, ...] = ("immediate", "next-tool-call", "on-idle")
DEFAULT: Delivery = "on-idle"
"""The one that disturbs nobody."""

NAME = Line(512, "it is a name")

USER = Object(
    (
        Field("role", Choice(("user",)), default="user"),
        Field("id", NAME),
        *(field for field in NAMED if field.key != "id"),
        Field("content", TEXT_OR_PARTS, "a message says something"),
    )
)
POSTED = Object(
    (
        Field("message", USER, "there is nothing to deliver"),
        Field("delivery", Choice(MODES), default=DEFAULT),
        Field("deliveryId", NAME),
        Field("forwardedProps", FORWARDED_PROPS),
    ),
    closed=True,
)


@dataclass(frozen=True, slots=True)
class MessageInput:
    message: dict[str, Any]
    """AG-UI's user message, with an id."""
    named: bool
    """Its id is the client's own."""
    delivery: Delivery
    delivery_id: str | None
    forwarded_props: Json

    @property
    def plain(self) -> bool:
        """Nothing but text."""
        content = self.message["content"]
        return isinstance(content, str) or all(part.get("type") == "text" for part in content)

    def asked(self) -> bytes:
        """What one post of it has in common with its repetition."""
        message = self.message if self.named else {**self.message, "id": None}
        return json.dumps([message, self.delivery, self.forwarded_props], sort_keys=True).encode()


def read(body: bytes) -> MessageInput:
    """Raises `errors.NotJson` or `errors.BadInput`, and nothing else."""
    found = Findings()
    given = POSTED.read(jsonio.loads(body, inbound.MAX_DEPTH), (), found)
    found.settle()
    message = given["message"]
    return MessageInput(
        message if "id" in message else {"id": uuid4().hex, **message},
        "id" in message,
        cast(Delivery, given["delivery"]),
        given.get("deliveryId"),
        given.get("forwardedProps"),
    )


def as_turn(message: dict[str, Any], forwarded_props: Json, thread_id: str, run_id: str) -> Turn:
    """The run that the message would be."""
    body = {"threadId": thread_id, "runId": run_id, "protocolVersion": "1.0", "messages": [message]}
    return inbound.read(dumps(body if forwarded_props is None else {**body, "forwardedProps": forwarded_props}))
