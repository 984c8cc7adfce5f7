"""A run's options and content checked against the snapshot, before anything starts.

In: a turn, the snapshot with the limits of its model (`model_choice` chooses that first), the agent's definition. Out:
the turn without the content that the agent cannot take, with a notice for each part. A refusal names the capability,
the source that states it, and what to do. `option_checks` has the rules of each option.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from gateway.capabilities.merge import Snapshot
from gateway.capabilities.option_checks import check_options, fact_at
from gateway.capabilities.views.mux_lookup import Fact
from gateway.catalog.definition import AgentDefinition
from gateway.catalog.models.definition import Model
from gateway.errors import BadInput, NotCapable
from gateway.turn import Notice, Turn

CONTENT_DROPPED = "CONTENT_DROPPED"
"""The notice of a content part that the agent does not take."""

MODALITIES = {"image": "image", "audio": "audio", "video": "video"}


def check_turn(turn: Turn, snapshot: Snapshot, definition: AgentDefinition, model: Model | None = None) -> Turn:
    """The turn without the content that the agent cannot take, with a notice for each part. Raises `NotCapable` for
    what must not be dropped; with the option `strict` nothing may be."""
    if turn.options.strict and turn.warnings:
        first = turn.warnings[0]
        raise BadInput(f"{first.message} (strict: nothing may be left out)", pointer=first.pointer, reason=first.code)
    return _drop_parts(check_options(turn, snapshot, definition, model), snapshot, definition)


def _drop_parts(turn: Turn, snapshot: Snapshot, definition: AgentDefinition) -> Turn:
    """Drops media of the newest user message that the agent is known not to take. Where nothing is known of a medium,
    it is kept: it may work."""
    index = next((i for i, m in reversed(list(enumerate(turn.messages))) if m["role"] == "user"), None)
    if index is None or isinstance(turn.messages[index]["content"], str):
        return turn
    content = turn.messages[index]["content"]
    remaining: list[dict[str, Any]] = []
    notices: list[Notice] = []
    for number, part in enumerate(content):
        fact = _find_fact(part, snapshot)
        if fact is None or fact.value is not False:
            remaining.append(part)
            continue
        pointer = f"/messages/{index}/content/{number}"
        detail = (
            f"{pointer}: the agent takes no such input: {fact.path} is false, stated by {fact.source}. "
            "Remove the part, or choose an agent that takes it."
        )
        if turn.options.strict or len(notices) + 1 == len(content):  # No content would be left.
            raise NotCapable(detail, agent=definition.id, capability=fact.path, source=fact.source, pointer=pointer)
        notices.append(Notice(CONTENT_DROPPED, detail, pointer, {"capability": fact.path, "source": fact.source}))
    if not notices:
        return turn
    messages = [*turn.messages]
    messages[index] = {**messages[index], "content": remaining}
    return replace(turn, messages=messages, warnings=(*turn.warnings, *notices))


def _find_fact(part: dict[str, Any], snapshot: Snapshot) -> Fact | None:
    """Whether the agent takes such a part; None if the part is no medium."""
    kind = part["type"]
    if kind in MODALITIES:
        return fact_at(snapshot, f"multimodal.input.{MODALITIES[kind]}")
    if kind != "document":
        return None
    mime = part["source"].get("mimeType", "").partition(";")[0].strip().lower()
    fact = fact_at(snapshot, f"multimodal.input.{'pdf' if mime == 'application/pdf' else 'file'}")
    return fact if fact.value is not None else fact_at(snapshot, "custom.mux.supportsFileAttachments")
