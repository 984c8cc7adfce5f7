"""Answers of users for fuzzing: anything that a client may send, and what of it is no clear yes.

In: an interrupt. Out: an `Answer`, and a check that an answer without a clear yes has approved of nothing.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from random import Random
from typing import Any

from gateway.events import Interrupt
from gateway.turn import Answer

UNCLEAR_PAYLOADS: tuple[Any, ...] = (
    None,
    True,
    1,
    -1,
    1.5,
    "",
    "yes",
    "true",
    "allow",
    [],
    [True],
    {},
    {"approved": None},
    {"approved": "true"},
    {"approved": 1},
    {"approved": [True]},
    {"approved": {"approved": True}},
    {"approved": False},
    {"optionId": None},
    {"optionId": True},
    {"optionId": 0},
    {"optionId": []},
    {"optionId": {"a": 1}},
    {"optionId": "no such option"},
    {"optionId": "no such option", "approved": True},
    {"editedArgs": {}},
    {"editedArgs": 7, "approved": True},
    {"feedback": "\ud800", "reason": 7},
    {"answer": None, "answers": [None, 7, {"a": "b"}]},
    {"decision": "accept", "action": "accept", "behavior": "allow", "kind": "approve-once"},
    {"role": "tool", "content": [{"type": "text", "text": "x"}, 7, None], "error": 7},
)
"""None of them allows anything: no offered option, and no `"approved": true` that stands uncontradicted."""

YES_IN_MESSAGE = re.compile(
    rb'"(?:behavior|decision|choice|reply|kind|action|response|value)":"(?i:allow|accept|approve|once|always|session|yes)'
    rb'|"(?:approved|confirmed|accepted)":true'
)
"""How the agents' protocols write a yes."""


def is_approval(interrupt: Interrupt) -> bool:
    """Whether the interrupt asks for a yes. A form may have a field of the same name, but not the same title."""
    properties = (interrupt.response_schema or {}).get("properties")
    field = properties.get("approved") if isinstance(properties, dict) else None
    return isinstance(field, dict) and field.get("title") == "Approve"


def random_answer(rng: Random, interrupt: Interrupt) -> tuple[Answer, bool]:
    """An answer, and whether it may be taken for a yes."""
    kind = rng.random()
    if kind < 0.1:
        return Answer(interrupt.id, "cancelled"), False
    if kind < 0.25:
        return Answer(interrupt.id, "resolved", {"approved": True}), True
    if kind < 0.5:
        return Answer(interrupt.id, "resolved", _filled_form(rng, interrupt)), True
    return Answer(interrupt.id, "resolved", rng.choice(UNCLEAR_PAYLOADS)), False


def check_no_yes(messages: Iterable[bytes], answer: Answer) -> None:
    """None of these messages for the agent, sent after an unclear answer to an approval request, is a yes."""
    for message in messages:
        assert not YES_IN_MESSAGE.search(message), f"{answer} became a yes: {message!r}"


def _filled_form(rng: Random, interrupt: Interrupt) -> Any:
    """The fields of the schema, each with a value that it lists, or with any value."""
    properties = (interrupt.response_schema or {}).get("properties")
    if not isinstance(properties, dict):
        return rng.choice(UNCLEAR_PAYLOADS)
    return {name: _field_value(rng, schema) for name, schema in properties.items() if rng.random() < 0.8}


def _field_value(rng: Random, schema: Any) -> Any:
    choices = schema.get("enum") if isinstance(schema, dict) else None
    if isinstance(choices, list) and choices and rng.random() < 0.8:
        return rng.choice(choices)
    return rng.choice((True, False, None, 7, "x", "", [], ["x"], {}, "\ud800"))
