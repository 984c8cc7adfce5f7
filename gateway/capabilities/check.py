"""A run's wishes held against the snapshot before anything starts. A refusal says which, who said so, what to do.

`choosing` finds the model first, for the snapshot has that model's limits in it; `wishes` has the rules for each wish.
"""

from __future__ import annotations

from dataclasses import fields, replace
from typing import Any

from gateway.capabilities.merge import Snapshot
from gateway.capabilities.option_checks import check_options, fact_at
from gateway.capabilities.views.mux_lookup import Fact
from gateway.catalog.capability_table import camel
from gateway.catalog.definition import AgentDefinition
from gateway.catalog.models.definition import Model
from gateway.errors import BadInput, NotCapable
from gateway.turn import Notice, Options, Turn

GATEWAYS_OWN = frozenset(("on_disconnect", "strict", "merge", "merge_window_ms"))
"""Options that the gateway itself carries out, for every agent."""

STANDS_FOR = {"outputFormat": "outputSchema"}
"""A wish that can be met by another one: JSON is an answer that fits a schema."""

DROPPED = "CONTENT_DROPPED"
"""The notice of a part that the agent does not take."""

MODALITIES = {"image": "image", "audio": "audio", "video": "video"}


def check(turn: Turn, snapshot: Snapshot, definition: AgentDefinition, model: Model | None = None) -> Turn:
    """The turn, without what the agent cannot take (a notice for each). Raises `NotCapable` for what must not be
    dropped; `strict` turns every drop into a refusal."""
    _options(turn.options, definition)
    if turn.options.strict and turn.warnings:
        first = turn.warnings[0]
        raise BadInput(f"{first.message} (strict: nothing may be left out)", pointer=first.pointer, reason=first.code)
    return _parts(check_options(turn, snapshot, definition, model), snapshot)


def _options(options: Options, definition: AgentDefinition) -> None:
    for field in fields(options):
        value = getattr(options, field.name)
        wish = camel(field.name)
        if value is None or field.name in GATEWAYS_OWN or {wish, STANDS_FOR.get(wish)} & set(definition.options):
            continue
        takes = ", ".join(definition.options) or "none"
        raise NotCapable(
            f"{definition.id!r} does not take the option {wish!r}: its definition ({definition.source.name}) "
            f"lists {takes}. Leave it out, or choose an agent that takes it.",
            capability=f"options.{wish}",
            source=f"profile ({definition.source.name})",
            pointer=f"/forwardedProps/gateway/{wish}",
        )


def _parts(turn: Turn, snapshot: Snapshot) -> Turn:
    """Media in the newest user message that the agent is known not to take. Unknown is let through: it may work."""
    index = next((i for i, m in reversed(list(enumerate(turn.messages))) if m["role"] == "user"), None)
    if index is None or isinstance(turn.messages[index]["content"], str):
        return turn
    content = turn.messages[index]["content"]
    kept: list[dict[str, Any]] = []
    notices: list[Notice] = []
    for number, part in enumerate(content):
        found = _found(part, snapshot)
        if found is None or found.value is not False:
            kept.append(part)
            continue
        pointer = f"/messages/{index}/content/{number}"
        detail = (
            f"{pointer}: the agent takes no such input: {found.path} is false, said by {found.said_by}. "
            "Remove the part, or choose an agent that takes it."
        )
        if turn.options.strict or len(notices) + 1 == len(content):  # without these nothing is left to say
            raise NotCapable(detail, capability=found.path, source=found.said_by, pointer=pointer)
        notices.append(Notice(DROPPED, detail, pointer, {"capability": found.path, "source": found.said_by}))
    if not notices:
        return turn
    messages = [*turn.messages]
    messages[index] = {**messages[index], "content": kept}
    return replace(turn, messages=messages, warnings=(*turn.warnings, *notices))


def _found(part: dict[str, Any], snapshot: Snapshot) -> Fact | None:
    """What is known of the agent and such a part; None: it is no medium."""
    kind = part["type"]
    if kind in MODALITIES:
        return fact_at(snapshot, f"multimodal.input.{MODALITIES[kind]}")
    if kind != "document":
        return None
    mime = part["source"].get("mimeType", "").partition(";")[0].strip().lower()
    found = fact_at(snapshot, f"multimodal.input.{'pdf' if mime == 'application/pdf' else 'file'}")
    return found if found.value is not None else fact_at(snapshot, "custom.mux.supportsFileAttachments")
