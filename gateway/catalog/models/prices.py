"""Tokens × a model's prices → US dollars, exactly.

In: token counts as AG-UI has them, and the `price` of a model. Out: the sum and its parts as decimals. Where a price is
unknown the sum is 0 and the result says so: a sum without that part would look complete.
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

    def __post_init__(self) -> None:
        for part, count, whole, total in (
            ("cachedInputTokens", self.cached_input, "inputTokens", self.input),
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

    @property
    def is_priced(self) -> bool:
        return not self.missing

    def to_json(self) -> dict[str, Any]:
        """Decimals as strings, so that no digit is lost; the sum also as a number."""
        return {
            "cost": float(self.usd),
            "usd": format_amount(self.usd),
            "currency": "USD",
            "parts": {kind: format_amount(amount) for kind, amount in self.parts.items()},
            "priced": self.is_priced,
            "missing": list(self.missing),
        }


def calculate_cost(price: Price, tokens: Tokens) -> Cost:
    """A kind of token of which there are none needs no price."""
    kinds = {
        "input": (tokens.input - tokens.cached_input, price.input),
        "cachedInput": (tokens.cached_input, price.input if price.cached_input is None else price.cached_input),
        "output": (tokens.output - tokens.thinking, price.output),
        "thinking": (tokens.thinking, price.output if price.thinking is None else price.thinking),
    }
    parts = {
        kind: _multiply(count, unit_price) for kind, (count, unit_price) in kinds.items() if unit_price is not None
    }
    missing = tuple(kind for kind, (count, unit_price) in kinds.items() if count and unit_price is None)
    usd = Decimal(0)
    for amount in parts.values() if not missing else ():
        usd = EXACT.add(usd, amount)
    return Cost(usd, parts, missing)


def _multiply(count: int, price: Decimal) -> Decimal:
    return EXACT.scaleb(EXACT.multiply(Decimal(count), price), -PRICE_UNIT_EXPONENT)


def format_amount(amount: Decimal) -> str:
    """`0.015`: without an exponent and without trailing zeros."""
    text = f"{amount:f}"
    return text.rstrip("0").rstrip(".") if "." in text else text
