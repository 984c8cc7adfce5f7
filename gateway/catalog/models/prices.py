"""Tokens × a model's prices → US dollars, exactly.

In: token counts as AG-UI has them, and the `price` of a model. Out: the sum and its parts as decimals. The prices are
those of the tier that the input reaches: a provider charges a whole request by the length of its input. Where a price
is unknown the sum is 0 and the result says so: a sum without that part would look complete. Counts of several requests
count as one request, so the tier may be too high: then the sum is an upper bound.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Context, Decimal
from typing import Any

from gateway.catalog.models.definition import Price
from gateway.errors import BadInput

EXACT = Context(prec=200)
"""Enough digits for any count that fits into JSON times any realistic price."""
PRICE_UNIT_EXPONENT = 6
"""Prices are for 10 ** 6 tokens."""


@dataclass(frozen=True, slots=True)
class Tokens:
    """Token counts. As in AG-UI, totals include their parts."""

    input: int = 0
    cached_input: int = 0
    """The part of `input` that was read from a cache."""
    output: int = 0
    thinking: int = 0
    """The part of `output` that was thinking."""
    cache_write: int = 0
    """The part of `input` that was written to a cache, for the provider's usual time."""
    cache_write_1h: int = 0
    """The part of `input` that was written to a cache for one hour."""

    def __post_init__(self) -> None:
        cached = self.cached_input + self.cache_write + self.cache_write_1h
        for part, count, whole, total in (
            ("cachedInputTokens", self.cached_input, "inputTokens", self.input),
            ("cacheWriteTokens", cached, "inputTokens", self.input),
            ("thinkingTokens", self.thinking, "outputTokens", self.output),
        ):
            if count > total:
                detail = f"{part} are part of {whole}, so they cannot be more: {count} of {total}"
                raise BadInput(detail, pointer=f"?{part}")


@dataclass(frozen=True, slots=True)
class Cost:
    """What a number of tokens costs."""

    usd: Decimal
    """The sum; 0 where a price is missing."""
    parts: Mapping[str, Decimal]
    """Kind of token → its cost, where the price is known."""
    missing: tuple[str, ...] = ()
    """Kinds of tokens that were used and have no known price."""
    above: int | None = None
    """The tier that the input reached: the number of tokens above which it begins. None: the lowest."""

    @property
    def is_priced(self) -> bool:
        return not self.missing

    def to_json(self) -> dict[str, Any]:
        """Decimals as strings, so that no digit is lost; the sum also as a number."""
        result = {
            "cost": float(self.usd),
            "usd": format_amount(self.usd),
            "currency": "USD",
            "parts": {kind: format_amount(amount) for kind, amount in self.parts.items()},
            "priced": self.is_priced,
            "missing": list(self.missing),
        }
        return result if self.above is None else {**result, "tier": {"above": self.above}}


def read_tokens(entry: Mapping[str, Any]) -> Tokens:
    """The counts of one of AG-UI's usage entries. An agent may report parts that are more than their whole."""
    input_tokens = entry.get("inputTokens") or 0
    output_tokens = entry.get("outputTokens") or 0
    cached = min(entry.get("cachedInputTokens") or 0, input_tokens)
    written = min(entry.get("cacheWriteInputTokens") or 0, input_tokens - cached)
    thinking = min(entry.get("reasoningTokens") or 0, output_tokens)
    return Tokens(input_tokens, cached, output_tokens, thinking, written)


def calculate_cost(price: Price, tokens: Tokens) -> Cost:
    """A kind of token of which there are none needs no price."""
    above, values = price_for(price, tokens.input)
    written = tokens.cache_write + tokens.cache_write_1h
    kinds = {
        "input": (tokens.input - tokens.cached_input - written, values["input"]),
        "cachedInput": (tokens.cached_input, _first(values["cached_input"], values["input"])),
        "cacheWrite": (tokens.cache_write, values["cache_write"]),
        "cacheWrite1h": (tokens.cache_write_1h, values["cache_write_1h"]),
        "output": (tokens.output - tokens.thinking, values["output"]),
        "thinking": (tokens.thinking, _first(values["thinking"], values["output"])),
    }
    parts = {
        kind: _multiply(count, unit_price)
        for kind, (count, unit_price) in kinds.items()
        if unit_price is not None and (count or not kind.startswith("cacheWrite"))
    }
    missing = tuple(kind for kind, (count, unit_price) in kinds.items() if count and unit_price is None)
    usd = Decimal(0)
    for amount in parts.values() if not missing else ():
        usd = EXACT.add(usd, amount)
    return Cost(usd, parts, missing, above)


def price_for(price: Price, input_tokens: int) -> tuple[int | None, dict[str, Decimal | None]]:
    """The tier that an input of this length reaches (None: the lowest), and its prices by their keys."""
    reached = [tier for tier in price.tiers if input_tokens > tier.above]
    tier = max(reached, key=lambda each: each.above, default=None)
    stated = {} if tier is None else tier.model_dump(exclude={"above"}, exclude_none=True)
    values = price.model_dump(exclude={"tiers"}) | stated
    return (None if tier is None else tier.above), values


def _first(price: Decimal | None, instead: Decimal | None) -> Decimal | None:
    return instead if price is None else price


def _multiply(count: int, price: Decimal) -> Decimal:
    return EXACT.scaleb(EXACT.multiply(Decimal(count), price), -PRICE_UNIT_EXPONENT)


def format_amount(amount: Decimal) -> str:
    """`0.015`: without an exponent and without trailing zeros."""
    text = f"{amount:f}"
    return text.rstrip("0").rstrip(".") if "." in text else text
