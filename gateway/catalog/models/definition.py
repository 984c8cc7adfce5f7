"""One model of an agent: `[[models]]` of its file.

The docstrings of the fields are the reference documentation of the format. A statement of the model takes precedence
over the agent's; a missing key means unknown.
"""

from __future__ import annotations

from datetime import date
from decimal import Decimal
from typing import Literal

from pydantic import Field

from gateway.catalog.sections import Level, Section


class PriceTable(Section):
    """US dollars per million tokens. Prices are decimals and are never rounded."""

    input: Decimal | None = Field(default=None, ge=0)
    """Input tokens. Default: unknown."""
    cached_input: Decimal | None = Field(default=None, ge=0)
    """Input tokens that were read from the provider's cache. Default: the same as `input`."""
    cache_write: Decimal | None = Field(default=None, ge=0)
    """Input tokens that were written to the provider's cache, for its usual time. Default: unknown."""
    cache_write_1h: Decimal | None = Field(default=None, ge=0)
    """Input tokens that were written to the provider's cache for one hour. Default: unknown."""
    output: Decimal | None = Field(default=None, ge=0)
    """Output tokens. Default: unknown."""
    thinking: Decimal | None = Field(default=None, ge=0)
    """Thinking tokens. Default: the same as `output`."""


class PriceTier(PriceTable):
    """The prices of requests with a long input. A price that is missing here is the same as without the tier."""

    above: int = Field(ge=1)
    """The tier holds for requests with more input tokens than this, and then for all tokens of the request."""


class Price(PriceTable):
    """US dollars per million tokens. Prices are decimals and are never rounded."""

    tiers: tuple[PriceTier, ...] = ()
    """Other prices for requests with a long input: `[{ above = 200_000, input = 2.5, output = 15 }]`."""


class Model(Section):
    """A model that the agent offers."""

    id: str
    """The model's id, as a run names it: `"claude-sonnet-4-5"`."""
    aliases: tuple[str, ...] = ()
    """Other names that a run may use, the most common first: `["sonnet"]`."""
    name: str | None = None
    """The name that users see. Default: the id."""
    default: bool = False
    """The model that the agent uses when a run names none."""
    deprecated: date | bool = False
    """The day since when the model is deprecated, or true where the day is unknown."""
    successor: str | None = None
    """The id of the model to use instead of a deprecated one."""
    context: int | None = None
    """The size of the context window in tokens."""
    output: int | None = None
    """The largest number of tokens in one answer."""
    thinking: bool | None = None
    """Whether the model can think."""
    max_thinking: int | None = None
    """The largest number of thinking tokens."""
    effort: dict[Level, str | int] | None = None
    """All effort levels of this model, each with the agent's value for it. Default: `effort.values` of the agent; an
    empty table: the model has no levels."""
    budget: tuple[int, int] | Literal[False] | None = None
    """The range of a thinking budget in tokens: `[1024, 31999]`; false: the model takes none. Default:
    `effort.budget_range` of the agent."""
    price: Price = Field(default_factory=Price)
    """The model's prices."""
    tools: bool | None = None
    """Whether the model can call tools."""
    parallel_tools: bool | None = None
    """Whether the model can make several tool calls at once."""
    tool_streaming: bool | None = None
    """Whether arguments of tool calls are streamed."""
    json_mode: bool | None = None
    """Whether the model has a mode in which it answers with JSON."""
    structured_output: bool | None = None
    """Whether the model can follow a JSON Schema."""
    text_streaming: bool | None = None
    """Whether text is streamed."""
    thinking_streaming: bool | None = None
    """Whether thinking is streamed."""
    image_input: bool | None = None
    """Whether the model reads images."""
    image_output: bool | None = None
    """Whether the model makes images."""
    file_input: bool | None = None
    """Whether files can be sent to the model. Text files an agent can insert as text, whatever the model."""
    pdf_input: bool | None = None
    """Whether the model reads PDF files. False takes the agent's own `pdf` away; true does not add it."""
    provider: str | None = None
    """Who serves the model: `"anthropic"`."""
    provider_model: str | None = None
    """The model's name at the provider. Default: the id."""
    protocol: Literal["chat", "responses", "messages", "custom"] | None = None
    """The provider's API that the agent uses."""
    deployment: Literal["hosted", "local", "gateway", "hybrid"] | None = None
    """Where the model runs."""
    local: bool | None = None
    """Whether the agent can also use the model from a server on this machine."""
    argument: str | None = None
    """The model's name for the agent. Default: the id."""
    verified: date | None = None
    """The day on which this entry was last compared with `source`. Default: `verified` of the file."""
    source: str | None = None
    """The address of the document from which the facts are taken."""


class UnlistedModel(Model):
    """A model that is in no list: only its name is known, from a run."""
