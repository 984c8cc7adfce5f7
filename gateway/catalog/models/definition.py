"""One model of an agent: `[[models]]` of its file. What the model says beats what the agent says."""

from __future__ import annotations

from datetime import date
from decimal import Decimal
from typing import Literal

from pydantic import Field

from gateway.catalog.sections import Level, Section


class Price(Section):
    """US dollars for a million tokens, exactly."""

    input: Decimal | None = Field(default=None, ge=0)
    cached_input: Decimal | None = Field(default=None, ge=0)
    """Left out: as `input`."""
    output: Decimal | None = Field(default=None, ge=0)
    thinking: Decimal | None = Field(default=None, ge=0)
    """Left out: as `output`."""


class Model(Section):
    id: str
    aliases: tuple[str, ...] = ()
    """Short names, the most usual first."""
    name: str | None = None
    """Shown to people."""
    default: bool = False
    """Used when none is asked for."""
    deprecated: date | bool = False
    """Since when, or just that it is."""
    successor: str | None = None
    """What to use instead."""
    context: int | None = None
    """Tokens of its window."""
    output: int | None = None
    """Tokens of one answer at most."""
    thinking: bool | None = None
    """Whether it thinks at all."""
    max_thinking: int | None = None
    """Tokens of thinking at most."""
    effort: dict[Level, str | int] | None = None
    """The levels it offers, all of them, with the agent's own words; left out: as the agent's table says; an empty
    table: none."""
    budget: tuple[int, int] | Literal[False] | None = None
    """The range of a numeric budget; false: it takes none."""
    price: Price = Field(default_factory=Price)
    tools: bool | None = None
    parallel_tools: bool | None = None
    tool_streaming: bool | None = None
    json_mode: bool | None = None
    structured_output: bool | None = None
    text_streaming: bool | None = None
    thinking_streaming: bool | None = None
    image_input: bool | None = None
    image_output: bool | None = None
    file_input: bool | None = None
    provider: str | None = None
    """Who serves it."""
    provider_model: str | None = None
    """Its name there, where it differs."""
    protocol: Literal["chat", "responses", "messages", "custom"] | None = None
    deployment: Literal["hosted", "local", "gateway", "hybrid"] | None = None
    local: bool | None = None
    """The agent can also take it from a server on this machine."""
    argument: str | None = None
    """What the agent is given as the model's name, where that is not its id."""
    verified: date | None = None
    """When this was last held against `source`; left out: with the file."""
    source: str | None = None
